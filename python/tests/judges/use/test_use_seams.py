"""What somebody changes around use(), or hands to a model within it, and what was then without effect, silently: fractions as
positions, frequencies, flags, functions of others, threads, and masks of modules that attend by code of their own."""

import functools
import threading

import pytest
import torch
import transformers
from transformers.models.llama import modeling_llama

import posenc
from posenc.transformers import use

TOKENS = 20
SIZES = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 50}
IDS = torch.randint(3, 50, (2, TOKENS), generator=torch.Generator().manual_seed(1))
AT = torch.arange(TOKENS)[None]
DYNAMIC = {"rope_type": "dynamic", "factor": 3.0, "rope_theta": 10000.0}


def made(kind="llama", auto=transformers.AutoModelForCausalLM, impl="sdpa", **facts):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    config = transformers.CONFIG_MAPPING[kind](**{**SIZES, "max_position_embeddings": 64, "pad_token_id": 0, **facts})
    config._attn_implementation = impl
    return auto.from_config(config).eval()


def logits(model, **given):
    with torch.no_grad():
        return model(IDS, **given).logits


# ---- positions ----


FRACTIONS = [AT * 0.5, AT + 0.25, (AT * 0.5).bfloat16(), AT * float("nan"), AT + float("inf"), AT + 2.0**60]


@pytest.mark.parametrize("places", FRACTIONS)
def test_positions_that_are_not_whole_are_refused(places):
    """They were cut off: 0.5 was 0, and NaN the lowest of int64."""
    with use(model := made()), pytest.raises(ValueError, match=r"\[use\] position_ids must be whole numbers, but one is"):
        logits(model, position_ids=places)


@pytest.mark.parametrize("dtype", [torch.int32, torch.float32, torch.float64, torch.bfloat16])
def test_whole_numbers_of_any_dtype_are_positions(dtype):
    model, places = made(), (AT + 3).to(dtype)
    own = logits(model, position_ids=places)
    with use(model):
        torch.testing.assert_close(logits(model, position_ids=places), own)


# ---- angles ----


def halved(rotary):
    rotary.inv_freq.data.mul_(0.5)  # which torch does not count


def assigned(rotary):
    rotary.inv_freq = rotary.inv_freq * 2


def scaled(rotary):
    rotary.attention_scaling = 1.5


@pytest.mark.parametrize("change", [halved, assigned, scaled])
@pytest.mark.parametrize("rule", [None, DYNAMIC])
def test_angles_that_are_changed_within_use_are_refused(change, rule):
    """posenc's stood in for them, and went on."""
    model = made(rope_parameters=rule) if rule else made()
    logits(model)
    with use(model):
        logits(model)
        change(model.model.rotary_emb)
        with pytest.raises(ValueError, match=r"\[use\] (inv_freq|attention_scaling) of LlamaRotaryEmbedding must stay what it was"):
            logits(model)
    assert isinstance(model.model.rotary_emb, modeling_llama.LlamaRotaryEmbedding)


def test_angles_of_one_type_of_layer_are_compared_too():
    types = ["sliding_attention", "full_attention"]
    model = made("gemma3_text", head_dim=16, layer_types=types, sliding_window=8)
    with use(model):
        logits(model)
        model.model.rotary_emb.full_attention_attention_scaling = 2.0
        with pytest.raises(ValueError, match="full_attention_attention_scaling of Gemma3RotaryEmbedding must stay"):
            logits(model)


@pytest.mark.parametrize("longest", [8, 30, 60])
def test_a_rule_of_length_may_change_its_own(longest):
    """Dynamic NTK writes other frequencies, before use() and after, and back."""
    model = made(max_position_embeddings=24, rope_parameters=DYNAMIC)
    logits(model, position_ids=AT + longest - TOKENS if longest > TOKENS else AT)
    with use(model):
        for at in (0, 40, 0):
            logits(model, position_ids=AT + at)


def test_a_cast_within_use_rounds_frequencies_and_is_no_change():
    with use(model := made()):
        assert logits(model.bfloat16()).isfinite().all()


def test_a_rotary_module_may_be_called_around_within_use():
    """It was put in the original's place, which it called for ever."""
    own = logits(model := made())
    with use(model):
        rotary = model.model.rotary_emb
        inner = rotary.forward
        rotary.forward = lambda *args, **kwargs: inner(*args, **kwargs)
        torch.testing.assert_close(logits(model), own)
        rotary.forward = lambda *args, **kwargs: tuple(2 * of for of in inner(*args, **kwargs))
        doubled = logits(model)
    assert "forward" not in vars(model.model.rotary_emb)
    inner = model.model.rotary_emb.forward
    model.model.rotary_emb.forward = lambda *args, **kwargs: tuple(2 * of for of in inner(*args, **kwargs))
    torch.testing.assert_close(doubled, logits(model))


