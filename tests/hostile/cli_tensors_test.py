#!/usr/bin/env python3
"""Every hostile file of tensors, as queries of `posenc rotate`: cli_tensors_test.py TOOL WRITER

WRITER is what tests/io/write_tensor_cases.cpp makes. Each is refused with status 4 and what is wrong with it; what is
sound holds no queries of the model that is asked for. Nothing is written.
"""
import collections
import pathlib
import subprocess
import sys
import tempfile

from cli_cases_test import is_sanitized, limit_memory, rotate_fault


def main():
    tool, writer = sys.argv[1:]
    limit = None if is_sanitized(tool) else limit_memory
    count = collections.Counter()
    faults = 0
    with tempfile.TemporaryDirectory() as folder:
        listed = subprocess.run([writer, folder], capture_output=True, check=True, text=True).stdout
        for line in listed.splitlines():
            name, bf16, fragment = line.split("\t")
            path = pathlib.Path(folder) / name
            count[path.suffix] += 1
            if wrong := rotate_fault(tool, limit, path, fragment, *(["--bf16"] if bf16 else [])):
                print(f"{name}: {wrong}")
                faults += 1
            path.unlink()
    print(", ".join(f"{n} {suffix}" for suffix, n in count.items()) + f"; {faults} faults")
    sys.exit(1 if faults or len(count) < 4 or min(count.values()) < 5 else 0)


if __name__ == "__main__":
    main()
