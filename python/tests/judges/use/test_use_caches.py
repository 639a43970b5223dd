"""use(masks="plan") with KV caches: sliding ones that forget keys, those with empty slots, and keys that layers share."""

import functools

import pytest
import torch
from transformers import (
    DynamicCache,
    Gemma3nForCausalLM,
    Gemma3nTextConfig,
    Llama4ForCausalLM,
    Llama4TextConfig,
    MistralConfig,
    MistralForCausalLM,
    StaticCache,
)

import posenc
import posenc.transformers
from posenc.transformers import use

SIZES = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8}
SIZES |= {"vocab_size": 99, "max_position_embeddings": 64, "initializer_range": 0.15, "pad_token_id": 0}
TYPES = ["sliding_attention", "full_attention"]
IDS = torch.randint(3, 95, (2, 18), generator=torch.Generator().manual_seed(1))
PARTS = ((0, 5), (5, 12), *((t, t + 1) for t in range(12, 18)))

CACHES = {
    "sliding": lambda model: DynamicCache(config=model.config),
    "full": lambda model: DynamicCache(),
    "static": lambda model: StaticCache(config=model.config, max_cache_len=30),
}


def mistral(window):
    return MistralForCausalLM(MistralConfig(**SIZES, num_hidden_layers=2, sliding_window=window))


def gemma3n():
    """Four layers with keys of their own, and two that take them from those."""
    config = Gemma3nTextConfig(
        **SIZES | {"intermediate_size": [32] * 6},
        num_hidden_layers=6,
        num_kv_shared_layers=2,
        layer_types=TYPES * 3,
        sliding_window=7,
        activation_sparsity_pattern=[0.0] * 6,
        hidden_size_per_layer_input=8,
        vocab_size_per_layer_input=99,
        laurel_rank=4,
    )
    return Gemma3nForCausalLM(config)


def llama4():
    config = Llama4TextConfig(
        **SIZES,
        num_hidden_layers=4,
        attention_chunk_size=6,
        layer_types=["chunked_attention", "full_attention"] * 2,
        moe_layers=[],
        intermediate_size_mlp=32,
    )
    return Llama4ForCausalLM(config)


MODELS = {"mistral": lambda: mistral(7), "gemma3n": gemma3n, "llama4": llama4}


@functools.cache
def made(name):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    return MODELS[name]().eval()


def cached(model, cache):
    parts = [model(IDS[:, a:b], past_key_values=cache, use_cache=True).logits for a, b in PARTS]
    return torch.cat(parts, 1)


def agree(one, other):
    return (one - other).abs().max() <= 1e-5 * other.abs().max()


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("name", MODELS)
@torch.no_grad()
def test_masks_of_the_plan_are_the_models_whatever_the_cache(name, cache):
    """Chunks were counted from what was kept, and layers that share keys had them at the cache's first, or an error."""
    model = made(name)
    own = model(IDS, use_cache=False).logits
    with use(model, masks="plan"):
        assert agree(model(IDS, use_cache=False).logits, own)
        assert agree(cached(model, CACHES[cache](model)), own)


def with_layers(plan, **facts):
    stack = plan.stacks[0]
    return plan.replace(stacks=(stack.replace(layers=[layer.replace(**facts) for layer in stack.layers]),))


def windowed(past):
    return posenc.Mask(window=posenc.Window(past=past, future=0))


@pytest.mark.parametrize("cache", ["sliding", "static"])
@pytest.mark.parametrize(
    "mask, words",
    [
        (posenc.Mask(), "has none: query 12 sees key 0"),
        (windowed(9), "has one of 10: query 12 sees key 3"),
        (windowed(7), "has one of 8: query 12 sees key 5"),
        (posenc.Mask(chunk=9), "has none, and chunks of 9: query 16 sees key 9, and the first 10 keys"),
    ],
)
@torch.no_grad()
def test_a_plan_that_sees_keys_which_are_gone_is_refused_before_a_wrong_token(mask, words, cache):
    """They were left out silently. What comes before is right, and with a cache of full layers all is."""
    model = made("mistral")
    plan = with_layers(posenc.read_plan(model.config), mask=mask)
    with use(model, plan=plan, masks="plan"):
        whole = model(IDS).logits
        kept = CACHES[cache](model)
        assert agree(model(IDS[:, :12], past_key_values=kept).logits, whole[:, :12])
        with pytest.raises(ValueError, match=rf"window of at most 7 tokens in MistralAttention layer 0, .* but {words}"):
            for t in range(12, 18):
                assert agree(model(IDS[:, t : t + 1], past_key_values=kept).logits, whole[:, t : t + 1])
        assert agree(cached(model, DynamicCache()), whole)


@pytest.mark.parametrize("past", [3, 6])
@torch.no_grad()
def test_a_plan_that_sees_no_more_than_is_kept_is_right(past):
    model = made("mistral")
    plan = with_layers(posenc.read_plan(model.config), mask=windowed(past))
    with use(model, plan=plan, masks="plan"):
        assert agree(cached(model, CACHES["sliding"](model)), model(IDS).logits)


@torch.no_grad()
def test_what_is_wider_is_what_a_model_without_a_window_does():
    other = mistral(None).eval()
    other.load_state_dict(made("mistral").state_dict())
    with use(made("mistral"), plan=posenc.read_plan(other.config), masks="plan"):
        assert agree(cached(made("mistral"), DynamicCache()), other(IDS).logits)


@pytest.mark.parametrize("slots", [18, 30])
@torch.no_grad()
def test_no_query_sees_an_empty_slot(slots):
    """Queries of a bidirectional plan saw the zeros of them all."""
    model = made("mistral")
    plan = with_layers(posenc.read_plan(model.config), mask=posenc.Mask(kind="bidirectional"))
    full = StaticCache(config=mistral(None).config, max_cache_len=slots)
    with use(model, plan=plan, masks="plan"):
        assert agree(model(IDS, past_key_values=full).logits, model(IDS, use_cache=False).logits)


@torch.no_grad()
def test_fire_counts_the_keys_that_are_gone():
    """Its distances are over the query's own position."""
    model = made("mistral")
    plan = with_layers(posenc.read_plan(model.config), mask=windowed(6), score=[posenc.Fire()])
    torch.manual_seed(2)
    tables = {"c": torch.tensor([0.5]), "threshold": torch.tensor([4.0]), "hidden.weight": torch.randn(8, 1)}
    tables |= {"hidden.bias": torch.randn(8), "out.weight": torch.randn(4, 8), "out.bias": torch.randn(4)}
    with use(model, plan=plan, masks="plan", weights=tables):
        assert agree(cached(model, CACHES["sliding"](model)), model(IDS, use_cache=False).logits)
