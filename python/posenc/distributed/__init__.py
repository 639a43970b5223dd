"""Attention over ranks that share a sequence (context parallelism), on torch.distributed: forward and backward.

    import posenc, posenc.torch, posenc.distributed as pd

    sharding = posenc.shard(world, dealing="zigzag", cu_seqlens=ends)       # the same on all ranks
    x = pd.take(hidden, sharding, rank)                                      # this rank's tokens
    out = pd.attend(q, k, v, posenc.torch.Layer(layer), sharding=sharding)   # trains
    whole = pd.collect(out, sharding)                                        # all tokens, on all ranks

Every scheme of posenc.attend; messages go by gloo. docs/distributed.md has what is sent, and what is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
import torch.distributed as dist
from torch import Tensor

from .. import _posenc
from .._graph_arguments import Layer
from ._arguments import call_of as _call_of
from ._agreement import agree
from ._arguments import digest_of as _digest
from ._arguments import group_of as _group_of
from ._attend import Attention
from ._cache import ShardedCache, attend_parts
from ._context_parallel import context_parallel
from ._device_mesh import tokens_of as _tokens_of
from ._exchange import Exchange, RankError, Traffic
from ._probe import MATRICES as _MATRICES
from ._schedule import as_tensor

__all__ = ["RankError", "ShardedCache", "Traffic", "attend", "attend_parts", "collect", "context_parallel", "take"]

Mode = Literal["ring", "all_gather", "ulysses", "hybrid"]
Backend = Literal["auto", "kernel", "composed"]


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layer: Layer,
    group: Any = None,
    mode: Mode = "ring",
    *,
    sharding: _posenc.Sharding,
    key_sharding: _posenc.Sharding | None = None,
    ulysses_ranks: int | None = None,
    attn_mask: Tensor | None = None,
    bias: Tensor | None = None,
    prefix: int = 0,
    q_segments: Tensor | None = None,
    k_segments: Tensor | None = None,
    log_forget: Tensor | None = None,
    row_gate: Tensor | None = None,
    length: int | None = None,
    q_rotated: bool = False,
    k_rotated: bool = False,
    tables: Sequence[Tensor] | None = None,
    backend: Backend = "auto",
    lse: bool = False,
    timeout: float = 300.0,
    traffic: Traffic | None = None,
) -> Any:
    """posenc.torch.attend over the ranks of a group: each has the tokens that the sharding deals to it, and gets their
    output. All ranks call it, and its backward pass; differentiable in all that posenc.torch.attend is.

    q: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim] of this rank's tokens, in the sharding's order; k, v
    likewise, with kv_heads, by key_sharding where keys are of other tokens (cross attention). Orders, positions and
    documents are the sharding's. log_forget, row_gate, segments: of this rank's tokens; attn_mask, bias: of its queries
    and all keys of the batch. group: a ProcessGroup, a DeviceMesh of one dimension, or None for all ranks; for "hybrid" also a
    mesh of two, of groups and of the ulysses_ranks of each.

    Or DTensors: q, k and v of Shard on the axis of tokens, on one mesh, which is the group where that is None; so may be inputs,
    and tables of Replicate. What a rank has of them are its tokens. Results are such DTensors then.

    mode: "ring", keys go to each rank that sees any of them, while it computes; "all_gather", before; "ulysses", ranks have
    all tokens of some heads, KV heads on as many ranks as read them; "hybrid", groups of ulysses_ranks neighbours deal
    heads, and keys go between groups.

    backend: what computes the parts. "kernel", on the CPU; "composed", operations of torch, on any device, and of learned
    frequencies and slopes; "auto", the kernels where they can.

    Returns the output, like q with value_dim channels; with lse=True the pair of it and the log-sum-exp, float32. Parts are
    summed in float32, in one order: the same bits from run to run. A gradient of a table is of this rank's queries: their
    sum over ranks is the whole one, as of any parameter that all ranks have.

    ValueError on all ranks for what any of them refuses, and where they disagree; RankError for a rank that does not
    answer within `timeout` seconds; RuntimeError on all ranks where one of them cannot connect to the others once more, as the
    first ring of a group with long blocks does. traffic: counts the bytes that this rank sends.
    """
    given = dict(
        attn_mask=attn_mask, bias=bias, q_segments=q_segments, k_segments=k_segments, log_forget=log_forget, row_gate=row_gate
    )  # fmt: skip
    numbers = dict(prefix=prefix, length=length, q_rotated=q_rotated, k_rotated=k_rotated)
    tokens = _tokens_of(q, group)
    if tokens is not None:
        group = tokens.mesh if group is None else group
        axis = _rows(q, None)
        q, k, v = (tokens.own(x, axis) for x in (q, k, v))
        given = {name: tokens.own(x, -2 if name in _MATRICES else 0) for name, x in given.items()}
        tables = None if tables is None else [tokens.own_table(x) for x in tables]
    call, tensors = _call_of(
        q, k, v, layer, group, mode, sharding, key_sharding, ulysses_ranks, given, numbers, tables, backend, timeout, traffic
    )
    made: tuple[Tensor, Tensor] = Attention.apply(call, q, k, v, *tensors)  # type: ignore[no-untyped-call]
    out, sums = made if tokens is None else (tokens.whole(x, axis, sharding.tokens) for x in made)
    return (out, sums) if lse else out


def _rows(x: Tensor, dim: int | None) -> int:
    return (2 if x.dim() == 4 else 0) if dim is None else dim


def take(x: Tensor, sharding: _posenc.Sharding, rank: int, *, dim: int | None = None) -> Tensor:
    """The tokens of a batch that a rank has. dim: of tokens; by default that of attend's tensors."""
    return x.index_select(_rows(x, dim), as_tensor(sharding.ranks[rank].rows, torch.int64).to(x.device))


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, sharding: Any, group: Any, dim: int) -> Tensor:
        counts = [len(one.rows) for one in sharding.ranks]
        ctx.own, ctx.dim, ctx.group = as_tensor(sharding.ranks[dist.get_rank(group)].rows, torch.int64), dim, group
        most = max(counts)
        padded = torch.zeros([most if axis == dim else n for axis, n in enumerate(x.shape)], dtype=x.dtype, device=x.device)
        padded.narrow(dim, 0, x.shape[dim]).copy_(x)
        parts = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(parts, padded, group=group)
        joined = torch.cat([part.narrow(dim, 0, count) for part, count in zip(parts, counts)], dim)
        return joined.index_select(dim, as_tensor(sharding.places, torch.int64).to(x.device))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad.index_select(ctx.dim, ctx.own.to(grad.device)), None, None, None


