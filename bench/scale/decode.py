"""One token's attention over a KV cache that is sharded: parts merged by a binary tree, as ShardedCache does, or passed on
from rank to rank. Every rank has the query, and in the end the output."""

from __future__ import annotations

from collections.abc import Callable

from events import Process, Simulation
from machines import Machine
from modes import F32, Counted, Layer, Messages


def tree(rank: int, ranks: int) -> tuple[list[int], int | None]:
    """Children, in the order in which they are merged, and the parent."""
    children: list[int] = []
    step = 1
    while step < ranks:
        if rank % (2 * step):
            return children, rank - step
        if rank + step < ranks:
            children.append(rank + step)
        step *= 2
    return children, None


def own_keys(rank: int, machine: Machine, layer: Layer, tokens: int) -> tuple[float, float]:
    """Operations and bytes."""
    keys = tokens / machine.ranks
    return layer.flops(keys, layer.heads), keys * layer.kv_heads * layer.channels * layer.width


def by_tree(rank: int, machine: Machine, layer: Layer, tokens: int, messages: Messages) -> Process:
    part = layer.heads * (layer.value_dim + 1) * F32
    yield machine.begin(rank)
    yield machine.decode(rank, *own_keys(rank, machine, layer, tokens))
    children, parent = tree(rank, machine.ranks)
    for child in children:
        yield messages.receive(child, rank, part, "up")
        yield machine.merge(rank, 3 * part)
    if parent is not None:
        messages.send(rank, parent, part, "up")
        yield messages.receive(parent, rank, part, "down")
    for child in reversed(children):
        messages.send(rank, child, part, "down")


def passed_on(rank: int, machine: Machine, layer: Layer, tokens: int, messages: Messages) -> Process:
    """The sum so far goes from rank to rank, and the output back the same way."""
    part = layer.heads * (layer.value_dim + 1) * F32
    yield machine.begin(rank)
    yield machine.decode(rank, *own_keys(rank, machine, layer, tokens))
    if rank:
        yield messages.receive(rank - 1, rank, part, "on")
        yield machine.merge(rank, 3 * part)
    if rank + 1 < machine.ranks:
        messages.send(rank, rank + 1, part, "on")
        yield messages.receive(rank + 1, rank, part, "back")
    if rank:
        messages.send(rank, rank - 1, part, "back")


def decode(make: Callable[[Simulation], Machine], layer: Layer, tokens: int, is_tree: bool = True) -> Counted:
    simulation = Simulation()
    machine = make(simulation)
    counted = Counted([0.0] * machine.ranks, [0.0] * machine.ranks)
    messages = Messages(machine, counted)
    way = by_tree if is_tree else passed_on
    counted.seconds = simulation.run([way(rank, machine, layer, tokens, messages) for rank in range(machine.ranks)])
    return counted
