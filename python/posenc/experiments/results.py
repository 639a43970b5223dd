"""Results as lines of JSON, one a run, in a file that grows: what is there is not run again.

    {"task": "recall", "scheme": "alibi", "seed": 1, "settings": {"steps": 600, ...}, "numbers": {"64": 1.0}, ...}
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .task import Numbers, Task


@dataclass(frozen=True)
class Result:
    task: str
    scheme: str
    seed: int
    settings: dict[str, Any]
    numbers: Numbers
    loss: float
    seconds: float
    torch: str

    @property
    def key(self) -> str:
        return key(self.task, self.scheme, self.seed, self.settings)


def key(task: str, scheme: str, seed: int, settings: dict[str, Any]) -> str:
    return json.dumps([task, scheme, seed, settings], sort_keys=True)


def read(path: Path) -> list[Result]:
    """ValueError for a line that is none; a last line without its end, where a run was cut off, is left out."""
    if not path.exists():
        return []
    *lines, cut_off = path.read_text().split("\n")
    results = []
    for number, line in enumerate(lines, 1):
        try:
            results.append(Result(**json.loads(line)))
        except (TypeError, ValueError) as error:
            raise ValueError(f"[experiments] line {number} of {path} must be a result but is not: {error}") from None
    return results


def append(path: Path, result: Result) -> None:
    text = path.read_text() if path.exists() else ""
    if not text.endswith("\n"):  # what a run that was cut off has left
        path.write_text(text[: text.rfind("\n") + 1])
    with path.open("a") as file:
        file.write(json.dumps(asdict(result)) + "\n")


class Table:
    """Numbers of one task by scheme, seed and test, of the settings that it has now."""

    def __init__(self, task: Task, results: Iterable[Result], steps: int | None = None) -> None:
        self.task = task
        wanted = task.settings(steps)
        self.of: dict[str, dict[int, Result]] = {}
        for result in results:
            if result.task == task.name and result.settings == wanted:
                self.of.setdefault(result.scheme, {})[result.seed] = result

    def tests(self) -> list[str]:
        first = next(iter(self.of.values()), {})
        return list(next(iter(first.values())).numbers) if first else []

    def numbers(self, scheme: str, test: str) -> list[float]:
        """One for each seed, in their order."""
        return [result.numbers[test] for _, result in sorted(self.of.get(scheme, {}).items())]
