"""The input stage by its kernels, as operators of torch: posenc::add_learned and posenc::add_sinusoids, with gradients.

x's gradient is that of the output, times m; that of a learned table is a sum over the tokens of each row
(posenc::table_gradient), the same to the bit for any number of threads. What kernels do not take (float64, other devices,
transforms of torch.func, an embedding multiplied with its row) is composed of operations of torch by posenc.nn.
"""

from __future__ import annotations

import functools
from typing import Any, Optional

import torch
from torch import Tensor

from . import _posenc
from ._forward_mode import has_duals, is_transformed
from ._strides import dense
from ._tables import value_of

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def places_of(positions: Any, x: Tensor, *tables: Tensor) -> Optional[tuple[Optional[Tensor], int]]:
    """(positions, start) of the operators, or None where the kernels do not take the call.

    They take x of [tokens, width] or [batch, tokens, width] on the CPU, tables of its dtype, and the position of the
    first token, or [tokens], [1, tokens] or [batch, tokens].
    """
    if x.device.type != "cpu" or x.dtype not in _DTYPES or x.dim() not in (2, 3):
        return None
    if any(table.dtype != x.dtype or table.device != x.device for table in tables):
        return None
    if is_transformed() or has_duals():
        return None
    if isinstance(positions, int):
        return None, positions
    at = torch.as_tensor(positions)
    if at.shape not in (x.shape[-2:-1], (1, x.shape[-2]), x.shape[:-1]) or (at.is_floating_point() and tables):
        return None
    return at.reshape(-1), 0


def _given(positions: Optional[Tensor], start: int) -> Any:
    if positions is None:
        return start
    return positions if positions.is_floating_point() else positions.to(torch.int64)


# ---- learned rows ----


@torch.library.custom_op("posenc::add_learned", mutates_args=(), device_types="cpu")
def add_learned(x: Tensor, weight: Tensor, positions: Optional[Tensor], start: int, offset: int) -> Tensor:
    """x + weight[position + offset]."""
    table = _posenc.LearnedInputWeights(positions=dense(weight.detach()))
    added: Tensor = _posenc.add_input(
        _posenc.LearnedInput(offset=offset), dense(x.detach()), weights=table, positions=_given(positions, start)
    )
    return added


@add_learned.register_fake
def _(x: Tensor, weight: Tensor, positions: Optional[Tensor], start: int, offset: int) -> Tensor:
    return x.new_empty(x.shape)


@torch.library.custom_op("posenc::table_gradient", mutates_args=(), device_types="cpu")
def table_gradient(d_out: Tensor, positions: Optional[Tensor], start: int, offset: int, rows: int) -> Tensor:
    """[rows, width]: of each row the sum over the tokens that take it."""
    d_table = d_out.new_empty((rows, d_out.shape[-1]))
    _posenc.add_input_backward(
        _posenc.LearnedInput(offset=offset),
        dense(d_out.detach()),
        weights=_posenc.LearnedInputWeights(positions=d_out.new_empty((rows, d_out.shape[-1]))),
        positions=_given(positions, start),
        d_x=False,
        d_positions=d_table,
    )
    return d_table


@table_gradient.register_fake
def _(d_out: Tensor, positions: Optional[Tensor], start: int, offset: int, rows: int) -> Tensor:
    return d_out.new_empty((rows, d_out.shape[-1]))


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, weight, positions, ctx.start, ctx.offset = inputs
    ctx.rows = weight.shape[0]
    ctx.save_for_backward(*([] if positions is None else [positions]))


def _backward(ctx: Any, d_out: Tensor) -> tuple[Optional[Tensor], ...]:
    positions = ctx.saved_tensors[0] if ctx.saved_tensors else None
    d_weight = table_gradient(d_out, positions, ctx.start, ctx.offset, ctx.rows) if ctx.needs_input_grad[1] else None
    return d_out, d_weight, None, None, None


add_learned.register_autograd(_backward, setup_context=_keep)


def _keep_rows(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    d_out, positions, ctx.start, ctx.offset, _ = inputs
    ctx.shape = d_out.shape
    ctx.save_for_backward(*([] if positions is None else [positions]))


def _backward_of_rows(ctx: Any, d_table: Tensor) -> tuple[Optional[Tensor], ...]:
    tokens = ctx.shape[-2]
    if ctx.saved_tensors:
        rows = ctx.saved_tensors[0].to(torch.int64) + ctx.offset
    else:
        rows = torch.arange(tokens) + (ctx.start + ctx.offset)
    d_out = d_table[rows]
    of_all = d_out.numel() == ctx.shape.numel()
    return d_out.reshape(ctx.shape) if of_all else d_out.expand(ctx.shape), None, None, None, None


table_gradient.register_autograd(_backward_of_rows, setup_context=_keep_rows)


# ---- sines, without a learned scale ----


@functools.lru_cache(maxsize=64)
def _prepared(scheme: str, width: int) -> _posenc.PreparedInput:
    return _posenc.prepare_input(value_of(scheme), channels=width)


@torch.library.custom_op("posenc::add_sinusoids", mutates_args=(), device_types="cpu")
def add_sinusoids(x: Tensor, positions: Optional[Tensor], start: int, scheme: str, multiplier: float) -> Tensor:
    """m x + the rows of a SinusoidalInput, as its text, whose multiplier is given besides for its gradient."""
    added: Tensor = _posenc.add_input(
        _prepared(scheme, x.shape[-1]), dense(x.detach()), positions=_given(positions, start)
    )
    return added


@add_sinusoids.register_fake
def _(x: Tensor, positions: Optional[Tensor], start: int, scheme: str, multiplier: float) -> Tensor:
    return x.new_empty(x.shape)


def _keep_multiplier(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.multiplier = inputs[4]


def _backward_of_sines(ctx: Any, d_out: Tensor) -> tuple[Optional[Tensor], ...]:
    return d_out * ctx.multiplier if ctx.multiplier != 1.0 else d_out, None, None, None, None


add_sinusoids.register_autograd(_backward_of_sines, setup_context=_keep_multiplier)
