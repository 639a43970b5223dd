#!/usr/bin/env python3
"""Links of pages lead somewhere: the file is there, and so is the heading. And the page of verdicts on speed
(docs/performance.md) has no figure of its own: each stands on a page of docs/performance/, and those of a paragraph that
leads to a section of such a page, in that section.

usage: links.py SOURCE_DIR
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "contract"))
import checkout  # noqa: E402

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```.*?^```$|(?: {4}[^\n]*\n)+)", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FIGURE = re.compile(r"\d+(?:\.\d+)?")


def anchor(heading):
    """As GitHub makes it: small letters, no punctuation, spaces to hyphens."""
    return re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")


def anchors(text):
    return {anchor(heading) for heading in HEADING.findall(FENCE.sub("", text))}


def broken_links(pages, there):
    """pages: {path from the root: text}; there: whether a path from the root exists."""
    complaints = []
    for path, text in pages.items():
        for target in LINK.findall(FENCE.sub("", text)):
            if re.match(r"[a-z]+:", target):
                continue
            file, _, heading = target.partition("#")
            to = pathlib.PurePosixPath(path)
            if file:
                parts = []
                for part in (to.parent / file).parts:
                    parts = parts[:-1] if part == ".." else [*parts, part]
                to = pathlib.PurePosixPath(*parts)
            if not there(str(to)):
                complaints.append(f"{path}: there is no {target}")
            elif heading and str(to) in pages and heading not in anchors(pages[str(to)]):
                complaints.append(f"{path}: {to} has no heading for #{heading}")
    return complaints


def own_figures(verdicts, laboratory):
    known = {figure for text in laboratory for figure in FIGURE.findall(text)}
    return [f"docs/performance.md: {figure} stands on no page of docs/performance/"
            for figure in sorted(set(FIGURE.findall(verdicts)) - known)]


def section(text, heading):
    """The part of a page below the heading of this anchor."""
    parts = re.split(r"^(?=#+ )", FENCE.sub("", text), flags=re.MULTILINE)
    return next((part for part in parts if heading in anchors(part)), "")


def paragraphs_own_figures(verdicts, laboratory):
    """laboratory: {path from docs/: text}. Tables aside, whose cells have figures of several pages."""
    found = []
    for paragraph in verdicts.split("\n\n"):
        if paragraph.startswith("|"):
            continue
        for target in LINK.findall(paragraph):
            file, _, heading = target.partition("#")
            if heading and file in laboratory:
                known = set(FIGURE.findall(section(laboratory[file], heading)))
                found += [f"docs/performance.md: {figure} does not stand in {target}"
                          for figure in sorted(set(FIGURE.findall(LINK.sub("", paragraph))) - known)]
    return found


def must(holds, what):
    if not holds:
        sys.exit(f"this script cannot see {what}")


must(broken_links({"a.md": "[x](b.md)"}, lambda path: path == "a.md"), "a missing file")
must(broken_links({"d/a.md": "[x](../b.md#c)", "b.md": "# D\n"}, lambda path: True), "a missing heading")
must(broken_links({"a.md": "[x](#b)\n```\n# B\n```\n"}, lambda path: True), "that a heading is code")
must(not broken_links({"d/a.md": "[x](../b.md#c-d)", "b.md": "# `C`, d!\n"}, lambda path: True), "a heading")
must(own_figures("1.05 and 3", ["1.06, 3"]), "a figure of its own")
must(paragraphs_own_figures("takes 1.05 ([x](p/a.md#c))", {"p/a.md": "1.05\n# C\n1.06\n"}), "a figure of another section")
must(not paragraphs_own_figures("takes 1.05 ([x](p/a.md#c))", {"p/a.md": "# C\n1.05\n"}), "a figure of the section")
must(not paragraphs_own_figures("| 1.05 | [x](p/a.md#c) |", {"p/a.md": "# C\n1.06\n"}), "a table")

root = pathlib.Path(sys.argv[1])
names = [str(path) for path in checkout.files(root) if path.suffix == ".md"]
texts = {name: (root / name).read_text(encoding="utf-8") for name in names}
found = broken_links(texts, lambda path: (root / path).exists())
found += own_figures(texts["docs/performance.md"],
                     [text for name, text in texts.items() if name.startswith("docs/performance/")])
found += paragraphs_own_figures(texts["docs/performance.md"], {name.removeprefix("docs/"): text for name, text in texts.items()})
print("\n".join(found))
sys.exit(bool(found))
