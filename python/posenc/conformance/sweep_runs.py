"""The runs of a type: its model whole where that can be fed, else every model in it that can."""

from __future__ import annotations

import dataclasses
import itertools
import re
from typing import Any

import transformers
from torch import nn

from . import sweep_inputs, sweep_steps
from .sweep_probe import Attended, Looked, Probe, Sampled, events

_MOST_TRIES = 20


@dataclasses.dataclass
class Group:
    """Attention of one kind, layer by layer: modules whose paths differ in numbers only."""

    name: str
    layers: list[Attended]
    text: bool  # tokens stand at 0, 1, 2, ...

    @property
    def cross(self) -> bool:
        if re.search(r"cross|encoder_attn|EncDec", self.name):
            return True
        # Of queries that are fewer than keys by choice (Informer), or stand behind keys of a context, the name tells.
        return not self.name.endswith("self_attn") and all(event.q.shape[2] != event.k.shape[2] for event in self.layers)


@dataclasses.dataclass
class Runs:
    groups: list[Group]
    joined: list[Group]
    looked: list[Looked]
    failures: list[str]  # of models that could not be fed
    fed: list[str]
    sampled: dict[str, int] = dataclasses.field(default_factory=dict)  # layers of deformable attention, by their names
    broken: bool = False  # whether one of them did not run to its end


def _first_that_runs(model: nn.Module, tokens: int, whole: bool) -> tuple[Probe, dict[str, Any], bool] | str:
    """And True; or, where none runs to the end, the one that came through most layers (a head may refuse what they
    give), and False."""
    why = ""
    best: tuple[Probe, dict[str, Any], bool] | None = None
    found = sweep_inputs.candidates(model, tokens) if whole else sweep_inputs.text_alone(model, tokens)
    for inputs in itertools.islice(found, _MOST_TRIES):
        probe = Probe(model)
        try:
            events(model, inputs, probe)
            return probe, inputs, True
        except Exception as error:  # whatever a class does with inputs that are not its own
            why = why or f"{type(error).__name__}: {str(error).splitlines()[0][:160] if str(error) else ''}"
        if len(probe.attended) > (len(best[0].attended) if best else 1):
            best = (probe, inputs, False)
    return best or why or "no input that is known"


def _is_other_way(one: Attended, other: Attended) -> bool:
    """Whether what was looked at looks back, by the same product of queries and keys (Grounding DINO)."""
    rows, columns = one.scores.shape[2:]
    return rows != columns and other.scores.shape[2:] == (columns, rows)


def groups_of(probe: Probe, prefix: str, text: bool) -> list[Group]:
    found: dict[str, Group] = {}
    calls: dict[str, dict[str, int]] = {}
    for event in probe.attended:
        path = f"{prefix}.{event.path}".strip(".")
        of_list = calls.setdefault(re.sub(r"\d+", "#", path), {})
        first = of_list.setdefault(path, event.call)
        if not text and len(of_list) > 1 and first != event.call:
            continue  # the next frame of a video
        event.path = path
        group = found.setdefault(re.sub(r"\d+", "#", path), Group(re.sub(r"\d+", "#", path), [], text))
        if not group.layers or group.layers[-1].call != event.call or _is_other_way(group.layers[-1], event):
            group.layers.append(event)
        elif group.layers[-1].value_dim is None and event.value_dim is not None:
            group.layers[-1] = event  # the first softmax of the call was of no use: no values are weighted by it
    return list(found.values())


def _sampled_layers(sampled: list[Sampled], prefix: str) -> dict[str, int]:
    found: dict[str, set[str]] = {}
    for each in sampled:
        path = f"{prefix}.{each.path}".strip(".")
        found.setdefault(re.sub(r"\d+", "#", path), set()).add(path)
    return {name: len(paths) for name, paths in found.items()}


def joined(groups: list[Group]) -> list[Group]:
    """Blocks of several names that are one stack (Mllama's global layers), in the order in which they ran: of all that
    ran, and of what stands in one part of the model (the encoder of an image tokenizer), or in one of its lists."""
    result: dict[str, Group] = {}
    for crosses in (False, True):
        of_kind = [group for group in groups if group.cross == crosses]
        for part in ("", *dict.fromkeys(part for group in of_kind for part in _parts_of(group.name))):
            several = [group for group in of_kind if not part or part in _parts_of(group.name)]
            if len(several) > 1:
                layers = sorted((event for group in several for event in group.layers), key=lambda event: event.call)
                name = " + ".join(group.name for group in several)
                result[name] = Group(name, layers, several[0].text)
    return list(result.values())


def _parts_of(name: str) -> list[str]:
    """Of "encoder.x_layers.#.self" what the group stands in: "encoder", and "encoder.x_layers.#"."""
    inner = name.rpartition("#")
    return list(dict.fromkeys((name.partition(".")[0], inner[0] + inner[1]))) if inner[1] else [name.partition(".")[0]]


