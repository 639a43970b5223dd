"""Who sees whom where a plan says it in words (a mask of kind `sparse`), as far as the words say it of a short text.

Words that say which keys each query sees become a mask, which is held to the class's; of windows of patches, which a
class runs one by one, their size is. What is left over is named in the sweep's table, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import torch
from torch import Tensor

import posenc

_NEIGHBOURS = r"(?: and the (one|\d+) (before|after)(?: it)?)?"
_CHUNKS = re.compile(rf"(causal, )?(?:the )?own chunk of (\d+){_NEIGHBOURS}{_NEIGHBOURS}")
_RANKED = re.compile(
    r"causal, the (\d+) (?:blocks of (\d+) )?keys that the indexer(?: of layer \d+)? ranks highest(?:, .*)?"
)
_CAUSAL = re.compile(
    "causal, prompt keys always, generated keys within the window|causal; a number made of each value .*"
)
_BESIDE = re.compile(r"causal; and in the same softmax all of the encoder's tokens, .*")
_PATCHES = re.compile(r"windows of (\d+) ?x ?(\d+) patches(?:,? .*)?")

# Words that make no claim of who sees whom in a text that is given as a whole, or none that a run here could show.
_REASONS = {
    "what the call's mask says": "it is the call's",
    "cells of the mask that the block before": "it is made of contents",
    "the queries whose scores with keys drawn at random": "keys are drawn at random",
    "causal for the queries whose scores with keys drawn at random": "keys are drawn at random",
    "LSH buckets": "it is made of contents",
    "where attn_mask_probs is above 0": "it is made of contents, and 0 in a class as it is made",
}


def _seen(rows: int, columns: int, rule: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    return rule(torch.arange(rows)[:, None], torch.arange(columns)[None])


def _chunks(found: re.Match[str], mask: posenc.Mask, rows: int, columns: int) -> Tensor:
    causal, length, *beside = found.groups()
    sides = {"before": 0, "after": 0}
    for count, side in zip(beside[::2], beside[1::2]):
        if side:
            sides[side] = 1 if count == "one" else int(count)
    n = int(length)

    def rule(i: Tensor, j: Tensor) -> Tensor:
        away = torch.div(j, n, rounding_mode="floor") - torch.div(i, n, rounding_mode="floor")
        near = (-away <= sides["before"]) & (away <= sides["after"])
        return near & (j <= i) if causal else near

    return _seen(rows, columns, rule)


def _causal(mask: posenc.Mask) -> Callable[[Tensor, Tensor], Tensor]:
    past, future = (mask.window.past, mask.window.future) if mask.window is not None else (2**62, 0)
    return lambda i, j: (i - j <= past) & (j - i <= future)


def visible(mask: posenc.Mask, rows: int, columns: int) -> Tensor | str:
    """[rows, columns] by the words, or why they give none."""
    words = mask.detail
    if found := _CHUNKS.fullmatch(words):
        return _chunks(found, mask, rows, columns) if rows == columns else "queries are not the keys' tokens here"
    if found := _RANKED.fullmatch(words):
        kept = int(found[1]) * int(found[2] or 1)
        if rows != columns or rows > kept:
            return "more keys than are kept, by contents"
        return _seen(rows, columns, lambda i, j: j <= i)
    if _CAUSAL.fullmatch(words):
        return _seen(rows, columns, lambda i, j: j <= i) if rows == columns else "queries are not the keys' tokens here"
    if _BESIDE.fullmatch(words):
        return _seen(rows, columns, lambda i, j: _causal(mask)(i, j) | (j >= rows))
    reason = next((reason for start, reason in _REASONS.items() if words.startswith(start)), None)
    return reason or "no rule of the judge says what these words mean in a short text"


def patches(mask: posenc.Mask) -> int | None:
    """How many a window has, where words say that tokens are patches in windows."""
    found = _PATCHES.fullmatch(mask.detail)
    return int(found[1]) * int(found[2]) if found else None
