"""Tables that are added to embeddings: how many rows the class has and which it takes first, against the plan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torch import nn

import posenc

from .sweep_probe import Looked

_ADDED = re.compile("pos|time_embed")
_LEAST = 4  # tokens: fewer rows in a row are chance


def by_position(looked: Iterable[Looked]) -> set[tuple[int, int]]:
    """(rows, the first that is taken) of tables of which a run took one row after the other."""
    found = set()
    for one in looked:
        indices = one.indices.flatten()
        if len(indices) >= _LEAST and bool((indices.diff() == 1).all()):
            found.add((one.rows, int(indices[0])))
    return found


def of_parameters(model: nn.Module) -> set[int]:
    """Rows of tables that are added whole (ViT), their class token's among them."""
    named = [of for name, of in model.named_parameters() if _ADDED.search(name) and of.dim() >= 2]
    grids = {of.shape[-2] * of.shape[-1] for of in named if of.dim() == 4}  # [1, channels, rows, columns]
    return {rows for of in named for rows in (of.shape[-2], of[..., 0].numel())} | grids


def _added_again(plan: posenc.Plan, model: nn.Module) -> Iterator[str]:
    """Tables that layers add to hidden states: one of so many rows for each of them."""
    shapes = {tuple(of.shape) for name, of in model.named_parameters() if _ADDED.search(name)}
    for stack in plan.stacks:
        added = [of.scheme for layer in stack.layers for of in layer.added if of.to == "hidden_states"]
        rows = {scheme.positions for scheme in added if isinstance(scheme, posenc.LearnedInput)}
        for count in rows:
            if not any(len(shape) >= 3 and shape[0] == len(added) and shape[-2] == count for shape in shapes):
                yield f"{stack.name}: added: the class has no {len(added)} tables of {count} rows"
        tables = {of.positions for of in stack.input if isinstance(of, posenc.LearnedInput)}
        again = {shape[-2] for shape in shapes if len(shape) == 4 and shape[0] + 1 == len(stack.layers)}
        if not added and tables & again:
            yield f"{stack.name}: added: the class has a table for every layer but the first"


def differences(plan: posenc.Plan, model: nn.Module, looked: list[Looked]) -> Iterator[str]:
    taken, whole = by_position(looked), of_parameters(model)
    schemes = [(stack.name, scheme) for stack in plan.stacks for scheme in stack.input]
    learned = [
        (name, scheme) for name, scheme in schemes if isinstance(scheme, posenc.LearnedInput) and scheme.positions
    ]
    for name, scheme in learned:
        if (scheme.positions, scheme.offset) not in taken and not (scheme.offset == 0 and scheme.positions in whole):
            others = ", ".join(f"{rows} from {first}" for rows, first in sorted(taken)) or "none"
            yield f"{name}: learned table: plan {scheme.positions} rows from {scheme.offset}, class {others}"
    yield from _added_again(plan, model)
    rotates = any(layer.rotate for stack in plan.stacks for layer in stack.layers)
    if not schemes and taken and not rotates:  # RoFormer's table is what it rotates by
        rows, first = min(taken)
        yield f"a table of {rows} rows, taken from row {first} on, is not in the plan"
