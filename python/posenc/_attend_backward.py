"""The backward pass of attention by its kernels, as an operator of torch: posenc::attend_backward, and what registers
it for an operator whose forward pass is posenc.attend.

Learned tables come as one list of tensors with the text of a Layer, as in the forward pass; so do inputs that are
tensors, with their names in one text. A table's gradient is that of the name that posenc.gradient_names has for it.
"""

from __future__ import annotations

from typing import Any, List, Optional

import torch
from torch import Tensor

from . import _posenc
from ._graph_arguments import _parsed, call_of
from ._strides import adjacent, dense

_OF_32_BITS = ("cu_seqlens_q", "cu_seqlens_k", "q_segments", "k_segments")
_OF_64_BITS = ("q_order", "k_order")
_WITH_GRADIENT = ("bias", "log_forget", "row_gate")


def _places(parts: Any, path: tuple[str, ...] = ()) -> list[tuple[int, tuple[str, ...]]]:
    """The tensors of a Layer's text, by number, and where each stands: ("score_weights", "0", "hidden", "weight")."""
    if isinstance(parts, list):
        return [found for n, one in enumerate(parts) for found in _places(one, (*path, str(n)))]
    if not isinstance(parts, dict):
        return []
    ((name, members),) = parts.items()
    if name == "tensor":
        return [(members, path)]
    return [found for key, one in members.items() for found in _places(one, (*path, key))]


def names_of_tables(layer: str) -> list[str]:
    """Of each tensor of a Layer's text, in order, the name of its gradient; empty where it has none."""
    plan, _, parts = _parsed(layer)
    found = sorted(place for name, of in parts.items() for place in _places(of, (name,)))
    return [_name(path, len(plan.score)) for _, path in found]


def _name(path: tuple[str, ...], terms: int) -> str:
    kind, *rest = path
    if kind == "value_weights":
        return "value_table"
    if kind == "score_weights":
        term, *members = rest
        if members[0] == "positions":  # XLNet's, of which Transformer-XL has the names
            members = members[1:]
        return ".".join([term, *members] if terms > 1 else members)
    return kind


def inputs_of(names: str, inputs: List[Tensor]) -> dict[str, Any]:
    given: dict[str, Any] = {name: x.detach() for name, x in zip(names.split(), inputs)}
    for name, x in given.items():
        if name in _OF_32_BITS:
            given[name] = x.to(torch.int32)
        if name in _OF_64_BITS:
            given[name] = x.to(torch.int64)
        if name in ("q_positions", "k_positions") and x.dim() == 0:
            given[name] = int(x)
    return given


@torch.library.custom_op("posenc::attend_backward", mutates_args=(), device_types="cpu")
def attend_backward(
    d_out: Tensor,
    d_lse: Optional[Tensor],
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    inputs: List[Tensor],
    names: str,
    prefix: int,
    length: Optional[int],
    q_rotated: bool,
    k_rotated: bool,
    weights: List[Tensor],
    layer: str,
    asked: List[bool],
) -> List[Tensor]:
    """Gradients of q, k and v, of each of `inputs` and of each of `weights`; an empty one where none is asked for.

    asked: for each of inputs, then for each of weights; of inputs bias, log_forget and row_gate have one.
    """
    plan, keywords = call_of(layer, weights)
    given = inputs_of(names, inputs)
    named = names.split()
    for name, is_asked in zip(named, asked):
        if is_asked and name in _WITH_GRADIENT:
            keywords[f"d_{name}"] = torch.empty(given[name].shape, dtype=torch.float32)
    of_tables = {  # a number (FIRE's c) is an array of one
        name: torch.empty(table.shape or (1,), dtype=torch.float32)
        for name, table, is_asked in zip(names_of_tables(layer), weights, asked[len(inputs) :])
        if is_asked
    }
    gradients = _posenc.attend_backward(
        plan,
        dense(q.detach()),
        dense(k.detach()),
        dense(v.detach()),
        dense(out.detach()),
        lse.detach(),
        dense(d_out.detach().to(out.dtype)),
        d_lse=None if d_lse is None else d_lse.detach().to(torch.float32).contiguous(),
        d_q=q.new_empty(q.shape),
        d_k=k.new_empty(k.shape),
        d_v=v.new_empty(v.shape),
        d_weights=of_tables,
        prefix=prefix,
        length=length,
        q_rotated=q_rotated,
        k_rotated=k_rotated,
        **given,
        **keywords,
    )
    of_inputs = [
        gradients[f"d_{name}"].to(x.dtype) if f"d_{name}" in gradients else x.new_empty(0)
        for name, x in zip(named, inputs)
    ]
    of_weights = [
        of_tables[name].view(x.shape).to(x.dtype) if name in of_tables else x.new_empty(0)
        for name, x in zip(names_of_tables(layer), weights)
    ]
    return [gradients["d_q"], gradients["d_k"], gradients["d_v"], *of_inputs, *of_weights]


