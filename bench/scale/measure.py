"""Measures what the simulation is held against: posenc.distributed on gloo's ranks of this machine. Writes measured.json.

    build/judges/bin/python3 bench/scale/measure.py           # with posenc in PYTHONPATH
    build/judges/bin/python3 bench/scale/measure.py --more    # more rounds to those that are there

First constants, none of them of a call over ranks that computes: attend and copies on every core at once, messages of two
ranks. Then cases. All of them take turns, round after round; of each the least time is kept, of constants and cases alike.
"""

from __future__ import annotations

import datetime
import json
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import torch.multiprocessing as processes

import posenc
import posenc.distributed as pd
import posenc.torch

ROUNDS = 40
SHAPES = ((64, 8, 64), (1024, 8, 64), (256, 16, 128))  # rows, heads, channels
RECORD = pathlib.Path(__file__).parent / "measured.json"
# mode, ranks, ranks that deal heads, tokens, query heads, KV heads, head_dim; f32, one causal document, zigzag
CASES = [
    ("ring", 2, 1, 2048, 8, 2, 64), ("ring", 4, 1, 2048, 8, 2, 64), ("ring", 2, 1, 512, 16, 16, 128),
    ("all_gather", 2, 1, 2048, 8, 2, 64), ("all_gather", 4, 1, 2048, 8, 8, 64), ("ulysses", 2, 2, 2048, 8, 2, 64),
    ("ulysses", 4, 4, 2048, 8, 8, 64), ("hybrid", 4, 2, 2048, 8, 8, 64), ("ring", 3, 1, 1536, 8, 8, 64),
]  # fmt: skip
TREES = [("tree", 2, 1, 16384, 8, 8, 128), ("tree", 4, 1, 32768, 8, 8, 128)]


def plan_of(heads: int, kv_heads: int, head_dim: int) -> Any:
    return posenc.LayerPlan(heads=heads, kv_heads=kv_heads, head_dim=head_dim, value_dim=head_dim, softmax_scale=head_dim**-0.5)


def seconds_of(call: Callable[[], Any]) -> float:
    began = time.monotonic()
    call()
    return time.monotonic() - began


def tensors(rows: int, heads: int, kv_heads: int, head_dim: int) -> list[torch.Tensor]:
    return [torch.randn(rows, count, head_dim) for count in (heads, kv_heads, kv_heads)]


def alone() -> dict[str, Callable[[], Any]]:
    """What a rank does by itself."""
    out: dict[str, Callable[[], Any]] = {}
    for rows, heads, channels in SHAPES:
        q, k, v = tensors(rows, heads, heads, channels)
        plan = plan_of(heads, heads, channels).replace(mask=posenc.Mask(kind="bidirectional"))
        out[f"attend {rows}"] = lambda plan=plan, q=q, k=k, v=v: posenc.attend(plan, q, k, v)
    for keys in (1024, 4096):
        _, k, v = tensors(keys, 8, 8, 128)
        q, plan = torch.randn(1, 8, 128), plan_of(8, 8, 128)
        out[f"decode {keys}"] = lambda plan=plan, q=q, k=k, v=v: posenc.attend(plan, q, k, v)
    x, rows = torch.randn(1024, 8, 64), torch.arange(0, 2048, 2)
    out["copy"] = lambda: torch.empty(2048, 4, 64).index_copy_(0, rows, x[:, :4].contiguous())
    parts = [(torch.randn(1024, 8, 64), torch.randn(1024, 8)) for _ in range(2)]
    out["merge"] = lambda: posenc.merge(parts, out=parts[0][0], lse=parts[0][1])
    return out


