"""Which keys which rank needs, and in which order they come.

Keys travel in pieces. In a ring rank r takes the keys of rank r, as they are, then those of r - 1 and so on, in parts of
what their owner has: where sending takes longer, what is still to be computed when all has come is a part, and on the way
back gradients of one leave while those of the next are made. For schemes that sum along the keys (CoPE, forget gates)
pieces are runs of neighbouring rows, and come to all that need them from the last to the first; gradients from the first
to the last.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import torch
from torch import Tensor

from .. import _posenc

MOST_PARTS, LEAST_ROWS = 4, 1024  # of a block, and of a part of it: kernels take as long for each of fewer rows


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

    def to(self, device: torch.device) -> Rows:
        places = (self.rows, self.order, self.positions, self.cu_seqlens)
        rows, order, positions, ends = (None if x is None else x.to(device) for x in places)
        assert rows is not None and order is not None and ends is not None
        return Rows(rows, order, positions, ends)

    def cut(self, first: int, end: int) -> Rows:
        positions = None if self.positions is None else self.positions[:, first:end].contiguous()
        ends = (self.cu_seqlens - first).clamp(0, end - first)
        return Rows(self.rows[first:end], self.order[first:end], positions, ends)


def joined_rows(of: list[Rows]) -> tuple[Rows, Tensor]:
    """Those of all, ascending; and where among the rows of one after another each of these stands."""
    rows = torch.cat([one.rows for one in of])
    order = torch.argsort(rows)
    positions = None
    if of[0].positions is not None:
        positions = torch.cat([one.positions for one in of if one.positions is not None], 1)[:, order]
    ends = torch.stack([one.cu_seqlens for one in of]).sum(0, dtype=torch.int32)
    return Rows(rows[order], torch.cat([one.order for one in of])[order], positions, ends), order


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

    @property
    def count(self) -> int:
        return self.end - self.first

    def parts(self) -> list[Piece]:
        count = self.count
        parts = max(min(MOST_PARTS, count // LEAST_ROWS), 1)
        cuts = [count * n // parts for n in range(parts + 1)]
        return [
            Piece(self.owner, self.first + first, self.first + end, self.rows.cut(first, end))
            for first, end in zip(cuts, cuts[1:])
        ]


def digest(sharding: _posenc.Sharding) -> str:
    of = hashlib.blake2b(digest_size=16)
    for one in sharding.ranks:
        for view in (one.rows, one.order, one.cu_seqlens, one.positions):
            of.update(view)
            of.update(b"|")
    return f"{sharding.tokens} tokens on {len(sharding.ranks)} ranks, {of.hexdigest()}"


Turn = Sequence[int | None]  # of each group: the number of its piece; None: it needs none then


class Schedule:
    def __init__(
        self,
        queries: _posenc.Sharding,
        keys: _posenc.Sharding,
        mask: _posenc.Mask,
        prefix: int,
        ulysses_ranks: int,
        sums_along_keys: bool,
        in_parts: bool,
        device: torch.device,
    ) -> None:
        self.dealt = queries, keys
        self.known: set[Any] = set()  # layers of which this rank can compute all distances
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
                rule = str(problem).partition("] ")[2]
                raise ValueError(f"[distributed.attend] {rule}: or say mode='all_gather' or 'ulysses'") from problem
            owners = list(of_runs)
        needs = self._needs(of_queries, of_keys, mask, prefix)
        self.block_rows = max(one.count for one in self.keys)
        self.pieces: list[Piece] = []
        self._cut: dict[int, list[int]] = {}  # of a piece, the numbers of its parts
        taken = [0] * self.groups
        for owner, one in zip(owners, of_keys.ranks):
            count = len(one.rows)
            of_rows = rows_of(one, keys.axes)
            self.pieces.append(Piece(owner, taken[owner], taken[owner] + count, of_rows))
            taken[owner] += count
        self.backward: list[Turn]
        if sums_along_keys:
            self.backward = [[p if needs[g][p] else None for g in range(self.groups)] for p in range(len(self.pieces))]
            self.forward = self.backward[::-1]
        else:
            in_turn = [self._in_turn(g, needs[g], in_parts) for g in range(self.groups)]
            self.backward = list(zip_longest(*(parts for _, parts in in_turn)))
            # Elsewhere merging results, which each part adds once more, takes as long as there is to hide: of blocks but the
            # last there are no parts.
            self.forward = self.backward if device.type == "cpu" else list(zip_longest(*(of for of, _ in in_turn)))
        if device.type != "cpu":
            self._move(device)

    @functools.cached_property
    def goes_both_ways(self) -> bool:
        """Whether two groups need keys of each other, and these come in parts, as long messages do."""
        needed = {(g, self.pieces[p].owner) for turn in self.backward for g, p in enumerate(turn) if p is not None}
        return self.block_rows >= 2 * LEAST_ROWS and any(g != owner and (owner, g) in needed for g, owner in needed)

    @functools.cached_property
    def extent(self) -> tuple[int, int]:
        """The least and the largest distance from a key to a query, along the first axis. ValueError where one is not whole."""
        ends = []
        for of in self.dealt:
            of_ranks: list[list[float]] = [
                one.positions.tolist()[0] if of.axes else one.order.tolist() for one in of.ranks if len(one.rows)
            ]
            if of.axes and any(x != int(x) for places in of_ranks for x in places):
                raise ValueError("[distributed.attend] positions must be whole, for Sandwich where heads are dealt")
            ends.append((int(min(map(min, of_ranks), default=0)), int(max(map(max, of_ranks), default=0))))
        (q_low, q_high), (k_low, k_high) = ends
        return q_low - k_high, q_high - k_low

    def _move(self, device: torch.device) -> None:
        """What is asked for beside tensors of the call."""
        self.queries, self.keys = ([one.to(device) for one in of] for of in (self.queries, self.keys))
        self.of_ranks = {side: [rows.to(device) for rows in of] for side, of in self.of_ranks.items()}
        for piece in self.pieces:
            piece.rows = piece.rows.to(device)

    def _in_turn(self, group: int, needs: list[bool], in_parts: bool) -> tuple[list[int], list[int]]:
        """Numbers of the pieces that a group needs: its own, then that of the group before, and so on, of which the last is
        in parts; and all in parts but its own."""
        taken = [p for p in ((group - s) % self.groups for s in range(self.groups)) if needs[p]]
        if not in_parts or not taken:
            return taken, taken
        cut = [[p] if p == group else self._parts_of(p) for p in taken]
        return [*taken[:-1], *cut[-1]], [part for parts in cut for part in parts]

    def _parts_of(self, p: int) -> list[int]:
        if p not in self._cut:
            parts = self.pieces[p].parts()
            self._cut[p] = list(range(len(self.pieces), len(self.pieces) + len(parts))) if len(parts) > 1 else [p]
            self.pieces += parts if len(parts) > 1 else []
        return self._cut[p]

    @staticmethod
    def _needs(queries: Any, keys: Any, mask: _posenc.Mask, prefix: int) -> list[list[bool]]:
        if mask.kind == "sparse":  # attn_mask says, of which ranks have their own rows alone
            return [[len(q.rows) > 0 and len(k.rows) > 0 for k in keys.ranks] for q in queries.ranks]
        pairs: Any = _posenc.shard_work(queries, keys, mask=mask, prefix=prefix).pairs.tolist()
        return [[n > 0 for n in of_rank] for of_rank in pairs]


_kept: dict[Any, tuple[Any, Schedule]] = {}


def schedule_of(
    queries: Any,
    keys: Any,
    mask: Any,
    prefix: int,
    ulysses_ranks: int,
    sums_along_keys: bool,
    in_parts: bool,
    device: torch.device,
) -> Schedule:
    """The same for the same objects: layers of a model, and its steps, share shardings."""
    how = (mask, prefix, ulysses_ranks, sums_along_keys, in_parts, device)
    key = (id(queries), id(keys), *how)
    found = _kept.get(key)
    if found is None:
        if len(_kept) >= 16:
            _kept.pop(next(iter(_kept)))
        # The shardings are kept with it, so that their numbers stay theirs.
        found = _kept[key] = ((queries, keys), Schedule(queries, keys, *how))
    return found[1]
