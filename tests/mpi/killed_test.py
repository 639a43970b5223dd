"""Where a rank is killed, mpirun ends with another status than 0, and no process of it is left.

usage: killed_test.py RANKS COMMAND...
"""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import uuid

MARK = "POSENC_KILLED_TEST"


def processes_of(mark: str) -> list[int]:
    """Those that have the mark in their environment."""
    found = []
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
        except OSError:  # it has ended, or is another's
            pass
    return found


def main() -> str | None:
    ranks, *command = sys.argv[1:]
    mark = uuid.uuid4().hex
    with subprocess.Popen(
        command, env={**os.environ, MARK: mark}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        assert run.stdout is not None
        of_rank: dict[int, int] = {}
        printed = ""
        for line in run.stdout:
            printed += line
            of_rank |= {int(rank): int(process) for rank, process in re.findall(r"rank (\d+) is process (\d+)", line)}
            if len(of_rank) == int(ranks):
                break
        if len(of_rank) < int(ranks):
            return f"not all of {ranks} ranks ran:\n{printed}"
        if not set(of_rank.values()) <= set(processes_of(mark)):
            return "the mark does not find the ranks"  # so that finding none below says something
        os.kill(of_rank[int(ranks) - 1], signal.SIGKILL)
        try:
            said = run.communicate(timeout=30)[0]
        except subprocess.TimeoutExpired:
            for process in processes_of(mark):
                os.kill(process, signal.SIGKILL)
            return "30 s after a rank was killed mpirun has not ended"
    if run.returncode == 0:
        return f"a rank was killed, but mpirun ended with 0:\n{said}"
    until = time.monotonic() + 10
    while (left := processes_of(mark)) and time.monotonic() < until:
        time.sleep(0.1)
    if left:
        for process in left:
            os.kill(process, signal.SIGKILL)
        return f"processes {left} were left"
    print(f"mpirun ended with {run.returncode}; no process was left")
    return None


sys.exit(main())
