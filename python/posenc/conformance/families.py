"""The families that are judged: a tiny model each, of transformers' own class, with random weights.

A row is what its configuration says beyond SMALL. Sizes are small and of different primes where they can be, so that no
axis is taken for another; 11 tokens of 2 sequences are long enough for every window, chunk and rule here.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
import transformers

TOKENS = 11
BATCH = 2
VOCABULARY = 32

SMALL = {
    "vocab_size": VOCABULARY,
    "hidden_size": 48,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 12,
    "max_position_embeddings": 64,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "use_cache": False,
}
EXPERTS = {
    "num_experts": 4,
    "num_local_experts": 4,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 24,
    "shared_expert_intermediate_size": 24,
    "n_group": 1,
    "topk_group": 1,
}
MLA = {
    **EXPERTS,
    "head_dim": 4,
    "num_key_value_heads": 4,
    "q_lora_rank": 16,
    "kv_lora_rank": 20,
    "qk_rope_head_dim": 4,
    "qk_nope_head_dim": 8,
    "v_head_dim": 10,
    "qk_head_dim": 12,
}
BOTH_KINDS = {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 4}
DEBERTA = {
    "relative_attention": True,
    "position_buckets": 4,
    "max_relative_positions": 16,
    "pos_att_type": ["c2p", "p2c"],
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
    "position_biased_input": False,
}
GPT = {"n_embd": 48, "n_layer": 2, "n_head": 4, "n_positions": 64}
MPT = {"d_model": 48, "n_layers": 2, "n_heads": 4, "max_seq_len": 64, "expansion_ratio": 1}
T5 = {"d_model": 48, "d_kv": 12, "d_ff": 40, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}


def rope(kind: str, **numbers: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 1000.0, **numbers}}


YARN = rope("yarn", factor=4.0, original_max_position_embeddings=16)
LLAMA3 = rope(
    "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64
)
# Llama 4 Scout's: no pair is between the two, where a form that clamps would divide by zero.
ONE_THRESHOLD = {**LLAMA3["rope_parameters"], "low_freq_factor": 1.0, "high_freq_factor": 1.0}
YARN_OF_DEEPSEEK = rope(
    "yarn", factor=4.0, original_max_position_embeddings=16, mscale=1.0, mscale_all_dim=0.7
)
DYNAMIC_SHORT = rope("dynamic", factor=2.0)
DYNAMIC_LONG = {**rope("dynamic", factor=2.0), "max_position_embeddings": 8}
LONG_FACTORS = {"short_factor": [1.0 + p / 10 for p in range(6)], "long_factor": [2.0 + p for p in range(6)]}
LONGROPE_SHORT = rope("longrope", original_max_position_embeddings=32, factor=2.0, **LONG_FACTORS)
LONGROPE_LONG = rope("longrope", original_max_position_embeddings=8, factor=8.0, **LONG_FACTORS)


CHUNKS_OF_AXES = rope("default", mrope_section=[1, 3, 2])
AXES_IN_TURN = rope("default", mrope_section=[3, 2, 1])
LONGCAT_EXPERTS = {"moe_topk": 2, "zero_expert_num": 2, "expert_ffn_hidden_size": 24, "ffn_hidden_size": 24}


@dataclasses.dataclass(frozen=True)
class Family:
    model_type: str
    keys: dict[str, Any] = dataclasses.field(default_factory=dict)
    name: str = ""
    head: str = "AutoModelForCausalLM"
    own: str = "eager"  # the attention that judges
    axes: int = 0  # of its positions, where it is given such as an image would have
    features: tuple[int, int] | None = None  # channels and frames of what an encoder of sound hears

    @property
    def title(self) -> str:
        return self.name or self.model_type

    def is_known(self) -> bool:
        """By the transformers that is installed."""
        return self.model_type in transformers.CONFIG_MAPPING

    def config(self) -> Any:
        keys = {**SMALL, **self.keys}
        return transformers.AutoConfig.for_model(
            self.model_type, **{key: value for key, value in keys.items() if value is not None}
        )

    def model(self) -> torch.nn.Module:
        torch.manual_seed(1)
        config = self.config()
        config._experts_implementation = "eager"  # others have no double
        of = getattr(transformers, self.head)
        make = of.from_config if self.head.startswith("Auto") else of._from_config
        model = make(config, attn_implementation=self.own).eval()
        spread(model)
        return model

    def inputs(self) -> dict[str, torch.Tensor]:
        torch.manual_seed(2)
        ids = torch.randint(3, VOCABULARY, (BATCH, TOKENS))
        if self.axes:
            return {"input_ids": ids, "position_ids": torch.randint(0, TOKENS, (self.axes, BATCH, TOKENS))}
        if self.features is not None:
            return {"input_features": torch.randn(BATCH, *self.features), "decoder_input_ids": ids}
        if self.config().is_encoder_decoder:
            return {"input_ids": ids, "decoder_input_ids": ids.flip(0)}
        return {"input_ids": ids}


def spread(model: torch.nn.Module) -> None:
    """Weights for which positions matter: a product keeps the size of what it is given, so that scores are near 1."""
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for parameter in model.parameters():
            if not parameter.requires_grad:  # a table of sines
                continue
            # In float64, whose logarithm and cosine are those of no instruction set; rounded after.
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            if parameter.dim() >= 2:
                fan_in = parameter.shape[-1]
                parameter.copy_(noise * 1.5 / fan_in**0.5)
            else:
                parameter.add_(0.1 * noise)


def family(model_type: str, *kinds: dict[str, Any], **others: Any) -> Family:
    keys: dict[str, Any] = {}
    for kind in kinds:
        keys |= kind
    return Family(model_type, keys, **others)


FAMILIES = [
    family("llama"),
    family("llama", LLAMA3, name="llama, llama3"),
    family("llama", {"rope_parameters": ONE_THRESHOLD}, name="llama, llama3, one threshold"),
    family("llama", rope("linear", factor=4.0), name="llama, linear"),
    family("llama", DYNAMIC_SHORT, name="llama, dynamic, short"),
    family("llama", DYNAMIC_LONG, name="llama, dynamic, long"),
    family("llama", YARN, name="llama, yarn"),
    family("llama", LONGROPE_SHORT, name="llama, longrope, short"),
    family("llama", LONGROPE_LONG, name="llama, longrope, long"),
    family("mistral", {"sliding_window": 4}),
    family("mixtral", EXPERTS),
    family("ministral", BOTH_KINDS),
    family("ministral3", rope("yarn", factor=4.0, original_max_position_embeddings=4, llama_4_scaling_beta=0.1)),
    family("qwen2", {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}),
    family("qwen2_moe", EXPERTS),
    family("qwen3"),
    family("qwen3_moe", EXPERTS),
    family("qwen3_next", EXPERTS, {"partial_rotary_factor": 0.5, "layer_types": ["full_attention"] * 2}),
    family("gemma"),
    family("gemma2", BOTH_KINDS, {"query_pre_attn_scalar": 20, "attn_logit_softcapping": 2.0}),
    family("gemma3_text", BOTH_KINDS, {"query_pre_attn_scalar": 20}),
    family("vaultgemma", BOTH_KINDS, {"query_pre_attn_scalar": 20, "attn_logit_softcapping": 2.0}),
    family("olmo"),
    family("olmo2"),
    family("olmo3", BOTH_KINDS),
    family("olmoe", EXPERTS),
    family("flex_olmo", EXPERTS),
    family("granite", {"attention_multiplier": 0.3}),
    family("granitemoe", EXPERTS, {"attention_multiplier": 0.3}),
    family("granitemoeshared", EXPERTS, {"attention_multiplier": 0.3, "shared_intermediate_size": 24}),
    family("cohere"),
    family("cohere2", BOTH_KINDS),
    family("glm", {"partial_rotary_factor": 0.5}),
    family("glm4", {"partial_rotary_factor": 0.5}),
    family("glm4_moe", EXPERTS, {"partial_rotary_factor": 0.5}),
    family("phi", {"partial_rotary_factor": 0.5}),
    family("phi3", {"partial_rotary_factor": 1.0}),
    family("phi3", LONGROPE_LONG, {"original_max_position_embeddings": 8}, name="phi3, longrope"),
    family("phimoe", EXPERTS),
    family("stablelm", {"partial_rotary_factor": 0.5}),
    family("starcoder2", {"sliding_window": 4}),
    family("persimmon", {"partial_rotary_factor": 0.5}),
    family("gpt_neox", {"rotary_pct": 0.5}),
    family("gpt_neox_japanese"),
    family("nemotron", {"partial_rotary_factor": 0.5}),
    family("exaone4", BOTH_KINDS, {"sliding_window_pattern": "LG"}),
    family("ernie4_5"),
    family("ernie4_5_moe", EXPERTS, {"moe_num_experts": 4, "moe_k": 2}),
    family("hunyuan_v1_dense"),
    family("hunyuan_v1_moe", EXPERTS, {"moe_topk": 2}),
    family("smollm3", {"no_rope_layers": [1, 0]}),
    family("arcee"),
    family("seed_oss"),
    family("helium"),
    family("bitnet"),
    family("apertus"),
    family("dots1", EXPERTS, {"n_shared_experts": 1}),
    family("jetmoe", EXPERTS, {"kv_channels": 12}),
    family("lfm2", {"layer_types": ["full_attention"] * 2}),
    family("lfm2_moe", EXPERTS, {"layer_types": ["full_attention"] * 2, "num_dense_layers": 1}),
    family("iquestcoder"),
    family("minimax", EXPERTS, {"layer_types": ["full_attention"] * 2}),
    family("minimax_m2", EXPERTS, {"rotary_dim": 6}),
    family("gpt_oss", EXPERTS, BOTH_KINDS, YARN),
    family("deepseek_v2", MLA),
    family("deepseek_v3", MLA),
    family("deepseek_v3", MLA, YARN_OF_DEEPSEEK, name="deepseek_v3, yarn"),
    family("glm4_moe_lite", MLA),
    family("youtu", MLA),
    family(
        "llama4_text",
        EXPERTS,
        {"attention_chunk_size": 4, "no_rope_layers": [1, 0], "floor_scale": 4, "intermediate_size_mlp": 24},
    ),
    family("diffllama", {"num_key_value_heads": 4}),
    family("longcat_flash", MLA, rope("default"), {"num_layers": 1, "num_hidden_layers": None, **LONGCAT_EXPERTS}),
    family("nanochat"),
    family("jais2"),
    family("solar_open", EXPERTS),
    family("afmoe", EXPERTS, BOTH_KINDS),
    family("cwm", BOTH_KINDS),
    family("modernbert", {"global_attn_every_n_layers": 2, "local_attention": 6}, head="AutoModelForMaskedLM"),
    family("modernbert-decoder", {"layer_types": BOTH_KINDS["layer_types"], "local_attention": 8}),
    family("eurobert", head="AutoModelForMaskedLM"),
    family("esm", {"position_embedding_type": "rotary", "mask_token_id": 4}, head="AutoModelForMaskedLM"),
    family("nomic_bert", head="AutoModelForMaskedLM"),
    family("falcon", {"head_dim": None, "new_decoder_architecture": True, "num_kv_heads": 2}),
    family(
        "falcon",
        {"head_dim": None, "alibi": True, "new_decoder_architecture": False, "multi_query": False},
        name="falcon, alibi",
        own="sdpa",  # eager is wrong: test_wrong_judges.py
    ),
    family("gptj", GPT, {"rotary_dim": 6}),
    family("codegen", GPT, {"rotary_dim": 6, "n_head": 4}),
    family(
        "gpt_neo",
        {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]], "window_size": 4},
    ),
    family("roformer", {"embedding_size": 48}, head="AutoModelForMaskedLM"),
    family("qwen2_vl_text", CHUNKS_OF_AXES, axes=3, head="Qwen2VLTextModel"),
    family("qwen2_5_vl_text", CHUNKS_OF_AXES, axes=3, head="Qwen2_5_VLTextModel"),
    family("qwen3_vl_text", AXES_IN_TURN, axes=3, head="Qwen3VLTextModel"),
    family("glm4v_text", CHUNKS_OF_AXES, axes=3, head="Glm4vTextModel"),
    family("bloom", {"n_layer": 2, "n_head": 4}),
    # Of 3 heads: the slopes of 2, and the first of 4.
    family("bloom", {"n_layer": 2, "n_head": 3, "num_attention_heads": 3}, name="bloom, 3 heads"),
    family("mpt", MPT, {"n_heads": 3, "num_attention_heads": 3}, name="mpt, 3 heads"),
    family("mpt", MPT),
    family("t5", T5, head="AutoModelForSeq2SeqLM"),
    family("mt5", T5, head="AutoModelForSeq2SeqLM"),
    family("umt5", T5, head="AutoModelForSeq2SeqLM"),
    family(
        "switch_transformers",
        T5,
        EXPERTS,
        {"num_decoder_layers": 2, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
        head="AutoModelForSeq2SeqLM",
    ),
    family("pop2piano", T5, head="Pop2PianoForConditionalGeneration"),
    family("longt5", T5, {"encoder_attention_type": "local", "local_radius": 3}, head="AutoModelForSeq2SeqLM"),
    family("mpnet", head="AutoModelForMaskedLM"),
    family("deberta", DEBERTA, {"max_relative_positions": 6}, head="AutoModelForMaskedLM"),
    family("deberta-v2", DEBERTA, head="AutoModelForMaskedLM"),
    family("xlnet", {"max_position_embeddings": None, "d_model": 48, "n_layer": 2, "n_head": 4, "d_inner": 40}),
]

WHISPER = {
    "d_model": 48,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 40,
    "decoder_ffn_dim": 40,
    "max_source_positions": TOKENS,
    "max_target_positions": 64,
    "num_mel_bins": 8,
    "decoder_start_token_id": 1,
}
# Positions are in their embeddings, where none can be made wrong by a plan: they are judged in all modes only.
WITHOUT_SCHEMES = [
    family("opt", {"ffn_dim": 40, "word_embed_proj_dim": 48}),
    family("gpt2", GPT),
    family("bert", head="AutoModelForMaskedLM"),
    family("whisper", WHISPER, features=(8, 2 * TOKENS), head="WhisperForConditionalGeneration"),
]
