"""One part of a call: the queries of a rank and one piece of the keys, by posenc's kernels (or, in _composed_parts.py, by
operations of torch).

Tensors are [tokens, heads, channels] or [batch, heads, tokens, channels] as the caller has them; numbers of heads are
[tokens, heads] or [batch, heads, tokens], matrices [1 or batch, 1 or heads, 1 or queries, keys]: heads are axis 1 of all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from .. import _posenc
from .._attend_backward import names_of_tables
from .._graph_arguments import Layer, _put_together
from ._heads import Extent, Heads, axes_of, go_apart, of_heads, pieces_of, some
from ._schedule import Piece, Rows


_SUMMING = (_posenc.ContextualPosition, _posenc.ForgetGate)


def sums_along_keys(plan: _posenc.LayerPlan) -> int:
    """How many of its schemes do."""
    return sum(isinstance(term, _SUMMING) for term in plan.score)


def sums_twice(plan: _posenc.LayerPlan) -> bool:
    """With one kind of these twice, of which the kernels hand nothing from part to part."""
    return any(sum(isinstance(term, kind) for term in plan.score) > 1 for kind in _SUMMING)


@dataclass
class Inputs:
    """What comes with the queries of a rank, and with a piece of keys."""

    row_gate: Tensor | None = None  # [tokens, heads] or [batch, heads, tokens]
    q_segments: Tensor | None = None  # [tokens] or [batch, tokens]
    attn_mask: Tensor | None = None  # of all keys of the batch
    bias: Tensor | None = None
    numbers: dict[str, Any] = field(default_factory=dict)  # prefix, length, q_rotated, k_rotated


@dataclass
class Keys:
    k: Tensor
    v: Tensor
    gates: Tensor | None = None  # log_forget, like Inputs.row_gate
    segments: Tensor | None = None


@dataclass
class KeyGradients:
    k: Tensor
    v: Tensor
    gates: Tensor | None = None

    @classmethod
    def of(cls, keys: Keys) -> KeyGradients:
        """None yet."""
        zeros = [None if x is None else torch.zeros_like(x, dtype=torch.float32) for x in (keys.k, keys.v, keys.gates)]
        assert zeros[0] is not None and zeros[1] is not None
        return cls(zeros[0], zeros[1], zeros[2])

    def tensors(self) -> list[Tensor]:
        return [x for x in (self.k, self.v, self.gates) if x is not None]


class Parts:
    """Of the heads `first` up to `end` of a layer, for the queries `of_queries`."""

    def __init__(
        self,
        layer: Layer,
        tables: list[Tensor],
        first: int,
        end: int,
        of_queries: Rows,
        inputs: Inputs,
        is_packed: bool,
        extent: Callable[[], Extent] = lambda: (0, 0),
    ) -> None:
        """extent: of distances, asked for where some heads of the layer have a table of them."""
        self.plan, self.inputs, self.of_queries = layer.plan, inputs, of_queries
        self.is_packed = is_packed
        self.tables = [x.detach() for x in tables]
        self.parts = layer.parts
        self.axes = axes_of(layer.plan, layer.names, self.tables)
        self.layer = layer
        self.first = first
        is_whole = end - first == self.plan.heads
        each = not is_whole and go_apart(self.plan, self.parts)
        self.heads = pieces_of(first, end, self.plan.heads // self.plan.kv_heads, each)
        self.shares_keys = len({of.kv_first for of in self.heads}) < len(self.heads)  # heads of several parts read one KV head
        for of in self.heads:
            of.plan = self.plan
            if not is_whole:
                low, high, device = first + of.first, first + of.end, of_queries.order.device
                of.plan, of.tables = of_heads(self.plan, self.parts, low, high, of.kv_end - of.kv_first, extent, device)
        self.carries = sums_along_keys(self.plan)
        # Queries may come rotated by coordinates of several axes, which nothing here asks for.
        self.reads_positions = bool(self.plan.rotate or self.plan.score or self.plan.value or self.plan.query_scale)
        self.sinks = next((x for x, name in zip(self.tables, layer.names) if name == "sinks"), None)
        if self.sinks is not None:
            self.sinks = self.sinks[first:end]

    # ---- a call of some heads ----

    def _tables(self, of: Heads) -> list[Tensor]:
        """Of the layer's tables what these heads have."""
        first, end = self.first + of.first, self.first + of.end
        return [some(x, axis, self.plan.heads, first, end) for x, axis in zip(self.tables, self.axes)]

    def _with_distances(self, of: Heads, weights: Any, put: Callable[[Tensor], Any]) -> Any:
        """score_weights, with Heads.tables among them."""
        if not of.tables:
            return weights
        given = [*(weights or []), *[None] * len(self.plan.score)]
        return [put(of.tables[n]) if n in of.tables else given[n] for n in range(len(self.plan.score))]

    def no_carry(self, lse: Tensor) -> Tensor | None:
        """What schemes that sum along the keys begin with: like lse, or of several [schemes, ..]."""
        if not self.carries:
            return None
        return torch.zeros_like(lse) if self.carries == 1 else lse.new_zeros((self.carries, *lse.shape))

    def of_carry(self, carry: Tensor, of: Heads) -> Tensor:
        return carry[:, of.q] if self.carries == 1 else carry[:, :, of.q]

    def _keywords(self, of: Heads, tables: list[Tensor]) -> dict[str, Any]:
        keywords = {name: _put_together(value, tables) for name, value in self.parts.items()}
        weights = self._with_distances(of, keywords.get("score_weights"), lambda x: _posenc.ClippedBiasWeights(table=x))
        return keywords if weights is None else keywords | {"score_weights": weights}

    def _flat(self, x: Tensor, of: slice) -> Tensor:
        """Numbers of heads as the kernels have them: [rows, heads]."""
        own = x[:, of]
        return own if own.dim() == 2 else own.transpose(1, 2).reshape(-1, own.shape[1])

    def _given(self, of: Heads, piece: Piece, keys: Keys) -> dict[str, Any]:
        batch = 1 if keys.k.dim() == 3 else keys.k.shape[0]
        of_keys, of_queries = piece.rows, self.of_queries
        given: dict[str, Any] = dict(self.inputs.numbers)
        given["q_order"], given["k_order"] = of_queries.order.repeat(batch), of_keys.order.repeat(batch)
        if of_queries.positions is not None and self.reads_positions:
            given["q_positions"] = of_queries.positions
        if of_keys.positions is not None and self.reads_positions:
            given["k_positions"] = of_keys.positions
        if self.is_packed:
            given["cu_seqlens_q"], given["cu_seqlens_k"] = of_queries.cu_seqlens, of_keys.cu_seqlens
        if keys.gates is not None:
            given["log_forget"] = self._flat(keys.gates, of.q)
        if self.inputs.row_gate is not None:
            given["row_gate"] = self._flat(self.inputs.row_gate, of.q)
        if keys.segments is not None and self.inputs.q_segments is not None:
            given["q_segments"] = self.inputs.q_segments.reshape(-1)
            given["k_segments"] = keys.segments.reshape(-1)
        for name in ("attn_mask", "bias"):
            matrix = getattr(self.inputs, name)
            if matrix is not None:
                given[name] = self._columns(matrix, of, piece)
        return given

    @staticmethod
    def _columns(matrix: Tensor, of: Heads, piece: Piece) -> Tensor:
        if matrix.shape[1] > 1:
            matrix = matrix[:, of.q]
        return matrix if matrix.shape[3] == 1 else matrix.index_select(3, piece.rows.rows)

    # ---- forward ----

    def require(self, q: Tensor, piece: Piece, keys: Keys) -> None:
        """ValueError for what does not fit the layer: the kernels say so themselves, when they are called."""

    def forward(self, q: Tensor, piece: Piece, keys: Keys, carry: Tensor | None, out: Tensor, lse: Tensor) -> None:
        """Writes out and lse, and carry where there is one."""
        for of in self.heads:
            keywords = self._keywords(of, self._tables(of))
            keywords.pop("sinks", None)
            if carry is not None:
                keywords["carry"] = self.of_carry(carry, of)
            _posenc.attend(
                of.plan.replace(sinks=False),
                q[:, of.q],
                keys.k[:, of.kv],
                keys.v[:, of.kv],
                out=out[:, of.q],
                lse=lse[:, of.q],
                **self._given(of, piece, keys),
                **keywords,
            )

    @staticmethod
    def merge(out: Tensor, lse: Tensor, more: Tensor, sums: Tensor) -> None:
        """What another part made, added to the first two."""
        _posenc.merge([(out, lse), (more, sums)], out=out, lse=lse)

    def count_sinks(self, out: Tensor, lse: Tensor) -> None:
        """Once, after all parts."""
        if self.sinks is not None and lse.numel():
            _posenc.merge([(out, lse)], sinks=self.sinks, out=out, lse=lse)

    # ---- backward ----

    def zeros_of_tables(self) -> list[Tensor]:
        return [torch.zeros_like(x, dtype=torch.float32) for x in self.tables]

    def backward(
        self, q: Tensor, piece: Piece, keys: Keys, made: Made, sums: Sums, is_first: bool, to: KeyGradients
    ) -> None:
        """Adds to the sums, and writes `to`, which comes as zeros; is_first: the part that the sinks count in."""
        for of in self.heads:
            d_k, d_v = to.k[:, of.kv], to.v[:, of.kv]
            if self.shares_keys:
                d_k, d_v = torch.empty_like(d_k), torch.empty_like(d_v)
            self._backward_of(of, q, piece, keys, made, sums, to, (d_k, d_v), is_first)
            if self.shares_keys:
                to.k[:, of.kv] += d_k
                to.v[:, of.kv] += d_v

    def _backward_of(
        self,
        of: Heads,
        q: Tensor,
        piece: Piece,
        keys: Keys,
        made: Made,
        sums: Sums,
        to: KeyGradients,
        written: tuple[Tensor, Tensor],
        is_first: bool,
    ) -> None:
        """written: the gradients of k and v of these heads' KV heads."""
        tables = self._tables(of)
        keywords = self._keywords(of, tables)
        given = self._given(of, piece, keys)
        # FIRE's c is a tensor of no axes, its gradient an array of one number.
        names = names_of_tables(self.layer.text)
        of_tables = {
            name: torch.zeros(x.shape or (1,), dtype=torch.float32) for name, x in zip(names, tables) if x.numel()
        }
        d_q = torch.empty(q[:, of.q].shape, dtype=torch.float32)
        if made.carry is not None and sums.carry is not None:
            keywords |= {"carry": self.of_carry(made.carry, of), "d_carry": self.of_carry(sums.carry, of)}
        asked = self._asked(sums, to)
        of_inputs = {name: torch.zeros(given[name].shape, dtype=torch.float32) for name in asked}
        _posenc.attend_backward(
            of.plan,
            q[:, of.q],
            keys.k[:, of.kv],
            keys.v[:, of.kv],
            made.out[:, of.q],
            made.lse[:, of.q],
            made.d_out[:, of.q],
            d_lse=made.d_lse[:, of.q],
            d_q=d_q,
            d_k=written[0],
            d_v=written[1],
            d_weights=of_tables,
            **{f"d_{name}": x for name, x in of_inputs.items()},
            **given,
            **keywords,
        )
        self._add(of, piece, sums, to, d_q, [of_tables.get(name) for name in names], of_inputs, is_first)

    @staticmethod
    def _asked(sums: Sums, to: KeyGradients) -> list[str]:
        """Inputs that have gradients."""
        of = {"bias": sums.bias, "log_forget": to.gates, "row_gate": sums.row_gate}
        return [name for name, total in of.items() if total is not None]

    def _add(
        self,
        of: Heads,
        piece: Piece,
        sums: Sums,
        to: KeyGradients,
        d_q: Tensor,
        of_tables: list[Tensor | None],
        of_inputs: dict[str, Tensor],
        is_first: bool,
    ) -> None:
        """Gradients of some heads, to those of all."""
        first, end = self.first + of.first, self.first + of.end
        sums.q[:, of.q] += d_q
        for total, x, name, axis in zip(sums.tables, of_tables, self.layer.names, self.axes):
            if x is not None and (name != "sinks" or is_first):
                to_sum = some(total, axis, self.plan.heads, first, end)
                to_sum.add_(x.view(to_sum.shape))
        if to.gates is not None:
            to.gates[:, of.q] = self._unflat(of_inputs["log_forget"], to.gates[:, of.q])
        if sums.row_gate is not None:
            sums.row_gate[:, of.q] += self._unflat(of_inputs["row_gate"], sums.row_gate[:, of.q])
        if sums.bias is not None:
            own = sums.bias[:, of.q] if sums.bias.shape[1] > 1 else sums.bias
            if own.shape[3] == 1:
                own += of_inputs["bias"]
            else:
                own.index_add_(3, piece.rows.rows, of_inputs["bias"])

    @staticmethod
    def _unflat(x: Tensor, like: Tensor) -> Tensor:
        return x if like.dim() == 2 else x.view(like.shape[0], like.shape[2], like.shape[1]).transpose(1, 2)


@dataclass
class Made:
    """What the forward pass made, and the gradients of it; carry: as it came to the part."""

    out: Tensor
    lse: Tensor
    d_out: Tensor
    d_lse: Tensor
    carry: Tensor | None = None


@dataclass
class Sums:
    """In float32, over the pieces of keys."""

    q: Tensor
    tables: list[Tensor]
    bias: Tensor | None = None
    row_gate: Tensor | None = None
    carry: Tensor | None = None
