"""A module's is_causal, or the keyword of that name, where it says otherwise than the mask.

transformers makes no mask where SDPA can be causal by the flag, and no mask where all keys are seen; then the flag decides.
posenc makes the first, to have one, and takes the plan's word for the second. Eager attention does not read the flag.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

_IMPLIED = "posenc_implied"  # of a mask in place of which SDPA has the flag


def with_implied(make: Callable[..., Tensor | None], args: Any, kwargs: dict[str, Any]) -> Tensor | None:
    """The mask, which remembers whether transformers would have omitted it for being causal."""
    if not kwargs.get("allow_is_causal_skip", True) or torch.compiler.is_compiling():
        return make(*args, **{**kwargs, "allow_is_causal_skip": False})
    made = make(*args, **{**kwargs, "allow_is_causal_skip": True})
    if made is None:
        made = make(*args, **{**kwargs, "allow_is_causal_skip": False})
        if made is not None:
            setattr(made, _IMPLIED, True)
    return made


def require_flag(module: nn.Module, said: bool | None, mask: Tensor | None, queries: int) -> None:
    """ValueError for a flag against a mask that SDPA would not have been given."""
    has = getattr(module, "is_causal", None) if said is None else said
    if queries < 2 or has is None:
        return
    if mask is not None and hasattr(mask, _IMPLIED) and not has:
        raise ValueError(_words(module, said, False, "a causal mask, by the configuration", "'eager'"))


def require_no_flag(module: nn.Module, said: bool | None, queries: int) -> None:
    """The same of a call without a mask whose queries see all keys by the plan."""
    has = getattr(module, "is_causal", None) if said is None else said
    if queries > 1 and has:
        raise ValueError(_words(module, said, True, "none, and the model's plan lets queries see all keys", "'eager'"))


def _words(module: nn.Module, said: bool | None, has: bool, mask: str, other: str) -> str:
    name = type(module).__name__
    where = f"{name}.is_causal" if said is None else f"is_causal, as {name} is given it,"
    return (
        f"[use] {where} must agree with the mask, which is {mask}, but is {has}: SDPA would attend by the flag, as long as there "
        f"is no padding, and {other} attention by the mask; give the mask that is meant, [batch, 1, queries, keys], or set "
        f"config.is_causal={has} before the model is called"
    )
