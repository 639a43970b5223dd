"""What the ranks of pool.py do, each of them: a call of scheme_cases.py dealt to ranks, and calls gone wrong."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import weakref
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

import posenc
import posenc.distributed as pd
import posenc.distributed._exchange
import posenc.torch
import scheme_cases
from posenc.distributed import _parts, _schedule
from ranks import models
from ranks import shared_tables as of_shared_tables
from scheme_cases import CASES, LEARNED, Call

_schedule.LEAST_ROWS = 3  # so that the few rows of a test come in parts too
GROUPS: dict[int, Any] = {}


def make_groups(ranks: int) -> None:
    for count in range(1, ranks + 1):
        GROUPS[count] = dist.new_group(list(range(count)))


@dataclass
class Dealt:
    """A call of a case, by name, and how it is dealt."""

    case: str
    mask: posenc.Mask
    batch: int = 0
    tokens: int = 40
    keys: int = 0  # of cross attention; 0: the queries' own
    ends: Any = None  # of documents
    key_ends: Any = None
    places: str = "by order"
    prefix: int = 0
    dealing: str = "zigzag"
    mode: str = "ring"
    ranks: int = 4
    ulysses_ranks: int = 2
    dtype: str = "float32"
    backend: str = "auto"

    def call(self) -> Call:
        keys = self.keys or self.tokens
        given: dict[str, Any] = {"prefix": self.prefix} if self.prefix else {}
        if self.ends is not None:
            given["cu_seqlens_q"] = torch.tensor(self.ends, dtype=torch.int32)
            given["cu_seqlens_k"] = torch.tensor(self.key_ends or self.ends, dtype=torch.int32)
        of = scheme_cases.Arrangement("dealt", self.mask, self.batch, self.tokens, keys, given, self.places)
        call = Call(CASES[self.case], of, seed=7)
        if not self.keys:
            for name in ("positions", "segments"):
                if f"q_{name}" in call.given:
                    call.given[f"k_{name}"] = call.given[f"q_{name}"]
        dtype = getattr(torch, self.dtype)
        call.q, call.k, call.v = (x.to(dtype).double() for x in (call.q, call.k, call.v))
        call.tables = scheme_cases.mapped(call.tables, lambda x: x.float().double())
        call.given = {n: x.float().double() if n in LEARNED else x for n, x in call.given.items()}
        if self.keys:  # as the shardings count: from the front of each document, of both sides
            for side, tokens, ends in (("q", self.tokens, self.ends), ("k", keys, self.key_ends)):
                each = [tokens] if ends is None else [end - first for first, end in zip(ends, ends[1:])]
                call.given[f"{side}_order"] = torch.cat([torch.arange(n) for n in each])
        return call

    def d_out(self, call: Call) -> tuple[torch.Tensor, torch.Tensor]:
        random = torch.Generator().manual_seed(3)
        shape = (*call.q.shape[:-1], call.plan.value_dim)
        made = torch.randn(shape, generator=random), torch.randn(call.q.shape[:-1], generator=random)
        return made[0].to(getattr(torch, self.dtype)), made[1]

    def shardings(self, call: Call) -> tuple[Any, Any]:
        how = {"dealing": self.dealing} | (
            {"block": 4, "mask": self.mask, "prefix": self.prefix} if self.dealing == "balanced" else {}
        )

        def dealt(side: str, tokens: int, ends: Any) -> Any:
            more: dict[str, Any] = {} if ends is None else {"cu_seqlens": ends}
            if ends is None:
                more["tokens"] = tokens
            if f"{side}_positions" in call.given:
                more["positions"] = call.given[f"{side}_positions"]
            return posenc.shard(self.ranks, **how, **more)

        queries = dealt("q", self.tokens, self.ends)
        return queries, dealt("k", self.keys, self.key_ends) if self.keys else queries


def _rows(x: torch.Tensor, sharding: Any, batch: int) -> torch.Tensor:
    """[rows, ..] of a batch, as inputs of a call have them: the rows of this rank."""
    own = torch.tensor(list(sharding.ranks[dist.get_rank()].rows), dtype=torch.int64)
    if not batch:
        return x[own]
    return x.view(batch, -1, *x.shape[1:])[:, own].reshape(-1, *x.shape[1:])


def tensors_of(of: Dealt, call: Call, queries: Any, keys: Any) -> tuple[list[torch.Tensor], dict[str, Any], Any]:
    rank, dtype = dist.get_rank(), getattr(torch, of.dtype)
    q = pd.take(call.q, queries, rank).to(dtype)
    k, v = (pd.take(x, keys, rank).to(dtype) for x in (call.k, call.v))
    given: dict[str, Any] = {}
    for name, x in call.given.items():
        if name == "bias":
            given[name] = pd.take(x, queries, rank, dim=-2).float() if x.shape[-2] > 1 else x.float()
        elif name == "attn_mask":
            given[name] = pd.take(x, queries, rank, dim=-2)
        elif name in ("row_gate", "q_segments"):
            given[name] = _rows(x, queries, of.batch)
        elif name in ("log_forget", "k_segments"):
            given[name] = _rows(x, keys, of.batch)
        elif name == "prefix":
            given[name] = x
    given = {n: x.float() if n in LEARNED else x for n, x in given.items()}
    return [q, k, v], given, call.layer(torch.float32)


def run(of: Dealt, spoil: str = "") -> dict[str, Any] | None:
    """All tokens' output, lse and gradients, on rank 0; whether a second run has the same bits, and bytes, on each."""
    group = GROUPS[of.ranks]
    call = of.call()
    queries, keys = of.shardings(call)
    heads, given, layer = tensors_of(of, call, queries, keys)
    d_out, d_lse = (pd.take(x, queries, dist.get_rank(), dim=0 if not of.batch else 2) for x in of.d_out(call))
    learned = [n for n in given if n in LEARNED]

    def once() -> tuple[list[torch.Tensor], pd.Traffic]:
        leaves = [x.clone().requires_grad_() for x in (*heads, *(given[n] for n in learned), *layer.weights)]
        inputs = {**given, **dict(zip(learned, leaves[3:]))}
        traffic = pd.Traffic()
        more = {} if keys is queries else {"key_sharding": keys}
        out, lse = pd.attend(
            *leaves[:3], layer, group, of.mode, sharding=queries, ulysses_ranks=of.ulysses_ranks, lse=True, timeout=30,
            traffic=traffic, tables=leaves[3 + len(learned) :], backend=of.backend, **inputs, **more,
        )  # fmt: skip
        seen = torch.where(lse.isfinite(), lse, 0.0)
        ((out.float() * d_out.float()).sum() + (seen * d_lse).sum()).backward()
        return [out.detach(), lse.detach(), *(x.grad for x in leaves)], traffic

    with spoilt(spoil):
        made, traffic = once()
    again, _ = (made, None) if spoil else once()
    costs = posenc.shard_cost(
        call.plan, queries, keys, prefix=of.prefix, mode=of.mode, ulysses_ranks=of.ulysses_ranks,
        query_bytes=heads[0].element_size(), key_bytes=heads[1].element_size(), has_forget_gates="log_forget" in given,
        has_row_gates="row_gate" in given, has_segments="q_segments" in given,
        sums_along_keys=_parts.sums_along_keys(call.plan) == 1,
    )[dist.get_rank()]  # fmt: skip
    result: dict[str, Any] = {
        "is same": all(torch.equal(a, b) for a, b in zip(made, again)),
        "sent": (traffic.forward_sent, traffic.backward_sent),
        "cost": (costs.forward_sent * max(of.batch, 1), costs.backward_sent * max(of.batch, 1)),
    }
    axis = 2 if of.batch else 0
    names = ["out", "lse", "q", "k", "v", *learned, *layer.names]
    for name, x in zip(names, made):
        side = keys if name in ("k", "v", "log_forget") else queries
        if name in ("out", "lse", "q", "k", "v"):
            whole = pd.collect(x, side, group, dim=axis)
        elif name in ("log_forget", "row_gate"):
            by_token = x if not of.batch else x.view(of.batch, -1, x.shape[-1])
            whole = pd.collect(by_token, side, group, dim=1 if of.batch else 0).reshape(-1, x.shape[-1])
        elif name == "bias" and x.shape[-2] > 1:
            whole = pd.collect(x, side, group, dim=x.dim() - 2)
        else:
            whole = x.clone()
            dist.all_reduce(whole, group=group)
        result[name] = whole.double()
    return result if dist.get_rank() == 0 else {n: x for n, x in result.items() if n in ("is same", "sent", "cost")}


