"""onnxruntime as the judge of attention beside a cache: GroupQueryAttention, which rotates queries and keys itself, and
ONNX's Attention of opsets 24 and 25, which is told how many keys of a cache are real."""

import pytest
import torch
from onnxruntime.capi import onnxruntime_pybind11_state

import bounds
import posenc
from one_node import MICROSOFT, run

BATCH, HEADS, KV_HEADS, WIDTH = 2, 4, 2, 16
BIDIRECTIONAL = posenc.Mask(kind="bidirectional")


def random(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def layer_with(**others):
    sizes = {"heads": HEADS, "kv_heads": KV_HEADS, "head_dim": WIDTH, "value_dim": WIDTH}
    return posenc.LayerPlan(**sizes, softmax_scale=0.4, **others)


def qkv(queries, keys):
    sizes = ((HEADS, queries), (KV_HEADS, keys), (KV_HEADS, keys))
    return [random(BATCH, heads, tokens, WIDTH, seed=seed) for seed, (heads, tokens) in enumerate(sizes, 1)]


def packed(x):
    """[batch, tokens, heads * channels]"""
    return x.transpose(1, 2).flatten(2)


def rotated(rope):
    return {"rotate": [posenc.Rotate(scheme=rope)]}


def capped(cap):
    return {"soft_cap": posenc.SoftCap(cap=cap)}


# ---- GroupQueryAttention ----

HALF = posenc.Rope(pairing="half", head_dim=WIDTH, dim=WIDTH)
INTERLEAVED = posenc.Rope(pairing="interleaved", head_dim=WIDTH, dim=WIDTH, base=100.0)
YARN = HALF.replace(scaling=posenc.YarnScaling(factor=4.0, original_max_position_embeddings=8))
LAYERS = {
    "no rotation": {},
    "half": rotated(HALF),
    "interleaved": rotated(INTERLEAVED),
    "yarn": rotated(YARN),
    "window": {"mask": posenc.Mask(window=posenc.Window(past=3)), **rotated(HALF)},
    "cap": {**rotated(HALF), **capped(1.5)},
    "sinks": {**rotated(HALF), "sinks": True},
}
WRONG = {
    "no rotation": rotated(HALF),
    "half": rotated(HALF.replace(pairing="interleaved")),
    "interleaved": rotated(INTERLEAVED.replace(pairing="half")),
    "yarn": rotated(HALF),
    "window": {"mask": posenc.Mask(window=posenc.Window(past=4))},
    "cap": {"soft_cap": None},
    "sinks": {"sinks": False},
}


def rope_of(layer):
    return layer.rotate[0].rope if layer.rotate else None


def caches(layer, k, v, past):
    """What stands in the caches after `past` tokens: keys rotated, values."""
    if past == 0:
        return None, None
    k, v = k[:, :, :past].contiguous(), v[:, :, :past]
    return (k if rope_of(layer) is None else posenc.rotate(k, table=posenc.make_table(rope_of(layer), count=64))), v


def grouped(layer, q, k, v, past, sinks):
    """The layer as GroupQueryAttention has it, which is given `past` of the keys rotated and rotates the others itself."""
    rope = rope_of(layer)
    cos, sin = (None, None) if rope is None else map(torch.as_tensor, posenc.cos_sin(rope, torch.arange(64)))
    past_keys, past_values = caches(layer, k, v, past)
    inputs = {
        "query": packed(q),
        "key": packed(k[:, :, past:]),
        "value": packed(v[:, :, past:]),
        "past_key": past_keys,
        "past_value": past_values,
        "seqlens_k": torch.full((BATCH,), k.shape[2] - 1, dtype=torch.int32),
        "total_sequence_length": torch.tensor([k.shape[2]], dtype=torch.int32),
        "cos_cache": cos,
        "sin_cache": sin,
        "position_ids": None,
        "attention_bias": None,
        "head_sink": sinks if layer.sinks else None,
    }
    out = run(
        "GroupQueryAttention",
        inputs,
        domain=MICROSOFT,
        outputs=3,
        num_heads=HEADS,
        kv_num_heads=KV_HEADS,
        scale=layer.softmax_scale,
        do_rotary=int(rope is not None),
        rotary_interleaved=int(rope is not None and rope.pairing == "interleaved"),
        local_window_size=layer.mask.window.past + 1 if layer.mask.window else -1,
        softcap=layer.soft_cap.cap if layer.soft_cap else 0.0,
    )
    return out.unflatten(-1, (HEADS, WIDTH)).transpose(1, 2)


@pytest.mark.parametrize("past", [0, 6], ids=["prompt", "beside a cache"])
@pytest.mark.parametrize("kind", LAYERS)
def test_group_query_attention(kind, past):
    layer = layer_with(**LAYERS[kind])
    q, k, v = qkv(1 if past else 7, 7)
    sinks = random(HEADS, seed=4)
    ours = posenc.attend(layer, q, k, v, sinks=sinks if layer.sinks else None)
    rope = rope_of(layer)
    factor = None if rope is None else posenc.frequencies(rope).attention_factor
    bound = bounds.attended(q, k, v, layer.softmax_scale, factor=factor)
    assert float((ours - grouped(layer, q, k, v, past, sinks)).abs().max()) <= bound
    wrong = grouped(layer.replace(**WRONG[kind]), q, k, v, past, sinks)
    assert float((ours - wrong).abs().max()) > 100 * bound


# ---- Attention, of keys of which only so many are real ----


def attention(q, k, v, real, *, opset=25, mask=None, **attributes):
    inputs = {"q": q, "k": k, "v": v, "mask": mask, "past_key": None, "past_value": None, "real": torch.tensor(real)}
    return run("Attention", inputs, opset=opset, scale=0.4, **attributes)


def one_by_one(layer, q, k, v, real):
    """Each sequence with its real keys, the last of which stands where its last query does."""
    return torch.cat(
        [
            posenc.attend(layer, *(x[b : b + 1].contiguous() for x in (q, k[:, :, :keys], v[:, :, :keys])))
            for b, keys in enumerate(real)
        ]
    )


# Of two real keys beside three queries the first query sees none, and gets zeros.
@pytest.mark.parametrize("real", [[7, 9], [2, 10]])
@pytest.mark.parametrize("is_causal", [True, False])
@pytest.mark.parametrize("opset", [24, 25])
def test_real_keys(opset, is_causal, real):
    q, k, v = qkv(3, 10)
    layer = layer_with(**({} if is_causal else {"mask": BIDIRECTIONAL}))
    ours = one_by_one(layer, q, k, v, real)
    bound = bounds.attended(q, k, v, layer.softmax_scale)
    assert float((ours - attention(q, k, v, real, opset=opset, is_causal=int(is_causal))).abs().max()) <= bound
    others = [keys - 1 for keys in real]
    assert float((ours - attention(q, k, v, others, opset=opset, is_causal=int(is_causal))).abs().max()) > 100 * bound
    assert bool((ours[0, :, 0] == 0).all()) == (is_causal and real[0] == 2)


@pytest.mark.parametrize("past, future", [(2, 0), (2, 1), (0, 3)])
def test_windows(past, future):
    q, k, v = qkv(6, 9)
    layer = layer_with(mask=posenc.Mask(kind="bidirectional", window=posenc.Window(past=past, future=future)))
    ours = one_by_one(layer, q, k, v, [7, 9])
    bound = bounds.attended(q, k, v, layer.softmax_scale)

    def judged(past):
        return attention(q, k, v, [7, 9], left_window_size=past, right_window_size=future)

    assert float((ours - judged(past)).abs().max()) <= bound
    assert float((ours - judged(past + 1)).abs().max()) > 100 * bound


def test_caps_come_before_biases():
    """In ONNX since April 2026; it was the other way round in opset 23 as it was published."""
    q, k, v = qkv(6, 6)
    bias = random(1, HEADS, 6, 6, seed=4)
    judged = attention(q, k, v, [6, 6], mask=bias, softcap=1.5)
    bound = bounds.attended(q, k, v, 0.4, float(bias.abs().max()))

    def ours(order):
        layer = layer_with(mask=BIDIRECTIONAL, soft_cap=posenc.SoftCap(cap=1.5, order=order))
        return posenc.attend(layer, q, k, v, bias=bias)

    assert float((ours("before_bias") - judged).abs().max()) <= bound
    assert float((ours("after_bias") - judged).abs().max()) > 100 * bound


# ---- what the CPU does not have ----


def test_operators_without_a_kernel_for_the_cpu():
    """T5's bias, WavLM's, Gemma's rotation and paged caches: known to onnxruntime, and run on GPUs alone. Once the CPU
    has one of them, it shall judge."""
    known = {schema.name for schema in onnxruntime_pybind11_state.get_all_operator_schema()}
    kernels = onnxruntime_pybind11_state.get_all_opkernel_def()
    run_here = {kernel.op_name for kernel in kernels if kernel.provider == "CPUExecutionProvider"}
    elsewhere = {"RelativePositionBias", "GatedRelativePositionBias", "GemmaRotaryEmbedding", "PagedAttention"}
    assert elsewhere <= known and not elsewhere & run_here
    assert {"GroupQueryAttention", "MRotaryEmbedding", "Attention", "RotaryEmbedding"} <= run_here
