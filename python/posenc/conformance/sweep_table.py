"""What came of each model type, as rows of Markdown or as JSON."""

from __future__ import annotations

import collections
import functools
import gc
import importlib.resources
import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import torch
import transformers

import posenc

from . import sweep_keys, sweep_type, sweep_varied
from .sweep_sample import SAMPLE
from .sweep_type import VERDICTS, Verdict

HEAD = "| type | verdict | facts |\n| --- | --- | --- |"


@functools.cache
def left_out() -> dict[str, str]:
    """By type, why its class is not run."""
    text = importlib.resources.files(__package__).joinpath("sweep_left_out.tsv").read_text()
    return dict(line.split("\t") for line in text.splitlines()[1:])


def all_types() -> list[str]:
    return sorted(transformers.CONFIG_MAPPING)


def _chosen(names: list[str] | None, sample: bool, shard: tuple[int, int]) -> list[str]:
    known = all_types()
    for name in names or ():
        if name not in known:
            raise ValueError(f"transformers {transformers.__version__} has no model type {name!r}")
    chosen = names or (list(SAMPLE) if sample else known)
    return chosen[shard[0] :: shard[1]]


def varied(model_type: str) -> Iterator[Verdict]:
    """Of configurations that differ from the default by one key."""
    if model_type in left_out():
        return
    for title, keys in sweep_varied.variations(model_type):
        verdict = sweep_varied.judge(model_type, keys)
        verdict.title = title
        yield verdict
        gc.collect()


def verdicts(model_type: str) -> Iterator[Verdict]:
    """Of its default configuration, and of each variant."""
    for title, keys in sweep_keys.variants(model_type):
        verdict = sweep_type.judge(model_type, keys)
        verdict.title = title
        was_made = verdict.runs is not None
        if (verdict.verdict in ("not run", "wrong") or not was_made) and model_type in left_out():
            seen = [f"seen, though not comparable: {fact}" for fact in verdict.facts if verdict.verdict == "wrong"]
            verdict.verdict, verdict.facts = "left out", [left_out()[model_type], *seen]
        yield verdict
        gc.collect()  # a model and its hooks are a cycle


def row(verdict: Verdict) -> str:
    facts = "; ".join([*verdict.facts, *verdict.not_compared]).replace("|", "/")
    return f"| `{verdict.title}` | {verdict.verdict} | {facts} |"


def fields(verdict: Verdict) -> dict[str, Any]:
    return {
        "title": verdict.title,
        "model_type": verdict.model_type,
        "verdict": verdict.verdict,
        "facts": verdict.facts,
        "not_compared": verdict.not_compared,
        "notes": verdict.notes,
        "class": verdict.class_name,
    }


def counted(found: Iterable[str]) -> str:
    counts = collections.Counter(found)
    return ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name])


def write(
    names: list[str] | None, *, sample: bool, shard: tuple[int, int], as_json: bool, vary: bool = False
) -> int:
    """Prints; returns the status. Of configurations that vary by a key the table has those that are not right."""
    try:
        types = _chosen(names, sample, shard)
    except ValueError as error:
        print(f"posenc.conformance.sweep: {error}", file=sys.stderr)
        return 2
    transformers.logging.set_verbosity_error()
    seen = []
    if not as_json:
        print(HEAD)
    for model_type in types:
        for verdict in varied(model_type) if vary else verdicts(model_type):
            verdict.runs = None  # tensors
            seen.append(verdict)
            if not as_json and not (vary and verdict.verdict == "right"):
                print(row(verdict), flush=True)
    if as_json:
        versions = {"posenc": posenc.__version__, "torch": torch.__version__, "transformers": transformers.__version__}
        print(json.dumps({**versions, "types": [fields(verdict) for verdict in seen]}, indent=1))
    else:
        print(f"\n{counted(verdict.verdict for verdict in seen)}; transformers {transformers.__version__}.")
    return 1 if any(verdict.verdict == "wrong" for verdict in seen) else 0
