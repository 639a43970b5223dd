"""Attention over ranks, forward and backward: heads are dealt, keys go round, partial results are merged, and back.

The order of all sums is that of the schedule, so results are the same bits from run to run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from .. import _posenc
from .._graph_arguments import Layer
from ._exchange import HEADS, KEYS, Exchange, Pending
from ._parts import Inputs, KeyGradients, Keys, Made, Parts, Sums
from ._returning import Returning
from ._schedule import Piece, Schedule, Turn, joined_rows


@dataclass
class Call:
    """What does not change from forward to backward."""

    layer: Layer
    schedule: Schedule
    exchange: Exchange
    ulysses_ranks: int
    query_counts: list[int]  # rows of each rank
    key_counts: list[int]
    numbers: dict[str, Any]
    names: list[str]  # of the tensors after q, k and v: inputs, then tables
    is_packed: bool
    gathers: bool  # all keys before anything is computed
    axis: int  # of rows: 0, or in batches 2
    of_parts: type[Parts]  # by which backend
    by_query: list[str]  # of attn_mask and bias those that are dealt: with heads dealt, and a row for each query
    bias_has_heads: bool

    def __post_init__(self) -> None:
        plan, dealt = self.layer.plan, self.ulysses_ranks
        self.group, self.place = divmod(self.exchange.rank, dealt)
        self.members = [self.group * dealt + place for place in range(dealt)]
        self.head_ranges = [_posenc.heads_of_rank(plan.heads, dealt, place) for place in range(dealt)]
        of_group = plan.heads // plan.kv_heads
        self.kv_ranges = [_posenc.kv_heads_of(*one, of_group) for one in self.head_ranges]
        self.first, self.end = self.head_ranges[self.place]

    def parts(self, tables: list[Tensor], inputs: Inputs) -> Parts:
        of_queries = self.schedule.queries[self.group]
        return self.of_parts(
            self.layer, tables, self.first, self.end, of_queries, inputs, self.is_packed, lambda: self.schedule.extent
        )

    def rank_of(self, group: int) -> int:
        """The rank of another group that has the same heads."""
        return group * self.ulysses_ranks + self.place


# ---- heads ----


def _replaced(shape: Any, **axes: int) -> list[int]:
    out = list(shape)
    for name, size in axes.items():
        out[int(name[1:])] = size
    return out


class Deal:
    """Rows of all heads to all rows of some heads, within a group of ranks, and back. kind: "q", "kv", or "all": a tensor
    that has the same for all heads."""

    def __init__(self, call: Call, side: str) -> None:
        self.call = call
        counts = call.query_counts if side == "q" else call.key_counts
        self.counts = [counts[rank] for rank in call.members]
        rows = (call.schedule.queries if side == "q" else call.schedule.keys)[call.group]
        self.total = rows.count

    def _heads(self, kind: str, place: int) -> tuple[int, int]:
        first, end = self.call.head_ranges[place]
        if kind == "all":
            return (0, 1) if end > first else (0, 0)
        return (first, end) if kind == "q" else self.call.kv_ranges[place]

    def post(self, x: Tensor, kind: str, places: list[Tensor], axis: int | None = None) -> Dealt:
        """axis: of rows; by default that of the call's tensors."""
        call = self.call
        axis = call.axis if axis is None else axis
        coming: list[Any] = []
        own_first, own_end = self._heads(kind, call.place)
        for place, rank in enumerate(call.members):
            first, end = self._heads(kind, place)
            if place != call.place:
                call.exchange.send(x[:, first:end], rank, HEADS)
                shape = _replaced(x.shape, **{f"_{axis}": self.counts[place], "_1": own_end - own_first})
                coming.append(call.exchange.receive(shape, x.dtype, rank, HEADS))
            else:
                coming.append(x[:, first:end])
        shape = _replaced(x.shape, **{f"_{axis}": self.total, "_1": own_end - own_first})
        return Dealt(x.new_empty(shape), coming, places, axis)

    def post_back(self, x: Tensor, kind: str, heads: int, places: list[Tensor], axis: int | None = None) -> PutBack:
        """heads: of all. Of heads that several ranks had, gradients are added."""
        call = self.call
        axis = call.axis if axis is None else axis
        coming: list[Any] = []
        for place, rank in enumerate(call.members):
            own = x.index_select(axis, places[place])
            first, end = self._heads(kind, place)
            if place != call.place:
                call.exchange.send(own, rank, HEADS)
                shape = _replaced(x.shape, **{f"_{axis}": self.counts[call.place], "_1": end - first})
                coming.append((call.exchange.receive(shape, x.dtype, rank, HEADS), first, end))
            else:
                coming.append((own, first, end))
        shape = _replaced(x.shape, **{f"_{axis}": self.counts[call.place], "_1": heads})
        return PutBack(x.new_zeros(shape), coming)


