"""Whole models with a tower: the text runs by posenc, the tower is the model's own."""

import functools
import os
import pathlib

import pytest
import torch
import transformers

import posenc
import posenc.transformers
from posenc.conformance import modes, modes_table, roundings, verdicts
from posenc.conformance.composites import COMPOSITES
from posenc.transformers import use

PAGE = pathlib.Path(os.environ["POSENC_SOURCE_DIR"]) / "docs/conformance.md"
BY_TITLE = {one.title: one for one in COMPOSITES}
# Axes of an image, rotation in the tower by another file and by the same one, masks of both directions in an image,
# cross attention, sound.
SAMPLE = ["qwen2_vl", "qwen3_vl", "mistral3", "gemma3", "llama4", "mllama", "qwen2_audio"]
ROTATING_TOWERS = ["qwen2_vl", "qwen2_5_vl", "qwen3_vl", "glm4v", "mistral3", "llava, pixtral", "llama4"]
LEAST = 1e-3  # of the logits: what a mistake must change


@functools.cache
def made(title):
    torch.set_num_threads(1)
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    return model, inputs, verdicts.logits(model, inputs)


def in_use(title, **given):
    model, inputs, _ = made(title)
    with use(model, angles="float32", **given):
        return verdicts.logits(model, inputs)


def agree(one, other):
    return roundings.rms(one - other) <= 1e-5 * roundings.rms(other)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", SAMPLE)
def test_all_modes_agree_or_are_refused(title):
    torch.set_num_threads(1)
    outcomes = modes.judge(BY_TITLE[title])
    assert not {name: outcome for name, outcome in outcomes.items() if not outcome.is_right}
    assert outcomes["whole"].what == outcomes["steps"].what == outcomes["bf16"].what == "agrees"
    assert modes_table.row(title, outcomes) in PAGE.read_text().splitlines()


@pytest.mark.parametrize("title", BY_TITLE)
def test_towers_are_left_to_the_model_and_this_is_said(title):
    model, inputs, own = made(title)
    before = dict(model.named_modules())
    with use(model, angles="float32") as changed:
        (left,) = changed.left
        assert not any(name.startswith(left) for name in (*changed.rotary, *changed.attention))
        assert changed.attention and f"left to the model: {left}" in str(changed)
        for name, module in model.named_modules():
            if name.startswith(left):
                assert module is before[name] and not hasattr(module, "_posenc_layer")
                assert getattr(getattr(module, "config", None), "_attn_implementation", "eager") == "eager"
        given = verdicts.logits(model, inputs)
    assert agree(given, own)
    assert torch.equal(verdicts.logits(model, inputs), own) and dict(model.named_modules()) == before


@pytest.mark.parametrize("title", ROTATING_TOWERS)
def test_a_plan_of_the_text_alone_does_not_rotate_the_tower(title):
    """A decoder's plan replaced the tower's rotary module too."""
    model, _, own = made(title)
    plan = posenc.read_plan(model.config)
    text = plan.replace(stacks=tuple(stack for stack in plan.stacks if stack.name == "decoder"))
    assert agree(in_use(title, plan=text), own)


@pytest.mark.parametrize("title", ROTATING_TOWERS)
def test_another_scheme_is_the_texts_alone(title):
    model, inputs, own = made(title)
    other = in_use(title, scheme=lambda rope: rope.replace(base=30.0))
    config = BY_TITLE[title].config()
    config.text_config.rope_parameters = {**config.text_config.rope_parameters, "rope_theta": 30.0}
    with_base = type(model)._from_config(config, attn_implementation="eager").eval()
    with_base.load_state_dict(model.state_dict())
    truth = verdicts.logits(with_base, inputs)
    assert agree(other, truth) and roundings.rms(truth - own) > LEAST * roundings.rms(own)


