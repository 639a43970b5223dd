"""The command: python -m posenc.experiments."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .registry import Known


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m posenc.experiments",
        description="Trains small models with position encodings on tasks that papers made for them, and tests them on "
        "longer sequences. Results are added to a file as they come, and what it has is not run again.",
    )
    only = "only these; * and ? fit any"
    parser.add_argument("--only", action="append", default=[], metavar="TASK[/SCHEME]", help=only)
    parser.add_argument("--seeds", type=int, default=3, help="runs of each, with seeds from 1 (3)")
    parser.add_argument("--jobs", type=int, default=1, help="processes beside one another, of a thread each (1)")
    parser.add_argument("--steps", type=int, help="of training, in place of each task's own")
    file = Path("experiments.jsonl")
    parser.add_argument("--results", type=Path, default=file, metavar="FILE", help=f"({file})")
    parser.add_argument("--add", action="append", default=[], metavar="FILE.py", help="a scheme or a task of your own")
    parser.add_argument("--list", action="store_true", help="lists tasks and schemes, and runs nothing")
    parser.add_argument("--page", type=Path, metavar="PAGE.md", help="writes results into this page, and its pictures")
    parser.add_argument("--json", action="store_true", help="prints results as JSON")
    return parser


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    given = parser.parse_args(arguments)
    for name in ("seeds", "jobs", "steps"):
        value = getattr(given, name)
        if value is not None and value < 1:
            parser.error(f"--{name} must be at least 1 but is {value}")
    if importlib.util.find_spec("torch") is None:
        print("posenc.experiments: torch cannot be imported, but must be: pip install torch", file=sys.stderr)
        return 2
    os.environ.setdefault("POSENC_THREADS", "1")  # kernels too, here and in the processes of --jobs
    try:
        return _run(given)
    except (ValueError, OSError) as error:
        print(f"posenc.experiments: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"posenc.experiments: stopped; {given.results} has what was done", file=sys.stderr)
        return 130


def _run(given: argparse.Namespace) -> int:
    from . import page, results, runs
    from .registry import Known

    known = Known(given.add)
    if given.list:
        return _list(known, given.json)
    wanted = runs.wanted(known, given.only, given.seeds)
    runs.run_all(
        wanted,
        given.add,
        given.results,
        steps=given.steps,
        jobs=given.jobs,
        tell=lambda line: print(line, file=sys.stderr, flush=True),
    )
    found = results.read(given.results)
    if given.page is not None:
        page.write(given.page, found, known)
    tables = {name: results.Table(task, found, given.steps) for name, task in known.tasks.items()}
    shown = {name: tables[name] for name in dict.fromkeys(run.task for run in wanted)}
    if given.json:
        of = {name: [vars(one) for each in table.of.values() for one in each.values()] for name, table in shown.items()}
        print(json.dumps(of, indent=2))
        return 0
    for table in shown.values():
        print(f"{table.task.title}\n\n{page.markdown(table, known)}\n\n{page.claims(table)}\n")
    return 0


def _list(known: Known, as_json: bool) -> int:
    tasks = known.tasks.values()
    if as_json:
        of = {one.name: {"title": one.title, "schemes": known.schemes_of(one), **one.settings(None)} for one in tasks}
        print(json.dumps(of, indent=2))
        return 0
    for one in tasks:
        print(f"{one.name}: {one.title}, {one.steps} steps\n    {' '.join(known.schemes_of(one))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
