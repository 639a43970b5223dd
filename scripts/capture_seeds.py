#!/usr/bin/env python3
"""Writes the numbers of examples/seeds into the tables of docs/seeds.md and of its translation.

usage: capture_seeds.py [--check] PROGRAM [TOOL]

PROGRAM is examples/seeds as built. A heading with three digits opens a text; a row of its tables is

    | where | `item` and words | call and command | numbers | verdict and remark |

and its numbers are those that PROGRAM has for the item, the text's / posenc's, or once where they are alike. Rows of
items that PROGRAM does not have (claims without a number) are left as they are. All items must be there, in PROGRAM's
order, and the remark must begin with the word that VERDICTS has for PROGRAM's verdict. A ```console block holds a
command "$ seeds ..." and its output.

With --check nothing is written: the exit status is 1 when a page differs. Both pages must name the same items, calls
and commands. With TOOL, each `posenc ...` command of the tables is run, and must succeed.
"""
import difflib
import itertools
import pathlib
import re
import shlex
import subprocess
import sys

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
# The words of the Chinese page: "holds", "with a condition", "in error".
VERDICTS = {"seeds.md": {"agrees": "holds", "agrees if": "if", "errs": "**wrong**"},
            "seeds.zh-CN.md": {"agrees": "\u6210\u7acb", "agrees if": "\u6709\u6761\u4ef6", "errs": "**\u6709\u8bef**"}}
CELL_BORDER = re.compile(r"(?<!\\)\|")
CONSOLE = re.compile(r"```console\n\$ seeds(.*)\n(?:.*\n)*?```\n")
CODE = re.compile(r"`([^`]+)`")
HEADING = re.compile(r"#+ .*?(?<!\d)(\d{3})(?!\d)")


def printed(program, arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=True).stdout


def rows_of(program):
    """{(text, item): (numbers, verdict)}, in the program's order."""
    rows = {}
    for line in printed(program, ["--tsv"]).splitlines():
        text, item, says, posenc, verdict = line.split("\t")
        rows[text, item] = (says if says == posenc else f"{says} / {posenc}", verdict)
    return rows


def item_of(cell):
    found = CODE.search(cell)
    return found and found[1].replace(r"\|", "|")


def with_numbers(name, page, rows):
    """The page with the program's numbers; exits where an item is missing, misplaced or judged otherwise."""
    text, found, out = None, [], []
    for line in page.splitlines():
        heading = HEADING.match(line)
        text = heading[1] if heading else text
        cells = CELL_BORDER.split(line)
        key = (text, item_of(cells[2])) if len(cells) == 7 else None
        if key in rows:
            numbers, verdict = rows[key]
            if not cells[5].strip().startswith(VERDICTS[name][verdict]):
                sys.exit(f"{name}: {key}: the program says {verdict!r}, the page{cells[5][:40]!r}")
            cells[4] = f" {numbers} "
            line = "|".join(cells)
            found.append(key)
        out.append(line)
    if found != list(rows):
        differ = difflib.unified_diff([str(key) for key in found], [str(key) for key in rows], name, "program", lineterm="")
        sys.exit("\n".join(differ))
    return "\n".join(out) + "\n"


def with_outputs(page, program):
    return CONSOLE.sub(
        lambda block: f"```console\n$ seeds{block[1]}\n{printed(program, shlex.split(block[1]))}```\n", page)


def code_of(page):
    """What stands in backticks in the columns of items and of calls, a list for each row."""
    rows = [CELL_BORDER.split(line) for line in page.splitlines()]
    return [CODE.findall(cells[2] + cells[3]) for cells in rows if len(cells) == 7]


def failing(rows, tool):
    """What the tool says to commands of these rows that it refuses."""
    for command in dict.fromkeys(code for row in rows for code in row if code.startswith("posenc ")):
        run = subprocess.run([tool, *shlex.split(command)[1:]], capture_output=True, text=True, check=False)
        if run.returncode != 0:
            yield f"{command}: exit code {run.returncode}: {run.stderr.splitlines()[:1]}"


def main(arguments):
    check = arguments[:1] == ["--check"]
    program, *tools = (pathlib.Path(path).resolve() for path in arguments[check:])
    rows = rows_of(program)
    faults, codes = [], []
    for name in VERDICTS:
        path = DOCS / name
        page = path.read_text(encoding="utf-8")
        now = with_outputs(with_numbers(name, page, rows), program)
        if not check:
            path.write_text(now, encoding="utf-8")
        elif now != page:
            faults += difflib.unified_diff(page.splitlines(), now.splitlines(), name, "printed", lineterm="")
        codes.append(code_of(page))
    faults += [f"the pages differ in a row: {row} and {translated}"
               for row, translated in itertools.zip_longest(*codes) if row != translated]
    for tool in tools:
        faults += failing(codes[0], tool)
    print("\n".join(faults), end="\n" if faults else "")
    sys.exit(bool(faults))


main(sys.argv[1:])
