#!/usr/bin/env python3
"""Writes docs/conformance-sweep.md of what the shards of the sweep printed as JSON:

for i in 0 1; do python -m posenc.conformance.sweep --json --shard $i/2 > sweep$i.json; done
scripts/write_sweep.py sweep0.json sweep1.json
"""

import collections
import json
import pathlib
import sys

PAGE = pathlib.Path(__file__).parent.parent / "docs/conformance-sweep.md"
MARK = "<!-- what follows is written by scripts/write_sweep.py -->"
VERDICTS = ("right", "wrong", "unknown", "refused", "no attention", "left out", "not run")


def main(paths: list[str]) -> None:
    found = [json.loads(pathlib.Path(path).read_text()) for path in paths]
    rows = {row["title"]: row for shard in found for row in shard["types"]}
    types = [row for row in rows.values() if row["title"] == row["model_type"]]
    counts = collections.Counter(row["verdict"] for row in types)
    others = collections.Counter(row["verdict"] for row in rows.values() if row["title"] != row["model_type"])
    lines = [MARK, "", f"Of the {len(types)} model types of transformers {found[0]['transformers']}:", ""]
    lines += ["| verdict | types | variants |", "| --- | --- | --- |"]
    lines += [f"| {name} | {counts[name]} | {others[name]} |" for name in VERDICTS if counts[name] or others[name]]
    lines += ["", "| type | verdict | facts |", "| --- | --- | --- |"]
    for title in sorted(rows):
        facts = "; ".join([*rows[title]["facts"], *rows[title]["not_compared"]]).replace("|", "/")
        lines.append(f"| `{title}` | {rows[title]['verdict']} | {facts} |")
    before = PAGE.read_text().partition(MARK)[0]
    PAGE.write_text(before + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
