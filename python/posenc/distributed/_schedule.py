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
    if view.nbytes == 0:
        return torch.empty(view.shape, dtype=dtype)
    return torch.frombuffer(bytearray(view), dtype=dtype).reshape(view.shape)


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


def _scattered(of: _posenc.Sharding) -> tuple[Tensor, Tensor | None, list[int]]:
    """Of the batch: orders, positions, the rank of each row."""
    order = torch.empty(of.tokens, dtype=torch.int64)
    positions = torch.empty(of.axes, of.tokens, dtype=torch.float64) if of.axes else None
    owner = torch.empty(of.tokens, dtype=torch.int64)
    for rank, one in enumerate(of.ranks):
        own = rows_of(one, of.axes)
        order[own.rows], owner[own.rows] = own.order, rank
        if positions is not None:
            positions[:, own.rows] = own.positions
    return order, positions, owner.tolist()


def _runs(keys: _posenc.Sharding, of_batch: Tensor) -> tuple[_posenc.Sharding, list[int]]:
    """Neighbouring rows of one rank as ranks of their own, and whose they are."""
    order, positions, owner = _scattered(keys)
    lengths: list[int] = []
    owners: list[int] = []
    for one in owner:
        if owners and owners[-1] == one:
            lengths[-1] += 1
        else:
            owners.append(one)
            lengths.append(1)
    places = {} if positions is None else {"positions": positions}
    runs = _posenc.shard(
        max(len(lengths), 1),
        dealing="contiguous",
        rank_tokens=lengths or [0],
        cu_seqlens=of_batch,
        order=order,
        **places,
    )
    return runs, owners or [0]


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
        of_keys = queries_keys = _posenc.joined(keys, ulysses_ranks)
        self.groups = len(of_queries.ranks)
        self.queries = [rows_of(one, queries.axes) for one in of_queries.ranks]
        self.keys = [rows_of(one, keys.axes) for one in of_keys.ranks]
        self.of_ranks = {"q": [as_tensor(one.rows, torch.int64) for one in queries.ranks], "kv": [as_tensor(one.rows, torch.int64) for one in keys.ranks]}
        owners = list(range(self.groups))
        if sums_along_keys:
            ends = sum((as_tensor(one.cu_seqlens, torch.int32) for one in keys.ranks), torch.zeros(keys.documents + 1, dtype=torch.int32))
            of_keys, owners = _runs(queries_keys, ends.to(torch.int32))
            if len(owners) > 2 * self.groups * max(keys.documents, 1):
                raise ValueError(
                    f"[attend] sharding must deal neighbouring tokens together, contiguous or zigzag, for a scheme that sums "
                    f"along the keys, but has {len(owners)} runs: or say mode='all_gather' or 'ulysses'"
                )
            self._refuse_falling_orders(of_keys)
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
        pairs = _posenc.shard_work(queries, keys, mask=mask, prefix=prefix).pairs.tolist()
        return [[n > 0 for n in of_rank] for of_rank in pairs]

    @staticmethod
    def _refuse_falling_orders(runs: _posenc.Sharding) -> None:
        for_each: dict[int, int] = {}
        for one in runs.ranks:
            for document, order in zip(one.documents, one.order):
                if order <= for_each.get(document, -(2**63)):
                    raise ValueError(
                        "[attend] order must ascend in each document of the batch, since gates are summed along it, but "
                        f"{order} follows {for_each[document]}"
                    )
                for_each[document] = order


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
