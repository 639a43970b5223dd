"""A model whose configuration's plan is not known: the caller's plan stands for it alone, and what the model does is seen in
its calls. A layer without rotation is given angles of 0; one that rotates must use those that it is given."""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import nn

from . import _posenc
from ._held import NotCopied
from ._rotary_modules import Rotation, is_rotary, of_layer


class _Watched(NotCopied):
    def __init__(self, name: str, rope: _posenc.Rope | None) -> None:
        self.name = name
        self.rope = rope
        self.used: tuple[Rotation, int] | None = None  # of the call that goes on

    def before(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        given = kwargs.get("position_embeddings")
        self.used = None
        if given is None:
            return None
        angles = of_layer(given, self.rope)
        rotation = getattr(angles if isinstance(angles, torch.Tensor) else angles[0], "posenc_rotation", None)
        if isinstance(rotation, Rotation) and not torch.compiler.is_compiling():
            self.used = rotation, rotation.calls
        return args, {**kwargs, "position_embeddings": angles}

    def after(self, module: nn.Module, args: Any, output: Any) -> None:
        if self.used is not None and self.used[0].calls == self.used[1]:
            raise ValueError(
                f"[use] plan must have no rotation in {self.name}, which rotates nothing by the angles that it is given, but has "
                f"{self.rope!r}"
            )


def watch(undo: contextlib.ExitStack, name: str, module: nn.Module, rope: _posenc.Rope | None) -> None:
    """Until undo, calls of an attention module are given the angles of `rope`; ValueError where it rotates by others."""
    if rope is None and any(is_rotary(of) for of in module.modules()):
        raise ValueError(
            f"[use] plan must have a rotation in {name}, which makes its angles itself: what it does without one is not known, as "
            "the configuration of the model is not"
        )
    watched = _Watched(name, rope)
    undo.callback(module.register_forward_pre_hook(watched.before, with_kwargs=True).remove)
    undo.callback(module.register_forward_hook(watched.after).remove)
