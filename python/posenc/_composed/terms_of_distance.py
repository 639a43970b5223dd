"""Biases that depend on where query and key stand, and on nothing that they hold.

  ALiBi arXiv 2108.12409, T5 1910.10683, KERPLE 2205.09921, FIRE 2310.04418, Sandwich 2212.10356, windows 2103.14030

Buckets are found by their edges, whole numbers that the library is asked for once: no logarithm of any device decides.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from .. import _posenc
from .numbers import constant, exact
from .part import Call, Part, of_heads


class Term:
    """A score term. is_content: inside the softmax scale, since it stands for a part of q.k."""

    is_content = False
    weights: str | None = None  # the class of its learned tables
    width = 1  # numbers that it makes for each query and key, a head aside
    # For check.py: what it reads of a call's inputs; tables by what their numbers must be at least, or above; the axes along which
    # distances must be whole, and how large they may be; whether that is so where there is a table alone.
    reads: str | None = None
    gated = False
    both_ways = False
    sums_along_keys = False  # a score depends on the keys after its own: Part.carries
    least: dict[str, float] = {}
    above: tuple[str, ...] = ()  # 0
    whole_axes: dict[int, int | None] = {}
    whole_with_table = False

    def __init__(self, scheme: Any, layer: _posenc.LayerPlan) -> None:
        pass

    def begin(self, learned: Any, call: Call) -> Any:
        """What does not depend on the chunk."""
        return learned

    def scores(self, state: Any, part: Part) -> Tensor:
        """What broadcasts to [batch, heads, queries, keys]."""
        raise NotImplementedError


def slopes_of(learned: Any, slopes: list[float], dtype: torch.dtype, device: torch.device) -> Tensor:
    """[heads]: learned, or the scheme's."""
    if learned is not None and learned.get("slopes") is not None:
        given: Tensor = learned["slopes"]
        return given.to(device=device, dtype=dtype)
    return constant(slopes, dtype, device)


class OfAlibi(Term):
    def __init__(self, scheme: _posenc.Alibi, layer: _posenc.LayerPlan) -> None:
        self.form, self.symmetric, self.scaled = str(scheme.form), bool(scheme.symmetric), bool(scheme.scaled)
        self.slopes = [float(s) for s in _posenc.alibi_slopes(scheme)]

    def begin(self, learned: Any, call: Call) -> Any:
        return slopes_of(learned, self.slopes, call.dtype, call.device)[:, None, None]

    def scores(self, state: Any, part: Part) -> Tensor:
        if self.form == "relative":
            distance = part.distance().abs() if self.symmetric else part.distance()
            bias = -state * distance[:, None].to(part.dtype)
        else:
            j = part.of_k.at[0][:, None, None, :]
            if self.form == "column":
                bias = state * j.to(part.dtype)
            else:
                short = torch.bfloat16
                bias = (state.to(short) * j.to(torch.float32).to(short)).to(part.dtype)
        return part.call.softmax_scale * bias if self.scaled else bias


@functools.lru_cache(maxsize=256)
def _t5_edges(scheme: _posenc.T5Bias) -> tuple[int, ...]:
    """edges[b - 1]: the smallest distance of a bucket b or above, of those that are no future."""
    buckets = scheme.buckets // 2 if scheme.bidirectional else scheme.buckets
    return _edges(lambda d: _posenc.t5_bucket(scheme, d), 0, scheme.max_distance, buckets)


def _edges(row: Any, first: int, last: int, rows: int) -> tuple[int, ...]:
    """row ascends from 0 at `first` to its largest at `last`: where it passes 1, 2, ... rows - 1."""
    edges = []
    low = first
    for bucket in range(1, rows):
        high = last + 1
        while low < high:  # the first distance whose row is at least `bucket`
            middle = (low + high) // 2
            low, high = (low, middle) if row(middle) >= bucket else (middle + 1, high)
        edges.append(low)
    return tuple(edges)


class OfT5(Term):
    weights = "T5Weights"
    reads = "row_gate"

    def __init__(self, scheme: _posenc.T5Bias, layer: _posenc.LayerPlan) -> None:
        self.whole_axes = {int(scheme.axis): None}
        self.axis, self.gated, self.scaled = int(scheme.axis), bool(scheme.gated), bool(scheme.scaled)
        self.bidirectional = bool(scheme.bidirectional)
        self.half = int(scheme.buckets) // 2
        try:
            self.edges = list(_t5_edges(scheme))
        except ValueError:  # numbers that make no buckets: said by the call
            self.edges = []

    def begin(self, learned: Any, call: Call) -> Any:
        return call.weight(learned["table"])

    def scores(self, state: Any, part: Part) -> Tensor:
        bias = of_heads(functional.embedding(self.buckets(part.whole(self.axis)), state))
        if self.scaled:
            bias = part.call.softmax_scale * bias
        if not self.gated:
            return bias
        gate = part.call.given["row_gate"][:, part.first : part.end]
        return bias * torch.movedim(gate.to(part.dtype), -1, 1)[..., None]

    def buckets(self, distance: Tensor) -> Tensor:
        edges = constant(self.edges, torch.int64, distance.device)
        past = distance.abs() if self.bidirectional else distance
        bucket = torch.bucketize(past, edges, right=True)
        return bucket + self.half * (distance < 0) if self.bidirectional else bucket


class OfClipped(Term):
    weights = "ClippedBiasWeights"
    whole_axes = {0: None}

    def __init__(self, scheme: _posenc.ClippedBias, layer: _posenc.LayerPlan) -> None:
        self.past, self.future = int(scheme.past), int(scheme.future)

    def begin(self, learned: Any, call: Call) -> Any:
        return call.weight(learned["table"])

    def scores(self, state: Any, part: Part) -> Tensor:
        row = part.whole().clamp(-self.future, self.past) + self.future
        return of_heads(functional.embedding(row, state))


