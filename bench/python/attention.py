"""posenc.attend against torch's SDPA, FlexAttention compiled for the CPU, and onnxruntime's GroupQueryAttention.

Four query heads per KV head, 128 channels, as transformers holds them: [1, heads, tokens, 128]. `prefill` is causal,
over as many queries as keys; `decode` is one query over all keys. SDPA gets a bias as a matrix that was made
beforehand, with the causal mask in it; FlexAttention gets a function of the distance and a block mask.
`limits` says what a ratio over SDPA is made of.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import onnx_nodes
import torch
from onnx import helper
from rotation import DTYPES, KV_HEADS, HEADS, ROPE, WIDTH, projected
from taking_turns import Candidate, Case
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from torch.nn.functional import scaled_dot_product_attention
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

import posenc
from posenc._score_tables import bare, reference_bias

KINDS = ("none", "alibi", "t5", "rotation")
# Beyond this, a fourth of the heads: a call of all would take seconds.
_LONG = 4096


def layer_of(kind: str, heads: int) -> tuple[posenc.LayerPlan, list[posenc.T5Weights | None]]:
    """A layer, and its learned tables: T5's are drawn."""
    sizes = {"heads": heads, "kv_heads": heads // 4, "head_dim": WIDTH, "value_dim": WIDTH}
    layer = posenc.LayerPlan(**sizes, softmax_scale=1 / math.sqrt(WIDTH))
    if kind == "alibi":
        return layer.replace(score=[posenc.Alibi(heads=heads)]), [None]
    if kind == "t5":
        table = torch.randn(32, heads, generator=torch.Generator().manual_seed(3))
        t5 = posenc.T5Bias(buckets=32, max_distance=128, bidirectional=False)
        return layer.replace(score=[t5]), [posenc.T5Weights(table=table)]
    if kind == "rotation":
        return layer.replace(rotate=[posenc.Rotate(scheme=ROPE)]), []
    return layer, []


def _by_distance(kind: str, heads: int, length: int) -> Tensor:
    """What the layer adds at each distance i - j >= 0, [heads, length]: by posenc's reference."""
    layer, weights = layer_of(kind, heads)
    alone = bare(layer, *layer.score)
    return reference_bias(alone, weights, range(length - 1, length), range(length))[:, 0].flip(-1).float()


def _matrix(kind: str, heads: int, queries: int, keys: int, dtype: torch.dtype) -> Tensor:
    """The same as SDPA takes it, [1, heads, queries, keys], -inf where a key is not seen."""
    places = torch.arange(keys - queries, keys)[:, None] - torch.arange(keys)
    bias = _by_distance(kind, heads, keys)[:, places.clamp(min=0)]
    return bias.masked_fill_(places < 0, -math.inf)[None].to(dtype)


def _score_mod(kind: str, heads: int, queries: int, keys: int) -> Callable[..., Tensor] | None:
    first = keys - queries  # where the first query stands
    if kind == "alibi":
        slopes = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)])
        return lambda score, b, h, i, j: score - slopes[h] * (i + first - j)
    if kind == "t5":
        # Its block mask hides what stands after a query; the sum is of whole blocks.
        table = _by_distance(kind, heads, keys)
        return lambda score, b, h, i, j: score + table[h, (i + first - j).clamp(min=0)]
    return None


def _flex(kind: str, q: Tensor, k: Tensor, v: Tensor) -> Candidate:
    heads, queries, keys = q.shape[1], q.shape[2], k.shape[2]
    call = torch.compile(flex_attention, dynamic=False)
    mod = _score_mod(kind, heads, queries, keys)
    seen = None
    if queries > 1:
        seen = create_block_mask(lambda b, h, i, j: i >= j, None, None, queries, keys, device="cpu")
    return Candidate(
        "FlexAttention, compiled",
        lambda: call(q, k, v, score_mod=mod, block_mask=seen, enable_gqa=True),
        is_compiled=True,
    )