def run(model: nn.Module, tokens: int) -> Runs:
    runs = Runs([], [], [], [], [])
    composite = _is_composite(model)
    _run(model, "", tokens, runs, whole=not composite)
    # A part may take what only the part before it gives, or be no model of its own.
    if composite and (runs.failures or runs.broken or _has_unseen(model, runs)):
        _feed(model, "", tokens, runs, whole=True)
    return runs


def _has_unseen(model: nn.Module, runs: Runs) -> bool:
    seen = [group.name for group in runs.groups]
    attends = (path for path, of in model.named_modules() if re.search("Attention|Attn", type(of).__name__))
    paths = {re.sub(r"\d+", "#", path) for path in attends}
    return any(
        not any(f"{name}.".startswith(f"{path}.") or f"{path}.".startswith(f"{name}.") for name in seen)
        for path in paths
    )


def _is_composite(model: nn.Module) -> bool:
    config = getattr(model, "config", None)
    return bool(getattr(type(config), "sub_configs", None)) and any(
        isinstance(module, transformers.PreTrainedModel) for module in model.modules() if module is not model
    )


def _models_below(model: nn.Module, prefix: str) -> list[tuple[str, nn.Module]]:
    found: list[tuple[str, nn.Module]] = []
    for name, child in model.named_children():
        path = f"{prefix}.{name}".strip(".")
        if isinstance(child, transformers.PreTrainedModel):
            found.append((path, child))
        else:
            found += _models_below(child, path)
    return found


def _as_generated(group: Group, model: nn.Module, inputs: dict[str, Any], prefix: str) -> Group:
    """The same layers token by token, where the class has no window but in its cache."""
    if group.cross or not sweep_steps.leaves_window_to_cache(model, group.layers):
        return group
    try:
        layers = sweep_steps.by_tokens(model, inputs)
    except Exception:  # a class that is not run so: it is judged by what is given at once
        return group
    for event in layers:
        event.path = f"{prefix}.{event.path}".strip(".")
    own = [event for event in layers if event.path in {layer.path for layer in group.layers}]
    return dataclasses.replace(group, layers=own) if len(own) == len(group.layers) else group


def _parts_alone(model: nn.Module, prefix: str, runs: Runs) -> list[tuple[str, nn.Module]]:
    """What attends between the models of a composite one, and none of them runs: a projector with layers."""
    found = []
    for name, child in model.named_children():
        path = f"{prefix}.{name}".strip(".")
        attends = any(re.search("Attention|Attn", type(of).__name__) for of in child.modules())
        ran = any(group.name.startswith(re.sub(r"\d+", "#", path) + ".") for group in runs.groups)
        if attends and not ran and hasattr(child, "config") and not isinstance(child, transformers.PreTrainedModel):
            found.append((path, child))
    return found


def _feed(model: nn.Module, prefix: str, tokens: int, runs: Runs, whole: bool) -> str:
    """What attends in it and was not seen before, or not in so many layers; or why it cannot be fed."""
    known = {group.name: len(group.layers) for group in runs.groups}
    result = _first_that_runs(model, tokens, whole)
    if isinstance(result, str):
        return result
    probe, inputs, ends = result
    runs.broken |= not ends
    of_text = "input_ids" in inputs or "inputs_embeds" in inputs
    found = groups_of(probe, prefix, of_text)
    if of_text:
        found = [_as_generated(group, model, inputs, prefix) for group in found]
    more = {group.name: group for group in found if len(group.layers) > known.get(group.name, 0)}
    runs.groups = [group for group in runs.groups if group.name not in more] + list(more.values())
    runs.joined += joined(found)
    runs.looked += probe.looked
    runs.sampled |= _sampled_layers(probe.sampled, prefix)
    runs.fed.append(prefix or "model")
    return ""


_PLACES = re.compile(r"spatial_position_embeddings|object_queries|query_position_embeddings|reference_points")


def _takes_places(model: nn.Module) -> bool:
    """A part whose positions the model around it makes: alone it would run without them."""
    return any(_PLACES.search(name) for name in sweep_inputs.parameters(model))


def _run(model: nn.Module, prefix: str, tokens: int, runs: Runs, whole: bool) -> None:
    """A composite model is run with text first, as masks may be made by it and not by its decoder; then its towers."""
    if prefix and _takes_places(model):
        return
    below = _models_below(model, prefix)
    whole = whole or not below
    of_it = [group for group in runs.groups if prefix and group.name.startswith(re.sub(r"\d+", "#", prefix) + ".")]
    crosses = sweep_inputs.can_cross(model) and not any(group.cross for group in of_it)
    if not of_it or (whole and crosses):
        why = _feed(model, prefix, tokens, runs, whole)
        if why and whole:
            runs.failures.append(f"{prefix or 'model'}: {why}")
    if whole and (of_it or (prefix or "model") in runs.fed):
        return
    for path, child in below:
        _run(child, path, tokens, runs, whole=not _is_composite(child))
    for path, child in _parts_alone(model, prefix, runs):
        result = _first_that_runs(child, tokens, whole=True)
        if not isinstance(result, str):
            runs.groups += groups_of(result[0], path, text=False)
            runs.fed.append(path)
