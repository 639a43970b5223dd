"""QK norm with RoPE as operators of torch: posenc::normalise, by rotate_into_cache, and its gradient.

The cache is the operator's output: of [batch, heads, tokens, head_dim] blocks of the batch, whose strides those are.
What kernels do not take (float64, other devices, transforms of torch.func) is composed of operations of torch.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

import torch
from torch import Tensor

from . import _posenc
from ._attend_backward import refuse_second_derivative
from ._composed.norm import normalised
from ._forward_mode import has_duals, is_transformed, refuse_duals
from ._graph_arguments import Table, table_of
from ._strides import dense
from ._tables import value_of, value_text

_DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def _rows(x: Tensor) -> Tensor:
    """As a cache has them: tokens before heads."""
    return x.transpose(1, 2) if x.dim() == 4 else x


def _keywords(
    x: Tensor,
    weight: Optional[Tensor],
    bias: Optional[Tensor],
    positions: Optional[Tensor],
    start: int,
    table: str,
    norm: str,
    epsilon: float,
    plus_one: bool,
) -> dict[str, Any]:
    tokens = x.shape[0] if x.dim() == 3 else x.shape[0] * x.shape[2]
    of = {"norm_weight": weight, "norm_bias": bias}
    given = {name: None if one is None else one.detach().contiguous() for name, one in of.items()}
    return {
        "slots": torch.arange(tokens),
        "table": table_of(table) if table else None,
        "positions": start if positions is None else positions,
        "norm": value_of(norm),
        "norm_epsilon": epsilon,
        "weight_plus_one": plus_one,
        **given,
    }


@torch.library.custom_op("posenc::normalise", mutates_args=(), device_types="cpu")
def _normalise(
    x: Tensor,
    weight: Optional[Tensor],
    bias: Optional[Tensor],
    positions: Optional[Tensor],
    start: int,
    table: str,
    norm: str,
    epsilon: float,
    plus_one: bool,
) -> Tensor:
    refuse_duals("normalise", "call posenc.torch.normalise, which has one")
    out = x.new_empty(x.shape)
    how = _keywords(x, weight, bias, positions, start, table, norm, epsilon, plus_one)
    _posenc.rotate_into_cache(dense(x.detach()), k_cache=_rows(out), **how)
    return out


@_normalise.register_fake
def _(x: Tensor, *_: Any) -> Tensor:
    return x.new_empty(x.shape)


@torch.library.custom_op("posenc::normalise_backward", mutates_args=(), device_types="cpu")
def _normalise_backward(
    d_out: Tensor,
    x: Tensor,
    weight: Optional[Tensor],
    bias: Optional[Tensor],
    positions: Optional[Tensor],
    start: int,
    table: str,
    norm: str,
    epsilon: float,
    plus_one: bool,
) -> Tuple[Tensor, Tensor, Tensor]:
    """Of x, of the weight and of the bias; empty ones of what there is not."""
    d_x = x.new_empty(x.shape)
    d_weight = x.new_empty(0) if weight is None else torch.empty_like(weight, memory_format=torch.contiguous_format)
    d_bias = x.new_empty(0) if bias is None else torch.empty_like(bias, memory_format=torch.contiguous_format)
    how = _keywords(x, weight, bias, positions, start, table, norm, epsilon, plus_one)
    _posenc.rotate_into_cache_backward(
        dense(x.detach()),
        d_k_cache=_rows(dense(d_out.detach())),
        d_k=d_x,
        d_norm_weight=False if weight is None else d_weight,
        d_norm_bias=False if bias is None else d_bias,
        **how,
    )
    return d_x, d_weight, d_bias


@_normalise_backward.register_fake
def _(d_out: Tensor, x: Tensor, weight: Optional[Tensor], bias: Optional[Tensor], *_: Any) -> Tuple[Tensor, Tensor, Tensor]:
    of = [x.new_empty(0) if one is None else one.new_empty(one.shape) for one in (weight, bias)]
    return x.new_empty(x.shape), of[0], of[1]


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, weight, bias, positions, *ctx.others = inputs
    ctx.has = [one is not None for one in (weight, bias, positions)]
    ctx.save_for_backward(x, *(one for one in (weight, bias, positions) if one is not None))


def _backward(ctx: Any, d_out: Tensor) -> tuple[Optional[Tensor], ...]:
    x, *kept = ctx.saved_tensors
    rest = iter(kept)
    weight, bias, positions = (next(rest) if has else None for has in ctx.has)
    d_x, d_weight, d_bias = _normalise_backward(d_out, x, weight, bias, positions, *ctx.others)
    of = [one if has else None for one, has in zip((d_weight, d_bias), ctx.has)]
    return (d_x, *of, None, None, None, None, None, None)


_normalise.register_autograd(_backward, setup_context=_keep)
_normalise_backward.register_autograd(refuse_second_derivative)


class Norm:
    """A QkNorm, for graphs: LayerPlan.qk_norm, with the model's epsilon.

    weight_plus_one: the weight is what is stored and 1 (Gemma). It may be copied, pickled and saved with a module.
    """

    def __init__(self, norm: _posenc.QkNorm, *, epsilon: float = 1e-6, weight_plus_one: bool = False) -> None:
        if not isinstance(norm, _posenc.QkNorm):
            raise TypeError(f"[posenc.torch] Norm takes a QkNorm, as LayerPlan.qk_norm is, but is given {norm!r:.80}")
        self.norm, self.epsilon, self.weight_plus_one = norm, float(epsilon), bool(weight_plus_one)
        self.text = value_text(norm)
        self.kind, self.over, self.order, self.weighted = str(norm.kind), str(norm.over), str(norm.order), bool(norm.weighted)

    def __eq__(self, other: object) -> bool:
        same = ("norm", "epsilon", "weight_plus_one")
        return isinstance(other, Norm) and all(getattr(self, name) == getattr(other, name) for name in same)

    def __hash__(self) -> int:
        return hash((self.norm, self.epsilon, self.weight_plus_one))


def _kernel_lacks(tensors: list[Tensor]) -> str:
    """Why the kernel does not compute it; empty where it does."""
    for one in tensors:
        if one.device.type not in ("cpu", "meta"):
            return f"a tensor is on {one.device}"
        if one.dtype not in _DTYPES:
            return f"a tensor is of {one.dtype}"
    return "a transform of torch.func looks into what is computed" if is_transformed() or has_duals() else ""


def normalise(
    x: Tensor,
    norm: Norm,
    weight: Tensor | None,
    bias: Tensor | None,
    table: Table | None,
    positions: int | Tensor,
    backend: str,
    rotate: Any,
) -> Tensor:
    """As posenc.torch.normalise has it, whose rotate is given for what is composed."""
    if backend not in ("auto", "kernel", "composed"):
        raise ValueError(f"[normalise] backend must be 'auto', 'kernel' or 'composed' but is {backend!r}")
    lacks = "" if backend == "composed" else _kernel_lacks([one for one in (x, weight, bias) if one is not None])
    if lacks and backend == "kernel":
        raise ValueError(f"[normalise] backend must be 'auto' or 'composed', since {lacks}, but is 'kernel'")
    if not lacks and backend != "composed":
        places, start = (positions, 0) if isinstance(positions, Tensor) else (None, positions)
        text = "" if table is None else table.text
        made: Tensor = _normalise(
            x, weight, bias, places, start, text, norm.text, norm.epsilon, norm.weight_plus_one
        )
        return made
    _check(x, norm, weight, bias)
    if table is not None and norm.order == "after":
        x = rotate(x, table, positions=positions)
    x = normalised(x, norm.kind, norm.over, weight, bias, norm.epsilon, norm.weight_plus_one)
    return rotate(x, table, positions=positions) if table is not None and norm.order == "before" else x  # type: ignore[no-any-return]


def _check(x: Tensor, norm: Norm, weight: Tensor | None, bias: Tensor | None) -> None:
    """What the kernels refuse of a norm."""
    if x.dim() not in (3, 4):
        raise ValueError(f"[normalise] x must be of 3 or 4 axes but is of {x.dim()}")
    if (weight is not None) != norm.weighted:
        must = "given" if norm.weighted else "omitted"
        is_so = "omitted" if norm.weighted else "given"
        raise ValueError(f"[normalise] weight must be {must}, as norm.weighted is {norm.weighted}, but is {is_so}")
    if bias is not None and (norm.kind != "layer" or weight is None):
        raise ValueError("[normalise] bias must be omitted but for a layer norm with a weight but is given")
    heads, head_dim = x.shape[-2 if x.dim() == 3 else 1], x.shape[-1]
    shapes = [(heads * head_dim,), (heads, head_dim)] + ([(head_dim,)] if norm.over == "head" else [])
    for name, one in (("weight", weight), ("bias", bias)):
        if one is not None and tuple(one.shape) not in shapes:
            raise ValueError(f"[normalise] {name} must be of {heads} heads of {head_dim} but is of {list(one.shape)}")
