#!/usr/bin/env python3
"""Writes what `python -m posenc.conformance --modes` prints into docs/conformance.md; some minutes where others work.

PYTHONPATH=build/dev/python build/judges/bin/python3 scripts/capture_modes.py
"""

import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs/conformance.md"
TABLE = re.compile(r"\| family \| whole .*?\n\nOf \d+ runs [^\n]*\n", re.DOTALL)


def main() -> int:
    command = [sys.executable, "-W", "ignore", "-m", "posenc.conformance", "--modes"]
    printed = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if printed.returncode != 0:
        print(printed.stdout.rpartition("\n\n")[2], file=sys.stderr)
        return 1
    page = PAGE.read_text()
    if not TABLE.search(page):
        print(f"{PAGE.name} must have a table of modes, but has none", file=sys.stderr)
        return 1
    PAGE.write_text(TABLE.sub(lambda _: printed.stdout, page))
    return 0


if __name__ == "__main__":
    sys.exit(main())
