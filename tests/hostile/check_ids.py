#!/usr/bin/env python3
"""Every id of the checklist of bad inputs stands in ids.tsv once, and is where that says.

A row: an id or a run of ids, what they are about, and either "FILE TEXT; ..." (files of this repository that hold the
text) or "not yet: REASON". Prints what is covered.
"""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# How many ids each letter has. A files, B JSON and configs, C GGUF, D safetensors, E .npy, F llama2.c, G parameters,
# H shapes, I positions, J concurrency, K command line, L bindings.
IDS = {"A": 20, "B": 32, "C": 28, "D": 18, "E": 14, "F": 10, "G": 22, "H": 20, "I": 18, "J": 14, "K": 16, "L": 18}
NOT_YET = "not yet: "


def ids_of(run):
    first, _, last = run.partition("-")
    last = last or first
    if not re.fullmatch(r"[A-L][0-9]+", first) or first[0] != last[0]:
        raise ValueError(f"no id or run of ids: {run}")
    return [f"{first[0]}{number}" for number in range(int(first[1:]), int(last[1:]) + 1)]


def faults_of(run, where):
    """What is wrong with a row's last column."""
    if where.startswith(NOT_YET):
        return [] if where[len(NOT_YET):].strip() else [f"{run}: no reason"]
    faults = []
    for place in where.split("; "):
        name, _, text = place.partition(" ")
        path = ROOT / name
        if not path.is_file():
            faults.append(f"{run}: there is no {name}")
        elif not text or text not in path.read_text(encoding="utf-8"):
            faults.append(f"{run}: {name} has no {text!r}")
    return faults


def main():
    faults, tested, waiting = [], [], []
    for row in (HERE / "ids.tsv").read_text(encoding="ascii").splitlines()[1:]:
        run, _, where = row.split("\t")
        (waiting if where.startswith(NOT_YET) else tested).extend(ids_of(run))
        faults += faults_of(run, where)
    wanted = {f"{letter}{number}" for letter, count in IDS.items() for number in range(1, count + 1)}
    listed = tested + waiting
    faults += [f"{name} is not listed" for name in sorted(wanted - set(listed))]
    faults += [f"{name} is no id" for name in sorted(set(listed) - wanted)]
    faults += [f"{name} is listed twice" for name in sorted(set(listed)) if listed.count(name) > 1]
    print("\n".join(faults) if faults else f"{len(tested)} ids tested, {len(waiting)} wait for what they are about")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
