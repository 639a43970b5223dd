"""Whatever names a model, to its plan."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any, Protocol, Union

from . import _posenc
from ._posenc import Plan


class ModelConfig(Protocol):
    """A configuration object of transformers."""

    def to_dict(self) -> dict[str, Any]: ...


Model = Union[str, "os.PathLike[str]", bytes, Mapping[str, Any], ModelConfig]
"""Whatever names a model."""


def read_plan(model: Model, *, length: int | None = None) -> Plan:
    """What a model does with positions, layer by layer.

    `model` is, as on the command line, a path to a config.json, its directory or a GGUF file, or, where no such file
    is, the name of a preset; besides, the bytes of a file; the keys of a config.json as a dict; or a configuration of
    transformers. `length`: the sequence length that length-dependent rules are read for, in tokens.

    FileError for what cannot be read, and says where, what was expected and what came.
    """
    path, given = path_or_bytes(model)
    if given is not None:
        name = {bytes: "bytes", bytearray: "bytes", memoryview: "bytes", dict: "dict"}.get(type(model))
        return _posenc._read_bytes(given, name or type(model).__name__, length)
    if isinstance(model, str) and model in _posenc.presets() and not os.path.exists(model):
        return _posenc.preset_plan(model, length=length)
    return _posenc._read_path(os.fsencode(path), length)


def path_or_bytes(model: Model) -> tuple[str, None] | tuple[None, bytes]:
    """A path or the name of a preset; or the bytes of the file that `model` stands for."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model), None
    if isinstance(model, (bytes, bytearray, memoryview)):
        return None, bytes(model)
    if isinstance(model, Mapping):
        return None, _json_bytes(model)
    if hasattr(model, "to_dict"):
        return None, _json_bytes(model.to_dict())
    raise TypeError(
        "[read_plan] model must be a path, bytes, a dict or a configuration of transformers but is a "
        + type(model).__name__
    )


def _json_bytes(config: Mapping[str, Any]) -> bytes:
    # What JSON has no word for (a dtype, a class) has nothing to do with positions; its text keeps the key.
    return json.dumps(dict(config), default=str).encode()
