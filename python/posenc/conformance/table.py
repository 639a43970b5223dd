"""What came of each family, as rows of Markdown or as JSON.

Two runs in float32 differ by what a processor, a number of threads and two libraries make of roundings. JSON has what
they differ by; a row says below which step of bounds that is, so that whoever prints it has the same row.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator

import torch
import transformers

import posenc

from . import modes_table, verdicts
from .families import FAMILIES, Family
from .roundings import SPOILED_OVER_BOUND

HEAD = """\
| family | agreed | bound | difference, in bounds | largest difference, in bounds | least mistake, in bounds |
| --- | --- | --- | --- | --- | --- |"""

# Above what is seen as far as a difference by chance may go: roots of mean squares to 0.25, single logits to 1.6.
STEPS = (0.5, 1.0)
STEPS_OF_LARGEST = (4.0, 8.0)


def chosen(names: list[str] | None, among: list[Family] = FAMILIES) -> list[Family]:
    """By title or model type; all where nothing is named. ValueError for a name that is neither."""
    if not names:
        return among
    for name in names:
        if not any(name in (family.title, family.model_type) for family in among):
            raise ValueError(f"there is no family {name!r}; there are {', '.join(of.title for of in among)}")
    return [family for family in among if {family.title, family.model_type} & set(names)]


def _below(x: float, steps: tuple[float, ...]) -> str:
    """Or x itself, where it is beyond all steps."""
    return next((f"below {step:g}" for step in steps if x < step), f"{x:.2g}")


def row(verdict: verdicts.Verdict) -> str:
    what, least = verdict.least_mistake
    return (
        f"| `{verdict.family.title}` | {'yes' if verdict.agreed else 'NO'} | {verdict.bound:.1e} "
        f"| {_below(verdict.difference / verdict.bound, STEPS)} "
        f"| {_below(verdict.largest / verdict.bound, STEPS_OF_LARGEST)} | {what}: {least:.0e} |"
    )


def _fields(verdict: verdicts.Verdict) -> dict[str, object]:
    return {
        "family": verdict.family.title,
        "model_type": verdict.family.model_type,
        "agreed": verdict.agreed,
        "difference": verdict.difference,
        "bound": verdict.bound,
        "largest_difference": verdict.largest,
        "mistakes_in_bounds": verdict.spoiled,
    }


def counted(families: list[Family]) -> str:
    types = {family.model_type for family in families}
    return f"{len(families)} models of {len(types)} families of transformers {transformers.__version__}."


def _judged(families: list[Family]) -> Iterator[verdicts.Verdict]:
    for family in families:
        if family.is_known():
            yield verdicts.judge(family)
        else:
            print(f"transformers {transformers.__version__} has no {family.model_type}", file=sys.stderr)


def write(names: list[str] | None, *, as_json: bool, in_modes: bool = False) -> int:
    """Prints; returns the status."""
    try:
        families = chosen(names, modes_table.ALL if in_modes else FAMILIES)
    except ValueError as error:
        print(f"posenc.conformance: {error}", file=sys.stderr)
        return 2
    transformers.logging.set_verbosity_error()
    if in_modes:
        return modes_table.write(families, as_json=as_json)
    seen = []
    if not as_json:
        print(HEAD)
    for verdict in _judged(families):
        seen.append(verdict)
        if not as_json:
            print(row(verdict), flush=True)
    if as_json:
        versions = {"posenc": posenc.__version__, "torch": torch.__version__, "transformers": transformers.__version__}
        print(json.dumps({**versions, "families": [_fields(verdict) for verdict in seen]}, indent=2))
    else:
        print(f"\n{counted([verdict.family for verdict in seen])}")
    good = all(verdict.agreed and verdict.least_mistake[1] > SPOILED_OVER_BOUND for verdict in seen)
    return 0 if good else 1
