"""The command: python -m posenc.conformance."""

from __future__ import annotations

import argparse
import importlib.util
import sys


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m posenc.conformance",
        description="Runs a small model of each family of transformers by its own code and by posenc, and prints how "
        "far they are apart. The status is 1 where a family disagrees, or where a mistake would not be seen.",
    )
    parser.add_argument("--family", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument(
        "--modes",
        action="store_true",
        help="run each with a KV cache, padding, packing, beams, other dtypes and in train(): all must agree, or be refused",
    )
    parser.add_argument("--json", action="store_true", help="JSON in place of a Markdown table")
    given = parser.parse_args(arguments)
    missing = [name for name in ("torch", "transformers") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"posenc.conformance: {' and '.join(missing)} cannot be imported, but must be", file=sys.stderr)
        return 2
    import torch

    from . import table

    torch.set_num_threads(1)  # more wait for one another longer than such models take
    return table.write(given.family, as_json=given.json, in_modes=given.modes)


if __name__ == "__main__":
    sys.exit(main())
