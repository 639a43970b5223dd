#!/usr/bin/env python3
"""Writes what the C++ examples of a page print into the ```text blocks behind them.

usage: capture_examples.py [--check] PAGE PROGRAM

PROGRAM is all examples of the page, one after another, with a line of MARK after each (tests/readme/CMakeLists.txt makes
it). An example that prints must be followed by a ```text block, before the next example. With --check nothing is
written: the exit status is 1 when a block differs from what is printed.
"""
import difflib
import pathlib
import re
import subprocess
import sys

MARK = "---- the next example ----\n"
EXAMPLE = re.compile(r"```cpp\n.*?```\n", re.DOTALL)
OUTPUT = re.compile(r"```text\n.*?```\n", re.DOTALL)


def with_outputs(page, printed):
    """The page with what each example prints in its block."""
    examples = list(EXAMPLE.finditer(page))
    if len(examples) != len(printed):
        sys.exit(f"{len(examples)} examples, but the program has {len(printed)}")
    ends = [example.start() for example in examples[1:]] + [len(page)]
    parts = [page[:examples[0].start()]]
    for example, end, output in zip(examples, ends, printed):
        behind = page[example.end():end]
        if output and not OUTPUT.search(behind):
            sys.exit(f"nothing shows what this prints:\n{example.group()}")
        block = f"```text\n{output}```\n"
        parts += [example.group(), OUTPUT.sub(lambda _, block=block: block, behind, count=1) if output else behind]
    return "".join(parts)


def main(arguments):
    check = arguments[0] == "--check"
    page, program = map(pathlib.Path, arguments[-2:])
    run = subprocess.run([program.resolve()], capture_output=True, text=True, check=True)
    old = page.read_text()
    new = with_outputs(old, run.stdout.split(MARK)[:-1])
    if not check:
        page.write_text(new)
    elif new != old:
        print("\n".join(difflib.unified_diff(old.splitlines(), new.splitlines(), str(page), "printed", lineterm="")))
        sys.exit(1)


main(sys.argv[1:])