# ---- mutants ----


@contextlib.contextmanager
def spoilt(how: str) -> Any:
    """The code with one mistake, of those that others have made."""
    kept = _parts.Parts.count_sinks, _schedule.Schedule.__init__
    _schedule._kept.clear()

    def local(rows: Any) -> Any:
        return _schedule.Rows(rows.rows, torch.arange(rows.count), rows.positions, rows.cu_seqlens)

    if how:

        def init(self: Any, *arguments: Any) -> None:
            kept[1](self, *arguments)
            if how == "local ids":
                self.queries = [local(one) for one in self.queries]
                for one in self.pieces:
                    one.rows = local(one.rows)
            if how == "window by local index":
                for one in self.pieces:
                    one.rows = local(one.rows)
            if how == "ids of another rank":
                whole = {one.owner: one.rows for one in self.pieces[: self.groups]}  # before those in parts
                for one in self.pieces:
                    other = whole[(one.owner + 1) % self.groups]
                    order = other.order[: one.rows.count]
                    one.rows = _schedule.Rows(one.rows.rows, order, one.rows.positions, one.rows.cu_seqlens)
            if how == "carry out of order":
                self.forward = self.backward

        _schedule.Schedule.__init__ = init  # type: ignore[method-assign]
    if how == "sinks twice":

        def twice(self: Any, out: Any, lse: Any) -> None:
            for _ in range(2):
                kept[0](self, out, lse)

        _parts.Parts.count_sinks = twice  # type: ignore[method-assign]
    try:
        yield
    finally:
        _parts.Parts.count_sinks, _schedule.Schedule.__init__ = kept  # type: ignore[method-assign]
        _schedule._kept.clear()


