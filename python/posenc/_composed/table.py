"""A RotaryTable in operations of torch: posenc.torch.rotate where the kernels do not compute.

Of a Rope's table cos and sin are made again, in float64, at the positions that are asked for; of given values, and of
those that models run with (angles "float32", "bfloat16"), the table's own rows are looked up.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import _posenc
from .check import is_readable
from .numbers import computing, constant, exact
from .rotation import Pairs


def _refuse(field: str, must: str, given: Any) -> None:
    raise ValueError(f"[rotate] {field} must {must} but is {given}")


class TableRotation:
    def __init__(self, table: _posenc.RotaryTable) -> None:
        layout = table.layout
        self.pairs = Pairs(layout.pairing, layout.first_channel, layout.dim, layout.axes.of_pair)
        self.axes, self.head_dim = len(layout.axes.names), int(layout.head_dim)
        self.factor = float(table.attention_factor)
        self.start, self.count, self.on_demand = int(table.start), int(table.count), bool(table.on_demand)
        maker, made = table._made
        self.inv_freq: list[float] | None = None
        self.rows: tuple[Tensor, Tensor] | None = None  # float32 [count, pairs]
        self.lacks = ""
        if maker != "_table_of_rows" and made.get("angles", "exact") == "exact":
            frequencies = made.get("frequencies") or _posenc.frequencies(made["rope"], length=made.get("length"))
            self.inv_freq = [float(f) for f in frequencies.inv_freq]
        elif self.on_demand:
            self.lacks = f"a table on demand, of angles {made['angles']}, has no rows"
        else:
            both = torch.frombuffer(bytearray(table.rows), dtype=torch.float32) if self.count else torch.zeros(0)
            both = both.reshape(self.count, 2, -1)
            self.rows = both[:, 0].clone(), both[:, 1].clone()

    def __call__(self, x: Tensor, positions: Any, direction: str) -> Tensor:
        if direction not in ("forward", "inverse", "transpose"):
            _refuse("direction", "be one of 'forward', 'inverse', 'transpose'", repr(direction))
        if x.dim() not in (3, 4):
            _refuse("q.rank", "be 3, [tokens, heads, head_dim], or 4, [batch, heads, tokens, head_dim]", x.dim())
        if x.shape[-1] != self.head_dim:
            _refuse(f"q.shape[{x.dim() - 1}]", f"be the head_dim of the table, {self.head_dim},", x.shape[-1])
        if self.lacks:
            _refuse("table", f"have rows, for a tensor on {x.device},", self.lacks)
        heads_first = x if x.dim() == 4 else x.transpose(0, 1)[None]
        at = self._places(positions, heads_first)
        cos, sin = self._cos_sin(at, direction)
        wide = heads_first.to(computing(x))
        out = self.pairs.rotate(wide, cos, sin, direction).to(x.dtype)
        return out if x.dim() == 4 else out[0].transpose(0, 1)

    def _places(self, positions: Any, x: Tensor) -> list[Tensor]:
        batch, _, tokens, _ = x.shape
        if not isinstance(positions, Tensor):
            at = torch.arange(int(positions), int(positions) + tokens, device=x.device)
            for end in (int(positions), int(positions) + tokens - 1) if tokens else ():
                self._require_served(end, "positions")
            return [at[None]] * self.axes
        rows = batch if positions.numel() == self.axes * batch * tokens else 1
        if positions.numel() != self.axes * rows * tokens:
            wanted = self.axes * batch * tokens
            _refuse(
                "positions",
                f"have one entry for each of {self.axes} axes and {batch * tokens} tokens, {wanted},",
                f"{positions.numel()} long",
            )
        if is_readable(positions) and not self.on_demand:
            lowest, highest = positions < self.start, positions > self.start + self.count - 1
            whole = positions == positions.floor() if positions.is_floating_point() else ~(lowest & ~lowest)
            wrong = (lowest | highest | ~whole).flatten()
            if bool(wrong.any()):
                first = int(wrong.to(torch.uint8).argmax())
                value = positions.flatten()[first].item()
                self._require_served(value, f"positions[{first}]", value != int(value))
        at = positions.to(x.device).reshape(self.axes, rows, tokens)
        return [at[axis] for axis in range(self.axes)]

    def _require_served(self, position: float, field: str, is_between: bool = False) -> None:
        last = self.start + self.count - 1
        if self.on_demand or (self.start <= position <= last and not is_between):
            return
        whole = "be whole and lie" if is_between else "lie"
        _refuse(field, f"{whole} from {self.start} to {last}, which its table serves,", f"{position:g}")

    def _cos_sin(self, at: list[Tensor], direction: str) -> tuple[Tensor, Tensor]:
        device = at[0].device
        divisor = self.factor**2 if direction == "inverse" else 1.0
        if self.inv_freq is not None:
            inv_freq = constant(self.inv_freq, exact(device), device)
            return self.pairs.cos_sin(at, inv_freq, self.factor / divisor)
        assert self.rows is not None
        last = max(self.count - 1, 0)
        row = [(of.to(torch.int64) - self.start).clamp(0, last) for of in at]
        found = []
        for rows in self.rows:
            rows = rows.to(device)
            if self.pairs.of_pair and len(at) > 1:
                columns = [rows[row[axis], pair] for pair, axis in enumerate(self.pairs.of_pair)]
                found.append(torch.stack(columns, dim=-1))
            else:
                found.append(rows[row[0]])
        return found[0] / divisor, found[1] / divisor
