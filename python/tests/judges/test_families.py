"""transformers as the judge: whole models of its families, run by its own code and by posenc."""

import copy
import functools
import os
import pathlib
import re

import pytest
import torch
import transformers

import roundings
import posenc
import posenc.transformers
import verdicts
import write_conformance
from families import BATCH, FAMILIES, TOKENS, VOCABULARY

BY_TITLE = {family.title: family for family in FAMILIES}


@functools.cache
def judged(title):
    return verdicts.judge(BY_TITLE[title])


def test_there_are_sixty_families():
    assert len({family.model_type for family in FAMILIES}) >= 60
    assert len(BY_TITLE) == len(FAMILIES)


@pytest.mark.parametrize("title", BY_TITLE)
def test_logits_agree_and_spoiled_ones_do_not(title):
    verdict = judged(title)
    assert verdict.plan.known
    assert verdict.changed.attention or verdict.changed.rotary
    assert verdict.difference <= verdict.bound
    assert verdict.spoiled and min(verdict.spoiled.values()) > roundings.SPOILED_OVER_BOUND, verdict.spoiled


def units_apart(a, b):
    """Units in the last place of float32, of numbers of one sign."""
    return int((a.float().view(torch.int32) - b.float().view(torch.int32)).abs().max())


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


@pytest.mark.parametrize("title", [family.title for family in FAMILIES])
def test_frequencies_are_the_models_own(title):
    """On both sides of every threshold of a rule that asks for the length, and for every kind of layer. Each length
    asks a module that has seen no other (test_wrong_judges.py has why)."""
    family = BY_TITLE[title]
    model, plan = family.model(), posenc.read_plan(family.config())
    ropes = posenc.transformers.ropes_by_layer_type(model, plan)
    modules = list(posenc.transformers.rotary_modules(model))
    if not modules or not ropes:
        pytest.skip("the model has no rotary module, or does not use it")
    for _, unused in modules:
        for kind in [kind for kind in ropes if hasattr(unused, f"{kind}_inv_freq")] or [None]:
            for length in (TOKENS, 8, 9, 32, 33, 64, 65):
                module = copy.deepcopy(unused)
                places = torch.arange(length)[None]
                module(torch.zeros(1), places, **({} if kind is None else {"layer_type": kind}))
                own, factor = frequencies_of(module, kind)
                ours = posenc.frequencies(ropes[kind], length=length, arithmetic="float32")
                assert units_apart(own, torch.tensor(ours.inv_freq)) <= frequency_units(ropes[kind])
                assert units_apart(torch.tensor(float(factor)), torch.tensor(ours.attention_factor)) <= 1


@pytest.mark.parametrize("title", ["llama, yarn", "gemma3_text", "llama, longrope, long"])
def test_cos_and_sin_of_the_same_frequencies(title):
    """angles='float32' is what transformers computes, to a unit in the last place of 1."""
    family = BY_TITLE[title]
    model, plan = family.model(), posenc.read_plan(family.config())
    ropes = posenc.transformers.ropes_by_layer_type(model, plan)
    places = torch.arange(64)[None]
    for _, module in posenc.transformers.rotary_modules(model):
        for kind in [kind for kind in ropes if hasattr(module, f"{kind}_inv_freq")] or [None]:
            own = module(torch.zeros(1), places, **({} if kind is None else {"layer_type": kind}))
            ours = posenc.cos_sin(ropes[kind], places, length=64, angles="float32")
            for theirs, rows in zip(own, ours):
                # cos and sin are within a unit of each other; the attention factor and its product round once more.
                bound = 2 * 2.0**-24 * max(1.0, float(theirs.abs().max())) * 2
                assert float((theirs[0, :, : rows.shape[-1]] - rows).abs().max()) <= bound


# ---- use() and the registry ----


def small_llama():
    return BY_TITLE["llama"].model(), BY_TITLE["llama"].inputs()


def test_use_is_undone_whatever_happens():
    model, inputs = small_llama()
    before = verdicts.logits(model, inputs)
    modules = dict(model.named_modules())
    with pytest.raises(KeyError):
        with posenc.transformers.use(model) as changed:
            assert changed.rotary == ("model.rotary_emb",)
            assert changed.attention == ("model.layers.0.self_attn", "model.layers.1.self_attn")
            assert "rotary: model.rotary_emb\n" in str(changed)
            assert type(model.model.rotary_emb) is not type(modules["model.rotary_emb"])
            raise KeyError
    assert dict(model.named_modules()) == modules and model.config._attn_implementation == "eager"
    assert torch.equal(verdicts.logits(model, inputs), before)


def test_another_scheme_is_that_models():
    """The experiment of two lines: YaRN in use is the model whose configuration says YaRN."""
    model, inputs = small_llama()
    extended = BY_TITLE["llama, yarn"].model()
    scaling = posenc.YarnScaling(factor=4.0, original_max_position_embeddings=16)

    def yarn(rope):
        return rope.replace(base=1000.0, scaling=scaling)

    with posenc.transformers.use(model, scheme=yarn, angles="float32"):
        given = verdicts.logits(model, inputs)
    assert roundings.rms(given - verdicts.logits(extended, inputs)) <= judged("llama, yarn").bound


@pytest.mark.parametrize("title", ["llama", "mistral", "gemma2", "gpt_oss", "t5", "llama4_text"])
def test_the_name_alone_attends_under_padding(title):
    """attn_implementation='posenc', with no use(): masks arrive, and so do scales, caps, sinks and biases."""
    family = BY_TITLE[title]
    model, inputs = family.model(), family.inputs()
    padding = torch.ones(BATCH, TOKENS, dtype=torch.long)
    padding[0, :3] = 0
    inputs["attention_mask"] = padding
    real = padding.bool() if "decoder_input_ids" not in inputs else torch.ones_like(padding).bool()
    own = verdicts.logits(model, inputs)
    model.set_attn_implementation("posenc")
    given = verdicts.logits(model, inputs)
    assert roundings.rms((given - own)[real]) <= judged(title).bound


@pytest.mark.parametrize("title", ["llama", "gemma3_text", "qwen2"])
def test_generation_uses_the_cache(title):
    family = BY_TITLE[title]
    model = family.model()
    prompt = {"input_ids": torch.arange(3, 10)[None], "max_new_tokens": 6, "do_sample": False, "use_cache": True}
    own = model.generate(**prompt)
    with posenc.transformers.use(model):
        assert torch.equal(model.generate(**prompt), own)
    assert own.shape == (1, 13) and int(own.max()) < VOCABULARY


def test_dropout_is_refused():
    model, inputs = small_llama()
    model.set_attn_implementation("posenc")
    model.config.attention_dropout = 0.1
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = 0.1
    with pytest.raises(NotImplementedError, match="dropout"):
        model.train()(**inputs)


def test_versions_are_those_that_were_judged():
    assert transformers.__version__.split(".")[0] == "5"


def test_the_page_says_what_is_judged():
    """docs/conformance.md has a row for every model, and none else; its numbers are those of some machine."""
    page = (pathlib.Path(os.environ["POSENC_SOURCE_DIR"]) / "docs/conformance.md").read_text()
    rows = re.findall(r"^\| `(.*?)` \| (yes|NO) \|", page.partition(write_conformance.HEADING)[2], re.MULTILINE)
    assert rows == [(family.title, "yes") for family in FAMILIES]
