"""Which keys a query sees: by the plan (causal, bidirectional, prefix, sliding window, chunks), by the sequences of a
packed call, and by the caller's attn_mask.

  window: -future <= i - j <= past      chunk: floor(i / c) = floor(j / c)      i, j by order in the sequence
"""

from __future__ import annotations

import torch
from torch import Tensor

from .. import _posenc
from .rows import Rows, Side


class MaskOf:
    def __init__(self, mask: _posenc.Mask) -> None:
        self.kind = str(mask.kind)
        self.has_window = mask.window is not None
        self.past, self.future = (mask.window.past, mask.window.future) if mask.window is not None else (0, 0)
        self.chunk = mask.chunk

    def seen(self, q: Side, k: Side, prefix: int) -> Tensor | None:
        """[1 or batch, queries, keys]; None where all are."""
        one = None if q.sequence is None else q.sequence[..., :, None]
        other = None if k.sequence is None else k.sequence[..., None, :]
        return self.rule(q.order[..., :, None], k.order[..., None, :], prefix, one, other)

    def rule(self, i: Tensor, j: Tensor, prefix: int, one: Tensor | None, other: Tensor | None) -> Tensor | None:
        """Whether the query of order i in sequence `one` sees the key of order j in `other`."""
        parts = []
        if self.kind == "causal":
            parts.append(j <= i)
        if self.kind == "prefix":
            parts.append((j <= i) | (j < prefix))
        if self.has_window:
            parts.append((i - j <= self.past) & (j - i <= self.future))
        if self.chunk is not None:
            parts.append(_floor(i, self.chunk) == _floor(j, self.chunk))
        if one is not None and other is not None:
            parts.append(one == other)
        if not parts:
            return None
        seen = parts[0]
        for part in parts[1:]:
            seen = seen & part
        return seen

    def keys(self, rows: Rows, first: int, end: int) -> tuple[int, int]:
        """The keys that queries first to end may see, where both are counted: others need not be looked at."""
        if not rows.is_counted:
            return 0, rows.keys
        low, high = 0, rows.keys
        if self.kind == "causal" and end < rows.queries:
            high = max(min(high, rows.first_order() + end), 0)
        if self.has_window:
            low = max(rows.first_order() + first - self.past, 0)
            if end < rows.queries:
                high = max(min(high, rows.first_order() + end + self.future), 0)
        return min(low, high), high


def _floor(x: Tensor, by: int) -> Tensor:
    return torch.div(x, by, rounding_mode="floor")


def broadcast(x: Tensor, q: tuple[int, int], k: tuple[int, int]) -> Tensor:
    """Rows q[0] to q[1] and columns k[0] to k[1] of what broadcasts to [batch, heads, queries, keys]."""
    x = x.reshape((1,) * (4 - x.dim()) + tuple(x.shape))
    if x.shape[2] != 1:
        x = x[:, :, q[0] : q[1]]
    return x if x.shape[3] == 1 else x[..., k[0] : k[1]]
