"""Some heads of a layer: its plan, and its learned tables, as if there were no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from .. import _posenc

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
    """Heads `first` up to `end`, and the KV heads that these read, alike many each."""

    first: int
    end: int
    kv_first: int
    kv_end: int

    @property
    def q(self) -> slice:
        return slice(self.first, self.end)

    @property
    def kv(self) -> slice:
        return slice(self.kv_first, self.kv_end)


def pieces_of(first: int, end: int, group: int) -> list[Heads]:
    """Heads in parts that are whole groups of KV heads, or of one of them, numbered from `first` and its KV head."""
    kv_low, kv_high = _posenc.kv_heads_of(first, end, group)
    if first % group == 0 and end % group == 0 and end > first:
        return [Heads(0, end - first, 0, kv_high - kv_low)]
    parts = []
    for kv in range(kv_low, kv_high):
        low, high = max(first, kv * group), min(end, (kv + 1) * group)
        parts.append(Heads(low - first, high - first, kv - kv_low, kv - kv_low + 1))
    return parts


def lacks(plan: _posenc.LayerPlan) -> str:
    """Why heads of the layer cannot be computed apart; empty where they can."""
    for term in plan.score:
        if isinstance(term, (_posenc.Alibi, _posenc.Sandwich)):
            return f"{type(term).__name__}, whose plan numbers all heads"
    if any(one.heads for one in plan.rotate if one.role == "main"):
        return "a rotation of some heads"
    return ""


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
