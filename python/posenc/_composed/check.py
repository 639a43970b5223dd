"""What a call is refused for, in the words of the kernels (src/math/check): shapes on every path; numbers in tensors
where they can be read, which is not in a graph that is being made, nor on meta.

What depends on the layer and the shapes of its tables alone, the library itself is asked for, by a call of no tokens.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from .. import _posenc
from .layer import ComposedLayer

# Arguments of attend that may be left out.
OPTIONAL = (
    "q_positions",
    "k_positions",
    "q_order",
    "k_order",
    "cu_seqlens_q",
    "cu_seqlens_k",
    "attn_mask",
    "bias",
    "q_segments",
    "k_segments",
    "log_forget",
    "row_gate",
    "length",
)

_MOST = 2**53  # up to which whole numbers are doubles


def refuse(field: str, must: str, given: Any) -> None:
    raise ValueError(f"[attend] {field} must {must} but is {given}")


def _shape(x: Tensor) -> str:
    return "[" + ", ".join(str(int(n)) for n in x.shape) + "]"


def is_fake(x: Tensor) -> bool:
    """Of a FakeTensorMode: whose class is not asked for, since it imports the compiler."""
    return type(x).__name__ == "FakeTensor"


@contextlib.contextmanager
def without_fakes() -> Iterator[None]:
    """Tensors that are made within it are real, whatever mode is around it."""
    if not torch._C._get_dispatch_mode(torch._C._TorchDispatchModeKey.FAKE):
        yield
        return
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    with unset_fake_temporarily():
        yield


def is_readable(x: Any) -> bool:
    """Whether a tensor's numbers can be looked at now."""
    if torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active():
        return False
    if not isinstance(x, Tensor):
        return True
    return x.device.type != "meta" and not is_fake(x)


# ---- the layer and its tables ----


def stand_in(value: Tensor) -> Tensor:
    """A learned table of that shape on the CPU; of one that is there its numbers, else such as are always allowed."""
    if is_readable(value) and value.device.type == "cpu":
        return value.detach()
    return torch.ones([int(n) for n in value.shape])


def layer_problem(plan: _posenc.LayerPlan, weights: dict[str, Any], length: int | None = None) -> str | None:
    """What posenc.attend says of this layer and tables of these shapes, whatever the call. weights: as attend has them."""
    heads, kv_heads = max(plan.heads, 0), max(plan.kv_heads, 0)

    def none(of: int, channels: int) -> Tensor:
        return torch.zeros(2, of, 0, max(channels, 0))

    given: dict[str, Any] = {}
    for term in plan.score:
        if isinstance(term, _posenc.T5Bias) and term.gated:
            given["row_gate"] = torch.zeros(0, heads)
        if isinstance(term, _posenc.ForgetGate):
            given["log_forget"] = torch.zeros(0, heads)
        if isinstance(term, _posenc.DistanceLogits):
            given["bias"] = torch.zeros(1, 1, 1, 1)
    if plan.mask.kind == "sparse":
        given["attn_mask"] = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    if plan.qk_norm is not None and plan.qk_norm.order == "after" and plan.regions is None:
        given["q_rotated"] = given["k_rotated"] = True
    q, k, v = none(heads, plan.head_dim), none(kv_heads, plan.head_dim), none(kv_heads, plan.value_dim)
    try:
        _posenc.attend(plan, q, k, v, length=length, **weights, **given)
    except ValueError as problem:
        return str(problem)
    return None


# ---- shapes ----


def _heads(field: str, x: Tensor, heads: int, channels: int) -> None:
    if x.dim() not in (3, 4):
        refuse(field, "have rank 3 or 4", x.dim())
    wanted = [x.shape[0], heads, channels] if x.dim() == 3 else [x.shape[0], heads, x.shape[2], channels]
    if list(x.shape) != wanted:
        refuse(field, f"have shape [{', '.join(str(int(n)) for n in wanted)}]", _shape(x))


def tensors(layer: ComposedLayer, q: Tensor, k: Tensor, v: Tensor) -> None:
    _heads("q", q, layer.heads, layer.head_dim)
    _heads("k", k, layer.kv_heads, layer.head_dim)
    _heads("v", v, layer.kv_heads, layer.value_dim)
    for name, x in (("k", k), ("v", v)):
        if x.dim() != q.dim():
            refuse(f"{name}.rank", "be that of q", x.dim())
    for name, x in (("k", k), ("v", v)):
        if q.dim() == 4 and x.shape[0] != q.shape[0]:
            refuse(f"{name}.shape", "have the batch of q", x.shape[0])
    tokens = k.shape[2] if k.dim() == 4 else k.shape[0]
    if (v.shape[2] if v.dim() == 4 else v.shape[0]) != tokens:
        refuse("v.shape", "have the tokens of k", (v.shape[0] * v.shape[2]) if v.dim() == 4 else v.shape[0])
    for name, x in (("q", q), ("k", k), ("v", v)):
        if not x.is_floating_point():
            refuse(f"{name}.dtype", "be f32, f16, bf16 or f64", str(x.dtype).removeprefix("torch."))


