#!/usr/bin/env python3
"""Copies the fenced blocks of pages, code and what it prints, into their translations: PAGE.md into PAGE.zh-CN.md.

usage: translated_blocks.py [--check]

Blocks go by their order. With --check nothing is written: the exit status is 1 when a block differs, or when a
translation has more or fewer blocks or shows other pictures than its page.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRANSLATION = re.compile(r"(.+)\.[a-z]{2}-[A-Z]{2}\.md")
BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")


def with_blocks(translation, blocks):
    """The translation with these blocks in the places of its own; None where their number differs."""
    if len(BLOCK.findall(translation)) != len(blocks):
        return None
    rest = iter(blocks)
    return BLOCK.sub(lambda _: next(rest), translation)


def main(arguments):
    check = arguments == ["--check"]
    faults = []
    translations = [path for folder in (ROOT, ROOT / "docs", ROOT / "docs/schemes") for path in sorted(folder.glob("*.md"))
                    if TRANSLATION.fullmatch(path.name)]
    for path in translations:
        page = (path.parent / (TRANSLATION.fullmatch(path.name)[1] + ".md")).read_text(encoding="utf-8")
        old = path.read_text(encoding="utf-8")
        new = with_blocks(old, BLOCK.findall(page))
        if new is None:
            faults.append(f"{path.name} has another number of blocks than its page")
        elif check and new != old:
            faults.append(f"{path.name} has other blocks than its page: run scripts/translated_blocks.py")
        elif not check:
            path.write_text(new, encoding="utf-8")
        if PICTURE.findall(page) != PICTURE.findall(old):
            faults.append(f"{path.name} shows other pictures than its page")
    for fault in faults:
        print(fault)
    sys.exit(bool(faults) or not translations)


main(sys.argv[1:])
