"""Attention of transformers' models where a gradient is asked for: in operations of torch (_composed), with the tables
that are learned as they are, the model's parameters or the caller's.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from . import _posenc
from ._composed import attend as composed
from ._composed.check import OPTIONAL, check, without_fakes
from ._composed.layer import ComposedLayer

composed_layer = functools.lru_cache(maxsize=1024)(ComposedLayer)


def tables_by_name(layer: _posenc.LayerPlan, named: Mapping[str, Tensor]) -> dict[str, Any]:
    """What named_weights makes of these tables, with the tables themselves, gradients and all."""
    with without_fakes():
        stand_ins = {name: torch.ones([int(n) for n in table.shape]) for name, table in named.items()}
        made = _posenc.named_weights(layer, stand_ins)
    of = {id(stand_in): named[name] for name, stand_in in stand_ins.items()}

    def with_tables(value: Any) -> Any:
        if isinstance(value, Tensor):
            return of[id(value)]
        if isinstance(value, (list, tuple)):
            return [with_tables(one) for one in value]
        if not hasattr(value, "__getstate__") or isinstance(value, (int, float, str)) or value is None:
            return value
        members = {name: with_tables(one) for name, one in value.__getstate__().items()}
        if isinstance(value, _posenc.FireWeights):
            members |= {name: named[name].reshape(()) for name in ("c", "threshold") if name in named}
        return members

    return {name: with_tables(value) for name, value in made.items() if value is not None}


def trained(
    layer: _posenc.LayerPlan | _posenc.PreparedLayer,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    keywords: Mapping[str, Any],
    tables: Mapping[str, Any],
) -> Tensor:
    """[batch, tokens, heads, value_dim], as attention() of posenc.transformers gives it: contiguous, as some modules take
    a view of it. keywords: attend's, of which learned tables are not read; tables: those, as dicts of tensors."""
    plan = layer.layer if isinstance(layer, _posenc.PreparedLayer) else layer
    if keywords.get("angles", "exact") != "exact" and any(one.role == "main" for one in plan.rotate):
        raise NotImplementedError(
            "[attention] angles must be 'exact' where a gradient goes through a rotation of attention"
        )
    given: dict[str, Any] = {name: keywords.get(name) for name in OPTIONAL}
    given |= {"prefix": 0, "q_rotated": False, "k_rotated": False}
    of = composed_layer(plan)
    learned = {name: value for name, value in tables.items() if value is not None}
    check(of, learned, q, k, v, given)
    out, _ = composed.attend(of, learned, q, k, v, given)
    return out.transpose(1, 2).contiguous()
