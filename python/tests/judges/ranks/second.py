"""Calls for which the ranks of a group connect once more (posenc/distributed/_connections.py), and what each saw of it."""

from __future__ import annotations

import contextlib
import datetime
import gc
import os
import resource
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist

import posenc
import posenc.distributed as pd
import posenc.torch
from posenc.distributed import _connections, _exchange

PLAN = posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8, mask=posenc.Mask(kind="causal"))
KEPT = datetime.timedelta(seconds=77)  # of a group's operations


def attended(group: Any, mode: str = "ring", rows: int = 8, dealing: str = "zigzag", seconds: float = 60.0) -> None:
    """Forward and backward, of ranks with so many rows each."""
    ranks, rank = dist.get_world_size(group), dist.get_rank(group)
    sharding = posenc.shard(ranks, tokens=rows * ranks, dealing=dealing)
    q, k, v = (torch.randn(len(sharding.ranks[rank].rows), 2, 8).requires_grad_() for _ in range(3))
    pd.attend(q, k, v, posenc.torch.Layer(PLAN), group, mode, sharding=sharding, timeout=seconds).sum().backward()


def made() -> int:
    return len(_connections._made)


class Seen:
    """The second connections of a group, and to whom messages went by them, and by the first."""

    def __init__(self, of: Any) -> None:
        self.of, self.by_second, self.by_first = of, set(), set()

    def send(self, tensors: Any, to: int, tag: int) -> Any:
        self.by_second.add((tag, to))
        return self.of.send(tensors, to, tag)

    def recv(self, tensors: Any, source: int, tag: int) -> Any:
        return self.of.recv(tensors, source, tag)

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        isend = dist.isend

        def seen(x: Any, *, group_dst: int, tag: int, **more: Any) -> Any:
            self.by_first.add((tag, group_dst))
            return isend(x, group_dst=group_dst, tag=tag, **more)

        dist.isend = seen
        try:
            yield
        finally:
            dist.isend = isend


def ways(group: Any) -> tuple[set[int], set[int], set[int]]:
    """To whom this rank sent keys and gradients, by the first connections and by the second; tags of what else went by these."""
    attended(group)
    kept = _connections._made[group]
    seen = Seen(kept.of)
    _connections._made[group] = _connections._Connections(kept.name, seen)
    with seen.watching():
        attended(group)
    _connections._made[group] = kept
    large = (_exchange.KEYS, _exchange.GRADIENTS)
    first, second = ({to for tag, to in by if tag in large} for by in (seen.by_first, seen.by_second))
    return first, second, {tag for tag, _ in seen.by_second if tag not in large}


def held_by_the_process() -> tuple[int, int]:
    """Descriptors and threads."""
    gc.collect()
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))


def again_and_again(ranks: list[int], times: int) -> list[tuple[Any, ...]]:
    """Of groups of some ranks, which all make, one after another, and these alone use and destroy: how many were connected once more
    after two calls, and whether with the group's timeout; how many are when it is destroyed, and what the process then holds more
    than before."""
    said: list[tuple[Any, ...]] = []
    before = made()
    for _ in range(times):
        held = held_by_the_process()
        group = dist.new_group(ranks, timeout=KEPT)
        if dist.get_rank() not in ranks:
            continue
        attended(group)
        of = _connections._made[group].of
        attended(group)
        assert _connections._made[group].of is of
        here, kept = made() - before, of.options._timeout
        dist.destroy_process_group(group)
        del group, of
        after = held_by_the_process()
        said.append((here, kept == KEPT, made() - before, *(x - y for x, y in zip(after, held))))
    return said


def without_descriptors(group: Any) -> tuple[str, bool]:
    """What is said where the last rank can open no socket; and whether the next call, when it can, is connected."""
    is_short = dist.get_rank(group) == dist.get_world_size(group) - 1
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    if is_short:
        fill = [os.open("/dev/null", os.O_RDONLY) for _ in range(highest)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(fill) + 1, limits[1]))
    said = "nothing"
    try:
        attended(group, seconds=6.0)
    except RuntimeError as problem:
        said = str(problem)
    if is_short:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for one in fill:
            os.close(one)
    assert group not in _connections._made
    attended(group)
    return said, group in _connections._made


OF_NO_USE = ({"mode": "all_gather"}, {"mode": "ulysses"}, {"rows": 5}, {"dealing": "contiguous"})


def of_no_use(group: Any) -> list[bool]:
    """Whether the group was connected once more for calls that gain nothing by it."""
    said = []
    for call in OF_NO_USE:
        attended(group, **call)
        said.append(group in _connections._made)
    return said


def said(what: str, ranks: int, *arguments: Any) -> Any:
    """That function's answer. ranks: of a new group; 0: it makes its own."""
    groups = [dist.new_group(list(range(ranks)))] if ranks else []
    try:
        return globals()[what](*groups, *arguments)
    finally:
        for group in groups:
            dist.destroy_process_group(group)
