"""The verdict on one model type: right, wrong, unknown, refused, or what keeps it from being judged."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import posenc

from . import (
    sweep_described,
    sweep_input_tables,
    sweep_inputs,
    sweep_keys,
    sweep_layer,
    sweep_model,
    sweep_rotation,
    sweep_runs,
    sweep_windows,
)

Change = Callable[[posenc.Plan], posenc.Plan]
VERDICTS = ("right", "wrong", "unknown", "refused", "no attention", "left out", "not run")


@dataclasses.dataclass
class Verdict:
    model_type: str
    verdict: str
    title: str = ""
    class_name: str = ""
    facts: list[str] = dataclasses.field(default_factory=list)  # that differ, or why it is not known
    notes: list[str] = dataclasses.field(default_factory=list)
    not_compared: list[str] = dataclasses.field(default_factory=list)  # masks in words, and why
    plan: posenc.Plan | None = None
    runs: sweep_runs.Runs | None = None


_COUNT = "layers: plan"
_MASK = "mask not compared,"
_ATTENDS = ("attention", "cross_attention")


@dataclasses.dataclass
class Part:
    """The self attention, or the cross attention, of one stack of a plan."""

    name: str
    layers: list[posenc.LayerPlan]


def parts(plan: posenc.Plan) -> list[Part]:
    found: dict[str, Part] = {}
    for stack in plan.stacks:
        for kind in _ATTENDS:
            layers = [layer for layer in stack.layers if layer.kind == kind]
            if layers:
                # The stages of a pyramid are stacks of a plan, and in a class one list after the other.
                name = re.sub(r"_stage\d+$", "", stack.name) + (", cross" if kind == "cross_attention" else "")
                is_stage = name.partition(",")[0] != stack.name
                part = found.setdefault(name if is_stage else f"{len(found)} {name}", Part(name, []))
                part.layers += layers
    return list(found.values())


def _tokens(plan: posenc.Plan) -> int:
    by_bucket = (posenc.T5Bias, posenc.ClippedBias)
    chunks = [layer.mask.chunk for stack in plan.stacks for layer in stack.layers if layer.mask.chunk is not None]
    if len(plan.stacks) == 1 and any(sweep_inputs.TOKENS <= chunk < sweep_inputs.MANY_TOKENS // 2 for chunk in chunks):
        return sweep_inputs.MANY_TOKENS
    terms = (term for stack in plan.stacks for layer in stack.layers for term in layer.score)
    return sweep_inputs.MANY_TOKENS if any(isinstance(term, by_bucket) for term in terms) else sweep_inputs.TOKENS


def against(part: Part, group: sweep_runs.Group, plan: posenc.Plan) -> list[str]:
    """Facts that differ, layers with the same difference in one line."""
    if len(part.layers) != len(group.layers):
        return [f"{part.name}: {_COUNT} {len(part.layers)}, class {len(group.layers)} ({group.name})"]
    permuted = sweep_keys.is_permuted_at_load(plan.model_type)
    setting = sweep_layer.Setting(group.text, plan.length, permuted)
    seen: dict[str, list[int]] = {}
    for layer, event in zip(part.layers, group.layers):
        for fact, what in sweep_layer.compare(layer, event, setting).items():
            seen.setdefault(f"{fact}: {what}", []).append(layer.index)
    return [
        f"{part.name} {sweep_rotation.ranges(layers)}: {what}"
        for what, layers in seen.items()
        if not ("adds nothing" in what and _may_be_one_box(part, layers))
    ]


def _may_be_one_box(part: Part, layers: list[int]) -> bool:
    """Boxes are made of content, which is the same in all tokens here: some layers may have one box for all queries."""
    own = [layer for layer in part.layers if layer.index in layers]
    of_boxes = all(getattr(of.scheme, "of", "") == "boxes" for layer in own for of in layer.added)
    return of_boxes and len(own) < len(part.layers)


def _both_kinds(plan: posenc.Plan, found: list[Part], counts: set[int]) -> Iterator[tuple[Part, list[Part]]]:
    """A stack's self and cross attention as one, and its two parts, where a class may have one list of modules for both
    (SuperGlue): of so many as neither part has."""
    named = {part.name: part for part in found}
    for stack in plan.stacks:
        own = [named[name] for name in (stack.name, f"{stack.name}, cross") if name in named]
        if len(own) == 2 and not counts & {len(part.layers) for part in own}:
            yield Part(stack.name, [layer for layer in stack.layers if layer.kind in _ATTENDS]), own


def _words_not_compared(part: Part, group: sweep_runs.Group) -> list[str]:
    """Masks that a plan has in words, by their words."""
    seen: dict[str, list[int]] = {}
    for layer, event in zip(part.layers, group.layers):
        reason = sweep_layer.not_compared(layer, event)
        if reason is not None:
            seen.setdefault(f"{_MASK} {layer.mask.detail!r}: {reason}", []).append(layer.index)
    return [f"{part.name} {sweep_rotation.ranges(layers)}: {what}" for what, layers in seen.items()]


def _matched(
    plan: posenc.Plan, runs: sweep_runs.Runs
) -> tuple[list[str], list[str], list[sweep_runs.Group], list[str]]:
    """Each part with the group that it agrees with best; facts that differ, parts not seen, groups left, and masks that
    were not compared."""
    open_parts = parts(plan)
    whole = [group for group in runs.groups if not (group.text and any(event.blocks for event in group.layers))]
    scored = [(against(part, group, plan), part, group) for part in open_parts for group in whole]
    counts = {len(group.layers) for group in runs.groups}
    scored += [
        (against(part, group, plan), part, group)
        for part in open_parts
        for group in runs.joined
        if len(part.layers) == len(group.layers) and (len(part.layers) not in counts or _is_one_part(group))
    ]
    covered = {id(part): {id(part)} for part in open_parts}
    for one, own in _both_kinds(plan, open_parts, counts):
        covered[id(one)] = {id(part) for part in own}
        scored += [(against(one, group, plan), one, group) for group in whole if len(group.layers) == len(one.layers)]
    scored.sort(key=_agreement)
    facts: list[str] = []
    silent: list[str] = []
    parts_taken: set[int] = set()
    names_taken: set[str] = set()
    for found, part, group in scored:
        names = set(group.name.split(" + "))
        if covered[id(part)] & parts_taken or names & names_taken:
            continue
        if any(_COUNT in fact for fact in found) and not _is_same_kind(part, group):
            continue
        parts_taken |= covered[id(part)]
        names_taken |= names
        facts += found
        silent += _words_not_compared(part, group)
    unseen = [part.name for part in open_parts if id(part) not in parts_taken]
    return (facts, unseen, [group for group in runs.groups if group.name not in names_taken], silent)


def _agreement(scored: tuple[list[str], Part, sweep_runs.Group]) -> tuple[bool, int, bool, bool]:
    facts, part, group = scored
    name = part.name.partition(",")[0]
    is_named = name in group.name or name.rpartition("_")[2] in group.name  # image_encoder: encoder
    return (any(_COUNT in fact for fact in facts), len(facts), not _is_same_kind(part, group), not is_named)


def _is_one_part(group: sweep_runs.Group) -> bool:
    return len({name.partition(".")[0] for name in group.name.split(" + ")}) == 1


def _is_same_kind(part: Part, group: sweep_runs.Group) -> bool:
    return part.name.endswith(", cross") == group.cross


def judge(model_type: str, keys: dict[str, Any] | None = None, change: Change = lambda plan: plan) -> Verdict:
    """`change` is applied to the plan before it is compared: what a test makes wrong on purpose."""
    verdict = Verdict(model_type, "not run", title=model_type)
    try:
        config = sweep_keys.config(model_type, keys)
    except Exception as error:
        verdict.facts = [_said(error)]
        return verdict
    odd: list[str] = []
    try:
        verdict.plan = posenc.read_plan(config)
        if verdict.plan.known:
            verdict.plan, odd = sweep_windows.shorten(config, verdict.plan)
    except posenc.FileError as error:
        verdict.verdict, verdict.facts = "refused", [str(error)]
    if verdict.plan is not None and not verdict.plan.known:
        verdict.verdict = "unknown"
        sweep_windows.shorten_named(config)
        verdict.facts = [f"{warning.code} {' '.join(warning.keys)}" for warning in verdict.plan.warnings][:3]
    try:
        model = sweep_model.build(config, sweep_keys.ATTENTION.get(model_type, "eager"))
    except Exception as error:
        verdict.notes.append(_said(error))
        if isinstance(error, (sweep_model.NoModel, ImportError)):
            verdict.verdict = "not run"
        return _without_run(verdict)
    verdict.class_name = f"{type(model).__module__.rpartition('.')[2]}.{type(model).__name__}"
    tokens = _tokens(verdict.plan) if verdict.plan is not None else sweep_inputs.TOKENS
    verdict.runs = sweep_runs.run(model, tokens)
    verdict.notes += verdict.runs.failures
    if not verdict.runs.groups and verdict.plan is not None and verdict.plan.known and not parts(verdict.plan):
        verdict.verdict = "right" if verdict.runs.fed and not verdict.runs.failures else "not run"
        return _without_run(verdict)
    if not verdict.runs.groups:
        # A recurrent cell's is a sum behind tanh, and no product of queries and keys.
        attention = re.compile("(?<!Gated)(Attention|Attn)(?!GRUCell)")
        attends = any(attention.search(type(module).__name__) for module in model.modules())
        if not attends and verdict.verdict != "refused":
            verdict.verdict, verdict.facts = "no attention", []
        return _without_run(verdict)
    if verdict.plan is not None and verdict.plan.known:
        odd += sweep_input_tables.differences(change(verdict.plan), model, verdict.runs.looked)
        _compare(verdict, change(verdict.plan), verdict.runs, odd)
    else:
        verdict.notes += [sweep_described.described(group) for group in verdict.runs.groups]
        verdict.notes += [f"{name}: {count} layers sample values" for name, count in verdict.runs.sampled.items()]
    return verdict


def _said(error: Exception) -> str:
    text = re.sub(r"/\S+/", "", " ".join(str(error).split()))  # of no machine's folders
    return f"{type(error).__name__}: {text[:200]}"


def _without_run(verdict: Verdict) -> Verdict:
    if verdict.verdict == "not run":
        verdict.facts += verdict.notes[:2]
    return verdict


def _sampled(plan: posenc.Plan, runs: sweep_runs.Runs) -> list[str]:
    """How many layers of each stack sample values, and in each list of the class."""
    counts = (sum(layer.kind == "deformable_attention" for layer in stack.layers) for stack in plan.stacks)
    planned, own = sorted(filter(None, counts)), sorted(runs.sampled.values())
    return [] if planned == own else [f"deformable attention: plan {planned or 'none'}, class {own or 'none'}"]


def _compare(verdict: Verdict, plan: posenc.Plan, runs: sweep_runs.Runs, odd: list[str]) -> None:
    verdict.facts, unseen, left, verdict.not_compared = _matched(plan, runs)
    verdict.facts += odd + _sampled(plan, runs)
    verdict.notes += [f"not in the plan: {sweep_described.described(group)}" for group in left]
    verdict.verdict = "wrong" if verdict.facts else "not run" if unseen else "right"
    verdict.notes += [f"not seen: {name}" for name in unseen]
    if verdict.verdict == "not run":
        verdict.facts = [f"not seen: {name}" for name in unseen]
