"""What a call is given, checked here on each rank, and then among all of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import _posenc
from .._graph_arguments import Layer
from ._agreement import agree, checksums
from ._attend import Call
from ._composed_parts import ComposedParts
from ._connections import connect
from ._connections import facts as of_connections
from ._device_mesh import flat_group, is_dtensor, is_mesh
from ._exchange import Exchange, Traffic
from ._heads import require_distances
from ._parts import Parts, sums_along_keys, sums_twice
from ._probe import MATRICES, Probe
from ._schedule import Schedule, digest, schedule_of

_WHERE = "distributed.attend"
BACKENDS: dict[str, type[Parts]] = {"kernel": Parts, "composed": ComposedParts}
MODES = ("ring", "all_gather", "ulysses", "hybrid")
_ROWS_OF, _BY_QUERY = "rows of {}", "one for each query"
_SHORT = (torch.float32, torch.float16, torch.bfloat16)
_digests: dict[int, tuple[Any, str]] = {}


def refuse(field: str, must: str, given: Any) -> None:
    raise ValueError(f"[{_WHERE}] {field} must {must} but is {given}")


def group_of(group: Any, mode: Any = "ring") -> Any:
    """A ProcessGroup of it; None is that of all ranks. A mesh of two dimensions is one for mode "hybrid": groups, and the ranks
    of each."""
    if not is_mesh(group):
        return group
    if mode == "hybrid" and group.ndim == 2:
        return flat_group(group)
    if group.ndim != 1:
        refuse("group", "be a mesh of one dimension, such as mesh['cp'], or of two for mode 'hybrid'", f"of {group.ndim}")
    return group.get_group()


def ulysses_ranks_of(group: Any, mode: Any, given: Any) -> Any:
    """As given; else those of a mesh of two dimensions."""
    return group.size(1) if given is None and mode == "hybrid" and is_mesh(group) and group.ndim == 2 else given


def digest_of(of: _posenc.Sharding) -> str:
    found = _digests.get(id(of))
    if found is None:
        if len(_digests) >= 64:
            _digests.clear()
        found = _digests[id(of)] = (of, digest(of))
    return found[1]


def backend_of(backend: Any, layer: Layer, device: torch.device) -> str:
    """Which computes the parts. ValueError for one that cannot."""
    if backend not in ("auto", *BACKENDS):
        refuse("backend", f"be one of auto, {', '.join(BACKENDS)}", repr(backend))
    lacks = f"tensors on {device}" if device.type != "cpu" else layer.kernel_lacks
    if not lacks and sums_twice(layer.plan):
        lacks = "forget gates twice, of which kernels hand nothing from part to part"
    if device.type == "meta":
        refuse("q", "have numbers", "on meta")
    if backend == "kernel" and lacks:
        refuse("backend", f"be 'composed' for {lacks}", "'kernel'")
    return ("composed" if lacks else "kernel") if backend == "auto" else str(backend)


def _require_own(name: str, x: Any) -> None:
    """attend() takes the rank's part of DTensors that fit q; the others are refused here, on all ranks."""
    if is_dtensor(x):
        axis = "Replicate()" if "." in name or name == "sinks" else "Shard(the axis of its tokens)"
        refuse(
            name,
            f"be this rank's own tensor, of .to_local(), or a DTensor of {axis} on the mesh of q, which is the group's,",
            f"a DTensor of {tuple(x.placements)}",
        )


def _check_tensor(name: str, x: Any, rank: int, tokens: int, heads: int, channels: int, device: torch.device) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"[{_WHERE}] {name} must be a tensor but is a {type(x).__name__}")
    _require_own(name, x)
    if x.device != device:
        refuse(name, f"be on {device}, as q is,", f"on {x.device}")
    dtypes = _SHORT
    if x.dtype not in dtypes:
        refuse(name, f"be of {', '.join(str(one)[6:] for one in dtypes)}", f"of {x.dtype}")
    if x.dim() != rank or rank not in (3, 4):
        refuse(name, f"have {rank if rank in (3, 4) else '3 or 4'} dimensions", f"of {x.dim()}")
    of = (x.shape[0], x.shape[1], x.shape[2]) if rank == 3 else (x.shape[2], x.shape[1], x.shape[3])
    if of != (tokens, heads, channels):
        refuse(name, f"be of {tokens} tokens, {heads} heads and {channels} channels", f"of {of[0]}, {of[1]} and {of[2]}")


