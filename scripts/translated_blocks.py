#!/usr/bin/env python3
"""Copies the fenced blocks of pages, code and what it prints, into their translations: PAGE.md into PAGE.zh-CN.md.

usage: translated_blocks.py [--check]

Blocks go by their order. With --check nothing is written: the exit status is 1 when a block differs, when a translation
has more or fewer blocks, headings or rows of tables than its page, other pictures, or in a row of a table another number in
a cell that is a number alone, other pages or papers, and when one of the two does not link to the other.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TRANSLATION = re.compile(r"(.+)\.[a-z]{2}-[A-Z]{2}\.md")
BLOCK = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")
LINES = {"headings": re.compile(r"^#+ ", re.MULTILINE), "rows of tables": re.compile(r"^\| ", re.MULTILINE)}
ROW = re.compile(r"^\| .*$", re.MULTILINE)
NUMBER = re.compile(r"-?[0-9][0-9.,]*")
LINK = re.compile(r"\]\(([^)#\s]+)")
PAPER = re.compile(r"\b[0-9]{4}\.[0-9]{5}\b")


def numbers(text):
    """Of each row of the tables outside of blocks, the cells that are a number alone, by their columns."""
    rows = (row.split("|") for row in ROW.findall(BLOCK.sub("", text)))
    return [{column: cell.strip() for column, cell in enumerate(row) if NUMBER.fullmatch(cell.strip())} for row in rows]


def sources(text):
    """Of each row of the tables outside of blocks, the pages that it links to, in whichever language, and the arXiv numbers."""
    return [sorted({link.replace(".zh-CN.md", ".md") for link in LINK.findall(row)} | set(PAPER.findall(row)))
            for row in ROW.findall(BLOCK.sub("", text))]


def with_blocks(translation, blocks):
    """The translation with these blocks in the places of its own; None where their number differs."""
    if len(BLOCK.findall(translation)) != len(blocks):
        return None
    rest = iter(blocks)
    return BLOCK.sub(lambda _: next(rest), translation)


def main(arguments):
    check = arguments == ["--check"]
    faults = []
    folders = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    translations = [path for path in sorted(folders) if TRANSLATION.fullmatch(path.name)]
    for path in translations:
        name = TRANSLATION.fullmatch(path.name)[1] + ".md"
        page = (path.parent / name).read_text(encoding="utf-8")
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
        faults += [f"{path.name}: row {row} of its tables has the numbers {list(here.values())}, its page {list(there.values())}"
                   for row, (there, here) in enumerate(zip(numbers(page), numbers(old)), 1) if here != there]
        faults += [f"{path.name}: row {row} of its tables leads to {here}, its page to {there}"
                   for row, (there, here) in enumerate(zip(sources(page), sources(old)), 1) if here != there]
        for what, lines in LINES.items():
            there, here = (len(lines.findall(BLOCK.sub("", text))) for text in (page, old))
            if there != here:
                faults.append(f"{path.name} has {here} {what}, its page has {there}")
        for text, of, to in ((page, name, path.name), (old, path.name, name)):
            if f"]({to})" not in text:
                faults.append(f"{of} does not link to {to}")
    for fault in faults:
        print(fault)
    sys.exit(bool(faults) or not translations)


main(sys.argv[1:])
