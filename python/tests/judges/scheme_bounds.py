"""How far two right answers to a call of scheme_cases.py can be apart: bounds.scheme, of what is in the call."""

from __future__ import annotations

import torch

import bounds
import posenc
import posenc.torch
from posenc._graph_arguments import call_of


def factor_of(plan):
    factor = 1.0
    for one in plan.rotate:
        factor *= posenc.frequencies(one.rope).attention_factor
    return factor


def bound_of(call, unit):
    """bounds.scheme of a call: what is largest in it is the reference's to say."""
    plan, factor = call.plan, factor_of(call.plan)
    position = max(
        [64.0, *(float(torch.as_tensor(x).abs().max()) for n, x in call.given.items() if n.endswith("_positions"))]
    )
    frequency = max([1.0, *(max(map(abs, posenc.frequencies(one.rope).inv_freq)) for one in plan.rotate)])
    tau = 3.0 if plan.query_scale is not None else 1.0
    layer = posenc.torch.Layer(plan, **{name: of for name, of in call.tables.items() if name != "inv_freq"})
    of, keywords = call_of(layer.text, layer.weights)
    given = {name: x for name, x in call.given.items()}
    _, scores = posenc.reference.attend(of, call.q, call.k, call.v, scores="biased", **keywords, **given)
    scores = torch.as_tensor(scores)
    largest = float(scores[scores.isfinite()].abs().max()) if bool(scores.isfinite().any()) else 0.0
    v = call.v * max(factor, 1.0)
    if "value_weights" in call.tables:
        v = v.abs().max() + call.tables["value_weights"]["table"].abs().max().reshape(1)
    has_sines = any(
        isinstance(term, (posenc.Sandwich, posenc.ShawKeys, posenc.TransformerXl, posenc.XlNet)) for term in plan.score
    )
    angle = bounds.product_angle(position, frequency) if plan.rotate or has_sines else 0.0
    scale = plan.softmax_scale * tau * factor**2
    return bounds.scheme(call.q, call.k, v, scale, largest, call.case.terms, call.of.keys, unit, angle)
