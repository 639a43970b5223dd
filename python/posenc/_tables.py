"""RotaryTables from the calls that made them: what a pickle of one holds, and by what text a graph of torch names it.

A table holds rows, and not the Rope that they are of. (name, arguments) of the call has the Rope, and is short. Values
that a caller gave (table_from_cos_sin) have no such call: a pickle has their rows, and a text their digest.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from typing import Any

from . import _posenc

_MAKERS = ("make_table", "table_on_demand", "_table_of_rows")
# By name: frozen values with keyword arguments, which is all that a text may ask for.
_VALUES = {name: kind for name, kind in vars(_posenc).items() if inspect.isclass(kind) and hasattr(kind, "__replace__")}


def remade(maker: str, arguments: dict[str, Any]) -> _posenc.RotaryTable:
    """The table that this call made."""
    if maker not in _MAKERS:
        raise ValueError(f"[RotaryTable] a pickle must be of a call of {', '.join(_MAKERS)} but is of {maker}")
    table: _posenc.RotaryTable = getattr(_posenc, maker)(**arguments)
    return table


def _encoded(value: Any) -> Any:
    if type(value).__name__ in _VALUES:
        return {type(value).__name__: _encoded(value.__getstate__())}
    if isinstance(value, dict):
        return {key: _encoded(one) for key, one in value.items()}
    if isinstance(value, (tuple, list)):
        return [_encoded(one) for one in value]
    if isinstance(value, bytes):
        return {"sha256": hashlib.sha256(value).hexdigest()}
    return value


def _decoded(value: Any) -> Any:
    if isinstance(value, list):
        return [_decoded(one) for one in value]
    if not isinstance(value, dict):
        return value
    ((name, members),) = value.items()
    return _VALUES[name](**{key: _decoded(one) for key, one in members.items()})


def value_text(value: Any) -> str:
    """A frozen value as JSON, {class: members}: the same in every process."""
    return json.dumps(_encoded(value), separators=(",", ":"))


def value_of(text: str) -> Any:
    """The value of value_text(value). Only classes of values are made, whatever the text says."""
    return _decoded(json.loads(text))


def table_text(table: _posenc.RotaryTable) -> str:
    """By what call it was made: the same for equal tables, in every process."""
    maker, arguments = table._made
    return json.dumps([maker, _encoded(arguments)], separators=(",", ":"))


def table_of(text: str) -> _posenc.RotaryTable:
    """The table of table_text(table). ValueError for one of given values, of which the text has a digest alone."""
    maker, arguments = json.loads(text)
    if maker not in ("make_table", "table_on_demand"):
        raise ValueError(
            "[posenc.torch] a graph names a table of given values (table_from_cos_sin, table_from_angles), which is not "
            "in this process: make its posenc.torch.Table first, and keep it alive"
        )
    return remade(maker, {key: _decoded(one) for key, one in arguments.items()})
