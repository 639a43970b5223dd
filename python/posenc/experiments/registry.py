"""Schemes and tasks by name: a file of schemes/ has a SCHEME, one of tasks/ a TASK, and so has a file of the user's."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from . import schemes, tasks
from .scheme import Scheme
from .task import Task


class Known:
    """All of the package, and of the files of the user's. ValueError for a file that has neither, or a name taken."""

    def __init__(self, files: Sequence[str] = ()) -> None:
        self.schemes: dict[str, Scheme] = {}
        self.tasks: dict[str, Task] = {}
        for package in (schemes, tasks):
            for found in pkgutil.iter_modules(package.__path__):
                self._take(importlib.import_module(f"{package.__name__}.{found.name}"), found.name)
        self.own: list[str] = []  # schemes of the user's, which every task takes
        for file in files:
            self.own += self._take(_imported(file), file)

    def _take(self, module: ModuleType, where: str) -> list[str]:
        scheme, task = getattr(module, "SCHEME", None), getattr(module, "TASK", None)
        if not isinstance(scheme, Scheme) and not isinstance(task, Task):
            raise ValueError(f"[experiments] {where} must have a SCHEME (a Scheme) or a TASK (a Task) but has neither")
        if isinstance(task, Task):
            _add(self.tasks, task.name, task, where)
        if not isinstance(scheme, Scheme):
            return []
        _add(self.schemes, scheme.name, scheme, where)
        return [scheme.name]

    def schemes_of(self, task: Task) -> list[str]:
        return [*task.schemes, *(name for name in self.own if name not in task.schemes)]


def _add(to: dict[str, Any], name: str, value: Any, where: str) -> None:
    if name in to:
        raise ValueError(f"[experiments] {where} must have a name of its own but has {name!r}, which is taken")
    to[name] = value


def _imported(file: str) -> ModuleType:
    path = Path(file)
    if not path.is_file():
        raise ValueError(f"[experiments] --add must be a file but {file} is none")
    spec = importlib.util.spec_from_file_location(f"posenc_experiments_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"[experiments] --add must be a file of Python but is {file}")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
