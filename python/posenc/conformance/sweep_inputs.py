"""Inputs for whatever a model's forward asks for: tokens that are all the same, images and sounds that are constant."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

TOKENS = 24
MANY_TOKENS = 160  # where distances are in buckets, up to 128
TOKEN = 5
# Of a side, each 4 x 4 or more at the finest level: objects are the best of some hundred cells.
_MANY_CELLS = 5


def entry(model: nn.Module) -> str:
    """What a model is called by: tokenizers of images have no forward, but encode."""
    has_forward = type(model).forward is not nn.Module.forward
    return "forward" if has_forward or not hasattr(model, "encode") else "encode"


def parameters(model: nn.Module) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(getattr(type(model), entry(model))).parameters)


def size(config: Any, *names: str, default: int = 1) -> int:
    for name in names:
        value = getattr(config, name, None)
        if isinstance(value, (list, tuple)) and value:
            value = value[0]
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return default


def _sides(config: Any) -> tuple[int, int]:
    value = getattr(config, "image_size", None) or getattr(config, "input_size", None)
    if isinstance(value, dict):
        value = (value.get("height"), value.get("width"))
    if isinstance(value, (list, tuple)) and len(value) >= 2:
        return int(value[-2]), int(value[-1])
    if isinstance(value, int):
        return value, value
    if hasattr(config, "num_queries"):
        return _MANY_CELLS * _step(config), _MANY_CELLS * _step(config)
    side = 4 * size(config, "patch_size", default=16)
    return side, side


def _step(config: Any) -> int:
    """Pixels that become one cell at the coarsest level, or one patch of each of the windows of a side."""
    backbone = getattr(config, "backbone_config", None)
    windows = size(backbone, "num_windows_side", "num_windows", default=0)
    return windows * size(backbone, "patch_size", default=16) if windows else 64


def _of_images(config: Any) -> Any:
    """Which part of a configuration says how large images are: of prompts that are laid over them, the prompts'."""
    if hasattr(config, "image_size"):
        return config
    prompts = getattr(config, "prompt_encoder_config", None)
    return prompts if hasattr(prompts, "image_size") else getattr(config, "vision_config", config)


def _patch(config: Any) -> int:
    return size(config, "patch_size", "spatial_patch_size", default=16)


def _alike(tokens: int, width: int) -> Tensor:
    """Tokens that are all the same, with channels that a norm leaves apart."""
    return torch.linspace(-1, 1, width).expand(1, tokens, width)


def box(token: int) -> tuple[int, int]:
    """Where a token stands on a page, across and down, in 1000ths: boxes are of no size."""
    return token * 37 % 101, token * 53 % 89


