"""Prints what transformers said of posenc, family by family, and with a path puts it into docs/conformance.md:

    PYTHONPATH=build/dev/python build/judges/bin/python3 python/tests/judges/write_conformance.py [docs/conformance.md]
"""

import pathlib
import sys

import transformers

import roundings
import verdicts
from families import BATCH, FAMILIES, TOKENS

HEADING = "## Families of transformers"


def _text() -> str:
    return f"""{HEADING}

A tiny model of each family, of transformers {transformers.__version__}'s own class with random weights, runs by its own
eager attention and rotation, and by posenc's (`posenc.transformers.use`, the plan that `read_plan` makes of its
configuration, its masks too). Both run in float32, on {BATCH} sequences of {TOKENS} tokens.

- *difference* is the root of the mean square over all logits.
- *bound* is what roundings of float32 can explain: {roundings.DRAWS} runs of the model's own code in float64, in
  which the result of every step is moved by up to half a unit of float32 (`python/tests/judges/roundings.py` has the
  derivation).
- *least mistake* is the smallest difference that one thing spoiled makes; {roundings.SPOILED_OVER_BOUND} bounds are
  asked for. Spoiled are, with a rotation, the pairing, the base, and where keys alone stand; else slopes, or rows of
  tables.

`falcon, alibi` is judged by SDPA: the eager code adds ALiBi twice (`test_wrong_judges.py`). This section is printed by
`write_conformance.py` of that folder.

| family | agreed | difference | bound | least mistake |
| --- | --- | --- | --- | --- |
"""


def row(verdict: verdicts.Verdict) -> str:
    what, least = min(verdict.spoiled.items(), key=lambda item: item[1])
    agreed = "yes" if verdict.difference <= verdict.bound else "NO"
    return (
        f"| `{verdict.family.title}` | {agreed} | {verdict.difference:.1e} | {verdict.bound:.1e} "
        f"| {what}: {least:.0e} bounds |\n"
    )


def section() -> str:
    types = {family.model_type for family in FAMILIES}
    rows = "".join(row(verdicts.judge(family)) for family in FAMILIES)
    return f"{_text()}{rows}\n{len(FAMILIES)} models of {len(types)} families.\n"


def main() -> None:
    transformers.logging.set_verbosity_error()
    if len(sys.argv) < 2:
        print(section(), end="")
        return
    page = pathlib.Path(sys.argv[1])
    before = page.read_text().partition(HEADING)[0].rstrip("\n")
    page.write_text(f"{before}\n\n{section()}")


if __name__ == "__main__":
    main()