# ---- layers that rotate otherwise ----


def bases_of(model):
    return [layer.rotate[0].rope.base for layer in posenc.read_plan(model.config).stacks[0].layers]


@pytest.mark.parametrize("kind", ["granite_swa", "granitemoe_swa"])
@pytest.mark.parametrize("bases", [[100.0, 1e4, 100.0, 1e4], [1e4, 100.0, 1e4, 100.0], [1e4, 1e4, 100.0, 100.0]])
def test_each_rotary_module_of_several_keeps_its_own_base(kind, bases):
    """All of them were given the first layer's."""
    model = made(kind, impl="eager", num_hidden_layers=4, layer_rope_theta=bases)
    assert bases_of(model) == bases
    own = logits(model)
    with use(model):
        torch.testing.assert_close(logits(model), own)
        shorter = logits(model, position_ids=AT // 2)
    torch.testing.assert_close(shorter, logits(model, position_ids=AT // 2))


def test_layers_of_a_plan_differ_where_one_module_makes_all_angles():
    """That layers have types, of which the module is not told, hid the difference."""
    types = ["full_attention", "sliding_attention"]
    model = made("qwen2", use_sliding_window=True, sliding_window=32, layer_types=types)
    other = made("qwen2", rope_parameters={"rope_type": "default", "rope_theta": 50.0}).model.rotary_emb
    stack = (plan := posenc.read_plan(model.config)).stacks[0]
    turned = stack.layers[1].rotate[0]
    second = stack.layers[1].replace(rotate=(turned.replace(scheme=turned.rope.replace(base=50.0)),))
    asked = plan.replace(stacks=(stack.replace(layers=(stack.layers[0], second)),))

    def of_other(module, args, kwargs):
        return args, {**kwargs, "position_embeddings": other(kwargs["hidden_states"], AT)}

    own = logits(model)
    hook = model.model.layers[1].self_attn.register_forward_pre_hook(of_other, with_kwargs=True)
    expected = logits(model)
    hook.remove()
    with use(model, plan=asked):
        torch.testing.assert_close(logits(model), expected)
    assert not torch.allclose(own, expected, atol=1e-4)


# ---- is_causal ----


def test_a_flag_against_the_mask_is_refused_where_sdpa_reads_it():
    """Without padding SDPA saw all keys, and posenc those before."""
    model = made()
    for layer in model.model.layers:
        layer.self_attn.is_causal = False
    padded = torch.ones_like(IDS).index_fill_(1, torch.tensor([TOKENS - 1]), 0)
    own = logits(model, attention_mask=padded)
    with use(model):
        with pytest.raises(ValueError, match=r"\[use\] LlamaAttention.is_causal must agree with the mask, .* but is False"):
            logits(model)
        torch.testing.assert_close(logits(model, attention_mask=padded), own)


def test_a_flag_that_eager_attention_does_not_read_says_nothing():
    model = made(impl="eager")
    for layer in model.model.layers:
        layer.self_attn.is_causal = False
    own = logits(model)
    with use(model):
        torch.testing.assert_close(logits(model), own)


@pytest.mark.parametrize("masks", ["model", "plan"])
@pytest.mark.parametrize("impl", ["eager", "sdpa"])
def test_no_mask_is_causal_where_the_models_own_attention_reads_the_flag(impl, masks):
    """Eager attention shows all keys then, and posenc showed those before."""

    def without(module, args, kwargs):
        return args, {**kwargs, "attention_mask": None}

    model = made(impl=impl)
    for layer in model.model.layers:
        layer.self_attn.register_forward_pre_hook(without, with_kwargs=True)
    own = logits(model)
    with use(model, masks=masks):
        if impl == "eager":
            with pytest.raises(ValueError, match="LlamaAttention hands over no mask, .* plan is causal, .* hides some"):
                logits(model)
        else:
            torch.testing.assert_close(logits(model), own)


def test_a_causal_flag_of_an_encoder_is_refused():
    """SDPA hid later keys, and posenc did not."""
    model = made("bert", transformers.AutoModelForMaskedLM)
    for layer in model.bert.encoder.layer:
        layer.attention.self.is_causal = True
    with use(model), pytest.raises(ValueError, match="BertSelfAttention.is_causal must agree with the mask, .* but is True"):
        logits(model)


# ---- functions and methods of others ----


def _others(own):
    yield lambda q, k, cos, sin, unsqueeze_dim=1: (q, k)
    yield functools.wraps(own)(lambda *args, **kwargs: own(*args, **kwargs))
    yield functools.partial(own)


@pytest.mark.parametrize("which", range(3))
def test_a_function_that_somebody_has_put_in_the_file_is_refused(monkeypatch, which):
    """It was overwritten, as of kernels that patch the file, and what it did was lost."""
    other = list(_others(modeling_llama.apply_rotary_pos_emb))[which]
    monkeypatch.setattr(modeling_llama, "apply_rotary_pos_emb", other)
    with pytest.raises(ValueError, match=r"\[use\] .*modeling_llama.apply_rotary_pos_emb must be transformers' own, .* is (<lambda>|partial)"):
        with use(made()):
            pytest.fail("it must be refused before any call")
    assert modeling_llama.apply_rotary_pos_emb is other


def test_a_method_that_somebody_has_put_in_a_module_is_refused():
    model = made("bloom", impl="eager", n_head=2, n_layer=2)
    module = model.transformer.h[1].self_attention
    own = module.forward
    module.forward = lambda *args, **kwargs: own(*args, **kwargs)
    with pytest.raises(ValueError, match="BloomAttention.forward must be transformers' own, .* is <lambda>"):
        with use(model):
            pytest.fail("it must be refused before any call")


@pytest.mark.parametrize("kind", ["llama", "bloom"])
def test_a_second_use_of_one_model_is_none_of_others(kind):
    model = made(kind, **({"impl": "eager", "n_head": 2, "n_layer": 2} if kind == "bloom" else {}))
    own = logits(model)
    with use(model), use(model):
        torch.testing.assert_close(logits(model), own)


# ---- threads ----


def in_a_thread(call):
    said = []

    def run():
        try:
            said.append(call())
        except ValueError as error:
            said.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return said[0]


def entered(model):
    with use(model):
        return logits(model)


def test_use_in_two_threads_at_once_is_refused_where_they_replace_the_same():
    """The second replaced what the first stood on, and whoever left last put back what the other had put there."""
    function, (one, other) = modeling_llama.apply_rotary_pos_emb, (made(), made())
    own = logits(one)
    with use(one):
        assert "[use] rotary_emb of LlamaModel is in use by another thread" in in_a_thread(lambda: entered(one))
        assert "apply_rotary_pos_emb of transformers.models.llama.modeling_llama is in use by" in in_a_thread(lambda: entered(other))
        torch.testing.assert_close(in_a_thread(lambda: logits(one)), own)
        torch.testing.assert_close(in_a_thread(lambda: entered(made("mistral"))), logits(made("mistral")))
    torch.testing.assert_close(in_a_thread(lambda: entered(one)), own)
    assert modeling_llama.apply_rotary_pos_emb is function


# ---- masks of what is left ----


def bigbird():
    facts = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 2, "decoder_attention_heads": 2, "d_model": 32}
    facts |= {"encoder_ffn_dim": 32, "decoder_ffn_dim": 32, "attention_type": "original_full"}
    return made("bigbird_pegasus", transformers.AutoModelForSeq2SeqLM, "eager", **facts)


def test_padding_counts_in_an_encoder_that_attends_by_its_own_code():
    """Its mask, of True and False, was added to scores: what was hidden weighed e times less, and no more."""
    model = bigbird()
    shows = torch.ones_like(IDS)
    shows[0, 13:] = 0
    given = {"attention_mask": shows, "decoder_input_ids": IDS[:, :7]}
    own = logits(model, **given)
    config, encoder = model.config, model.model.encoder
    with use(model) as changed:
        assert changed.attention[0].startswith("model.decoder.layers.0.")
        torch.testing.assert_close(logits(model, **given), own)
        with use(model):
            torch.testing.assert_close(logits(model, **given), own)
        assert config._attn_implementation == "posenc" and encoder.config._attn_implementation == "eager"
        torch.testing.assert_close(encoder(IDS[:1], attention_mask=shows[:1])[0][:, :13], encoder(IDS[:1, :13])[0])
    assert all(module.config is config for module in model.modules() if hasattr(module, "config"))
    assert config._attn_implementation == "eager"


def test_a_mask_of_posencs_is_refused_where_a_module_beside_adds_it_to_scores():
    """No model of transformers' has both under one mask: one layer of another is made such."""

    class OwnAttention(torch.nn.Module):
        def forward(self, hidden_states, attention_mask=None, **kwargs):
            return hidden_states, None

    model = made(impl="eager")
    model.model.layers[1].self_attn = OwnAttention()
    with use(model), pytest.raises(NotImplementedError, match=r"\[use\] OwnAttention attends by code of its own"):
        logits(model)


OWN_CODE = {"gptj": {"rotary_dim": 4, "n_embd": 32}, "codegen": {"rotary_dim": 4, "n_embd": 32, "num_attention_heads": 4}, "gpt_neo": {"attention_types": [[["global"], 2]]}}


@pytest.mark.parametrize("kind", OWN_CODE)
def test_a_mask_of_the_callers_is_added_as_the_method_adds_it(kind):
    """CodeGen divides the sum of scores and mask; True and False would be added as 1 and 0."""
    names = {"n_layer": 2, "num_layers": 2, "num_heads": 2, "n_positions": 64}
    model = made(kind, impl="eager", **{**names, **OWN_CODE[kind]})
    shows = torch.ones(TOKENS, TOKENS, dtype=torch.bool).tril()[None, None]
    hides = torch.finfo(torch.float32).min
    added = torch.randn(1, 1, TOKENS, TOKENS, generator=torch.Generator().manual_seed(2)).masked_fill(~shows, hides)
    own = logits(model, attention_mask=added, use_cache=False)
    with use(model):
        torch.testing.assert_close(logits(model, attention_mask=added, use_cache=False), own, atol=2e-5, rtol=1e-4)
        with pytest.raises(NotImplementedError, match="adds a mask to scores, but is given one of True and False"):
            logits(model, attention_mask=shows, use_cache=False)


def test_a_router_gets_masks_in_the_form_that_it_knows():
    """NLLB-MoE leaves padding out of its experts, by the mask of attention, which for it is 0 where a token is seen."""
    sizes = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "num_experts": 4, "expert_capacity": 8}
    sizes |= {f"{of}_{what}": n for of in ("encoder", "decoder") for what, n in (("attention_heads", 2), ("ffn_dim", 32), ("sparse_step", 1))}
    model = made("nllb-moe", transformers.AutoModelForSeq2SeqLM, "eager", **sizes)
    shows = torch.ones_like(IDS)
    shows[1, 13:] = 0
    for mask in (None, torch.ones_like(IDS), shows):
        given = {"attention_mask": mask, "decoder_input_ids": IDS[:, :7]}
        own = logits(model, **given)
        with use(model):
            torch.testing.assert_close(logits(model, **given), own, atol=2e-5, rtol=1e-4)


# ---- what hooks hand on ----


def hands_on(change):
    def before(module, args, kwargs):
        return args, {**kwargs, "position_embeddings": change(*kwargs["position_embeddings"])}

    return lambda model: model.model.layers[1].self_attn.register_forward_pre_hook(before, with_kwargs=True)


def makes(change, from_tokens=0):
    def behind(module, args, made):
        return change(*made) if made[0].shape[1] >= from_tokens else made

    return lambda model: model.model.rotary_emb.register_forward_hook(behind)


ANGLES = {
    "another sin": hands_on(lambda cos, sin: (cos, -sin)),
    "another cos": hands_on(lambda cos, sin: (2 * cos, sin)),
    "exchanged": hands_on(lambda cos, sin: (sin, cos)),
    "written to": hands_on(lambda cos, sin: (cos, sin.neg_())),
    "made so": makes(lambda cos, sin: (cos, -sin)),
    "made so of many tokens": makes(lambda cos, sin: (1.5 * cos, 1.5 * sin), from_tokens=12),
}


@pytest.mark.parametrize("hook", ANGLES)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_angles_that_a_hook_changes_are_those_that_rotate(hook, mode):
    """Posenc's own were taken, as one of the two was still posenc's."""
    model = made(initializer_range=0.2)
    plain = logits(model)
    ANGLES[hook](model)
    with mode():
        own = model(IDS).logits
        assert not torch.allclose(own, plain, atol=1e-2)
        with use(model):
            torch.testing.assert_close(model(IDS).logits, own, atol=2e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", ["deberta", "deberta-v2"])
@pytest.mark.parametrize("name", ["rel_embeddings", "relative_pos"])
def test_what_an_encoder_hands_its_layers_is_compared(kind, name):
    facts = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "type_vocab_size": 0}
    facts |= {"max_relative_positions": 16, "initializer_range": 0.5}
    model = made(kind, transformers.AutoModel, "eager", **facts)
    own = model(IDS)[0]
    changes = []

    def before(module, args, kwargs):
        return args, {**kwargs, name: kwargs[name].flip(0 if name == "rel_embeddings" else -1)} if changes else kwargs

    of = [module for at, module in model.named_modules() if at.endswith("attention.self")]
    of[1].register_forward_pre_hook(before, with_kwargs=True)
    with torch.no_grad(), use(model):
        torch.testing.assert_close(model(IDS)[0], own, atol=2e-5, rtol=1e-4)
        changes.append(1)
        with pytest.raises(ValueError, match=f"is handed {name} that are not its encoder's"):
            model(IDS)


# ---- windows ----


def test_a_window_that_is_as_long_as_the_trained_length_hides_nothing_until_then():
    """The plan has none, what the module hands over is one, and masks='plan' was refused."""
    model = made("mistral", sliding_window=32, max_position_embeddings=32)
    own = logits(model)
    with use(model, masks="plan"):
        torch.testing.assert_close(logits(model), own)
        with torch.no_grad(), pytest.raises(ValueError, match="(sliding window of 32|does not see key 0), .*say masks=.model"):
            model(IDS.repeat(1, 2))
