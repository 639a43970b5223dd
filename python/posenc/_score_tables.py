"""What the terms of a layer add to scores by places alone, as tables that a graph can look up.

A term depends on the distance i - j (most), on the key's place j (BLOOM's and Falcon's ALiBi), or on i and j (FIRE).
Every number is the float64 reference's, asked once for each distance or key; perceptrons, which the reference asks
anew for each head, are asked once for all of them, in float64 too.
"""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

from . import _posenc
from . import reference

_ROWS = 64  # of queries at a time: what FIRE's hidden layer has of them is not kept


def bare(layer: _posenc.LayerPlan, *terms: Any) -> _posenc.LayerPlan:
    """A layer with these score terms and nothing else."""
    return layer.replace(
        score=terms,
        rotate=(),
        regions=None,
        soft_cap=None,
        sinks=False,
        qk_norm=None,
        mask=_posenc.Mask(kind="bidirectional"),
        value=None,
        query_scale=None,
        kv_heads=layer.heads,
        value_dim=1,
    )


def reference_bias(layer: _posenc.LayerPlan, weights: Any, queries: range, keys: range) -> Tensor:
    """What a bare layer adds to scores, float64 [heads, queries, keys]: its scores of queries and keys that are 0."""
    rows = {"q": queries, "k": keys}
    zeros = {name: torch.zeros(len(of), layer.heads, 1) for name, of in rows.items()}
    orders = {f"{name}_order": torch.tensor(of, dtype=torch.int64) for name, of in rows.items()}
    v = torch.zeros(len(keys), layer.heads, 1)
    narrow = layer.replace(head_dim=1)
    _, scores = reference.attend(narrow, zeros["q"], zeros["k"], v, score_weights=weights, scores="biased", **orders)
    return torch.as_tensor(scores)


def _linear(layer: Any, x: Tensor) -> Tensor:
    """W x + b of every column, float64: [inputs, n] to [outputs, n]."""
    y = torch.as_tensor(layer.weight).to(torch.float64) @ x
    return y if layer.bias is None else y.add_(torch.as_tensor(layer.bias).to(torch.float64)[:, None])


def _perceptron(term: _posenc.MlpBias, weights: Any, distances: range) -> Tensor:
    x = torch.tensor([[_posenc.mlp_input(term, d) for d in distances]], dtype=torch.float64)
    for place, layer in enumerate(weights.layers):
        x = _linear(layer, torch.nn.functional.silu(x) if place else x)
    return x


def _fire(weights: Any, length: int) -> Tensor:
    """[heads, length, length]. psi(d) / psi(max(L, i)) is of d times of i: 3 length quotients make all of them."""

    def asked(distance: int, i: int) -> float:
        return _posenc.fire_input(weights.c, weights.threshold, distance, i)

    of_distance = torch.tensor([asked(d, 0) for d in range(1 - length, length)], dtype=torch.float64)
    of_query = torch.tensor([asked(1, i) / asked(1, 0) for i in range(length)], dtype=torch.float64)
    places = torch.arange(length)
    parts = []
    for i in places.split(_ROWS):
        x = of_distance[length - 1 + i[:, None] - places] * of_query[i, None]
        bias = _linear(weights.out, _linear(weights.hidden, x.reshape(1, -1)).relu_())
        parts.append(bias.float().unflatten(1, (-1, length)))
    return torch.cat(parts, dim=1)


def with_ends(table: Tensor, dims: int = 1) -> Tensor:
    """With NaN on both sides along the last dimensions: what place() makes of an index that the table does not have."""
    return torch.nn.functional.pad(table, (1, 1) * dims, value=torch.nan)


def place(index: Tensor, count: int) -> Tensor:
    """Of one of `count` numbers in with_ends(). In a graph, where no index can be looked at, torch would count negative
    ones from the end, and a kernel may read what is beside the table."""
    return index.clamp(-1, count) + 1


class Tables:
    """The sum of a layer's terms: by distance, [heads, 2 length - 1] from 1 - length; by key, [heads, length]; and by
    query and key, [heads, length, length]; None for what no term needs. float32."""

    def __init__(self, layer: _posenc.LayerPlan, score_weights: Any, length: int) -> None:
        found: dict[str, list[Tensor]] = {"distance": [], "key": [], "both": []}
        weights = tuple(score_weights) or (None,) * len(layer.score)
        # The library's own words for tables that are missing, too many, or of other shapes: of one query and one key.
        reference_bias(bare(layer, *layer.score), weights, range(1), range(1))
        for term, learned in zip(layer.score, weights, strict=True):
            alone = bare(layer, term)
            if isinstance(term, _posenc.Fire):
                found["both"].append(_fire(learned, length))
            elif isinstance(term, _posenc.MlpBias):
                found["distance"].append(_perceptron(term, learned, range(1 - length, length)))
            elif isinstance(term, _posenc.Alibi) and term.form != "relative":
                found["key"].append(reference_bias(alone, (learned,), range(1), range(length))[:, 0])
            else:
                # One query in the middle meets every distance, from length - 1 down to 1 - length.
                row = reference_bias(alone, (learned,), range(length - 1, length), range(2 * length - 1))
                found["distance"].append(row[:, 0].flip(-1))
        summed = {name: sum(parts[1:], parts[0]).float() if parts else None for name, parts in found.items()}
        self.distance, self.key, self.both = summed["distance"], summed["key"], summed["both"]
        self.length = length

    def lookup(self, device: Any) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
        """add(score, h, i, j): the score with these biases, its tensors on this device; NaN beyond a table's ends."""
        found = ((self.distance, 1), (self.key, 1), (self.both, 2))
        distance, key, both = (None if of is None else with_ends(of, dims).to(device) for of, dims in found)
        length, middle = self.length, self.length - 1

        def add(score: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
            if distance is not None:
                score = score + distance[h, place(middle + i - j, 2 * length - 1)]
            if key is not None:
                score = score + key[h, place(j, length)]
            return score if both is None else score + both[h, place(i, length), place(j, length)]

        return add
