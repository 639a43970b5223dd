"""Which keys which rank needs, and in which order they come.

Keys travel in pieces. In a ring a piece is all that a rank has: in turn s, rank r has that of rank r - s, whose owner
sends it. For schemes that sum along the keys (CoPE, forget gates) pieces are runs of neighbouring rows, and come to all
that need them from the last to the first; gradients from the first to the last.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .. import _posenc


def as_tensor(view: memoryview, dtype: torch.dtype) -> Tensor:
    """A copy, in torch's own memory."""
    shape = view.shape or ()
    if view.nbytes == 0:
        return torch.empty(shape, dtype=dtype)
    return torch.frombuffer(bytearray(view), dtype=dtype).reshape(shape)


@dataclass
class Rows:
    """What some tokens are: [n] of the batch, [n], [axes, n] or None, [documents + 1]."""

    rows: Tensor
    order: Tensor
    positions: Tensor | None
    cu_seqlens: Tensor

    @property
    def count(self) -> int:
        return int(self.rows.shape[0])


def rows_of(shard: _posenc.Shard, axes: int) -> Rows:
    positions = as_tensor(shard.positions, torch.float64) if axes and len(shard.rows) else None
    if axes and positions is None:
        positions = torch.empty(axes, 0, dtype=torch.float64)
    return Rows(
        as_tensor(shard.rows, torch.int64),
        as_tensor(shard.order, torch.int64),
        positions,
        as_tensor(shard.cu_seqlens, torch.int32),
    )


@dataclass
class Piece:
    """Rows `first` up to `end` of what its owner, a group, holds."""

    owner: int
    first: int
    end: int
    rows: Rows


def digest(sharding: _posenc.Sharding) -> str:
    of = hashlib.blake2b(digest_size=16)
    for one in sharding.ranks:
        for view in (one.rows, one.order, one.cu_seqlens, one.positions):
            of.update(view)
            of.update(b"|")
    return f"{sharding.tokens} tokens on {len(sharding.ranks)} ranks, {of.hexdigest()}"


class Schedule:
    def __init__(
        self,
        queries: _posenc.Sharding,
        keys: _posenc.Sharding,
        mask: _posenc.Mask,
        prefix: int,
        ulysses_ranks: int,
        sums_along_keys: bool,
    ) -> None:
        of_queries = _posenc.joined(queries, ulysses_ranks)
        of_keys = _posenc.joined(keys, ulysses_ranks)
        self.groups = len(of_queries.ranks)
        self.queries = [rows_of(one, queries.axes) for one in of_queries.ranks]
        self.keys = [rows_of(one, keys.axes) for one in of_keys.ranks]
        self.of_ranks = {
            "q": [as_tensor(one.rows, torch.int64) for one in queries.ranks],
            "kv": [as_tensor(one.rows, torch.int64) for one in keys.ranks],
        }
        owners = list(range(self.groups))
        if sums_along_keys:
            try:
                of_keys, of_runs = _posenc.runs_of(of_keys)
            except ValueError as problem:
                raise ValueError(f"{problem}: or say mode='all_gather' or 'ulysses'") from problem
            owners = list(of_runs)
        needs = self._needs(of_queries, of_keys, mask, prefix)
        self.pieces: list[Piece] = []
        taken = [0] * self.groups
        for owner, one in zip(owners, of_keys.ranks):
            count = len(one.rows)
            self.pieces.append(Piece(owner, taken[owner], taken[owner] + count, rows_of(one, keys.axes)))
            taken[owner] += count
        # turns[t][g]: the number of the piece that group g has in turn t, None: it needs none then.
        if sums_along_keys:
            self.backward = [[p if needs[g][p] else None for g in range(self.groups)] for p in range(len(self.pieces))]
            self.forward = self.backward[::-1]
        else:
            whose = [[(g - s) % self.groups for g in range(self.groups)] for s in range(self.groups)]
            self.backward = [[p if needs[g][p] else None for g, p in enumerate(turn)] for turn in whose]
            self.forward = self.backward

    @staticmethod
    def _needs(queries: Any, keys: Any, mask: _posenc.Mask, prefix: int) -> list[list[bool]]:
        if mask.kind == "sparse":  # attn_mask says, of which ranks have their own rows alone
            return [[len(q.rows) > 0 and len(k.rows) > 0 for k in keys.ranks] for q in queries.ranks]
        pairs: Any = _posenc.shard_work(queries, keys, mask=mask, prefix=prefix).pairs.tolist()
        return [[n > 0 for n in of_rank] for of_rank in pairs]


_kept: dict[Any, tuple[Any, Schedule]] = {}


def schedule_of(queries: Any, keys: Any, mask: Any, prefix: int, ulysses_ranks: int, sums_along_keys: bool) -> Schedule:
    """The same for the same objects: layers of a model, and its steps, share shardings."""
    key = (id(queries), id(keys), mask, prefix, ulysses_ranks, sums_along_keys)
    found = _kept.get(key)
    if found is None:
        if len(_kept) >= 16:
            _kept.pop(next(iter(_kept)))
        # The shardings are kept with it, so that their numbers stay theirs.
        found = _kept[key] = ((queries, keys), Schedule(queries, keys, mask, prefix, ulysses_ranks, sums_along_keys))
    return found[1]
