"""Processes of a gloo group, started once and asked many times: importing torch costs more than all they compute."""

from __future__ import annotations

import datetime
import multiprocessing
import os
import pathlib
import sys
import tempfile
import traceback
from typing import Any


def serve(rank: int, ranks: int, rendezvous: str, pipe: Any) -> None:
    os.environ |= {"GLOO_SOCKET_IFNAME": "lo", "POSENC_THREADS": "1", "OMP_NUM_THREADS": "1"}
    sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=60)
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
        said = [self._said(rank, 120.0) for rank in asked]
        failed = [f"rank {rank}: {result}" for rank, (state, result) in zip(asked, said) if state != "done"]
        assert not failed, "\n".join(failed)
        return [result for _, result in said]

    def answer(self, rank: int, seconds: float) -> Any:
        state, result = self._said(rank, seconds)
        assert state == "done", f"rank {rank}: {result}"
        return result

    def _said(self, rank: int, seconds: float) -> tuple[str, Any]:
        if not self.pipes[rank].poll(seconds):
            return "silent", "says nothing"
        try:
            said: tuple[str, Any] = self.pipes[rank].recv()
        except EOFError:
            return "gone", f"ended with {self.processes[rank].exitcode}"
        return said

    def close(self) -> None:
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.join()
        self.folder.cleanup()
