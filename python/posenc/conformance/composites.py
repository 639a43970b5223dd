"""Whole models with a tower: a text of which some tokens are an image or a sound, tiny as the families are.

Tokens stand in the order 3 of text, the image's, then text again; a prompt of FIRST tokens has all of the image.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import Tensor

from .families import BATCH, SMALL, TOKENS, VOCABULARY, Family, rope

FIRST = 8  # tokens: the whole image and text before and after it
BEFORE = 3  # tokens of text before it
IMAGE = 28  # the token that an embedding of the tower takes the place of
IMAGE_START, IMAGE_END, VIDEO = 29, 30, 31

TEXT = {key: value for key, value in SMALL.items() if key != "use_cache"}
AXES = rope("default", mrope_section=[1, 3, 2])
VIT = {
    "hidden_size": 32,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 16,
    "patch_size": 8,
}
QWEN_TOWER = {
    "depth": 2,
    "embed_dim": 32,
    "hidden_size": 48,
    "num_heads": 2,
    "patch_size": 4,
    "mlp_ratio": 2,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}
WIDE_QWEN_TOWER = {
    **{key: value for key, value in QWEN_TOWER.items() if key not in ("embed_dim", "mlp_ratio")},
    "hidden_size": 32,
    "intermediate_size": 24,
    "out_hidden_size": 48,
}
QWEN_TOKENS = {"image_token_id": IMAGE, "vision_start_token_id": IMAGE_START, "vision_end_token_id": IMAGE_END}
GLM_TOKENS = {"image_token_id": IMAGE, "image_start_token_id": IMAGE_START, "image_end_token_id": IMAGE_END}


def _tokens(count: int) -> Tensor:
    torch.manual_seed(2)
    ids = torch.randint(3, IMAGE, (BATCH, TOKENS))
    ids[:, BEFORE : BEFORE + count] = IMAGE
    return ids


def pixels(count: int, side: int = 16, **more: Any) -> Callable[[], dict[str, Tensor]]:
    """An image for each text, that becomes `count` tokens."""

    def inputs() -> dict[str, Tensor]:
        ids = _tokens(count)
        made = {name: make(ids) for name, make in more.items()}
        return {"input_ids": ids, "pixel_values": torch.randn(BATCH, 3, side, side), **made}

    return inputs


def images(count: int, side: int = 16) -> Callable[[], dict[str, Tensor]]:
    """The same with a list of images for each text: of one."""

    def inputs() -> dict[str, Tensor]:
        return {"input_ids": _tokens(count), "pixel_values": torch.randn(BATCH, 1, 3, side, side)}

    return inputs


def patches(rows: int = 4, columns: int = 4, side: int = 4) -> Callable[[], dict[str, Tensor]]:
    """As Qwen2-VL has them: rows of pixels of 2 frames, and a grid, whose 2 x 2 patches become one token."""

    def inputs() -> dict[str, Tensor]:
        count = rows * columns // 4
        ids = _tokens(count)
        ids[:, BEFORE - 1] = IMAGE_START
        return {
            "input_ids": ids,
            "pixel_values": torch.randn(BATCH * rows * columns, 3 * 2 * side * side),
            "image_grid_thw": torch.tensor([[1, rows, columns]] * BATCH),
            "mm_token_type_ids": is_image(ids),
        }

    return inputs


def sounds(count: int, channels: int, frames: int) -> Callable[[], dict[str, Tensor]]:
    """A sound for each text, that becomes `count` tokens."""

    def inputs() -> dict[str, Tensor]:
        return {"input_ids": _tokens(count), "input_features": torch.randn(BATCH, channels, frames)}

    return inputs


def heard(count: int, channels: int, frames: int) -> Callable[[], dict[str, Tensor]]:
    """The same with a mask of what is sound, which is all."""

    def inputs() -> dict[str, Tensor]:
        mask = torch.ones(BATCH, frames, dtype=torch.long)
        return {**sounds(count, channels, frames)(), "feature_attention_mask": mask}

    return inputs


def tiles() -> dict[str, Tensor]:
    """As Mllama has them: cross attention to an image of one tile, no tokens of the text are its."""
    one = torch.ones(BATCH, 1, 1, dtype=torch.long)
    return {
        "input_ids": torch.randint(3, IMAGE, (BATCH, TOKENS)),
        "pixel_values": torch.randn(BATCH, 1, 1, 3, 16, 16),
        "aspect_ratio_ids": one[..., 0],
        "aspect_ratio_mask": one,
        "cross_attention_mask": torch.ones(BATCH, TOKENS, 1, 1, dtype=torch.long),
    }


def is_image(ids: Tensor) -> Tensor:
    return (ids == IMAGE).int()


def _sizes(ids: Tensor) -> Tensor:
    return torch.tensor([[16, 16]] * len(ids))


@dataclasses.dataclass(frozen=True)
class Composite(Family):
    """keys: of the whole configuration; text, tower: of its parts."""

    text: dict[str, Any] = dataclasses.field(default_factory=dict)
    tower: dict[str, Any] = dataclasses.field(default_factory=dict)
    tower_name: str = "vision_config"
    given: Callable[[], dict[str, Tensor]] = pixels(4)
    head: str = "AutoModelForImageTextToText"

    def config(self) -> Any:
        parts = {"text_config": {**TEXT, **self.text}, self.tower_name: self.tower}
        return transformers.AutoConfig.for_model(self.model_type, **parts, **self.keys)

    def inputs(self) -> dict[str, Tensor]:
        torch.manual_seed(2)
        return self.given()


def _llava(model_type: str, text: str, tower: str, **more: Any) -> Composite:
    keys = {"image_token_index": IMAGE, "image_token_id": IMAGE, "vision_feature_layer": -1, **more.pop("keys", {})}
    parts = {"text": {"model_type": text, "vocab_size": VOCABULARY}, "tower": {**VIT, "model_type": tower}}
    return Composite(model_type, keys=keys, **parts, **more)


COMPOSITES = [
    Composite("qwen2_vl", keys=QWEN_TOKENS, text=AXES, tower=QWEN_TOWER, given=patches()),
    Composite(
        "qwen2_5_vl",
        keys=QWEN_TOKENS,
        text=AXES,
        tower={**WIDE_QWEN_TOWER, "window_size": 16, "fullatt_block_indexes": [1]},
        given=patches(),
    ),
    Composite(
        "qwen3_vl",
        keys=QWEN_TOKENS,
        text=rope("default", mrope_section=[2, 2, 2]),
        tower={**WIDE_QWEN_TOWER, "num_position_embeddings": 16, "deepstack_visual_indexes": [0]},
        given=patches(),
    ),
    Composite(
        "glm4v",
        keys=GLM_TOKENS,
        text=rope("default", mrope_section=[1, 1, 1], partial_rotary_factor=0.5),
        tower={**WIDE_QWEN_TOWER, "image_size": 16},
        given=patches(),
    ),
    _llava("llava", "llama", "clip_vision_model"),
    _llava("llava", "llama", "pixtral", name="llava, pixtral", keys={"vision_feature_select_strategy": "full"}),
    _llava("mistral3", "mistral", "pixtral", keys={"spatial_merge_size": 1}, given=pixels(4, image_sizes=_sizes)),
    _llava("paligemma", "gemma", "siglip_vision_model", keys={"projection_dim": 48}, given=pixels(4, token_type_ids=is_image)),
    _llava(
        "gemma3",
        "gemma3_text",
        "siglip_vision_model",
        keys={"mm_tokens_per_image": 4},
        given=pixels(4, token_type_ids=is_image),
    ),
    _llava("internvl", "qwen2", "internvl_vision", keys={"downsample_ratio": 1.0, "image_seq_length": 4}),
    _llava("vipllava", "llama", "clip_vision_model", keys={"vision_feature_layers": [-2, -1]}),
    _llava("idefics3", "llama", "idefics3_vision", keys={"scale_factor": 1}, given=images(4)),
    Composite(
        "llama4",
        keys={"image_token_index": IMAGE, "image_token_id": IMAGE},
        text={
            "num_experts": 2,
            "num_local_experts": 2,
            "intermediate_size_mlp": 40,
            "interleave_moe_layer_step": 1,
            "no_rope_layers": [1, 0],
        },
        tower={
            **VIT,
            "patch_size": 4,
            "pixel_shuffle_ratio": 0.5,
            "intermediate_size": 128,
            "projector_input_dim": 40,
            "projector_output_dim": 40,
            "vision_output_dim": 40,
        },
    ),
    Composite(
        "qwen2_audio",
        keys={"audio_token_index": IMAGE, "audio_token_id": IMAGE},
        text={"model_type": "qwen2"},
        tower={
            "num_mel_bins": 8,
            "encoder_layers": 2,
            "encoder_attention_heads": 2,
            "encoder_ffn_dim": 24,
            "d_model": 32,
            "max_source_positions": 8,
        },
        tower_name="audio_config",
        given=heard(4, 8, 16),
        head="AutoModelForSeq2SeqLM",
    ),
    Composite(
        "voxtral",
        keys={"audio_token_id": IMAGE},
        text={"model_type": "llama"},
        tower={
            "num_mel_bins": 8,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "intermediate_size": 128,
            "hidden_size": 32,
            "max_source_positions": 16,
            "head_dim": 16,
        },
        tower_name="audio_config",
        given=sounds(4, 8, 32),
        head="VoxtralForConditionalGeneration",
    ),
    Composite(
        "mllama",
        keys={"image_token_index": IMAGE},
        text={"cross_attention_layers": [1]},
        tower={
            "hidden_size": 32,
            "attention_heads": 2,
            "num_hidden_layers": 2,
            "num_global_layers": 1,
            "intermediate_size": 24,
            "vision_output_dim": 64,
            "image_size": 16,
            "patch_size": 8,
            "max_num_tiles": 1,
            "intermediate_layers_indices": [0],
            "supported_aspect_ratios": [[1, 1]],
        },
        given=tiles,
    ),
]
