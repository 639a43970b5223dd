#!/usr/bin/env python3
"""Writes src/plan/class_defaults.cpp: what a config key means when the file leaves it out.

The values are read from the configuration classes of the installed transformers: the declared field
defaults, the fallbacks written into a class's __post_init__ and convert_rope_params_to_dict, and the
class's default base. Values that a class derives from other keys are not defaults and stay out
(num_key_value_heads from num_attention_heads, layer_types from a pattern). Needs no torch.
"""

import ast
import dataclasses
import inspect
import json
import textwrap
from pathlib import Path

import transformers

OUTPUT = Path(__file__).resolve().parent.parent / "src" / "plan" / "class_defaults.cpp"

# Model type in the file -> the class that decides. A composite model gives its text decoder.
CLASSES = {
    "albert": "AlbertConfig",
    "bart": "BartConfig",
    "bert": "BertConfig",
    "bert-generation": "BertGenerationConfig",
    "biogpt": "BioGptConfig",
    "blenderbot": "BlenderbotConfig",
    "blenderbot-small": "BlenderbotSmallConfig",
    "bloom": "BloomConfig",
    "camembert": "CamembertConfig",
    "codegen": "CodeGenConfig",
    "cohere": "CohereConfig",
    "cohere2": "Cohere2Config",
    "data2vec-text": "Data2VecTextConfig",
    "dbrx": "DbrxConfig",
    "deberta": "DebertaConfig",
    "deberta-v2": "DebertaV2Config",
    "deepseek_v2": "DeepseekV2Config",
    "deepseek_v3": "DeepseekV3Config",
    "deepseek_v32": "DeepseekV32Config",
    "deepseek_v4": "DeepseekV4Config",
    "distilbert": "DistilBertConfig",
    "dpr": "DPRConfig",
    "electra": "ElectraConfig",
    "esm": "EsmConfig",
    "exaone4": "Exaone4Config",
    "falcon": "FalconConfig",
    "gemma": "GemmaConfig",
    "gemma2": "Gemma2Config",
    "gemma3": "Gemma3TextConfig",
    "gemma3_text": "Gemma3TextConfig",
    "gemma4": "Gemma4TextConfig",
    "gemma4_text": "Gemma4TextConfig",
    "git": "GitConfig",
    "glm": "GlmConfig",
    "glm4": "Glm4Config",
    "glm4_moe": "Glm4MoeConfig",
    "glm4v": "Glm4vTextConfig",
    "glm4v_text": "Glm4vTextConfig",
    "glm_moe_dsa": "GlmMoeDsaConfig",
    "gpt2": "GPT2Config",
    "gpt_bigcode": "GPTBigCodeConfig",
    "gpt_neo": "GPTNeoConfig",
    "gpt_neox": "GPTNeoXConfig",
    "gpt_neox_reward_model": "GPTNeoXConfig",  # Open-Assistant's class derives from it
    "gpt_oss": "GptOssConfig",
    "gptj": "GPTJConfig",
    "granite": "GraniteConfig",
    "granitemoe": "GraniteMoeConfig",
    "granitemoehybrid": "GraniteMoeHybridConfig",
    "internlm3": "InternLM3Config",
    "kimi_k2": "DeepseekV3Config",  # its files declare DeepseekV3ForCausalLM
    "kimi_linear": "KimiLinearConfig",
    "llama": "LlamaConfig",
    "llama4": "Llama4TextConfig",
    "llama4_text": "Llama4TextConfig",
    "longformer": "LongformerConfig",
    "m2m_100": "M2M100Config",
    "marian": "MarianConfig",
    "mbart": "MBartConfig",
    "megatron-bert": "MegatronBertConfig",
    "mimo": "Qwen2Config",  # its published MiMoConfig adds nothing to positions
    "minicpm3": "MiniCPM3Config",
    "minimax_m2": "MiniMaxM2Config",
    "minimax_m3": "MiniMaxM3VLTextConfig",  # not registered; the class reads these very keys
    "minimax_m3_vl_text": "MiniMaxM3VLTextConfig",
    "ministral3": "Ministral3Config",
    "mistral": "MistralConfig",
    "mixtral": "MixtralConfig",
    "mllama": "MllamaTextConfig",
    "mllama_text_model": "MllamaTextConfig",
    "modernbert": "ModernBertConfig",
    "mpnet": "MPNetConfig",
    "mpt": "MptConfig",
    "mt5": "MT5Config",
    "musicgen_decoder": "MusicgenDecoderConfig",
    "nemotron_h": "NemotronHConfig",
    "nomic_bert": "NomicBertConfig",
    "olmo": "OlmoConfig",
    "olmo2": "Olmo2Config",
    "olmo3": "Olmo3Config",
    "olmoe": "OlmoeConfig",
    "opt": "OPTConfig",
    "pegasus": "PegasusConfig",
    "phi": "PhiConfig",
    "phi3": "Phi3Config",
    "phimoe": "PhimoeConfig",
    "qwen2": "Qwen2Config",
    "qwen2_5_vl": "Qwen2_5_VLTextConfig",
    "qwen2_5_vl_text": "Qwen2_5_VLTextConfig",
    "qwen2_moe": "Qwen2MoeConfig",
    "qwen2_vl": "Qwen2VLTextConfig",
    "qwen2_vl_text": "Qwen2VLTextConfig",
    "qwen3": "Qwen3Config",
    "qwen3_5": "Qwen3_5TextConfig",
    "qwen3_5_moe": "Qwen3_5MoeTextConfig",
    "qwen3_5_moe_text": "Qwen3_5MoeTextConfig",
    "qwen3_5_text": "Qwen3_5TextConfig",
    "qwen3_moe": "Qwen3MoeConfig",
    "qwen3_vl": "Qwen3VLTextConfig",
    "qwen3_vl_moe": "Qwen3VLMoeTextConfig",
    "qwen3_vl_moe_text": "Qwen3VLMoeTextConfig",
    "qwen3_vl_text": "Qwen3VLTextConfig",
    "reformer": "ReformerConfig",
    "roberta": "RobertaConfig",
    "roberta-prelayernorm": "RobertaPreLayerNormConfig",
    "smollm3": "SmolLM3Config",
    "speech_to_text": "Speech2TextConfig",
    "stablelm": "StableLmConfig",
    "step3p5": "Step3p7TextConfig",
    "step3p7": "Step3p7TextConfig",
    "t5": "T5Config",
    "umt5": "UMT5Config",
    "unlimited-ocr": "UnlimitedOcrTextConfig",
    "unlimited_ocr": "UnlimitedOcrTextConfig",
    "unlimited_ocr_text": "UnlimitedOcrTextConfig",
    "whisper": "WhisperConfig",
    "xglm": "XGLMConfig",
    "xlm-roberta": "XLMRobertaConfig",
    "xlm-roberta-xl": "XLMRobertaXLConfig",
    "xlnet": "XLNetConfig",
}