def _sizes(q: Tensor, k: Tensor) -> tuple[int, int, int]:
    return (q.shape[0], q.shape[2], k.shape[2]) if q.dim() == 4 else (1, q.shape[0], k.shape[0])


def _length(x: Any) -> int:
    return x.numel() if isinstance(x, Tensor) else len(x)


def _positions(field: str, given: Any, axes: int, batch: int, tokens: int, longest: Any) -> None:
    if given is None:
        return
    if isinstance(given, int) or not hasattr(given, "__len__"):
        start = int(given)
        if is_readable(None) and not (-_MOST <= start <= _MOST - (longest() - 1)):
            refuse(field, "be at most 2^53 either way", f"from {start}, {longest()} of them")
        return
    count = _length(given)
    if count != axes * batch * tokens and count != axes * tokens:
        refuse(field, f"have {axes * batch * tokens} entries", count)
    if not is_readable(given):
        return
    x = torch.as_tensor(given)
    outside = ~(x.abs() <= _MOST)
    if bool(outside.any()):
        worst = x.flatten()[int(outside.flatten().to(torch.uint8).argmax())].item()
        refuse(field, "be at most 2^53 either way", worst)


def _cu_seqlens(field: str, given: Any, rows: int) -> None:
    if given is None or not is_readable(given):
        return
    ends = torch.as_tensor(given)
    if ends.is_floating_point():
        raise TypeError(f"[attend] {field} must be of whole numbers but is of {ends.dtype}")
    if int(ends[0]) != 0:
        refuse(field, "begin with 0", int(ends[0]))
    if int(ends[-1]) != rows:
        refuse(field, "end with the number of rows", int(ends[-1]))
    falls = ends.diff() < 0
    if bool(falls.any()):
        refuse(field, "ascend", int(ends[1:][falls][0]))


def _broadcast(field: str, x: Any, batch: int, heads: int, queries: int, keys: int) -> None:
    if x is None:
        return
    if x.dim() < 2 or x.dim() > 4:
        refuse(field, "have rank 2 to 4", x.dim())
    largest = (batch, heads, queries, keys)[4 - x.dim() :]
    for axis, (size, full) in enumerate(zip(x.shape, largest)):
        if size != 1 and size != full:
            refuse(field, f"have 1 or {full} along axis {axis}", size)


def _per_row(field: str, x: Any, rows: int) -> None:
    if x is not None and _length(x) not in (0, rows):
        refuse(field, f"have one entry for each of {rows} rows", f"{_length(x)} long")


def inputs(layer: ComposedLayer, q: Tensor, k: Tensor, given: dict[str, Any]) -> None:
    batch, queries, keys = _sizes(q, k)
    q_ends, k_ends = given["cu_seqlens_q"], given["cu_seqlens_k"]
    if (0 if q_ends is None else _length(q_ends)) != (0 if k_ends is None else _length(k_ends)):
        refuse("cu_seqlens_k", "be as long as cu_seqlens_q", f"{0 if k_ends is None else _length(k_ends)} long")
    if q_ends is not None and q.dim() != 3:
        refuse("cu_seqlens_q", "be omitted for rank 4", "given")
    _cu_seqlens("cu_seqlens_q", q_ends, queries)
    _cu_seqlens("cu_seqlens_k", k_ends, keys)

    def longest(ends: Any, tokens: int) -> Any:
        return lambda: tokens if ends is None else int(torch.as_tensor(ends).diff().max())

    _positions("q_positions", given["q_positions"], layer.axes, batch, queries, longest(q_ends, queries))
    _positions("k_positions", given["k_positions"], layer.axes, batch, keys, longest(k_ends, keys))
    for name, rows in (("q_order", queries), ("k_order", keys), ("q_segments", queries), ("k_segments", keys)):
        _per_row(name, given[name], batch * rows)
    if is_readable(None):
        if given["prefix"] < 0:
            refuse("prefix", "be at least 0", given["prefix"])
        for name in ("q_order", "k_order"):
            if given[name] is not None and is_readable(given[name]):
                _positions(name, given[name], 1, 1, _length(given[name]), None)
    _broadcast("attn_mask", given["attn_mask"], batch, layer.heads, queries, keys)
    _broadcast("bias", given["bias"], batch, layer.heads, queries, keys)


def _table(field: str, x: Any, shape: list[int]) -> None:
    if x is None or list(x.shape) != shape:
        refuse(field, f"have shape [{', '.join(str(n) for n in shape)}]", "omitted" if x is None else _shape(x))


def _left_out(field: str, is_given: bool, unread_since: str) -> None:
    if is_given:
        refuse(field, f"be omitted, since {unread_since}", "given")


