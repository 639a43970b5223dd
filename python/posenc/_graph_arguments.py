"""What a graph of torch holds of a RotaryTable, and of a LayerPlan and its learned tables: texts, and tensors.

A graph that is saved is run by another process, which has none of this one's objects. So a text says all: by what call
a table was made, which members a layer has, and which of the operator's tensors is which of its weights.
"""

from __future__ import annotations

import functools
import json
import weakref
from typing import Any

import torch
from torch import Tensor

from . import _posenc
from ._tables import table_text, value_of, value_text
from ._tables import table_of as table_from_text

_KEPT = 64  # tables, and prepared layers, of graphs that this process has loaded


class Table:
    """A RotaryTable, for graphs.

    It may be copied, pickled and saved with a module that has it; a table of given values (table_from_cos_sin) is kept
    alive as long as a graph that was compiled with it, any other is made again where it is needed.
    """

    def __init__(self, table: _posenc.RotaryTable) -> None:
        if not isinstance(table, _posenc.RotaryTable):
            raise TypeError(
                f"[posenc.torch] Table takes a RotaryTable, of make_table or table_on_demand, but is given {table!r:.80}"
            )
        self.table = table
        self.text = table_text(table)
        _tables.setdefault(self.text, self)

    def __reduce__(self) -> tuple[Any, ...]:
        return Table, (self.table,)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self.table == other.table

    def __hash__(self) -> int:
        return hash(self.table)


_tables: weakref.WeakValueDictionary[str, Table] = weakref.WeakValueDictionary()
_loaded_table = functools.lru_cache(maxsize=_KEPT)(table_from_text)


def table_of(text: str) -> _posenc.RotaryTable:
    """The table of a Table's text. ValueError where it is of given values, and not alive."""
    alive = _tables.get(text)
    return _loaded_table(text) if alive is None else alive.table


# ---- layers ----

# Learned tables, by the names of their classes: what a text may ask for, with its members.
_WEIGHTS = {
    name: kind
    for name, kind in vars(_posenc).items()
    if isinstance(kind, type) and (name == "Linear" or name.endswith("Weights"))
}


def _tensor(array: Any) -> Tensor:
    if isinstance(array, Tensor):
        return array.detach()
    if hasattr(array, "__dlpack__") and type(array).__module__.partition(".")[0] != "numpy":
        return torch.from_dlpack(array)
    if str(getattr(array, "dtype", "")) == "bfloat16":
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    import numpy as np

    shared = np.asarray(array)
    return torch.from_numpy(shared if shared.flags.writeable else shared.copy())


def _taken_apart(value: Any, tensors: list[Tensor]) -> Any:
    """The value as JSON has it; arrays go to the end of `tensors`, and their number takes their place."""
    name = type(value).__name__
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_taken_apart(one, tensors) for one in value]
    if _WEIGHTS.get(name) is type(value):
        return {name: {key: _taken_apart(one, tensors) for key, one in value.__getstate__().items()}}
    tensors.append(_tensor(value))
    return {"tensor": len(tensors) - 1}


def _put_together(value: Any, tensors: list[Tensor]) -> Any:
    if isinstance(value, list):
        return [_put_together(one, tensors) for one in value]
    if not isinstance(value, dict):
        return value
    ((name, members),) = value.items()
    if name == "tensor":
        return tensors[members]
    return _WEIGHTS[name](**{key: _put_together(one, tensors) for key, one in members.items()})


class Layer:
    """A LayerPlan and its learned tables, for graphs: score_weights, value_weights and sinks as attend has them.

    Or a PreparedLayer, which has its tables. Tables are shared with the caller, and are constants of a graph. It may be
    copied, pickled and saved with a module that has it.
    """

    def __init__(self, layer: _posenc.LayerPlan | _posenc.PreparedLayer, **weights: Any) -> None:
        if isinstance(layer, _posenc.PreparedLayer):
            if weights:
                raise TypeError(f"[posenc.torch] a PreparedLayer has its tables: Layer takes no {', '.join(weights)} beside it")
            plan = layer.layer
            weights = {name: getattr(layer, name) for name in ("score_weights", "value_weights", "sinks")}
        elif isinstance(layer, _posenc.LayerPlan):
            plan = layer
        else:
            raise TypeError(f"[posenc.torch] Layer takes a LayerPlan or a PreparedLayer, but is given {layer!r:.80}")
        self.layer = layer
        self.value_dim = plan.value_dim
        self.weights: list[Tensor] = []
        if "score_weights" in weights:
            weights["score_weights"] = tuple(weights["score_weights"])  # an iterator can be asked once
        self._given = weights
        parts = {name: _taken_apart(value, self.weights) for name, value in weights.items()}
        is_prepared = plan is not layer
        self.text = json.dumps([value_text(plan), is_prepared, parts], separators=(",", ":"))
        if is_prepared:
            _prepared[_key(self.text, self.weights)] = self

    def __reduce__(self) -> tuple[Any, ...]:
        if isinstance(self.layer, _posenc.PreparedLayer):
            return _prepared_again, (self.layer.layer, self._given)
        return _layer_again, (self.layer, self._given)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Layer) or self.text != other.text:
            return False
        return all(map(torch.equal, self.weights, other.weights))

    def __hash__(self) -> int:
        return hash(self.text)


def _layer_again(layer: _posenc.LayerPlan, weights: dict[str, Any]) -> Layer:
    return Layer(layer, **weights)


def _prepared_again(layer: _posenc.LayerPlan, weights: dict[str, Any]) -> Layer:
    return Layer(_posenc.prepare_layer(layer, **weights))


# A prepared layer by its text and the state of its tables, which are alive as long as it is.
_prepared: weakref.WeakValueDictionary[Any, Layer] = weakref.WeakValueDictionary()
_loaded_layers: dict[Any, Layer] = {}


def _key(text: str, weights: list[Tensor]) -> Any:
    states = ((0 if x.is_inference() else x._version, x.data_ptr(), x.shape, x.stride(), x.dtype) for x in weights)
    return text, *states


@functools.lru_cache(maxsize=_KEPT)
def _parsed(text: str) -> tuple[_posenc.LayerPlan, bool, dict[str, Any]]:
    plan, is_prepared, parts = json.loads(text)
    return value_of(plan), is_prepared, parts


def call_of(text: str, weights: list[Tensor]) -> tuple[Any, dict[str, Any]]:
    """The layer of a Layer's text, and attend's keyword arguments: its learned tables."""
    plan, is_prepared, parts = _parsed(text)
    if not is_prepared:
        return plan, {name: _put_together(value, weights) for name, value in parts.items()}
    key = _key(text, weights)
    alive = _prepared.get(key)
    if alive is None:
        alive = _prepared_again(plan, {name: _put_together(value, weights) for name, value in parts.items()})
        if len(_loaded_layers) >= _KEPT:
            _loaded_layers.pop(next(iter(_loaded_layers)), None)
        _prepared[key] = _loaded_layers[key] = alive
    return alive.layer, {}
