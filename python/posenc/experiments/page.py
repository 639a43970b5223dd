"""The page: what stands between marks is written of the results, everything else by hand.

    <!-- experiment: recall -->     a table, a picture, what papers say
    <!-- end -->

Pictures lie in the folder that has the page's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from .chart import chart
from .registry import Known
from .results import Result, Table
from .task import Claim

BLOCK = re.compile(r"(<!-- experiment: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _schemes(table: Table, known: Known) -> list[str]:
    """Of the task's, those that were run; then others that were."""
    order = known.schemes_of(table.task)
    return [name for name in order if name in table.of] + [name for name in table.of if name not in order]


def _at(table: Table, seed: int) -> Callable[[str, str], float]:
    return lambda scheme, test: table.of[scheme][seed].numbers[test]


def verdict(claim: Claim, table: Table) -> str:
    """ "3 of 3 seeds", of the seeds that all its schemes have; "not measured" where there is none."""
    seeds = sorted({seed for of in table.of.values() for seed in of})
    held = []
    for seed in seeds:
        try:
            held.append(claim.holds(_at(table, seed)))
        except KeyError:
            continue
    if not held:
        return "not measured"
    word = "agrees" if all(held) else "does not" if not any(held) else "in part"
    return f"{word}: {sum(held)} of {len(held)} seeds"


class Grid(NamedTuple):
    rows: list[str]
    columns: list[str]
    cells: list[list[list[float]]]  # [row][column]: a number for each seed


def grid(table: Table, known: Known) -> Grid:
    """A row for each scheme; of a task with one scheme for what its tests' names begin with, "YaRN, 256"."""
    tests, schemes = table.tests(), _schemes(table, known)
    if len(schemes) > 1 or not all(", " in test for test in tests):
        titles = [known.schemes[scheme].title for scheme in schemes]
        return Grid(titles, tests, [[table.numbers(scheme, test) for test in tests] for scheme in schemes])
    rows, columns = (list(dict.fromkeys(test.split(", ", 1)[part] for test in tests)) for part in (0, 1))
    cells = [[table.numbers(schemes[0], f"{row}, {column}") for column in columns] for row in rows]
    return Grid(rows, columns, cells)


def markdown(table: Table, known: Known) -> str:
    """The numbers: mean, least and most of the seeds."""
    of = grid(table, known)
    lines = ["| | " + " | ".join(of.columns) + " |", "| --- |" + " ---: |" * len(of.columns)]
    for row, cells in zip(of.rows, of.cells):
        shown = [f"{sum(x) / len(x):.2f} ({min(x):.2f} .. {max(x):.2f})" for x in cells]
        lines.append(f"| {row} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def claims(table: Table) -> str:
    lines = ["| papers say | measured here as | |", "| --- | --- | --- |"]
    lines += [f"| {one.says} ({one.paper}) | {one.when} | {verdict(one, table)} |" for one in table.task.claims]
    return "\n".join(lines)


def _picture(table: Table, known: Known) -> str:
    task, of = table.task, grid(table, known)
    seeds = max(len(runs) for runs in table.of.values())
    detail = f"{task.measure}, mean and spread of {seeds} seeds; guessing: {task.chance:.2f}"
    return chart(task.title, detail, of.rows, of.columns, of.cells)


def _block(table: Table, known: Known, folder: str) -> str:
    task = table.task
    settings = task.settings(None)
    said = ", ".join(f"{name} {value}" for name, value in settings.items())
    counts = {len(of) for of in table.of.values()}
    seeds = str(max(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    parts = [f"Seeds: {seeds}; {said}.", "", markdown(table, known), ""]
    parts += [f"![{task.title}: {task.measure}]({folder}/{task.name}.svg)", ""]
    return "\n".join(parts + [claims(table), ""])


def written(text: str, results: Iterable[Result], known: Known, folder: str) -> tuple[str, dict[str, str]]:
    """The page with its blocks, and pictures by name. ValueError for a block of no task, or of one that was not run."""
    results = list(results)
    pictures: dict[str, str] = {}

    def block(found: re.Match[str]) -> str:
        name = found[2]
        if name not in known.tasks:
            raise ValueError(f"[experiments] a block must be of a task but is of {name!r}")
        table = Table(known.tasks[name], results)
        if not table.of:
            raise ValueError(f"[experiments] results must have runs of {name} with its settings, but have none")
        pictures[f"{name}.svg"] = _picture(table, known)
        return found[1] + _block(table, known, folder) + found[3]

    return BLOCK.sub(block, text), pictures


def write(page: Path, results: Iterable[Result], known: Known) -> None:
    text, pictures = written(page.read_text(), results, known, page.stem)
    folder = page.parent / page.stem
    folder.mkdir(exist_ok=True)
    for name, picture in pictures.items():
        (folder / name).write_text(picture)
    page.write_text(text)
