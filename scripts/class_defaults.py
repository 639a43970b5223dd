#!/usr/bin/env python3
"""Writes src/plan/families/class_defaults.cpp: what a config key means when the file leaves it out, a row for each
configuration class; and wrapper_texts.cpp beside it: where classes of several parts look for their text.

The values are read from the configuration classes of the installed transformers: the declared field
defaults, the fallbacks written into a class's __post_init__ and convert_rope_params_to_dict, and the
class's default base. Values that a class derives from other keys are not defaults and stay out
(num_key_value_heads from num_attention_heads, layer_types from a pattern). Beside them stand the other keys that the
class reads (class_keys.py). Needs no torch.
"""

import ast
import dataclasses
import inspect
import json
import textwrap
from pathlib import Path

import transformers
from class_keys import MOVED, ROPE, aliases, key_names, keys_that_are_read

OUT = Path(__file__).resolve().parent.parent / "src/plan/families/class_defaults.cpp"
WRAPPERS = OUT.with_name("wrapper_texts.cpp")

# Model type in the file -> the class that decides. A composite model gives its text decoder.
CLASSES = dict(line.split("\t") for line in Path(__file__).with_suffix(".tsv").read_text().splitlines()[1:])

# Keys that bear on positions, masks, scores or the shape of a head.
KEYS = set(
    """
    hidden_size num_hidden_layers num_attention_heads num_key_value_heads head_dim
    n_embd n_layer n_head n_positions
    H_cycles L_cycles num_layers_per_stack q_lora_rank
    resampler_depth resampler_heads resampler_dim_head aligner_num_add_layers
    swa_num_attention_heads swa_num_key_value_heads swa_head_dim d_rel rel_extent log_scaling_n_floor log_scaling_alpha
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
    image_size patch_size embed_dim num_global_layers num_position_embeddings num_patches position_embedding_size
    max_source_positions pos_emb_height pos_emb_width pos_emb_time max_num_tiles supported_aspect_ratios
    use_absolute_position_embeddings use_abs_pos use_rel_pos window_size fullatt_block_indexes global_attn_indexes
    spatial_merge_size window_kernel_size insert_layer_id
    attention_context_left attention_context_right attention_logit_cap depths
    d_model dim n_layers n_heads num_layers num_decoder_layers num_heads encoder_layers decoder_layers
    encoder_attention_heads decoder_attention_heads attention_heads d_kv d_head attention_head_size
    max_source_positions max_target_positions max_seq_len n_ctx pad_token_id type_vocab_size scale_embedding
    position_embedding_type position_biased_input sinusoidal_pos_embds axial_pos_embds axial_pos_shape
    axial_pos_embds_dim learned_pos_emb alibi alibi_bias_max relative_attention_num_buckets
    relative_attention_max_distance clamp_len bi_data relative_attention pos_att_type max_relative_positions
    scale_attn_weights scale_attn_by_inverse_layer_idx softmax_scale multi_query is_decoder attn_type same_length
    block_types attn_layer_period attn_layer_offset attn_layer_indices layers_block_type key_multiplier use_mem_rope
    attention_head_dim attention_window_size kv_channels local_radius attention_type encoder_attention_type
    rescale_embeddings max_encoder_position_embeddings max_decoder_position_embeddings
    prefix_lm qk_ln add_cross_attention global_attn_every_n_layers local_attention global_rope_theta local_rope_theta
    attention_types window_size attention_window attn_layers local_attn_chunk_length local_num_chunks_before
    num_conv_pos_embeddings num_conv_pos_embedding_groups conv_pos_kernel_size squeeze_factor position_embeddings_type
    rotary_embedding_base left_max_position_embeddings right_max_position_embeddings encoder_max_relative_position
    max_bucket_distance max_speech_positions max_text_positions speech_encoder_layers speech_encoder_attention_heads
    speech_encoder_chunk_size speech_encoder_left_chunk_num t2u_encoder_layers t2u_encoder_attention_heads
    t2u_decoder_layers t2u_decoder_attention_heads t2u_max_position_embeddings t2u_pad_token_id
    encoder_num_attention_heads decoder_num_attention_heads add_adapter num_adapter_layers output_hidden_size
    position_buckets share_att_key block_size encoder_num_hidden_layers decoder_num_hidden_layers
    encoder_num_key_value_heads decoder_num_key_value_heads
    emb_dim sinusoidal_embeddings causal true_hidden_size intra_bottleneck_size head_ratio num_hash_buckets
    local_transformer_stride max_2d_position_embeddings coordinate_size shape_size use_learned_position_embeddings
    layers index_kpool use_repmixer_blocks scale_sqrt_depth max_num_patches qk_scale_factor layer_group_size
    prefix_dense_sliding_window_pattern cross_attn_all_layers local_attention_window_len
    context_length prediction_length patch_length patch_stride use_cls_token max_length num_mel_bins frequency_stride
    time_stride context_size max_pos_emb dim_head hidden_dim num_blocks bias_max_distance bias_symmetric n_window
    n_window_infer default_num_lookahead_tokens cross_num_attention_heads cross_num_key_value_heads cross_head_dim
    use_rotary_embedding projection_dim num_frames sliding_windows look_ahead_layers look_backward_layers use_positional_embedding
    seq_len max_image_size max_img_size n_cls_tokens posemb_grid_size is_native num_frames tubelet_size
    cross_attention_frequency use_qformer_text_input cross_layer_interval num_spatial_layers num_temporal_layers
    num_auxiliary_layers mit_num_hidden_layers mit_num_attention_heads mit_hidden_size prompt_layers
    prompt_num_attention_heads remove_last_layer
    local_num_chunks_after lsh_attn_chunk_length lsh_num_chunks_before lsh_num_chunks_after num_hashes num_buckets
    context_length prediction_length patch_length patch_stride use_cls_token max_length num_mel_bins
    frequency_stride time_stride context_size max_pos_emb dim_head hidden_dim num_blocks bias_max_distance
    bias_symmetric n_window n_window_infer default_num_lookahead_tokens cross_num_attention_heads
    cross_num_key_value_heads cross_head_dim use_rotary_embedding projection_dim num_frames sliding_windows
    look_ahead_layers look_backward_layers use_positional_embedding
    pretrain_image_size use_absolute_embeddings use_relative_position_embeddings window_block_indices
    window_block_indexes num_windows_side num_windows blocks_per_stage num_attention_heads_per_stage
    embed_dim_per_stage hidden_sizes embed_dim_multiplier sr_ratios sequence_reduction_ratios stride_kv
    linear_attention patch_sizes window_size_per_stage window_positional_embedding_background_size
    global_attention_blocks num_query_pool_stages num_query_pool query_stride masked_unit_size masked_unit_attention
    resampler_depth resampler_n_heads resampler_head_dim base_channels channel_multiplier num_res_blocks
    attn_resolutions resolution n_attn_blocks num_group_tokens has_relative_attention_bias has_spatial_attention_bias
    rel_pos_bins max_rel_pos rel_2d_pos_bins max_rel_2d_pos input_size visual_embed max_grid_row_position_embeddings
    max_grid_col_position_embeddings use_relative_position_bias use_shared_relative_position_bias
    num_key_value_heads_per_layer num_key_value_attention_heads num_first_full_attention_layers
    num_last_full_attention_layers patch_embeds_hidden_size
    num_queries keep_query_pos temperature_height temperature_width positional_encoding_temperature encode_proj_layers
    encoder_hidden_dim decoder_self_attention_heads two_stage num_multimask_outputs attention_downsample_rate
    num_detection_tokens use_mid_position_embeddings query_dec_layers
    l_layers r_layers x_layers visual_pos_dim gnn_layers_types max_ep_len encoder_ffn_dim
    conf_num_hidden_layers conf_num_attention_heads conf_attention_chunk_size conf_attention_context_left
    conf_attention_context_right conf_attention_logit_cap
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
        case ast.Dict(keys=keys, values=values) if all(keys):
            return {constant(key, cls, local): constant(value, cls, local) for key, value in zip(keys, values)}
        case ast.Name(id=name) if name in local:
            return constant(local[name], cls)
        case ast.BinOp(left=ast.List() as one, op=ast.Mult(), right=ast.Constant(value=int(times))):
            return constant(one, cls) * times
    return ast.literal_eval(node)


def known_entries(node, cls, local):
    """A dictionary without the entries that depend on the config: they follow from other keys. Else the node."""
    if not isinstance(node, ast.Dict) or not all(node.keys):
        return node
    kept = []
    for key, value in zip(node.keys, node.values):
        try:
            constant(value, cls, local)
            kept.append((key, value))
        except ValueError:
            pass
    return ast.Dict(keys=[key for key, _ in kept], values=[value for _, value in kept])


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
    """{key: value} of kwargs.get, pop and setdefault with a fallback, and of "if self.key is None" with a literal, as a
    statement or within one."""
    found = {}

    def add(key, node):
        try:
            value = constant(known_entries(node, cls, local), cls, local)
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
                case ast.Assign(
                    targets=[ast.Subscript(value=ast.Name(id="kwargs"), slice=ast.Constant(value=str(key)))],
                    value=fixed,
                ):
                    add(key, fixed)
                case ast.If(
                    test=ast.Compare(
                        left=ast.Attribute(value=ast.Name(id="self"), attr=tested),
                        ops=[ast.Is()],
                        comparators=[ast.Constant(value=None)],
                    ),
                    body=[ast.Assign(targets=[ast.Attribute(attr=assigned)], value=value)],
                ) if tested == assigned:
                    add(assigned, value)
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="self"), attr=assigned)],
                    value=ast.IfExp(
                        test=ast.Compare(left=ast.Attribute(attr=tested), ops=[ast.IsNot()]),
                        body=ast.Attribute(attr=kept),
                        orelse=value,
                    ),
                ) if tested == assigned == kept != "rope_parameters":  # which later lines fill
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
    if isinstance(base, dict) and "global" not in base:  # by kind of layer, as the parts of a head are (NeoMME)
        parts = getattr(cls, "default_partial_rotary_factor", None) or {}
        values["rope_parameters"] = {
            kind: {"rope_theta": theta} | ({"partial_rotary_factor": parts[kind]} if kind in parts else {})
            for kind, theta in base.items()
        }
    elif values.get("rope_theta") is None:
        values["rope_theta"] = base["global"] if isinstance(base, dict) else base
    for key, value in fallbacks(cls).items():
        if values.get(key) is None:
            values[key] = value
    if values.get("partial_rotary_factor") is None:
        part = getattr(cls, "default_partial_rotary_factor", None)
        values["partial_rotary_factor"] = None if isinstance(part, dict) else part
    if nested := cls.sub_configs.get("attn_config"):
        values |= {key: value for key, value in defaults_of(nested).items() if values.get(key) is None}
    parameters = values.get("rope_parameters")
    if parameters and all(isinstance(value, dict) for value in parameters.values()):
        del values["rope_theta"]  # each kind of layer has its own
    for canonical, declared in cls.attribute_map.items():
        values.setdefault(canonical, values.get(declared))
    return {key: value for key, value in values.items() if key in KEYS and value is not None}


def row(model_type, class_name):
    """One row: the values as "key=JSON", in the order of their keys, "; " between them; other keys and aliases."""
    cls = getattr(transformers, class_name)
    values = defaults_of(cls)
    defaults = [f"{key}={json.dumps(value)}" for key, value in sorted(values.items())]
    if any(";" in text for text in defaults):
        raise SystemExit(f"{class_name}: a value has the character that stands between values")
    nested = cls.sub_configs.get("attn_config")
    of_nested = keys_that_are_read(nested, is_attn_config=True) if nested else set()
    others = " ".join(sorted(keys_that_are_read(cls) - (set(values) - MOVED - {ROPE})))
    renamed = " ".join(f"{alias}={key}" for alias, key in sorted(aliases(cls).items()))
    fields = [others, renamed, " ".join(sorted(of_nested))]
    while len(fields) > 1 and not fields[-1]:
        fields.pop()
    names = ", ".join(f'"{field}"' for field in fields)
    return f'    {{"{model_type}", "{class_name}", R"({"; ".join(defaults)})", {names}}},'


# Where a wrapper keeps the configuration of its text, best first.
TEXT_PARTS = ("text_config", "llm_config", "language_config", "thinker_config")


def takes_flat(model_type, cls, part):
    """Whether a class makes the configuration of its text of keys that stand beside it."""
    try:
        made = cls.from_dict({"model_type": model_type, "num_hidden_layers": 5})
    except Exception:  # whatever a class says against five layers
        return False
    return getattr(getattr(made, part), "num_hidden_layers", None) == 5


def wrapper_rows():
    """A row for each class that has its text's configuration as a part: whether keys beside the part count, which keys
    of the part it has values for itself, and whether it puts them into a part that lacks them."""
    for model_type in sorted(transformers.CONFIG_MAPPING):
        cls = transformers.CONFIG_MAPPING[model_type]
        part = next((name for name in TEXT_PARTS if name in cls.sub_configs), None)
        if part is None:
            continue
        own = getattr((getattr(cls, "sub_configs_defaults", None) or {}).get(part), "init_kwargs", None) or {}
        names = " ".join(key for key in own if key in key_names() | {ROPE})
        source = inspect.getsource(cls.__post_init__) if "__post_init__" in vars(cls) else ""
        merges = f'sub_configs_defaults["{part}"].init_kwargs, **' in source
        flags = f"{str(merges).lower()}, {str(takes_flat(model_type, cls, part)).lower()}"
        yield f'    {{"{model_type}", "{part}", "{names}", {flags}}},'


def main():
    version = transformers.__version__
    transformers.logging.set_verbosity_error()
    wrappers = "\n".join(wrapper_rows())
    table = "\n".join(row(model_type, class_name) for model_type, class_name in sorted(CLASSES.items()))
    OUT.write_text(
        f"""\
// Made by scripts/class_defaults.py from transformers {version}; do not edit.
#include "plan/families/class_defaults.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace posenc::plan {{
namespace {{

// clang-format off
constexpr ClassDefaults kClassDefaults[] = {{
{table}
}};
// clang-format on

static_assert(std::ranges::adjacent_find(kClassDefaults, std::ranges::greater_equal(), &ClassDefaults::model_type) ==
              std::ranges::end(kClassDefaults));

}}  // namespace

std::span<const ClassDefaults> class_defaults() noexcept {{ return kClassDefaults; }}
std::string_view class_defaults_version() noexcept {{ return "{version}"; }}

}}  // namespace posenc::plan
""",
        encoding="ascii",
    )
    WRAPPERS.write_text(
        f"""\
// Made by scripts/class_defaults.py from transformers {version}; do not edit.
#include "plan/families/class_defaults.h"

namespace posenc::plan {{
namespace {{

// clang-format off
constexpr WrapperText kWrapperTexts[] = {{
{wrappers}
}};
// clang-format on

}}  // namespace

std::span<const WrapperText> wrapper_texts() noexcept {{ return kWrapperTexts; }}

}}  // namespace posenc::plan
""",
        encoding="ascii",
    )
    print(f"class_defaults.cpp, wrapper_texts.cpp: transformers {version}")


if __name__ == "__main__":
    main()