def schemes(layer: ComposedLayer, learned: dict[str, Any], q: Tensor, k: Tensor, given: dict[str, Any]) -> None:
    """What terms and masks ask of the call, and what nothing of the layer reads."""
    batch, queries, keys = _sizes(q, k)
    if layer.mask.kind == "sparse" and given["attn_mask"] is None:
        refuse("attn_mask", "say which keys are visible, since the plan's mask is sparse", "omitted")
    is_given_rotated = given["q_rotated"] and given["k_rotated"]
    if layer.rotations and layer.norm_follows and not is_given_rotated:
        refuse("q_rotated and k_rotated", "be yes, since a norm follows the rotation", "no")
    if layer.has_regions and (given["q_rotated"] or given["k_rotated"]):
        refuse("q_rotated and k_rotated", "be no, since regions rotate each key in more than one way", "yes")
    segments = False
    for term, of in zip(layer.terms, learned.get("score_weights") or [None] * len(layer.terms)):
        if term.reads == "row_gate" and term.gated:
            _table("row_gate", given["row_gate"], [batch * queries, layer.heads])
        if term.reads == "log_forget":
            _table("log_forget", given["log_forget"], [batch * keys, layer.heads])
        if term.reads == "bias" and given["bias"] is None:
            refuse("bias", "have the logits by distance", "omitted")
        if term.reads == "segments":
            if term.both_ways and (q.dim() != 4 or batch % 2 != 0):
                refuse(
                    "q", "be a batch of an even number of sequences, since half of them are read backwards", "otherwise"
                )
            segments = of.get("segments") is not None
    if segments:
        counts = [0 if given[name] is None else _length(given[name]) for name in ("q_segments", "k_segments")]
        if counts != [batch * queries, batch * keys]:
            refuse("q_segments and k_segments", "be given, since there are weights for segments", "omitted")
    if layer.mask.kind != "prefix":
        _left_out("prefix", given["prefix"] > 0, "the layer's mask has none")
    for name in ("q_segments", "k_segments"):
        _left_out(name, given[name] is not None and not segments, "no term of the layer has weights for segments")
    reads = [term.reads for term in layer.terms if term.reads != "row_gate" or term.gated]
    _left_out(
        "log_forget", given["log_forget"] is not None and "log_forget" not in reads, "the layer has no forget gate"
    )
    has_gate = "row_gate" in reads
    _left_out(
        "row_gate", given["row_gate"] is not None and not has_gate, "the layer has no bias with a gate for each row"
    )


# ---- numbers ----


def _distances(field: str, q: Tensor, k: Tensor, q_sequence: Any, k_sequence: Any, largest: int | None) -> None:
    """Every distance is whole; where there is a largest, none is beyond it."""
    for sequence in [None] if q_sequence is None else torch.unique(q_sequence).tolist():
        i = q if sequence is None else q[q_sequence.expand(q.shape) == sequence][None]
        j = k if sequence is None else k[k_sequence.expand(k.shape) == sequence][None]
        if i.numel() == 0 or j.numel() == 0:
            continue
        if i.is_floating_point() or j.is_floating_point():
            for distance in ((i - j[:, :1]).flatten(), (i[:, :1] - j).flatten()):
                parts = distance[distance != distance.floor()]
                if parts.numel():
                    refuse(field, "have whole distances", f"{parts[0].item():g}")
        if largest is None:
            continue
        for distance in (i.amax(-1) - j.amin(-1), i.amin(-1) - j.amax(-1)):
            worst = distance.flatten()[distance.abs().argmax()].item()
            if abs(worst) > largest:
                refuse(field, f"have distances of at most {largest}", f"{worst:g}")


def numbers(layer: ComposedLayer, learned: dict[str, Any], rows: Any) -> None:
    """What is in the tensors of positions, and in those parameters that a formula needs above 0."""
    if not is_readable(rows.q.order) or not is_readable(rows.q.at[0]):
        return
    if layer.query_scale is not None and rows.q.at[0].numel() and float(rows.q.at[0].min()) < 0:
        raise ValueError(f"[query_scale] position must be at least 0 but is {int(rows.q.at[0].min())}")
    of = [*zip(layer.terms, learned.get("score_weights") or [None] * len(layer.terms))]
    for place, (term, tables) in enumerate(of):
        for name, least in term.least.items():
            x = tables[name]
            if is_readable(x) and not bool((torch.as_tensor(x) >= least).all()):
                worst = float(torch.as_tensor(x).detach().min())
                raise ValueError(
                    f"[kerple_bias] {name} must be at least {least:g}, as training clamps it but is {worst:g}"
                )
        for name in term.above:
            if is_readable(tables[name]) and not float(torch.as_tensor(tables[name]).detach()) > 0:
                refuse(f"weights.score[{place}]", "have c and threshold above 0", "otherwise")
        for axis, largest in term.whole_axes.items():
            if not term.whole_with_table or (tables.get("positions") or tables).get("table") is not None:
                field = f"weights.score[{place}]" + (".table" if term.whole_with_table else "")
                _distances(field, rows.q.at[axis], rows.k.at[axis], rows.q.sequence, rows.k.sequence, largest)
    if layer.value.weights is not None:
        _distances("weights.value", rows.q.at[0], rows.k.at[0], rows.q.sequence, rows.k.sequence, None)


def check(
    layer: ComposedLayer, learned: dict[str, Any], q: Tensor, k: Tensor, v: Tensor, given: dict[str, Any]
) -> None:
    """All but numbers(), which needs the rows of the call."""
    tensors(layer, q, k, v)
    inputs(layer, q, k, given)
    schemes(layer, learned, q, k, given)