@attend_backward.register_fake
def _(
    d_out: Tensor,
    d_lse: Optional[Tensor],
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    inputs: List[Tensor],
    names: str,
    prefix: int,
    length: Optional[int],
    q_rotated: bool,
    k_rotated: bool,
    weights: List[Tensor],
    layer: str,
    asked: List[bool],
) -> List[Tensor]:
    others = [x.new_empty(x.shape if is_asked else (0,)) for x, is_asked in zip([*inputs, *weights], asked)]
    return [q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape), *others]


def refuse_second_derivative(ctx: Any, *gradients: Any) -> Any:
    raise RuntimeError("[attend] backend must be 'composed' for a second derivative but is 'kernel'")


attend_backward.register_autograd(refuse_second_derivative)


def _flags(needs: Any, count: int) -> list[bool]:
    """What ctx.needs_input_grad says of a list."""
    return list(needs) if isinstance(needs, (list, tuple)) else [bool(needs)] * count


# ---- posenc::attend, which gives its output alone ----


def keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    q, k, v, attn_mask, bias, weights, ctx.layer, _ = inputs
    ctx.has = (attn_mask is not None, bias is not None)
    matrices = [x for x in (attn_mask, bias) if x is not None]
    ctx.save_for_backward(q, k, v, output, *matrices, *weights)


def backward(ctx: Any, d_out: Tensor) -> tuple[Any, ...]:
    """The log-sum-exp is computed again: the operator's forward pass has given none."""
    q, k, v, out, *others = ctx.saved_tensors
    names = [name for name, is_given in zip(("attn_mask", "bias"), ctx.has) if is_given]
    inputs, weights = others[: len(names)], others[len(names) :]
    lse = attend_lse(q, k, v, inputs, " ".join(names), weights, ctx.layer)
    of_tables = _flags(ctx.needs_input_grad[5], len(weights))
    asked = [*(name == "bias" and ctx.needs_input_grad[4] for name in names), *of_tables]
    gradients = attend_backward(
        d_out, None, q, k, v, out, lse, inputs, " ".join(names), 0, None, False, False, weights, ctx.layer, asked
    )
    d_bias = gradients[3 + names.index("bias")] if "bias" in names and ctx.needs_input_grad[4] else None
    of_weights = [x if is_asked else None for x, is_asked in zip(gradients[3 + len(names) :], of_tables)]
    return gradients[0], gradients[1], gradients[2], None, d_bias, of_weights, None, None


@torch.library.custom_op("posenc::attend_lse", mutates_args=(), device_types="cpu")
def attend_lse(
    q: Tensor, k: Tensor, v: Tensor, inputs: List[Tensor], names: str, weights: List[Tensor], layer: str
) -> Tensor:
    """The log-sum-exp of the scores, without the sinks: float32, of q's shape without channels."""
    plan, keywords = call_of(layer, weights)
    lse = q.new_empty(q.shape[:-1], dtype=torch.float32)
    of = (adjacent(x.detach()) for x in (q, k, v))
    _posenc.attend(plan, *of, lse=lse, **inputs_of(names, inputs), **keywords)
    return lse


@attend_lse.register_fake
def _(
    q: Tensor, k: Tensor, v: Tensor, inputs: List[Tensor], names: str, weights: List[Tensor], layer: str
) -> Tensor:
    return q.new_empty(q.shape[:-1], dtype=torch.float32)


attend_lse.register_autograd(refuse_second_derivative)

# ---- an operator that gives its output and the log-sum-exp, with all inputs of a call ----


def keep_call(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    """Of (q, k, v, inputs, names, prefix, length, q_rotated, k_rotated, weights, layer, value_dim) -> (out, lse)."""
    q, k, v, given, ctx.names, *ctx.numbers, weights, ctx.layer, _ = inputs
    ctx.counts = (len(given), len(weights))
    ctx.save_for_backward(q, k, v, *output, *given, *weights)


def backward_of_call(ctx: Any, d_out: Tensor, d_lse: Tensor) -> tuple[Any, ...]:
    q, k, v, out, lse, *others = ctx.saved_tensors
    count, tables = ctx.counts
    names = ctx.names.split()
    flags = _flags(ctx.needs_input_grad[3], count)
    asked = [is_asked and name in _WITH_GRADIENT for name, is_asked in zip(names, flags)]
    asked += _flags(ctx.needs_input_grad[9], tables)
    gradients = attend_backward(
        d_out, d_lse, q, k, v, out, lse, others[:count], ctx.names, *ctx.numbers, others[count:], ctx.layer, asked
    )
    of = [x if is_asked else None for x, is_asked in zip(gradients[3:], asked)]
    return (*gradients[:3], of[:count], None, None, None, None, None, of[count:], None, None)
