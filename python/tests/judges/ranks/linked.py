"""What test_links.py asks of ranks that bench/overlap/links.py joins. linked.py WHAT, started by links.started: the answers
of the ranks to standard output, pickled; of "stall", a line once all ranks sleep."""

from __future__ import annotations

import os
import pathlib
import pickle
import sys
import time
from typing import Any

SOURCE = pathlib.Path(os.environ.get("POSENC_SOURCE_DIR", pathlib.Path(__file__).parents[4]))
sys.path[:0] = [str(SOURCE / "bench/overlap"), str(pathlib.Path(__file__).parent.parent)]

import links  # noqa: E402

RANKS, SLOW = 3, links.Link(megabits=40, delay=0.004)
MEASURED = 1 << 20  # bytes from the first rank to the second, by which the link is known to be slow


def joined(rank: int) -> Any:
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=links.rendezvous(), rank=rank, world_size=RANKS)
    from ranks import calls

    calls.GROUPS[RANKS] = dist.group.WORLD
    return calls


def answers(rank: int, asked: list[Any]) -> list[Any]:
    calls = joined(rank)
    return [link_of(rank), *(calls.run(one) for one in asked)]


def link_of(rank: int) -> tuple[float, float] | None:
    """Seconds of a byte there and back, and of a MiB there and a byte back."""
    import torch
    import torch.distributed as dist

    def seconds(count: int) -> float:
        there, back = torch.zeros(count, dtype=torch.uint8), torch.zeros(1, dtype=torch.uint8)
        began = time.monotonic()
        if rank == 0:
            dist.send(there, 1)
            dist.recv(back, 1)
        elif rank == 1:
            dist.recv(there, 0)
            dist.send(back, 0)
        return time.monotonic() - began

    took = seconds(1), seconds(MEASURED)
    return took if rank == 0 else None


def stall() -> None:
    def sleep(rank: int) -> None:
        print("asleep", flush=True)
        time.sleep(600)

    links.run(RANKS, sleep, SLOW, seconds=600)


def main() -> None:
    if sys.argv[1] == "stall":
        return stall()
    asked = pickle.load(sys.stdin.buffer)
    import ranks.calls  # noqa: F401: before the processes part, for all of them

    said = {
        "answers": links.run(RANKS, lambda rank: answers(rank, asked), SLOW, seconds=100),
        "without": links.run(RANKS, lambda rank: joined(rank).without(1, "killed", 4.0), SLOW, seconds=60),
    }
    sys.stdout.buffer.write(pickle.dumps(said))


if __name__ == "__main__":
    main()
