#!/usr/bin/env python3
"""Writes the table of docs/diagnose.md, and the numbers of its translation: how often diagnose names each fault.

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
TRANSLATION = ROOT / "docs" / "diagnose.zh-CN.md"
ROW = re.compile(r"(\S.{46,}?\S?) +(\d+) +(\d+) +(\d+) +(\d+)")
RULER, END = "| --- | ---: | ---: | ---: | ---: |\n", "\n\n"


def write(page, rows, names=None):
    """The rows in the place of the page's own. A translation keeps its names, by their order."""
    text = page.read_text(encoding="utf-8")
    start = text.index(RULER) + len(RULER)
    stop = text.index(END, start)
    if names is None:
        names = [line.split("|")[1].strip() for line in text[start:stop].splitlines()]
    if len(names) != len(rows):
        sys.exit(f"{page} has the names of {len(names)} faults, and there are {len(rows)}: translate them, in the order of {PAGE.name}")
    lines = (f"| {' | '.join(map(str, (name, *row)))} |" for name, row in zip(names, rows))
    page.write_text(text[:start] + "\n".join(lines) + text[stop:], encoding="utf-8")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    run = subprocess.run([sys.argv[1]], env={**os.environ, "POSENC_ALL_FAULTS": "1"}, stdout=subprocess.PIPE, text=True,
                         check=False)
    found = [row for row in map(ROW.fullmatch, run.stdout.splitlines()) if row]
    rows = [tuple(map(int, row.groups()[1:])) for row in found]
    rows.append(tuple(sum(column) for column in zip(*rows)))
    write(PAGE, rows, [*(row[1].strip() for row in found), "all"])
    write(TRANSLATION, rows)


main()
