"""QK norm: RMSNorm, arXiv 1910.07467, LayerNorm, arXiv 1607.06450, and L2; over a head or over all heads of a token.

  rms x / sqrt(mean(x^2) + epsilon) * weight,   l2 of the sum,   layer of x less its mean, and + bias
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def _of_heads(weight: Tensor, x: Tensor, over: str) -> Tensor:
    """A weight of a head or of all heads, to be multiplied with what the norm is over."""
    if over == "head" and weight.numel() != x.shape[-1]:
        return weight.reshape(-1, x.shape[-1])
    return weight.reshape(-1)


def normalised(
    x: Tensor, kind: str, over: str, weight: Tensor | None, bias: Tensor | None, epsilon: float, weight_plus_one: bool
) -> Tensor:
    """kind, over: a QkNorm's. x: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]; computed in float32 at
    least, and of x's dtype again."""
    y: Any = x.transpose(1, 2) if x.dim() == 4 else x
    heads = y.shape[-2]
    y = y if x.dtype == torch.float64 else y.float()
    y = y if over == "head" else y.flatten(-2)
    if kind == "layer":
        y = y - y.mean(-1, keepdim=True)
    squares = y.square()
    total = squares.sum(-1, keepdim=True) if kind == "l2" else squares.mean(-1, keepdim=True)
    y = y * torch.rsqrt(total + epsilon)
    if weight is not None:
        factor = _of_heads(weight, x, over)
        y = y * (factor + 1 if weight_plus_one else factor)
    if bias is not None:
        y = y + _of_heads(bias, x, over)
    y = y if over == "head" else y.unflatten(-1, (heads, -1))
    out: Tensor = (y.transpose(1, 2) if x.dim() == 4 else y).to(x.dtype)
    return out