def _numbers(name: str, x: Tensor, batch: int, tokens: int, heads: int, rank: int) -> Tensor:
    """[rows, heads] as the parts have them: [tokens, heads] or [batch, heads, tokens]."""
    if tuple(x.shape) != (batch * tokens, heads):
        refuse(name, f"be of shape [{batch * tokens}, {heads}]", list(x.shape))
    return x if rank == 3 else x.view(batch, tokens, heads).transpose(1, 2)


def _segments(name: str, x: Tensor, batch: int, tokens: int, rank: int) -> Tensor:
    if tuple(x.shape) != (batch * tokens,):
        refuse(name, f"be of shape [{batch * tokens}]", list(x.shape))
    x = x.to(torch.int32)
    return x if rank == 3 else x.view(batch, tokens)


def _matrix(name: str, x: Tensor, batch: int, heads: int, queries: int, keys: int) -> Tensor:
    x = x[(None,) * (4 - x.dim())]
    wanted = (batch, heads, queries, keys)
    if x.dim() != 4 or any(n not in (1, size) for n, size in zip(x.shape, wanted)):
        refuse(name, f"be of shape {list(wanted)}, this rank's queries and all keys, or 1 on an axis", list(x.shape))
    return x


def _checked(
    q: Any,
    k: Any,
    v: Any,
    layer: Any,
    mode: str,
    exchange: Exchange,
    queries: Any,
    keys: Any,
    dealt: int,
    given: Any,
    tables: Any,
) -> dict[str, Tensor]:
    """The inputs in the shapes of _parts.py. ValueError for what this rank alone can tell."""
    plan = layer.plan
    if mode not in MODES:
        refuse("mode", f"be one of {', '.join(MODES)}", repr(mode))
    for name, of in (("sharding", queries), ("key_sharding", keys)):
        if not isinstance(of, _posenc.Sharding):
            raise TypeError(f"[{_WHERE}] {name} must be a posenc.Sharding, of posenc.shard, but is a {type(of).__name__}")
        if len(of.ranks) != exchange.ranks:
            refuse(name, f"deal to the {exchange.ranks} ranks of the group", f"to {len(of.ranks)}")
    if queries.documents != keys.documents:
        refuse("key_sharding", f"have the {queries.documents} documents of sharding", f"of {keys.documents}")
    if exchange.ranks % dealt:
        refuse("ulysses_ranks", f"divide the {exchange.ranks} ranks of the group", dealt)
    rank = q.dim() if isinstance(q, Tensor) else 3
    tokens, key_tokens = len(queries.ranks[exchange.rank].rows), len(keys.ranks[exchange.rank].rows)
    device = q.device if isinstance(q, Tensor) else torch.device("cpu")
    _check_tensor("q", q, rank, tokens, plan.heads, plan.head_dim, device)
    _check_tensor("k", k, rank, key_tokens, plan.kv_heads, plan.head_dim, device)
    _check_tensor("v", v, rank, key_tokens, plan.kv_heads, plan.value_dim, device)
    for name, x in (*given.items(), *zip(layer.names, tables)):
        _require_own(name, x)
        if isinstance(x, Tensor) and x.device != device:
            refuse(name, f"be on {device}, as q is,", f"on {x.device}")
    if rank == 4 and queries.documents > 1:
        refuse("q", "have 3 dimensions where the sharding has several documents", "of 4")
    batch = q.shape[0] if rank == 4 else 1
    if rank == 4 and (k.shape[0] != batch or v.shape[0] != batch):
        refuse("k and v", f"be of the batch of q, {batch}", f"of {k.shape[0]} and {v.shape[0]}")
    if len(tables) != len(layer.names):
        refuse("tables", f"be as many as layer.names, {len(layer.names)},", f"{len(tables)} long")
    out: dict[str, Tensor] = {}
    for name, count in (("log_forget", key_tokens), ("row_gate", tokens)):
        if given[name] is not None:
            out[name] = _numbers(name, given[name].to(torch.float32), batch, count, plan.heads, rank)
    for name, count in (("q_segments", tokens), ("k_segments", key_tokens)):
        if given[name] is not None:
            out[name] = _segments(name, given[name], batch, count, rank)
    for name in MATRICES:
        if given[name] is not None:
            out[name] = _matrix(name, given[name], batch, plan.heads, tokens, keys.tokens)
    if out.get("attn_mask") is not None and out["attn_mask"].dtype != torch.bool:
        refuse("attn_mask", "be of bool, True where a key is seen,", f"of {out['attn_mask'].dtype}")
    if plan.mask.kind == "sparse" and "attn_mask" not in out:
        refuse("attn_mask", "be given for a mask that is sparse", "omitted")
    return out


