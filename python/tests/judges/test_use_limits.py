"""What use() refuses, with what was expected and what came: widths, copies, scales that change, unknown lookups."""

import copy
import functools
import importlib
import io
import pickle
import pkgutil

import pytest
import torch
import transformers

import posenc
import posenc.transformers
from posenc._registered_name import asks_another
from posenc.conformance import roundings, verdicts
from posenc.conformance.families import FAMILIES, WITHOUT_SCHEMES
from posenc.transformers import use

BY_TITLE = {family.title: family for family in FAMILIES + WITHOUT_SCHEMES}
DIM, WIDTH, HEADS = 12, 12, 4


@functools.cache
def made(title="llama"):
    torch.set_num_threads(1)
    model = BY_TITLE[title].model()
    return model, BY_TITLE[title].inputs(), posenc.read_plan(model.config)


def rope(**facts):
    return posenc.Rope(**{"pairing": "half", "head_dim": WIDTH, "dim": DIM, **facts})


# ---- widths ----


@pytest.mark.parametrize("title", ["llama", "phi", "deepseek_v3", "llama4_text", "gptj", "cohere", "falcon"])
@pytest.mark.parametrize(
    "facts, words",
    [
        ({"head_dim": 64, "dim": 64}, "plan must rotate heads of 12 channels in decoder layer 0, .* of heads of 64"),
        ({"head_dim": 6, "dim": 6}, "plan must rotate heads of 12 channels in decoder layer 0, .* of heads of 6"),
        ({"dim": 2}, "plan must have dim (12|6|4) in decoder layer 0, which channels rotate in the model, but has 2"),
        ({"dim": 14}, "must (have dim (12|6|4)|rotate heads) .*"),
    ],
)
def test_a_rotation_of_other_widths_is_refused_at_once(title, facts, words):
    """RuntimeErrors of torch, or a rotation of fewer channels than were asked for."""
    model, _, _ = made(title)
    with pytest.raises(ValueError, match=rf"\[use\] .*{words}"):
        with use(model, scheme=rope(**facts)):
            pytest.fail("it must be refused before any call")


def test_another_first_channel_is_refused():
    """It was left out silently."""
    model, _, plan = made("phi")
    own = plan.stacks[0].layers[0].rotate[0].rope
    with pytest.raises(ValueError, match="plan must have first_channel 0 in decoder layer 0, .* but has 6"):
        with use(model, scheme=own.replace(first_channel=6)):
            pass


def test_other_axes_are_refused():
    model, _, _ = made("qwen2_vl_text")
    with pytest.raises(ValueError, match="plan must have the axes of the model's positions in decoder layer 0, t, h, w, but has t"):
        with use(model, scheme=rope()):
            pass


def wide(plan):
    def wider(layer):
        rotate = tuple(of.replace(scheme=of.rope.replace(head_dim=24, dim=2 * of.rope.dim)) for of in layer.rotate)
        return layer.replace(head_dim=24, value_dim=24, rotate=rotate)

    return verdicts.with_layers(plan, wider)


def many(plan):
    return verdicts.with_layers(plan, lambda layer: layer.replace(heads=8, kv_heads=8, rotate=()))


@pytest.mark.parametrize("title", ["llama", "gptj", "roformer", "modernbert", "nanochat"])
@pytest.mark.parametrize(
    "other, words",
    [
        (wide, "12 channels|head_dim 12|of 6 channels|of 12"),
        (many, "heads 4, as .* hands over, but has 8|must have no RoPE|rotate"),
        (lambda plan: posenc.read_plan("llama-3.1-8b"), "as many attention layers as the model, 2, but has 32"),
    ],
)
def test_a_plan_of_another_model_is_refused_where_the_own_is_not_known(monkeypatch, title, other, words):
    """Of one that is known all sizes are compared before."""
    model, inputs, plan = made(title)
    monkeypatch.setattr(posenc.transformers, "read_plan", lambda config: plan.replace(known=False))
    with pytest.raises(ValueError, match=rf"\[use\] plan must .*({words})"):
        with use(model, plan=other(plan)):
            verdicts.logits(model, inputs)


# ---- lookups by another list ----


def files_with_lists():
    """Files of transformers that have a list of attention classes of their own, and look attention up too."""
    root = transformers.models.__path__[0]
    for package in pkgutil.iter_modules([root]):
        for found in pkgutil.iter_modules([f"{root}/{package.name}"]):
            path = f"{root}/{package.name}/{found.name}.py"
            if not found.name.startswith("modeling_"):
                continue
            text = open(path).read()
            if "_ATTENTION_CLASSES[" in text:
                yield f"transformers.models.{package.name}.{found.name}"


