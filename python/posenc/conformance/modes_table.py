"""What came of each family in each mode, as rows of Markdown or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable

import torch
import transformers

import posenc

from . import modes
from .composites import COMPOSITES
from .families import FAMILIES, WITHOUT_SCHEMES, Family

ALL = FAMILIES + WITHOUT_SCHEMES + COMPOSITES

HEAD = f"| family | {' | '.join(modes.NAMES)} |\n| --- |{' --- |' * len(modes.NAMES)}"
_WORDS = {"agrees": "yes", "refused": "refused", "none": "-", "differs": "NO", "fails": "FAILS", "late": "LATE"}


def row(title: str, outcomes: dict[str, modes.Outcome]) -> str:
    return f"| `{title}` | {' | '.join(_WORDS[outcomes[name].what] for name in modes.NAMES)} |"


def counted(rows: Iterable[dict[str, modes.Outcome]]) -> str:
    every = [outcome.what for outcomes in rows for outcome in outcomes.values()]
    numbers = {what: every.count(what) for what in ("agrees", "refused", "none")}
    wrong = len(every) - sum(numbers.values())
    return (
        f"Of {len(every)} runs {numbers['agrees']} agree, {numbers['refused']} are refused with the reason, "
        f"{numbers['none']} are none of the model's own, {wrong} are wrong; transformers {transformers.__version__}."
    )


def write(families: list[Family], *, as_json: bool) -> int:
    """Prints; returns the status."""
    seen: dict[str, dict[str, modes.Outcome]] = {}
    if not as_json:
        print(HEAD)
    for family in families:
        if family.is_known():
            seen[family.title] = modes.judge(family)
            if not as_json:
                print(row(family.title, seen[family.title]), flush=True)
    wrong = [
        (title, name, outcome)
        for title, outcomes in seen.items()
        for name, outcome in outcomes.items()
        if not outcome.is_right
    ]
    if as_json:
        versions = {"posenc": posenc.__version__, "torch": torch.__version__, "transformers": transformers.__version__}
        fields = {
            title: {name: vars(outcome) for name, outcome in outcomes.items()} for title, outcomes in seen.items()
        }
        print(json.dumps({**versions, "modes": fields}, indent=2))
    else:
        print(f"\n{counted(seen.values())}")
        for title, name, outcome in wrong:
            print(f"{title}, {name}: {outcome.what} {outcome.detail} ({outcome.in_bounds:.2g} bounds)")
    return 1 if wrong else 0
