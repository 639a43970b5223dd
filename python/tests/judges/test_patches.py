"""transformers as the judge of posenc.override_patches: what a patch of config.json says, its class takes, and makes the
plan's frequencies of; what the class refuses, `unsaid` says."""

import json

import numpy as np
import pytest
import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

import posenc

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 50,
    "max_position_embeddings": 16384,
    "pad_token_id": 0,
}
FACTORS = {"short_factor": [1.0] * 8, "long_factor": [1.0 + i for i in range(8)]}
LONGROPE = {"rope_scaling": {"type": "longrope", **FACTORS}, "original_max_position_embeddings": 4096}
CONFIGS = {
    "llama": {},
    "mistral": {},
    "qwen2": {},
    "qwen3": {"head_dim": 16},
    "stablelm": {"partial_rotary_factor": 0.25},
    "granite": {},
    "gemma2": {"head_dim": 16, "query_pre_attn_scalar": 16},
    "phi": {"partial_rotary_factor": 0.5},
    "phi3": LONGROPE,
    "phimoe": {
        "rope_scaling": {"type": "longrope", **FACTORS, "short_mscale": 1.2, "long_mscale": 1.3},
        "original_max_position_embeddings": 4096,
    },
    "phi4_multimodal": LONGROPE,
}
# Classes that check the rule's name themselves.
REFUSE = {"phi3", "phimoe", "phi4_multimodal"}
RULES = [
    "none",
    "linear,factor=3",
    "dynamic,factor=2",
    "yarn,factor=4,original=4096",
    "llama3,factor=4,low_freq_factor=1,high_freq_factor=4,original=4096",
]


def patched(config, patch):
    config = json.loads(json.dumps(config))
    for step in json.loads(patch or "[]"):  # empty: the config says it already
        *parents, last = step["path"].split("/")[1:]
        at = config
        for parent in parents:
            at = at[parent]
        if step["op"] == "add":
            at[last] = step["value"]
        else:
            del at[last]
    return config


@pytest.mark.parametrize("family", CONFIGS)
@pytest.mark.parametrize("rule", RULES)
def test_rules(family, rule):
    config = {"model_type": family, **SIZES, "rope_theta": 10000.0, **CONFIGS[family]}
    settings = "rope_scaling=" + rule
    rope = posenc.override(config, settings).stacks[0].layers[0].rotate[0].rope
    expected = posenc.frequencies(rope, length=64)
    patches = {patch.form: patch for patch in posenc.override_patches(config, settings)}
    refused = family in REFUSE and rule != "none"
    for form in ("hugging_face_old", "hugging_face_new"):
        patch = patches[form]
        assert bool(patch.unsaid) == refused, patch
        if refused:
            assert patch.text == "" and "refuses" in patch.unsaid[-1]
            continue
        read = transformers.AutoConfig.for_model(**patched(config, patch.text))
        kind = read.rope_parameters["rope_type"]
        if kind == "default":
            assert rule == "none"
            continue
        inv_freq, factor = ROPE_INIT_FUNCTIONS[kind](read, "cpu", seq_len=64)
        assert np.allclose(inv_freq.double().numpy(), expected.inv_freq, rtol=1e-6, atol=0)
        assert factor == pytest.approx(expected.attention_factor, rel=1e-9)


@pytest.mark.parametrize("family", sorted(REFUSE))
@pytest.mark.parametrize("rule", ["linear", "dynamic", "yarn", "llama3"])
@pytest.mark.parametrize("key", ["rope_scaling", "rope_parameters"])
def test_what_is_said_to_be_refused_is(family, rule, key):
    """transformers refuses it, or reads it as LongRoPE without lists; in no case is it the rule that was asked for."""
    config = {"model_type": family, **SIZES, "rope_theta": 10000.0, **CONFIGS[family]}
    config.pop("rope_scaling")
    config[key] = {"rope_type": rule, "factor": 4.0, "rope_theta": 10000.0}
    config[key] |= {"original_max_position_embeddings": 4096, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    with pytest.raises(Exception, match="longrope|short_mscale|short_factor|long_factor"):
        transformers.AutoConfig.for_model(**config)
