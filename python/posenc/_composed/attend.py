"""The equation of __init__.py for a call: a chunk of queries at a time, with the keys that these may see.

In a backward pass a chunk is computed again of q, k, v and the tables (torch.utils.checkpoint), so that no score of
another chunk is kept. Under torch.func's transforms, which have no place for that, all scores are kept.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from .check import numbers
from .layer import ComposedLayer
from .mask import broadcast
from .numbers import computing, exact
from .part import Call, Part
from .rotation import origins, rotated
from .rows import Rows, Side, rows_of

SCORES = 2**24  # numbers of a chunk for each query, key, head and sequence, at most: 64 MiB of float32
LEAST_ROWS = 16  # of a chunk


def _heads_first(x: Tensor) -> Tensor:
    """[tokens, heads, channels] as a batch of one; rank 4 has heads first already."""
    return x if x.dim() == 4 else x.transpose(0, 1)[None]


def _without_hidden(x: Tensor, attn_mask: Tensor | None) -> Tensor:
    """Keys or values, 0 where the caller's mask hides them from all queries: memory that nobody has written may be NaN,
    and 0 NaN is NaN."""
    if attn_mask is None:
        return x
    mask = attn_mask.reshape((1,) * (4 - attn_mask.dim()) + tuple(attn_mask.shape))
    shown = mask.any(dim=2).any(dim=1)  # [1 or batch, keys]
    return torch.where(shown[:, None, :, None], x, 0.0)


def _products(q: Tensor, k: Tensor, groups: int) -> Tensor:
    """q.k of each query head with its KV head: [batch, heads, queries, keys]."""
    if groups == 1:
        return q @ k.mT
    return _by_groups(q, k.mT, groups)


def _sums(weights: Tensor, v: Tensor, groups: int) -> Tensor:
    """sum_j weights_ij v_j: [batch, heads, queries, channels]."""
    return weights @ v if groups == 1 else _by_groups(weights, v, groups)


def _by_groups(x: Tensor, of_kv: Tensor, groups: int) -> Tensor:
    """x [batch, heads, rows, n] times of_kv [batch, kv_heads, n, m], whose heads `groups` neighbours share."""
    return (x.unflatten(1, (x.shape[1] // groups, groups)) @ of_kv[:, :, None]).flatten(1, 2)


class Attention:
    """One call. What does not depend on the chunk is made here, once."""

    def __init__(
        self, layer: ComposedLayer, learned: dict[str, Any], q: Tensor, k: Tensor, v: Tensor, given: Any
    ) -> None:
        self.layer, self.learned = layer, learned
        dtype = computing(q, k, v)
        q, k, v = (_heads_first(x).to(dtype) for x in (q, k, v))
        k, v = (_without_hidden(x, given["attn_mask"]) for x in (k, v))
        batch, heads, queries, _ = q.shape
        self.batch, keys = batch, k.shape[2]
        self.rows: Rows = rows_of(layer.axes, batch, queries, keys, q.device, given)
        numbers(layer, learned, self.rows)
        self.attn_mask, self.bias, self.prefix = given["attn_mask"], given["bias"], given["prefix"]
        self.sees_any = self.rows_that_see(queries)
        if self.sees_any is not None:
            q = torch.where(self.sees_any, q, 0.0)
        per_row = {name: given[name] for name in ("log_forget", "row_gate", "q_segments", "k_segments")}
        for name, x in per_row.items():
            if x is not None:
                rows = queries if name in ("row_gate", "q_segments") else keys
                per_row[name] = (
                    torch.as_tensor(x).to(q.device).reshape(batch, rows, *([heads] if "_segments" not in name else []))
                )
        if self.sees_any is not None and per_row["row_gate"] is not None:
            per_row["row_gate"] = torch.where(self.sees_any[..., 0].mT, per_row["row_gate"], 0.0)
        per_row["k_order"] = given["k_order"]
        self.call = Call(q, k, self.rows, layer.heads, layer.kv_heads, layer.softmax_scale, per_row)
        if self.bias is not None:
            self.bias = self.bias.to(device=q.device, dtype=dtype)
        self.groups = heads // k.shape[1]
        inv_freq = learned.get("inv_freq") or [None] * len(layer.rotations)
        self.frequencies = [one.frequencies(given["length"], f, q.device) for one, f in zip(layer.rotations, inv_freq)]
        self.q, self.k = self.placed(given["q_rotated"], given["k_rotated"])
        self.v = v
        if layer.value.rotates:
            self.v = rotated(layer.rotations, v, self.rows.k.at, self.frequencies)
        tables = learned.get("score_weights") or [None] * len(layer.terms)
        self.states = [term.begin(of, self.call) for term, of in zip(layer.terms, tables)]
        self.carries = self.carries_of(given.get("carry"))
        sinks = learned.get("sinks")
        self.sinks = None if sinks is None else sinks.to(device=q.device, dtype=dtype)[:, None, None]
        self.scale: Tensor | float = layer.softmax_scale
        if layer.query_scale is not None:
            wide = self.rows.q.at[0].to(torch.int64).to(exact(q.device))
            self.scale = (layer.softmax_scale * layer.query_scale(wide)).to(dtype)[:, None, :, None]

    def carries_of(self, carry: Tensor | None) -> dict[Any, Tensor]:
        """By term, [batch, heads, queries, 1]."""
        terms = [term for term in self.layer.terms if term.sums_along_keys]
        if carry is None:
            return {}
        each = carry.unbind(0) if len(terms) > 1 else (carry,)
        return {term: (x if x.dim() == 3 else x.T[None])[..., None] for term, x in zip(terms, each)}

    def placed(self, q_rotated: bool, k_rotated: bool) -> tuple[list[Tensor], list[Tensor]]:
        """Queries and keys, rotated to each place that a region has for them."""
        rotations, call, rows = self.layer.rotations, self.call, self.rows
        if not self.layer.has_regions:
            q = call.q if q_rotated else rotated(rotations, call.q, rows.q.at, self.frequencies)
            k = call.k if k_rotated else rotated(rotations, call.k, rows.k.at, self.frequencies)
            return [q], [k]
        variants = self.layer.region.variants(rows.q.at[0], rows.k.at[0])
        axes = self.layer.axes
        q_all = [rotated(rotations, call.q, [one.q] * axes, self.frequencies) for one in variants]
        return q_all, [rotated(rotations, call.k, [one.k] * axes, self.frequencies) for one in variants]

    # ---- a chunk ----

    def products(self, part: Part) -> Tensor:
        layer = self.layer
        q = [x[:, :, part.first : part.end] for x in self.q]
        k = [x[:, :, part.low : part.high] for x in self.k]
        for rotation in layer.rotations:
            if rotation.scale_base is None:
                continue
            of_q, of_k = part.of_q, part.of_k
            q_first, k_first = origins(of_q.at[0], of_k.at[0], of_q.sequence, of_k.sequence)
            q = [rotation.decayed(x, of_q.at[0] - q_first) for x in q]
            k = [rotation.decayed(x, k_first - of_k.at[0]) for x in k]
        score = _products(q[0], k[0], self.groups)
        picks = layer.region.picks(part.of_q.at[0][..., :, None], part.of_k.at[0][..., None, :])
        for pick, of_q_placed, of_k_placed in zip(picks, q[1:], k[1:]):
            score = torch.where(pick[:, None], _products(of_q_placed, of_k_placed, self.groups), score)
        return score

    def seen(self, q: tuple[int, int], k: tuple[int, int]) -> Tensor | None:
        seen = self.layer.mask.seen(self.rows.q.part(*q), self.rows.k.part(*k), self.prefix)
        seen = None if seen is None else seen[:, None]
        if self.attn_mask is None:
            return seen
        given = broadcast(self.attn_mask, q, k)
        return given if seen is None else seen & given

    def rows_that_see(self, queries: int) -> Tensor | None:
        """[1 or batch, 1 or heads, queries, 1], where the caller has a mask: padding sees nothing, and may be NaN."""
        if self.attn_mask is None or self.rows.keys == 0 or queries == 0:
            return None
        chunks = []
        for first, end in self.chunks(queries):
            seen = self.seen((first, end), (0, self.rows.keys))
            assert seen is not None
            chunks.append(seen.any(dim=-1, keepdim=True).expand(-1, -1, end - first, -1))
        return torch.cat(chunks, dim=2)

    def scores(self, part: Part) -> Tensor:
        """z, -inf where the query does not see the key."""
        layer = self.layer
        terms = list(zip(layer.terms, self.states))
        x = self.products(part)
        for term, state in terms:
            if term.is_content:
                x = x + term.scores(state, part)
        scale = self.scale
        x = x * (scale[:, :, part.first : part.end] if isinstance(scale, Tensor) else scale)
        part.x = x
        y = layer.cap * torch.tanh(x / layer.cap) if layer.cap is not None and layer.caps_first else x
        for term, state in terms:
            if not term.is_content:
                y = y + term.scores(state, part)
        if self.bias is not None:
            y = y + broadcast(self.bias, (part.first, part.end), (part.low, part.high))
        if layer.cap is not None and not layer.caps_first:
            y = layer.cap * torch.tanh(y / layer.cap)
        return y if part.seen is None else torch.where(part.seen, y, -torch.inf)

    def chunk(self, first: int, end: int) -> tuple[Tensor, ...]:
        """Output [batch, heads, end - first, value_dim] and log-sum-exp [batch, heads, end - first], without the sink; and the
        carries, where there are any."""
        low, high = self.layer.mask.keys(self.rows, first, end)
        call, rows = self.call, self.rows
        if low == high:
            return self.nothing(first, end)
        of_q: Side = rows.q.part(first, end)
        of_k: Side = rows.k.part(low, high)
        part = Part(call, call.q[:, :, first:end], call.k[:, :, low:high], first, end, low, high, of_q, of_k)
        part.seen = self.seen((first, end), (low, high))
        part.carries = {term: x[:, :, first:end] for term, x in self.carries.items()}
        z = self.scores(part)
        largest = z.amax(dim=-1, keepdim=True).detach()
        largest = torch.where(largest == -torch.inf, 0.0, largest)
        sums = torch.exp(z - largest).sum(dim=-1)
        lse = largest[..., 0] + torch.log(torch.where(sums == 0, 1.0, sums))
        lse = torch.where(sums == 0, -torch.inf, lse)
        if self.sinks is not None:
            largest = torch.maximum(largest, self.sinks.detach())
        weights = torch.exp(z - largest)
        total = weights.sum(dim=-1, keepdim=True)
        if self.sinks is not None:
            total = total + torch.exp(self.sinks - largest)
        weights = weights / torch.where(total == 0, 1.0, total)
        out = _sums(weights, self.v[:, :, low:high], self.groups)
        added = self.layer.value.added(self.learned.get("value_weights"), weights, part, out.shape[-1])
        if added is not None:
            out = out + added
        if self.layer.value.rotates_back:
            out = rotated(self.layer.rotations, out, of_q.at, self.frequencies, "inverse")
        if self.sees_any is not None:  # what is given for a row that sees nothing goes nowhere
            out = torch.where(self.sees_any[:, :, first:end], out, 0.0)
        return out, lse, *(x[..., 0] for x in part.carries.values())

    def nothing(self, first: int, end: int) -> tuple[Tensor, ...]:
        """Of queries that see no key."""
        q = self.call.q[:, :, first:end]
        made = q.new_zeros((*q.shape[:-1], self.layer.value_dim)), q.new_full(q.shape[:-1], -torch.inf)
        return *made, *(x[:, :, first:end, 0] for x in self.carries.values())

    def chunks(self, queries: int) -> list[tuple[int, int]]:
        per_row = self.batch * max(self.layer.heads, self.layer.width) * max(self.rows.keys, 1)
        step = max(LEAST_ROWS, SCORES // per_row)
        if queries <= step:  # of any length, in a graph
            return [(0, queries)]
        return [(first, min(first + step, queries)) for first in range(0, queries, step)]

    def __call__(self) -> tuple[Tensor, ...]:
        queries = self.rows.queries
        if self.rows.keys == 0 or queries == 0:
            return self.nothing(0, queries)
        chunks = self.chunks(queries)
        if len(chunks) == 1:
            return self.chunk(*chunks[0])
        again = torch.is_grad_enabled() and not torch._C._are_functorch_transforms_active()
        parts = []
        for ends in chunks:
            if again:
                parts.append(checkpoint(self.chunk, *ends, use_reentrant=False, preserve_rng_state=False))
            else:
                parts.append(self.chunk(*ends))
        return tuple(torch.cat(of, dim=2) for of in zip(*parts))


def attend(
    layer: ComposedLayer, learned: dict[str, Any], q: Tensor, k: Tensor, v: Tensor, given: dict[str, Any]
) -> tuple[Tensor, ...]:
    """Output like q, and the log-sum-exp. Arguments have passed check.py.

    given["carry"], where keys are a part of all: what those after them have added up to, of schemes that sum along the keys;
    of one like the log-sum-exp, of several [schemes, ..] in the layer's order. Then a third result is that with these keys.
    """
    with contextlib.nullcontext() if q.device.type == "meta" else torch.autocast(q.device.type, enabled=False):
        out, *sums = Attention(layer, learned, q, k, v, given)()
    if q.dim() == 3:
        out, *sums = (x[0].transpose(0, 1) for x in (out, *sums))
    lse, *carries = sums
    if not carries:
        return out.to(q.dtype), lse
    return out.to(q.dtype), lse, torch.stack(carries) if len(carries) > 1 else carries[0]