def one_call(one: Any, group: Any) -> Callable[[], Any] | None:
    """The case's call on this rank; None: it is not among the case's."""
    mode, ranks, dealt, tokens, heads, kv_heads, head_dim = one
    rank = dist.get_rank()
    if rank >= ranks:
        return None
    layer = posenc.torch.Layer(plan_of(heads, kv_heads, head_dim))
    if mode == "tree":
        _, k, v = tensors(tokens // ranks, heads, kv_heads, head_dim)
        torch.manual_seed(1)
        q = torch.randn(1, heads, head_dim)
        order = torch.arange(rank * (tokens // ranks), (rank + 1) * (tokens // ranks))
        last = torch.tensor([tokens - 1])
        return lambda: pd.attend_parts(q, k, v, layer, group, q_order=last, k_order=order)
    sharding = posenc.shard(ranks, tokens=tokens)
    q, k, v = tensors(len(sharding.ranks[rank].rows), heads, kv_heads, head_dim)
    deals = {"ulysses_ranks": dealt} if mode == "hybrid" else {}
    return lambda: pd.attend(q, k, v, layer, group, mode, sharding=sharding, **deals)


def messages(group: Any, count: int) -> Callable[[], Any] | None:
    """Two ranks send each other so many bytes, ten times."""
    rank = dist.get_rank()
    if rank > 1:
        return None
    mine = torch.zeros(count, dtype=torch.uint8)

    def call() -> None:
        for _ in range(10):
            theirs = torch.empty(count, dtype=torch.uint8)  # pages that nobody has touched, as in a call
            coming = dist.irecv(theirs, group=group, group_src=1 - rank)
            dist.isend(mine, group=group, group_dst=1 - rank).wait()
            coming.wait()

    return call


def serve(rank: int, ranks: int, rendezvous: str, results: Any) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=60)
    )
    groups = {count: dist.new_group(list(range(count))) for count in range(1, ranks + 1)}
    calls: dict[str, Callable[[], Any] | None] = {}
    for name, call in alone().items():
        calls[name] = call if rank < (os.cpu_count() or 1) else None  # all cores at once
    calls["crowd"] = alone()["attend 1024"]  # on more ranks than cores
    calls["messages of 4096"] = messages(groups[2], 4096)
    calls["messages of 4194304"] = messages(groups[2], 4 << 20)
    for count in (1, 2):  # next to nothing to compute
        calls[f"call of {count}"] = one_call(("ring", count, 1, 8 * count, 8, 2, 64), groups[count])
    for one in CASES + TREES:
        calls[str(one)] = one_call(one, groups[one[1]])
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for turn in range(ROUNDS + 1):
        for name, call in calls.items():
            dist.barrier()
            began = time.monotonic()
            if call:
                call()
            if turn:  # the first fills caches and schedules
                times[name].append((began if call else 0.0, time.monotonic() if call else 0.0))
    results.put((rank, times))


def measured() -> dict[str, list[float]]:
    """Seconds of each round, from when the first rank begins to when the last ends."""
    os.environ |= {"GLOO_SOCKET_IFNAME": "lo", "POSENC_THREADS": "1", "OMP_NUM_THREADS": "1"}
    ranks = 4
    context = processes.get_context("spawn")
    results = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        started = [context.Process(target=serve, args=(r, ranks, f"{folder}/rendezvous", results)) for r in range(ranks)]
        for process in started:
            process.start()
        of_ranks = dict(results.get(timeout=900) for _ in range(ranks))
        for process in started:
            process.join()
    out = {}
    for name in of_ranks[0]:
        rounds = zip(*(of_ranks[rank][name] for rank in range(ranks)))
        took = []
        for spans in rounds:
            there = [span for span in spans if span[1]]
            took.append(max(end for _, end in there) - min(began for began, _ in there))
        out[name] = took
    return out


def constants(least: dict[str, float]) -> dict[str, float]:
    # Of a call of attend: so much, for each operation, and for each byte of q, k, v and the output, which it packs.
    shapes = [(1.0, 4.0 * n * n * heads * channels, 4.0 * 4 * n * heads * channels) for n, heads, channels in SHAPES]
    seconds = [least[f"attend {n}"] for n, _, _ in SHAPES]
    solved = torch.linalg.solve(torch.tensor(shapes).double(), torch.tensor(seconds).double())
    of_call, a_flop, a_byte = solved.tolist()
    small, large = (least[f"messages of {count}"] / 10 for count in (4096, 4 << 20))
    return {
        "cores": os.cpu_count() or 1,
        "crowding": least["crowd"] / least["attend 1024"] / (4 / (os.cpu_count() or 1)),
        "call_of_attend": of_call,
        "second_a_flop": a_flop,
        "second_a_byte_packed": a_byte,
        "call_of_decode": least["decode 1024"] - (least["decode 4096"] - least["decode 1024"]) / 3,
        "second_a_byte_read": (least["decode 4096"] - least["decode 1024"]) / (3072 * 8 * 256 * 4),
        "second_a_byte_merged": least["merge"] / (3 * 1024 * 8 * 65 * 4),
        "second_a_byte_copied": least["copy"] / (4 * 1024 * 4 * 64 * 4),
        "message": small / 2,
        "second_a_byte_sent": (large - small) / (4 << 20) / 2,  # each rank sends and receives it
        "call": least["call of 1"],
        "agreement": least["call of 2"] - least["call of 1"] - small,  # with one other rank, and a message of keys
    }


def main() -> None:
    load = os.getloadavg()[0]
    times = measured()
    record: dict[str, Any] = {"rounds": 0, "loads": [], "least": {}}
    if sys.argv[1:] == ["--more"]:
        record |= json.loads(RECORD.read_text())
    record["rounds"] += ROUNDS
    record["loads"].append([round(load, 1), round(os.getloadavg()[0], 1)])
    least = record["least"]
    for name, took in times.items():
        least[name] = min(took + [least[name]] if name in least else took)
    named = ("mode", "ranks", "ulysses_ranks", "tokens", "heads", "kv_heads", "head_dim")
    record["constants"] = constants(least)
    record["cases"] = [{**dict(zip(named, one)), "seconds": least[str(one)]} for one in CASES + TREES]
    RECORD.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
