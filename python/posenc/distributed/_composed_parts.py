"""Parts by operations of torch (posenc._composed): on any device, and of layers that the kernels do not compute.

With what parts made, o_p and l_p, and what all made, o and l = ln sum_p e^l_p, the sink counted in L = ln(e^l + e^s):

  o = sum_p e^(l_p - L) o_p      d_o_p = e^(l_p - L) d_o      d_l_p = e^(l_p - L) d_o . (o_p - o) + e^(l_p - l) d_l
  d_s = -e^(s - L) d_o . o

so that a part is computed again, and torch takes the rest of the way back, whatever the other parts are.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import _posenc
from .._composed import attend as composed
from .._composed.check import OPTIONAL, check
from .._graph_arguments import filled
from .._trained import composed_layer
from ._heads import Heads
from ._parts import KeyGradients, Keys, Made, Parts, Sums
from ._schedule import Piece


def _share(part: Tensor, whole: Tensor) -> Tensor:
    """e^(part - whole), 0 of a part that sees no key."""
    return torch.where(part == -torch.inf, 0.0, torch.exp(part - whole))


def _float(x: Tensor) -> Tensor:
    """A leaf in float32, or in float64 where it is that: so it is computed in."""
    return x.detach().to(torch.promote_types(x.dtype, torch.float32))


class ComposedParts(Parts):
    def _all_given(self, of: Heads, piece: Piece, keys: Keys) -> dict[str, Any]:
        given: dict[str, Any] = {**dict.fromkeys(OPTIONAL), "prefix": 0, "q_rotated": False, "k_rotated": False}
        return given | self._given(of, piece, keys)

    def _learned(self, of: Heads, tables: list[Tensor]) -> dict[str, Any]:
        """All but sinks, which count once."""
        learned = {name: filled(parts, tables) for name, parts in self.parts.items() if name != "sinks"}
        weights = self._with_distances(of, learned.get("score_weights"), lambda x: {"table": x})
        return learned if weights is None else learned | {"score_weights": weights}

    def require(self, q: Tensor, piece: Piece, keys: Keys) -> None:
        """ValueError for a call that does not fit the layer, in the words of the kernels."""
        if self.layer.problem is not None:
            raise ValueError(self.layer.problem)
        if self.layer.needs_length is not None and self.inputs.numbers.get("length") is None:
            raise ValueError(self.layer.needs_length)
        for of in self.heads:
            learned, given = self._learned(of, self._tables(of)), self._all_given(of, piece, keys)
            check(composed_layer(of.plan.replace(sinks=False)), learned, q[:, of.q], keys.k[:, of.kv], keys.v[:, of.kv], given)

    def _attended(
        self, of: Heads, q: Tensor, k: Tensor, v: Tensor, tables: list[Tensor], given: dict[str, Any]
    ) -> tuple[Tensor, ...]:
        return composed.attend(composed_layer(of.plan.replace(sinks=False)), self._learned(of, tables), q, k, v, given)

    @torch.no_grad()
    def forward(self, q: Tensor, piece: Piece, keys: Keys, carry: Tensor | None, out: Tensor, lse: Tensor) -> None:
        for of in self.heads:
            given = self._all_given(of, piece, keys)
            if carry is not None:
                given["carry"] = self.of_carry(carry, of)
            own = [_float(x) for x in (q[:, of.q], keys.k[:, of.kv], keys.v[:, of.kv])]
            made = self._attended(of, own[0], own[1], own[2], self._tables(of), given)
            out[:, of.q], lse[:, of.q] = made[:2]
            if carry is not None:
                self.of_carry(carry, of).copy_(made[2])

    @staticmethod
    def merge(out: Tensor, lse: Tensor, more: Tensor, sums: Tensor) -> None:
        total = torch.logaddexp(lse, sums)
        out.mul_(_share(lse, total)[..., None]).add_(_share(sums, total)[..., None] * more)
        lse.copy_(total)

    def _by_row(self, sinks: Tensor, lse: Tensor) -> Tensor:
        """[heads] as lse has heads."""
        return sinks.to(lse.dtype) if lse.dim() == 2 else sinks.to(lse.dtype)[:, None]

    def count_sinks(self, out: Tensor, lse: Tensor) -> None:
        if self.sinks is not None:
            out.mul_(_share(lse, torch.logaddexp(lse, self._by_row(self.sinks, lse)))[..., None])

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
        tables = self._tables(of)
        given = self._all_given(of, piece, keys)
        asked = self._asked(sums, to)
        leaves = [_float(x) for x in (q[:, of.q], keys.k[:, of.kv], keys.v[:, of.kv], *tables)]
        leaves += [_float(given[name]) for name in asked]
        if made.carry is not None:
            given["carry"] = self.of_carry(made.carry, of).detach().clone()
            leaves.append(given["carry"])
        for x in leaves:
            x.requires_grad_()
        end = 3 + len(tables)
        given |= dict(zip(asked, leaves[end:]))
        with torch.enable_grad():
            out, lse, *carry = self._attended(of, leaves[0], leaves[1], leaves[2], leaves[3:end], given)
        whole, of_all, d_out = made.lse[:, of.q], made.out[:, of.q].float(), made.d_out[:, of.q].float()
        with_sink = whole
        if self.sinks is not None:
            sink = self._by_row(self.sinks[of.q], whole)
            with_sink = torch.logaddexp(whole, sink)
        share = _share(lse.detach(), with_sink)
        along = share * (d_out * (out.detach() - of_all)).sum(-1)
        d_lse = along + _share(lse.detach(), whole) * made.d_lse[:, of.q]
        ends = [(out, share[..., None] * d_out), (lse, d_lse)]
        if carry and sums.carry is not None:
            ends.append((carry[0], self.of_carry(sums.carry, of)))
        ends = [(x, gradient) for x, gradient in ends if x.requires_grad]  # of no queries nothing has one
        results = [None] * len(leaves)
        if ends:
            of_ends, gradients = zip(*ends)
            results = list(torch.autograd.grad(of_ends, leaves, gradients, allow_unused=True))
        zeros = [x.new_zeros(()).expand(x.shape) if made_of is None else made_of for x, made_of in zip(leaves, results)]
        for x, gradient in zip(written, zeros[1:3]):
            x.copy_(gradient)
        if carry and sums.carry is not None:
            self.of_carry(sums.carry, of).copy_(zeros[-1])
        of_tables = list(results[3:end])
        if self.sinks is not None:
            d_sink = -_share(sink.expand_as(with_sink), with_sink) * (d_out * of_all).sum(-1)
            of_tables[self.layer.names.index("sinks")] = d_sink.transpose(0, 1).flatten(1).sum(1)
        self._add(of, piece, sums, to, zeros[0], of_tables, dict(zip(asked, zeros[end:])), is_first)
