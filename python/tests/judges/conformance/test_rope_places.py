"""transformers as the judge of where a rule's keys are read: in the dictionary of a layer type, beside those
dictionaries, or beside rope_parameters. A plan that is known has the frequencies of the class's rotary module, or the
class makes frequencies for another number of channels than it rotates, and the plan is not known."""

import copy
import importlib
import inspect

import pytest
import torch
import transformers

import posenc

YARN = {"rope_type": "yarn", "rope_theta": 5000.0, "factor": 8.0, "original_max_position_embeddings": 64}
LINEAR = {"rope_type": "linear", "rope_theta": 5000.0, "factor": 3.0}
OTHERS = {
    "truncate": False,
    "attention_factor": 1.5,
    "beta_fast": 20.0,
    "beta_slow": 2.0,
    "factor": 3.0,
    "original_max_position_embeddings": 32,
    "partial_rotary_factor": 0.5,
}
# Names of the dictionaries; none: one for all layers.
TYPES = {
    "gemma3_text": ("sliding_attention", "full_attention"),
    "olmo3": ("sliding_attention", "full_attention"),
    "mellum": ("sliding_attention", "full_attention"),
    "modernbert": ("sliding_attention", "full_attention"),
    "deepseek_v4": ("main", "compress"),
    "mistral4": (),
    "axk1": (),
    "youtu": (),
    "qwen2": (),
}
FEW = {"num_hidden_layers": 6}
FEW_OF = {"deepseek_v4": {"num_hidden_layers": 1, "layer_types": ["heavily_compressed_attention"]}}


def cases():
    for model_type, kinds in TYPES.items():
        for name, value in OTHERS.items():
            for place in ("inside", "beside", "outside", "old"):
                yield model_type, kinds, name, value, place


def keys(kinds, name, value, place):
    rule = LINEAR if name == "partial_rotary_factor" else YARN
    inside = {**rule, name: value} if place in ("inside", "old") else rule
    nested = {kind: copy.deepcopy(inside) for kind in kinds} if kinds and place != "old" else copy.deepcopy(inside)
    if place == "beside":
        nested[name] = value
    outside = {name: value} if place == "outside" else {}
    return {("rope_scaling" if place == "old" else "rope_parameters"): nested, **outside}


def rotary_module(config):
    name = type(config).__module__.replace(".configuration_", ".modeling_")
    for title, of in vars(importlib.import_module(name)).items():
        if inspect.isclass(of) and of.__module__ == name and title.endswith("RotaryEmbedding"):
            return of(config)
    raise AssertionError(f"no rotary module in {name}")


def made(config, module, layer):
    """Frequencies and the factor of cos and sin of one layer."""
    kind = "compress" if config.model_type == "deepseek_v4" else getattr(config, "layer_types", [""] * 99)[layer]
    prefix = f"{kind}_" if hasattr(module, f"{kind}_inv_freq") else ""
    return getattr(module, f"{prefix}inv_freq").double(), float(getattr(module, f"{prefix}attention_scaling"))


def is_right(plan, config, module):
    for layer in plan.stacks[0].layers:
        ours = posenc.frequencies(layer.rotate[0].rope, length=8)
        inv_freq, factor = made(config, module, layer.index)
        own = torch.tensor(ours.inv_freq, dtype=torch.float64)
        if own.shape != inv_freq.shape or not torch.allclose(own, inv_freq, rtol=1e-5, atol=0):
            return False
        if abs(factor - ours.attention_factor) > 1e-6:
            return False
    return True


@pytest.mark.parametrize("model_type", TYPES)
def test_a_known_plan_has_the_frequencies_of_the_class(model_type):
    wrong, compared = [], 0
    for of, kinds, name, value, place in cases():
        if of != model_type:
            continue
        file = {"model_type": of, **FEW_OF.get(of, FEW), **keys(kinds, name, value, place)}
        try:
            config = transformers.CONFIG_MAPPING[of].from_dict(copy.deepcopy(file))
            module = rotary_module(config)
        except (KeyError, TypeError, ValueError):  # what a class says against its file
            continue
        except Exception as error:
            assert "Validation" in type(error).__name__, error
            continue
        plan = posenc.read_plan(file)
        compared += plan.known
        if plan.known and not is_right(plan, config, module):
            wrong.append((name, place))
    assert not wrong
    assert compared >= 6
