"""Configurations to judge: the defaults of each type, and what is given where its class cannot run by them.

What is given is no fact of position, but for image sizes: patches are so few that a run is short, and the plan reads
the same number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import transformers
from transformers import PretrainedConfig, conversion_mapping

_MOST_PATCHES = 16  # of a side
_FEW_PATCHES = 8
_MOST_FRAMES = 64  # of a sound, where a table has so many rows
_CHUNKS = ("mamba_chunk_size", "chunk_size", "mamba2_chunk_size", "ssm_chunk_size")

_EXPERTS = {"num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": 704}
_HALF = {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5}
_BY_TYPE = {
    "layer_types": ["sliding_attention", "sliding_attention", "sliding_attention", "full_attention"] * 10,
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 50000.0, "mrope_section": [24, 20, 20]},
        "full_attention": None,
    },
}
_OF_IMAGES = {
    "rope_type": "xdrope",
    "rope_theta": 10000.0,
    "alpha": 1000.0,
    "factor": 1.0,
    "xdrope_section": [16, 16, 16, 16],
}
_INDEXED = {
    "indexer_n_heads": 4,
    "indexer_kv_heads": 1,
    "indexer_head_dim": 128,
    "indexer_budget": 512,
    "indexer_compress_ratio": 4,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000000.0, "partial_rotary_factor": 0.25},
}
_SPANS = [f"{of}_{which}ratio" for of in ("vertical_long_to_small_conv", "horizontal_small_to_long_conv",
                                          "symmetric_conv_long") for which in ("long", "mid", "short")]
_CONVOLUTIONS = {"intraclass_block_config": dict.fromkeys(("reduce_channel", "return_channel", *_SPANS), [1, 1, 0])}
# Why: the defaults of the class leave these at None, or contradict one another.
_GIVEN: dict[str, dict[str, Any]] = {
    "aya_vision": {
        "vision_config": {
            "model_type": "siglip_vision_model",
            "hidden_size": 1152,
            "num_hidden_layers": 27,
            "num_attention_heads": 16,
            "image_size": 384,
            "patch_size": 14,
        }
    },
    "deepseek_ocr2": {"text_config": {"mlp_layer_types": ["dense"] * 32}},
    "glm46v": {"text_config": {"model_type": "glm4v_text", "rope_parameters": _HALF}},
    "glm4v": {"text_config": {"rope_parameters": _HALF}},
    "glm4v_moe": {"text_config": {"head_dim": 128}},
    "glm_image": {"text_config": {"rope_parameters": _HALF}},
    "hunyuan_vl": {
        "text_config": {
            "head_dim": 128,
            "rope_parameters": _OF_IMAGES,
        }
    },
    "step3p7": {"text_config": {"sliding_window": 512}},
    "granite4_vision": {"downsample_rate": "1/7", "deepstack_layer_map": [[-2, 0]]},
    "autoformer": {"prediction_length": 8},
    "informer": {"prediction_length": 8},
    "time_series_transformer": {"prediction_length": 8},
    "chameleon": {"vocabulary_map": {"<image>": 4}},
    "emu3": {"vocabulary_map": {"<image>": 4}},
    "deepseek_v2": {"num_experts_per_tok": 2, "n_routed_experts": 8, "n_group": 1, "topk_group": 1},
    "dots1": {"n_routed_experts": 8, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1},
    "esm": {"vocab_size": 33, "pad_token_id": 1, "mask_token_id": 32},
    "dbrx": {"attn_config": {"rope_theta": 10000.0, "kv_n_heads": 8, "clip_qkv": 8}},
    "cohere_compass": {"text_config": _BY_TYPE},
    "cohere_compass_text": _BY_TYPE,
    "deepseek_ocr2_text": {"mlp_layer_types": ["dense"] * 32},
    "diffusion_gemma": {"text_config": _EXPERTS},
    "diffusion_gemma_text": _EXPERTS,
    "glm4_moe": {"head_dim": 128},
    "glm4v_moe_text": {"head_dim": 128},
    "glm4v_text": {"rope_parameters": _HALF},
    "glm_image_text": {"rope_parameters": _HALF},
    "glmga": {"text_config": {"model_type": "glm4v_text", "rope_parameters": _HALF}},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "hunyuan_vl_text": {"head_dim": 128, "rope_parameters": _OF_IMAGES},
    "ministral": {"head_dim": 128},
    "step3p5": {"sliding_window": 512},
    "vitmatte": {"fusion_hidden_sizes": [256, 128, 64, 32]},
    "xmod": {"default_language": "en_XX"},
    "qwen4_exp": {"text_config": _INDEXED},
    "qwen4_exp_text": _INDEXED,
    "t5gemma2_encoder": {"text_config": {"dropout_rate": 0.0}},
    "t5gemma2_decoder": {"dropout_rate": 0.0},
    "t5gemma2_text": {"dropout_rate": 0.0},
    "qwen3_omni_moe_text": {"head_dim": 128},
    "qwen3_omni_moe_thinker": {"text_config": {"head_dim": 128}},
    "qwen3_omni_moe": {
        "thinker_config": {"text_config": {"head_dim": 128}},
        "talker_config": {"text_config": {"shared_expert_intermediate_size": 768}, "spatial_merge_size": 2},
    },
    "qwen3_omni_moe_talker_text": {"shared_expert_intermediate_size": 768},
    "moonshine_streaming": {"num_key_value_heads": 8},
    "rwkv": {"rescale_every": 0},  # else weights are divided in place, which the ones that stand in refuse
    "speecht5": {"architectures": ["SpeechT5ForSpeechToText"]},
    "pp_ocrv6_medium_det": _CONVOLUTIONS,
    "nemotron": {"num_key_value_heads": 48},
    "lw_detr": {"projector_scale_factors": [1.0]},
    "lfm2_moe": {"layer_types": ["conv", "conv", "full_attention", "conv"] * 8},
}
# Whose eager attention is not what checkpoints were trained with: Falcon's adds ALiBi twice, BLT's has no mask,
# Qwen2.5-Omni's adds 1 where it should mask, Nemotron's streaming encoder hides what it should see.
ATTENTION = dict.fromkeys(
    (
        *("falcon", "blt_global_transformer", "qwen2_5_omni", "qwen2_5_omni_dit", "qwen2_5_omni_token2wav"),
        *("nemotron_asr_streaming_encoder", "nemotron_asr_streaming"),
    ),
    "sdpa",
)
_WITHOUT_TIMM = ("detr", "conditional_detr", "dab-detr", "deformable_detr", "table-transformer")


def given(model_type: str) -> dict[str, Any]:
    """What a type's class needs to run by its defaults."""
    return _GIVEN.get(model_type, {})