def _require_gates(gates: Tensor) -> None:
    """As kernels have it."""
    if not bool(gates.isfinite().all()):
        refuse("log_forget", "be finite, for sums from the start of the sequence,", float(gates[~gates.isfinite()][0]))


def _require_distances(probe: Probe, schedule: Schedule, exchange: Exchange, dealt: int, gathers: bool, is_packed: bool) -> None:
    """ValueError for distances of this rank's that would be refused while others wait for it."""
    group, place = divmod(exchange.rank, dealt)
    heads = _posenc.heads_of_rank(probe.layer.plan.heads, dealt, place)
    shapes = str([tuple(x.shape) for x in probe.tables])
    known = (probe.of_parts, probe.layer.text, shapes, str(probe.numbers), gathers)
    if known not in schedule.known:  # of steps, and of layers that are alike, once
        probe.of_distances(schedule, group, heads, gathers, is_packed)
        schedule.known.add(known)


def _of_matrix(name: str, x: Tensor, queries: int) -> dict[str, str | None]:
    """What ranks must agree on of a matrix of which rows of some heads are sent. One row of one query is either."""
    rows = None if queries == 1 else _BY_QUERY if x.shape[2] == queries else "one for all queries"
    batch, heads, _, keys = x.shape
    return {_ROWS_OF.format(name): rows, f"the shape of {name}": f"[{batch}, {heads}, queries, {keys}] of {x.dtype}"}


def _facts(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    layer: Layer,
    mode: str,
    queries: Any,
    keys: Any,
    dealt: int,
    inputs: Any,
    numbers: Any,
    tables: Any,
    backend: str,
) -> dict[str, str | None]:
    tokens = q.shape[0] if q.dim() == 3 else q.shape[2]
    of_matrices = {fact: said for name in MATRICES if dealt > 1 and name in inputs
                   for fact, said in _of_matrix(name, inputs[name], tokens).items()}
    heads = "[{1}, {0}]" if q.dim() == 3 else "[{1}, {0}] in batches"
    shapes = {name: heads.format(x.shape[-1], x.shape[1]) for name, x in (("q", q), ("k", k), ("v", v))}
    return {
        "posenc": _posenc.info()["version"],
        "mode": mode,
        "backend": backend,
        "ulysses_ranks": str(dealt),
        "sharding": digest_of(queries),
        "key_sharding": digest_of(keys),
        "layer": layer.text,
        "shapes of tables": str([tuple(x.shape) for x in tables]),
        "the checksum of weights": checksums(layer.names, tables),
        **{f"{name}'s heads and channels": shape for name, shape in shapes.items()},
        "batch": str(q.shape[0] if q.dim() == 4 else 0),
        **{f"{name}.dtype": str(x.dtype) for name, x in (("q", q), ("k", k), ("v", v))},
        "inputs": " ".join(sorted(inputs)),
        **of_matrices,
        "numbers": str(sorted(numbers.items(), key=str)),
        "whether gradients are asked for": str(torch.is_grad_enabled() and any(
            x.requires_grad for x in (q, k, v, *inputs.values(), *tables))),
    }  # fmt: skip