# ---- memory ----


def held(of: Dealt) -> tuple[int, int, int]:
    """The most bytes of other ranks' keys and values that are there at a time, of gradients that came for this rank's, and
    of the two largest blocks."""
    call = of.call()
    queries, keys = of.shardings(call)
    heads, given, layer = tensors_of(of, call, queries, keys)
    most, live = ({tag: 0 for tag in (pd._exchange.KEYS, pd._exchange.GRADIENTS)} for _ in range(2))
    receive = pd._exchange.Exchange.receive

    def counted(self: Any, shape: Any, dtype: Any, source: int, tag: int) -> Any:
        coming = receive(self, shape, dtype, source, tag)
        if tag in most:
            size = coming.x.numel() * coming.x.element_size()
            live[tag] += size
            most[tag] = max(most[tag], live[tag])
            weakref.finalize(coming.x, gone, tag, size)
        return coming

    def gone(tag: int, size: int) -> None:
        live[tag] -= size

    pd._exchange.Exchange.receive = counted  # type: ignore[method-assign]
    try:
        leaves = [x.requires_grad_() for x in heads]
        pd.attend(*leaves, layer, GROUPS[of.ranks], of.mode, sharding=queries, timeout=30, **given).sum().backward()
    finally:
        pd._exchange.Exchange.receive = receive  # type: ignore[method-assign]
    sizes = sorted(len(one.rows) for one in keys.ranks)
    two = sum(sizes[-2:]) * call.plan.kv_heads * (call.plan.head_dim + call.plan.value_dim) * 4
    return most[pd._exchange.KEYS], most[pd._exchange.GRADIENTS], two


# ---- what goes wrong ----


def _small() -> tuple[Any, list[torch.Tensor], Any]:
    plan = posenc.LayerPlan(heads=2, kv_heads=1, head_dim=8, value_dim=8)
    queries = posenc.shard(dist.get_world_size(), tokens=32)
    random = torch.Generator().manual_seed(dist.get_rank())
    count = len(queries.ranks[dist.get_rank()].rows)
    return posenc.torch.Layer(plan), [torch.randn(count, h, 8, generator=random) for h in (2, 1, 1)], queries


