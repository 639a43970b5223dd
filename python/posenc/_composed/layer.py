"""What a LayerPlan says, as numbers, texts and stages that a graph of torch can hold: it cannot look into the plan.

A scheme without a stage is a ValueError here, and a failing test (test_composed.py), never a layer without the scheme.
"""

from __future__ import annotations

from typing import Any

from .. import _posenc
from . import terms_along_row as along
from . import terms_of_content as content
from . import terms_of_distance as distance
from .mask import MaskOf
from .query_scale import SCALES, scale_of
from .regions import REGIONS, region_of
from .rotation import Rotation
from .values import VALUES

TERMS: dict[type, type[distance.Term]] = {
    _posenc.Alibi: distance.OfAlibi,
    _posenc.T5Bias: distance.OfT5,
    _posenc.ClippedBias: distance.OfClipped,
    _posenc.GridBias: distance.OfGrid,
    _posenc.Kerple: distance.OfKerple,
    _posenc.Fire: distance.OfFire,
    _posenc.Sandwich: distance.OfSandwich,
    _posenc.MlpBias: distance.OfMlp,
    _posenc.ShawKeys: content.OfShaw,
    _posenc.TransformerXl: content.OfTransformerXl,
    _posenc.XlNet: content.OfXlNet,
    _posenc.Deberta: content.OfDeberta,
    _posenc.DecomposedHw: content.OfDecomposedHw,
    _posenc.ContextualPosition: along.OfCope,
    _posenc.ForgetGate: along.OfForget,
    _posenc.DistanceLogits: along.OfDistanceLogits,
}


def _stage(table: dict[type, Any], scheme: Any) -> Any:
    made = table.get(type(scheme))
    if made is None:
        raise ValueError(
            f"[attend] {type(scheme).__name__} must have a form in torch's operations, but has none: posenc.attend"
        )
    return made


def _axes(layer: _posenc.LayerPlan, rotations: list[Rotation]) -> int:
    axes = max([1, *(rotation.axes for rotation in rotations)])
    for term in layer.score:
        if isinstance(term, (_posenc.GridBias, _posenc.DecomposedHw)):
            axes = max(axes, 2)
        if isinstance(term, _posenc.T5Bias):
            axes = max(axes, term.axis + 1)
    return axes


class ComposedLayer:
    def __init__(self, layer: _posenc.LayerPlan) -> None:
        self.heads, self.kv_heads = int(layer.heads), int(layer.kv_heads)
        self.head_dim, self.value_dim = int(layer.head_dim), int(layer.value_dim)
        self.softmax_scale = float(layer.softmax_scale)
        cap = layer.soft_cap
        self.cap = None if cap is None else float(cap.cap)
        self.caps_first = cap is not None and cap.order == "before_bias"
        self.sinks = bool(layer.sinks)
        self.mask = MaskOf(layer.mask)
        self.rotations = [Rotation(one) for one in layer.rotate if one.role == "main"]
        if layer.regions is not None:
            _stage(REGIONS, layer.regions)
        self.has_regions = layer.regions is not None
        self.region = region_of(layer.regions)
        self.terms = [_stage(TERMS, term)(term, layer) for term in layer.score]
        self.value = _stage(VALUES, layer.value)(layer.value)
        if layer.query_scale is not None:
            _stage(SCALES, layer.query_scale)
        self.query_scale = scale_of(layer.query_scale)
        norm = layer.qk_norm
        self.norm_follows = norm is not None and norm.order == "after"
        self.axes = _axes(layer, self.rotations)
        self.width = max([1, *(term.width for term in self.terms)])
