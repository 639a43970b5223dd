"""Tensors as the kernels read them: channels of a head adjacent, tokens and heads anywhere."""

from __future__ import annotations

from torch import Tensor


def adjacent(x: Tensor) -> Tensor:
    """x, or a copy of it where channels are not adjacent, as of a model that transposed last."""
    return x if x.stride()[-1:] == (1,) else x.contiguous()


def dense(x: Tensor) -> Tensor:
    """adjacent(x), with memory of its own along every axis: a gradient may be one number, expanded."""
    return x.contiguous() if 0 in x.stride() else adjacent(x)
