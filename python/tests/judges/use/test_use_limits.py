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


# ---- rotary modules ----


def changed(title, change):
    model = BY_TITLE[title].model()
    for module in model.modules():
        if type(module).__name__.endswith("RotaryEmbedding"):
            change(module)
    return model


def twice(module):
    for name, buffer in module.named_buffers():
        if name.endswith("inv_freq"):
            buffer.mul_(torch.linspace(1.0, 0.5, buffer.numel()))


@pytest.mark.parametrize(
    "title", ["llama", "llama, yarn", "gemma3_text", "qwen2_vl_text", "deepseek_v2", "llama4_text", "cohere", "nanochat"]
)
def test_angles_that_the_configuration_does_not_have_are_refused(title):
    """Somebody patched the frequencies of the model: they were replaced by the configuration's, silently."""
    model, inputs = changed(title, twice), BY_TITLE[title].inputs()
    own = verdicts.logits(model, inputs)
    assert roundings.rms(own - verdicts.logits(BY_TITLE[title].model(), inputs)) > 1e-3 * roundings.rms(own)
    with pytest.raises(ValueError, match=r"\[use\] the angles of .*rotary_emb must be those of the model's configuration"):
        with use(model):
            pass


def test_a_factor_that_the_configuration_does_not_have_is_refused():
    def scale(module):
        module.attention_scaling *= 1.01

    with pytest.raises(ValueError, match="the angles of .* must be those of the model's configuration"):
        with use(changed("llama", scale)):
            pass


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_frequencies_that_were_cast_with_the_model_are_its_own(dtype):
    model = BY_TITLE["llama"].model().to(dtype)
    model.model.rotary_emb.inv_freq = model.model.rotary_emb.inv_freq.to(dtype)
    with use(model), torch.no_grad():
        model(**BY_TITLE["llama"].inputs())


def test_what_a_model_asks_of_its_rotary_module_is_there():
    """granite_swa and lfm3 read its configuration and its layer types: AttributeError."""
    model, _, _ = made()
    rotary = model.model.rotary_emb
    with use(model):
        stand_in = model.model.rotary_emb
        assert stand_in is not rotary and stand_in.config is model.config and stand_in.original is rotary
        with pytest.raises(AttributeError):
            stand_in.nothing


@pytest.mark.parametrize("model_type", ["granite_swa", "lfm3"])
def test_models_that_ask_their_rotary_module_run(model_type):
    small = {"hidden_size": 64, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 64}
    more = {"num_key_value_heads": 2, "head_dim": 16, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    if model_type not in transformers.CONFIG_MAPPING:
        pytest.skip(f"transformers {transformers.__version__} has no {model_type}")
    plain = transformers.AutoConfig.for_model(model_type)
    kinds = list(dict.fromkeys(plain.layer_types))
    config = transformers.AutoConfig.for_model(model_type, **small, **more, layer_types=(kinds * 2)[:2])
    config._experts_implementation = "eager"
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    inputs = {"input_ids": torch.arange(3, 14)[None]}
    own = verdicts.logits(model, inputs)
    with use(model, angles="float32"):
        assert roundings.rms(verdicts.logits(model, inputs) - own) <= 1e-5 * roundings.rms(own)


@pytest.mark.parametrize("title, name", [("gptj", "embed_positions"), ("codegen", "embed_positions"), ("roformer", "weight")])
def test_tables_of_angles_that_the_configuration_does_not_have_are_refused(title, name):
    model = BY_TITLE[title].model()
    holders = {"roformer": "SinusoidalPositionalEmbedding"}
    for module in model.modules():
        if type(module).__name__.endswith(holders.get(title, "Attention")) and hasattr(module, name):
            table = getattr(module, name)
            table.data.copy_(table.roll(1, 0))
    with pytest.raises(ValueError, match=r"\[use\] the table of angles of .* must be that of the model's configuration"):
        with use(model):
            pass


def test_tables_are_compared_as_closely_as_they_are_kept():
    """2^-8 is a rounding of bfloat16, and a mistake in float32."""
    model = BY_TITLE["gptj"].model()
    kept = [module for module in model.modules() if hasattr(module, "embed_positions")]
    for module in kept:
        module.embed_positions = module.embed_positions * (1 + 2.0**-8)
    with pytest.raises(ValueError, match="the table of angles of .* must be that of the model's configuration"):
        with use(model):
            pass
    for module in kept:
        module.embed_positions = module.embed_positions.bfloat16()
    with use(model):
        pass


# ---- keys of a configuration that its class does not read ----


def mpt(**attention):
    sizes = {"d_model": 32, "n_heads": 4, "n_layers": 2, "max_seq_len": 32, "vocab_size": 64}
    config = transformers.MptConfig(**sizes, attn_config=attention)
    return transformers.MptForCausalLM._from_config(config, attn_implementation="eager").eval()


@pytest.mark.parametrize("attention, has", [({"alibi": False}, "none"), ({"alibi_bias_max": 4}, "Alibi")])
def test_a_bias_that_the_configuration_does_not_say_is_refused(attention, has):
    """The class always builds ALiBi of 8: use() ran what the configuration says, 0.4 away."""
    model = mpt(**attention)
    with use(model):
        with pytest.raises(ValueError, match=rf"\[use\] MptAttention hands over a bias that differs .* plan, {has}: the class"):
            model(torch.arange(3, 14)[None])


def alike(title, change, words):
    """Something of the model is changed that its configuration does not say, after it was made."""
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    change(model)
    with use(model):
        with pytest.raises(ValueError, match=rf"\[use\] {words}"):
            verdicts.logits(model, inputs)


def of_class(model, name):
    return [module for module in model.modules() if type(module).__name__ == name]


def test_distances_of_t5_that_the_configuration_does_not_say_are_refused():
    def change(model):
        for module in of_class(model, "T5Attention"):
            module.relative_attention_max_distance = 5

    alike("t5", change, "T5Attention hands over a bias that differs")


def test_slopes_that_somebody_changed_are_refused():
    def change(model):
        build = model.transformer.build_alibi_tensor
        model.transformer.build_alibi_tensor = lambda *given, **named: 1.5 * build(*given, **named)

    model, inputs = BY_TITLE["bloom"].model(), BY_TITLE["bloom"].inputs()
    inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    inputs["attention_mask"][:, 0] = 0  # without padding the class builds no such tensor
    with use(model):
        verdicts.logits(model, inputs)
    change(model)
    with use(model):
        with pytest.raises(ValueError, match="BloomAttention hands over a bias that differs"):
            verdicts.logits(model, inputs)


def test_a_window_that_a_module_adds_itself_is_compared():
    def change(model):
        for module in of_class(model, "GPTNeoSelfAttention"):
            module.bias = torch.ones_like(module.bias).tril()

    alike("gpt_neo", change, "GPTNeoSelfAttention hands over a mask by which query .* sees key 0, but by the model's plan")


def mixed_mistral(window):
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 64}
    config = transformers.MistralConfig(
        **sizes, num_hidden_layers=2, sliding_window=window, layer_types=["full_attention", "sliding_attention"]
    )
    return transformers.MistralForCausalLM._from_config(config, attn_implementation="eager").eval()


