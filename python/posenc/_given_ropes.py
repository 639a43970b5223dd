"""By which RoPE each rotary module of a model makes angles, and what the layers of the model are given by that.

A module that is told the type of a layer makes those of its type. Another makes one kind: where the layers of a model
differ, it has several of them (a module a base), and which is which is found by its own angles.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn

from . import _posenc
from ._own_angles import agrees
from ._rotary_modules import Rotary

Ropes = Mapping[str | None, _posenc.Rope | None]  # by type of layer; None: what is told no type


def _innermost(module: nn.Module) -> Any:
    while isinstance(module, Rotary):  # of a use() around this one
        module = module.original
    return module


def takes_type(module: nn.Module) -> bool:
    return "layer_type" in inspect.signature(_innermost(module).forward).parameters


class GivenRopes:
    """What rotary modules give, by their names, and layers are given, by their own ropes."""

    def __init__(
        self,
        modules: Iterable[tuple[str, nn.Module]],
        ropes: Ropes,
        planned: Mapping[_posenc.Rope, _posenc.Rope | None],
        is_known: bool,
    ) -> None:
        """planned: by each rope of the model's own plan, that of the plan that is used; of several, the first layer's.
        is_known: whether the model's own plan is that of its configuration."""
        self._ropes = ropes
        self._of_module: dict[str, Ropes] = {}
        self._given: dict[_posenc.Rope, list[_posenc.Rope | None]] = {rope: [] for rope in planned}
        modules = list(modules)
        self._by_type = not modules
        first = next(iter(planned), None)
        for name, module in modules:
            if takes_type(module):
                self._by_type = True
                continue
            made = [rope for rope in planned if agrees(_innermost(module), rope)] if is_known and len(planned) > 1 else []
            gives = ropes[None] if not made or first in made else planned[made[0]]
            self._of_module[name] = {None: gives}
            for rope in made or planned:
                self._given[rope].append(gives)

    def of_module(self, name: str) -> Ropes:
        return self._of_module.get(name, self._ropes)

    def is_given(self, rope: _posenc.Rope | None, own: _posenc.Rope, layer_type: str | None) -> bool:
        """Whether the module of a layer, whose own rope is `own`, makes the angles of `rope` for it; no where that cannot be
        told."""
        if self._by_type:
            return rope == self._ropes[layer_type if layer_type in self._ropes else None]
        given = self._given.get(own, [])
        return bool(given) and all(gives == rope for gives in given)
