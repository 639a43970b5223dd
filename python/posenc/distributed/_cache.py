"""Decode over a KV cache that is sharded: each rank has some of the keys, all have the queries, and a binary tree merges
what each made of its own, so that all get the same bits. Tree attention, arXiv 2408.04093.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import _posenc
from .._graph_arguments import Layer
from ._agreement import agree, checksum_of_bits, checksums
from ._arguments import group_of
from ._exchange import TREE, Exchange, Traffic
from ._parts import Inputs, Keys, Parts, sums_along_keys
from ._schedule import Piece, Rows

_WHERE = "distributed.attend_parts"


def _merged_by_tree(exchange: Exchange, out: Tensor, lse: Tensor, sinks: Tensor | None) -> tuple[Tensor, Tensor]:
    """Up the tree rank r merges what r + 2^l has; down it the result goes as it is."""
    rank, ranks = exchange.rank, exchange.ranks
    children: list[int] = []
    parent, step = None, 1
    while step < ranks and parent is None:
        if rank % (2 * step):
            parent = rank - step
        elif rank + step < ranks:
            children.append(rank + step)
        step *= 2
    coming = [
        (exchange.receive(out.shape, out.dtype, c, TREE), exchange.receive(lse.shape, lse.dtype, c, TREE)) for c in children
    ]
    for more, sums in coming:
        _posenc.merge([(out, lse), (more.wait(), sums.wait())], out=out, lse=lse)
    if parent is None:
        _posenc.merge([(out, lse)], sinks=sinks, out=out, lse=lse)
    else:
        # The sums are read until the parent has them: the result comes into memory of its own.
        down = exchange.receive(out.shape, out.dtype, parent, TREE), exchange.receive(lse.shape, lse.dtype, parent, TREE)
        exchange.send(out, parent, TREE)
        exchange.send(lse, parent, TREE)
        out, lse = down[0].wait(), down[1].wait()
    for child in reversed(children):
        exchange.send(out, child, TREE)
        exchange.send(lse, child, TREE)
    exchange.finish()
    return out, lse


def _checked(q: Any, k: Any, v: Any, layer: Layer) -> None:
    if not isinstance(layer, Layer):
        raise TypeError(f"[{_WHERE}] layer must be a posenc.torch.Layer but is a {type(layer).__name__}")
    if layer.kernel_lacks:
        raise ValueError(f"[{_WHERE}] layer must be one that the kernels compute but is with {layer.kernel_lacks}")
    if sums_along_keys(layer.plan):
        raise ValueError(
            f"[{_WHERE}] layer must have no scheme that sums along the keys, CoPE or forget gates, but has: its parts are not "
            "computed side by side; distributed.attend takes it"
        )
    for name, x in (("q", q), ("k", k), ("v", v)):
        if not isinstance(x, Tensor) or x.device.type != "cpu":
            raise ValueError(f"[{_WHERE}] {name} must be a tensor on the CPU")
        if x.dim() != 3:
            raise ValueError(f"[{_WHERE}] {name} must have 3 dimensions but is of {x.dim()}")


def _checksum(positions: Tensor | None, before: int = 0) -> int:
    """Of [axes, tokens]."""
    return before if positions is None else checksum_of_bits(positions.double().T, before)


def attend_parts(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layer: Layer,
    group: Any = None,
    *,
    q_order: Tensor,
    k_order: Tensor,
    q_positions: Tensor | None = None,
    k_positions: Tensor | None = None,
    length: int | None = None,
    k_rotated: bool = False,
    lse: bool = False,
    timeout: float = 300.0,
    traffic: Traffic | None = None,
) -> Any:
    """Attention of queries that all ranks have, over keys of which each rank has some: the same bits on all ranks.

    q: [tokens, heads, head_dim], the same on all ranks; k, v: this rank's, [tokens, kv_heads, channels], none or more, in
    any order. q_order, k_order: int64, where they stand in the sequence; q_positions, k_positions: [axes, tokens], by
    default the orders. Without gradients. Returns the output, like q; with lse=True with the log-sum-exp.

    ValueError on all ranks for what any of them refuses, and where q differs among them in a bit; RankError for one that does
    not answer within `timeout` seconds.
    """
    return _attended(
        q,
        k,
        v,
        layer,
        Exchange(_WHERE, group_of(group), timeout, Traffic() if traffic is None else traffic),
        {},
        q_order=q_order,
        k_order=k_order,
        q_positions=q_positions,
        k_positions=k_positions,
        length=length,
        k_rotated=k_rotated,
        lse=lse,
    )


@torch.no_grad()
def _attended(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layer: Layer,
    exchange: Exchange,
    told: dict[str, str],
    *,
    q_order: Tensor,
    k_order: Tensor,
    q_positions: Tensor | None,
    k_positions: Tensor | None,
    length: int | None,
    k_rotated: bool,
    lse: bool,
) -> Any:
    """`told`: what else must be the same on all ranks."""
    problem: Exception | None = None
    facts: dict[str, str | None] = {}
    try:
        _checked(q, k, v, layer)
        no_documents = torch.zeros(2, dtype=torch.int32)
        of_q = Rows(q_order, q_order.to(torch.int64), None if q_positions is None else q_positions.double(), no_documents)
        of_k = Rows(k_order, k_order.to(torch.int64), None if k_positions is None else k_positions.double(), no_documents)
        inputs = Inputs(numbers={"length": length, "k_rotated": k_rotated})
        parts = Parts(layer, layer.weights, 0, layer.plan.heads, of_q, inputs, False)
        out = torch.zeros((*q.shape[:-1], layer.value_dim), dtype=torch.float32)
        sums = torch.full(q.shape[:-1], -torch.inf)
        if k.shape[0]:
            parts.forward(q.detach(), Piece(0, 0, k.shape[0], of_k), Keys(k.detach(), v.detach()), None, out, sums)
        facts = {
            "layer": layer.text,
            "the checksum of weights": checksums(layer.names, layer.weights),
            "q's shape": str(tuple(q.shape)),
            "q.dtype": str(q.dtype),
            "the checksum of q": str(checksum_of_bits(q)),
            "q_order": str(q_order.tolist()),
            "q_positions": str(_checksum(q_positions)),
            "k_rotated": str(k_rotated),
            "length": str(length),
            **told,
        }
    except Exception as refused:  # whatever it is, the others must hear of it
        problem = refused
    agree(exchange, facts, problem)
    out, sums = _merged_by_tree(exchange, out, sums, parts.sinks)
    out = out.to(q.dtype)
    return (out, sums) if lse else out


class ShardedCache:
    """A KV cache of one layer and one sequence, block by block on the ranks of a group in turn.

    capacity: tokens, of all ranks. Keys come as they are projected, and normalised where the layer does that: a plain
    rotation is applied as they are stored, with their positions in the sequence; where scores need keys as they are
    (several rotations, regions, xPos, score terms), by attention.

    Attributes:
        tokens: How many are there, of all ranks.
    """

    def __init__(
        self,
        layer: Layer,
        capacity: int,
        group: Any = None,
        *,
        block: int = 64,
        dtype: torch.dtype = torch.float32,
        timeout: float = 300.0,
    ) -> None:
        self.layer, self.group, self.block, self.timeout = layer, group_of(group), block, timeout
        exchange = Exchange(_WHERE, self.group, timeout, Traffic())
        self.rank, self.ranks = exchange.rank, exchange.ranks
        plan = layer.plan
        turns = -(-capacity // (block * self.ranks))
        self.capacity = capacity
        self.k = torch.zeros(turns * block, plan.kv_heads, plan.head_dim, dtype=dtype)
        self.v = torch.zeros(turns * block, plan.kv_heads, plan.value_dim, dtype=dtype)
        self.order = torch.zeros(0, dtype=torch.int64)
        self.positions: Tensor | None = None
        self.checksum = 0  # of the positions of all tokens, those of other ranks too
        self.tokens = 0
        main = [one for one in plan.rotate if one.role == "main"]
        is_plain = len(main) == 1 and isinstance(main[0].scheme, _posenc.Rope) and not main[0].offset and not main[0].heads
        self.rotates = is_plain and not plan.score and plan.regions is None and plan.value is None
        self.axes = len(main[0].rope.axes.names) if self.rotates else 1
        self.table = _posenc.table_on_demand(main[0].rope) if self.rotates else None

    def owner(self, token: int) -> int:
        return token // self.block % self.ranks

    @torch.no_grad()
    def append(self, k: Tensor, v: Tensor, positions: Tensor | None = None) -> None:
        """The next tokens, which all ranks have: their owners store them. positions: [axes, tokens]; by default counted
        from 0, as the tokens are. ValueError where they do not fit, before anything is stored."""
        count = int(k.shape[0])
        if self.tokens + count > self.capacity:
            raise ValueError(f"[ShardedCache] tokens must be at most {self.capacity} but are {self.tokens + count}")
        order = torch.arange(self.tokens, self.tokens + count)
        own = torch.tensor([n for n in range(count) if self.owner(self.tokens + n) == self.rank], dtype=torch.int64)
        first = len(self.order)
        if (positions is None) != (self.positions is None) and self.tokens:
            raise ValueError("[ShardedCache] positions must be given for all tokens, or for none")
        if len(own):
            places = order.expand(self.axes, count) if positions is None else positions
            _posenc.rotate_into_cache(
                k[own].contiguous(),
                v[own].contiguous(),
                k_cache=self.k,
                v_cache=self.v,
                slots=torch.arange(first, first + len(own)),
                table=self.table,
                positions=places[:, own].contiguous() if self.rotates else 0,
            )
        self.order = torch.cat([self.order, order[own]])
        if positions is not None:
            before = positions.new_empty(positions.shape[0], 0) if self.positions is None else self.positions
            self.positions = torch.cat([before, positions[:, own]], 1)
            self.checksum = _checksum(positions, self.checksum)
        self.tokens += count

    def attend(self, q: Tensor, positions: Tensor | None = None, *, length: int | None = None, lse: bool = False) -> Any:
        """attend_parts of the last tokens' queries, which all ranks have."""
        count = len(self.order)
        return _attended(
            q,
            self.k[:count],
            self.v[:count],
            self.layer,
            Exchange(_WHERE, self.group, self.timeout, Traffic()),
            {"block": str(self.block), "the checksum of positions": str(self.checksum)},
            q_order=torch.arange(self.tokens - q.shape[0], self.tokens),
            k_order=self.order,
            q_positions=positions,
            k_positions=self.positions,
            length=length,
            k_rotated=self.rotates,
            lse=lse,
        )