@dataclass
class Dealt:
    to: Tensor
    coming: list[Any]
    places: list[Tensor]
    axis: int

    def wait(self) -> Tensor:
        for one, rows in zip(self.coming, self.places):
            self.to.index_copy_(self.axis, rows, one.wait() if isinstance(one, Pending) else one)
        return self.to


@dataclass
class PutBack:
    to: Tensor
    coming: list[Any]

    def wait(self) -> Tensor:
        for one, first, end in self.coming:
            self.to[:, first:end] += one.wait() if isinstance(one, Pending) else one
        return self.to


# ---- keys ----


def _rows_first(x: Tensor, axis: int) -> Tensor:
    """The same numbers, those of a row beside each other, and those of a part of the rows."""
    return x.movedim(axis, 0).contiguous().movedim(0, axis)


class Ring:
    """Keys of the pieces that a group needs, a block ahead of what is computed. In messages rows come first."""

    def __init__(self, call: Call, keys: Keys, turns: list[Turn]) -> None:
        self.call, self.keys, self.turns = call, keys, turns
        self.axis = call.axis
        self.coming: dict[int, list[Pending]] = {}
        self.asked = 0  # of those that are needed, from the first
        self.needed = [p for p in (turn[call.group] for turn in turns) if p is not None]
        messages: dict[int, list[Tensor]] = {}  # of each piece once, however many ranks it goes to
        if call.end > call.first:
            for turn in turns:
                for group, p in enumerate(turn):
                    if p is not None and group != call.group and self.piece(p).owner == call.group:
                        if p not in messages:
                            messages[p] = [self._message(x) for x in self.tensors(self.own(p))]
                        for x in messages[p]:
                            call.exchange.send(x, call.rank_of(group), KEYS)

    def piece(self, p: int) -> Piece:
        return self.call.schedule.pieces[p]

    @staticmethod
    def tensors(keys: Keys) -> list[Tensor]:
        return [x for x in (keys.k, keys.v, keys.gates, keys.segments) if x is not None]

    def _axis(self, x: Tensor) -> int:
        """Of rows: of segments the last."""
        return self.call.axis if x.dtype != torch.int32 else x.dim() - 1

    def _message(self, x: Tensor) -> Tensor:
        return self.call.exchange.as_message(x.movedim(self._axis(x), 0))

    def _of_rows(self, x: Tensor, piece: Piece) -> Tensor:
        return x.narrow(self._axis(x), piece.first, piece.count)

    def own(self, p: int) -> Keys:
        piece = self.piece(p)
        cut = [
            None if x is None else self._of_rows(x, piece)
            for x in (self.keys.k, self.keys.v, self.keys.gates, self.keys.segments)
        ]
        assert cut[0] is not None and cut[1] is not None
        return Keys(cut[0], cut[1], cut[2], cut[3])

    def _ask(self, n: int) -> None:
        """For the n-th that is needed."""
        piece = self.piece(self.needed[n])
        if piece.owner == self.call.group:
            return
        source = self.call.rank_of(piece.owner)
        posted = []
        for x in self.tensors(self.keys):
            shape = _replaced(x.movedim(self._axis(x), 0).shape, _0=piece.count)
            posted.append(self.call.exchange.receive(shape, x.dtype, source, KEYS))
        self.coming[n] = posted

    def _ahead_of(self, n: int) -> int:
        """The first that is not asked for yet when the n-th is waited for: of as many rows as a block has, those after it
        are. So a link rests only where it is ahead by a block."""
        end, rows = n + 1, 0
        while end < len(self.needed):
            piece = self.piece(self.needed[end])
            rows += piece.count if piece.owner != self.call.group else 0
            if rows > self.call.schedule.block_rows:
                break
            end += 1
        return end

    def take(self, n: int) -> Keys:
        """The n-th that is needed, when it is here; as much as a block is asked for ahead of it."""
        until = len(self.needed) if self.call.gathers else self._ahead_of(n)
        for every in range(self.asked, until):
            self._ask(every)
        self.asked = max(self.asked, until)
        if n not in self.coming:
            return self.own(self.needed[n])
        came = [one.wait().movedim(0, self._axis(x)) for one, x in zip(self.coming.pop(n), self.tensors(self.keys))]
        gates = came[2] if self.keys.gates is not None else None
        return Keys(came[0], came[1], gates, came[-1] if self.keys.segments is not None else None)


