"""What bench/overlap times, on ranks that links.py joins: python3 timed.py CASE, as JSON; a line of JSON of the times."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from typing import Any

import links
import torch
import torch.distributed as dist

import posenc
import posenc.distributed as pd
import posenc.torch
from posenc.distributed import _arguments, _attend, _exchange, _parts

WAYS = ("computing", "sending", "both")
_kept: dict[Any, torch.Tensor] = {}


def some_numbers(shape: Any, dtype: torch.dtype) -> torch.Tensor:
    """As they were drawn before, so that it costs nothing."""
    key = (tuple(shape), dtype)
    if key not in _kept:
        _kept[key] = torch.randn(key[0]).to(dtype)
    return _kept[key]


class _WithoutMerge:
    def __getattr__(self, name: str) -> Any:
        return getattr(posenc._posenc, name)

    def merge(self, *_: Any, **__: Any) -> None:
        pass


@contextlib.contextmanager
def only(way: str) -> Iterator[None]:
    """computing: of numbers that are there, no message is sent. sending: all messages go, and nothing is computed."""
    patches: list[tuple[Any, str, Any]] = []
    if way == "computing":

        def there(self: Any, shape: Any, dtype: Any, source: int, tag: int) -> Any:
            return _exchange.Pending(self, None, some_numbers(shape, dtype), source, tag)

        patches = [
            (_exchange.Exchange, "receive", there),
            (_exchange.Exchange, "send", lambda self, x, to, tag: _exchange.Pending(self, None, x, to, tag)),
            (_arguments, "agree", lambda *_: {}),
        ]
    if way == "sending":
        patches = [
            (_parts.Parts, "forward", lambda *_: None),
            (_parts.Parts, "backward", lambda *_: None),
            (_attend, "_posenc", _WithoutMerge()),
        ]
    before = [(of, name, getattr(of, name)) for of, name, _ in patches]
    for of, name, to in patches:
        setattr(of, name, to)
    try:
        yield
    finally:
        for of, name, was in before:
            setattr(of, name, was)


def begin_at() -> float:
    """A moment that all ranks wait for; the clock is the machine's."""
    when = torch.tensor([time.monotonic() + 0.1], dtype=torch.float64)
    dist.broadcast(when, 0)
    begin = float(when)
    while (left := begin - time.monotonic()) > 0:
        time.sleep(left if left > 0.002 else 0)
    return begin


def times(rank: int, case: dict[str, Any]) -> list[list[float]]:
    """Seconds of each way, a list of rounds each."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=links.rendezvous(), rank=rank, world_size=case["ranks"])
    heads, channels = case["heads"], case["head_dim"]
    plan = posenc.LayerPlan(
        heads=heads, kv_heads=heads, head_dim=channels, value_dim=channels, softmax_scale=channels**-0.5,
        mask=posenc.Mask(kind="causal"),
    )  # fmt: skip
    layer = posenc.torch.Layer(plan)
    sharding = posenc.shard(case["ranks"], tokens=case["tokens"])
    rows = len(sharding.ranks[rank].rows)
    torch.manual_seed(rank)
    q, k, v = (torch.randn(rows, heads, channels).requires_grad_() for _ in range(3))
    d_out = torch.randn(rows, heads, channels)
    with torch.no_grad():
        pd.attend(q, k, v, layer, sharding=sharding)  # a group's first call connects ranks once more
    took: list[list[float]] = [[] for _ in WAYS]
    for turn in range(case["rounds"] + 1):
        for n, way in enumerate(WAYS):
            if case["pass"] == "backward":
                out = pd.attend(q, k, v, layer, sharding=sharding)
            begin = begin_at()
            with only(way):
                if case["pass"] == "backward":
                    out.backward(d_out)
                else:
                    with torch.no_grad():
                        pd.attend(q, k, v, layer, sharding=sharding)
            if turn:  # the first opens connections' windows, and fills caches
                took[n].append(time.monotonic() - begin)
    return took


def main() -> None:
    case = json.loads(sys.argv[1])
    link = links.Link(case["megabits"], case["delay"])
    ended = links.run(case["ranks"], lambda rank: times(rank, case), link, seconds=case["seconds"])
    problems = [f"rank {rank}: {one.problem}" for rank, one in enumerate(ended) if one.problem]
    if problems:
        sys.exit("\n".join(problems))
    # A round takes as long as its last rank.
    print(json.dumps([[max(of_round) for of_round in zip(*of_way)] for of_way in zip(*(one.result for one in ended))]))


if __name__ == "__main__":
    os.environ |= {"POSENC_THREADS": "1", "OMP_NUM_THREADS": "1"}
    main()
