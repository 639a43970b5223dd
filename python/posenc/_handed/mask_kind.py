"""The mask that a call of attention hands over, as posenc.attend takes it: a kind of posenc.Mask, and what is left to say."""

from __future__ import annotations

import torch
from torch import Tensor


def kind_of(mask: Tensor | None, sizes: tuple[int, ...]) -> tuple[str, Tensor | None]:
    """A kind of posenc.Mask, and what is left to say besides: nothing where that is the whole mask, as without padding.

    sizes: batch, heads, queries, keys; a mask that lacks one of the last two, or does not fit, is left as it is. One that
    is read for each query and key costs a fifth of the rest of attention, and tiles that a kind hides cost nothing. All
    layers get one tensor, which keeps the answer.
    """
    *outer, queries, keys = sizes
    if mask is None or not (mask.dtype == torch.bool or mask.dtype.is_floating_point):
        return "bidirectional", mask
    if mask.shape[-2:] != (queries, keys) or any(has not in (1, size) for has, size in zip(mask.shape[:-2], outer)):
        return "bidirectional", mask
    version = None if mask.is_inference() else mask._version
    seen, answer = getattr(mask, "posenc_kind", (None, None))
    if answer is None or version is None or seen != version:
        answer = _kind_of_pattern(mask, queries, keys)
        mask.posenc_kind = (version, answer)  # type: ignore[attr-defined]
    kind, is_whole = answer
    return kind, None if is_whole else mask


def _kind_of_pattern(mask: Tensor, queries: int, keys: int) -> tuple[str, bool]:
    shows = mask if mask.dtype == torch.bool else mask == 0
    # What is added hides a key as a mask of bool does where it is about the lowest number, and another key is seen.
    if mask.dtype.is_floating_point and not bool((shows | (mask <= torch.finfo(mask.dtype).min / 2)).all()):
        return "bidirectional", False
    if bool(shows.all()):
        return "bidirectional", True
    is_causal = keys >= queries and bool((shows == shows.new_ones(queries, keys).tril(keys - queries)).all())
    return ("causal", True) if is_causal else ("bidirectional", False)


def masked(mask: Tensor | None, bias: Tensor | None) -> dict[str, Tensor | None]:
    """attn_mask and bias of attend: what is of floats is added to scores, as eager attention and SDPA do."""
    if mask is not None and mask.dtype.is_floating_point:
        mask, bias = None, mask if bias is None else bias + mask
    if mask is not None and mask.dtype != torch.bool:
        raise TypeError(f"[attention] attention_mask must be of bool, or of floats to add, but is of {mask.dtype}")
    return {"attn_mask": mask, "bias": bias}
