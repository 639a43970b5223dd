"""Golden vectors against other people's code: transformers' rotary embedding and eager attention, torch's own."""

import numpy as np
import pytest
import torch
import transformers
from transformers.models.llama import modeling_llama

import posenc

DTYPES = {torch.float32: "float32", torch.bfloat16: "bfloat16", torch.float16: "float16"}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 512,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "num_hidden_layers": 1,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
    },
}
YARN = {
    **LLAMA,
    "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768},
}


def inputs(golden, dtype):
    """[1, heads, tokens, channels] of each, exact in every dtype."""
    return [torch.asarray(np.array(golden[name])).to(dtype).transpose(0, 1)[None] for name in "qkv"]


@pytest.mark.parametrize("config", [LLAMA, YARN], ids=["llama3", "yarn"])
@pytest.mark.parametrize("dtype", DTYPES, ids=DTYPES.values())
def test_transformers_passes(config, dtype):
    golden = posenc.vectors(config)
    q, k, v = inputs(golden, dtype)
    of = transformers.LlamaConfig(**{key: value for key, value in config.items() if key != "model_type"})
    positions = torch.asarray(np.array(golden["positions"])).long()[None]
    cos, sin = modeling_llama.LlamaRotaryEmbedding(of)(q, positions)
    q, k = modeling_llama.apply_rotary_pos_emb(q, k, cos, sin)
    module = modeling_llama.LlamaAttention(of, 0).to(dtype).eval()
    hidden = torch.full((q.shape[2],) * 2, float("-inf"), dtype=dtype).triu(1)[None, None]
    out, _ = modeling_llama.eager_attention_forward(module, q, k, v, hidden, scaling=module.scaling)
    check = posenc.check_port(golden, {"q_rotated": q.detach(), "k_rotated": k.detach(), "out": out.detach()})
    assert check.passes, check.describe()


@pytest.mark.parametrize("dtype", DTYPES, ids=DTYPES.values())
def test_torch_passes_from_rotated(dtype):
    golden = posenc.vectors(LLAMA)
    q, k = (torch.asarray(np.array(golden[name + "_rotated"])).to(dtype).transpose(0, 1)[None] for name in "qk")
    v = inputs(golden, dtype)[2]
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
    check = posenc.check_port(golden, {"out": out})
    assert check.passes, check.describe()


def test_transformers_without_its_rule_fails():
    golden = posenc.vectors(LLAMA)
    q, k, _ = inputs(golden, torch.float32)
    plain = transformers.LlamaConfig(
        **{key: value for key, value in LLAMA.items() if key not in ("model_type", "rope_scaling")}
    )
    positions = torch.asarray(np.array(golden["positions"])).long()[None]
    cos, sin = modeling_llama.LlamaRotaryEmbedding(plain)(q, positions)
    q, k = modeling_llama.apply_rotary_pos_emb(q, k, cos, sin)
    check = posenc.check_port(golden, {"q_rotated": q, "k_rotated": k})
    assert not check.passes
    assert "scaling" in [finding.fact for finding in check.diagnosis.findings]
