"""What the ranks of pool.py do, each of them: a call of scheme_cases.py dealt to ranks, and calls gone wrong."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

import posenc
import posenc.distributed as pd
import posenc.distributed._exchange
import posenc.torch
import scheme_cases
from posenc.distributed import _composed_parts, _connections, _parts, _schedule
from ranks import memory, models, second
from ranks import shared_tables as of_shared_tables
from ranks.pool import PATIENCE
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
    matrices: tuple[str, ...] = ()  # attn_mask, bias; "attn_mask of all queries": with one row

    def call(self) -> Call:
        keys = self.keys or self.tokens
        given: dict[str, Any] = {"prefix": self.prefix} if self.prefix else {}
        if self.ends is not None:
            given["cu_seqlens_q"] = torch.tensor(self.ends, dtype=torch.int32)
            given["cu_seqlens_k"] = torch.tensor(self.key_ends or self.ends, dtype=torch.int32)
        given |= {name.partition(" ")[0]: "arbitrary" for name in self.matrices}
        of = scheme_cases.Arrangement("dealt", self.mask, self.batch, self.tokens, keys, given, self.places)
        call = Call(CASES[self.case], of, seed=7)
        if "attn_mask of all queries" in self.matrices:
            call.given["attn_mask"] = call.given["attn_mask"][:, :1, :1] | (torch.arange(keys) % 3 == 0)
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
            given[name] = pd.take(x, queries, rank, dim=-2) if x.shape[-2] > 1 else x
        elif name in ("row_gate", "q_segments"):
            given[name] = _rows(x, queries, of.batch)
        elif name in ("log_forget", "k_segments"):
            given[name] = _rows(x, keys, of.batch)
        elif name == "prefix":
            given[name] = x
    given = {n: x.float() if n in LEARNED else x for n, x in given.items()}
    return [q, k, v], given, call.layer(torch.float32)


def of_matrices(of: Dealt, call: Call, queries: Any, given: dict[str, Any]) -> tuple[int, int]:
    """Bytes that this rank sends of attn_mask and bias, forward and back, where heads are dealt: shard_cost has none."""
    dealt = {"ulysses": of.ranks, "hybrid": of.ulysses_ranks}.get(of.mode, 1)
    group, place = divmod(dist.get_rank(), dealt)
    heads = [end - first for first, end in (posenc.heads_of_rank(call.plan.heads, dealt, n) for n in range(dealt))]
    rows = [len(queries.ranks[group * dealt + n].rows) for n in range(dealt)]
    sent = [0, 0]
    for name in ("attn_mask", "bias"):
        x = given.get(name)
        if x is None or call.given[name].shape[-2] == 1:
            continue
        row = x.shape[-1] * (x.shape[0] if x.dim() == 4 else 1)
        of_heads = [min(n, 1) if x.shape[-3] == 1 else n for n in heads]
        others = [n for n in range(dealt) if n != place]
        sent[0] += sum(rows[place] * of_heads[n] * row * x.element_size() for n in others)
        sent[1] += sum(rows[n] * of_heads[place] * row * 4 for n in others) if name == "bias" else 0
    return sent[0], sent[1]


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
            *leaves[:3], layer, group, of.mode, sharding=queries, ulysses_ranks=of.ulysses_ranks, lse=True, timeout=PATIENCE,
            traffic=traffic, tables=leaves[3 + len(learned) :], backend=of.backend, **inputs, **more,
        )  # fmt: skip
        seen = torch.where(lse.isfinite(), lse, 0.0)
        ((out.float() * d_out.float()).sum() + (seen * d_lse).sum()).backward()
        return [out.detach(), lse.detach(), *(x.grad for x in leaves)], traffic

    with spoilt(spoil):
        made, traffic = once()
    again, _ = (made, None) if spoil else once()
    is_sparse = call.plan.mask.kind == "sparse"  # which counts as seeing all
    costs = posenc.shard_cost(
        call.plan.replace(mask=posenc.Mask(kind="bidirectional")) if is_sparse else call.plan, queries, keys, prefix=of.prefix, mode=of.mode, ulysses_ranks=of.ulysses_ranks,
        query_bytes=heads[0].element_size(), key_bytes=heads[1].element_size(), has_forget_gates="log_forget" in given,
        has_row_gates="row_gate" in given, has_segments="q_segments" in given,
        sums_along_keys=_parts.sums_along_keys(call.plan) > 0,
    )[dist.get_rank()]  # fmt: skip
    more = of_matrices(of, call, queries, given)
    result: dict[str, Any] = {
        "is same": all(torch.equal(a, b) for a, b in zip(made, again)),
        "sent": (traffic.forward_sent, traffic.backward_sent),
        "cost": (costs.forward_sent * max(of.batch, 1) + more[0], costs.backward_sent * max(of.batch, 1) + more[1]),
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
        elif name == "bias" and call.given["bias"].shape[-2] > 1:
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
    places = [(kind, "count_sinks") for kind in (_parts.Parts, _composed_parts.ComposedParts)]
    places += [(_parts.Parts, "_add"), (_parts, "of_heads"), (_schedule.Schedule, "__init__")]
    kept = [(of, name, getattr(of, name)) for of, name in places]
    _schedule._kept.clear()
    made_schedule = _schedule.Schedule.__init__

    def local(rows: Any) -> Any:
        return _schedule.Rows(rows.rows, torch.arange(rows.count), rows.positions, rows.cu_seqlens)

    if how:

        def init(self: Any, *arguments: Any) -> None:
            made_schedule(self, *arguments)
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
            if how == "gradients of carries out of order":
                self.backward = self.backward[::-1]

        _schedule.Schedule.__init__ = init  # type: ignore[method-assign]
    if how == "sinks twice":
        for kind, name, count in kept[:2]:

            def twice(self: Any, out: Any, lse: Any, count: Any = count) -> None:
                for _ in range(2):
                    count(self, out, lse)

            setattr(kind, name, twice)
    if how == "gradients of sinks in each part":
        add = _parts.Parts._add
        _parts.Parts._add = lambda *arguments: add(*arguments[:-1], True)  # type: ignore[method-assign]
    if how == "slopes of other heads":
        of_heads = _parts.of_heads
        _parts.of_heads = lambda plan, parts, first, end, *more: of_heads(plan, parts, 0, end - first, *more)  # type: ignore[assignment]
    try:
        yield
    finally:
        for of, name, was in kept:
            setattr(of, name, was)
        _schedule._kept.clear()


# ---- memory ----


def held(of: Dealt) -> tuple[dict[str, int], int]:
    """The most bytes of each of memory.KINDS that are there at a time, and of the two largest blocks."""
    call = of.call()
    queries, keys = of.shardings(call)
    heads, given, layer = tensors_of(of, call, queries, keys)
    leaves = [x.requires_grad_() for x in heads]
    with memory.counted() as live:
        pd.attend(*leaves, layer, GROUPS[of.ranks], of.mode, sharding=queries, timeout=PATIENCE, **given).sum().backward()
    sizes = sorted(len(one.rows) for one in keys.ranks)
    row = call.plan.kv_heads * (call.plan.head_dim + call.plan.value_dim)
    row += call.plan.heads if "log_forget" in given else 0
    return live.most, sum(sizes[-2:]) * row * 4 * max(of.batch, 1)


def peaks() -> dict[str, memory.Peaks]:
    return memory.peaks(GROUPS[4])


# ---- what goes wrong ----


def end_or_wait(lost: int) -> None:
    if dist.get_rank() == lost:
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        time.sleep(1.0)


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
    given: dict[str, Any] = {"sharding": queries, "timeout": PATIENCE}
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
    if what == "far":
        layer = posenc.torch.Layer(layer.plan.replace(score=(posenc.Sandwich(heads=2, channels=8),)))
        mode, given["sharding"] = "ulysses", posenc.shard(dist.get_world_size(), tokens=32, positions=[*range(31), 2**31])
    if what == "rows":
        mode, given["bias"] = "ulysses", torch.zeros(1, 2, 1 if is_odd else 8, 32)
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
    if what.startswith("gates"):
        layer = posenc.torch.Layer(layer.plan.replace(score=(posenc.ForgetGate(),)))
        given["log_forget"] = torch.full((8, 2), -0.1)
        if is_odd:
            given["log_forget"][5, 1] = {"gates": -torch.inf, "gates back": torch.nan}[what]
        if what == "gates back":
            q = q.clone().requires_grad_()
    if what in ("apart", "between"):  # the last token is the last rank's, and no other sees it
        layer = posenc.torch.Layer(layer.plan.replace(score=(posenc.Sandwich(heads=2, channels=8),)))
        last = {"apart": 2.0**31, "between": 31.5}[what]
        given["sharding"] = posenc.shard(
            dist.get_world_size(), dealing="contiguous", tokens=32, positions=[*range(31), last]
        )
    if what in ("table", "sinks"):  # of which one number is the next float
        plan = layer.plan.replace(score=(posenc.T5Bias(buckets=8, max_distance=20),), sinks=True)
        weights = {"table": torch.ones(8, 2), "sinks": torch.ones(2)}
        if is_odd:
            weights[what].view(-1)[1] += 2.0**-23
        layer = posenc.torch.Layer(plan, score_weights=[{"table": weights["table"]}], sinks=weights["sinks"])
    if what == "list" and is_odd:
        given["log_forget"] = [1.0, 2.0]
    try:
        if what.startswith("collected"):
            odd = {"collected": q[:-1], "collected dtype": q.half(), "collected shape": q[:, :1]}[what]
            pd.collect(odd if is_odd else q, queries, timeout=PATIENCE)
        else:
            pd.attend(q, k, v, layer, None, mode, **given)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return "nothing"


def works() -> bool:
    layer, tensors, queries = _small()
    return bool(pd.attend(*tensors, layer, sharding=queries, timeout=PATIENCE).isfinite().all())


def without(lost: int, how: str, seconds: float) -> tuple[str, int, float] | None:
    """What the others raise where one is killed, or sleeps: before the call; of "backward", before its backward pass; or where
    ranks connect for keys."""
    layer, tensors, queries = _small()
    is_lost = dist.get_rank() == lost
    if is_lost and how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if is_lost and how == "stalled":
        time.sleep(4 * seconds)
        return None
    if is_lost and how == "stalled, connecting":
        _connections._opened = lambda *_: time.sleep(4 * seconds)
    if is_lost and how == "killed, connecting":
        _connections._opened = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
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


class _Counted(pd.ShardedCache):
    """A mutant, of which each rank counts its own keys from 0."""

    def attend(self, *arguments: Any, **more: Any) -> Any:
        order, self.order = self.order, torch.arange(len(self.order))
        try:
            return super().attend(*arguments, **more)
        finally:
            self.order = order


def decoded(name: str, tokens: int, block: int, spoil: str = "") -> dict[str, Any]:
    """A cache that grows by a prompt and then token by token; the last outputs, and what one rank has of all keys."""
    case = CASES[name]
    call = Call(case, scheme_cases.Arrangement("decode", posenc.Mask(kind="causal"), 0, tokens, tokens), seed=11)
    layer = call.layer(torch.float32)
    q, k, v = (x.float() for x in (call.q, call.k, call.v))
    cache = _Counted(layer, tokens, block=block, timeout=PATIENCE) if spoil else pd.ShardedCache(layer, tokens, block=block, timeout=PATIENCE)
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


def connected(what: str, ranks: int, *arguments: Any) -> Any:
    return second.said(what, ranks, *arguments)


def by_mesh() -> dict[str, Any]:
    """What meshes and DTensors give in the place of the group and of this rank's own tensors; and what is said of others."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Partial, Replicate, Shard

    ranks, rank = dist.get_world_size(), dist.get_rank()
    line = init_device_mesh("cpu", (ranks,), mesh_dim_names=("cp",))
    plane = init_device_mesh("cpu", (2, ranks // 2), mesh_dim_names=("groups", "heads"))
    sharding = posenc.shard(ranks, tokens=8 * ranks)
    random = torch.Generator().manual_seed(1)
    table = torch.randn(8, 4, generator=random)
    plan = posenc.LayerPlan(heads=4, kv_heads=2, head_dim=8, value_dim=8, score=(posenc.T5Bias(buckets=8, max_distance=20),))
    layer = posenc.torch.Layer(plan, score_weights=[{"table": table}])
    same: dict[str, bool] = {}
    for name, mesh, mode, batch, given in (
        ("a line", line, "ring", (), None),
        ("a line, a batch", line, "ulysses", (3,), line),
        ("a plane", plane, "hybrid", (), None),
        ("its group", line, "all_gather", (), dist.group.WORLD),
    ):
        axis = 2 if batch else 0
        whole = [torch.randn((*batch, n, 8 * ranks, 8) if batch else (8 * ranks, n, 8), generator=random) for n in (4, 2, 2)]
        own = [pd.take(x, sharding, rank).requires_grad_() for x in whole]
        own_table = table.clone().requires_grad_()
        out, lse = pd.attend(
            *own, layer, None, mode, sharding=sharding, ulysses_ranks=ranks // 2, tables=[own_table], lse=True, timeout=PATIENCE
        )
        (out.square().sum() + lse.sum()).backward()
        places = [Shard(axis)] * mesh.ndim
        parted = [DTensor.from_local(x.detach().clone(), mesh, places, run_check=False).requires_grad_() for x in own]
        all_have = DTensor.from_local(table.clone(), mesh, [Replicate()] * mesh.ndim, run_check=False).requires_grad_()
        made, sums = pd.attend(*parted, layer, given, mode, sharding=sharding, tables=[all_have], lse=True, timeout=PATIENCE)
        (made.square().sum() + sums.sum()).backward()
        in_order = pd.take(pd.collect(out.detach(), sharding, dim=axis), sharding, rank, dim=axis)
        same[name] = (
            isinstance(made, DTensor) and list(made.placements) == places and made.shape == parted[0].shape
            and torch.equal(made.to_local(), out) and torch.equal(sums.to_local(), lse) and torch.equal(in_order, out)
            and torch.equal(made.full_tensor().narrow(axis, 8 * rank, 8), out)
            and all(torch.equal(x.grad.to_local(), y.grad) for x, y in zip(parted, own))
            and list(all_have.grad.placements) == [Partial()] * mesh.ndim
            and torch.equal(all_have.grad.to_local(), own_table.grad)
        )  # fmt: skip
    by_plane = pd.attend(*(x.detach() for x in own), layer, plane, "hybrid", sharding=sharding, timeout=PATIENCE)
    same["a plane as the group"] = torch.equal(
        by_plane, pd.attend(*(x.detach() for x in own), layer, None, "hybrid", ulysses_ranks=ranks // 2, sharding=sharding)
    )
    q, k, v = (x.detach() for x in own)
    said = {}
    for name, of_q, of_k, group, mode in (
        ("replicated", DTensor.from_local(q, line, [Replicate()], run_check=False), k, None, "ring"),
        ("of heads", DTensor.from_local(q, line, [Shard(1)], run_check=False), k, None, "ring"),
        ("k alone", q, DTensor.from_local(k, line, [Shard(0)], run_check=False), None, "ring"),
        ("another mesh", DTensor.from_local(q, line, [Shard(0)], run_check=False), k, plane, "hybrid"),
        ("two axes", q, k, plane, "ring"),
    ):
        try:
            pd.attend(of_q, of_k, v, layer, group, mode, sharding=sharding, timeout=PATIENCE)
            said[name] = "nothing"
        except ValueError as problem:
            said[name] = str(problem)
    return {"same": same, "said": said}


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
        cache = pd.ShardedCache(layer, 40, block=block, timeout=PATIENCE)
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
