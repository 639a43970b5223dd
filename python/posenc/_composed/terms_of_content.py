"""Terms in which the query or the key meets a vector that stands for their distance.

  Shaw et al. arXiv 1803.02155, Transformer-XL 1901.02860, XLNet 1906.08237, DeBERTa 2006.03654, MViT 2112.01526

A product with every row of a table comes first, [queries, rows], and each key takes that of its distance: there is no
vector for each query and key.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from .. import _posenc
from .numbers import constant
from .part import Call, Part
from .sinusoids import Sinusoid
from .terms_of_distance import Term, _edges, linear


def shaw_table(scheme: Any, learned: Any, channels: int, like: Tensor) -> Tensor:
    """[rows, channels] or [heads, rows, channels], by distance, -right first. NEZHA's sines are of left - distance."""
    if not scheme.sinusoidal:
        table: Tensor = learned["table"]
        return table.to(device=like.device, dtype=like.dtype)
    places = torch.arange(scheme.left + scheme.right, -1, -1, device=like.device)
    return Sinusoid("paper", channels).rows(places).to(like.dtype)


class OfShaw(Term):
    is_content = True
    weights = "ShawWeights"
    whole_axes = {0: None}

    def __init__(self, scheme: _posenc.ShawKeys, layer: _posenc.LayerPlan) -> None:
        self.left, self.right = int(scheme.left), int(scheme.right)
        self.sinusoidal, self.by_keys = bool(scheme.sinusoidal), bool(scheme.by_keys)

    def begin(self, learned: Any, call: Call) -> Any:
        table = shaw_table(self, learned, call.q.shape[-1], call.q)
        if not self.by_keys:
            return table, None
        each = table if table.dim() == 3 else table.expand(call.heads, *table.shape)
        return table, call.with_tables(call.k, each)

    def scores(self, state: Any, part: Part) -> Tensor:
        table, asked_by_keys = state
        row = part.whole().clamp(-self.right, self.left) + self.right
        score = part.of_rows(part.q @ table.mT, row)
        if asked_by_keys is None:
            return score
        return score + part.of_rows(asked_by_keys[:, :, part.low : part.high], row.mT).mT


class Distances:
    """(q_i + v) . W r(d), d = i - j clamped; r are sines of d, or rows of a table.

    Of sines no row is made for a distance: with a = W^T (q + v), a_s sin(i w - j w) + a_c cos(i w - j w) is a product
    of a, rotated by i w, with the sines and cosines of j w. So positions may be anything.
    """

    def __init__(self, convention: str, clamp: int, low: int | None, high: int | None) -> None:
        self.convention, self.clamp, self.low, self.high = convention, clamp, low, high

    def begin(self, learned: Any, call: Call) -> Any:
        """W of each head, [heads, head_dim, channels], or with a table W R, [heads, rows, head_dim]; and v, u."""
        projection = call.weight(learned["projection"]).unflatten(0, (call.heads, -1))
        biases = [
            None if learned.get(name) is None else call.weight(learned[name])
            for name in ("position_bias", "content_bias")
        ]
        table = learned.get("table")
        rows = None if table is None else torch.matmul(call.weight(table), projection.mT)
        u = biases[1]
        of_key = None if u is None else call.with_tables(call.k, u[:, None]).mT  # [batch, heads, 1, keys]
        return projection, rows, biases[0], of_key

    def scores(self, state: Any, part: Part, sign: Tensor | int) -> Tensor:
        projection, rows, v, of_key = state
        q = part.q if v is None else part.q + v[:, None]
        score = self.of_sines(projection, q, part, sign) if rows is None else self.of_table(rows, q, part, sign)
        if self.low is not None and self.high is not None:
            distance = part.distance() * sign
            score = torch.where(((distance >= self.low) & (distance <= self.high))[:, None], score, 0.0)
        return score if of_key is None else score + of_key[..., part.low : part.high]

    def of_table(self, rows: Tensor, q: Tensor, part: Part, sign: Tensor | int) -> Tensor:
        distance = part.whole() * sign
        if self.clamp >= 0:
            distance = distance.clamp(-self.clamp, self.clamp)
        first = -self.clamp if self.low is None else self.low
        return part.of_rows(q @ rows.mT, (distance - first).clamp(0, rows.shape[-2] - 1))

    def of_sines(self, projection: Tensor, q: Tensor, part: Part, sign: Tensor | int) -> Tensor:
        sinusoid = Sinusoid(self.convention, projection.shape[-1])
        a = q @ projection
        of_sine, of_cosine = sinusoid.apart(a)
        side = [sinusoid.of(at.at[0]) for at in (part.of_q, part.of_k)]
        (sin_i, cos_i), (sin_j, cos_j) = ((x.to(a.dtype)[:, None], y.to(a.dtype)[:, None]) for x, y in side)
        signed = of_sine if isinstance(sign, int) else of_sine * sign[:, None].to(a.dtype)
        on_cosine = signed * sin_i + of_cosine * cos_i
        on_sine = of_cosine * sin_i - signed * cos_i
        score = on_cosine @ cos_j.mT + on_sine @ sin_j.mT
        if self.clamp < 0:
            return score
        ends = sinusoid.rows(torch.tensor([-self.clamp, self.clamp], device=q.device)).to(a.dtype)
        at_ends = a @ ends.mT
        distance = (part.distance() * sign)[:, None]
        score = torch.where(distance < -self.clamp, at_ends[..., :1], score)
        return torch.where(distance > self.clamp, at_ends[..., 1:], score)