def _joined_keys(ring: Ring, call: Call) -> tuple[Piece, Keys]:
    """All pieces as one, its rows ascending."""
    of: list[Keys] = [ring.take(n) for n in range(len(ring.needed))]
    pieces = [ring.piece(p) for p in ring.needed]
    rows, order = joined_rows([one.rows for one in pieces])
    axis = ring.axis

    def put(name: str) -> Tensor | None:
        parts = [getattr(one, name) for one in of]
        if parts[0] is None:
            return None
        along = parts[0].dim() - 1 if parts[0].dtype == torch.int32 else axis
        return torch.cat(parts, along).index_select(along, order)

    k, v = put("k"), put("v")
    assert k is not None and v is not None
    return Piece(call.group, 0, rows.count, rows), Keys(k, v, put("gates"), put("segments"))


# ---- the two passes ----


@dataclass
class Kept:
    """Of the forward pass, for the backward pass: as they were dealt."""

    q: Tensor
    keys: Keys
    out: Tensor
    lse: Tensor
    inputs: Inputs
    tables: list[Tensor]
    carries: dict[int, Tensor]


MATRIX_ROWS = 2  # the axis of queries in [batch, heads, queries, keys]


def _member_places(call: Call, side: str) -> list[Tensor]:
    """Of each member, where its rows stand among those of the group."""
    rows = (call.schedule.queries if side == "q" else call.schedule.keys)[call.group].rows
    of_members = call.schedule.of_ranks[side]
    return [torch.searchsorted(rows, of_members[rank]) for rank in call.members]


def forward(
    call: Call, q: Tensor, k: Tensor, v: Tensor, inputs: dict[str, Tensor], tables: list[Tensor]
) -> tuple[Tensor, Tensor, Kept]:
    of_q, of_k = Deal(call, "q"), Deal(call, "kv")
    given: dict[str, Tensor | None] = {
        name: inputs.get(name) for name in ("log_forget", "k_segments", "row_gate", "q_segments", "attn_mask", "bias")
    }
    if call.ulysses_ranks > 1:
        q_places, k_places = _member_places(call, "q"), _member_places(call, "kv")
        posted = [of_q.post(q, "q", q_places), of_k.post(k, "kv", k_places), of_k.post(v, "kv", k_places)]
        more: dict[str, Dealt] = {}
        for name, deal, kind, places in (("log_forget", of_k, "q", k_places), ("row_gate", of_q, "q", q_places)):
            x = given[name]
            if x is not None:
                more[name] = deal.post(x, kind, places)
        for name in call.by_query:
            x = given[name]
            assert x is not None
            x = x.view(torch.uint8) if x.dtype == torch.bool else x  # gloo sends no bool
            more[name] = of_q.post(x, "q" if x.shape[1] > 1 else "all", q_places, MATRIX_ROWS)
        for name, deal, places in (("k_segments", of_k, k_places), ("q_segments", of_q, q_places)):
            x = given[name]
            if x is not None:  # as numbers of one head
                more[name] = deal.post(x.unsqueeze(1), "all", places)
        q, k, v = (one.wait() for one in posted)
        for name, one in more.items():
            x = one.wait()
            given[name] = x.select(1, 0) if name.endswith("segments") and x.shape[1] else x
        for name in ("attn_mask", "bias"):
            matrix = given[name]
            if matrix is None:
                continue
            if name in call.by_query:
                given[name] = matrix.view(torch.bool) if name == "attn_mask" else matrix
            elif matrix.shape[1] > 1:
                given[name] = matrix[:, call.first : call.end]
    keys = Keys(_rows_first(k, call.axis), _rows_first(v, call.axis), given["log_forget"], given["k_segments"])
    numbers = Inputs(given["row_gate"], given["q_segments"], given["attn_mask"], given["bias"], call.numbers)
    parts = call.parts(tables, numbers)
    out = q.new_zeros((*q.shape[:-1], call.layer.value_dim), dtype=torch.float32)
    lse = q.new_full(q.shape[:-1], -torch.inf, dtype=torch.float32)
    carries: dict[int, Tensor] = {}
    if call.end > call.first:
        _pass_forward(call, parts, q, keys, out, lse, carries)
    out = out.to(q.dtype)
    kept = Kept(q, keys, out.detach(), lse.detach(), numbers, tables, carries)
    if call.ulysses_ranks > 1:
        heads = call.layer.plan.heads
        back = [of_q.post_back(x, "q", heads, q_places) for x in (out, lse)]
        out, lse = (one.wait() for one in back)
    call.exchange.finish()
    return out, lse, kept


