"""Several ways of doing one thing, timed in one process: round after round, each once, so that whatever disturbs the
machine disturbs all of them. A ratio is taken within a round. Memory is measured apart from time."""

from __future__ import annotations

import ctypes
import dataclasses
import math
import pathlib
import statistics
import time
from collections.abc import Callable
from typing import Any

# A timed stretch is at least this long: what the clock and the loop take is then below a thousandth of it.
_STRETCH = 1e-3
# Before a stretch, seconds: threads of the library that ran last spin for a while, on the core of one of ours.
_REST = 0.02


@dataclasses.dataclass
class Candidate:
    """A way of doing it. `run` returns what it computed, for a test to compare."""

    name: str
    run: Callable[[], Any]
    is_ours: bool = False
    is_floor: bool = False  # computes something else, or nothing: the least that can be asked for
    is_compiled: bool = False  # by torch.compile, when it is first run
    for_memory: Callable[[], Any] | None = None  # the same call by a library that otherwise keeps what it took
    seconds: list[float] = dataclasses.field(default_factory=list)  # of one call, [rounds]
    peak: int = 0  # bytes


@dataclasses.dataclass
class Case:
    """One thing to do, its candidates made when they are needed: "rotate/f32/512"."""

    name: str
    make: Callable[[], list[Candidate]]


@dataclasses.dataclass(frozen=True)
class Spread:
    median: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{_short(self.median)} [{_short(self.least)}, {_short(self.most)}]"


def _short(x: float) -> str:
    """Three digits."""
    digits = max(0, 2 - math.floor(math.log10(x))) if x > 0 else 0
    return f"{x:.{digits}f}"


def spread(values: list[float]) -> Spread:
    return Spread(statistics.median(values), min(values), max(values))


def ratios(of: Candidate, over: Candidate) -> Spread:
    """How many times as long, round by round."""
    return spread([a / b for a, b in zip(of.seconds, over.seconds, strict=True)])


def _calls(candidate: Candidate) -> int:
    candidate.run()  # what is made once: graphs, arenas, pages
    start = time.perf_counter()
    candidate.run()
    once = time.perf_counter() - start
    return max(1, math.ceil(_STRETCH / max(once, 1e-9)))


def take_turns(candidates: list[Candidate], rounds: int) -> None:
    """Fills in `seconds`, of wall-clock time: there may be several threads. Calls follow one another as in a model: one
    that is not timed comes first, and wakes the library's own threads."""
    calls = [_calls(candidate) for candidate in candidates]
    for _ in range(rounds):
        for candidate, count in zip(candidates, calls, strict=True):
            time.sleep(_REST)
            candidate.run()
            start = time.perf_counter()
            for _ in range(count):
                candidate.run()
            candidate.seconds.append((time.perf_counter() - start) / count)


# ---- memory ----


def _status(key: str) -> int:
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith(key):
            return 1024 * int(line.split()[1])
    raise OSError(f"/proc/self/status has no {key}")


def measure_peak(candidate: Candidate) -> None:
    """Fills in `peak`: the most that the process held during a call, beyond what it held before it."""
    run = candidate.for_memory or candidate.run
    run()
    ctypes.CDLL(None).malloc_trim(0)  # what earlier calls left in the heap would hide what this one takes
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # forgets the peak, VmHWM
    before = _status("VmRSS")
    run()
    candidate.peak = max(0, _status("VmHWM") - before)


def keep_memory() -> None:
    """glibc gives memory back to the system no more, and takes none of it by mmap: what a call allocates has been
    touched before. Without this an array of more than 32 MiB, and by default many a smaller one, is new pages."""
    libc = ctypes.CDLL(None)
    trim_threshold, mmap_max = -1, -4  # M_TRIM_THRESHOLD, M_MMAP_MAX of malloc.h
    if not (libc.mallopt(trim_threshold, 2**31 - 1) and libc.mallopt(mmap_max, 0)):
        raise OSError("mallopt refused")
