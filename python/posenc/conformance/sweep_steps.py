"""A text token by token, with the cache that the class's generation makes.

A decoder may leave its window to that cache: what is given at once sees all that comes before it, and a token that is
generated sees what the cache has kept. Such layers are judged by what is generated.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import DynamicCache

from .sweep_probe import Attended, Probe, events


def _slides(model: nn.Module) -> bool:
    """Whether generation would drop keys from the cache of some layer, and has no cache of its own for that."""
    if {*(getattr(model.config, "layer_types", None) or ())} - {"full_attention", "sliding_attention"}:
        return False
    try:
        return any(DynamicCache(config=model.config).is_sliding)
    except Exception:  # a configuration that is no decoder's
        return False


def _is_causal_alone(event: Attended) -> bool:
    rows, columns = event.scores.shape[-2:]
    if rows != columns:
        return False
    scores = event.scores[0, 0]
    hidden = scores < scores.amax(-1, keepdim=True) - 1000.0
    return bool(torch.equal(hidden, torch.ones(rows, columns, dtype=torch.bool).triu(1)))


def leaves_window_to_cache(model: nn.Module, layers: Iterable[Attended]) -> bool:
    return _slides(model) and all(_is_causal_alone(event) for event in layers)


_BY_TOKEN = ("input_ids", "inputs_embeds")  # a row for each


def by_tokens(model: nn.Module, inputs: dict[str, Any]) -> list[Attended]:
    """Of each layer what it did with all tokens: [n, n] scores, -inf where a key was no longer there."""
    cache = DynamicCache(config=model.config)
    steps: dict[str, list[Attended]] = {}
    whole = next(inputs[name] for name in _BY_TOKEN if name in inputs)
    tokens = whole.shape[1]
    for at in range(tokens):
        given = {key: value[:, at : at + 1] if key in _BY_TOKEN else value for key, value in inputs.items()}
        probe = Probe(model)
        events(model, {**given, "past_key_values": cache, "use_cache": True}, probe)
        for event in probe.attended:
            steps.setdefault(event.path, []).append(event)
    return [_joined(of) for of in steps.values() if len(of) == tokens]


def _joined(steps: list[Attended]) -> Attended:
    n = len(steps)
    scores = torch.full((*steps[0].scores.shape[:2], n, n), -torch.inf, dtype=steps[0].scores.dtype)
    for row, step in enumerate(steps):
        kept = step.scores.shape[-1]
        scores[..., row, row + 1 - kept : row + 1] = step.scores[..., 0, :]

    def of_each(tensors: Iterable[Tensor]) -> Tensor:
        return torch.cat([tensor[:, :, -1:] for tensor in tensors], 2)

    return dataclasses.replace(
        steps[0],
        q=of_each(step.q for step in steps),
        k=of_each(step.k for step in steps),
        scores=scores,
        steady=all(step.steady for step in steps),
    )
