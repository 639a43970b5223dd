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
    rotates = any(layer.rotate for stack in plan.stacks for layer in stack.layers)
    if not schemes and taken and not rotates:  # RoFormer's table is what it rotates by
        rows, first = min(taken)
        yield f"a table of {rows} rows, taken from row {first} on, is not in the plan"
