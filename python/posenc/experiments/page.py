"""The page: what stands between marks is written of the results, everything else by hand.

    <!-- experiment: recall -->     a table, a picture, what papers say
    <!-- end -->

Pictures lie in the folder that has the page's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path

from .chart import chart
from .registry import Known
from .results import Result, Table
from .task import Claim

BLOCK = re.compile(r"(<!-- experiment: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _cells(table: Table, scheme: str, tests: list[str]) -> list[list[float]]:
    return [table.numbers(scheme, test) for test in tests]


def _schemes(table: Table, known: Known) -> list[str]:
    """Of the task's, those that were run; then others that were."""
    order = known.schemes_of(table.task)
    return [name for name in order if name in table.of] + [name for name in table.of if name not in order]


def _at(table: Table, seed: int) -> Callable[[str, str], float]:
    return lambda scheme, test: table.of[scheme][seed].numbers[test]


class _Names:
    """Which schemes a condition reads."""

    def __init__(self) -> None:
        self.read: set[str] = set()

    def __call__(self, scheme: str, test: str) -> float:
        self.read.add(scheme)
        return 0.5


def verdict(claim: Claim, table: Table) -> str:
    """ "3 of 3 seeds", of the seeds that all its schemes have; "not measured" where there is none."""
    seeds = [seed for seed in sorted({s for of in table.of.values() for s in of})]
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


def markdown(table: Table, known: Known) -> str:
    """The numbers: mean, least and most of the seeds."""
    tests, schemes = table.tests(), _schemes(table, known)
    lines = ["| | " + " | ".join(tests) + " |", "| --- |" + " ---: |" * len(tests)]
    for scheme in schemes:
        cells = [f"{sum(of) / len(of):.2f} ({min(of):.2f} .. {max(of):.2f})" for of in _cells(table, scheme, tests)]
        lines.append(f"| {known.schemes[scheme].title} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def claims(table: Table) -> str:
    lines = ["| papers say | measured here as | |", "| --- | --- | --- |"]
    lines += [f"| {one.says} ({one.paper}) | {one.when} | {verdict(one, table)} |" for one in table.task.claims]
    return "\n".join(lines)


def _picture(table: Table, known: Known) -> str:
    task, tests, schemes = table.task, table.tests(), _schemes(table, known)
    seeds = max(len(of) for of in table.of.values())
    detail = f"{task.measure}, mean and spread of {seeds} seeds; guessing: {task.chance:.2f}"
    cells = [_cells(table, scheme, tests) for scheme in schemes]
    if len(schemes) == 1:  # tests are what is compared: a row each
        return chart(task.title, detail, tests, [known.schemes[schemes[0]].title], [[of] for of in cells[0]])
    return chart(task.title, detail, [known.schemes[name].title for name in schemes], tests, cells)


def _block(table: Table, known: Known, folder: str) -> str:
    task = table.task
    settings = task.settings(None)
    said = ", ".join(f"{name} {value}" for name, value in settings.items())
    counts = {len(of) for of in table.of.values()}
    seeds = str(max(counts)) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    parts = [f"Seeds: {seeds}; {said}.", ""]
    if len(table.of) > 1:
        parts += [markdown(table, known), ""]
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
