"""Derivatives that torch takes in other ways than by .backward(): forward mode (jvp, jacfwd), and torch.func.

torch runs an operator that has no forward derivative without a word, and its derivative is 0. So while there is a level
of duals, or a transform of torch.func, calls go to functions that know what they do then, or refuse.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad


def has_duals() -> bool:
    """Whether tensors may carry tangents now."""
    return getattr(forward_ad, "_current_level", -1) >= 0


def is_transformed() -> bool:
    """Whether a derivative is taken by duals or by torch.func, outside of a graph."""
    if torch.compiler.is_compiling():
        return False
    peek = getattr(getattr(torch._C, "_functorch", None), "peek_interpreter_stack", None)
    return has_duals() or (peek is not None and peek() is not None)


def refuse_duals(where: str, remedy: str) -> None:
    """NotImplementedError while tensors may carry tangents: for an operator that would leave them out."""
    if has_duals():
        raise NotImplementedError(f"[{where}] has no forward-mode derivative: {remedy}")


def one_at_a_time(call: Any, info: Any, in_dims: tuple[Any, ...], x: Tensor, *others: Any) -> tuple[Tensor, int]:
    """A vmap rule: x may have the axis, and nothing else."""
    if any(dim is not None for dim in in_dims[1:]):
        raise NotImplementedError("[rotate] positions and tables must be the same of all that vmap goes through")
    return torch.stack([call(x.select(in_dims[0], at), *others) for at in range(info.batch_size)]), 0