def refused(what: str) -> str:
    """The error of a call in which the last rank, or all, are given something else."""
    layer, (q, k, v), queries = _small()
    is_odd = dist.get_rank() == dist.get_world_size() - 1
    given: dict[str, Any] = {"sharding": queries, "timeout": 20}
    mode: Any = "ring"
    if is_odd and what == "shape":
        q = q[:-1]
    if is_odd and what == "dtype":
        k, v = k.bfloat16(), v.bfloat16()
    if is_odd and what == "plan":
        layer = posenc.torch.Layer(layer.plan.replace(mask=posenc.Mask(kind="bidirectional")))
    if is_odd and what == "mode":
        mode = "all_gather"
    if is_odd and what == "sharding":
        given["sharding"] = posenc.shard(dist.get_world_size(), dealing="striped", tokens=32)
    if is_odd and what == "gradient":
        q = q.clone().requires_grad_()
    if is_odd and what == "input":
        given["length"] = 99
    if is_odd and what == "layer":
        layer = "llama"
    if what == "heads":
        layer = posenc.torch.Layer(layer.plan.replace(score=(posenc.Alibi(heads=2),)))
        mode = "ulysses"
    if what == "nonsense":
        mode = "star"
    if what == "device" and is_odd:
        k = k.to("meta")
    if what == "numbers":
        q, k, v = (x.to("meta") for x in (q, k, v))
    if what == "backend":
        given["backend"] = "composed" if is_odd else "kernel"
    if what == "double":
        q = q.double()
    if what == "axes":
        axes = posenc.Rope(pairing="half", head_dim=8, dim=8, axes=posenc.chunked_axes(["t", "h", "w"], [2, 1, 1]))
        layer = posenc.torch.Layer(layer.plan.replace(rotate=(posenc.Rotate(scheme=axes),)))
        given["sharding"] = posenc.shard(dist.get_world_size(), tokens=32, positions=list(range(64)))
    try:
        pd.attend(q, k, v, layer, None, mode, **given)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return "nothing"


def works() -> bool:
    layer, tensors, queries = _small()
    return bool(pd.attend(*tensors, layer, sharding=queries, timeout=20).isfinite().all())


def without(lost: int, how: str, seconds: float) -> tuple[str, int, float] | None:
    """What the others raise where one is killed, or sleeps: before the call or, of "backward", before its backward pass."""
    layer, tensors, queries = _small()
    is_lost = dist.get_rank() == lost
    if is_lost and how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if is_lost and how == "stalled":
        time.sleep(4 * seconds)
        return None
    began = time.monotonic()
    try:
        leaves = [x.clone().requires_grad_() for x in tensors]
        out = pd.attend(*leaves, layer, sharding=queries, timeout=seconds)
        if is_lost:
            time.sleep(4 * seconds)
            return None
        began = time.monotonic()
        out.sum().backward()
    except pd.RankError as problem:
        return str(problem), problem.rank, time.monotonic() - began
    return "nothing", -1, 0.0


# ---- decode ----


def decoded(name: str, tokens: int, block: int) -> dict[str, Any]:
    """A cache that grows by a prompt and then token by token; the last outputs, and what one rank has of all keys."""
    case = CASES[name]
    call = Call(case, scheme_cases.Arrangement("decode", posenc.Mask(kind="causal"), 0, tokens, tokens), seed=11)
    layer = call.layer(torch.float32)
    q, k, v = (x.float() for x in (call.q, call.k, call.v))
    cache = pd.ShardedCache(layer, tokens, block=block, timeout=20)
    prompt = tokens - 5
    cache.append(k[:prompt], v[:prompt])
    outs = [cache.attend(q[:prompt])]
    for n in range(prompt, tokens):
        cache.append(k[n : n + 1], v[n : n + 1])
        outs.append(cache.attend(q[n : n + 1]))
    out = torch.cat(outs)
    everyone = [torch.empty_like(out) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, out)
    try:
        cache.append(k[:1], v[:1])
        full = ""
    except ValueError as problem:
        full = str(problem)
    return {
        "out": out,
        "is same": all(torch.equal(out, one) for one in everyone),
        "held": len(cache.order),
        "rotates": cache.rotates,
        "full": full,
    }


