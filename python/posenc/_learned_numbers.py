"""Slopes of ALiBi and inverse frequencies that are learned, for the kernels, which take both from the plan.

Frequencies: q and k are rotated here, by operations of torch of which angles have a gradient, and attention is told.
Slopes: a bias of the distance is a table of one row for each distance, of which the kernels have the gradient
(ClippedBias): -slope d, so that a slope's gradient is -sum_d d times the row's. Both tables and angles grow with the
tokens, not with their square.
"""

from __future__ import annotations

from typing import Any, Sequence

import torch
from torch import Tensor

from . import _posenc
from ._composed.rotation import Pairs, Rotation
from ._composed.rows import rows_of
from ._tables import value_text

# In a text, to be replaced by a call's numbers: what a graph can do, which cannot look into a plan.
PAST, FUTURE = 1234567891, 1987654321
_PLACES = ("q_positions", "k_positions", "q_order", "k_order")
_OF_ROWS = (*_PLACES, "cu_seqlens_q", "cu_seqlens_k")


class _Rotated(torch.autograd.Function):
    """x [batch, heads, tokens, channels] by cos, sin [1 or batch, tokens, pairs], with the gradient of the angles.

    (a', b') of a pair by the angle: (-b', a'). Where no gradient comes, none goes: a row that nobody reads may be NaN.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, inv_freq: Tensor, position: Tensor, factor: float, pairs: Pairs) -> Tensor:
        angle = position.to(torch.float64) * inv_freq.to(torch.float64)
        cos, sin = torch.cos(angle) * factor, torch.sin(angle) * factor
        wide = x if x.dtype == torch.float64 else x.float()
        out = pairs.rotate(wide, cos, sin).to(x.dtype)
        ctx.save_for_backward(out, cos, sin, position)
        ctx.pairs, ctx.dtype = pairs, inv_freq.dtype
        return out

    @staticmethod
    def backward(ctx: Any, d_out: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        out, cos, sin, position = ctx.saved_tensors
        wide = d_out if d_out.dtype == torch.float64 else d_out.float()
        d_x = ctx.pairs.rotate(wide, cos, sin, "transpose").to(d_out.dtype) if ctx.needs_input_grad[0] else None
        d_inv_freq = None
        if ctx.needs_input_grad[1]:
            (a, b), (d_a, d_b) = ctx.pairs.channels(out.to(wide.dtype)), ctx.pairs.channels(wide)
            turned = torch.where(d_b == 0, 0, a * d_b) - torch.where(d_a == 0, 0, b * d_a)
            by_row = turned.sum(dim=1).to(torch.float64)  # over heads
            d_inv_freq = (by_row * position).sum(dim=(0, 1)).to(ctx.dtype)
        return d_x, d_inv_freq, None, None, None


class LearnedNumbers:
    """Of one Layer. slopes: by the place of their term, their place among the tensors; frequencies: of each main rotation,
    its place among them or None."""

    def __init__(
        self, plan: _posenc.LayerPlan, slopes: dict[int, int], frequencies: list[int | None], parts: dict[str, Any]
    ) -> None:
        self.frequencies = frequencies
        self.terms: list[tuple[int, bool, float]] = []  # of a tensor: both ways alike; what a bias is multiplied by
        self.rotations = [Rotation(one) for one in plan.rotate if one.role == "main"] if frequencies else []
        self.axes = max([1, *(one.axes for one in self.rotations)])
        norm = plan.qk_norm
        self.norm_follows = norm is not None and norm.order == "after"
        self.never = self._never(plan, slopes) if slopes or frequencies else ""
        score, weights = list(plan.score), list(parts.get("score_weights") or [])
        for place, tensor in slopes.items():
            scheme: Any = score[place]
            self.terms.append((tensor, bool(scheme.symmetric), plan.softmax_scale if scheme.scaled else 1.0))
            score[place] = _posenc.ClippedBias(past=PAST, future=FUTURE)
            weights[place] = {"ClippedBiasWeights": {"table": {"tensor": tensor}}}
        self.plan_text = value_text(plan.replace(score=tuple(score))) if slopes else ""
        self.parts = {**parts, "score_weights": weights} if slopes else parts

    def _never(self, plan: _posenc.LayerPlan, slopes: dict[int, int]) -> str:
        """What no call of the layer has by the kernels."""
        scored: list[Any] = list(plan.score)
        if any(scored[place].form != "relative" for place in slopes):
            return "learned slopes of columns"
        if slopes and any(str(one) in value_text(plan) for one in (PAST, FUTURE)):
            return f"learned slopes beside the number {PAST} or {FUTURE}"
        if not self.frequencies:
            return ""
        if plan.regions is not None:
            return "learned frequencies of regions"
        if isinstance(plan.value, _posenc.RotatedValues):
            return "learned frequencies of values"
        if any(one.scale_base is not None for one in self.rotations):
            return "learned frequencies of xPos"
        return ""

    def lacks(self, given: dict[str, Any]) -> str:
        """What the kernels do not take of a call; empty where they take it."""
        if self.never:
            return self.never
        if self.terms and any(given[name] is not None for name in _PLACES):
            return "learned slopes with positions or orders of the call's own"
        if self.frequencies and self.norm_follows and not (given["q_rotated"] and given["k_rotated"]):
            return "learned frequencies before a norm"
        return ""

    def tables(self, queries: int, keys: int, tables: Sequence[Tensor]) -> list[Tensor]:
        """Tensors of the kernels' text, slopes as tables by distance from -(queries - 1) to keys - 1, [distances, heads]."""
        out = list(tables)
        for tensor, both_ways, scale in self.terms:
            slopes = out[tensor].float()
            distance = torch.arange(-max(queries - 1, 0), max(keys, 1), device=slopes.device, dtype=slopes.dtype)
            distance = distance.abs() if both_ways else distance
            out[tensor] = distance[:, None] * (slopes * -scale)
        return out[: len(out) - sum(one is not None for one in self.frequencies)]

    def rotated(
        self, q: Tensor, k: Tensor, given: dict[str, Any], tables: Sequence[Tensor]
    ) -> tuple[Tensor, Tensor, dict[str, Any]]:
        """q and k rotated by learned frequencies, where the call has not."""
        if not self.frequencies:
            return q, k, given
        batch, of_q, of_k = (1, q.shape[0], k.shape[0]) if q.dim() == 3 else (q.shape[0], q.shape[2], k.shape[2])
        rows = rows_of(self.axes, batch, of_q, of_k, q.device, {name: given[name] for name in _OF_ROWS})
        for rotation, tensor in zip(self.rotations, self.frequencies):
            learned = None if tensor is None else tables[tensor]
            inv_freq, factor = rotation.frequencies(given["length"], learned, q.device)
            if learned is not None:
                inv_freq = learned
            if not given["q_rotated"]:
                q = self._one(rotation, q, rows.q.at, inv_freq, factor)
            if not given["k_rotated"]:
                k = self._one(rotation, k, rows.k.at, inv_freq, factor)
        return q, k, {**given, "q_rotated": True, "k_rotated": True}

    def _one(self, rotation: Rotation, x: Tensor, at: list[Tensor], inv_freq: Tensor, factor: float) -> Tensor:
        heads_first = x if x.dim() == 4 else x.transpose(0, 1)[None]
        position = rotation.pairs.positions([one + rotation.offset for one in at] if rotation.offset else at)
        out: Tensor = _Rotated.apply(heads_first, inv_freq, position, float(factor), rotation.pairs)  # type: ignore[no-untyped-call]
        return out if x.dim() == 4 else out[0].transpose(0, 1)