def call_of(
    q: Any, k: Any, v: Any, layer: Any, group: Any, mode: Any, sharding: Any, key_sharding: Any, ulysses_ranks: Any,
    given: dict[str, Any], numbers: dict[str, Any], tables: Any, backend: Any, timeout: float, traffic: Traffic | None,
) -> tuple[Call, list[Tensor]]:  # fmt: skip
    """The call, and its tensors after q, k and v."""
    device = q.device if isinstance(q, Tensor) else torch.device("cpu")
    ulysses_ranks = ulysses_ranks_of(group, mode, ulysses_ranks)
    exchange = Exchange(_WHERE, group_of(group, mode), timeout, Traffic() if traffic is None else traffic, device)
    problem: Exception | None = None
    facts: dict[str, str | None] = {}
    inputs: dict[str, Tensor] = {}
    all_tables: list[Tensor] = []
    keys = sharding if key_sharding is None else key_sharding
    dealt = {"ulysses": exchange.ranks, "hybrid": ulysses_ranks}.get(mode, 1) if isinstance(mode, str) else 1
    schedule: Any = None
    try:
        if not isinstance(layer, Layer):
            raise TypeError(f"[{_WHERE}] layer must be a posenc.torch.Layer but is a {type(layer).__name__}")
        if not isinstance(dealt, int) or dealt < 1:
            refuse("ulysses_ranks", "be given, 1 or more, for mode 'hybrid'", dealt)
        all_tables = list(layer.weights if tables is None else tables)
        inputs = _checked(q, k, v, layer, mode, exchange, sharding, keys, dealt, given, all_tables)
        backend = backend_of(backend, layer, device)
        probe = Probe(q, k, v, layer, inputs, numbers, all_tables, BACKENDS[backend])
        probe.of_zeros((sharding.axes, keys.axes))
        in_turn = mode in ("ring", "hybrid")
        sums = sums_along_keys(layer.plan) > 0 and in_turn
        schedule = schedule_of(sharding, keys, layer.plan.mask, int(numbers["prefix"]), dealt, sums, in_turn, device)
        if dealt > 1:
            require_distances(layer.plan, lambda: schedule.extent)
        if backend == "kernel" and "log_forget" in inputs:
            _require_gates(inputs["log_forget"])
        if device.type == "cpu":  # elsewhere it would wait for what the device computes
            _require_distances(probe, schedule, exchange, dealt, mode == "all_gather", sharding.documents > 1)
        facts = _facts(q, k, v, layer, mode, sharding, keys, dealt, inputs, numbers, all_tables, backend)
        if device.type == "cpu" and in_turn and schedule.goes_both_ways:
            facts |= of_connections(exchange)
    except Exception as refused:  # whatever it is, the others must hear of it
        problem = refused
    agreed = agree(exchange, facts, problem)
    connect(exchange, agreed)
    call = Call(
        layer,
        schedule,
        exchange,
        dealt,
        [len(one.rows) for one in sharding.ranks],
        [len(one.rows) for one in keys.ranks],
        numbers,
        list(inputs),
        sharding.documents > 1,
        mode == "all_gather",
        0 if q.dim() == 3 else 2,
        BACKENDS[backend],
        [name for name in MATRICES if dealt > 1 and name in inputs and agreed.get(_ROWS_OF.format(name), _BY_QUERY) == _BY_QUERY],
        "bias" in inputs and inputs["bias"].shape[1] > 1,
    )
    return call, [*inputs.values(), *all_tables]
