"""Which part of a model use() takes over: all of it, or of a model with towers its text, which the towers feed.

A tower (of images, of sound) has a configuration of its own inside the model's, another kind of position, and often
rotary modules and functions of the same names in the same file. It is left as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from . import _posenc
from ._read_plan import read_plan

# Of a configuration that has its text in itself, and towers beside: what is no tower.
_TEXTS = ("text_config", "text_encoder", "encoder", "decoder", "generator", "question_encoder")
_TEXT_STACKS = ("decoder", "encoder", "text", "text_encoder")


class TextPart:
    """A module of the model, and the towers inside it that are left out."""

    def __init__(self, whole: PreTrainedModel) -> None:
        config = _text_config(whole)
        self.whole = whole
        self.name, self.model = _holder(whole, config)
        self._towers = tuple(name for name, _ in _towers(self.model)) if self.model is whole else ()

    @property
    def is_whole(self) -> bool:
        return self.model is self.whole and not self._towers

    @property
    def config(self) -> Any:
        return self.model.config

    def modules(self) -> Iterator[tuple[str, nn.Module]]:
        """Names within the part, and modules; not those of towers."""
        for name, module in self.model.named_modules():
            if not any(name == tower or name.startswith(f"{tower}.") for tower in self._towers):
                yield name, module

    def full_name(self, name: str) -> str:
        return f"{self.name}.{name}" if self.name else name

    def others(self) -> Iterator[tuple[str, nn.Module]]:
        """Modules of the model that are not of this part, and what holds it; names within the model."""
        own = {id(module) for _, module in self.modules()}
        for name, module in self.whole.named_modules():
            if id(module) not in own and not self._holds(name):
                yield name, module

    def _holds(self, name: str) -> bool:
        return not name or self.name == name or self.name.startswith(f"{name}.")

    def left_out(self, name: str) -> str:
        """Of a module of others(): the outermost that holds it, and nothing of this part."""
        if self._towers:
            return next((tower for tower in self._towers if name.startswith(tower)), name)
        words = name.split(".")
        names = (".".join(words[:count]) for count in range(1, len(words) + 1))
        return next(name for name in names if not self._holds(name))

    def stacks(self, plan: _posenc.Plan) -> _posenc.Plan:
        """The plan of this part alone: known where its stacks are."""
        if self.is_whole:
            return plan
        names = self._stack_names(plan)
        stacks = tuple(stack for stack in plan.stacks if stack.name in names)
        known = (plan.known or plan.stacks != stacks) and all(stack.known for stack in stacks)
        return plan.replace(stacks=stacks, known=known)

    def _stack_names(self, plan: _posenc.Plan) -> set[str]:
        if self.model is not self.whole:
            try:
                return {stack.name for stack in read_plan(self.config).stacks}
            except ValueError:
                pass
        return {stack.name for stack in plan.stacks if stack.name in _TEXT_STACKS}


def _text_config(model: PreTrainedModel) -> Any:
    config = model.config
    if config.is_encoder_decoder:
        return config
    try:
        return config.get_text_config()
    except ValueError:  # of several, the one that writes
        return config.get_text_config(decoder=True)


def _holder(model: PreTrainedModel, config: Any) -> tuple[str, PreTrainedModel]:
    """The outermost module with this configuration: the model itself, or its text."""
    if config is model.config:
        return "", model
    models = [(name, of) for name, of in model.named_modules() if isinstance(of, PreTrainedModel)]
    same = [(name, of) for name, of in models if of.config is config]
    alike = [(name, of) for name, of in models if type(of.config) is type(config)]
    if not same and len({id(of.config) for _, of in alike}) == 1:  # a copy, of which there is no other
        same = alike
    return same[0] if same else ("", model)


def _towers(model: PreTrainedModel) -> Iterator[tuple[str, nn.Module]]:
    names = [name for name in getattr(model.config, "sub_configs", {}) if name not in _TEXTS]
    parts = [getattr(model.config, name, None) for name in names]
    for name, module in model.named_modules():
        if isinstance(module, PreTrainedModel) and any(module.config is part for part in parts if part is not None):
            yield name, module
