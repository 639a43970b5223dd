"""Where the tokens of a call stand: their coordinates, their order for masks, and the sequences that they are of.

Without positions, coordinates are the order; without orders, keys are counted from 0 and the last query stands with the
last key (attention.h has the same). All are [1 or batch, tokens]: 1 where every sequence has the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .numbers import exact


@dataclass
class Side:
    """Queries, or keys."""

    at: list[Tensor]  # an axis each: int64, or float64 where positions are not whole
    order: Tensor
    sequence: Tensor | None = None  # of packed tokens

    def part(self, first: int, end: int) -> "Side":
        sequence = None if self.sequence is None else self.sequence[:, first:end]
        return Side([at[:, first:end] for at in self.at], self.order[:, first:end], sequence)


@dataclass
class Rows:
    q: Side
    k: Side
    batch: int
    queries: int
    keys: int
    is_counted: bool  # keys ascend by one, and so do queries, up to the last key
    starts: tuple[int, int] | None  # where the first query and the first key stand, where all are counted from there

    def first_order(self) -> int:
        return self.keys - self.queries


def _tensor(given: Any, device: torch.device) -> Tensor:
    x = given if isinstance(given, Tensor) else torch.as_tensor(given)
    if x.is_floating_point():
        return x.to(device=device, dtype=exact(device))
    return x.to(device=device, dtype=torch.int64)


def _coordinates(given: Any, axes: int, order: Tensor, place: Tensor, batch: int, tokens: int) -> list[Tensor]:
    """An axis each. A number is where the first token of each sequence stands."""
    if given is None:
        return [order] * axes
    if isinstance(given, int) or (not isinstance(given, Tensor) and hasattr(given, "__index__")):
        return [place + int(given)] * axes
    x = _tensor(given, order.device)
    rows = 1 if x.numel() == axes * tokens else batch
    x = x.reshape(axes, rows, tokens)
    return [x[axis] for axis in range(axes)]


def _packed(cu_seqlens: Tensor, tokens: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of each row: its sequence, its place there, and that sequence's length."""
    rows = torch.arange(tokens, device=cu_seqlens.device)
    sequence = torch.searchsorted(cu_seqlens[1:].contiguous(), rows, right=True)
    inside = sequence.clamp(max=cu_seqlens.shape[0] - 2)
    return sequence[None], (rows - cu_seqlens[inside])[None], inside[None]


def rows_of(axes: int, batch: int, queries: int, keys: int, device: torch.device, given: dict[str, Any]) -> Rows:
    """given: q_positions, k_positions, q_order, k_order, cu_seqlens_q, cu_seqlens_k, None where omitted."""
    q_sequence = k_sequence = None
    is_packed = given["cu_seqlens_q"] is not None
    if is_packed:
        q_ends, k_ends = _tensor(given["cu_seqlens_q"], device), _tensor(given["cu_seqlens_k"], device)
        q_sequence, q_place, q_index = _packed(q_ends, queries)
        k_sequence, k_place, _ = _packed(k_ends, keys)
        q_order = q_place + (k_ends.diff() - q_ends.diff())[q_index]
        k_order = k_place
    else:
        q_place, k_place = torch.arange(queries, device=device)[None], torch.arange(keys, device=device)[None]
        q_order, k_order = q_place + (keys - queries), k_place
    is_given = given["q_order"] is not None or given["k_order"] is not None
    if given["q_order"] is not None:
        q_order = _tensor(given["q_order"], device).reshape(batch, queries)
    if given["k_order"] is not None:
        k_order = _tensor(given["k_order"], device).reshape(batch, keys)
    q_at = _coordinates(given["q_positions"], axes, q_order, q_place, batch, queries)
    k_at = _coordinates(given["k_positions"], axes, k_order, k_place, batch, keys)
    counted = not is_packed and not is_given
    starts = None
    if counted and not any(isinstance(given[name], (Tensor, list, tuple)) for name in ("q_positions", "k_positions")):
        q_start, k_start = given["q_positions"], given["k_positions"]
        starts = (keys - queries if q_start is None else int(q_start), 0 if k_start is None else int(k_start))
    return Rows(Side(q_at, q_order, q_sequence), Side(k_at, k_order, k_sequence), batch, queries, keys, counted, starts)