def test_a_text_of_other_widths_than_its_tower():
    """Of as many channels as the tower's angles have numbers: by their number alone they would be taken for the text's."""
    wide = {"hidden_size": 96, "head_dim": 24, **posenc.conformance.families.rope("default", mrope_section=[4, 4, 4])}
    family = BY_TITLE["qwen2_vl"]
    tower = {**family.tower, "embed_dim": 24, "num_heads": 2, "hidden_size": 96}
    model = type(family)("qwen2_vl", keys=family.keys, text=wide, tower=tower, given=family.given)
    whole, inputs = model.model(), model.inputs()
    own = verdicts.logits(whole, inputs)
    with use(whole, angles="float32"):
        assert agree(verdicts.logits(whole, inputs), own)


def test_a_tower_of_another_plan_is_refused():
    model, _, _ = made("mistral3")
    plan = posenc.read_plan(model.config)
    vision = next(stack for stack in plan.stacks if stack.name == "vision")
    layers = tuple(layer.replace(softmax_scale=0.5) for layer in vision.layers)
    stacks = tuple(stack.replace(layers=layers) if stack is vision else stack for stack in plan.stacks)
    other = plan.replace(stacks=tuple(of.replace(layers=layers) if of.name == "vision" else of for of in stacks))
    with pytest.raises(ValueError, match="plan must have the vision of the model's, for use.. leaves it to the model"):
        with use(model, plan=other):
            pass


def test_a_tower_that_is_not_known_is_left_alone(monkeypatch):
    """Of a text that is not known nothing runs."""
    model, inputs, own = made("llava")
    plan = posenc.read_plan(model.config)

    def unknown(*names):
        stacks = tuple(stack.replace(known=stack.name not in names) for stack in plan.stacks)
        read = lambda config: plan.replace(known=False, stacks=stacks) if config is model.config else plan
        monkeypatch.setattr(posenc.transformers, "read_plan", read)

    unknown("vision")
    assert agree(in_use("llava"), own)
    unknown("vision", "decoder")
    with pytest.raises(ValueError, match="plan must be given: what LlavaForConditionalGeneration does is not known"):
        in_use("llava")


def test_a_tower_that_cannot_be_read_is_left_alone(monkeypatch):
    model, _, own = made("llava")
    read = posenc.read_plan

    def refused(config):
        if config is model.config:
            raise ValueError("[read_plan] no")
        return read(config)

    monkeypatch.setattr(posenc.transformers, "read_plan", refused)
    assert agree(in_use("llava"), own)


def test_each_part_keeps_the_attention_that_it_had():
    """All parts were left with the whole model's."""
    model = BY_TITLE["llava"].model()
    model.set_attn_implementation({"": "eager", "vision_config": "sdpa", "text_config": "eager"})
    seen = lambda: [getattr(model.config, name)._attn_implementation for name in ("vision_config", "text_config")]
    assert seen() == ["sdpa", "eager"]
    with use(model):
        assert seen() == ["sdpa", "posenc"]
    assert seen() == ["sdpa", "eager"] and model.config._attn_implementation == "eager"


def test_a_compiled_text_leaves_the_tower_alone():
    model, inputs, own = made("qwen2_vl")
    torch._dynamo.reset()
    with torch.no_grad(), use(model, angles="float32"):
        text = model.model.language_model
        compiled = torch.compile(text, backend="eager")
        model.model.language_model = compiled
        try:
            given = verdicts.logits(model, inputs)
        finally:
            model.model.language_model = text
    assert agree(given, own)


def test_a_model_with_both_texts_and_images_of_its_own():
    """CLIP's text is taken over, and its images are left."""
    sizes = {"hidden_size": 32, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    text = {**sizes, "vocab_size": 32, "eos_token_id": 2}
    config = transformers.CLIPConfig(text_config=text, vision_config={**sizes, "image_size": 16, "patch_size": 8})
    model = transformers.CLIPModel._from_config(config, attn_implementation="eager").eval()
    inputs = {"input_ids": torch.arange(3, 14)[None], "pixel_values": torch.randn(1, 3, 16, 16)}
    with torch.no_grad():
        own = model(**inputs).text_embeds
        with use(model) as changed:
            given = model(**inputs).text_embeds
    assert len(changed.attention) == 2 and all(name.startswith("text_model") for name in changed.attention)
    assert changed.left == ("vision_model",)
    assert agree(given, own)
