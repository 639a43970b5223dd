#!/usr/bin/env python3
"""Writes the table of docs/diagnose.md: how often diagnose names each fault.

usage: write_fault_table.py DIAGNOSE_TEST

DIAGNOSE_TEST is build/PRESET/tests/diagnose/diagnose_test; all of its cases take some eleven minutes of one core.
"""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "diagnose.md"
ROW = re.compile(r"(\S.{46,}?\S?) +(\d+) +(\d+) +(\d+) +(\d+)")
BEGIN, END = "| fault | named | cannot tell | nothing known | wrong |\n", "\n\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    run = subprocess.run([sys.argv[1]], env={**os.environ, "POSENC_ALL_FAULTS": "1"}, stdout=subprocess.PIPE, text=True,
                         check=False)
    rows = [(found[1].strip(), *map(int, found.groups()[1:])) for found in map(ROW.fullmatch, run.stdout.splitlines()) if found]
    rows.append(("all", *(sum(row[i] for row in rows) for i in range(1, 5))))
    lines = ["| --- | ---: | ---: | ---: | ---: |"] + [f"| {' | '.join(map(str, row))} |" for row in rows]
    text = PAGE.read_text(encoding="utf-8")
    start = text.index(BEGIN) + len(BEGIN)
    stop = text.index(END, start)
    PAGE.write_text(text[:start] + "\n".join(lines) + text[stop:], encoding="utf-8")


main()
