"""What a ring holds at its most: tensors of other ranks, counted as they are made and as they go; and memory of the process,
by the kernel."""

from __future__ import annotations

import contextlib
import ctypes
import math
import pathlib
import types
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.distributed as dist

import posenc
import posenc.distributed as pd
import posenc.torch
from posenc.distributed import _exchange, _returning
from ranks.pool import PATIENCE

KINDS = ("keys that come", "gradients that come", "gradients that are made")
_OF_TAGS = {_exchange.KEYS: KINDS[0], _exchange.GRADIENTS: KINDS[1]}


class _Memory(bytearray):
    """Of one tensor. Unlike a bytearray it says when it goes."""


@dataclass
class Live:
    """Bytes by kind: now, and at their most."""

    now: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    most: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))

    def _add(self, kind: str, size: int) -> None:
        self.now[kind] += size
        self.most[kind] = max(self.most[kind], self.now[kind])

    def tensor(self, kind: str, shape: Any, dtype: torch.dtype) -> torch.Tensor:
        """Zeros, which count until all views of them are gone."""
        size = math.prod(shape) * dtype.itemsize
        if not size:
            return torch.zeros(shape, dtype=dtype)
        memory = _Memory(size)
        self._add(kind, size)
        weakref.finalize(memory, self._add, kind, -size)
        return torch.frombuffer(memory, dtype=dtype).view(*shape)


@contextlib.contextmanager
def counted() -> Iterator[Live]:
    live, tags = Live(), [0]
    receive = _exchange.Exchange.receive

    def receiving(self: Any, shape: Any, dtype: Any, source: int, tag: int) -> Any:
        tags[0] = tag
        return receive(self, shape, dtype, source, tag)

    def empty(shape: Any, dtype: torch.dtype) -> torch.Tensor:
        kind = _OF_TAGS.get(tags[0])
        return torch.empty(shape, dtype=dtype) if kind is None else live.tensor(kind, shape, dtype)

    def zeros(shape: Any, dtype: torch.dtype, device: Any) -> torch.Tensor:
        return live.tensor(KINDS[2], shape, dtype)

    patches: list[tuple[Any, str, Any]] = [
        (_exchange.Exchange, "receive", receiving),
        (_exchange, "torch", types.SimpleNamespace(empty=empty, float32=torch.float32)),
        (_returning, "torch", types.SimpleNamespace(zeros=zeros, float32=torch.float32)),
    ]
    before = [(of, name, getattr(of, name)) for of, name, _ in patches]
    for of, name, to in patches:
        setattr(of, name, to)
    try:
        yield live
    finally:
        for of, name, was in before:
            setattr(of, name, was)


def _peak() -> int:
    """Bytes of the process' memory at their most since the last call, and from now on anew."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def _resident() -> int:
    return 1024 * next(
        int(line.split()[1])
        for line in pathlib.Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmRSS:")
    )


ROWS, CHANNELS = 2048, 512  # of keys of a rank, and of a key or a value
QUERIES = 1  # of a rank, so that what is there is blocks


@dataclass
class Peaks:
    """Of one way to call: what a forward and a backward pass take at their most beside what they are given and give, in blocks,
    the keys and values of a rank."""

    forward: float
    backward: float


def peaks(group: Any) -> dict[str, Peaks]:
    libc = ctypes.CDLL(None)
    libc.mallopt(-3, 1 << 16)  # M_MMAP_THRESHOLD: what is freed goes back, so that what is there was asked for
    ways = {
        "warm": ("ring", False, False),  # brings what stays
        "ring": ("ring", False, False),
        "of a batch": ("ring", True, False),
        "in runs": ("ring", False, True),
        "all_gather": ("all_gather", False, False),
    }
    return {name: _peaks_of(libc, group, *way) for name, way in ways.items()}


def _peaks_of(libc: Any, group: Any, mode: Any, is_batch: bool, has_gates: bool) -> Peaks:
    ranks = dist.get_world_size(group)
    plan = posenc.LayerPlan(
        heads=2, kv_heads=2, head_dim=CHANNELS // 2, value_dim=CHANNELS // 2, softmax_scale=0.1,
        mask=posenc.Mask(kind="bidirectional"), score=(posenc.ForgetGate(),) if has_gates else (),
    )  # fmt: skip
    layer = posenc.torch.Layer(plan)
    of_queries, of_keys = (posenc.shard(ranks, tokens=ranks * n, dealing="contiguous") for n in (QUERIES, ROWS))
    block = 2 * ROWS * CHANNELS * 4
    shapes = [(rows, 2, CHANNELS // 2) for rows in (QUERIES, ROWS, ROWS)]
    leaves = [torch.randn(shape) for shape in shapes]
    if is_batch:  # as models have it: of a row all heads lie together
        leaves = [x.unsqueeze(0).transpose(1, 2) for x in leaves]
    leaves = [x.requires_grad_() for x in leaves]
    given = {"log_forget": torch.full((ROWS, 2), -0.01)} if has_gates else {}
    libc.malloc_trim(0)
    before = _resident()
    _peak()
    out = pd.attend(*leaves, layer, group, mode, sharding=of_queries, key_sharding=of_keys, timeout=PATIENCE, **given)
    forward = _peak() - before - out.numel() * 4
    d_out = torch.ones_like(out)
    libc.malloc_trim(0)
    before = _resident()
    _peak()
    out.backward(d_out)
    backward = _peak() - before - sum(x.numel() for x in leaves) * 4
    return Peaks(forward / block, backward / block)