@pytest.mark.parametrize("name", files_with_lists())
def test_a_model_that_would_end_in_a_key_error_is_refused_by_name(name):
    file = importlib.import_module(name)
    of_file = [of for of in vars(file).values() if isinstance(of, type) and of.__module__ == name]
    asking = [of for of in of_file if issubclass(of, transformers.PreTrainedModel) and asks_another(of)]
    assert asking
    for of in asking:
        with pytest.raises(ValueError, match=f"attn_implementation must be another than 'posenc' for {of.__name__}"):
            of.get_correct_attn_implementation(of.__new__(of), "posenc")


def test_a_model_that_asks_no_other_list_is_not_refused():
    """Of a file with such a list."""
    from transformers.models.deepseek_ocr2 import modeling_deepseek_ocr2 as file

    assert not asks_another(file.DeepseekOcr2TextModel) and asks_another(file.DeepseekOcr2SamVisionEncoder)
    assert not asks_another(transformers.LlamaForCausalLM)


def git():
    sizes = {"hidden_size": 32, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2}
    vision = {**sizes, "image_size": 16, "patch_size": 8, "model_type": "git_vision_model"}
    return transformers.GitConfig(**sizes, vocab_size=32, vision_config=vision, bos_token_id=1, eos_token_id=2)


def test_git_is_refused():
    """KeyError: 'posenc' where it was made; within use() its own attention added True and False to scores."""
    with pytest.raises(ValueError, match="must be another than 'posenc' for GitForCausalLM"):
        transformers.GitForCausalLM._from_config(git(), attn_implementation="posenc")
    model = transformers.GitForCausalLM._from_config(git(), attn_implementation="eager").eval()
    with pytest.raises(ValueError, match="no module of GitForCausalLM is known"):
        with use(model):
            pass
    with pytest.raises(ValueError, match="must be another than 'posenc' for GitForCausalLM"):
        model.set_attn_implementation("posenc")
    assert model.config._attn_implementation == "eager"


# ---- copies ----


@pytest.mark.parametrize("title", ["llama", "bloom", "gpt2"])
@pytest.mark.parametrize(
    "copied",
    [
        copy.deepcopy,
        pickle.dumps,
        lambda model: torch.save(model, io.BytesIO()),
        lambda model: copy.deepcopy(next(m for m in model.modules() if type(m).__name__.endswith("Attention"))),
        torch.optim.swa_utils.AveragedModel,
    ],
)
def test_a_copy_within_use_is_refused(title, copied):
    """A copy ran with the first one's projections (BLOOM), and was posenc's for good."""
    model, inputs, _ = made(title)
    with use(model):
        with pytest.raises(NotImplementedError, match=r"\[use\] a model must be copied or pickled outside of use"):
            copied(model)
        torch.save(model.state_dict(), io.BytesIO())
    again = copy.deepcopy(model)
    assert torch.equal(verdicts.logits(again, inputs), verdicts.logits(model, inputs))
    with use(again):
        verdicts.logits(again, inputs)


def test_a_copy_of_what_rotates_is_refused():
    model, _, _ = made()
    with use(model):
        with pytest.raises(NotImplementedError, match="must be copied or pickled outside"):
            copy.deepcopy(model.model.rotary_emb)


# ---- a scale that changes ----


def attentions(model):
    return [module for module in model.modules() if hasattr(module, "scaling") and hasattr(module, "_posenc_layer")]


@pytest.mark.parametrize("title", ["llama", "gemma2", "opt", "whisper"])
@pytest.mark.parametrize("factor", [0.5, 1.001])
def test_a_scale_that_changes_within_use_is_refused(title, factor):
    """It was ignored. OPT and Whisper hand over 1, and multiply their queries by it."""
    if factor > 1 and title in ("opt", "whisper"):
        factor = 1.1  # queries are compared as far as bfloat16 has them
    model, inputs, _ = made(title)
    with use(model):
        before = verdicts.logits(model, inputs)
        (first, *_) = attentions(model)
        scaling = first.scaling
        try:
            first.scaling = factor * scaling
            with pytest.raises(ValueError, match=r"\[use\] \w+ hands over a softmax scale of"):
                verdicts.logits(model, inputs)
        finally:
            first.scaling = scaling
        assert torch.equal(verdicts.logits(model, inputs), before)


def test_a_scale_that_was_changed_before_is_refused_too():
    model = BY_TITLE["llama"].model()
    model.model.layers[1].self_attn.scaling *= 0.5
    with use(model):
        with pytest.raises(ValueError, match="hands over a softmax scale of 0.144337567, but the model's plan has 0.288675135"):
            verdicts.logits(model, BY_TITLE["llama"].inputs())
