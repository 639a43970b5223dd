"""Whether a rotary module still makes the angles that it made when use() began: posenc's stand in for them, so that what is
written into its frequencies or its attention factor meanwhile would be without effect.

A rule of length (dynamic NTK, LongRoPE) writes its own: looked at is what it has for position 1, whatever came before.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .._composed.check import is_readable

_FACTOR = "attention_scaling"  # or <layer type>_attention_scaling


def _held(module: nn.Module) -> dict[str, Any]:
    """Frequencies, and what cos and sin are multiplied by, by name: of a rule of length those that it starts from too."""
    names = {*module._buffers, *(name for name in vars(module) if name.endswith(("inv_freq", _FACTOR)))}
    held = {name: getattr(module, name) for name in sorted(names)}
    return {name: of for name, of in held.items() if isinstance(of, (int, float)) or _is_of_floats(of)}


def _is_of_floats(of: Any) -> bool:
    return isinstance(of, Tensor) and of.is_floating_point()


class AnglesAtEntry:
    """Of a module whose rule of length, if it has one, was asked for position 1 before, as it is before each compare()."""

    def __init__(self, module: nn.Module) -> None:
        self._before = {name: of.detach().clone() if isinstance(of, Tensor) else of for name, of in _held(module).items()}
        self._seen: Any = None

    def compare(self, module: nn.Module) -> None:
        """ValueError where they are others; a cast of the module (model.half()) rounds them, and is no other."""
        now = _held(module)
        seen = tuple(_seen(of) for of in now.values())
        on_host = all(of.device.type == "cpu" for of in now.values() if isinstance(of, Tensor))
        if seen == self._seen and not on_host:  # another device would be waited for each time
            return
        for name in {**self._before, **now}:
            if not _same(self._before.get(name), now.get(name)):
                raise ValueError(
                    f"[use] {name} of {type(module).__name__} must stay what it was when use() began, for the angles are "
                    "posenc's: leave use(), change it, and enter it again with a plan or a scheme that has the other one"
                )
        self._seen = seen


def _seen(of: Any) -> Any:
    return (id(of), None if of.is_inference() else of._version) if isinstance(of, Tensor) else of


def _same(before: Any, now: Any) -> bool:
    if not isinstance(before, Tensor) or not isinstance(now, Tensor):
        return type(before) is type(now) and before == now
    if before.shape != now.shape:
        return False
    if not is_readable(before) or not is_readable(now):  # of a FakeTensorMode, which traces and computes nothing
        return True
    return torch.equal(before.to("cpu", now.dtype), now.detach().cpu())
