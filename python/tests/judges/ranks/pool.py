"""Processes of a gloo group, started once and asked many times: importing torch costs more than all they compute."""

from __future__ import annotations

import datetime
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
import traceback
from multiprocessing import connection
from typing import Any

PATIENCE = 900.0  # seconds: ranks share cores with whatever else runs; one that is gone is noticed at once
WITH_A_FAILURE = 60.0  # that others have once one has failed: they may wait for it


def serve(rank: int, ranks: int, rendezvous: str, pipe: Any) -> None:
    os.environ |= {"GLOO_SOCKET_IFNAME": "lo", "POSENC_THREADS": "1", "OMP_NUM_THREADS": "1"}
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=PATIENCE)
    )
    from ranks import calls

    calls.make_groups(ranks)
    while True:
        try:
            asked = pipe.recv()
        except EOFError:
            break
        name, arguments = asked
        try:
            pipe.send(("done", getattr(calls, name)(*arguments)))
        except Exception as problem:
            pipe.send(("failed", "".join(traceback.format_exception(problem))))
    os._exit(0)  # a group of which a rank is gone does not end


class Pool:
    def __init__(self, ranks: int) -> None:
        spawn = multiprocessing.get_context("spawn")
        self.folder = tempfile.TemporaryDirectory()
        self.pipes, self.processes = [], []
        for rank in range(ranks):
            here, there = spawn.Pipe()
            process = spawn.Process(target=serve, args=(rank, ranks, f"{self.folder.name}/rendezvous", there), daemon=True)
            process.start()
            there.close()
            self.pipes.append(here)
            self.processes.append(process)

    def ask(self, name: str, *arguments: Any, ranks: Any = None) -> list[Any]:
        """What that function of calls.py gives on each of the ranks, which all run it at once."""
        asked = list(range(len(self.pipes)) if ranks is None else ranks)
        for rank in asked:
            self.pipes[rank].send((name, arguments))
        said = self._answers(asked, PATIENCE)
        failed = [f"rank {rank}: {result}" for rank, (state, result) in said.items() if state != "done"]
        assert not failed, "\n".join(failed)
        return [said[rank][1] for rank in asked]

    def answer(self, rank: int, seconds: float) -> Any:
        state, result = self._answers([rank], seconds)[rank]
        assert state == "done", f"rank {rank}: {result}"
        return result

    def _answers(self, ranks: list[int], seconds: float) -> dict[int, tuple[str, Any]]:
        """Of each rank; where one is gone, of those that have answered before, as others may wait for it."""
        until = time.monotonic() + seconds
        said: dict[int, tuple[str, Any]] = {}
        waiting = {self.pipes[rank]: rank for rank in ranks}
        while waiting:
            ready: list[Any] = connection.wait(list(waiting), max(until - time.monotonic(), 0.0))
            if not ready:
                said |= dict.fromkeys(waiting.values(), ("silent", "says nothing"))
                break
            for pipe in ready:
                rank = waiting.pop(pipe)
                try:
                    said[rank] = pipe.recv()
                except (EOFError, ConnectionResetError):
                    self.processes[rank].join()
                    said[rank] = "gone", f"ended with {self.processes[rank].exitcode}"
            if any(state == "gone" for state, _ in said.values()):
                break
            if any(state == "failed" for state, _ in said.values()):
                until = min(until, time.monotonic() + WITH_A_FAILURE)
        return said

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()
        self.folder.cleanup()
