"""What only a kernel can tell of a call, before anything is sent: it is called with a few tokens, of zeros.

Once with one query and one key: whether inputs and tables fit the layer. And where the layer has numbers by distance, with
those tokens of this rank and of each block that lie furthest apart: whether a table of the distances fits. So what a kernel
would refuse on one rank, when others already wait for it, is an error of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .. import _posenc
from .._graph_arguments import Layer
from ._parts import Inputs, Keys, Parts
from ._schedule import Piece, Rows, Schedule, joined_rows

MATRICES = ("attn_mask", "bias")


@dataclass
class Probe:
    """q, k, v, inputs: a call's, of which dtypes and shapes are asked for, and no numbers."""

    q: Tensor
    k: Tensor
    v: Tensor
    layer: Layer
    inputs: dict[str, Tensor]
    numbers: dict[str, Any]
    tables: list[Tensor]
    of_parts: type[Parts]

    def of_zeros(self, axes: tuple[int, int]) -> None:
        """One query and one key; axes: of the positions of each. ValueError for what does not fit the layer."""
        queries, keys = (_one_row(count, self.q.device) for count in axes)
        plan = self.layer.plan
        self._attend(queries, keys, (0, plan.heads), plan.kv_heads, False, lambda: (0, 0))

    def of_distances(self, schedule: Schedule, group: int, heads: tuple[int, int], gathers: bool, is_packed: bool) -> None:
        """The rows of this rank's group and of what it needs that lie furthest apart. ValueError for distances that a kernel has
        no table of. heads: of all, those that this rank computes."""
        plan = self.layer.plan
        queries = _ends_of(schedule.queries[group])
        if heads[0] == heads[1] or not queries.count or not (plan.score or plan.value):
            return
        pieces = [schedule.pieces[p].rows for turn in schedule.forward if (p := turn[group]) is not None]
        if gathers and pieces:
            pieces = [joined_rows([_ends_of(rows) for rows in pieces])[0]]
        low, high = _posenc.kv_heads_of(*heads, plan.heads // plan.kv_heads)
        for rows in pieces:
            self._attend(queries, _ends_of(rows), heads, high - low, is_packed, lambda: schedule.extent)

    def _attend(
        self, queries: Rows, keys: Rows, heads: tuple[int, int], kv_heads: int, is_packed: bool, extent: Any
    ) -> None:
        plan, is_batch = self.layer.plan, self.q.dim() == 4
        batch, count = self.q.shape[0], heads[1] - heads[0]

        def of_rows(x: Tensor, rows: Rows, heads: int, *channels: int) -> Tensor:
            shape = (batch, heads, rows.count) if is_batch else (rows.count, heads)
            return x.new_zeros((*shape, *channels))

        def by_head(name: str, rows: Rows) -> Tensor | None:
            return of_rows(self.inputs[name], rows, count) if name in self.inputs else None

        def segments(name: str, rows: Rows) -> Tensor | None:
            shape = (batch, rows.count) if is_batch else (rows.count,)
            return self.inputs[name].new_zeros(shape) if name in self.inputs else None

        of = Inputs(by_head("row_gate", queries), segments("q_segments", queries), None, None, self.numbers)
        for name in MATRICES:
            setattr(of, name, self.inputs[name].new_zeros(1, 1, 1, 1) if name in self.inputs else None)
        parts = self.of_parts(self.layer, self.tables, *heads, queries, of, is_packed, extent)
        own = Keys(
            of_rows(self.k, keys, kv_heads, plan.head_dim),
            of_rows(self.v, keys, kv_heads, plan.value_dim),
            by_head("log_forget", keys),
            segments("k_segments", keys),
        )
        query, piece = of_rows(self.q, queries, count, plan.head_dim), Piece(0, 0, keys.count, keys)
        parts.require(query, piece, own)
        out, lse = (of_rows(self.q, queries, count, n).float() for n in (plan.value_dim, 1))
        parts.forward(query, piece, own, None, out, lse[..., 0])
        parts.count_sinks(out, lse[..., 0])


def _one_row(axes: int, device: torch.device) -> Rows:
    zero = torch.zeros(1, dtype=torch.int64)
    places = torch.zeros(axes, 1, dtype=torch.float64) if axes else None
    return Rows(zero, zero, places, torch.tensor([0, 1], dtype=torch.int32)).to(device)


def _ends_of(rows: Rows) -> Rows:
    """Of each document, the rows with the least and the largest of what a range of distances is made of: coordinates, what
    they have behind the point, and how far they are beyond the order."""
    order = rows.order.double()
    coordinates = order[None] if rows.positions is None else rows.positions
    numbers = torch.cat([coordinates, coordinates - coordinates.floor(), coordinates - order, order[None]])
    ends = rows.cu_seqlens.to(torch.int64)
    document = torch.repeat_interleave(torch.arange(len(ends) - 1), ends.diff())
    firsts, lasts = ends[:-1][ends.diff() > 0], ends[1:][ends.diff() > 0] - 1
    chosen = []
    for of_rows in numbers:
        ascending = torch.argsort(of_rows)
        ascending = ascending[torch.argsort(document[ascending], stable=True)]  # and by document first
        chosen += [ascending[firsts], ascending[lasts]]
    kept = torch.cat(chosen).unique()
    positions = None if rows.positions is None else rows.positions[:, kept].contiguous()
    return Rows(rows.rows[kept], rows.order[kept], positions, torch.searchsorted(kept, ends).to(torch.int32))
