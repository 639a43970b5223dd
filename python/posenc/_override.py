"""A plan with facts set by the user, and how others are told the same."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Union

from . import _posenc
from ._posenc import OverridePatch, Plan
from ._read_plan import Model, path_or_bytes, read_plan


def override(model: Union[Plan, Model], *settings: str) -> Plan:
    """The plan with some of its facts set: `posenc.override(plan, "rope_scaling=yarn,factor=4", "window=none")`.

    model: a plan, or whatever read_plan takes. Each setting is "[WHICH:]WORD=VALUE[,WORD=VALUE...]", as of --set on the
    command line; docs/overrides.md lists the words. What hangs on a fact follows (frequencies, the attention factor,
    DeepSeek's softmax scale), and the plan's sources say "set: WORD=VALUE".

    ValueError for a word or a value that is not known, for a setting that would be without effect (it says what the
    layers have), and for a plan that cannot hold.
    """
    return _posenc._override(_plan_of(model), list(settings))


def override_patches(
    model: Union[Plan, Model], *settings: str, config: Mapping[str, Any] | str | None = None
) -> tuple[OverridePatch, ...]:
    """How Hugging Face's config.json (old and new form), llama.cpp and vLLM are told what the settings say.

    config: the config.json that a plan was read from, as a dict or as text; a model given as a dict or as the name of
    a preset is its own. With it, the patches of both Hugging Face forms are applied to it and read again, and whatever
    is not as override() says is named in `unsaid`.
    """
    text = config if isinstance(config, str) else "" if config is None else json.dumps(dict(config), default=str)
    if config is None and not isinstance(model, Plan):
        text = _config_text(model)
    return _posenc._override_patches(_plan_of(model), list(settings), text)


def _plan_of(model: Union[Plan, Model]) -> Plan:
    return model if isinstance(model, Plan) else read_plan(model)


def _config_text(model: Model) -> str:
    """The config.json that `model` stands for, which is not what a saved plan names; empty where it is no such file."""
    path, given = path_or_bytes(model)
    if path is not None and path in _posenc.presets() and not os.path.exists(path):
        return _posenc._preset_config(path)
    if read_plan(model).source.kind != "config.json":
        return ""
    if given is not None:
        return given.decode()
    with open(os.path.join(path, "config.json") if os.path.isdir(path) else path, encoding="utf-8") as file:
        return file.read()