# Keys that bear on positions, masks, scores or the shape of a head.
KEYS = set(
    """
    hidden_size num_hidden_layers num_attention_heads num_key_value_heads head_dim
    n_embd n_layer n_head n_positions
    qk_nope_head_dim qk_rope_head_dim qk_head_dim v_head_dim use_mla
    max_position_embeddings original_max_position_embeddings
    rope_theta rope_local_base_freq rope_parameters rope_interleave rope_ratio
    partial_rotary_factor rotary_dim rotary_pct rotary_emb_base
    sliding_window use_sliding_window max_window_layers sliding_window_pattern layer_types
    no_rope_layers no_rope_layer_interval attention_chunk_size
    attn_temperature_tuning attn_scale floor_scale
    query_pre_attn_scalar attention_multiplier attn_logit_softcapping
    multi_query new_decoder_architecture alibi position_embedding_type d_model n_heads n_layers max_seq_len
    use_qk_norm qk_layernorm use_bidirectional_attention is_causal
    full_attention_interval cross_attention_layers num_kv_shared_layers
    global_head_dim num_global_key_value_heads attention_k_eq_v
    index_n_heads index_head_dim index_topk index_topk_freq index_skip_topk_offset
    index_topk_blocks index_block_size index_local_blocks
    compress_rope_theta
    d_model dim n_layers n_heads num_layers num_decoder_layers num_heads encoder_layers decoder_layers
    encoder_attention_heads decoder_attention_heads attention_heads d_kv d_head attention_head_size
    max_source_positions max_target_positions max_seq_len n_ctx pad_token_id type_vocab_size scale_embedding
    position_embedding_type position_biased_input sinusoidal_pos_embds axial_pos_embds axial_pos_shape
    axial_pos_embds_dim learned_pos_emb alibi alibi_bias_max relative_attention_num_buckets
    relative_attention_max_distance clamp_len bi_data relative_attention pos_att_type max_relative_positions
    scale_attn_weights scale_attn_by_inverse_layer_idx softmax_scale multi_query is_decoder attn_type same_length prefix_lm
    qk_ln add_cross_attention global_attn_every_n_layers local_attention global_rope_theta local_rope_theta
    attention_types window_size attention_window attn_layers local_attn_chunk_length local_num_chunks_before
    local_num_chunks_after lsh_attn_chunk_length lsh_num_chunks_before lsh_num_chunks_after num_hashes num_buckets
    """.split()
)


