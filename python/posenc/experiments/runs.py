"""Runs: a task with a scheme and a seed each, one after another or in processes beside one another, a thread each."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatchcase
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import torch

from . import results
from .registry import Known
from .results import Result


class Run(NamedTuple):
    task: str
    scheme: str
    seed: int


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """More threads wait for one another longer than such models take; and one gives the same bits everywhere."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def wanted(known: Known, only: Sequence[str], seeds: int) -> list[Run]:
    """only: patterns of "task" or "task/scheme". ValueError for one that fits nothing."""
    pairs = [(task.name, scheme) for task in known.tasks.values() for scheme in known.schemes_of(task)]
    for pattern in only:
        if not any(_fits(pattern, *pair) for pair in pairs):
            raise ValueError(f"[experiments] --only must be a task or TASK/SCHEME of --list but is {pattern!r}")
    chosen = [pair for pair in pairs if not only or any(_fits(pattern, *pair) for pattern in only)]
    return [Run(task, scheme, seed) for seed in range(1, seeds + 1) for task, scheme in chosen]


def _fits(pattern: str, task: str, scheme: str) -> bool:
    return fnmatchcase(f"{task}/{scheme}", pattern if "/" in pattern else f"{pattern}/*")


def result_of(run: Run, known: Known, steps: int | None = None) -> Result:
    task = known.tasks[run.task]
    settings = task.settings(steps)
    begin = time.perf_counter()
    with one_thread():
        numbers, loss = task.run(known.schemes[run.scheme], run.seed, settings["steps"])
    seconds = round(time.perf_counter() - begin, 1)
    return Result(*run, settings, numbers, loss, seconds, torch.__version__)


def _in_process(run: Run, files: Sequence[str], steps: int | None) -> Result:
    return result_of(run, Known(files), steps)


def _made(todo: Sequence[Run], files: Sequence[str], steps: int | None, jobs: int) -> Iterator[Result]:
    if jobs == 1:
        known = Known(files)
        for run in todo:
            yield result_of(run, known, steps)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        futures = [pool.submit(_in_process, run, files, steps) for run in todo]
        try:
            for done in as_completed(futures):
                yield done.result()
        finally:
            pool.shutdown(cancel_futures=True)


def run_all(
    runs: Sequence[Run],
    files: Sequence[str],
    to: Path,
    *,
    steps: int | None = None,
    jobs: int = 1,
    tell: Callable[[str], None] = lambda line: None,
) -> None:
    """Those that `to` has not, each written as it ends."""
    known = Known(files)
    there = {result.key for result in results.read(to)}
    todo = [run for run in runs if results.key(*run, known.tasks[run.task].settings(steps)) not in there]
    if len(todo) < len(runs):
        tell(f"{len(runs) - len(todo)} of {len(runs)} runs are in {to}")
    for count, result in enumerate(_made(todo, files, steps, jobs), 1):
        results.append(to, result)
        numbers = ", ".join(f"{name} {x:.3f}" for name, x in list(result.numbers.items())[:5])
        place = f"{result.task}/{result.scheme}, seed {result.seed}"
        tell(f"[{count}/{len(todo)}] {place}: {numbers} ({result.seconds:.0f} s)")