def _pass_forward(
    call: Call, parts: Parts, q: Tensor, keys: Keys, out: Tensor, lse: Tensor, carries: dict[int, Tensor]
) -> None:
    ring = Ring(call, keys, call.schedule.forward)
    carry = None if call.gathers else parts.no_carry(lse)
    if call.gathers and ring.needed:
        piece, gathered = _joined_keys(ring, call)
        parts.forward(q, piece, gathered, None, out, lse)
    elif not call.gathers:
        part_out, part_lse = torch.empty_like(out), torch.empty_like(lse)
        for n, p in enumerate(ring.needed):
            own = ring.take(n)
            if carry is not None:
                carries[p] = carry.clone()
            if n == 0:
                parts.forward(q, ring.piece(p), own, carry, out, lse)
            else:
                parts.forward(q, ring.piece(p), own, carry, part_out, part_lse)
                parts.merge(out, lse, part_out, part_lse)
            del own  # before the next but one is asked for
    parts.count_sinks(out, lse)


def backward(call: Call, kept: Kept, d_out: Tensor, d_lse: Tensor) -> dict[str, Any]:
    """Gradients by name: q, k, v, log_forget, row_gate, bias, and "tables", a list."""
    of_q, of_k = Deal(call, "q"), Deal(call, "kv")
    if call.ulysses_ranks > 1:
        q_places, k_places = _member_places(call, "q"), _member_places(call, "kv")
        posted = [of_q.post(d_out, "q", q_places), of_q.post(d_lse, "q", q_places)]
        d_out, d_lse = (one.wait() for one in posted)
    inputs, keys = kept.inputs, kept.keys
    parts = call.parts(kept.tables, inputs)
    sums = Sums(
        torch.zeros_like(kept.q, dtype=torch.float32),
        parts.zeros_of_tables(),
        None if inputs.bias is None else torch.zeros_like(inputs.bias, dtype=torch.float32),
        None if inputs.row_gate is None else torch.zeros_like(inputs.row_gate),
        None if call.gathers else parts.no_carry(kept.lse),
    )
    own = KeyGradients.of(keys)
    if call.end > call.first:
        made = Made(kept.out.contiguous(), kept.lse.contiguous(), d_out.contiguous(), d_lse.contiguous())
        _pass_backward(call, parts, kept, made, sums, own)
    result: dict[str, Any] = {
        "q": sums.q.to(kept.q.dtype), "k": own.k, "v": own.v, "log_forget": own.gates, "row_gate": sums.row_gate,
        "bias": sums.bias, "tables": sums.tables,
    }  # fmt: skip
    if call.ulysses_ranks > 1:
        plan = call.layer.plan
        if sums.bias is not None and "bias" not in call.by_query and sums.bias.shape[1] > 1:
            # Of other heads there is nothing here.
            result["bias"] = sums.bias.new_zeros(_replaced(sums.bias.shape, _1=plan.heads))
            result["bias"][:, call.first : call.end] = sums.bias
        back: dict[str, PutBack] = {}
        for name, deal, kind, heads, places in (
            ("q", of_q, "q", plan.heads, q_places),
            ("k", of_k, "kv", plan.kv_heads, k_places),
            ("v", of_k, "kv", plan.kv_heads, k_places),
            ("log_forget", of_k, "q", plan.heads, k_places),
            ("row_gate", of_q, "q", plan.heads, q_places),
        ):
            if result[name] is not None:
                back[name] = deal.post_back(result[name], kind, heads, places)
        if "bias" in call.by_query:
            heads = plan.heads if call.bias_has_heads else 1
            back["bias"] = of_q.post_back(result["bias"], "q" if heads > 1 else "all", heads, q_places, MATRIX_ROWS)
        result |= {name: one.wait() for name, one in back.items()}
    call.exchange.finish()
    return result


