"""What bench/overlap measures of gloo, of MPI: each rank in a network namespace of its own, joined by links.py.

    python3 bench/overlap/mpi.py build/release/bench/bench_mpi_ring [--megabits 50] [--ranks 2] [--tokens 8192]

mpirun runs where rank 0 is. For each other rank it starts a daemon, through an agent that enters the rank's namespace, so
that all that goes between ranks goes through the links. As root, with ip, tc and nsenter.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import time

import links

FOLDER = "POSENC_OVERLAP_FOLDER"  # set for what runs in the namespaces
AGENT = """#!/bin/sh
# mpirun's: HOST COMMAND...
host=$1
shift
exec nsenter --net=/proc/$(cat "{folder}/$host")/ns/net sh -c "$*"
"""


def address(rank: int) -> str:
    return f"10.77.0.{rank + 1}"


def mpirun(asked: argparse.Namespace, folder: pathlib.Path) -> str:
    agent = folder / "agent"
    agent.write_text(AGENT.format(folder=folder))
    agent.chmod(0o755)
    settings = {
        "plm_rsh_agent": str(agent), "plm_rsh_no_tree_spawn": "1", "oob_tcp_if_include": "eth0", "btl": "tcp,self",
        "btl_tcp_if_include": "eth0", "orte_tmpdir_base": str(folder),
        "mpi_yield_when_idle": "1",  # who waits leaves the core to the switch
    }  # fmt: skip
    command = ["mpirun", "--allow-run-as-root", "-n", str(asked.ranks)]
    command += ["--host", ",".join(f"{address(rank)}:1" for rank in range(asked.ranks))]
    for name, value in settings.items():
        command += ["--mca", name, value]
    command += [str(asked.program.resolve()), str(asked.tokens), str(asked.rounds)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=asked.seconds)
    if ran.returncode:
        raise RuntimeError(f"mpirun ended with {ran.returncode}:\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def of_rank(rank: int, asked: argparse.Namespace, folder: pathlib.Path) -> str:
    # By its number in the PID namespace that /proc is of, which is not its own.
    (folder / "coming").with_suffix(f".{rank}").write_text(os.readlink("/proc/self"))
    (folder / "coming").with_suffix(f".{rank}").rename(folder / address(rank))
    done = folder / "done"
    if rank:
        while not done.exists():
            time.sleep(0.1)
        return ""
    try:
        while not all((folder / address(other)).exists() for other in range(asked.ranks)):
            time.sleep(0.1)
        return mpirun(asked, folder)
    finally:
        done.touch()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=8192)
    parser.add_argument("--megabits", type=float, default=50)
    parser.add_argument("--delay", type=float, default=5.0, help="milliseconds from rank to rank")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=300, help="that it may take")
    asked = parser.parse_args()
    if FOLDER in os.environ:
        folder = pathlib.Path(os.environ[FOLDER])
        link = links.Link(asked.megabits, asked.delay / 1000)
        ended = links.run(asked.ranks, lambda rank: of_rank(rank, asked, folder), link, asked.seconds + 30)
        sys.stdout.buffer.write(pickle.dumps(ended))
        return
    if missing := links.lacks():
        sys.exit(f"not measured: {missing}")
    for command in ("mpirun", "nsenter"):
        if shutil.which(command) is None:
            sys.exit(f"not measured: there is no {command}")
    with tempfile.TemporaryDirectory() as name:
        process = links.started([sys.executable, *sys.argv], stdout=subprocess.PIPE, env={**os.environ, FOLDER: name})
        try:
            said = process.communicate(timeout=asked.seconds + 60)[0]
        finally:
            process.kill()
            process.wait()
    ended = pickle.loads(said)
    if problems := [f"rank {rank}: {one.problem}" for rank, one in enumerate(ended) if one.problem]:
        sys.exit("\n".join(problems))
    print(ended[0].result, end="")
    print(f"{asked.megabits:g} Mbit/s, delay {asked.delay:g} ms, {asked.rounds} rounds, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
