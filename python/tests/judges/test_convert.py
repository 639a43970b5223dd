"""transformers as the judge of posenc.convert: a model whose checkpoint was converted, run by the other pairing, answers
as the one that it was made of.

Where the class reads a key for the pairing, it runs the result by itself. Where it has none, its apply_rotary_pos_emb is
given q and k in the order that it pairs, which is all that the other pairing is: permuted before, and back after.
POSENC_CONVERT_FAMILIES=all runs all families, which takes half a minute; else the first of each kind.
"""

import inspect
import os
import sys

import pytest
import torch
import transformers

import posenc

SIZES = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 50,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 32}
# Of each kind the first: biases, norms of heads, norms across heads, parts of heads with norms, fused in three orders,
# interleaved, layers that do not rotate, gates.
FIRST = {
    "llama": {"attention_bias": True},
    "qwen3": {"head_dim": 16},
    "olmo2": {},
    "phi": {"partial_rotary_factor": 0.5, "qk_layernorm": True},
    "phi3": {"original_max_position_embeddings": 128},
    "gpt_neox": {"rotary_pct": 0.5},
    "falcon": {"new_decoder_architecture": True, "num_kv_heads": 2, "ffn_hidden_size": 96},
    "cohere": {"use_qk_norm": True},
    "smollm3": {},
    "qwen3_next": {
        "head_dim": 16,
        "partial_rotary_factor": 0.25,
        "num_experts": 4,
        "shared_expert_intermediate_size": 32,
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 2,
        "linear_key_head_dim": 16,
        "linear_value_head_dim": 16,
        **EXPERTS,
    },
}
MORE = {
    **{name: {} for name in ("mistral", "qwen2", "olmo", "cohere2", "granite", "nemotron", "starcoder2", "apertus")},
    **{name: {} for name in ("bitnet", "diffllama", "lfm2", "nomic_bert", "eurobert")},
    **{name: {"head_dim": 16} for name in ("glm", "glm4", "gemma", "gemma2", "gemma3_text", "helium", "ernie4_5")},
    **{name: {"head_dim": 16} for name in ("hunyuan_v1_dense", "seed_oss", "arcee", "vaultgemma")},
    "stablelm": {"partial_rotary_factor": 0.5, "qk_layernorm": True, "use_qkv_bias": True},
    "persimmon": {"partial_rotary_factor": 0.5, "qk_layernorm": True},
    "exaone4": {"head_dim": 16, "sliding_window": 8, "sliding_window_pattern": 4},
    "modernbert": {"global_attn_every_n_layers": 2},
    "gpt_oss": {"head_dim": 16, "num_local_experts": 4, "num_experts_per_tok": 2},
    "minimax_m2": {"head_dim": 16, "num_local_experts": 4, "num_experts_per_tok": 2},
    "qwen2_moe": {"num_experts": 4, "shared_expert_intermediate_size": 32, **EXPERTS},
}
FAMILIES = {**FIRST, **(MORE if os.environ.get("POSENC_CONVERT_FAMILIES") == "all" else {})}
# Families whose cos has one number for each pair; others' has it twice.
ONE_FOR_EACH_PAIR = ("gpt_oss",)
TOKENS = torch.arange(3, 35)[None]
# Sums of some 16 products in another order, through 4 layers of float32: 2^-24 each, well above what was seen, 2e-6 of
# answers of size 4. What is not converted differs by 2e-4 at the least.
TOLERANCE = 2e-5


def answers(model):
    with torch.no_grad():
        return model(TOKENS)[0]


def saved(name, changes, folder):
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(name, **{**SIZES, **changes})
    model = transformers.AutoModel.from_config(config, attn_implementation="eager").float().eval()
    for parameter, numbers in model.named_parameters():
        if "norm" in parameter:
            numbers.data = torch.rand_like(numbers) + 0.5
        elif parameter.endswith("bias"):
            numbers.data = torch.randn_like(numbers) * 0.1
    model.save_pretrained(folder)
    return model


def reordered(x, dim, to_half):
    """The first `dim` channels: neighbours to halves, or halves to neighbours."""
    first, rest = x[..., :dim], x[..., dim:]
    first = first.reshape(*x.shape[:-1], dim // 2, 2) if to_half else first.reshape(*x.shape[:-1], 2, dim // 2)
    return torch.cat([first.transpose(-1, -2).reshape(*x.shape[:-1], dim), rest], -1)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_other_pairing_answers_the_same(name, tmp_path, monkeypatch):
    model = saved(name, FAMILIES[name], tmp_path / "model")
    expected = answers(model)
    plan = posenc.read_plan(tmp_path / "model")
    pairing = next(rotate.rope.pairing for layer in plan.stacks[0].layers for rotate in layer.rotate)
    to = "half" if pairing == "interleaved" else "interleaved"
    posenc.convert(tmp_path / "model", tmp_path / "out", to=to)
    converted = type(model).from_pretrained(tmp_path / "out", attn_implementation="eager").float().eval()
    assert (answers(converted) - expected).abs().max() > TOLERANCE, "rows that moved, by the old pairing"
    module = sys.modules[type(model).__module__]
    rotate = module.apply_rotary_pos_emb
    assert list(inspect.signature(rotate).parameters)[1] in ("k", "key"), "q and k at once"

    def paired(q, k, cos, *others, **named):
        dim = cos.shape[-1] * (2 if name in ONE_FOR_EACH_PAIR else 1)
        there, back = to == "interleaved", to != "interleaved"
        q, k = rotate(reordered(q, dim, there), reordered(k, dim, there), cos, *others, **named)
        return reordered(q, dim, back), reordered(k, dim, back)

    monkeypatch.setattr(module, "apply_rotary_pos_emb", paired)
    assert (answers(converted) - expected).abs().max() < TOLERANCE


def test_a_class_that_reads_the_key_answers_the_same(tmp_path):
    """DeepSeek V3: bit for bit, since its interleaved form is a permutation and then the half one."""
    config = transformers.DeepseekV3Config(
        **{**SIZES, "num_key_value_heads": 4, "num_hidden_layers": 2},
        moe_intermediate_size=32,
        q_lora_rank=24,
        kv_lora_rank=16,
        qk_nope_head_dim=12,
        qk_rope_head_dim=8,
        v_head_dim=12,
        n_routed_experts=4,
        num_experts_per_tok=2,
        n_group=1,
        topk_group=1,
        first_k_dense_replace=1,
        attention_bias=True,
    )
    transformers.DeepseekV3ForCausalLM(config).save_pretrained(tmp_path / "model")
    done = posenc.convert(tmp_path / "model", tmp_path / "half", to="half")
    assert [(one.key, one.value) for one in done.config] == [("/rope_interleave", "false")]

    def logits(folder, **changes):
        return answers(transformers.DeepseekV3ForCausalLM.from_pretrained(folder, **changes).eval())

    expected = logits(tmp_path / "model")
    assert torch.equal(logits(tmp_path / "half"), expected)
    assert not torch.equal(logits(tmp_path / "half", rope_interleave=True), expected)
    assert not torch.equal(logits(tmp_path / "model", rope_interleave=False), expected)
