"""Scales of queries by their position, q_i -> tau_i q_i (posenc/scores.h has who disagrees)."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

from .. import _posenc

Scale = Callable[[Tensor], Tensor]  # of positions, float64


def _llama4(s: _posenc.Llama4Temperature) -> Scale:
    attn, floor = float(s.attn_scale), float(s.floor_scale)
    return lambda i: torch.log1p(torch.floor((i + 1.0) / floor)) * attn + 1.0


def _ministral(s: _posenc.MinistralTemperature) -> Scale:
    beta, length = float(s.beta), float(s.original_max_position_embeddings)
    return lambda i: 1.0 + beta * torch.log1p(torch.floor(i / length))


def _log_n(s: _posenc.LogNScale) -> Scale:
    length = float(s.seq_length)
    return lambda i: (torch.log(i + 1.0) / torch.log(torch.full_like(i, length))).clamp(min=1.0)


def _beam(s: _posenc.BeamTemperature) -> Scale:
    exponent, length = float(s.exponent), float(s.length)
    return lambda i: torch.exp(exponent * torch.log1p((i + 1.0) / length))


def _inkling(s: _posenc.InklingTemperature) -> Scale:
    alpha, floor = float(s.alpha), float(s.floor)
    return lambda i: 1.0 + alpha * torch.log(((i + 1.0) / floor).clamp(min=1.0))


SCALES: dict[type, Callable[[Any], Scale]] = {
    _posenc.Llama4Temperature: _llama4,
    _posenc.MinistralTemperature: _ministral,
    _posenc.LogNScale: _log_n,
    _posenc.BeamTemperature: _beam,
    _posenc.InklingTemperature: _inkling,
}


def scale_of(scheme: Any) -> Scale | None:
    return None if scheme is None else SCALES[type(scheme)](scheme)
