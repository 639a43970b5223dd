"""Attention over ranks as python/posenc/distributed computes it, forward: what each rank computes, sends and waits for.

Each mode is a process of events.py. Bytes are counted where they are sent; posenc.shard_cost has the closed formula.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from events import Event, Process, Simulation
from machines import Machine

F32 = 4
MOST_PARTS, LEAST_ROWS = 4, 1024  # of another rank's block, and of a part of it: as in _schedule.py


@dataclass(frozen=True)
class Layer:
    heads: int
    kv_heads: int
    head_dim: int
    value_dim: int
    width: int = 2  # bytes of an element of q, k, v and the output

    @property
    def channels(self) -> int:
        return self.head_dim + self.value_dim

    def flops(self, pairs: float, heads: int) -> float:
        return 2.0 * pairs * heads * self.channels

    def of_group(self) -> int:
        return self.heads // self.kv_heads

    def range_of(self, ranks: int, place: int) -> tuple[int, int]:
        """Query heads of one of so many ranks that deal them."""
        return self.heads * place // ranks, self.heads * (place + 1) // ranks

    def kv_count(self, first: int, end: int) -> int:
        return 0 if first == end else -(-end // self.of_group()) - first // self.of_group()


@dataclass(frozen=True)
class Work:
    """Rows of each rank, and the scores between the queries of one and the keys of another."""

    queries: Callable[[int], int]
    keys: Callable[[int], int]
    pairs: Callable[[int, int], float]
    # Of queries of some ranks and keys of some, each lot together: where it is more than the sum over pairs of ranks.
    together: Callable[[Sequence[int], Sequence[int]], float] | None = None


def causal_zigzag(tokens: int, ranks: int) -> Work:
    """Two parts of 2 R, one as far from the end as the other from the beginning: a rank sees of any other half of all
    pairs, from both of its parts the one before or from the later one both."""
    part = tokens / (2 * ranks)
    each = int(2 * part)
    return Work(lambda r: each, lambda r: each, lambda r, k: 2 * part**2 + (part if r == k else 0.0))


BLOCK, TILE = 48, 64  # queries that kernels compute at a time (3 registers of 16 floats), and keys


def tiles_of_causal_zigzag(tokens: int, ranks: int) -> Work:
    """The same as kernels compute it: of a block of queries, whole tiles of keys of which its last query sees any. Of few
    rows that is much more than what is seen: a block on the border between a rank's two parts has queries of both."""
    part, rows = tokens // (2 * ranks), tokens // ranks

    def of(some: Sequence[int]) -> list[int]:
        return sorted(p * part + n for rank in some for p in (rank, 2 * ranks - 1 - rank) for n in range(part))

    @functools.cache
    def together(queries: tuple[int, ...], keys: tuple[int, ...]) -> float:
        i, j = of(queries), of(keys)
        firsts = range(0, len(j), TILE)
        blocks = [i[first : first + BLOCK] for first in range(0, len(i), BLOCK)]
        return float(sum(len(block) * min(TILE, len(j) - t) for block in blocks for t in firsts if j[t] <= block[-1]))

    each = lambda rank: rows
    return Work(each, each, lambda r, k: together((r,), (k,)), lambda q, k: together(tuple(q), tuple(k)))


@dataclass
class Counted:
    """Of each rank that is simulated."""

    sent: list[float]
    held: list[float]  # bytes at a time, the most: q, k, v, partial results in f32, blocks on their way
    seconds: list[float] = field(default_factory=list)


class Messages:
    """A message goes when both ends have asked for it, and those of a pair of ranks one after another. Ranks are images of
    those that are simulated."""

    def __init__(self, machine: Machine, counted: Counted) -> None:
        self.machine, self.counted = machine, counted
        self._line: dict[Any, list[Callable[[], Event]]] = {}
        self._sent: set[Any] = set()
        self._asked: dict[Any, tuple[float, Event]] = {}

    def _key(self, source: int, to: int, tag: Any) -> Any:
        machine = self.machine
        return machine.image(source), machine.image(to), (to - source) % machine.ranks, tag

    def send(self, source: int, to: int, count: float, tag: Any) -> None:
        if count == 0:
            return
        self.counted.sent[source] += count
        key = self._key(source, to, tag)
        if key in self._asked:
            self._go(source, to, *self._asked.pop(key))
        else:
            self._sent.add(key)

    def receive(self, source: int, to: int, count: float, tag: Any) -> Event:
        done = Event()
        key = self._key(source, to, tag)
        if count == 0:
            done.happen()
        elif key in self._sent:
            self._sent.discard(key)
            self._go(source, to, count, done)
        else:
            self._asked[key] = (count, done)
        return done

    def _go(self, source: int, to: int, count: float, done: Event) -> None:
        line = self._line.setdefault(self._key(source, to, None), [])

        def first_goes() -> None:
            line[0]().then.append(one_is_over)

        def one_is_over() -> None:
            line.pop(0)
            if line:
                first_goes()

        def goes() -> Event:
            moved = self.machine.transfer(source, to, count)
            moved.then.append(done.happen)
            return moved

        line.append(goes)
        if len(line) == 1:
            first_goes()