def model_over_ranks(ranks: int, *how: Any) -> Any:
    *most, spoil, backend = (*how, *("", "auto")[len(how) - 5 :])
    return models.model_over_ranks(*most, ranks, GROUPS[ranks], spoil, backend)


def model_or_refusal(*how: Any) -> Any:
    """What model_over_ranks gives, or what use() or context_parallel says against the model."""
    try:
        return model_over_ranks(*how)
    except (ValueError, NotImplementedError) as problem:
        if not str(problem).startswith(("[use]", "[context_parallel]")):
            raise
        return str(problem)


def shared_tables(ranks: int, is_averaged: bool) -> Any:
    return of_shared_tables.over_ranks(ranks, GROUPS[ranks], is_averaged)


def refused_by_model(ranks: int, what: str) -> str:
    return models.refused_by_model(what, ranks, GROUPS[ranks])


def by_mesh() -> dict[str, Any]:
    """What a DeviceMesh of two ranks gives in the place of their group, and what is said of a DTensor and of two axes."""
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import DTensor, Shard

    mesh = DeviceMesh.from_group(GROUPS[2], "cpu", mesh_dim_names=("cp",))
    rank, sharding = dist.get_rank(), posenc.shard(2, tokens=16)
    x = torch.randn(16, 2, 8, generator=torch.Generator().manual_seed(1))
    layer = posenc.torch.Layer(posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8, softmax_scale=0.5))
    own = pd.take(x, sharding, rank)
    dealt = DTensor.from_local(own, mesh, [Shard(0)], run_check=False)
    made = [pd.collect(pd.attend(y, y, y, layer, mesh, sharding=sharding), sharding, mesh) for y in (own, dealt.to_local())]
    refused = []
    for y, of in ((dealt, mesh), (own, _TwoAxes())):
        try:
            pd.attend(y, y, y, layer, of, sharding=sharding)
            refused.append("nothing")
        except ValueError as problem:
            refused.append(str(problem))
    return {"made": made, "alone": posenc.torch.attend(layer, x, x, x), "refused": refused}


class _TwoAxes:
    """A mesh of two dimensions, of which a call needs one by name."""

    ndim, mesh_dim_names = 2, ("dp", "cp")

    def get_group(self) -> None:
        raise AssertionError


def differing_caches() -> dict[str, str]:
    """What each kind of disagreement is called: blocks of other sizes, positions that one rank counts from 1, a query of
    which one number is the next float."""
    rank = dist.get_rank()
    rope = posenc.Rope(pairing="half", head_dim=16, dim=16)
    plan = posenc.LayerPlan(
        heads=2, kv_heads=1, head_dim=16, value_dim=16, softmax_scale=0.25, rotate=(posenc.Rotate(scheme=rope),)
    )
    layer = posenc.torch.Layer(plan)
    random = torch.Generator().manual_seed(3)
    k, v = torch.randn(2, 40, 1, 16, generator=random)
    q = torch.randn(1, 2, 16, generator=random)
    said = {}
    for name, block, start in (("nothing", 4, 0), ("blocks", 4 if rank else 8, 0), ("positions", 4, int(rank == 1)), ("q", 4, 0)):
        cache = pd.ShardedCache(layer, 40, block=block, timeout=20)
        places = torch.arange(start, start + 40)[None]
        # As many tokens in one call or in two are the same cache.
        for part in torch.arange(40).split(40 if rank else 16):
            cache.append(k[part], v[part], places[:, part])
        try:
            other = q.nextafter(q + 1) if rank == 1 and name == "q" else q
            cache.attend(torch.where(q == q.max(), other, q), torch.tensor([[39]]))
            said[name] = ""
        except ValueError as problem:
            said[name] = str(problem)
    return said