def _sdpa(kind: str, q: Tensor, k: Tensor, v: Tensor) -> list[Candidate]:
    heads, queries, keys = q.shape[1], q.shape[2], k.shape[2]
    matrix = None if kind == "none" else _matrix(kind, heads, queries, keys, q.dtype)
    is_causal = matrix is None and queries > 1
    word = "SDPA" if matrix is None else "SDPA with the bias"

    def call(k: Tensor, v: Tensor, enable_gqa: bool) -> Tensor:
        return scaled_dot_product_attention(q, k, v, attn_mask=matrix, is_causal=is_causal, enable_gqa=enable_gqa)

    candidates = [Candidate(word, lambda: call(k, v, True))]
    if queries == 1:  # where its kernels for grouped heads may be slower than those for as many keys as queries
        wide_k, wide_v = (x.repeat_interleave(heads // x.shape[1], 1) for x in (k, v))
        candidates.append(Candidate(f"{word}, keys repeated before", lambda: call(wide_k, wide_v, False)))
    return candidates


def _rotated_sdpa(q: Tensor, k: Tensor, v: Tensor) -> list[Candidate]:
    rows = torch.from_numpy(np.asarray(posenc.make_table(ROPE, count=q.shape[2]).rows).copy())
    cos, sin = (torch.cat((rows[:, i], rows[:, i]), -1)[None].to(q.dtype) for i in (0, 1))
    rotate = torch.compile(apply_rotary_pos_emb, dynamic=False)

    def call() -> Tensor:
        rotated_q, rotated_k = rotate(q, k, cos, sin)
        return scaled_dot_product_attention(rotated_q, rotated_k, v, is_causal=True, enable_gqa=True)

    return [Candidate("transformers' rotation compiled, SDPA", call, is_compiled=True)]


def _onnxruntime(kind: str, q: Tensor, k: Tensor, v: Tensor, threads: int) -> Candidate:
    """Prefill without a past; decode with a cache that the new token is written into, as its users hold it."""
    heads, queries, keys = q.shape[1], q.shape[2], k.shape[2]
    new_k, new_v = k[:, :, -queries:], v[:, :, -queries:]
    flat = {name: x.transpose(1, 2).flatten(2).contiguous() for name, x in (("q", q), ("k", new_k), ("v", new_v))}
    cache = {"k_cache": k.contiguous().clone(), "v_cache": v.contiguous().clone()}
    last = {"last": torch.tensor([keys - 1], dtype=torch.int32), "total": torch.tensor([keys], dtype=torch.int32)}
    past = cache if queries < keys else {}
    rotated = {}
    if kind == "rotation":
        rows = torch.from_numpy(np.asarray(posenc.make_table(ROPE, count=keys).rows).copy())
        rotated = {"cos": rows[:, 0].contiguous(), "sin": rows[:, 1].contiguous()}
    names = [*flat, *(past or ("", "")), *last, *rotated]
    outputs = {"out": torch.empty_like(flat["q"]), "k_present": cache["k_cache"], "v_present": cache["v_cache"]}
    node = helper.make_node(
        "GroupQueryAttention",
        names,
        list(outputs),
        domain="com.microsoft",
        num_heads=heads,
        kv_num_heads=k.shape[1],
        do_rotary=int(kind == "rotation"),
    )
    made = onnx_nodes.candidate(
        "onnxruntime, GroupQueryAttention", [node], {**flat, **past, **last, **rotated}, outputs, threads
    )
    bare = made.run
    made.run = lambda: bare().view(1, queries, heads, WIDTH).transpose(1, 2)
    return made


def _make(kind: str, dtype: torch.dtype, queries: int, keys: int, threads: int) -> list[Candidate]:
    is_long = queries >= _LONG
    heads, kv_heads = (HEADS // 4, KV_HEADS // 4) if is_long else (HEADS, KV_HEADS)
    q = projected(queries, heads, dtype, 1)
    k, v = projected(keys, kv_heads, dtype, 2), projected(keys, kv_heads, dtype, 4)
    if queries == 1:  # a cache: each head's keys follow one another
        k, v = k.contiguous(), v.contiguous()
    layer, weights = layer_of(kind, heads)
    candidates = [
        Candidate(
            "posenc", lambda: posenc.attend(layer, q, k, v, score_weights=weights, threads=threads), is_ours=True
        )
    ]
    if kind == "rotation":
        candidates += _rotated_sdpa(q, k, v)
    else:
        candidates += [*_sdpa(kind, q, k, v), _flex(kind, q, k, v)]
    if dtype == torch.float32 and kind in ("none", "rotation"):  # it has no bfloat16 on the CPU, and no biases
        candidates.append(_onnxruntime(kind, q, k, v, threads))
    return candidates


def _limits(tokens: int, threads: int) -> list[Candidate]:
    """What a ratio over SDPA is made of: the triangle against the square, and what a bias costs each of them."""
    q, k, v = (projected(tokens, of, torch.float32, seed) for of, seed in ((HEADS, 1), (KV_HEADS, 2), (KV_HEADS, 4)))
    causal, _ = layer_of("none", HEADS)
    square = causal.replace(mask=posenc.Mask(kind="bidirectional"))
    out = torch.empty_like(q)

    def ours(name: str, layer: posenc.LayerPlan | posenc.PreparedLayer, **given: object) -> Candidate:
        return Candidate(
            name, lambda: posenc.attend(layer, q, k, v, threads=threads, **given), is_floor=layer is not causal
        )

    t5, tables = layer_of("t5", HEADS)
    candidates = [
        ours("posenc", causal),
        ours("posenc into out", causal, out=out),
        ours("posenc, the square", square),
        ours("posenc, ALiBi", layer_of("alibi", HEADS)[0]),
        ours("posenc, T5", t5, score_weights=tables),
        ours("posenc, T5, prepared", posenc.prepare_layer(t5, score_weights=tables)),
        *_sdpa("none", q, k, v),
        Candidate(
            "SDPA, the square", lambda: scaled_dot_product_attention(q, k, v, enable_gqa=True), is_floor=True
        ),
    ]
    candidates[0].is_ours = True
    for kind, name in (("alibi", "SDPA, ALiBi's matrix"), ("t5", "SDPA, T5's matrix")):
        candidates += [Candidate(name, of.run, is_floor=True) for of in _sdpa(kind, q, k, v)]
    return candidates


def cases(lengths: list[int], cached: int, threads: int) -> list[Case]:
    """Prefills of these lengths, and one query on `cached` keys, whose rotation an engine does not do again."""
    sizes = [("prefill", tokens, tokens) for tokens in lengths] + [("decode", 1, cached)]
    against_peers = [
        Case(
            f"{stage}/{kind}/{name}/{keys}",
            lambda kind=kind, dtype=dtype, sizes=(queries, keys): _make(kind, dtype, *sizes, threads),
        )
        for kind in KINDS
        for stage, queries, keys in sizes
        for name, dtype in DTYPES.items()
        if not (kind == "rotation" and stage == "decode")
    ]
    limits = [Case(f"limits/{tokens}", lambda tokens=tokens: _limits(tokens, threads)) for tokens in lengths]
    return against_peers + limits