@dataclass
class Run:
    layer: Layer
    work: Work
    machine: Machine
    messages: Messages
    counted: Counted
    dealt: int = 1  # ranks of a group that deal heads
    ahead: int = 1  # blocks that are asked for before they are needed
    needed: dict[int, list[Part]] = field(default_factory=dict)  # by group

    def held(self, rank: int, *counts: float) -> None:
        self.counted.held[rank] = max(self.counted.held[rank], sum(counts))

    def parts(self, group: int, gathers: bool) -> list[Part]:
        if group not in self.needed:
            self.needed[group] = parts_of(self, group, gathers)
        return self.needed[group]

    # ---- of a group: ranks that deal heads have its rows together ----

    def members(self, group: int) -> range:
        return range(group * self.dealt, (group + 1) * self.dealt)

    def rows(self, of: Callable[[int], int], group: int) -> int:
        return sum(of(rank) for rank in self.members(group))

    def pairs(self, group: int, *others: int) -> float:
        work = self.work
        if self.dealt == 1 and len(others) == 1:
            return work.pairs(group, others[0])
        queries, keys = self.members(group), [k for other in others for k in self.members(other)]
        if work.together is not None:
            return work.together(queries, keys)
        return sum(work.pairs(r, k) for r in queries for k in keys)


@dataclass(frozen=True)
class Part:
    """Rows of a block that come as one message."""

    owner: int  # a group
    number: int
    share: float


