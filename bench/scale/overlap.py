"""How much of sending a ring hides on links, forward: what bench/overlap measures, where nothing else takes time."""

from __future__ import annotations

from machines import Links
from modes import Layer, attend, causal_zigzag

CORES, DELAY = 2, 0.005  # of the machine and the switch of bench/overlap
# Ranks, tokens, megabits a second; seconds that docs/distributed.md has of computing alone, and of both.
MEASURED = (
    (2, 8192, 25, 0.112, 1.408), (2, 8192, 50, 0.211, 0.726), (4, 16384, 50, 0.470, 2.167), (4, 16384, 100, 0.444, 1.133),
)  # fmt: skip
LAYER = Layer(2, 2, 64, 64, width=4)


def seconds(ranks: int, tokens: int, speed: float, computing: float) -> float:
    """Of a call. speed: bytes a second of a link; computing: what the call takes where no message goes, of all ranks."""
    flops = LAYER.flops(tokens**2 / 2, LAYER.heads) / min(ranks, CORES)
    make = lambda simulation: Links(simulation, ranks, CORES, speed, DELAY, computing / flops)
    return max(attend(make, LAYER, causal_zigzag(tokens, ranks), "ring").seconds)


def hidden(ranks: int, tokens: int, megabits: float, computing: float) -> tuple[float, float, float]:
    """Seconds of sending, of both, and what is hidden of the smaller of computing and sending."""
    speed = megabits * 1e6 / 8
    sending, both = seconds(ranks, tokens, speed, 0.0), seconds(ranks, tokens, speed, computing)
    return sending, both, (computing + sending - both) / min(computing, sending)
