#!/usr/bin/env python3
"""The hostile cases of table/: make_cases.py OUT_FOLDER writes them, make_cases.py --check looks after the table.

OUT_FOLDER gets a file for each case, and cases.tsv with a row for each: what must come of it. A case of more than 4 MiB
is a list of parts instead, NAME.parts: on each line a count and a piece in hexadecimal (recipes.Many).

--check: every id of the checklist of bad inputs stands in the table once, with cases, with a test elsewhere that is
there, or with a reason why there is none; and every kind of error comes of some case.
"""
import importlib
import pathlib
import re
import sys

import recipes

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TABLES = sorted(path.stem for path in (HERE / "table").glob("*.py"))
LARGEST_FILE = 4 << 20  # bytes
COLUMNS = ("case", "reader", "file", "kind", "line", "column", "offset", "path", "fragment", "ask", "heap")
# How many ids each letter has. A files, B JSON and configs, C GGUF, D safetensors, E .npy, F llama2.c, G parameters,
# H shapes, I positions, J concurrency, K command line, L bindings.
IDS = {"A": 20, "B": 32, "C": 28, "D": 18, "E": 14, "F": 10, "G": 22, "H": 20, "I": 18, "J": 14, "K": 16, "L": 18}
# Kinds of errors that need a file system, a plan's own JSON, or a file of tensors (tests/io/tensor_cases.cpp).
KINDS_ELSEWHERE = {"io_open", "io_read", "not_regular_file", "bad_path", "io_write", "output_exists", "bad_plan",
                   "header_syntax", "trailing_bytes"}


def entries():
    """The table: an id or a run of ids (or "other": what the checklist has not), and what there is of it."""
    for name in TABLES:
        for run, (_, *found) in importlib.import_module(f"table.{name}").IDS.items():
            yield run, found


def cases():
    """Name and case, in the table's order."""
    for run, found in entries():
        for one in found:
            if isinstance(one, recipes.Case):
                yield f"{run}_{one.reader.name}_{one.name}", one


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    rows = ["\t".join(COLUMNS)]
    for name, one in cases():
        file = folder / f"{name}.{one.reader.suffix}"
        if one.size() <= LARGEST_FILE:
            file.write_bytes(one.bytes())
        else:
            file = folder / f"{name}.parts"
            runs = [(1, part) if isinstance(part, bytes) else (part.count, part.piece) for part in one.parts if part]
            file.write_text("".join(f"{count} {piece.hex()}\n" for count, piece in runs), encoding="ascii")
        rows.append("\t".join(map(str, (name, one.reader.name, file.name, one.kind, *one.place, one.path, one.fragment,
                                        one.ask, one.heap()))))
    (folder / "cases.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")


def ids_of(run):
    if run == "other":
        return []
    first, _, last = run.partition("-")
    return [f"{first[0]}{number}" for number in range(int(first[1:]), int((last or first)[1:]) + 1)]


def faults_of(run, one):
    if isinstance(one, recipes.Elsewhere):
        path = ROOT / one.file
        if not path.is_file() or one.text not in path.read_text(encoding="utf-8"):
            yield f"{run}: {one.file} has no {one.text!r}"
    elif isinstance(one, recipes.NotYet):
        if not one.reason:
            yield f"{run}: no reason"
    elif one.kind != "ok" and not one.fragment:
        yield f"{run}_{one.name}: a refusal without a fragment"


def kinds_of_errors():
    header = (ROOT / "include/posenc/error.h").read_text(encoding="ascii")
    body = re.search(r"enum class ErrorKind.*?\};", header, re.DOTALL).group()
    return set(re.findall(r"^  (\w+),", body, re.MULTILINE))


def check():
    table = list(entries())
    faults = [fault for run, found in table for one in found for fault in faults_of(run, one)]
    listed = [name for run, _ in table for name in ids_of(run)]
    wanted = [f"{letter}{number}" for letter, count in IDS.items() for number in range(1, count + 1)]
    faults += [f"{name} is not listed once" for name in sorted(set(wanted + listed))
               if (listed.count(name), wanted.count(name)) != (1, 1)]
    faults += [f"{run}: neither a case, nor a test, nor a reason" for run, found in table if not found]
    names = [name for name, _ in cases()]
    faults += [f"{name} stands twice" for name in sorted(set(names)) if names.count(name) > 1]
    kinds = {kind for _, one in cases() for kind in [one.kind, *(one.fragment.split() if one.kind == "cut" else [])]}
    faults += [f"no case of the kind {kind}" for kind in sorted(kinds_of_errors() - kinds - KINDS_ELSEWHERE)]
    waiting = [name for run, found in table for name in ids_of(run) if found and isinstance(found[0], recipes.NotYet)]
    print("\n".join(faults) if faults else f"{len(wanted) - len(waiting)} ids tested, {len(names)} cases; "
          f"{len(waiting)} ids wait for what they are about")
    return 1 if faults else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(check() if sys.argv[1] == "--check" else write(pathlib.Path(sys.argv[1])))
