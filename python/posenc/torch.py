"""posenc in PyTorch: the rotation and attention as registered operators, and biases for FlexAttention.

    import posenc, posenc.torch

    table = posenc.torch.Table(posenc.make_table(rope, count=4096))
    q, k = posenc.torch.rotate(q, table), posenc.torch.rotate(k, table)       # has a backward pass
    layer = posenc.torch.Layer(plan.stacks[0].layers[0])
    out = posenc.torch.attend(layer, q, k, v)
    mod = posenc.torch.score_mod(plan, 0, length=1024)                         # flex_attention(..., score_mod=mod)

All work under torch.compile, on the CPU. An operator takes tensors and numbers only, so that a compiled graph can name
them; Table and Layer are what gives a RotaryTable and a LayerPlan such a number, for as long as they live.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any, Callable

import torch
from torch import Tensor

from . import _posenc
from . import reference

__all__ = ["Layer", "Table", "attend", "rotate", "rotate_", "score_mod"]

_numbers = itertools.count()
_by_number: dict[int, Any] = {}


def _numbered(owner: object, value: Any) -> int:
    number = next(_numbers)
    _by_number[number] = value
    weakref.finalize(owner, _by_number.pop, number, None)
    return number


def _of_number(number: int) -> Any:
    if number not in _by_number:
        raise ValueError(f"[posenc.torch] what a graph was compiled with, number {number}, is gone: keep it alive")
    return _by_number[number]


class Table:
    """A RotaryTable, for graphs. Keep it as long as a graph that was compiled with it."""

    def __init__(self, table: _posenc.RotaryTable) -> None:
        self.table = table
        self.number = _numbered(self, table)


class Layer:
    """A LayerPlan and its learned tables, for graphs: score_weights, value_weights and sinks as attend has them.

    Or a PreparedLayer, which has its tables.
    """

    def __init__(self, layer: _posenc.LayerPlan | _posenc.PreparedLayer, **weights: Any) -> None:
        self.layer = layer
        self.value_dim = (layer.layer if isinstance(layer, _posenc.PreparedLayer) else layer).value_dim
        self.number = _numbered(self, (layer, weights))


# ---- rotate ----
#
# The positions are a tensor, or the number of the first row.


@torch.library.custom_op("posenc::rotate", mutates_args=(), device_types="cpu")
def _rotate(x: Tensor, positions: Tensor | None, start: int, table: int, direction: str) -> Tensor:
    places = start if positions is None else positions
    rotated: Tensor = _posenc.rotate(adjacent(x.detach()), table=_of_number(table), positions=places, direction=direction)
    return rotated


def adjacent(x: Tensor) -> Tensor:
    # A gradient may be one number, expanded: channels of a head must be adjacent, and no axis without memory of its own.
    return x if x.stride(-1) == 1 and 0 not in x.stride() else x.contiguous()


@_rotate.register_fake
def _(x: Tensor, positions: Tensor | None, start: int, table: int, direction: str) -> Tensor:
    return torch.empty_like(adjacent(x))


# forward is a R, and transpose a R^T, its backward pass; inverse is R^T / a, whose transpose R / a is forward / a^2.
_BACKWARD = {"forward": "transpose", "transpose": "forward", "inverse": "forward"}


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    _, ctx.positions, ctx.start, ctx.table, ctx.direction = inputs


def _backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
    rotated = _rotate(grad, ctx.positions, ctx.start, ctx.table, _BACKWARD[ctx.direction])
    if ctx.direction == "inverse":
        table = _of_number(ctx.table)
        first = table.layout.first_channel
        rotated[..., first : first + table.layout.dim] /= table.attention_factor**2
    return rotated, None, None, None, None


_rotate.register_autograd(_backward, setup_context=_keep)


@torch.library.custom_op("posenc::rotate_", mutates_args={"x"}, device_types="cpu")
def _rotate_in_place(x: Tensor, positions: Tensor | None, start: int, table: int, direction: str) -> None:
    places = start if positions is None else positions
    _posenc.rotate_(x.detach(), table=_of_number(table), positions=places, direction=direction)


def _required(of: Any, kind: type, name: str) -> Any:
    if not isinstance(of, kind):
        what, taken = kind.__name__, type(of).__name__
        raise TypeError(f"[posenc.torch] {name} must be a posenc.torch.{what}, as {what}({name}) makes, but is a {taken}")
    return of


def _rows(positions: int | Tensor) -> tuple[Tensor | None, int]:
    return (positions, 0) if isinstance(positions, Tensor) else (None, positions)


def rotate(x: Tensor, table: Table, *, positions: int | Tensor = 0, direction: str = "forward") -> Tensor:
    """RoPE applied to x, queries or keys, by its positions; differentiable in x.

    x: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim] of float32, float16 or bfloat16, on the CPU.
    positions: where the first token of each sequence stands; or coordinates [axes, rows], int64, int32 or float64.
    direction: as posenc.rotate has it. ValueError for what does not fit.
    """
    places, start = _rows(positions)
    return _rotate(x, places, start, _required(table, Table, "table").number, direction)


def rotate_(x: Tensor, table: Table, *, positions: int | Tensor = 0, direction: str = "forward") -> Tensor:
    """rotate in place, without a backward pass; returns x."""
    places, start = _rows(positions)
    _rotate_in_place(x, places, start, _required(table, Table, "table").number, direction)
    return x


# ---- attend ----


@torch.library.custom_op("posenc::attend", mutates_args=(), device_types="cpu")
def _attend(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, bias: Tensor | None, layer: int, value_dim: int
) -> Tensor:
    plan, weights = _of_number(layer)
    out = q.new_empty((*q.shape[:-1], value_dim))
    _posenc.attend(plan, q.detach(), k.detach(), v.detach(), attn_mask=attn_mask, bias=bias, out=out, **weights)
    return out


@_attend.register_fake
def _(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, bias: Tensor | None, layer: int, value_dim: int
) -> Tensor:
    return q.new_empty((*q.shape[:-1], value_dim))


def _no_backward(ctx: Any, grad: Tensor) -> None:
    raise NotImplementedError(
        "[attend] has no backward pass: call it under torch.no_grad(), or train with torch's own attention and score_mod"
    )


_attend.register_autograd(_no_backward)


def attend(
    layer: Layer, q: Tensor, k: Tensor, v: Tensor, *, attn_mask: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    """Attention with all schemes of a layer, in one pass over the keys; it has no backward pass.

    q: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim]; k, v likewise, with kv_heads. attn_mask: bool, seen
    besides the plan's mask; bias: added to the scores; both [queries, keys] up to rank 4. Returns the output, like q
    with value_dim channels. ValueError for what does not fit.
    """
    _required(layer, Layer, "layer")
    return _attend(q, k, v, attn_mask, bias, layer.number, layer.value_dim)


# ---- FlexAttention ----

_OF_DISTANCE = (_posenc.Alibi, _posenc.T5Bias, _posenc.ClippedBias, _posenc.Kerple, _posenc.Sandwich, _posenc.MlpBias)
_OF_QUERY_TOO = (_posenc.Fire,)


def _placed_by_distance(term: Any) -> Any:
    # BLOOM's slope_h j differs from -slope_h (i - j) by what the softmax does not see.
    if isinstance(term, _posenc.Alibi) and term.form == "column":
        return term.replace(form="relative")
    return term


def _biases(layer: _posenc.LayerPlan, weights: Any, queries: range, keys: range) -> Tensor:
    """What the terms of a layer add to scores, [heads, queries, keys]: its scores, of queries and keys that are 0."""
    bare = layer.replace(
        score=tuple(_placed_by_distance(term) for term in layer.score),
        rotate=(),
        regions=None,
        soft_cap=None,
        sinks=False,
        mask=_posenc.Mask(kind="bidirectional"),
        value=None,
        query_scale=None,
        kv_heads=layer.heads,
        value_dim=1,
    )
    rows = {"q": queries, "k": keys}
    zeros = {name: torch.zeros(len(of), layer.heads, layer.head_dim) for name, of in rows.items()}
    orders = {f"{name}_order": torch.tensor(of, dtype=torch.int64) for name, of in rows.items()}
    v = torch.zeros(len(keys), layer.heads, 1)
    _, scores = reference.attend(
        bare, zeros["q"], zeros["k"], v, score_weights=weights, scores="biased", **orders
    )
    return torch.as_tensor(scores).to(torch.float32)


def score_mod(
    plan: _posenc.Plan | _posenc.LayerPlan, layer: int = 0, *, length: int, score_weights: Any = (), stack: int = 0
) -> Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]:
    """The biases of a layer as FlexAttention takes them: flex_attention(q, k, v, score_mod=score_mod(plan, 0, ...)).

    plan: a Plan, whose `layer` of `stack` is meant, or a LayerPlan. length: the most tokens that the call will have.
    score_weights: learned tables, as attend has them. A soft cap of the layer is done too; FlexAttention's `scale` is
    layer.softmax_scale, and masks are its block_mask.

    For what depends on the distance alone it looks up one of 2 length - 1 numbers a head, made by the reference (ALiBi,
    T5, clipped tables, KERPLE, Sandwich, perceptrons of the distance); for FIRE, which knows the query's place too, one
    of length^2. ValueError for a layer whose scores depend on more: on what queries and keys hold, or on coordinates.
    """
    of = plan.stacks[stack].layers[layer] if isinstance(plan, _posenc.Plan) else plan
    known = _OF_DISTANCE + _OF_QUERY_TOO
    for term in of.score:
        # Gated by hidden states (WavLM); rounded column by column (Falcon).
        is_more = getattr(term, "gated", False) or getattr(term, "form", "") == "column_bfloat16"
        if is_more or not isinstance(term, known):
            raise ValueError(f"[score_mod] the score must depend on places alone but has {term!r}")
    if of.regions is not None:
        raise ValueError(f"[score_mod] the score must depend on places alone but has {of.regions!r}")
    if any(isinstance(term, _OF_QUERY_TOO) for term in of.score):
        table, row = _biases(of, score_weights, range(length), range(length)), None
    else:
        # One query in the middle meets every distance from length - 1 down to 1 - length.
        table, row = _biases(of, score_weights, range(length - 1, length), range(2 * length - 1)), length - 1
    # Plain values: a graph cannot look into the plan.
    cap = of.soft_cap.cap if of.soft_cap is not None else None
    is_before = of.soft_cap is not None and of.soft_cap.order == "before_bias"

    def mod(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        bias = table[h, q_idx, kv_idx] if row is None else table[h, 0, row - (q_idx - kv_idx)]
        if cap is None:
            return score + bias
        return cap * torch.tanh(score / cap) + bias if is_before else cap * torch.tanh((score + bias) / cap)

    return mod
