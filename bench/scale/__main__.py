"""Attention of sequences that no memory holds, simulated: docs/scale.md.

    python3 bench/scale                           # all tables: measured cases, forward passes, decode, carries
    python3 bench/scale measured                  # the simulation beside what was measured here
    python3 bench/scale overlap                   # what a ring hides of sending, on links as those of bench/overlap
    python3 bench/scale forward --chip H100 --tokens 1000000 --ranks 64 --efficiency 0.7

Needs nothing but Python. A layer has 32 query heads and 8 KV heads of 128 channels in bf16, as Llama 3.1 8B has it; one
causal sequence in zigzag; times are of one layer's attention, forward, at the peaks of data sheets.
"""

from __future__ import annotations

import argparse
import sys

import carries
import decode
import overlap
from cases import compared
from machines import CHIPS, NODE, Accelerators, Chip
from modes import Counted, Layer, attend, causal_zigzag

LAYER = Layer(32, 8, 128, 128)
TOKENS = (131072, 1_048_576, 10_485_760, 104_857_600)  # 128 k to 100 M
RANKS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
TABLES = ("measured", "overlap", "forward", "decode", "carries")
MODES = ("ring", "all_gather", "ulysses", "hybrid")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/scale", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("table", nargs="*", help=f"{', '.join(TABLES)} (default: all)")
    parser.add_argument("--chip", nargs="+", default=[chip.name for chip in CHIPS], help="(default: %(default)s)")
    parser.add_argument("--tokens", type=int, nargs="+", default=list(TOKENS), help="(default: %(default)s)")
    parser.add_argument("--ranks", type=int, nargs="+", default=list(RANKS), help="powers of 2 (default: %(default)s)")
    parser.add_argument("--efficiency", type=float, default=1.0, help="of the peak of FLOP/s (default: %(default)s)")
    parser.add_argument("--latency", type=float, default=5e-6, help="of a message, seconds (default: %(default)s)")
    parser.add_argument("--launch", type=float, default=5e-6, help="of a kernel, seconds (default: %(default)s)")
    parser.add_argument("--ahead", type=int, default=1, help="blocks asked for ahead in a ring (default: %(default)s)")
    return parser.parse_args()


def row(*cells: object) -> None:
    print("| " + " | ".join(str(cell) for cell in cells) + " |")
    sys.stdout.flush()


def head(*cells: str) -> None:
    print()
    row(*cells)
    row(*("---" for _ in cells))


def of(number: float) -> str:
    return f"{number:.3g}" if number < 1000 else f"{number:.0f}"


class Tables:
    def __init__(self, given: argparse.Namespace) -> None:
        self.given = given
        self.chips = [chip for chip in CHIPS if chip.name in given.chip]

    def machine(self, chip: Chip, ranks: int, is_alike: bool = True):  # type: ignore[no-untyped-def]
        given = self.given
        return lambda simulation: Accelerators(
            simulation, chip, ranks, is_alike, given.latency, given.launch, given.efficiency
        )

    def measured(self) -> None:
        head("mode", "ranks", "tokens", "heads", "KV heads", "measured, ms", "simulated, ms", "ratio")
        for case, seconds in compared():
            row(
                case["mode"], case["ranks"], case["tokens"], case["heads"], case["kv_heads"], of(1e3 * case["seconds"]),
                of(1e3 * seconds), f"{seconds / case['seconds']:.2f}",
            )  # fmt: skip

    def overlap(self) -> None:
        head("ranks", "tokens", "Mbit/s", "computing, ms", "sending, ms", "both, ms", "hidden", "both, measured, ms", "ratio")
        for ranks, tokens, megabits, computing, measured in overlap.MEASURED:
            sending, both, share = overlap.hidden(ranks, tokens, megabits, computing)
            times = (of(1e3 * one) for one in (computing, sending, both))
            row(ranks, tokens, megabits, *times, f"{share:.2f}", of(1e3 * measured), f"{both / measured:.2f}")

    def run(self, chip: Chip, tokens: int, ranks: int, mode: str) -> Counted | None:
        """None: the mode has nothing to deal to so many."""
        if mode == "ulysses" and ranks > LAYER.heads or mode == "hybrid" and ranks <= NODE:
            return None
        return attend(self.machine(chip, ranks), LAYER, causal_zigzag(tokens, ranks), mode, NODE, self.given.ahead)

    def forward(self) -> None:
        """The best is in the last column: with the fraction of the peak that it reaches."""
        head("chip", "tokens", "ranks", *(f"{mode}: ms, MB sent, MB held" for mode in MODES), "least time")
        for chip in self.chips:
            for tokens in self.given.tokens:
                for ranks in self.given.ranks:
                    made = {mode: self.run(chip, tokens, ranks, mode) for mode in MODES}
                    cells = [
                        "" if one is None else
                        f"{of(1e3 * max(one.seconds))}, {of(max(one.sent) / 1e6)}, {of(max(one.held) / 1e6)}"
                        for one in made.values()
                    ]  # fmt: skip
                    times = {mode: max(one.seconds) for mode, one in made.items() if one is not None}
                    best = min(times, key=lambda mode: times[mode])
                    peak = LAYER.flops(tokens * (tokens + 1) / 2, LAYER.heads) / ranks / chip.flops
                    row(chip.name, tokens, ranks, *cells, f"{best}, {peak / times[best]:.2f} of the peak")

    def decode(self) -> None:
        head("chip", "tokens", "ranks", "tree: us, kB sent by all", "passed on: us", "keys of a rank, MB")
        for chip in self.chips:
            for tokens in self.given.tokens:
                for ranks in self.given.ranks:
                    make = self.machine(chip, ranks, False)
                    tree, chain = (decode.decode(make, LAYER, tokens, is_tree) for is_tree in (True, False))
                    keys = tokens / ranks * LAYER.kv_heads * LAYER.channels * LAYER.width
                    row(
                        chip.name, tokens, ranks, f"{of(1e6 * max(tree.seconds))}, {of(sum(tree.sent) / 1e3)}",
                        of(1e6 * max(chain.seconds)), of(keys / 1e6),
                    )  # fmt: skip

    def carries(self) -> None:
        ways = {"sent by its owner": (False, 1), "passed on": (True, 1), "passed on, 8 ahead": (True, 8)}
        head("chip", "tokens", "ranks", *(f"{way}: ms" for way in ways), "one part after another: ms")
        for chip in self.chips:
            for tokens in self.given.tokens[:2]:
                for ranks in (ranks for ranks in self.given.ranks if ranks <= 64):  # no node stands for all here
                    made = [
                        carries.attend(self.machine(chip, ranks, False), LAYER, tokens, *way) for way in ways.values()
                    ]
                    alone = LAYER.flops(tokens * (tokens + 1) / 2, LAYER.heads) / (chip.flops * self.given.efficiency)
                    row(chip.name, tokens, ranks, *(of(1e3 * max(one.seconds)) for one in made), of(1e3 * alone))


def main() -> None:
    given = arguments()
    tables = Tables(given)
    for name in given.table or TABLES:
        if name not in TABLES:
            sys.exit(f"bench/scale: there is no table {name}: {', '.join(TABLES)}")
        getattr(tables, name)()


if __name__ == "__main__":
    main()
