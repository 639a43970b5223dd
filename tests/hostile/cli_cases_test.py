#!/usr/bin/env python3
"""Every hostile case through the command line: cli_cases_test.py TOOL WRITE_CASES

Refused: status 4, nothing on standard output, a message on standard error with the case's fragment in it. Accepted:
status 0, JSON on standard output, and the case's warning among its warnings. All within a stated time and, without sanitizers, a stated address space.
"""
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MALFORMED = 4
ADDRESS_SPACE = 1 << 30  # bytes: 64 times the longest text (4 MiB), the program, and its libraries
SECONDS = 30  # of an unoptimised build on a busy machine; the slowest takes about one


def config_cases(folder):
    """The rows of config_cases.tsv as files."""
    for row in (HERE / "config_cases.tsv").read_text(encoding="ascii").splitlines()[1:]:
        case, kind, _, _, fragment, text = row.split("\t")
        path = folder / f"{case}.json"
        path.write_bytes(text.replace("\\n", "\n").replace("\\ufeff", "\ufeff").encode())
        yield path, kind, fragment


def written_cases(writer, folder):
    """The cases that stand in C++."""
    subprocess.run([writer, folder], check=True)
    for row in (folder / "cases.tsv").read_text(encoding="utf-8").splitlines():
        name, kind, fragment = row.split("\t")
        yield folder / name, kind, fragment


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def is_sanitized(tool):
    """Whether the address sanitizer is in it, which reserves terabytes of address space and uses little of them."""
    return b"__asan_init" in pathlib.Path(tool).read_bytes()


def fault(tool, limit, path, kind, fragment):
    """What is wrong with the answer, or None."""
    try:
        got = subprocess.run([tool, "inspect", "--json", path], capture_output=True, timeout=SECONDS, check=False,
                             preexec_fn=limit)
    except subprocess.TimeoutExpired:
        return f"not done in {SECONDS} s"
    error = got.stderr.decode(errors="backslashreplace")
    if kind == "ok":
        if got.returncode != 0:
            return f"refused: {error}"
        codes = [warning["code"] for warning in json.loads(got.stdout)["warnings"]]
        return None if not fragment or fragment in codes else f"no warning {fragment}, but {codes}"
    if got.returncode != MALFORMED:
        return f"status {got.returncode}, not {MALFORMED}: {error}"
    if got.stdout:
        return "writes to standard output"
    first = error.splitlines()[0]
    if fragment not in first or path.name not in first:
        return f"no {fragment!r} or no file name in {first!r}"
    unsafe = {c for c in error if c != "\n" and (ord(c) < 32 or 127 <= ord(c) < 160)}
    return f"unsafe characters {unsafe} in the message" if unsafe else None


def main():
    tool, writer = sys.argv[1:]
    limit = None if is_sanitized(tool) else limit_memory
    count = {"json": 0, "gguf": 0}
    faults = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for path, kind, fragment in [*config_cases(folder), *written_cases(writer, folder)]:
            count[path.suffix[1:]] += 1
            if wrong := fault(tool, limit, path, kind, fragment):
                print(f"{path.name}: {wrong}")
                faults += 1
    print(f"{count['json']} JSON and {count['gguf']} GGUF cases, {faults} faults")
    sys.exit(1 if faults or min(count.values()) < 100 else 0)


if __name__ == "__main__":
    main()
