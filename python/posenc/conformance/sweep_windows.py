"""Windows and chunks made so short that a short text reaches them: the class's and the plan's by the same key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from transformers import PretrainedConfig

import posenc

SHORT = 6  # tokens; even, as some take half of it
_NAMES = re.compile(r"window|local|chunk|radius")
# How a window of past tokens follows from its key.
_RULES: list[Callable[[int], int]] = [
    lambda key: key - 1,
    lambda key: key,
    lambda key: key // 2,
    lambda key: key // 2 - 1,
    lambda key: 2 * key,
    lambda key: key + 1,
]


def _lengths(plan: posenc.Plan) -> list[int]:
    """Of each layer: its window's past, or its chunk; 0 where it has neither."""
    masks = (layer.mask for stack in plan.stacks for layer in stack.layers)
    return [mask.window.past if mask.window is not None else mask.chunk or 0 for mask in masks]


def _places(config: Any) -> Iterator[tuple[Any, str, int]]:
    for name, value in list(vars(config).items()):
        if isinstance(value, PretrainedConfig):
            yield from _places(value)
        elif isinstance(value, int) and not isinstance(value, bool) and _NAMES.search(name):
            yield config, name, value


def shorten_named(config: Any) -> None:
    """Of a model without a plan that says which keys are windows: those that are by their names."""
    for of, name, value in _places(config):
        if name in ("sliding_window", "attention_chunk_size", "local_attention") and value > SHORT:
            setattr(of, name, SHORT)


def shorten(config: Any, plan: posenc.Plan) -> tuple[posenc.Plan, list[str]]:
    """Changes the config; the plan of what it then is, and what is odd about it."""
    before = _lengths(plan)
    lengths = {length for length in before if length > SHORT}
    found = [place for place in _places(config) if place[2] > SHORT and any(of(place[2]) in lengths for of in _RULES)]
    if not found:
        return plan, []
    changed = []
    for of, name, value in found:  # keys of one stack that follow from one another keep their ratio
        least = min(other for owner, _, other in found if owner is of)
        setattr(of, name, SHORT * value // least)
        changed.append((value, SHORT * value // least))
    short = posenc.read_plan(config)
    after = _lengths(short)
    odd = []
    for old, new in zip(before, after):
        if old in (new, *range(SHORT + 1)):  # short as it is, or of another key
            continue
        if not any(
            rule(value) == old and rule(short_value) == new for value, short_value in changed for rule in _RULES
        ):
            odd.append(f"window: {old} by the configuration's own, {new} where its key is shorter")
    if len(before) != len(after):
        odd.append("window: its key changes the number of layers")
    return short, sorted(set(odd))
