"""Some heads of a layer: its plan, and its learned tables, as if there were no others.

Two plans number all heads of a layer, and say by that what each does. A head of ALiBi by itself is ALiBi of one head, whose
slope is 2^-max_bias. Heads of Sandwich are a table of each distance that occurs, which is what the kernels make of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from .. import _posenc
from .._composed.terms_of_distance import OfSandwich

Extent = tuple[int, int]  # the least and the largest distance from a key to a query
_MOST_BYTES = 1 << 30  # of a table of distances, as the kernels have it

# Of a table, by the scheme and the name of its member: the axis of its heads, and rows of each.
_OF_TABLES: dict[Any, Any] = {
    (_posenc.Alibi, "slopes"): 0,
    (_posenc.T5Bias, "table"): 1,
    (_posenc.ClippedBias, "table"): 1,
    (_posenc.GridBias, "table"): 1,
    (_posenc.Kerple, "r1"): 0,
    (_posenc.Kerple, "r2"): 0,
    (_posenc.Fire, "out.weight"): 0,
    (_posenc.Fire, "out.bias"): 0,
    (_posenc.TransformerXl, "projection"): 0,
    (_posenc.TransformerXl, "content_bias"): 0,
    (_posenc.TransformerXl, "position_bias"): 0,
    (_posenc.XlNet, "positions.projection"): 0,
    (_posenc.XlNet, "positions.content_bias"): 0,
    (_posenc.XlNet, "positions.position_bias"): 0,
    (_posenc.XlNet, "segment_bias"): 0,
    (_posenc.XlNet, "segments"): 1,
    (_posenc.Deberta, "keys.weight"): 0,
    (_posenc.Deberta, "keys.bias"): 0,
    (_posenc.Deberta, "queries.weight"): 0,
    (_posenc.Deberta, "queries.bias"): 0,
}


@dataclass
class Heads:
    """Heads `first` up to `end`, and the KV heads that these read, alike many each. plan: the layer of these alone; tables:
    [distances, heads] by number of a score term, in the place of what the plan of all heads says."""

    first: int
    end: int
    kv_first: int
    kv_end: int
    plan: _posenc.LayerPlan = field(default_factory=_posenc.LayerPlan)
    tables: dict[int, Tensor] = field(default_factory=dict)

    @property
    def q(self) -> slice:
        return slice(self.first, self.end)

    @property
    def kv(self) -> slice:
        return slice(self.kv_first, self.kv_end)


def pieces_of(first: int, end: int, group: int, each: bool = False) -> list[Heads]:
    """Heads in parts that are whole groups of KV heads, or of one of them, numbered from `first` and its KV head; or each
    head by itself."""
    kv_low, kv_high = _posenc.kv_heads_of(first, end, group)
    if each:
        places = [h // group - kv_low for h in range(first, end)]
        return [Heads(n, n + 1, kv, kv + 1) for n, kv in enumerate(places)]
    if first % group == 0 and end % group == 0 and end > first:
        return [Heads(0, end - first, 0, kv_high - kv_low)]
    parts = []
    for kv in range(kv_low, kv_high):
        low, high = max(first, kv * group), min(end, (kv + 1) * group)
        parts.append(Heads(low - first, high - first, kv - kv_low, kv - kv_low + 1))
    return parts


def _has_slopes(parts: Any, place: int) -> bool:
    """Whether the ALiBi of that place among the score terms has slopes that are learned."""
    given = (parts.get("score_weights") or [])[place : place + 1]
    return any("slopes" in one.get("AlibiWeights", {}) for one in given if one is not None)


def go_apart(plan: _posenc.LayerPlan, parts: Any) -> bool:
    """Whether some heads of the layer are computed one by one. parts: Layer.parts."""
    return any(isinstance(term, _posenc.Alibi) and not _has_slopes(parts, n) for n, term in enumerate(plan.score))


def of_heads(
    plan: _posenc.LayerPlan, parts: Any, first: int, end: int, kv_heads: int, extent: Callable[[], Extent], device: torch.device
) -> tuple[_posenc.LayerPlan, dict[int, Tensor]]:
    """Heads.plan and Heads.tables of heads `first` up to `end` of a layer, one where they go_apart."""
    score, tables = list(plan.score), {}
    for n, term in enumerate(plan.score):
        if isinstance(term, _posenc.Alibi) and _has_slopes(parts, n):
            score[n] = term.replace(heads=end - first)
        elif isinstance(term, _posenc.Alibi):
            assert end == first + 1
            score[n] = term.replace(heads=1, max_bias=-math.log2(_posenc.alibi_slopes(term)[first]))
        if isinstance(term, _posenc.Sandwich):
            low, high = extent()
            past, future = max(high, 0), max(-low, 0)
            score[n] = _posenc.ClippedBias(past=past, future=future)
            distances = torch.arange(-future, past + 1, device=device)
            tables[n] = OfSandwich(term, plan).of_distances(distances)[:, first:end].contiguous()
    return plan.replace(heads=end - first, kv_heads=kv_heads, score=tuple(score)), tables


def require_distances(plan: _posenc.LayerPlan, extent: Callable[[], Extent]) -> None:
    """ValueError for distances of which heads of the layer have no table."""
    if any(isinstance(term, _posenc.Sandwich) for term in plan.score):
        low, high = extent()
        count = max(high, 0) - min(low, 0) + 1
        if count * plan.heads * 4 > _MOST_BYTES:
            raise ValueError(
                f"[distributed.attend] positions must have distances for a table of at most {_MOST_BYTES} bytes, for Sandwich "
                f"where heads are dealt, but have {count} of them"
            )


def head_axis(plan: _posenc.LayerPlan, name: str, table: Tensor) -> int | None:
    """The axis of heads in a table of Layer.names; None: all heads share it."""
    kind, _, rest = name.partition(".")
    if kind == "sinks":
        return 0
    if kind == "inv_freq":
        return None
    if kind == "value_weights":
        return 0 if table.dim() == 3 else None
    number, _, member = rest.partition(".")
    term = plan.score[int(number)]
    if isinstance(term, _posenc.ShawKeys):
        return 0 if table.dim() == 3 else None
    axis: int | None = _OF_TABLES.get((type(term), member))
    return axis


def axes_of(plan: _posenc.LayerPlan, names: list[str], tables: list[Tensor]) -> list[int | None]:
    """head_axis of each; of a perceptron's layers the last alone has heads."""
    last: dict[str, int] = {}
    for name in names:
        parts = name.split(".")
        if parts[0] == "score_weights" and parts[2] == "layers":
            last[parts[1]] = max(last.get(parts[1], 0), int(parts[3]))
    axes = []
    for name, table in zip(names, tables):
        parts = name.split(".")
        if parts[0] == "score_weights" and parts[2] == "layers":
            axes.append(0 if int(parts[3]) == last[parts[1]] else None)
        else:
            axes.append(head_axis(plan, name, table))
    return axes


def some(table: Tensor, axis: int | None, heads: int, first: int, end: int) -> Tensor:
    """The table of heads `first` up to `end`; a view."""
    if axis is None:
        return table
    of_each = table.shape[axis] // heads
    return table.narrow(axis, first * of_each, (end - first) * of_each)
