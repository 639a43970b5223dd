"""What ranks run on: how long a part of attention takes, and how a message goes from rank to rank.

Accelerators: numbers of data sheets, peaks. Host: constants that measure.py measured, of gloo's ranks on shared cores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from events import Event, Resource, Simulation


@dataclass(frozen=True)
class Chip:
    name: str
    flops: float  # a second, dense bf16
    memory: float  # bytes a second of HBM
    nvlink: float  # bytes a second, one way: half of what data sheets count, which is both ways


CHIPS = (Chip("A100", 312e12, 2.0e12, 300e9), Chip("H100", 989e12, 3.35e12, 450e9), Chip("B200", 2250e12, 8.0e12, 900e9))
NIC = 50e9  # bytes a second, one way: 400 Gb/s InfiniBand of each accelerator, across nodes
NODE = 8  # accelerators joined by NVLink


class Machine:
    """`simulated`: ranks that are run, of `ranks`. Where nodes are all alike, one stands for all."""

    ranks: int
    simulated: int
    takes_all_in_parts = True  # blocks of other ranks; else the last one

    def image(self, rank: int) -> int:
        return rank % self.simulated

    def compute(self, rank: int, flops: float, read: float) -> Event:
        """A part of attention: operations, and bytes of tensors that it reads and writes."""
        raise NotImplementedError

    def decode(self, rank: int, flops: float, read: float) -> Event:
        """A part of one token's attention: keys are read once."""
        raise NotImplementedError

    def merge(self, rank: int, count: float) -> Event:
        """Partial results: bytes that are read and written."""
        raise NotImplementedError

    def copy(self, rank: int, count: float) -> Event:
        """Rows or heads put elsewhere: bytes that are read and written."""
        raise NotImplementedError

    def transfer(self, source: int, to: int, count: float) -> Event:
        raise NotImplementedError

    def begin(self, rank: int) -> Event:
        """What a call costs before anything is computed."""
        raise NotImplementedError


class Accelerators(Machine):
    """latency: of a message; launch: of a kernel, both in seconds, and assumed: no data sheet has them. efficiency: of the
    peak of FLOP/s."""

    takes_all_in_parts = False  # merging what a part makes takes as long as what it would hide

    def __init__(
        self, simulation: Simulation, chip: Chip, ranks: int, is_alike: bool = True, latency: float = 5e-6,
        launch: float = 5e-6, efficiency: float = 1.0,
    ) -> None:  # fmt: skip
        self.simulation, self.chip, self.ranks = simulation, chip, ranks
        self.simulated = min(ranks, NODE) if is_alike else ranks
        self.latency, self.launch, self.flops = latency, launch, chip.flops * efficiency
        count = range(self.simulated)
        self.engine = [Resource(1.0) for _ in count]
        self.ways = {
            (where, way): [Resource(speed) for _ in count]
            for where, speed in (("node", chip.nvlink), ("net", NIC))
            for way in ("out", "in")
        }

    def compute(self, rank: int, flops: float, read: float) -> Event:
        return self.simulation.start(self.launch + max(flops / self.flops, read / self.chip.memory), self.engine[rank])

    decode = compute

    def merge(self, rank: int, count: float) -> Event:
        return self.simulation.start(self.launch + count / self.chip.memory, self.engine[rank])

    copy = merge

    def transfer(self, source: int, to: int, count: float) -> Event:
        where = "node" if source // NODE == to // NODE else "net"
        resources = self.ways[where, "out"][self.image(source)], self.ways[where, "in"][self.image(to)]
        done = Event()

        def start() -> None:
            self.simulation.start(count, *resources).then.append(done.happen)

        self.simulation.at(self.latency, start)
        return done

    def begin(self, rank: int) -> Event:
        return self.simulation.delay(0.0)


class Host(Machine):
    """Ranks of gloo on the cores of one machine: what computes and what sends take turns on them. Each rank has one thread
    that computes and one that sends and receives; a message costs both of its ends. More ranks than cores are slower than in
    turn, by `crowding`."""

    def __init__(self, simulation: Simulation, ranks: int, constants: dict[str, Any]) -> None:
        self.simulation, self.ranks, self.simulated, self.constants = simulation, ranks, ranks, constants
        crowding = constants["crowding"] if ranks > constants["cores"] else 1.0
        self.cores = Resource(constants["cores"] / crowding, each=1.0)
        self.computing = [Resource(1.0) for _ in range(ranks)]
        self.sending = [Resource(1.0) for _ in range(ranks)]

    def compute(self, rank: int, flops: float, read: float) -> Event:
        of = self.constants
        seconds = of["call_of_attend"] + flops * of["second_a_flop"] + read * of["second_a_byte_packed"]
        return self.simulation.start(seconds, self.cores, self.computing[rank])

    def decode(self, rank: int, flops: float, read: float) -> Event:
        seconds = self.constants["call_of_decode"] + read * self.constants["second_a_byte_read"]
        return self.simulation.start(seconds, self.cores, self.computing[rank])

    def merge(self, rank: int, count: float) -> Event:
        return self.simulation.start(count * self.constants["second_a_byte_merged"], self.cores, self.computing[rank])

    def copy(self, rank: int, count: float) -> Event:
        return self.simulation.start(count * self.constants["second_a_byte_copied"], self.cores, self.computing[rank])

    def transfer(self, source: int, to: int, count: float) -> Event:
        seconds = self.constants["message"] / 2 + count * self.constants["second_a_byte_sent"]
        ends = [self.simulation.start(seconds, self.cores, self.sending[rank]) for rank in (source, to)]
        done = Event()

        def one_is_over() -> None:
            if all(end.is_over for end in ends):
                done.happen()

        for end in ends:
            end.then.append(one_is_over)
        return done

    def begin(self, rank: int) -> Event:
        """Checks; then what each other rank says that it was given, a message each way, and the wait for the last."""
        of = self.constants
        seconds = of["call"] + 2 * (self.ranks - 1) * of["message"]
        waits = 0.0 if self.ranks == 1 else max(0.0, of["agreement"] - 2 * of["message"])
        done = Event()
        checked = self.simulation.start(seconds, self.cores, self.computing[rank])
        checked.then.append(lambda: self.simulation.at(waits, done.happen))
        return done


class Links(Machine):
    """Ranks that share cores, each with a link of its own to a switch that holds what it is given for a while, as
    bench/overlap makes them; sending takes no core. speed: bytes a second, each way."""

    def __init__(
        self, simulation: Simulation, ranks: int, cores: int, speed: float, delay: float, second_a_flop: float
    ) -> None:
        self.simulation, self.ranks, self.simulated = simulation, ranks, ranks
        self.delay, self.second_a_flop = delay, second_a_flop
        self.cores = Resource(cores, each=1.0)
        self.computing = [Resource(1.0) for _ in range(ranks)]
        self.out, self.into = ([Resource(speed) for _ in range(ranks)] for _ in range(2))

    def compute(self, rank: int, flops: float, read: float) -> Event:
        return self.simulation.start(flops * self.second_a_flop, self.cores, self.computing[rank])

    def merge(self, rank: int, count: float) -> Event:
        return self.simulation.delay(0.0)

    copy = merge

    def transfer(self, source: int, to: int, count: float) -> Event:
        return self.simulation.start(count, self.out[source], self.into[to])

    def begin(self, rank: int) -> Event:
        """The first to ask, and the first byte, are on their way for a delay each."""
        return self.simulation.delay(2 * self.delay)
