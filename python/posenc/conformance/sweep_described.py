"""What a class was seen to do, in words: for whoever writes the row of a family that no plan knows yet."""

from __future__ import annotations

import torch
from torch import Tensor

from . import sweep_layer, sweep_rotation
from .sweep_probe import Attended, kv_heads_of
from .sweep_runs import Group

_FIT = 2e-4


def _mask(seen: Tensor) -> str:
    """seen: [n, m]. A window of w keys is seen only where a text is longer than that."""
    i, j = torch.arange(seen.shape[0])[:, None], torch.arange(seen.shape[1])
    if not bool(seen.any()):
        return "no query sees a key"
    if bool(seen.all()):
        return "bidirectional"
    if torch.equal(seen, j <= i):
        return "causal"
    past, future = int((i - j)[seen].max()), int((j - i)[seen].max())
    if torch.equal(seen, (i - j <= past) & (j - i <= future)):
        return f"{past} past and {future} coming keys" if future else f"causal, {past} past keys"
    return "another mask"


def _scale(event: Attended, seen: Tensor) -> str:
    """The factor on q.k as they stand in the product: what q or k were multiplied by before it is not in it."""
    q, k = event.q[0, :4].double(), event.k[0].double()
    k = k.repeat_interleave(event.q.shape[1] // len(k), 0)[:4]
    own = event.scores[0, :4].double()
    content = q @ k.transpose(-1, -2)
    if not bool(own.amax(-1).any()):  # the class takes the largest score off before the softmax
        rows = seen.sum(-1, keepdim=True)
        content = content - (content * seen).sum(-1, keepdim=True) / rows
        own = own - torch.where(seen, own, 0).sum(-1, keepdim=True) / rows
    x, y = content[seen.expand_as(content)], own[seen.expand_as(own)]
    if not bool(x.any()):
        return "no content"
    slope = float((x * y).sum() / (x * x).sum())
    is_all = bool((y - slope * x).abs().max() <= _FIT * (1 + float(y.abs().max())))
    return f"scores {slope:.5g} q.k" if is_all else "scores with more than q.k"


def _rotation(event: Attended) -> str:
    return sweep_rotation.seen(event.q[0], event.sources, [1.0, *event.factors])


def _layer(event: Attended) -> str:
    q = event.q
    seen = sweep_layer.visible_to(event)
    facts = [f"{q.shape[1]} heads of {q.shape[3]}"]
    if kv_heads_of(event) != q.shape[1]:
        facts.append(f"{kv_heads_of(event)} KV heads")
    if event.value_dim not in (None, q.shape[3]):
        facts.append(f"values of {event.value_dim}")
    facts.append(_rotation(event) if event.steady else "tokens differ before it")
    facts += [_mask(seen), _scale(event, seen)]
    if event.sinks:
        facts.append("sinks")
    return ", ".join(facts)


def described(group: Group) -> str:
    """Layers that do the same in one clause."""
    kinds: dict[str, list[int]] = {}
    for index, event in enumerate(group.layers):
        kinds.setdefault(_layer(event), []).append(index)
    if len(kinds) == 1:
        return f"{group.name}: {len(group.layers)} layers, {next(iter(kinds))}"
    clauses = [f"{sweep_rotation.ranges(layers)}: {what}" for what, layers in list(kinds.items())[:4]]
    return f"{group.name}: {len(group.layers)} layers, {'; '.join(clauses)}{'; ...' if len(kinds) > 4 else ''}"
