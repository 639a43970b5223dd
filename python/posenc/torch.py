"""posenc in PyTorch: the rotation and attention as registered operators, and a layer's scores and mask for FlexAttention.

    import posenc, posenc.torch

    table = posenc.torch.Table(posenc.make_table(rope, count=4096))
    q, k = posenc.torch.rotate(q, table), posenc.torch.rotate(k, table)       # has a backward pass
    layer = posenc.torch.Layer(plan.stacks[0].layers[0])
    out = posenc.torch.attend(layer, q, k, v)                                 # trains: q, k, v, biases, learned tables
    print(posenc.torch.backend_of(layer, q, k, v))                            # the kernels, FlexAttention or torch's own
    mod = posenc.torch.score_mod(plan, 0, length=1024, rotated=True)           # flex_attention(..., score_mod=mod)
    with posenc.torch.capture(model, layers=[0, 5]) as dump:                   # anybody's model
        model(input_ids)
    print(posenc.diagnose(dump, plan, start=0))                                # what its rotation did, layer by layer

attend and rotate compute on the CPU by posenc's kernels, elsewhere, and where a gradient of attention is asked for, by
operations of torch. All of it works under torch.compile and torch.export. The operators of the kernels take tensors,
numbers and texts only, so that a graph can hold their arguments: Table and Layer have the text of a RotaryTable and a
LayerPlan, from which any process makes them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd import forward_ad

from . import _attend_backward, _posenc, _torch_attend
from ._capture import capture, load_dump, save_dump
from ._flex_attention import mask_mod, score_mod
from ._forward_mode import has_duals, is_transformed, one_at_a_time, refuse_duals
from ._graph_arguments import Layer, Table, call_of, table_of
from ._qk_norm import Norm
from ._qk_norm import normalise as _normalised
from ._strides import adjacent, dense
from ._torch_attend import Backend, Chosen

__all__ = [
    "Layer",
    "Norm",
    "Table",
    "attend",
    "backend_of",
    "capture",
    "load_dump",
    "mask_mod",
    "normalise",
    "rotate",
    "rotate_",
    "save_dump",
    "score_mod",
]


def _required(of: Any, kind: type, name: str) -> Any:
    if not isinstance(of, kind):
        what, taken = kind.__name__, type(of).__name__
        raise TypeError(f"[posenc.torch] {name} must be a posenc.torch.{what}, as {what}({name}) makes, but is a {taken}")
    return of


def _require_cpu(where: str, **tensors: Any) -> None:
    """ValueError for a tensor that no operator is there for. On meta all have a shape, and so has the result."""
    given = {name: x for name, x in tensors.items() if isinstance(x, Tensor)}
    if all(x.device.type == "meta" for x in given.values()):
        return
    for name, x in given.items():
        if x.device.type == "meta":
            raise ValueError(f"[{where}] {name} must be on the CPU, as others are, but is on meta")
        if x.device.type != "cpu":
            raise ValueError(
                f"[{where}] {name} must be on the CPU but is on {x.device}: posenc computes there, .cpu() moves it"
            )


# ---- rotate ----
#
# The positions are a tensor, or the number of the first row.


@torch.library.custom_op("posenc::rotate", mutates_args=(), device_types="cpu")
def _rotate(x: Tensor, positions: Tensor | None, start: int, table: str, direction: str) -> Tensor:
    refuse_duals("rotate", "call posenc.torch.rotate, which has one")
    return _rotated(x, positions, start, table, direction)


# For _Rotation, which gives it no tangent: an operator, as torch.func traces some calls (linearize).
@torch.library.custom_op("posenc::rotate_primal", mutates_args=(), device_types="cpu")
def _rotate_primal(x: Tensor, positions: Tensor | None, start: int, table: str, direction: str) -> Tensor:
    return _rotated(x, positions, start, table, direction)


@_rotate_primal.register_fake
def _(x: Tensor, positions: Tensor | None, start: int, table: str, direction: str) -> Tensor:
    return torch.empty_like(dense(x))


def _rotated(x: Tensor, positions: Tensor | None, start: int, table: str, direction: str) -> Tensor:
    places = start if positions is None else positions
    rotated: Tensor = _posenc.rotate(dense(x.detach()), table=table_of(table), positions=places, direction=direction)
    return rotated


@_rotate.register_fake
def _(x: Tensor, positions: Tensor | None, start: int, table: str, direction: str) -> Tensor:
    refuse_duals("rotate", "take it outside of torch.compile")
    return torch.empty_like(dense(x))


# forward is a R, and transpose a R^T, its backward pass; inverse is R^T / a, whose transpose R / a is forward / a^2.
_BACKWARD = {"forward": "transpose", "transpose": "forward", "inverse": "forward"}


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, ctx.positions, ctx.start, ctx.table, ctx.direction = inputs


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    return _transposed(_rotate, ctx, grad), None, None, None, None


def _transposed(call: Any, ctx: Any, grad: Tensor) -> Tensor:
    rotated: Tensor = call(grad, ctx.positions, ctx.start, ctx.table, _BACKWARD[ctx.direction])
    if ctx.direction != "inverse":
        return rotated
    table = table_of(ctx.table)
    first, end = table.layout.first_channel, table.layout.first_channel + table.layout.dim
    factor = rotated.new_ones(rotated.shape[-1])
    factor[first:end] = 1 / table.attention_factor**2
    return rotated * factor


_rotate.register_autograd(_backward, setup_context=_keep)


class _Rotation(torch.autograd.Function):
    """The same for forward mode and torch.func: linear in x, so that a tangent is rotated as x is."""

    @staticmethod
    def forward(x: Tensor, positions: Tensor | None, start: int, table: str, direction: str) -> Tensor:
        primal = forward_ad.unpack_dual(x).primal if has_duals() else x
        return _rotate_primal(primal, positions, start, table, direction)

    setup_context = staticmethod(_keep)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        return _transposed(_Rotation.apply, ctx, grad), None, None, None, None

    @staticmethod
    def jvp(ctx: Any, x: Tensor, *others: None) -> Tensor:  # type: ignore[override]
        return _Rotation.apply(x, ctx.positions, ctx.start, ctx.table, ctx.direction)  # type: ignore[no-any-return]

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, *others: Any) -> tuple[Tensor, int]:
        return one_at_a_time(_Rotation.apply, info, in_dims, x, *others)


@torch.library.custom_op("posenc::rotate_", mutates_args={"x"}, device_types="cpu")
def _rotate_in_place(x: Tensor, positions: Tensor | None, start: int, table: str, direction: str) -> None:
    refuse_duals("rotate_", "rotate has one")
    places = start if positions is None else positions
    _posenc.rotate_(x.detach(), table=table_of(table), positions=places, direction=direction)


def _rows(positions: int | Tensor) -> tuple[Tensor | None, int]:
    return (positions, 0) if isinstance(positions, Tensor) else (None, positions)


def rotate(x: Tensor, table: Table, *, positions: int | Tensor = 0, direction: str = "forward") -> Tensor:
    """RoPE applied to x, queries or keys, by its positions; differentiable in x, forward and backward.

    x: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]; on the CPU in float32, float16 or bfloat16 by
    posenc.rotate, else by operations of torch, on any device, of float64 too.
    positions: where the first token of each sequence stands; or coordinates [axes, rows], int64, int32 or float64.
    direction: as posenc.rotate has it. ValueError for what does not fit.
    """
    of = _required(table, Table, "table")
    if isinstance(positions, Tensor) and positions.device != x.device and x.device.type in ("cpu", "meta"):
        _require_cpu("rotate", x=x, positions=positions)
    if x.device.type not in ("cpu", "meta") or x.dtype == torch.float64:
        rotated: Tensor = of.composed(x, positions, direction)
        return rotated
    places, start = _rows(positions)
    if is_transformed():
        return _Rotation.apply(x, places, start, of.text, direction)  # type: ignore[no-any-return]
    return _rotate(x, places, start, of.text, direction)


def rotate_(x: Tensor, table: Table, *, positions: int | Tensor = 0, direction: str = "forward") -> Tensor:
    """rotate in place, without a backward pass; returns x. ValueError for x with a gradient, which it would not follow."""
    text = _required(table, Table, "table").text
    _require_cpu("rotate_", x=x, positions=positions)
    if torch.is_grad_enabled() and x.requires_grad:
        raise ValueError(
            "[rotate_] x must be detached from its gradient, which knows nothing of this rotation: use rotate, which has a "
            "backward pass, or call it under torch.no_grad()"
        )
    places, start = _rows(positions)
    _rotate_in_place(x, places, start, text, direction)
    return x


def normalise(
    x: Tensor,
    norm: Norm,
    *,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    table: Table | None = None,
    positions: int | Tensor = 0,
    backend: Literal["auto", "kernel", "composed"] = "auto",
) -> Tensor:
    """The norm of queries or keys, and RoPE before or after it, as the norm's order says, where a table is given.

    Differentiable in x, weight and bias. x: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]. norm: as
    Norm(layer.qk_norm) makes it. weight: if and only if it is weighted, [head_dim], [heads * head_dim] or [heads,
    head_dim]; bias: likewise, of a layer norm. positions: as rotate has them. backend: "kernel", on the CPU in float32,
    float16 and bfloat16, in one pass over memory (rotate_into_cache and its backward pass); "composed", operations of
    torch, which have second derivatives; "auto", the kernel where it can. ValueError for what does not fit.
    """
    of = None if table is None else _required(table, Table, "table")
    return _normalised(x, _required(norm, Norm, "norm"), weight, bias, of, positions, backend, rotate)


# ---- attend ----


@torch.library.custom_op("posenc::attend", mutates_args=(), device_types="cpu")
def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None,
    bias: Tensor | None,
    weights: list[Tensor],
    layer: str,
    value_dim: int,
) -> Tensor:
    refuse_duals("attend", "take it of another attention")
    plan, keywords = call_of(layer, weights)
    out = q.new_empty((*q.shape[:-1], value_dim))
    added = None if bias is None else bias.detach()
    of = (adjacent(x.detach()) for x in (q, k, v))
    _posenc.attend(plan, *of, attn_mask=attn_mask, bias=added, out=out, **keywords)
    return out


@_attend.register_fake
def _(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    attn_mask: Tensor | None,
    bias: Tensor | None,
    weights: list[Tensor],
    layer: str,
    value_dim: int,
) -> Tensor:
    refuse_duals("attend", "take it of another attention")
    return q.new_empty((*q.shape[:-1], value_dim))


_attend.register_autograd(_attend_backward.backward, setup_context=_attend_backward.keep)


def attend(
    layer: Layer,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    attn_mask: Tensor | None = None,
    bias: Tensor | None = None,
    q_positions: Any = None,
    k_positions: Any = None,
    q_order: Any = None,
    k_order: Any = None,
    cu_seqlens_q: Any = None,
    cu_seqlens_k: Any = None,
    prefix: int = 0,
    q_segments: Any = None,
    k_segments: Any = None,
    log_forget: Tensor | None = None,
    row_gate: Tensor | None = None,
    length: int | None = None,
    q_rotated: bool = False,
    k_rotated: bool = False,
    tables: Sequence[Tensor] | None = None,
    lse: bool = False,
    backend: Backend = "auto",
) -> Any:
    """Attention with all schemes of a layer; differentiable in q, k, v, bias, log_forget, row_gate and every table.

    q: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]; k, v likewise, with kv_heads; float32, float16,
    bfloat16, or where it is composed float64. attn_mask: bool, seen besides the plan's mask; bias: added to the scores;
    both [queries, keys] up to rank 4. All others as posenc.attend has them. tables: in place of layer.weights, in the order
    of layer.names. Returns the output, like q with value_dim channels; with lse=True the pair of it and the log-sum-exp.

    backend: "kernel" on the CPU; "flex", FlexAttention; "composed", operations of torch, on any
    device, in chunks of queries, so that no matrix of queries times keys is there for a whole sequence. "auto" takes the
    kernel where it can, on CUDA FlexAttention where that can, else composes; backend_of tells. ValueError for what does
    not fit; what is wrong with numbers in tensors is not seen while a graph is made.
    """
    return _torch_attend.call(layer, q, k, v, dict(
        attn_mask=attn_mask, bias=bias, q_positions=q_positions, k_positions=k_positions, q_order=q_order,
        k_order=k_order, cu_seqlens_q=cu_seqlens_q, cu_seqlens_k=cu_seqlens_k, prefix=prefix, q_segments=q_segments,
        k_segments=k_segments, log_forget=log_forget, row_gate=row_gate, length=length, q_rotated=q_rotated,
        k_rotated=k_rotated,
    ), tables, backend, lse)  # fmt: skip


def backend_of(
    layer: Layer, q: Tensor, k: Tensor, v: Tensor, *, tables: Sequence[Tensor] | None = None, backend: Backend = "auto", **given: Any
) -> Chosen:
    """(backend, reason): what attend computes this very call by, and why; arguments are attend's."""
    return _torch_attend.choice(layer, q, k, v, given, tables, backend)