def _pass_backward(call: Call, parts: Parts, kept: Kept, made: Made, sums: Sums, own: KeyGradients) -> None:
    turns = call.schedule.backward
    ring = Ring(call, kept.keys, turns)
    returning = Returning(call.exchange, own, call.axis, call.schedule.block_rows)
    gathered: KeyGradients | None = None
    order = torch.empty(0, dtype=torch.int64)
    if call.gathers and ring.needed:
        piece, keys = _joined_keys(ring, call)
        gathered = KeyGradients.of(keys)
        parts.backward(kept.q, piece, keys, made, sums, True, gathered)
        order = torch.argsort(torch.argsort(torch.cat([ring.piece(p).rows.rows for p in ring.needed])))
    taken = done = 0

    def make(p: int) -> None:
        """In a function of its own, so that no name holds what it took and made while others' gradients are waited for."""
        nonlocal taken, done
        piece = ring.piece(p)
        if gathered is None:
            keys = ring.take(taken)
            to = returning.room(piece, piece.owner == call.group)
            made.carry = kept.carries.get(p)
            parts.backward(kept.q, piece, keys, made, sums, taken == 0, to)
        else:
            to = returning.room(piece, piece.owner == call.group)
            for x, of_all in zip(to.tensors(), gathered.tensors()):
                x.copy_(of_all.index_select(call.axis, order[done : done + piece.count]))
        taken, done = taken + 1, done + piece.count
        if piece.owner != call.group:
            returning.give(piece, to, call.rank_of(piece.owner))

    for turn in turns:
        mine = turn[call.group]
        if mine is not None:
            make(mine)
        for group, p in enumerate(turn):
            if p is not None and group != call.group and ring.piece(p).owner == call.group:
                returning.ask(ring.piece(p), call.rank_of(group))
    returning.finish()


class Attention(torch.autograd.Function):
    """(call, q, k, v, inputs and tables by call.names) -> (out, lse)"""

    @staticmethod
    def forward(ctx: Any, call: Call, q: Tensor, k: Tensor, v: Tensor, *others: Tensor) -> tuple[Tensor, Tensor]:
        count = len(call.names)
        inputs = {name: x.detach() for name, x in zip(call.names, others)}
        out, lse, ctx.kept = forward(call, q.detach(), k.detach(), v.detach(), inputs, [x.detach() for x in others[count:]])
        ctx.call, ctx.shapes = call, (out.shape, lse.shape)
        ctx.dtypes = [x.dtype for x in (q, k, v, *others)]
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(q, k, v, out, lse, *others)  # so that torch sees where one of them is changed meanwhile
        return out, lse

    @staticmethod
    def backward(ctx: Any, d_out: Tensor | None, d_lse: Tensor | None) -> tuple[Any, ...]:
        call, kept, _ = ctx.call, ctx.kept, ctx.saved_tensors
        d_out = kept.out.new_zeros(ctx.shapes[0]) if d_out is None else d_out.detach().to(kept.out.dtype)
        d_lse = kept.lse.new_zeros(ctx.shapes[1]) if d_lse is None else d_lse.detach().to(torch.float32)
        call.exchange.is_backward = True
        try:
            made = backward(call, kept, d_out, d_lse)
        finally:
            call.exchange.is_backward = False
        gradients = [made["q"], made["k"], made["v"]]
        gradients += [made.get(name) for name in call.names]
        gradients += made["tables"]
        cast = [
            x.to(dtype) if x is not None and asked else None
            for x, dtype, asked in zip(gradients, ctx.dtypes, ctx.needs_input_grad[1:])
        ]
        return (None, *cast)
