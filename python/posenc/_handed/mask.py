"""The mask that a module hands over, compared with the one of its own plan where the plan's stands in for it: what hides
other keys than the plan knows of (padding, packed texts, a configuration's key that the class does not read) would be
lost.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .. import _posenc
from .._composed.mask import MaskOf

_KINDS = ("causal", "bidirectional")  # a prefix, and what a sparse mask sees, is not in the plan


def require_same_mask(
    module: nn.Module, own: _posenc.Mask, handed: Tensor, shape: tuple[int, ...], first: int | None, gone: int
) -> None:
    """ValueError where a key is hidden that the plan shows, or shown that it hides.

    shape: batch, heads, queries, keys. first: the key that the first query stands with; None: the last queries are the
    last keys'. gone: keys before those, which the KV cache has forgotten. The layers of a model get one tensor, which
    keeps the answer.
    """
    if own.kind not in _KINDS or own.beyond_window or own.by_blocks or own.by_indexer:
        return
    like = (own, shape, first, gone, None if handed.is_inference() else handed._version)
    agreed = getattr(handed, "posenc_agrees", [])
    if like[-1] is not None and like in agreed:
        return
    _compare(module, own, handed, shape, first, gone)
    handed.posenc_agrees = [*agreed, like]  # type: ignore[attr-defined]


def require_hidden(
    module: nn.Module, asked: _posenc.Mask, handed: Tensor, shape: tuple[int, ...], first: int | None, gone: int
) -> None:
    """The same of a model whose own plan is not known, which may have padding: no key is shown that the caller's plan hides,
    and not each one hidden that comes after its query where the plan looks both ways."""
    if asked.kind not in _KINDS or asked.beyond_window or asked.by_blocks or asked.by_indexer:
        return
    shows, expected, later = _patterns(module, asked, handed, shape, first, gone)
    wrong = (shows & ~expected).flatten(0, -3).any(0) if shows.dim() > 2 else shows & ~expected
    if bool(wrong.any()):
        query, key = (int(place) for place in wrong.nonzero()[0])
        raise ValueError(
            f"[use] {type(module).__name__} hands over a mask by which query {query} of the call sees key {key}, but by the plan, "
            f"{asked!r}, it does not; say masks='plan'"
        )
    if asked.kind == "bidirectional" and shows.shape[-2] > 1 and not bool((shows & later).any()):
        raise ValueError(
            f"[use] {type(module).__name__} hands over a causal mask, but by the plan, {asked!r}, queries see later keys; say "
            "masks='plan'"
        )


def _patterns(
    module: nn.Module, own: _posenc.Mask, handed: Tensor, shape: tuple[int, ...], first: int | None, gone: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Which keys are shown by the mask that was handed over, which by the plan's, and which come after their query."""
    *_, queries, keys = shape
    if handed.dim() < 2 or handed.shape[-1] != keys or handed.shape[-2] not in (1, queries):
        name = type(module).__name__
        raise ValueError(f"[use] {name} hands over a mask of {list(handed.shape)} for {queries} queries and {keys} keys")
    shows = handed != 0 if not handed.dtype.is_floating_point else handed > torch.finfo(handed.dtype).min / 2
    at = keys - queries if first is None else first
    i = gone + torch.arange(at, at + queries)[:, None]
    j = gone + torch.arange(keys)
    seen = MaskOf(own).rule(i, j, 0, None, None)
    expected = shows.new_ones(queries, keys) if seen is None else seen.expand(queries, keys)
    return shows, expected, j > i


def _compare(
    module: nn.Module, own: _posenc.Mask, handed: Tensor, shape: tuple[int, ...], first: int | None, gone: int
) -> None:
    name = type(module).__name__
    shows, expected, _ = _patterns(module, own, handed, shape, first, gone)
    if handed.dtype.is_floating_point and not bool((handed[shows] == 0).all()):
        raise ValueError(f"[use] {name} hands over a mask that adds to scores, which masks='plan' would leave out")
    differs = (shows != expected).flatten(0, -3).any(0) if shows.dim() > 2 else shows != expected
    if not bool(differs.any()):
        return
    query, key = (int(place) for place in differs.nonzero()[0])
    sees = bool(expected[query, key])
    raise ValueError(
        f"[use] {name} hands over a mask by which query {query} of the call {'does not see' if sees else 'sees'} key {key}, "
        f"but by the model's plan, {own!r}, it {'does' if sees else 'does not'}: masks='plan' knows nothing of padding, of "
        "packed texts or of masks of the caller's; say masks='model'"
    )


def require_own_window(module: nn.Module, own: _posenc.Mask, shape: tuple[int, ...]) -> None:
    """The same of what GPT-Neo adds to its mask by a buffer, in place of which posenc takes the plan's window."""
    *_, queries, keys = shape
    pattern = module.bias[0, 0, keys - queries : keys, :keys].bool()  # type: ignore[index, union-attr, operator]
    if pattern.shape == (queries, keys):
        require_same_mask(module, own, pattern, shape, None, 0)