class OfTransformerXl(Term):
    is_content = True
    weights = "TransformerXlWeights"
    whole_axes = {0: None}
    whole_with_table = True

    def __init__(self, scheme: _posenc.TransformerXl, layer: _posenc.LayerPlan) -> None:
        ends = scheme.distances
        low, high = (None, None) if ends is None else (int(ends.low), int(ends.high))
        self.distances = Distances(str(scheme.sinusoid), int(scheme.clamp_length), low, high)

    def begin(self, learned: Any, call: Call) -> Any:
        return self.distances.begin(learned, call)

    def scores(self, state: Any, part: Part) -> Tensor:
        return self.distances.scores(state, part, 1)


class OfXlNet(Term):
    """Transformer-XL's terms; the second half of the batch may read backwards; and a term for segments."""

    is_content = True
    weights = "XlNetWeights"
    whole_axes = {0: None}
    whole_with_table = True
    reads = "segments"

    def __init__(self, scheme: _posenc.XlNet, layer: _posenc.LayerPlan) -> None:
        self.distances = Distances("xlnet", int(scheme.clamp_length), None, None)
        self.both_ways = bool(scheme.bidirectional_data)

    def begin(self, learned: Any, call: Call) -> Any:
        segments = None
        if learned.get("segments") is not None:
            bias = call.weight(learned["segment_bias"])
            segments = (call.q + bias[:, None]) @ call.weight(learned["segments"]).transpose(0, 1).mT
        return self.distances.begin(learned["positions"], call), segments

    def scores(self, state: Any, part: Part) -> Tensor:
        positions, segments = state
        sign: Tensor | int = 1
        if self.both_ways:
            batch = part.q.shape[0]
            is_backward = torch.arange(batch, device=part.device) * 2 >= batch
            sign = (1 - 2 * is_backward.to(torch.int64))[:, None, None]
        score = self.distances.scores(positions, part, sign)
        if segments is None:
            return score
        given = part.call.given
        q, k = given["q_segments"][:, part.first : part.end], given["k_segments"][:, part.low : part.high]
        same = (q[..., :, None] == k[..., None, :])[:, None]
        asked = segments[:, :, part.first : part.end]
        return score + torch.where(same, asked[..., :1], asked[..., 1:])


@functools.lru_cache(maxsize=256)
def _deberta_edges(scheme: _posenc.Deberta) -> tuple[int, ...]:
    """edges[r - 1]: the smallest distance whose row is r or above, of both directions."""
    span = scheme.buckets if scheme.buckets > 0 else scheme.max_distance
    far = max(scheme.max_distance, span) + 1
    return _edges(lambda d: _posenc.deberta_row(scheme, d), -far, far, 2 * span)


class OfDeberta(Term):
    """(4) of the paper: c2p q_i . W_k P[d], p2c k_j . W_q P[d]; and Microsoft's p2p, W_q P[span + i] . W_k P[d]."""

    is_content = True
    weights = "DebertaWeights"
    whole_axes = {0: None}

    def __init__(self, scheme: _posenc.Deberta, layer: _posenc.LayerPlan) -> None:
        self.to_position, self.to_content = bool(scheme.content_to_position), bool(scheme.position_to_content)
        self.to_both = bool(scheme.position_to_position)
        self.span = int(scheme.buckets if scheme.buckets > 0 else scheme.max_distance)
        self.edges: list[int] = []
        if scheme.buckets > 0:
            try:
                self.edges = list(_deberta_edges(scheme))
            except ValueError:  # said by the call
                self.span = max(self.span, 1)

    def begin(self, learned: Any, call: Call) -> Any:
        table = call.weight(learned["table"])
        keys = queries = asked_by_keys = None
        if self.to_position or self.to_both:
            keys = linear(table, learned["keys"], call).unflatten(-1, (call.heads, -1)).transpose(0, 1)
        if self.to_content or self.to_both:
            queries = linear(table, learned["queries"], call).unflatten(-1, (call.heads, -1)).transpose(0, 1)
        if self.to_content:
            assert queries is not None
            asked_by_keys = call.with_tables(call.k, queries)
        return keys, queries, asked_by_keys

    def row(self, distance: Tensor) -> Tensor:
        if not self.edges:
            return (distance + self.span).clamp(0, 2 * self.span - 1)
        return torch.bucketize(distance, constant(self.edges, torch.int64, distance.device), right=True)

    def scores(self, state: Any, part: Part) -> Tensor:
        keys, queries, asked_by_keys = state
        row = self.row(part.whole())
        score = part.q.new_zeros(())
        if self.to_position:
            score = score + part.of_rows(part.q @ keys.mT, row)
        if self.to_content:
            score = score + part.of_rows(asked_by_keys[:, :, part.low : part.high], row.mT).mT
        if self.to_both:
            place = (self.span + part.of_q.order).clamp(0, 2 * self.span - 1)
            asked = queries[:, place].transpose(0, 1) @ keys.mT  # [1 or batch, heads, queries, rows]
            score = score + part.of_rows(asked, row)
        return score


class OfDecomposedHw(Term):
    """q_i . Eh[h_i - h_j] + q_i . Ew[w_i - w_j], q without the softmax scale."""

    weights = "DecomposedHwWeights"

    def __init__(self, scheme: _posenc.DecomposedHw, layer: _posenc.LayerPlan) -> None:
        self.rows = int(scheme.rows)
        self.whole_axes = {0: (self.rows - 1) // 2, 1: (self.rows - 1) // 2}

    def begin(self, learned: Any, call: Call) -> Any:
        return call.weight(learned["rows"]), call.weight(learned["columns"])

    def scores(self, state: Any, part: Part) -> Tensor:
        middle = (self.rows - 1) // 2
        rows = [(part.whole(axis) + middle).clamp(0, self.rows - 1) for axis in (0, 1)]
        return part.of_rows(part.q @ state[0].mT, rows[0]) + part.of_rows(part.q @ state[1].mT, rows[1])