@pytest.mark.parametrize("window, masks", [(1, "plan"), (4, "plan"), (4, "model")])
def test_masks_that_do_not_fit_the_cache_are_refused(window, masks):
    """Mistral's class reads no layer_types, and the caches that transformers makes do: one mask, of the window, comes to
    all layers. That of one key was seen by all, in the class, and use(masks="plan") was 1.1 away."""
    model, ids = mixed_mistral(window), torch.arange(3, 14)[None]
    with torch.no_grad(), use(model, masks=masks):
        past = model(ids, use_cache=True).past_key_values
        with pytest.raises(ValueError, match=r"mask of \[1, 1, 1, \d\] for 1 queries and 12 keys|attn_mask must have 1 or 12"):
            model(ids[:, :1], past_key_values=past)


@pytest.mark.parametrize("title", ["llama", "mistral", "bert"])
def test_padding_is_refused_where_the_plan_masks(title):
    """It was left out."""
    model, inputs, _ = made(title)
    padded = torch.ones_like(inputs["input_ids"])
    padded[:, :2] = 0
    with torch.no_grad(), use(model, masks="plan"):
        model(**inputs)
        with pytest.raises(ValueError, match="does not see key 0, .*masks='plan' knows nothing of padding"):
            model(**{**inputs, "attention_mask": padded})
        with pytest.raises(ValueError, match="does not see key|adds to scores"):
            model(**{**inputs, "attention_mask": torch.eye(padded.shape[1], dtype=torch.bool)[None, None]})


def phi3_with_mscales():
    rule = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "short_mscale": 1.1, "long_mscale": 1.2}
    config = transformers.Phi3Config(
        hidden_size=32, intermediate_size=32, num_attention_heads=4, num_hidden_layers=2, vocab_size=64, pad_token_id=0,
        max_position_embeddings=128, original_max_position_embeddings=32, rope_parameters={**rule, "rope_theta": 1e4},
    )  # fmt: skip
    torch.manual_seed(0)
    return transformers.Phi3ForCausalLM._from_config(config, attn_implementation="eager").eval()


@pytest.mark.parametrize("tokens", [11, 40])
def test_a_factor_that_a_class_does_not_read_is_not_in_its_plan(tokens):
    """Phi-3's class does not read mscale; the plan had 1.1, and the model was refused."""
    model, inputs = phi3_with_mscales(), {"input_ids": torch.arange(3, 3 + tokens)[None]}
    own = verdicts.logits(model, inputs)
    with use(model, angles="float32"):
        given = verdicts.logits(model, inputs)
    assert roundings.rms(given - own) <= 1e-5 * roundings.rms(own)


def test_a_changed_factor_is_named():
    model = phi3_with_mscales()
    model.model.rotary_emb.attention_scaling = 1.1
    with pytest.raises(ValueError, match=r"attention factor of 1.1 where the plan has 1.18\d*: Phi3RotaryEmbedding does not read"):
        with use(model):
            pytest.fail("it must be refused before any call")


def test_deepseek_v4_is_refused():
    """Its attention rotates what it gives back, and sees keys made of many tokens, which posenc's attention does not."""
    if "deepseek_v4" not in transformers.CONFIG_MAPPING:
        pytest.skip(f"transformers {transformers.__version__} has no deepseek_v4")
    config = transformers.AutoConfig.for_model(
        "deepseek_v4", hidden_size=64, num_hidden_layers=3, num_attention_heads=4, head_dim=32, q_lora_rank=16,
        o_lora_rank=8, o_groups=2, moe_intermediate_size=16, n_routed_experts=4, num_experts_per_tok=2, index_n_heads=2,
        index_head_dim=16, index_topk=4, vocab_size=64, sliding_window=8, mlp_layer_types=["moe"] * 3,
        layer_types=["sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention"],
    )  # fmt: skip
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    own = verdicts.logits(model, {"input_ids": torch.arange(3, 14)[None]})
    for masks in ("model", "plan"):
        with pytest.raises(ValueError, match=r"\[use\] plan must have no rotated values: DeepseekV4Attention does what it has"):
            with use(model, masks=masks):
                pytest.fail("it must be refused before any call")
    assert torch.equal(verdicts.logits(model, {"input_ids": torch.arange(3, 14)[None]}), own)