def own_function(cls, name):
    """The syntax tree of a method that the class itself defines, or None."""
    if name not in vars(cls):
        return None
    return ast.parse(textwrap.dedent(inspect.getsource(vars(cls)[name]))).body[0]


def constant(node, cls, local=()):
    """The value of a literal, of a local name for one, or of the class's default base; ValueError where it depends on
    the config."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr="default_theta"):
            return cls.default_theta
        case ast.Subscript(value=container, slice=ast.Constant(value=key)):
            return constant(container, cls)[key]
        case ast.Name(id=name) if name in local:
            return constant(local[name], cls)
    return ast.literal_eval(node)


def local_values(function):
    """{name: tree} of what a function assigns to its local names."""
    found = {}
    for node in ast.walk(function) if function else ():
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                found[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value:
                found[name] = value
    return found


def fallbacks(cls):
    """{key: value} of kwargs.get, pop and setdefault with a fallback, and of "if self.key is None" with a literal."""
    found = {}

    def add(key, node):
        try:
            value = constant(node, cls, local)
        except ValueError:
            return
        if found.setdefault(key, value) != value:
            raise SystemExit(f"{cls.__name__}: two fallbacks for {key}: {found[key]} and {value}")

    for name in ("__post_init__", "convert_rope_params_to_dict"):
        function = own_function(cls, name)
        local = local_values(function)
        for node in ast.walk(function) if function else ():
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="kwargs"), attr="get" | "pop" | "setdefault"),
                    args=[ast.Constant(value=str(key)), fallback],
                ):
                    add(key, fallback)
                case ast.If(
                    test=ast.Compare(
                        left=ast.Attribute(value=ast.Name(id="self"), attr=tested),
                        ops=[ast.Is()],
                        comparators=[ast.Constant(value=None)],
                    ),
                    body=[ast.Assign(targets=[ast.Attribute(attr=assigned)], value=value)],
                ) if tested == assigned:
                    add(assigned, value)
    return found


def defaults_of(cls):
    """{key: value} of one class, the keys of KEYS only."""
    values = {}
    for field in dataclasses.fields(cls):
        if field.default is not dataclasses.MISSING:
            values[field.name] = field.default
        elif field.default_factory is not dataclasses.MISSING:
            values[field.name] = field.default_factory()
    base = cls.default_theta  # a number, or one per kind of layer (Gemma 3)
    values["rope_theta"] = base["global"] if isinstance(base, dict) else base
    for key, value in fallbacks(cls).items():
        if values.get(key) is None:
            values[key] = value
    if values.get("partial_rotary_factor") is None:
        values["partial_rotary_factor"] = getattr(cls, "default_partial_rotary_factor", None)
    if nested := cls.sub_configs.get("attn_config"):
        values |= {key: value for key, value in defaults_of(nested).items() if values.get(key) is None}
    parameters = values.get("rope_parameters")
    if parameters and all(isinstance(value, dict) for value in parameters.values()):
        del values["rope_theta"]  # each kind of layer has its own
    for canonical, declared in cls.attribute_map.items():
        values.setdefault(canonical, values.get(declared))
    return {key: value for key, value in values.items() if key in KEYS and value is not None}


def rows():
    for model_type, class_name in sorted(CLASSES.items()):
        for key, value in sorted(defaults_of(getattr(transformers, class_name)).items()):
            yield model_type, class_name, key, json.dumps(value)


def main():
    version = transformers.__version__
    table = "\n".join("    {%s}," % ", ".join(json.dumps(cell) for cell in row) for row in rows())
    OUTPUT.write_text(
        f"""\
// Made by scripts/class_defaults.py from transformers {version}; do not edit.
#include "plan/class_defaults.h"

#include <algorithm>
#include <iterator>

namespace posenc::plan {{
namespace {{

// clang-format off
constexpr ClassDefault kClassDefaults[] = {{
{table}
}};
// clang-format on

constexpr bool out_of_order(const ClassDefault& a, const ClassDefault& b) {{
    return !comes_before(a, b.model_type, b.key);
}}
static_assert(std::ranges::adjacent_find(kClassDefaults, out_of_order) == std::ranges::end(kClassDefaults));

}}  // namespace

std::span<const ClassDefault> class_defaults() noexcept {{ return kClassDefaults; }}
std::string_view class_defaults_version() noexcept {{ return "{version}"; }}

}}  // namespace posenc::plan
""",
        encoding="ascii",
    )
    print(f"class_defaults.cpp: transformers {version}")


if __name__ == "__main__":
    main()
