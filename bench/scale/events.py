"""Discrete events: what shares a link or a core shares it fairly, and time jumps from one end to the next.

An activity (a product of matrices, a message) has work left and needs its resources all at once; rates are max-min fair. A process is a generator that yields the events that it waits for.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Generator


class Resource:
    """each: the most that one activity gets of it; whole: what all get together."""

    def __init__(self, whole: float, each: float = math.inf) -> None:
        self.whole, self.each = whole, each
        self.active: dict[Activity, None] = {}  # in the order in which they came


class Event:
    """Something that happens once."""

    def __init__(self) -> None:
        self.is_over = False
        self.then: list[Callable[[], None]] = []

    def happen(self) -> None:
        self.is_over = True
        for call in self.then:
            call()


class Activity(Event):
    def __init__(self, work: float, resources: tuple[Resource, ...]) -> None:
        super().__init__()
        self.left, self.resources = work, resources
        self.rate = self.since = 0.0
        self.turn = 0  # of its rate: an end that was foreseen with another rate is none


Process = Generator[Event, None, None]


class Simulation:
    def __init__(self) -> None:
        self.now = 0.0
        self._count = itertools.count()
        self._ends: list[tuple[float, int, Callable[[], None]]] = []
        self._changed: dict[Resource, None] = {}

    def at(self, seconds: float, call: Callable[[], None]) -> None:
        """Seconds from now."""
        heapq.heappush(self._ends, (self.now + seconds, next(self._count), call))

    def start(self, work: float, *resources: Resource) -> Activity:
        one = Activity(work, resources)
        if work <= 0:
            self.at(0.0, one.happen)
            return one
        one.since = self.now
        for resource in resources:
            resource.active[one] = None
            self._changed[resource] = None
        return one

    def delay(self, seconds: float) -> Event:
        one = Event()
        self.at(seconds, one.happen)
        return one

    def run(self, processes: list[Process]) -> list[float]:
        """The seconds at which each process ended."""
        ends = [math.nan] * len(processes)

        def proceed(n: int) -> None:
            for event in processes[n]:
                if not event.is_over:
                    event.then.append(lambda: proceed(n))
                    return
            ends[n] = self.now

        for n in range(len(processes)):
            proceed(n)
        while True:
            self._set_rates()
            if not self._ends:
                break
            self.now = self._ends[0][0]
            while self._ends and self._ends[0][0] <= self.now:  # all of one moment, before any rate is set
                heapq.heappop(self._ends)[2]()
        if any(math.isnan(end) for end in ends):
            raise RuntimeError("processes wait for what never happens")
        return ends

    def _set_rates(self) -> None:
        """Max-min fair, of all that shares anything with what changed: who is held up elsewhere leaves its share."""
        met = dict(self._changed)
        waiting = list(met)
        for resource in waiting:
            for one in resource.active:
                for other in one.resources:
                    if other not in met:
                        met[other] = None
                        waiting.append(other)
        self._changed.clear()
        left = {resource: resource.whole for resource in met}
        open_ones = {resource: dict(resource.active) for resource in met if resource.active}
        while open_ones:
            tightest = min(open_ones, key=lambda r: min(r.each, left[r] / len(open_ones[r])))
            rate = min(tightest.each, left[tightest] / len(open_ones[tightest]))
            for one in list(open_ones[tightest]):
                self._set_rate(one, rate)
                for resource in one.resources:
                    left[resource] -= rate
                    del open_ones[resource][one]
                    if not open_ones[resource]:
                        del open_ones[resource]

    def _set_rate(self, one: Activity, rate: float) -> None:
        if abs(rate - one.rate) <= 1e-12 * rate:
            return
        one.left -= one.rate * (self.now - one.since)
        one.since, one.rate, one.turn = self.now, rate, one.turn + 1
        turn = one.turn
        self.at(max(one.left, 0.0) / rate, lambda: self._end(one, turn))

    def _end(self, one: Activity, turn: int) -> None:
        if turn != one.turn or one.is_over:
            return
        for resource in one.resources:
            del resource.active[one]
            self._changed[resource] = None
        one.happen()
