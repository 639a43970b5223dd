"""How much of sending a ring hides behind computing, on links of a known bandwidth and delay. As root, with ip and tc.

    PYTHONPATH=build/dev/python build/judges/bin/python3 bench/overlap

Each case on ranks of gloo in network namespaces: computing alone, sending alone, and both, in turn, round after round;
medians. What is hidden is (computing + sending - both) / min(computing, sending): 0 one after the other, 1 at once; of
medians, and of the least times, to which other work on the machine adds least.
docs/distributed.md has what this printed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
from typing import Any

import links

HERE = pathlib.Path(__file__).parent
# ranks, tokens, megabits a second: sending is the larger part, which other work on the machine disturbs least
CASES = [(2, 8192, 25), (2, 8192, 50), (4, 16384, 50), (4, 16384, 100)]


def measured(case: dict[str, Any]) -> list[list[float]]:
    process = links.started(
        [sys.executable, str(HERE / "timed.py"), json.dumps(case)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, problem = process.communicate(timeout=case["seconds"] + 30)
    finally:
        process.kill()
    if process.returncode:
        sys.exit(problem)
    made: list[list[float]] = json.loads(out)
    return made


def hidden(computing: float, sending: float, both: float) -> float:
    return (computing + sending - both) / min(computing, sending)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--delay", type=float, default=5.0, help="milliseconds from rank to rank")
    parser.add_argument("--only", type=int, help="the case of this number, from 0")
    asked = parser.parse_args()
    if missing := links.lacks():
        sys.exit(f"not measured: {missing}")
    print("| ranks | tokens | Mbit/s | pass | computing, ms | sending, ms | both, ms | hidden | of the least |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for n, (ranks, tokens, megabits) in enumerate(CASES):
        if asked.only not in (None, n):
            continue
        for way in ("forward", "backward"):
            case = {
                "ranks": ranks, "tokens": tokens, "heads": 2, "head_dim": 64, "megabits": megabits, "pass": way,
                "delay": asked.delay / 1000, "rounds": asked.rounds, "seconds": 60 + 40 * asked.rounds,
            }  # fmt: skip
            rounds = measured(case)
            medians = [statistics.median(one) for one in rounds]
            print(
                f"| {ranks} | {tokens} | {megabits} | {way} | "
                + " | ".join(f"{1000 * one:.0f}" for one in medians)
                + f" | {hidden(*medians):.2f} | {hidden(*(min(one) for one in rounds)):.2f} |",
                flush=True,
            )
    print(f"delay {asked.delay:g} ms, {asked.rounds} rounds, load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
