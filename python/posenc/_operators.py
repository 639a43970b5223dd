"""What use() puts into a model, as operators of PyTorch: for torch.compile and torch.export.

A graph holds tensors, numbers and words. So an operator is told its rope or its layer in words, the JSON of a plan with
one layer, which say the same in the process that loads an exported program (it must import posenc.transformers). What
depends on numbers in tensors, such as the largest position or whether a mask is causal, is decided when the graph runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, List, Optional, Tuple

import torch
from torch import Tensor

from . import _posenc
from ._forward_mode import refuse_duals
from ._strides import adjacent, dense
from ._trained import tables_by_name, trained


def words_of_layer(layer: _posenc.LayerPlan) -> str:
    stack = _posenc.Stack(name="decoder", layers=(layer.replace(index=0),))
    return _posenc.Plan(known=True, stacks=(stack,)).to_json()


@functools.lru_cache(maxsize=1024)
def layer_of_words(words: str) -> _posenc.LayerPlan:
    return _posenc.plan_from_json(words).stacks[0].layers[0]


def words_of_rope(rope: _posenc.Rope) -> str:
    sizes = {"heads": 1, "kv_heads": 1, "head_dim": rope.head_dim, "value_dim": rope.head_dim}
    return words_of_layer(_posenc.LayerPlan(**sizes, rotate=(_posenc.Rotate(scheme=rope),)))


@functools.lru_cache(maxsize=1024)
def rope_of_words(words: str) -> _posenc.Rope:
    rope = layer_of_words(words).rotate[0].scheme
    assert isinstance(rope, _posenc.Rope)
    return rope


# ---- angles ----


@torch.library.custom_op("posenc::model_angles", mutates_args=(), device_types="cpu")
def model_angles(positions: Tensor, rope: str, pairs: int, length: int, angles: str) -> Tuple[Tensor, Tensor]:
    """cos and sin, [n, pairs], of positions [axes, n]. length: 0: the largest position and 1."""
    of = rope_of_words(rope)
    places = positions[: len(of.axes.names)].to(torch.int64).contiguous()
    made = _posenc.cos_sin(of, places, length=length or int(positions.max()) + 1, angles=angles)  # type: ignore[arg-type]
    cos, sin = (torch.as_tensor(rows) for rows in made)
    return cos, sin


@model_angles.register_fake
def _(positions: Tensor, rope: str, pairs: int, length: int, angles: str) -> Tuple[Tensor, Tensor]:
    shape = (positions.shape[1], pairs)
    return positions.new_empty(shape, dtype=torch.float32), positions.new_empty(shape, dtype=torch.float32)


# ---- rotation ----


@torch.library.custom_op("posenc::model_rotate", mutates_args=(), device_types="cpu")
def model_rotate(
    x: Tensor, cos: Tensor, sin: Tensor, batch: int, pairing: str, first_channel: int, direction: str
) -> Tensor:
    """x: [batch or 1, heads, tokens, channels], by rows [batch * tokens, pairs]."""
    refuse_duals("use", "take it of the model's own rotation")
    width, dim = x.shape[-1], 2 * cos.shape[1]
    layout = _posenc.RotaryLayout(  # type: ignore[call-arg]
        pairing=pairing, head_dim=width, first_channel=0 if width == dim else first_channel, dim=dim
    )
    table = _posenc.table_from_cos_sin(layout, cos.contiguous(), sin.contiguous())
    rows = torch.arange(cos.shape[0]).view(batch, -1).expand(x.shape[0], -1).reshape(1, -1).contiguous()
    by: Any = {"table": table, "positions": rows, "direction": direction}
    out: Tensor = _posenc.rotate(dense(x.detach()), **by)
    return out.clone() if out.data_ptr() == x.data_ptr() else out.contiguous()


@model_rotate.register_fake
def _(
    x: Tensor, cos: Tensor, sin: Tensor, batch: int, pairing: str, first_channel: int, direction: str
) -> Tensor:
    refuse_duals("use", "take it of the model's own rotation")
    return x.new_empty(x.shape)


def _keep(ctx: Any, inputs: Tuple[Any, ...], output: Tensor) -> None:
    _, cos, sin, ctx.batch, ctx.pairing, ctx.first_channel, ctx.direction = inputs
    ctx.save_for_backward(cos, sin)


def _backward(ctx: Any, grad: Tensor) -> Tuple[Optional[Tensor], ...]:
    direction = "transpose" if ctx.direction == "forward" else "forward"
    rotated = model_rotate(grad, *ctx.saved_tensors, ctx.batch, ctx.pairing, ctx.first_channel, direction)
    return rotated, None, None, None, None, None, None


model_rotate.register_autograd(_backward, setup_context=_keep)


# ---- attention ----

# Set by transformers.py, which imports this: what a mask says besides its kind.
KindOf = Callable[[Optional[Tensor], Tuple[int, ...]], Tuple[str, Optional[Tensor]]]
kind_of: List[KindOf] = []


@torch.library.custom_op("posenc::model_attend", mutates_args=(), device_types="cpu")
def model_attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Optional[Tensor],
    bias: Optional[Tensor],
    names: str,
    tables: List[Tensor],
    layer: str,
    keeps_mask: bool,
    is_causal: bool,
    angles: str,
) -> Tensor:
    """As attention() has it; tokens before heads. names, tables: as named_weights takes them; names in one word
    each. is_causal: where no mask is."""
    refuse_duals("attention", "take it of another attention")
    of = layer_of_words(layer)
    sizes = {"heads": q.shape[1], "kv_heads": k.shape[1], "head_dim": q.shape[-1], "value_dim": v.shape[-1]}
    of = of.replace(**sizes)  # type: ignore[arg-type]
    kind, left = kind_of[0](mask, (*q.shape[:3], k.shape[2]))
    if not keeps_mask:
        of = of.replace(mask=_posenc.Mask(kind="causal" if mask is None and is_causal else kind))  # type: ignore[arg-type]
    if left is not None and left.dtype.is_floating_point:
        left, bias = None, left if bias is None else left + bias
    weights = _posenc.named_weights(of, dict(zip(names.split(), (table.detach() for table in tables))))
    out = q.new_empty((q.shape[0], q.shape[2], q.shape[1], v.shape[-1]))
    handed = (adjacent(x.detach()) for x in (q, k, v))
    _posenc.attend(  # type: ignore[call-overload]
        of, *handed, attn_mask=left, bias=bias, angles=angles, out=out.transpose(1, 2), **weights
    )
    return out


@model_attend.register_fake
def _(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Optional[Tensor],
    bias: Optional[Tensor],
    names: str,
    tables: List[Tensor],
    layer: str,
    keeps_mask: bool,
    is_causal: bool,
    angles: str,
) -> Tensor:
    refuse_duals("attention", "take it of another attention")
    return q.new_empty((q.shape[0], q.shape[2], q.shape[1], v.shape[-1]))


def _keep_read(ctx: Any, inputs: Tuple[Any, ...], output: Tensor) -> None:
    q, k, v, mask, bias, ctx.names, tables, *ctx.others = inputs
    ctx.save_for_backward(q, k, v, mask, bias, *tables)


def _attend_backward(ctx: Any, grad: Tensor) -> Tuple[Any, ...]:
    """Attention made again, in operations of torch, and its gradients. The mask stays as it was given: a tensor."""
    layer, keeps_mask, is_causal, angles = ctx.others
    given = [None if x is None else x.detach() for x in ctx.saved_tensors]
    wanted = [x is not None and x.is_floating_point() for x in given]
    with torch.enable_grad():
        read = [x.requires_grad_() if x is not None and asked else x for x, asked in zip(given, wanted)]
        q, k, v, mask, bias, *tables = read
        assert q is not None and k is not None and v is not None
        of = layer_of_words(layer)
        sizes = {"heads": q.shape[1], "kv_heads": k.shape[1], "head_dim": q.shape[-1], "value_dim": v.shape[-1]}
        of = of.replace(**{name: int(size) for name, size in sizes.items()})  # type: ignore[arg-type]
        if not keeps_mask:
            kind = "causal" if mask is None and is_causal else "bidirectional"
            of = of.replace(mask=_posenc.Mask(kind=kind))  # type: ignore[arg-type]
        if mask is not None and mask.is_floating_point():
            mask, bias = None, mask if bias is None else mask + bias
        learned = tables_by_name(of, dict(zip(ctx.names.split(), tables)))  # type: ignore[arg-type]
        out = trained(of, q, k, v, {"attn_mask": mask, "bias": bias, "angles": angles}, learned)
        asked = [x for x, is_asked in zip(read, wanted) if is_asked]
        made = iter(torch.autograd.grad(out, asked, grad, allow_unused=True))
    q, k, v, mask, bias, *tables = [next(made) if is_asked else None for is_asked in wanted]
    return q, k, v, mask, bias, None, tables, None, None, None, None


model_attend.register_autograd(_attend_backward, setup_context=_keep_read)