def parts_of(run: Run, group: int, gathers: bool) -> list[Part]:
    """What a group needs, in its order: its own block, that of the group before it, and so on, those of others in parts: all,
    or where machines say so the last."""
    groups = run.machine.ranks // run.dealt
    whose = [(group - s) % groups for s in range(groups)]
    needed = [k for k in whose if run.pairs(group, k) > 0]
    out: list[Part] = []
    for k in needed:
        is_cut = not gathers and k != group and (run.machine.takes_all_in_parts or k == needed[-1])
        count = max(min(MOST_PARTS, run.rows(run.work.keys, k) // LEAST_ROWS), 1) if is_cut else 1
        out += [Part(k, n, 1.0 / count) for n in range(count)]
    return out


def blocks(run: Run, rank: int, gathers: bool) -> Process:
    """ring, all_gather, and what of hybrid goes between groups: in turn s, rank r has the keys of r - s."""
    layer, machine, messages = run.layer, run.machine, run.messages
    groups = machine.ranks // run.dealt
    group, place = divmod(rank, run.dealt)
    first, end = layer.range_of(run.dealt, place)
    heads, kv_heads = end - first, layer.kv_count(first, end)
    if heads == 0:
        return
    row = kv_heads * layer.channels * layer.width
    n = run.rows(run.work.queries, group)
    result = n * heads * (layer.value_dim + 1) * F32
    needed = run.parts(group, gathers)
    own = run.rows(run.work.keys, group) * row
    for s in range(1, groups):
        other = (group + s) % groups
        for part in run.parts(other, gathers):
            if part.owner == group:
                messages.send(rank, other * run.dealt + place, part.share * own, ("keys", part.number))
    q = n * heads * layer.head_dim * layer.width
    held = [part.share * run.rows(run.work.keys, part.owner) * row for part in needed]
    coming: dict[int, Event] = {}

    def ask(turn: int) -> None:
        if turn < len(needed) and turn not in coming and needed[turn].owner != group:
            source = needed[turn].owner * run.dealt + place
            coming[turn] = messages.receive(source, rank, held[turn], ("keys", needed[turn].number))

    block = max((run.rows(run.work.keys, part.owner) * row for part in needed), default=0)

    def last_ahead(turn: int) -> int:
        """The last that is asked for before this one is waited for: of others' blocks so many."""
        last, count = turn, 0.0
        while last + 1 < len(needed):
            count += held[last + 1] if needed[last + 1].owner != group else 0.0
            if count > run.ahead * block * (1 + 1e-9):
                break
            last += 1
        return last

    if gathers:
        for turn in range(len(needed)):
            ask(turn)
        yield from list(coming.values())
        pairs = run.pairs(group, *(part.owner for part in needed))
        yield machine.copy(rank, 4 * sum(held))  # joined, and rows put in order
        yield machine.compute(rank, layer.flops(pairs, heads), q + sum(held) + result)
        run.held(rank, q, own, result, 2 * sum(held))
        return
    yield machine.copy(rank, 2 * result)  # memory that is new: the sum, and a part
    for turn, part in enumerate(needed):
        for later in range(turn, last_ahead(turn) + 1):
            ask(later)
        if turn in coming:
            yield coming[turn]
        flops = layer.flops(part.share * run.pairs(group, part.owner), heads)
        yield machine.compute(rank, flops, q + held[turn] + result)
        if turn:
            yield machine.merge(rank, 3 * result)  # two are read, one is written
        there = sum(held[t] for t in range(turn, last_ahead(turn) + 1) if t in coming)
        run.held(rank, q, own, 2 * result, there)


def rank_of(run: Run, rank: int, gathers: bool) -> Process:
    """A call of attend on a rank: heads dealt where a group has several ranks, blocks, outputs back."""
    layer, machine, messages, dealt = run.layer, run.machine, run.messages, run.dealt
    yield machine.begin(rank)
    if dealt == 1:
        yield from blocks(run, rank, gathers)
        return
    group, place = divmod(rank, dealt)
    n, m = run.work.queries(rank), run.work.keys(rank)
    own_first, own_end = layer.range_of(dealt, place)
    own_heads, own_kv = own_end - own_first, layer.kv_count(own_first, own_end)
    query, key = layer.head_dim * layer.width, layer.channels * layer.width
    back = layer.value_dim * layer.width + F32
    coming = []
    yield machine.copy(rank, 2 * (n * layer.heads * query + m * layer.kv_heads * key))  # heads cut out
    for other in run.members(group):
        first, end = layer.range_of(dealt, other % dealt)
        if other != rank:
            messages.send(rank, other, n * (end - first) * query + m * layer.kv_count(first, end) * key, "heads")
            theirs = run.work.queries(other) * own_heads * query + run.work.keys(other) * own_kv * key
            coming.append(messages.receive(other, rank, theirs, "heads"))
    yield from coming
    all_rows = run.rows(run.work.queries, group) * own_heads * query + run.rows(run.work.keys, group) * own_kv * key
    yield machine.copy(rank, 2 * all_rows)  # put together
    yield from blocks(run, rank, gathers)
    run.held(rank, run.counted.held[rank], n * layer.heads * query + m * layer.kv_heads * key + all_rows)
    coming = []
    yield machine.copy(rank, 2 * run.rows(run.work.queries, group) * own_heads * back)
    for other in run.members(group):
        first, end = layer.range_of(dealt, other % dealt)
        if other != rank:
            messages.send(rank, other, run.work.queries(other) * own_heads * back, "outputs")
            coming.append(messages.receive(other, rank, n * (end - first) * back, "outputs"))
    yield from coming
    yield machine.copy(rank, 3 * n * layer.heads * back)  # added to zeros


def attend(
    make: Callable[[Simulation], Machine], layer: Layer, work: Work, mode: str, ulysses_ranks: int | None = None,
    ahead: int = 1,
) -> Counted:  # fmt: skip
    simulation = Simulation()
    machine = make(simulation)
    counted = Counted([0.0] * machine.simulated, [0.0] * machine.simulated)
    dealt = {"ulysses": machine.ranks, "hybrid": ulysses_ranks or 1}.get(mode, 1)
    run = Run(layer, work, machine, Messages(machine, counted), counted, dealt, ahead)
    counted.seconds = simulation.run([rank_of(run, rank, mode == "all_gather") for rank in range(machine.simulated)])
    return counted
