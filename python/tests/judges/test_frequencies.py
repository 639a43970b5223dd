"""transformers as the judge of read_plan's facts: frequencies, attention factors, cos and sin, pairing and sense of
each family that rotates, against its own modules and functions."""

import copy
import dataclasses
import functools
import inspect

import pytest
import torch

import bounds
import posenc
import posenc.transformers
from posenc import _rotary_modules
from posenc.conformance import verdicts
from posenc.conformance.families import FAMILIES, TOKENS

BY_TITLE = {family.title: family for family in FAMILIES}


@functools.cache
def plan_of(title):
    return posenc.read_plan(BY_TITLE[title].config())


def main_rope(layer):
    return next((rotate.rope for rotate in layer.rotate if rotate.role == "main"), None)


def rotary_layers(title):
    return [layer for stack in plan_of(title).stacks for layer in stack.layers if main_rope(layer) is not None]


Rotating = [title for title in BY_TITLE if rotary_layers(title)]
FAR = 4096  # where angles of float32 are not the exact ones
KEEP_A_TABLE = ("gptj", "codegen", "roformer")  # of sines and cosines, and have no rotary module


def ropes_by_kind(title, module):
    """What the module is asked for, with each layer's own rope: None, or a layer type, where it has frequencies for
    each. All layers that ask for one thing must have one rope."""
    types = getattr(BY_TITLE[title].config().get_text_config(), "layer_types", None)
    found = {}
    for layer in rotary_layers(title):
        kind = types[layer.index] if types and hasattr(module, f"{types[layer.index]}_inv_freq") else None
        assert found.setdefault(kind, main_rope(layer)) == main_rope(layer)
    return found


def lengths(title, rope):
    """Both sides of every length that a rule, or the module, may ask for."""
    config = BY_TITLE[title].config().get_text_config()
    thresholds = {config.max_position_embeddings}
    for name in ("max_position_embeddings", "original_max_position_embeddings"):
        thresholds.add(getattr(rope.scaling, name, TOKENS))
    return sorted({n + more for n in thresholds for more in (-1, 0, 1)} | {FAR})


def units_apart(a, b):
    """Units in the last place of float32; zeros are one number."""
    bits = [x.float().contiguous().view(torch.int32).long() for x in (a, b)]
    ordered = [torch.where(x < 0, -(2**31) - x, x) for x in bits]
    return int((ordered[0] - ordered[1]).abs().max())


def frequencies_of(module, kind):
    prefix = "" if kind is None else f"{kind}_"
    factor = getattr(module, f"{prefix}attention_scaling", getattr(module, "attention_scaling", 1.0))
    return getattr(module, f"{prefix}inv_freq"), factor


def frequency_units(rope):
    """One; more of dynamic NTK, whose base transformers computes in float32 too, since its length is a tensor:
    base (f n / max - (f - 1))^e, e = dim / (dim - 2). A quotient rounds once, by which the difference is off f times at
    most (n = max), and once itself; e times that, two roundings of the power and one of the product. A frequency
    takes at most the power 1 - 2 / dim of the base, and half a unit is at most a unit of a number just below."""
    if not isinstance(rope.scaling, posenc.DynamicScaling):
        return 1
    exponent = rope.dim / (rope.dim - 2)
    return 1 + ((rope.scaling.factor + 1) * exponent + 3) * (1 - 2 / rope.dim)


def places_of(rope, length):
    """Of a text: the same on all axes."""
    return torch.arange(length).repeat(len(rope.axes.names), 1)


def asked(module, kind, length):
    return module(torch.zeros(1), torch.arange(length)[None], **({} if kind is None else {"layer_type": kind}))


def cases(title):
    """Modules that have seen no other length (test_wrong_judges.py has why), what they are asked for, and our rope, as
    modules have it: what rotates clockwise does so by its function, which is judged below."""
    modules = list(posenc.transformers.rotary_modules(BY_TITLE[title].model().named_modules()))
    assert modules
    for _, module in modules:
        for kind, rope in ropes_by_kind(title, module).items():
            for length in lengths(title, rope):
                yield copy.deepcopy(module), kind, rope.replace(rotation_direction="counterclockwise"), length


@pytest.mark.parametrize("title", [title for title in Rotating if title not in KEEP_A_TABLE])
def test_frequencies_are_the_models_own(title):
    for module, kind, rope, length in cases(title):
        asked(module, kind, length)
        own, factor = frequencies_of(module, kind)
        ours = posenc.frequencies(rope, length=length, arithmetic="float32")
        assert units_apart(own, torch.tensor(ours.inv_freq)) <= frequency_units(rope), (kind, length)
        assert units_apart(torch.tensor(float(factor)), torch.tensor(ours.attention_factor)) <= 1, (kind, length)
        other = posenc.frequencies(rope.replace(base=2 * rope.base), length=length, arithmetic="float32")
        assert units_apart(own, torch.tensor(other.inv_freq)) > 100 * frequency_units(rope)


def given_ours(module, rope, length):
    """Every list of frequencies that the module may take for that length is posenc's now."""
    ours = torch.tensor(posenc.frequencies(rope, length=length, arithmetic="float32").inv_freq, dtype=torch.float32)
    for name, own in list(vars(module).items()) + list(module.named_buffers()):
        if name.endswith("inv_freq") and own.shape == ours.shape:
            own.copy_(ours)


