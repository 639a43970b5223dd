"""Schemes that sum along the keys (CoPE, forget gates): every query takes the keys from the last to the first, and its
rank carries the sum. So all ranks want the same run of keys at the same time, of one rank.

sent by its owner (what posenc does): a run goes to every rank that sees it over one link. passed on: from rank to rank,
each after it has it, the next run behind it: links are used all at once, and each rank sends a run once.
"""

from __future__ import annotations

from collections.abc import Callable

from events import Event, Process, Simulation
from machines import Machine
from modes import F32, Counted, Layer, Messages


def seen(rank: int, run: int, ranks: int, part: int) -> float:
    """Scores between the zigzag rank's two parts and one run of keys, a part of 2 R."""
    return sum(part * part if own > run else part * (part + 1) / 2 if own == run else 0.0 for own in (rank, 2 * ranks - 1 - rank))


def owner(run: int, ranks: int) -> int:
    return min(run, 2 * ranks - 1 - run)


def readers(run: int, ranks: int) -> list[int]:
    """Ranks that see a run, its owner first: those whose later part is not before it."""
    others = [rank for rank in range(ranks) if 2 * ranks - 1 - rank >= run and rank != owner(run, ranks)]
    return [owner(run, ranks), *others]


def of_rank(
    rank: int, machine: Machine, layer: Layer, part: int, messages: Messages, passes: bool, ahead: int
) -> Process:  # fmt: skip
    ranks = machine.ranks
    size = part * layer.kv_heads * layer.channels * layer.width
    runs = [run for run in reversed(range(2 * ranks)) if rank in readers(run, ranks)]
    coming: dict[int, Event] = {}

    def ask(n: int) -> None:
        """Of the n-th run: as soon as it is here it goes on, where runs are passed on."""
        if n >= len(runs) or n in coming:
            return
        chain = readers(runs[n], ranks)
        at = chain.index(rank)
        if at:
            coming[n] = messages.receive(chain[at - 1] if passes else chain[0], rank, size, runs[n])
        else:
            coming[n] = machine.begin(rank)
        following = chain[at + 1 : at + 2] if passes else chain[1:] if at == 0 else []

        def go_on() -> None:
            for other in following:
                messages.send(rank, other, size, runs[n])

        if coming[n].is_over:
            go_on()
        else:
            coming[n].then.insert(0, go_on)

    if not passes:  # all that is sent is sent at once
        for n, run in enumerate(runs):
            if owner(run, ranks) == rank:
                ask(n)
    result = 2 * part * layer.heads * (layer.value_dim + 1) * F32
    for n, run in enumerate(runs):
        for later in range(n, n + 1 + ahead):
            ask(later)
        yield coming[n]
        yield machine.compute(rank, layer.flops(seen(rank, run, ranks, part), layer.heads), size + result)
        if n:
            yield machine.merge(rank, 3 * result)


def attend(
    make: Callable[[Simulation], Machine], layer: Layer, tokens: int, passes: bool = False, ahead: int = 1
) -> Counted:  # fmt: skip
    simulation = Simulation()
    machine = make(simulation)
    counted = Counted([0.0] * machine.ranks, [0.0] * machine.ranks)
    messages = Messages(machine, counted)
    part = tokens // (2 * machine.ranks)
    processes = [of_rank(rank, machine, layer, part, messages, passes, ahead) for rank in range(machine.ranks)]
    counted.seconds = simulation.run(processes)
    return counted
