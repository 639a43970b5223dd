"""A call's tensors, and a chunk of its queries with the keys that these may see."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from .rows import Rows, Side


@dataclass
class Call:
    """q [batch, heads, queries, head_dim], k [batch, kv_heads, keys, head_dim]: as given, before any rotation."""

    q: Tensor
    k: Tensor
    rows: Rows
    heads: int
    kv_heads: int
    softmax_scale: float
    given: dict[str, Any]  # log_forget, row_gate [batch, rows, heads]; q_segments, k_segments [batch, rows]

    @property
    def dtype(self) -> torch.dtype:
        return self.q.dtype

    @property
    def device(self) -> torch.device:
        return self.q.device

    def weight(self, x: Any) -> Tensor:
        """A learned table in the type of the sums."""
        return torch.as_tensor(x).to(device=self.q.device, dtype=self.q.dtype)

    def with_tables(self, k: Tensor, tables: Tensor) -> Tensor:
        """k_j . table_r of each query head: [batch, heads, keys, rows]; tables [heads, rows, head_dim]."""
        groups = self.heads // self.kv_heads
        each = tables.unflatten(0, (self.kv_heads, groups))
        return torch.matmul(k[:, :, None], each.mT).flatten(1, 2)


@dataclass
class Part:
    """Queries `first` to `end`, keys `low` to `high`."""

    call: Call
    q: Tensor  # [batch, heads, queries, head_dim]
    k: Tensor  # [batch, kv_heads, keys, head_dim]
    first: int
    end: int
    low: int
    high: int
    of_q: Side
    of_k: Side
    seen: Tensor | None = None  # [.., queries, keys] up to rank 4
    is_whole_row: bool = False  # its sides are not rows of the call
    x: Tensor | None = None  # content scores, scaled: [batch, heads, queries, keys]
    # Of a call with a part of the keys, by term that sums along them: what those after it have added up to along each row, and,
    # once scores are made, with these: [batch, heads, queries, 1].
    carries: dict[Any, Tensor] = field(default_factory=dict)
    _distances: dict[int, Tensor] = field(default_factory=dict)

    @property
    def dtype(self) -> torch.dtype:
        return self.q.dtype

    @property
    def device(self) -> torch.device:
        return self.q.device

    def distance(self, axis: int = 0) -> Tensor:
        """i - j, [1 or batch, queries, keys]; above 0, the key is in the past."""
        if axis not in self._distances:
            self._distances[axis] = self.of_q.at[axis][..., :, None] - self.of_k.at[axis][..., None, :]
        return self._distances[axis]

    def whole(self, axis: int = 0) -> Tensor:
        return self.distance(axis).to(torch.int64)

    def of_rows(self, scores: Tensor, row: Tensor) -> Tensor:
        """scores [.., queries, rows] of each query, at the row of each key: row [1 or batch, queries, keys]."""
        batch = max(scores.shape[0], row.shape[0])
        row = row[:, None].expand(batch, *scores.shape[1:-1], row.shape[-1])
        return torch.gather(scores.expand(batch, *scores.shape[1:]), -1, row)


def of_heads(x: Tensor) -> Tensor:
    """[1 or batch, queries, keys, heads] to [1 or batch, heads, queries, keys]."""
    return torch.movedim(x, -1, 1)
