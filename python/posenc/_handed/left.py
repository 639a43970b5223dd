"""Modules that attend and are left to the model: they must get masks of the form that they know.

Which form masks have is asked of a configuration by the name of attention. Modules that attend by code of their own count
on that of the name that their configuration had: eager ones add the mask to scores, to which posenc's, of True and False,
would add 1 and 0. So a part of a model in which nothing looks attention up keeps its name, in a copy of the configuration
(BigBird-Pegasus's encoder); where such modules stand beside others and get a mask of posenc's, that is refused. Modules that
do not attend and read a mask all the same (NLLB-MoE's router, which leaves padding out) get it in the form that they know.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from .._held import NotCopied, replace

_MADE = "posenc_made"  # of a mask: by posenc's function
_OF_ONE_FORM = ("sdpa", "posenc")  # names whose masks are True where a key is seen


def made_by_posenc(mask: Tensor | None) -> Tensor | None:
    if mask is not None and not torch.compiler.is_compiling():
        setattr(mask, _MADE, True)
    return mask


def keep_own_names(
    undo: contextlib.ExitStack,
    model: nn.Module,
    names: dict[int, str],
    attends: Callable[[nn.Module], bool],
    is_posencs: Callable[[nn.Module], bool],
) -> None:
    """Of the outermost models inside `model`, itself among them, that have modules that attend, none of them by posenc.

    names: of attention, before use() changed it, by id of configuration. attends, is_posencs: of a module.
    """
    attending = [of for of in model.modules() if attends(of)]
    if isinstance(model, PreTrainedModel) and attending and not any(is_posencs(of) for of in attending):
        if id(model.config) in names:
            _keep_name(undo, model, names[id(model.config)])
            return
    for child in model.children():
        keep_own_names(undo, child, names, attends, is_posencs)


def _keep_name(undo: contextlib.ExitStack, model: PreTrainedModel, name: str) -> None:
    before = model.config
    kept = copy.copy(before)
    kept._attn_implementation_internal = name
    for module in model.modules():
        if vars(module).get("config") is before:
            replace(undo, module, "config", kept)


class _RefuseMask(NotCopied):
    """A hook before each call of a module that counts on masks that are added to scores."""

    def __call__(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> None:
        if any(hasattr(of, _MADE) for of in (*args, *kwargs.values()) if isinstance(of, Tensor)):
            raise NotImplementedError(
                f"[use] {type(module).__name__} attends by code of its own, which adds a mask to scores, but is given one of "
                "True and False, as the modules beside it that posenc attends in: leave this model to 'eager' attention"
            )


class _OwnForm(NotCopied):
    """A hook before each call of a module that reads masks: posenc's become numbers to add, as eager attention's are."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dtype = dtype

    def __call__(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        return tuple(map(self._own, args)), {name: self._own(of) for name, of in kwargs.items()}

    def _own(self, given: Any) -> Any:
        # In a graph nothing carries a mark, and no other mask is of True and False.
        in_graph = torch.compiler.is_compiling()
        is_posencs = in_graph and isinstance(given, Tensor) and given.dtype == torch.bool and given.dim() == 4
        if not is_posencs and (in_graph or not hasattr(given, _MADE)):
            return given
        added = torch.zeros(given.shape, dtype=self.dtype, device=given.device)
        return added.masked_fill(~given, torch.finfo(self.dtype).min)


def give_own_form(
    undo: contextlib.ExitStack, model: PreTrainedModel, attends: Callable[[nn.Module], bool], names: dict[int, str], other: str
) -> None:
    """To modules of `model` that read a mask and neither attend nor have, or are, a part of one that does. names, other: as
    refuse_masks_in has them, of the models that the modules are of."""
    if names.get(id(model.config), other) in _OF_ONE_FORM:
        return
    of_attention = {id(part) for of in model.modules() if attends(of) for part in of.modules()}
    for module in model.modules():
        has_attention = any(id(part) in of_attention for part in module.modules())
        if not has_attention and any("mask" in name for name in inspect.signature(module.forward).parameters):
            undo.callback(module.register_forward_pre_hook(_OwnForm(model.dtype), with_kwargs=True).remove)


def refuse_masks_in(undo: contextlib.ExitStack, modules: Iterable[nn.Module], names: dict[int, str], other: str) -> None:
    """Of modules that attend, and not by posenc. other: the name of attention where a module has no configuration."""
    for module in modules:
        if names.get(id(getattr(module, "config", None)), other) not in _OF_ONE_FORM:
            undo.callback(module.register_forward_pre_hook(_RefuseMask(), with_kwargs=True).remove)
