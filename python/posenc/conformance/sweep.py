"""Every model type of the installed transformers, its own code against the plan that read_plan makes of its config.

    python -m posenc.conformance.sweep --shard 0/2          # of all types, every second; --json
    python -m posenc.conformance.sweep --type llama --type bert
    python -m posenc.conformance.sweep --sample             # the sixty that ./test runs
    python -m posenc.conformance.sweep --vary --shard 0/2   # each type again and again, with one key changed

It needs torch and transformers. docs/conformance-sweep.md says what a verdict is.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys


def _shard(text: str) -> tuple[int, int]:
    of, _, count = text.partition("/")
    if not (of.isdigit() and count.isdigit() and int(of) < int(count)):
        raise argparse.ArgumentTypeError(f"expected i/n with 0 <= i < n, got {text}")
    return int(of), int(count)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m posenc.conformance.sweep",
        description="Runs the model of each type of transformers, with all layers and widths of its default "
        "configuration, and compares what its code does with positions with posenc's plan of that configuration. The "
        "status is 1 where a type is wrong.",
    )
    parser.add_argument("--type", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--shard", type=_shard, default=(0, 1), metavar="I/N", help="every N-th type, from the I-th on")
    parser.add_argument("--sample", action="store_true", help="only the sixty types that ./test runs")
    parser.add_argument(
        "--vary",
        action="store_true",
        help="in place of defaults, configurations that differ from them by one key; the table has what is not right",
    )
    parser.add_argument("--json", action="store_true", help="JSON in place of a Markdown table")
    given = parser.parse_args(arguments)
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"posenc.conformance.sweep: {' and '.join(missing)} cannot be imported, but must be", file=sys.stderr)
        return 2
    import torch

    from . import sweep_table

    torch.set_num_threads(1)
    return sweep_table.write(given.type, sample=given.sample, shard=given.shard, as_json=given.json, vary=given.vary)


if __name__ == "__main__":
    sys.exit(main())
