"""What modules of score terms share: a scheme of posenc, its learned tables, and attention by it alone."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .. import _posenc
from ..torch import Layer, attend


def nothing_like(value: Any) -> Any:
    """Tables of the same shapes without memory of their own: what a Layer is made of, before it is given tensors."""
    if isinstance(value, dict):
        return {name: nothing_like(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [nothing_like(one) for one in value]
    return torch.ones(()).expand(value.shape) if isinstance(value, Tensor) else value


def by_name(tables: Any, path: str) -> Tensor:
    """The tensor of a Layer's name, "score_weights.0.hidden.weight"."""
    for step in path.split("."):
        tables = tables[int(step)] if isinstance(tables, (list, tuple)) else tables[step]
    found: Tensor = tables
    return found


def linear_of(linear: nn.Linear) -> dict[str, Tensor | None]:
    return {"weight": linear.weight, "bias": linear.bias}


class Attends:
    """A Layer that is made once of a plan and of the shapes of its tables, and called with the tables of the moment."""

    def __init__(self, plan: _posenc.LayerPlan, tables: dict[str, Any]) -> None:
        self.layer = Layer(plan, **nothing_like(tables))

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, tables: dict[str, Any], **given: Any) -> Any:
        return attend(self.layer, q, k, v, tables=[by_name(tables, name) for name in self.layer.names], **given)


class SchemeModule(nn.Module):
    """One score term, or value term. scheme: posenc's value; tables(): its learned tables, as Layer takes them."""

    def __init__(self, scheme: Any, heads: int) -> None:
        super().__init__()
        self.scheme = scheme
        self.heads = heads

    def tables(self, **others: Any) -> dict[str, Any] | None:
        """others: what belongs to the attention around it, which a scheme may share (DeBERTa's projections)."""
        return None

    def plan(self, head_dim: int, value_dim: int, kv_heads: int, softmax_scale: float, mask: Any) -> _posenc.LayerPlan:
        sizes = {"heads": self.heads, "kv_heads": kv_heads, "head_dim": head_dim, "value_dim": value_dim}
        return _posenc.LayerPlan(**sizes, softmax_scale=softmax_scale, mask=mask, score=(self.scheme,))

    def weights(self, **others: Any) -> dict[str, Any]:
        return {"score_weights": [self.tables(**others)]}

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, *, softmax_scale: float | None = None, mask: Any = None, **given: Any
    ) -> Tensor:
        """Attention with this scheme and nothing else. q [batch, heads, queries, head_dim], k, v with kv_heads; mask: a
        posenc.Mask, causal where it is left out; given: as posenc.torch.attend has them."""
        scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
        plan = self.plan(q.shape[-1], v.shape[-1], k.shape[1], scale, _posenc.Mask() if mask is None else mask)
        tables = self.weights()
        out: Tensor = Attends(plan, tables)(q, k, v, tables, **given)
        return out

    def extra_repr(self) -> str:
        return f"{self.scheme!r}, heads={self.heads}"
