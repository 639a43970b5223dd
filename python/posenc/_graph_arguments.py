"""What a graph of torch holds of a RotaryTable, and of a LayerPlan and its learned tables: texts, and tensors.

A graph that is saved is run by another process, which has none of this one's objects. So a text says all: by what call
a table was made, which members a layer has, and which of the operator's tensors is which of its weights.
"""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from . import _posenc
from ._composed.check import layer_problem, stand_in, without_fakes
from ._composed.layer import TERMS, ComposedLayer
from ._composed.table import TableRotation
from ._learned_numbers import FUTURE, PAST, LearnedNumbers
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
        self.composed = TableRotation(table)
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


# Members of learned tables that are learned tables themselves.
_NESTED = {
    "positions": "TransformerXlWeights",
    "hidden": "Linear",
    "out": "Linear",
    "keys": "Linear",
    "queries": "Linear",
    "layers": "Linear",
}


def _tensor(array: Any) -> Tensor:
    if isinstance(array, Tensor):
        return array
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
    if isinstance(value, _Members):
        return {value.kind: {key: _taken_apart(one, tensors) for key, one in value.members.items()}}
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


def _members(kind: str, given: Any) -> Any:
    """A dict of a table's members as its class would have it; an object of the class is left as it is."""
    if isinstance(given, (list, tuple)):
        return [_members(kind, one) for one in given]
    if not isinstance(given, Mapping):
        return given
    return _Members(kind, {name: _members(_NESTED.get(name, ""), one) for name, one in given.items() if one is not None})


class _Members:
    """What a class of learned tables has, with tensors that may require a gradient, which the class refuses."""

    def __init__(self, kind: str, members: dict[str, Any]) -> None:
        self.kind, self.members = kind, members


def _named(parts: Any, path: str = "") -> Iterator[tuple[int, str]]:
    """The tensors of parts, by number, and where each stands: "score_weights.0.table"."""
    if isinstance(parts, list):
        for place, one in enumerate(parts):
            yield from _named(one, f"{path}.{place}")
    if isinstance(parts, dict):
        ((name, members),) = parts.items()
        if name == "tensor":
            yield members, path
        else:
            for key, one in members.items():
                yield from _named(one, f"{path}.{key}")


def filled(parts: Any, tensors: Sequence[Tensor]) -> Any:
    """The same as plain dicts and lists of tensors: what _composed takes."""
    if isinstance(parts, list):
        return [filled(one, tensors) for one in parts]
    if not isinstance(parts, dict):
        return parts
    for name, members in parts.items():
        if name == "tensor":
            return tensors[members]
        return {key: filled(one, tensors) for key, one in members.items()}
    return {}


class Layer:
    """A LayerPlan and its learned tables, for graphs: score_weights, value_weights and sinks as attend has them.

    Or a PreparedLayer, which has its tables. Tables are shared with the caller, and are constants of a graph that was
    exported. It may be copied, pickled and saved with a module that has it.

    A table that is trained, a tensor that requires a gradient, comes in a dict of the members of its class:
    score_weights=[{"table": table}] for [T5Weights(table=table)]. In a dict FIRE's c and threshold may be tensors too, and
    ALiBi may have slopes, [heads]. inv_freq: learned frequencies, one tensor [pairs] or None for each main rotation.

    kernel_lacks: what the kernels do not find in `text` (learned slopes and frequencies, of which `numbers` makes what they
    take). names: of each of `weights`, where it stands: "score_weights.0.table". attend's `tables` takes others in their place.
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
        self._given = dict(weights)
        in_order = ("score_weights", "value_weights", "sinks", "inv_freq")
        weights = {name: weights[name] for name in (*in_order, *weights) if name in weights}
        inv_freq = weights.pop("inv_freq", None)
        if weights.get("score_weights"):
            kinds = [TERMS[type(term)].weights or "AlibiWeights" for term in plan.score]
            rest: Any = weights["score_weights"][len(kinds) :]  # too many: the call says so
            made = [_members(kind, one) for kind, one in zip(kinds, weights["score_weights"])]
            weights["score_weights"] = [*made, *(None if isinstance(one, Mapping) else one for one in rest)]
        if "value_weights" in weights:
            weights["value_weights"] = _members("ShawWeights", weights["value_weights"])
        parts = {name: _taken_apart(value, self.weights) for name, value in weights.items()}
        self.parts = {name: list(of) if isinstance(of, list) else of for name, of in parts.items()}
        self.kernel_lacks = "" if inv_freq is None else "learned frequencies"
        if inv_freq is not None:
            self.parts["inv_freq"] = _taken_apart(list(inv_freq), self.weights)
        slopes: dict[int, int] = {}
        for place, of in enumerate(parts.get("score_weights") or []):
            if isinstance(of, dict) and "AlibiWeights" in of:
                self.kernel_lacks, parts["score_weights"][place] = "learned slopes", None
                slopes[place] = of["AlibiWeights"]["slopes"]["tensor"]
        of_rotations = [None if one is None else one["tensor"] for one in self.parts.get("inv_freq") or []]
        self.numbers = LearnedNumbers(plan, slopes, of_rotations, parts)
        self.names = [path for _, path in sorted((at, name + path) for name, of in self.parts.items() for at, path in _named(of))]
        self.plan = plan
        self._make_composed(parts)
        is_prepared = plan is not layer
        self.text = json.dumps([value_text(plan), is_prepared, parts], separators=(",", ":"))
        self._text_of_slopes = self.text
        if slopes:
            self._text_of_slopes = json.dumps([self.numbers.plan_text, False, self.numbers.parts], separators=(",", ":"))
        if is_prepared:
            _prepared[_key(self.text, self.weights)] = self

    def _make_composed(self, parts: dict[str, Any]) -> None:
        """The layer in torch's operations; what it is refused for, the call says."""
        self.composed: ComposedLayer | None = None
        self.problem: str | None = None  # what every call is refused for, and every call without a length
        self.needs_length: str | None = None
        with without_fakes():
            try:
                weights = {name: _put_together(of, [stand_in(x) for x in self.weights]) for name, of in parts.items()}
                self.problem = layer_problem(self.plan, weights)
                if self.problem is not None and layer_problem(self.plan, weights, length=1) is None:
                    self.needs_length, self.problem = self.problem, None
                if self.problem is None:
                    self.composed = ComposedLayer(self.plan)
            except ValueError as problem:
                self.problem = str(problem)

    def kernel_text(self, queries: int, keys: int) -> str:
        """The text by which kernels compute such a call, of the tables of `numbers`."""
        return self._text_of_slopes.replace(str(PAST), str(max(keys - 1, 0))).replace(str(FUTURE), str(max(queries - 1, 0)))

    def learned(self, tables: Sequence[Tensor] | None = None) -> dict[str, Any]:
        """Its tables, or others in their place, as _composed takes them."""
        tensors = self.weights if tables is None else tables
        return {name: filled(of, tensors) for name, of in self.parts.items()}

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
    weights = [x.detach() for x in weights]
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
