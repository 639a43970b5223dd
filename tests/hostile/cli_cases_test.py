#!/usr/bin/env python3
"""Every hostile case that a command reads, through it: cli_cases_test.py TOOL

Refused: status 4, nothing on standard output, a message on standard error with the file, the place and the fragment.
Accepted: status 0, JSON on standard output, and the case's warning among its warnings. All within a stated time and,
without sanitizers, a stated address space.

What may hold tensors is given to `posenc rotate` as well: whatever it is, it holds no queries of the model that is
asked for, and nothing is written.
"""
import collections
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

import make_cases

MALFORMED = 4
# bytes: 64 times the longest text that is understood (23 MB), the program, and its libraries
ADDRESS_SPACE = 2 << 30
SECONDS = 240  # of an unoptimised build on a busy machine; alone, the slowest takes a few


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def is_sanitized(tool):
    """Whether the address sanitizer is in it, which reserves terabytes of address space and uses little of them."""
    return b"__asan_init" in pathlib.Path(tool).read_bytes()


def is_for_the_command(case):
    """A JSON text of the reader's own tests is no model's: the command can only refuse it."""
    return not case.ask and (case.reader.command or case.kind not in ("ok", "cut"))


def place_of(case):
    """As a message states it, behind the file's name."""
    line, column, offset = case.place
    where = f":{line}:{column}" if line > 0 else ""
    return where or (f": byte {offset}" if offset >= 0 else "")


def run(limit, *command):
    return subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, preexec_fn=limit)


def unsafe(error):
    found = {c for c in error if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)}
    return f"unsafe characters {found} in the message" if found else None


def rotate_fault(tool, limit, path, fragment="", *flags):
    """What is wrong with the refusal of a file's tensor as queries, or None."""
    out = path.parent / "out.npy"
    got = run(limit, tool, "rotate", "--model", "llama-3.1-8b", "--q", path, "-o", out, *flags)
    error = got.stderr.decode(errors="backslashreplace")
    if got.returncode != MALFORMED or got.stdout or out.exists() or not error.startswith(f"posenc: --q: {path}"):
        return f"rotate: status {got.returncode}: {error}"
    if fragment not in error:
        return f"rotate: no {fragment!r} in {error!r}"
    return unsafe(error)


def fault(tool, limit, path, case):
    """What is wrong with the answer, or None."""
    try:
        got = run(limit, tool, "inspect", "--json", path)
        if case.reader.suffix == "gguf" and (wrong := rotate_fault(tool, limit, path)):
            return wrong
    except subprocess.TimeoutExpired:
        return f"not done in {SECONDS} s"
    error = got.stderr.decode(errors="backslashreplace")
    if case.kind in ("ok", "cut"):
        if got.returncode != 0:
            return f"refused: {error}"
        codes = [warning["code"] for warning in json.loads(got.stdout)["warnings"]]
        return None if case.kind == "cut" or not case.fragment or case.fragment in codes else f"{codes}"
    if case.kind == "unknown":
        if got.returncode != 0:
            return f"refused: {error}"
        plan = json.loads(got.stdout)
        said = [one["message"] for one in plan["warnings"] if one["code"] == "undecided"]
        is_said = len(said) == 1 and case.fragment in said[0] and case.path in said[0]
        return None if is_said and not plan["known"] and not all(s.get("known", True) for s in plan["stacks"]) else f"{said}"
    if got.returncode != MALFORMED:
        return f"status {got.returncode}, not {MALFORMED}: {error}"
    if got.stdout:
        return "writes to standard output"
    first = error.splitlines()[0]
    if not first.startswith(f"posenc: {path}{place_of(case)}: ") or case.fragment not in first:
        return f"no {place_of(case)!r} or no {case.fragment!r} in {first!r}"
    return unsafe(error)


def main():
    tool = sys.argv[1]
    limit = None if is_sanitized(tool) else limit_memory
    count = collections.Counter()
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, case in make_cases.cases():
            if not is_for_the_command(case):
                continue
            path = pathlib.Path(folder) / f"{name}.{case.reader.suffix}"
            path.write_bytes(case.bytes())
            count[case.reader.suffix] += 1
            if wrong := fault(tool, limit, path, case):
                print(f"{path.name}: {wrong}")
                faults += 1
            path.unlink()
    print(f"{count['json']} JSON and {count['gguf']} GGUF cases, {faults} faults")
    sys.exit(1 if faults or min(count.values()) < 100 else 0)


if __name__ == "__main__":
    main()