def numbers_a_pair(given, rope):
    """cos and sin [tokens, pairs], of whatever arrangement (_rotary_modules.py)."""
    if isinstance(given, torch.Tensor):
        return given.real[0], given.imag[0]
    cos, sin = (x[0] for x in given)
    if cos.shape[-1] == rope.pairs:
        return cos, sin
    halves = bool((cos[:, : rope.pairs] == cos[:, rope.pairs :]).all())
    return (cos[:, : rope.pairs], sin[:, : rope.pairs]) if halves else (cos[:, ::2], sin[:, ::2])


@pytest.mark.parametrize("title", [title for title in Rotating if title not in KEEP_A_TABLE])
def test_cos_and_sin_of_the_same_frequencies(title):
    """angles='float32' is what transformers computes, to a unit in the last place: both round the same product, and of
    it cos and sin. An attention factor multiplies neighbours and rounds again, which may put one more between them."""
    for module, kind, rope, length in cases(title):
        asked(module, kind, length)
        given_ours(module, rope, length)
        own = numbers_a_pair(asked(module, kind, length), rope)
        units = 1 if frequencies_of(module, kind)[1] == 1 else 2
        places = places_of(rope, length)
        ours = posenc.cos_sin(rope, places, length=length, angles="float32")
        exact = posenc.cos_sin(rope, places, length=length)
        for theirs, rows, others in zip(own, ours, exact):
            assert units_apart(theirs, torch.as_tensor(rows)) <= units, (kind, length)
            assert length < FAR or units_apart(theirs, torch.as_tensor(others)) > 100 * units


@pytest.mark.parametrize("title", [title for title in Rotating if title in KEEP_A_TABLE])
def test_tables_of_attention_modules(title):
    """GPT-J and CodeGen keep sin and cos side by side, made as a rotary module makes them; RoFormer's are exact."""
    (rope,) = {main_rope(layer) for layer in rotary_layers(title)}
    modules = BY_TITLE[title].model().modules()
    tables = [module.embed_positions for module in modules if hasattr(module, "embed_positions")]
    assert tables
    for table in tables:
        table = getattr(table, "weight", table)
        angles = "exact" if title == "roformer" else "float32"
        cos, sin = posenc.cos_sin(rope, torch.arange(table.shape[0]), angles=angles)
        assert units_apart(table, torch.cat([torch.as_tensor(sin), torch.as_tensor(cos)], -1)) <= 1


# ---- pairing and sense ----


@dataclasses.dataclass
class Call:
    before: torch.Tensor  # queries or keys, as the model gave them to its own function
    after: torch.Tensor


def calls(title, monkeypatch):
    """What the model rotates in one forward pass of its own code, in its order."""
    model, seen = BY_TITLE[title].model(), []
    names = {*_rotary_modules._QUERIES, *_rotary_modules._KEYS, "query_layer", "key_layer"}

    def watched(original):
        signature = inspect.signature(original)

        def rotate(*args, **kwargs):
            given = signature.bind(*args, **kwargs).arguments
            after = original(*args, **kwargs)
            before = [x for name, x in given.items() if name in names and x is not None]
            seen.extend(map(Call, before, [after] if isinstance(after, torch.Tensor) else after))
            return after

        return rotate

    for file, name, _ in posenc.transformers.apply_functions(list(model.modules()), [], {}):
        monkeypatch.setattr(file, name, watched(getattr(file, name)))
    for owner in {type(module) for module in model.modules()}:  # RoFormer's is one of its class
        for name in filter(_rotary_modules._APPLY.match, vars(owner)):
            monkeypatch.setattr(owner, name, staticmethod(watched(getattr(owner, name))))
    verdicts.logits(model, BY_TITLE[title].inputs())
    return seen


def rotated_by(rope, call, places):
    """[batch, heads, tokens, channels], and what the model made of it."""
    axis = 2 if call.before.shape[2] == TOKENS else 1
    before, after = (x if axis == 2 else x.transpose(1, 2) for x in (call.before, call.after))
    cos, sin = posenc.cos_sin(rope, places, length=TOKENS, angles="float32")
    width = before.shape[-1]  # some give the part of a head that rotates alone
    first = 0 if width == rope.dim else rope.first_channel
    layout = posenc.RotaryLayout(pairing=rope.pairing, head_dim=width, first_channel=first, dim=rope.dim)
    table = posenc.table_from_cos_sin(layout, cos, sin)
    rows = torch.arange(before.shape[0] * TOKENS)[None] % cos.shape[0]
    return posenc.rotate(before.contiguous(), table=table, positions=rows), after


def apart(rope, call, places):
    """Over the bound. DeepSeek V3's function also moves neighbours into halves, of queries and keys alike."""
    ours, theirs = rotated_by(rope, call, places)
    bound = bounds.rotated(float(call.before.abs().max()) * posenc.frequencies(rope, length=TOKENS).attention_factor)
    in_halves = torch.cat((ours[..., ::2], ours[..., 1::2]), -1)
    return min(float((x - theirs).abs().max()) for x in (ours, in_halves)) / bound


@pytest.mark.parametrize("title", Rotating)
def test_every_layer_pairs_and_rotates_as_the_model_does(title, monkeypatch):
    seen, layers = calls(title, monkeypatch), rotary_layers(title)
    assert seen and len(seen) == 2 * len(layers)
    given = BY_TITLE[title].inputs().get("position_ids")
    for i, layer in enumerate(layers):
        rope = main_rope(layer)
        places = places_of(rope, TOKENS) if given is None else given.flatten(1)
        for call in seen[2 * i : 2 * i + 2]:
            assert apart(rope, call, places) <= 1
            assert apart(verdicts.swapped(rope), call, places) > 100
            assert apart(verdicts.reversed_sense(rope), call, places) > 100