def collect(
    x: Tensor, sharding: _posenc.Sharding, group: Any = None, *, dim: int | None = None, timeout: float = 300.0
) -> Tensor:
    """All tokens of a batch, on all ranks, of what each has of it: take's inverse.

    x: this rank's, [tokens of the rank, heads, channels] or [batch, heads, tokens of the rank, channels]; dim: the axis of
    tokens, elsewhere. The gradient is summed over ranks. ValueError on all ranks where one has another number of tokens than the
    sharding deals to it, or where they disagree; RankError for one that does not answer within `timeout` seconds.
    """
    group = _group_of(group, "hybrid")
    _agree_to_collect(x, sharding, group, dim, timeout)
    whole: Tensor = _Collect.apply(x, sharding, group, _rows(x, dim) % x.dim())  # type: ignore[no-untyped-call]
    return whole


def _agree_to_collect(x: Tensor, sharding: _posenc.Sharding, group: Any, dim: int | None, timeout: float) -> None:
    exchange = Exchange("collect", group, timeout, Traffic())
    problem: Exception | None = None
    facts: dict[str, str | None] = {}
    try:
        if len(sharding.ranks) != exchange.ranks:
            raise ValueError(f"[collect] sharding must deal to {exchange.ranks} ranks but deals to {len(sharding.ranks)}")
        axis = _rows(x, dim) % x.dim()
        tokens, mine = x.shape[axis], len(sharding.ranks[exchange.rank].rows)
        if tokens != mine:
            raise ValueError(f"[collect] x must have the {mine} tokens of this rank but has {tokens}")
        others = [*x.shape[:axis], "tokens", *x.shape[axis + 1 :]]
        facts = {"sharding": _digest(sharding), "the shape of x": str(others), "x.dtype": str(x.dtype)}
    except Exception as refused:  # whatever it is, the others must hear of it
        problem = refused
    agree(exchange, facts, problem)
