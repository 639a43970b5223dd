"""Biases that are sums along the row, from the key up to the query, so that each key between them counts.

CoPE, arXiv 2405.18719; the forgetting transformer's gates, arXiv 2503.02130
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import _posenc
from .numbers import exact
from .part import Call, Part
from .terms_of_distance import Term


class OfCope(Term):
    """p_ij = sum over the keys l from j to i that the query sees of sigmoid(x_il); q_i . E[p_ij], between whole p by
    interpolation. x has the softmax scale, this term none."""

    weights = "CopeWeights"
    sums_along_keys = True

    def __init__(self, scheme: _posenc.ContextualPosition, layer: _posenc.LayerPlan) -> None:
        self.last = int(scheme.positions) - 1

    def begin(self, learned: Any, call: Call) -> Any:
        return call.weight(learned["table"])

    def scores(self, state: Any, part: Part) -> Tensor:
        assert part.x is not None
        gates = torch.sigmoid(part.x)
        if part.seen is not None:
            gates = torch.where(part.seen, gates, 0.0)
        position = self.sums(gates, part)
        if self in part.carries:
            position = position + part.carries[self]
            part.carries[self] = part.carries[self] + gates.sum(-1, keepdim=True)
        position = position.clamp(max=self.last)
        asked = part.q @ state.mT
        below, above = torch.floor(position), torch.ceil(position)
        share = position - below.detach()
        row = torch.nan_to_num(below.detach()).to(torch.int64), torch.nan_to_num(above.detach()).to(torch.int64)
        return (1.0 - share) * torch.gather(asked, -1, row[0]) + share * torch.gather(asked, -1, row[1])

    def sums(self, gates: Tensor, part: Part) -> Tensor:
        """Of each key the gates from it on, by order in the sequence; gates of other sequences are 0."""
        if part.call.given["k_order"] is None:
            return gates.flip(-1).cumsum(-1).flip(-1)
        order = part.of_k.order
        ascending, place = torch.sort(order, dim=-1)
        shape = gates.shape
        sorted_gates = torch.gather(gates, -1, place[:, None, None].expand(shape))
        from_place = sorted_gates.flip(-1).cumsum(-1).flip(-1)
        first = torch.searchsorted(ascending.contiguous(), order.contiguous())
        return torch.gather(from_place, -1, first[:, None, None].expand(shape))


class OfForget(Term):
    """The sum of ln f_l over keys l after j, up to the query: a difference of sums from the first key on, in float64,
    about the chunk's first query. Gates of 0 are counted apart."""

    reads = "log_forget"
    sums_along_keys = True

    def __init__(self, scheme: _posenc.ForgetGate, layer: _posenc.LayerPlan) -> None:
        pass

    def begin(self, learned: Any, call: Call) -> Any:
        """Of queries and keys: the sum up to them [batch, heads, rows], and how many gates are shut."""
        log_forget = torch.movedim(call.given["log_forget"], -1, 1).to(exact(call.device))
        is_shut = torch.isneginf(log_forget)
        open_gates = torch.where(is_shut, 0.0, log_forget)
        rows = call.rows
        q, k = _ranks(call)
        ascending, place = torch.sort(k, dim=-1)
        up_to = [torch.searchsorted(ascending.contiguous(), x.contiguous(), right=True) for x in (q, k)]
        sums = []
        for x in (open_gates, is_shut.to(open_gates.dtype)):
            x = torch.gather(x, -1, place[:, None].expand(x.shape))
            x = torch.nn.functional.pad(x.cumsum(-1), (1, 0))
            sums.append([torch.gather(x, -1, of[:, None].expand(*x.shape[:-1], of.shape[-1])) for of in up_to])
        assert rows.keys == k.shape[-1]
        return sums

    def scores(self, state: Any, part: Part) -> Tensor:
        (q, k), (q_shut, k_shut) = (
            (of_q[..., part.first : part.end], of_k[..., part.low : part.high]) for of_q, of_k in state
        )
        origin = q[..., :1].detach()
        total = (q - origin).to(part.dtype)[..., None] - (k - origin).to(part.dtype)[..., None, :]
        is_shut = q_shut[..., None] > k_shut[..., None, :]
        is_past = part.of_k.order[..., None, :] <= part.of_q.order[..., :, None]
        total = torch.where(is_shut, -torch.inf, total)
        if self in part.carries:
            total = total + part.carries[self]
            # With sequences before the query's: keys before these are of such alone, which it does not see.
            part.carries[self] = part.carries[self] + torch.where(q_shut > 0, -torch.inf, q.to(part.dtype))[..., None]
        return torch.where(is_past[:, None], total, 0.0)


def _ranks(call: Call) -> tuple[Tensor, Tensor]:
    """Whole numbers that ascend with the order in a sequence, and from a sequence to the next; [batch, rows]."""
    q, k = call.rows.q, call.rows.k
    batch = call.q.shape[0]
    of_q, of_k = q.order.expand(batch, -1), k.order.expand(batch, -1)
    if q.sequence is None or k.sequence is None:
        return of_q, of_k
    both = torch.cat([of_q, of_k], dim=-1).sort(dim=-1).values.contiguous()
    rank = [torch.searchsorted(both, of.contiguous()) for of in (of_q, of_k)]
    many = both.shape[-1] + 1
    return q.sequence * many + rank[0], k.sequence * many + rank[1]


class OfDistanceLogits(Term):
    """In the call's bias, which is made of hidden states."""

    reads = "bias"

    def __init__(self, scheme: _posenc.DistanceLogits, layer: _posenc.LayerPlan) -> None:
        pass

    def scores(self, state: Any, part: Part) -> Tensor:
        return part.q.new_zeros(())