def config(model_type: str, keys: dict[str, Any] | None = None) -> Any:
    chosen = {**given(model_type), **(keys or {})}
    if model_type in _WITHOUT_TIMM:
        of = transformers.ResNetConfig(out_features=["stage2", "stage3", "stage4"])
        chosen |= {"use_timm_backbone": False, "use_pretrained_backbone": False, "backbone": None, "backbone_config": of}
    made = transformers.CONFIG_MAPPING[model_type](**chosen)
    for of in all_configs(made):
        _make_small(of)
    return made


def variants(model_type: str) -> list[tuple[str, dict[str, Any]]]:
    """The default, and each other kind of layer that the class has by a switch of its configuration."""
    found: list[tuple[str, dict[str, Any]]] = [(model_type, {})]
    try:
        of = config(model_type)
    except Exception:  # whatever a class says against its own defaults; it is judged, and says so there
        return found
    for switch in ("use_sliding_window", "alibi"):
        if getattr(of, switch, None) is False:
            found.append((f"{model_type}, {switch}", {switch: True}))
    return found


# Whose class puts neighbours of the first head apart, in place, before it rotates halves.
_PERMUTED_AS_IT_RUNS = ("qwen2_5_omni", "qwen2_5_omni_dit", "qwen2_5_omni_token2wav")


def is_permuted_at_load(model_type: str) -> bool:
    """Whether transformers moves channels of q and k as it loads: then pairs in a class are not a file's."""
    if model_type in _PERMUTED_AS_IT_RUNS:
        return True
    for end in range(len(model_type), 2, -1):
        mapping = conversion_mapping.get_checkpoint_conversion_mapping(model_type[:end])
        if mapping is not None:
            operations = (of for entry in mapping for of in getattr(entry, "operations", None) or ())
            return any("PermuteForRope" in type(of).__name__ for of in operations)
    return False


def all_configs(config: Any) -> Iterator[Any]:
    yield config
    for value in list(vars(config).values()):
        if isinstance(value, PretrainedConfig):
            yield from all_configs(value)


# Keys of pyramids: a stage's grid is half that of the one before, and of few patches the last would have none.
_OF_STAGES = ("depths", "depth", "output_stride", "blocks_per_stage")


def _make_small(config: Any) -> None:
    if getattr(config, "backbone_feature_sizes", None):  # what prompts are laid over is the last of them (SAM 2)
        levels = len(config.backbone_feature_sizes)
        config.backbone_feature_sizes = [[_FEW_PATCHES << (levels - 1 - level)] * 2 for level in range(levels)]
    is_pyramid = any(isinstance(getattr(config, name, None), (list, tuple)) for name in _OF_STAGES)
    if is_pyramid or hasattr(config, "output_stride"):
        return
    levels = getattr(config, "channel_multiplier", None)
    if levels and hasattr(config, "num_patches"):  # a tokenizer's tokens, a side
        config.num_patches = 4
        config.image_size = 4 * 2 ** (len(levels) - 1)
        return
    patch = _first(getattr(config, "patch_size", None))
    side = getattr(config, "image_size", None)
    if isinstance(patch, int) and patch and isinstance(_first(side), int) and _first(side) // patch > _MOST_PATCHES:
        small = patch * _FEW_PATCHES
        config.image_size = small if isinstance(side, int) else [small for _ in side or ()]
        if hasattr(config, "image_embedding_size"):  # what prompts are laid over
            config.image_embedding_size = _FEW_PATCHES
    if isinstance(getattr(config, "max_source_positions", None), int) and config.max_source_positions > _MOST_FRAMES:
        config.max_source_positions = _MOST_FRAMES
    for name in _CHUNKS:
        if "mamba" in name or "ssm" in name or hasattr(config, "ssm_cfg") or hasattr(config, "state_size"):
            if isinstance(getattr(config, name, None), int):
                setattr(config, name, 8)


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, (list, tuple)) and value else value
