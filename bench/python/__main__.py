"""posenc from Python against what people call there now: speed and memory, docs/performance/python.md.

    build/judges/bin/python3 bench/python                      # with posenc in PYTHONPATH, or installed; all cases
    build/judges/bin/python3 bench/python rotate/f32 --threads 2 --json speed.json

A case is named in full or by how its name begins. What is compiled is compiled before anything is timed; torch keeps it
for the next run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys

import attention
import calls
import embeddings
import rotation
import taking_turns
import torch
import training

import posenc


def arguments(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/python", description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*", help="how names of cases begin (default: all)")
    parser.add_argument("--threads", type=int, default=1, help="of every library (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=9, help="(default: %(default)s)")
    parser.add_argument("--tokens", type=int, nargs="+", default=[512, 2048, 4096], help="(default: %(default)s)")
    parser.add_argument("--keys", type=int, default=32768, help="in the cache when decoding (default: %(default)s)")
    parser.add_argument("--keep-memory", action="store_true", help="no call gets pages that were not touched before")
    parser.add_argument("--uncompiled", action="store_true", help="without what torch.compile would compile")
    parser.add_argument("--json", metavar="FILE", help="every round too")
    parser.add_argument("--list", action="store_true", help="names of cases, and nothing else")
    return parser.parse_args(words)


def cases(given: argparse.Namespace) -> list[taking_turns.Case]:
    every = [
        *rotation.cases(given.tokens, given.threads),
        *embeddings.cases(given.tokens, given.threads),
        *attention.cases(given.tokens, given.keys, given.threads),
        *training.cases(given.tokens),
        *calls.cases(),
    ]
    return [case for case in every if not given.case or case.name.startswith(tuple(given.case))]


def _time(seconds: list[float]) -> str:
    return f"{taking_turns.spread([1e3 * one for one in seconds]).median:.4g}"


def print_table(name: str, candidates: list[taking_turns.Candidate]) -> None:
    ours = [candidate for candidate in candidates if candidate.is_ours]
    print(f"\n| {name} | ms | {' | '.join(f'time over {one.name}' for one in ours)} | MiB |")
    print("| --- | --- |" + " --- |" * len(ours) + " --- |")
    for candidate in candidates:
        columns = ["1" if candidate is one else str(taking_turns.ratios(candidate, one)) for one in ours]
        print(f"| {candidate.name} | {_time(candidate.seconds)} | {' | '.join(columns)} | {candidate.peak / 2**20:.1f} |")
    sys.stdout.flush()


def main(words: list[str]) -> None:
    given = arguments(words)
    chosen = cases(given)
    if given.list:
        print("\n".join(case.name for case in chosen))
        return
    torch.set_num_threads(given.threads)
    os.environ["POSENC_THREADS"] = str(given.threads)  # of calls that take none: posenc.torch
    if given.keep_memory:
        taking_turns.keep_memory()
    done = []
    for case in chosen:
        candidates = [one for one in case.make() if not (given.uncompiled and one.is_compiled)]
        taking_turns.take_turns(candidates, given.rounds)
        for candidate in candidates:
            taking_turns.measure_peak(candidate)
        print_table(case.name, candidates)
        fields = ("name", "is_ours", "seconds", "peak")
        rows = [{key: getattr(candidate, key) for key in fields} for candidate in candidates]
        done.append({"case": case.name, "candidates": rows})
        torch.compiler.reset()
    if given.json:
        about = {"posenc": posenc.info(), "torch": torch.__version__, "arguments": vars(given)}
        with open(given.json, "w") as file:
            json.dump({**about, "cases": done}, file, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