def text(model: nn.Module, tokens: int) -> dict[str, Tensor]:
    vocabulary = size(model.config, "vocab_size", default=TOKEN + 1)
    ids = torch.full((1, tokens), min(TOKEN, vocabulary - 1))
    ends = getattr(model, "special_tokens", None)
    if isinstance(ends, Tensor) and ends.numel() and tokens > 4:  # of phrases: two of them
        ids[0, [0, tokens // 2, -2, -1]] = int(ends.flatten()[0])
    return {"input_ids": ids}


def _codes(config: Any, tokens: int) -> Iterator[dict[str, Tensor]]:
    """Audio in several codebooks: a code of each at a time, or with them one of text."""
    of_sound = not hasattr(config, "image_size") and not hasattr(config, "vision_config")
    books = size(config, "num_codebooks", "num_channels", default=0)
    for count in (books, books + 1) if books and of_sound else ():
        yield {"input_ids": torch.full((1, tokens, count), TOKEN)}


def _images(config: Any) -> Iterator[dict[str, Tensor]]:
    channels = size(config, "num_channels", "in_channels", "in_chans", default=3)
    height, width = _sides(config)
    yield {"pixel_values": torch.ones(1, channels, height, width)}
    tiles = size(config, "max_num_tiles", default=0)
    if tiles:
        more = {"aspect_ratio_ids": torch.ones(1, 1, dtype=torch.long), "aspect_ratio_mask": torch.ones(1, 1, tiles)}
        yield {"pixel_values": torch.ones(1, 1, tiles, channels, height, width), **more}
    frames = size(config, "num_frames", "frames_per_clip", default=2)
    yield {"pixel_values": torch.ones(1, frames, channels, height, width)}
    yield {"pixel_values": torch.ones(frames, channels, height, width)}
    yield {"pixel_values_videos": torch.ones(1, frames, channels, height, width)}


def _flat_patches(config: Any) -> Iterator[dict[str, Tensor]]:
    """Pix2Struct's: each patch with its row and column before its numbers, counted from 1."""
    rows, columns = 4, 6
    places = torch.cartesian_prod(torch.arange(rows), torch.arange(columns)).float() + 1
    width = size(config, "patch_embed_hidden_size", default=768)
    yield {"flattened_patches": torch.cat((places, torch.ones(rows * columns, width)), -1)[None]}


_PLACES = ("image_position_ids", "pixel_position_ids")
_GRIDS = ("grid_thw", "image_grid_thw", "grid_hws", "grid_hw", "image_grid_hws", "target_sizes")


def _patches(config: Any, names: dict[str, inspect.Parameter]) -> Iterator[dict[str, Tensor]]:
    """Patches in a row, and the grids that they are of: one image of 12 x 12 patches (they merge by 2, 3 and 4)."""
    channels = size(config, "num_channels", "in_channels", "in_chans", default=3)
    rows, columns = 12, 12
    grid = torch.tensor([[1, rows, columns]])
    named = next((name for name in _GRIDS if name in names), None)
    first = next((name for name in ("pixel_values", "hidden_states", "pixel_values_videos") if name in names), None)
    if first is None:
        return
    side = _patch(config)
    merged = side * size(config, "spatial_merge_size", default=1)
    for time in dict.fromkeys((size(config, "temporal_patch_size", default=1), 1, 2)):
        width = channels * time * side**2
        for shape in (
            (rows * columns, width),
            (1, rows * columns, width),
            (rows * columns, channels, side, side),
            (1, rows * columns, channels, side, side),
            (1, channels, side, side * rows * columns),
            (rows * columns, merged, merged, channels),
        ):
            more: dict[str, Tensor] = {}
            if named is not None:
                more[named] = grid if named.endswith("thw") else grid[:, 1:]
            if "spatial_shapes" in names:
                more["spatial_shapes"] = grid[:, 1:]
            if "pixel_attention_mask" in names:
                more["pixel_attention_mask"] = torch.ones(1, rows * columns, dtype=torch.long)
            name = next((of for of in _PLACES if of in names), None)
            if name is not None:
                places = torch.stack(torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij"), -1)
                more[name] = places.reshape(1, -1, 2)
            yield {first: torch.ones(shape), **more}


def _flat_patches(config: Any) -> Iterator[dict[str, Tensor]]:
    """Each behind its row and its column (Pix2Struct); as many as there are rows in a table (Molmo 2)."""
    rows, columns = torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")
    content = torch.ones(16, size(config, "patch_embed_hidden_size", default=1))
    places = torch.stack((rows.flatten(), columns.flatten()), -1)
    yield {"flattened_patches": torch.cat((places, content), -1)[None]}
    width = size(config, "num_channels", default=3) * _patch(config) ** 2
    yield {"pixel_values": torch.ones(1, size(config, "num_position_embeddings", default=16), width)}


def _pooled_patches(config: Any) -> Iterator[dict[str, Tensor]]:
    """Features of several layers side by side, of which four neighbours become one (Molmo 2)."""
    layers = getattr(config, "vision_feature_layer", None)
    width = _width(config) * (len(layers) if isinstance(layers, (list, tuple)) else 1)
    yield {"image_features": torch.ones(1, 64, width), "pooled_patches_idx": torch.arange(64).view(16, 4)}


def _sounds(model: nn.Module, config: Any) -> Iterator[dict[str, Tensor]]:
    named = (
        "num_mel_bins",
        "feature_projection_input_dim",
        "input_feat_per_channel",
        "feature_size",
        "input_size",
        "input_dim",
    )
    widths = [size(config, name) for name in named if hasattr(config, name)] or [80, 128]
    for bins in dict.fromkeys([*widths, *_first_width(model)]):
        yield from _frames(config, bins)


def _first_width(model: nn.Module) -> list[int]:
    """What the first linear layer takes: of frames that were stacked, or series with their lags."""
    return next(([of.in_features] for of in model.modules() if isinstance(of, nn.Linear)), [])


def _frames(config: Any, bins: int) -> Iterator[dict[str, Tensor]]:
    longest = size(config, "max_source_positions", default=0)
    for frames in dict.fromkeys((2 * longest, longest, 64, 400)):
        if frames:
            more = {
                "input_features_mask": torch.ones(1, frames, dtype=torch.long),
                "feature_attention_mask": torch.ones(1, frames, dtype=torch.long),
                "feature_lens": torch.tensor([frames]),
                "chunk_sample_lengths": torch.tensor([frames * size(config, "hop_length")]),
            }
            # The same in every frame; not in every bin, which a norm would make nothing of.
            frame = torch.linspace(0.5, 1.5, bins)
            yield {"input_features": frame[None, :, None].expand(1, bins, frames), **more}
            yield {"input_features": frame.expand(1, frames, bins), **more}
            yield {"input_features": frame.expand(1, 1, frames, bins), **more}
            yield {"input_features": frame[:, None].expand(bins, frames), **more}


def _waves() -> Iterator[dict[str, Tensor]]:
    yield {"input_values": torch.ones(1, 16000), "attention_mask": torch.ones(1, 16000, dtype=torch.long)}
    yield {"input_values": torch.ones(1, 1, 16000)}
    yield {"input_values": torch.ones(1, 1024, 128)}


def _series(config: Any) -> Iterator[dict[str, Tensor]]:
    """Series of numbers that stay the same, as long as the class looks back."""
    context = size(config, "context_length", default=TOKENS)
    channels = size(config, "num_input_channels", "input_size")
    yield {"past_values": torch.ones(1, context, channels)}
    context = min(context, TOKENS * size(config, "patch_length"))
    padding = torch.zeros(1, context, dtype=torch.long)
    patch = torch.linspace(0.5, 1.5, size(config, "patch_length"))  # the same again and again
    series = patch.repeat(context // len(patch))[None]
    yield {"past_values": series, "past_values_padding": padding, "freq": padding[:, :1]}


def _steps(config: Any) -> Iterator[dict[str, Tensor]]:
    """Of an episode: what was seen and done, and what is still to gain."""
    steps = TOKENS // 3
    widths = {"states": size(config, "state_dim"), "actions": size(config, "act_dim"), "rewards": 1, "returns_to_go": 1}
    yield {
        **{name: torch.ones(1, steps, width) for name, width in widths.items()},
        "timesteps": torch.arange(steps)[None],
    }


def _features(config: Any, names: dict[str, inspect.Parameter]) -> Iterator[dict[str, Any]]:
    """Of an image at one level or several, as a model before this one makes them, and of what is looked for in it. The
    places are of cells: numbers that differ from cell to cell."""
    width, rows, columns = _width(config), 4, 6
    cells = _alike(rows * columns, width).transpose(1, 2).unflatten(-1, (rows, columns))
    prompt = _alike(TOKENS // 2, width)
    if "vision_features" in names:
        places = torch.randn(1, width, rows, columns, generator=torch.Generator().manual_seed(1))
        yield {"vision_features": [cells], "vision_pos_embeds": [places], "text_features": prompt}
    stages = size(config, "num_upsampling_stages")
    levels = [cells.repeat(1, 1, 2**level, 2**level) for level in reversed(range(stages))]
    yield {
        "backbone_features": levels,
        "decoder_queries": _alike(TOKENS, width),
        "encoder_hidden_states": cells.flatten(2).transpose(1, 2),
        "prompt_features": prompt,
    }


# What forwards ask for by name and cannot do without, beside an input.
_REQUIRED: dict[str, Callable[[Any, int], Any]] = {
    "attention_mask": lambda config, tokens: torch.ones(1, tokens, dtype=torch.long),
    "encoder_hidden_states": lambda config, tokens: torch.ones(1, tokens, _width(config, encoder=True)),
    "codebook_idx": lambda config, tokens: 1,
    "num_patches": lambda config, tokens: 256,
    "merge_sizes": lambda config, tokens: torch.ones(1, dtype=torch.long),
    "query_embeds": lambda config, tokens: _alike(tokens, _width(config)),
    "object_queries": lambda config, tokens: torch.zeros(1, tokens, _width(config)),
    "position_ids": lambda config, tokens: torch.arange(tokens)[None],
    "image_sizes": lambda config, tokens: torch.tensor([_sides(config)]),
    "mask": lambda config, tokens: None,
    "input_features_mask": lambda config, tokens: torch.ones(1, tokens, dtype=torch.long),
    # Of a diffusion of sound (Qwen2.5-Omni): a reference, its speaker, codes of some frames each, a time of 0 to 1.
    "condition_vector": lambda config, tokens: torch.ones(1, tokens, size(config, "mel_dim")),
    "speaker_embedding": lambda config, tokens: torch.ones(1, tokens, size(config, "enc_emb_dim")),
    "quantized_code": lambda config, tokens: torch.full((1, tokens // size(config, "repeats")), TOKEN),
    "time_step": lambda config, tokens: torch.tensor(0.5),
}


# Of text that is causal where a mask is given, as tokenizers give one, and sees both ways without.
_CAUSAL_BY_MASK = ("Aimv2TextModel", "Aimv2Model", "VideoPrismTextModel", "VideoPrismClipModel")
_CROSSED_WIDTHS = ("encoder_hidden_size", "cross_attention_hidden_size", "cross_hidden_size")


def _width(config: Any, encoder: bool = False) -> int:
    own = ("hidden_size", "d_model", "embed_dim", "n_embd", "dim")
    return size(config, *(_CROSSED_WIDTHS if encoder else ()), *own)


def _optional(model: nn.Module, names: dict[str, inspect.Parameter], tokens: int) -> dict[str, Any]:
    """What else the model takes with any of its inputs."""
    config = model.config
    given: dict[str, Any] = {
        name: make(config, tokens)
        for name, make in _REQUIRED.items()
        if name in names and names[name].default is inspect.Parameter.empty
    }
    if type(model).__name__ in _CAUSAL_BY_MASK and "attention_mask" in names:
        given["attention_mask"] = torch.ones(1, tokens, dtype=torch.long)
    if "decoder_input_ids" in names:
        given["decoder_input_ids"] = torch.full((1, tokens - 1), TOKEN)
    if "apply_cfg" in names:  # one sound, and not beside it the same without its conditions
        given["apply_cfg"] = False
    if "bbox" in names:
        given["bbox"] = torch.tensor([[box(token) * 2 for token in range(tokens)]])
    if "query_embeds" in names and "input_ids" in names:  # of queries beside a text
        given["query_embeds"] = _alike(tokens // 2, _width(config))
    if "protein_input_ids" in names:
        given["protein_input_ids"] = torch.full((1, tokens - 2), TOKEN)
        given["protein_attention_mask"] = torch.ones(1, tokens - 2, dtype=torch.long)
    if "patch_ids" in names:  # of bytes, which are two patches
        given["patch_ids"], given["num_patches"] = torch.arange(tokens)[None] * 2 // tokens, 2
    elif "patch_embeds" in names and "encoder_attention_mask" in names:
        given["patch_embeds"] = torch.ones(1, 2, size(config, "hidden_size_global"))
    if "input_points" in names:  # of one object, two of them
        given["input_points"] = torch.tensor([[[[8.0, 8.0], [40.0, 24.0]]]])
        given["input_labels"] = torch.ones(1, 1, 2, dtype=torch.long)
    if "task_inputs" in names:  # a text that says what to look for, token by token
        given["task_inputs"] = torch.ones(1, size(config, "task_seq_len"))
    if "visual_feats" in names:  # of regions of an image, with their boxes
        regions = tokens // 2
        given["visual_feats"] = torch.ones(1, regions, size(config, "visual_feat_dim"))
        numbers = size(config, "visual_pos_dim")
        given["visual_pos"] = torch.linspace(0, 1, regions * numbers).view(1, regions, numbers)
    if "use_cache" in names:
        given["use_cache"] = False
    if any(type(of).__name__.endswith("AdaRmsNorm") for of in model.modules()):
        given["t_cond"] = torch.ones(1, 1, _width(config))  # of the delay with which words follow the sound
    return given


_CROSSED = ("encoder_hidden_states", "cross_attention_states")


def can_cross(model: nn.Module) -> bool:
    return any(name in parameters(model) for name in _CROSSED)


def _to_cross(model: nn.Module, names: dict[str, inspect.Parameter], tokens: int) -> dict[str, Any]:
    """What a decoder attends to beside its own tokens; a class without cross attention ignores or refuses it."""
    config = model.config
    named = [name for name in _CROSSED if name in names]
    return {name: torch.ones(1, tokens - 2, _width(config, encoder=True)) for name in named}


def text_alone(model: nn.Module, tokens: int) -> Iterator[dict[str, Any]]:
    names = parameters(model)
    of_text = not any(name.startswith(("pixel", "input_features", "input_values")) for name in names)
    if "input_ids" in names and (hasattr(model.config, "text_config") or of_text):
        yield {"input_ids": torch.full((1, tokens), TOKEN), **_optional(model, names, tokens)}
    if "input_values" in names and "input_features" in names and hasattr(model.config, "downsampling_ratios"):
        yield _wave_and_features(model.config)


def _wave_and_features(config: Any) -> dict[str, Tensor]:
    """A codec's two views of one sound, with as many frames in both."""
    frame = torch.linspace(0.5, 1.5, size(config.semantic_model_config, "feature_projection_input_dim"))
    samples = TOKENS * math.prod(config.downsampling_ratios)
    return {"input_values": torch.ones(1, 1, samples), "input_features": frame.expand(1, TOKENS, -1)}


def candidates(model: nn.Module, tokens: int) -> Iterator[dict[str, Any]]:
    """Until one is accepted."""
    names = parameters(model)
    config = model.config
    longest = size(config, "max_position_embeddings", "max_length", "prediction_length", default=tokens)
    tokens = min(tokens, longest) if longest >= 8 else tokens
    optional = _optional(model, names, tokens)
    crossing = _to_cross(model, names, tokens)
    kinds: list[Iterator[dict[str, Any]]] = []
    if "input_ids" in names and "pixel_values" in names and hasattr(config, "text_config"):
        kinds.append(
            {**text(model, tokens), **image}
            for image in itertools.islice(_images(getattr(config, "vision_config", config)), 3)
        )
    if "image_attention_mask" in names and hasattr(config, "vision_config"):  # of two images, and of the text
        mask = {"image_attention_mask": torch.ones(1, tokens, 2)}
        images = (given for given in _images(config.vision_config) if next(iter(given.values())).dim() == 5)
        kinds.append({**text(model, tokens), **mask, **image} for image in images)
    if "input_ids" in names:
        kinds.append(iter([text(model, tokens)]))
        kinds.append(_codes(config, tokens))
    if any(name in names for name in (*_GRIDS, "spatial_shapes", *_PLACES)):
        kinds.append(_patches(config, names))
    if "flattened_patches" in names:
        kinds.append(_flat_patches(config))
    if "pixel_values" in names or "pixel_values_videos" in names:
        kinds.append(_images(_of_images(config)))
    if "image" in names:
        kinds.append({"image": image} for given in _images(config) for image in given.values())
    if "flattened_patches" in names or hasattr(config, "num_position_embeddings"):
        kinds.append(_flat_patches(config))
    if "pooled_patches_idx" in names:
        kinds.append(_pooled_patches(config))
    if "input_features" in names:
        kinds.append(_sounds(model, config))
    if "input_values" in names:
        kinds.append(_waves())
    if "timesteps" in names and "states" in names:
        kinds.append(_steps(config))
    if "vision_pos_embeds" in names or "backbone_features" in names:
        kinds.append(_features(config, names))
    if "latents" in names:
        latent = torch.linspace(0.5, 1.5, _width(config))
        kinds.append(iter([{"latents": latent[None, :, None].expand(1, -1, tokens)}]))
    if "past_values" in names:
        kinds.append(_series(config))
    if "inputs_embeds" in names:
        widths = dict.fromkeys((_width(config), size(config, "feature_size"), *_first_width(model)))
        kinds.append(iter([{"inputs_embeds": torch.ones(1, tokens, width)} for width in widths]))
    for name in ("hidden_states", "hidden_state", "query_embeds", "input_features", "context", "x"):
        if name in names:
            widths = dict.fromkeys(
                (_width(config), size(config, "input_dim", "input_size", default=80), *_first_width(model))
            )
            kinds.append(iter([{name: _alike(tokens, width)} for width in widths]))
            kinds.append(iter([{name: torch.ones(1, 1, 16000)}]))  # a wave
    if "hidden_states" in names and hasattr(config, "patch_size"):  # of a tower that calls an image so
        kinds.append({"hidden_states": image} for given in _images(config) for image in given.values())
    for kind in kinds:
        for given in kind:
            accepted = {key: value for key, value in given.items() if key in names}
            if accepted and crossing:
                yield {**optional, **accepted, **crossing}
            if accepted:
                yield {**optional, **accepted}
