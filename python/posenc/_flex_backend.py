"""posenc.torch.attend by FlexAttention: what of a layer it can say, and the call.

Biases are looked up in numbers for each distance, [heads, 2 length - 1], or each key, which the composed stages make of
the learned tables: gradients go through them. Rotations come before, and are rounded to the type of q; sinks after.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

from ._composed import terms_of_distance as terms
from ._composed.attend import Attention
from ._composed.check import check, is_fake
from ._composed.layer import ComposedLayer
from ._composed.part import Part
from ._composed.rotation import rotated
from ._composed.rows import Side

_OF_DISTANCE = (terms.OfAlibi, terms.OfT5, terms.OfClipped, terms.OfKerple, terms.OfSandwich, terms.OfMlp)
_LEAST_CHANNELS = 16  # of FlexAttention's kernels


def flex_lacks(layer: Any, q: Tensor, k: Tensor, v: Tensor, given: dict[str, Any]) -> str:
    """Why FlexAttention does not compute this call; empty where it does."""
    of: ComposedLayer | None = layer.composed
    if of is None:
        return "the layer is refused"
    for term in of.terms:
        if (
            not isinstance(term, _OF_DISTANCE)
            or term.gated
            or term.whole_axes.get(0, 0) is not None
            and term.whole_axes
        ):
            return "scores depend on more than places"
    if of.has_regions:
        return "regions rotate each key in more than one way"
    if any(one.scale_base is not None for one in of.rotations):
        return "xPos decays by the distance"
    if of.value.weights is not None:
        return "values depend on the distance"
    if of.mask.kind == "sparse" or given["attn_mask"] is not None or given["bias"] is not None:
        return "masks and biases of the caller's are arrays"
    for name in ("q_positions", "k_positions", "q_order", "k_order"):
        if isinstance(given[name], Tensor):
            return "positions or orders are given"
    if not (q.dtype == k.dtype == v.dtype) or q.dtype == torch.float64:
        return "q, k and v are of one type of float32, float16 or bfloat16"
    if is_fake(q) and not torch.compiler.is_compiling():
        return "the tensors are fake"
    if torch._C._are_functorch_transforms_active():
        return "a transform of torch.func is active"
    if q.device.type == "cpu" and torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v, *layer.weights)):
        return "it has no backward pass on the CPU"
    if q.device.type != "cpu" and min(of.head_dim, of.value_dim) < _LEAST_CHANNELS:
        return f"its kernels want {_LEAST_CHANNELS} channels at least"
    if 0 in q.shape or 0 in k.shape:
        return "there is nothing to attend to"
    return ""


def _tables(call: Attention, length: int) -> tuple[Tensor | None, Tensor | None]:
    """The sums of terms by distance, [heads, 2 length - 1] from 1 - length, and by key, [heads, keys]."""
    device = call.call.device
    middle = torch.full((1, 1), length - 1, device=device)
    every = torch.arange(2 * length - 1, device=device)[None]
    by_distance, by_key = [], []
    for term, state in zip(call.layer.terms, call.states):
        is_column = isinstance(term, terms.OfAlibi) and term.form != "relative"
        k_side = call.rows.k if is_column else Side([every], every)
        q_side = Side([middle], middle)
        keys = k_side.order.shape[-1]
        part = Part(call.call, call.call.q[:1, :, :1], call.call.k[:1], 0, 1, 0, keys, q_side, k_side)
        part.is_whole_row = True
        bias = term.scores(state, part)[0, :, 0]
        (by_key if is_column else by_distance).append(bias if is_column else bias.flip(-1))
    return (
        sum(by_distance[1:], by_distance[0]) if by_distance else None,
        sum(by_key[1:], by_key[0]) if by_key else None,
    )


@functools.lru_cache(maxsize=1)
def _compiled() -> Any:
    from torch.nn.attention.flex_attention import flex_attention

    return torch.compile(flex_attention)


def _score_mod(call: Attention, by_distance: Tensor | None, by_key: Tensor | None, length: int) -> Any:
    layer = call.layer
    i_at, j_at = call.rows.q.at[0][0], call.rows.k.at[0][0]
    cap, caps_first, middle = layer.cap, layer.caps_first, length - 1
    tau = None
    if isinstance(call.scale, Tensor):
        tau = (call.scale / layer.softmax_scale)[0, 0, :, 0]
    if cap is None and tau is None and by_distance is None and by_key is None:
        return None

    def mod(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        if tau is not None:
            score = score * tau[q_idx]
        if cap is not None and caps_first:
            score = cap * torch.tanh(score / cap)
        if by_distance is not None:
            score = score + by_distance[h, (i_at[q_idx] - j_at[kv_idx] + middle).clamp(0, 2 * middle)]
        if by_key is not None:
            score = score + by_key[h, kv_idx]
        return score if cap is None or caps_first else cap * torch.tanh(score / cap)

    return mod


def _mask_mod(call: Attention, prefix: int) -> Any:
    mask, q, k = call.layer.mask, call.rows.q, call.rows.k
    if mask.kind == "bidirectional" and not mask.has_window and mask.chunk is None and q.sequence is None:
        return None
    i_order, j_order = q.order[0], k.order[0]
    i_sequence = None if q.sequence is None else q.sequence[0]
    j_sequence = None if k.sequence is None else k.sequence[0]

    def mod(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        one = None if i_sequence is None else i_sequence[q_idx]
        other = None if j_sequence is None else j_sequence[kv_idx]
        seen = mask.rule(i_order[q_idx], j_order[kv_idx], prefix, one, other)
        assert seen is not None
        return seen

    return mod


def flex_attend(
    layer: Any, q: Tensor, k: Tensor, v: Tensor, given: dict[str, Any], tables: list[Tensor]
) -> tuple[Tensor, Tensor]:
    # Here, as it imports the compiler.
    from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

    of: ComposedLayer = layer.composed
    learned = layer.learned(tables)
    check(of, learned, q, k, v, given)
    call = Attention(of, learned, q, k, v, given)
    queries, keys = call.rows.queries, call.rows.keys
    starts = call.rows.starts or (0, 0)
    length = max(queries, keys) + abs(starts[0] - starts[1] - (keys - queries if call.rows.is_counted else 0))
    by_distance, by_key = _tables(call, length)
    mask_mod, device = _mask_mod(call, given["prefix"]), str(q.device)
    block_mask = None if mask_mod is None else create_block_mask(mask_mod, None, None, queries, keys, device=device)
    is_graph = torch.compiler.is_compiling() or q.device.type == "cpu"
    attention = flex_attention if is_graph else _compiled()
    placed = [x.to(q.dtype).contiguous() for x in (call.q[0], call.k[0], call.v)]
    out, aux = attention(
        *placed,
        score_mod=_score_mod(call, by_distance, by_key, length),
        block_mask=block_mask,
        scale=of.softmax_scale,
        enable_gqa=of.heads != of.kv_heads,
        return_aux=AuxRequest(lse=True),
    )
    lse = aux.lse
    if call.sinks is not None:
        out = out * torch.sigmoid(lse - call.sinks[..., 0])[..., None].to(out.dtype)
    if of.value.rotates_back:
        out = rotated(of.rotations, out, call.rows.q.at, call.frequencies, "inverse")
    if q.dim() == 3:
        out, lse = out[0].transpose(0, 1), lse[0].transpose(0, 1)
    return out.to(q.dtype), lse
