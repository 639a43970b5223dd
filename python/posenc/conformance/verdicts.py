"""A family's verdict: its model's own code against the same weights with posenc, whole and with one thing spoiled."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

import posenc
import posenc.transformers

from .. import _rotary_modules
from .._attention_modules import ATTENDING
from . import roundings
from .families import TOKENS, Family


@dataclasses.dataclass(frozen=True)
class Verdict:
    family: Family
    plan: posenc.Plan
    changed: posenc.transformers.Changed
    difference: float  # rms over all logits, as the bound
    largest: float  # of any logit
    bound: float
    spoiled: dict[str, float]  # by what was spoiled, in bounds

    @property
    def agreed(self) -> bool:
        return self.difference <= self.bound

    @property
    def least_mistake(self) -> tuple[str, float]:
        return min(self.spoiled.items(), key=lambda item: item[1])


def _main(layer: posenc.LayerPlan) -> posenc.Rope | None:
    return next((rotate.rope for rotate in layer.rotate if rotate.role == "main"), None)


def with_layers(plan: posenc.Plan, change: Callable[[posenc.LayerPlan], posenc.LayerPlan]) -> posenc.Plan:
    return plan.replace(
        stacks=tuple(stack.replace(layers=tuple(change(layer) for layer in stack.layers)) for stack in plan.stacks)
    )


def _with_ropes(plan: posenc.Plan, change: Callable[[posenc.Rope], posenc.Rope]) -> posenc.Plan:
    def rotated(rotate: posenc.Rotate) -> posenc.Rotate:
        return rotate.replace(scheme=change(rotate.rope))

    return with_layers(plan, lambda layer: layer.replace(rotate=tuple(rotated(rotate) for rotate in layer.rotate)))


def swapped(rope: posenc.Rope) -> posenc.Rope:
    return rope.replace(pairing="interleaved" if rope.pairing == "half" else "half")


def reversed_sense(rope: posenc.Rope) -> posenc.Rope:
    is_clockwise = rope.rotation_direction == "clockwise"
    return rope.replace(rotation_direction="counterclockwise" if is_clockwise else "clockwise")


def exchanged(rope: posenc.Rope) -> posenc.Rope:
    return rope.replace(axes=rope.axes.replace(of_pair=rope.axes.of_pair[::-1]))


def widened(layer: posenc.LayerPlan) -> posenc.LayerPlan:
    if layer.mask.window is None:
        return layer
    longer = layer.mask.window.replace(past=layer.mask.window.past + 1)
    return layer.replace(mask=layer.mask.replace(window=longer))


@dataclasses.dataclass(frozen=True)
class Spoil:
    what: str
    plan: posenc.Plan
    keys: int = 0  # how much further they stand
    rows: int = 0  # how far the rows of learned tables are moved
    windows: bool = False  # whether it is seen only where posenc attends


def spoils(plan: posenc.Plan) -> Iterator[Spoil]:
    layers = [layer for stack in plan.stacks for layer in stack.layers]
    if any(_main(layer) is not None for layer in layers):
        yield Spoil("pairing swapped", _with_ropes(plan, swapped))
        yield Spoil("sense reversed", _with_ropes(plan, reversed_sense))
        yield Spoil("base doubled", _with_ropes(plan, lambda rope: rope.replace(base=2 * rope.base)))
        yield Spoil("keys one further", plan, keys=1)
    if any(_main(layer) is not None and len(_main(layer).axes.names) > 1 for layer in layers):
        yield Spoil("axes exchanged", _with_ropes(plan, exchanged))
    if any(layer.mask.window is not None and layer.mask.window.past < TOKENS - 2 for layer in layers):
        yield Spoil("window one longer", with_layers(plan, widened), windows=True)
    terms = {type(term) for layer in layers for term in layer.score}
    if posenc.Alibi in terms:
        yield Spoil("slopes changed", _with_terms(plan, lambda term: term.replace(max_bias=term.max_bias / 2)))
    if posenc.XlNet in terms:
        yield Spoil("distances clamped", _with_terms(plan, lambda term: term.replace(clamp_length=3)))
    if terms & {posenc.T5Bias, posenc.Deberta}:
        yield Spoil("rows one further", plan, rows=1)


def _with_terms(plan: posenc.Plan, change: Callable[[Any], Any]) -> posenc.Plan:
    return with_layers(plan, lambda layer: layer.replace(score=tuple(change(term) for term in layer.score)))


@contextlib.contextmanager
def rows_moved(model: torch.nn.Module, by: int) -> Iterator[None]:
    names = ("relative_attention_bias", "rel_embeddings")
    tables = [value for name, value in model.named_parameters() if any(of in name for of in names)]

    def move(rows: int) -> None:
        for table in tables:
            table.data = table.data.roll(rows, 0)

    move(by)
    try:
        yield
    finally:
        move(-by)


@dataclasses.dataclass
class Shifted:
    any: bool = False


@contextlib.contextmanager
def keys_shifted(by: int) -> Iterator[Shifted]:
    """Within it, keys are rotated by so many positions more than queries; gives whether any were, when it ends."""
    keys = _rotary_modules.Rotation.keys
    seen = Shifted()

    def further(self: Any, x: Tensor, token_axis: int) -> Tensor:
        seen.any = True
        cos, sin = posenc.cos_sin(self.rope, torch.full((len(self.rope.axes.names), len(self.cos)), by))
        more = _rotary_modules.Rotation(self.rope, cos, sin, self.batch)
        return keys(self, keys(more, x, token_axis), token_axis)

    if by:
        _rotary_modules.Rotation.keys = further
    try:
        yield seen
    finally:
        _rotary_modules.Rotation.keys = keys


def logits(model: torch.nn.Module, inputs: dict[str, Tensor]) -> Tensor:
    with torch.no_grad():
        return model(**inputs)[0]  # or hidden states, of a class that ends there


def judge(family: Family) -> Verdict:
    model, inputs = family.model(), family.inputs()
    plan = posenc.read_plan(family.config())
    own = logits(model, inputs)

    def ours(by: Spoil) -> tuple[Tensor, posenc.transformers.Changed, bool]:
        with rows_moved(model, by.rows), keys_shifted(by.keys) as shifted:
            with posenc.transformers.use(model, plan=by.plan, angles="float32", masks="plan") as changed:
                return logits(model, inputs), changed, shifted.any

    rotated, changed, _ = ours(Spoil("nothing", plan))
    layers = [layer for stack in plan.stacks for layer in stack.layers if layer.kind in ATTENDING]
    spoiled = {}
    for spoil in spoils(plan):
        # LongT5's windows are in modules that posenc leaves as they are.
        if spoil.windows and len(changed.attention) < len(layers):
            continue
        wrong, _, shifted = ours(spoil)
        # GPT-J has one function for queries and keys alike, which cannot tell them apart.
        if shifted or not spoil.keys:
            spoiled[spoil.what] = wrong
    model.double()
    limit = roundings.bound(lambda: logits(model, inputs))
    return Verdict(
        family,
        plan,
        changed,
        roundings.rms(rotated - own),
        float((rotated - own).abs().max()),
        limit,
        {what: roundings.rms(of - own) / limit for what, of in spoiled.items()},
    )