class OfGrid(Term):
    weights = "GridBiasWeights"

    def __init__(self, scheme: _posenc.GridBias, layer: _posenc.LayerPlan) -> None:
        self.rows, self.columns = int(scheme.rows), int(scheme.columns)
        self.whole_axes = {0: self.rows - 1, 1: self.columns - 1}

    def begin(self, learned: Any, call: Call) -> Any:
        return call.weight(learned["table"])

    def scores(self, state: Any, part: Part) -> Tensor:
        row = part.whole(0).clamp(1 - self.rows, self.rows - 1) + self.rows - 1
        column = part.whole(1).clamp(1 - self.columns, self.columns - 1) + self.columns - 1
        return of_heads(functional.embedding(row * (2 * self.columns - 1) + column, state))


class OfKerple(Term):
    weights = "KerpleWeights"
    least = {"r1": 0.0, "r2": 0.0}

    def __init__(self, scheme: _posenc.Kerple, layer: _posenc.LayerPlan) -> None:
        self.is_logarithmic = str(scheme.form) == "logarithmic"

    def begin(self, learned: Any, call: Call) -> Any:
        return tuple(call.weight(learned[name])[:, None, None] for name in ("r1", "r2"))

    def scores(self, state: Any, part: Part) -> Tensor:
        r1, r2 = state
        distance = part.distance().abs()[:, None].to(part.dtype)
        if self.is_logarithmic:
            return -r1 * torch.log1p(r2 * distance)
        return -r1 * torch.pow(distance, r2)


def linear(x: Tensor, learned: Any, call: Call) -> Tensor:
    """W x + b of the last axis."""
    bias = None if learned.get("bias") is None else call.weight(learned["bias"])
    return functional.linear(x, call.weight(learned["weight"]), bias)


class OfFire(Term):
    """(7) of the paper: a perceptron with one hidden layer, ReLU between, of psi(i - j) / psi(max(L, i))."""

    weights = "FireWeights"
    above = ("c", "threshold")
    width = 32  # of the hidden layer, in the paper

    def __init__(self, scheme: _posenc.Fire, layer: _posenc.LayerPlan) -> None:
        pass

    def begin(self, learned: Any, call: Call) -> Any:
        numbers = {name: learned[name] for name in ("c", "threshold")}
        return {
            **learned,
            **{name: x if isinstance(x, (int, float)) else call.weight(x) for name, x in numbers.items()},
        }

    def scores(self, state: Any, part: Part) -> Tensor:
        c, threshold = state["c"], state["threshold"]
        i = part.of_q.at[0].to(part.dtype)
        largest = torch.maximum(i, threshold) if isinstance(threshold, Tensor) else i.clamp(min=threshold)
        asked = torch.log1p(c * part.distance().abs().to(part.dtype)) / torch.log1p(c * largest)[..., None]
        hidden = torch.relu(linear(asked[..., None], state["hidden"], part.call))
        return of_heads(linear(hidden, state["out"], part.call))


class OfSandwich(Term):
    """sum_p cos((i - j) w_p), as products of the sinusoids of i and of j: cos(a - b) = cos a cos b + sin a sin b."""

    def __init__(self, scheme: _posenc.Sandwich, layer: _posenc.LayerPlan) -> None:
        channels, heads = int(scheme.channels), int(scheme.heads)
        self.inv_freq = [10000.0 ** (-2.0 * p / channels) for p in range(channels // 2)]
        self.factors = [heads / (8.0 * (head + 1)) for head in range(heads)]

    def scores(self, state: Any, part: Part) -> Tensor:
        wide = exact(part.device)
        inv_freq = constant(self.inv_freq, wide, part.device)
        i, j = (side.at[0].to(wide)[..., None] * inv_freq for side in (part.of_q, part.of_k))
        sums = torch.cos(i) @ torch.cos(j).mT + torch.sin(i) @ torch.sin(j).mT
        return sums.to(part.dtype)[:, None] * constant(self.factors, part.dtype, part.device)[:, None, None]

    def of_distances(self, distances: Tensor) -> Tensor:
        """[distances, heads] in float32, of as many whole numbers."""
        sums = torch.zeros(distances.shape, dtype=torch.float64, device=distances.device)
        for inv_freq in self.inv_freq:  # one by one: together they would be channels / 2 times as many numbers
            sums += torch.cos(distances.to(torch.float64) * inv_freq)
        return (sums[:, None] * constant(self.factors, torch.float64, distances.device)).float()


class OfMlp(Term):
    """A perceptron of the distance, SiLU between its layers. Of counted tokens each distance is asked for once."""

    weights = "MlpBiasWeights"
    width = 32

    def __init__(self, scheme: _posenc.MlpBias, layer: _posenc.LayerPlan) -> None:
        self.is_logarithmic = bool(scheme.logarithmic)

    def scores(self, state: Any, part: Part) -> Tensor:
        starts = part.call.rows.starts
        if starts is None or part.is_whole_row:
            return of_heads(self.of_distance(state, part.distance(), part))
        shortest = starts[0] + part.first - (starts[1] + part.high - 1)
        rows = part.end - part.first + part.high - part.low - 1
        distances = torch.arange(rows, device=part.device) + shortest
        return of_heads(functional.embedding(part.whole() - shortest, self.of_distance(state, distances, part)))

    def of_distance(self, state: Any, distance: Tensor, part: Part) -> Tensor:
        x = distance.to(part.dtype)
        if self.is_logarithmic:
            x = torch.sign(x) * torch.log1p(x.abs())
        x = x[..., None]
        for place, layer in enumerate(state["layers"]):
            x = linear(functional.silu(x) if place else x, layer, part.call)
        return x
