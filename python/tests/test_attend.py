"""Attention with the schemes of a layer, against the reference."""

import gc
import sys

import numpy as np
import pytest

import posenc

ROPE = posenc.Rope(pairing="half", head_dim=16, dim=16)


def layer(**members):
    return posenc.LayerPlan(heads=4, kv_heads=2, head_dim=16, value_dim=16, softmax_scale=0.25).replace(**members)


def tensors(tokens=9, keys=9, dtype=np.float32):
    random = np.random.default_rng(3)
    return [random.standard_normal(s).astype(dtype) for s in ((tokens, 4, 16), (keys, 2, 16), (keys, 2, 16))]


TABLE = np.random.default_rng(4).standard_normal((32, 4)).astype(np.float32)
TRANSFORMER_XL = posenc.TransformerXlWeights(
    projection=np.random.default_rng(5).standard_normal((64, 3)).astype(np.float32) / 8,
    content_bias=np.ones((4, 16), np.float32) / 8,
    position_bias=np.ones((4, 16), np.float32) / 8,
    table=np.random.default_rng(6).standard_normal((8, 3)).astype(np.float32),
)
LAYERS = {
    "none": (layer(), {}),
    "rope": (layer(rotate=(posenc.Rotate(scheme=ROPE),)), {}),
    "alibi": (layer(score=(posenc.Alibi(heads=4),)), {}),
    "transformer-xl, learned rows": (
        layer(score=(posenc.TransformerXl(distances=posenc.Distances(low=-1, high=6)),)),
        {"score_weights": [TRANSFORMER_XL]},
    ),
    "t5": (layer(score=(posenc.T5Bias(),)), {"score_weights": [posenc.T5Weights(table=TABLE)]}),
    "window, cap": (layer(mask=posenc.Mask(window=posenc.Window(past=2)), soft_cap=posenc.SoftCap(cap=5.0)), {}),
    "sinks": (layer(sinks=True), {"sinks": np.ones(4, np.float32)}),
    "prefix": (layer(mask=posenc.Mask(kind="prefix")), {"prefix": 3}),
    "bias": (layer(mask=posenc.Mask(kind="bidirectional")), {"bias": np.ones((9, 9), np.float32)}),
}
# Sums of 16 products of numbers below 5, a softmax of 9 weights, and a weighted sum: 2^-24 a rounding, 64 roundings.
BOUND = 5 * 64 * 2.0**-24


@pytest.mark.parametrize("name", LAYERS)
def test_attention_agrees_with_the_reference(name):
    plan, inputs = LAYERS[name]
    q, k, v = tensors()
    out, lse = posenc.attend(plan, q, k, v, lse=True, **inputs)
    truth, truth_lse, weights = posenc.reference.attend(plan, q, k, v, lse=True, scores="weights", **inputs)
    assert out.dtype == np.float32 and truth.dtype == np.float64 and weights.shape == (4, 9, 9)
    assert np.abs(out - truth).max() <= BOUND
    assert np.abs(lse - truth_lse).max() <= BOUND
    assert np.array_equal(posenc.attend(plan, q, k, v, threads=1, **inputs), out)


WEIGHTS = ("score_weights", "value_weights", "sinks")


@pytest.mark.parametrize("name", LAYERS)
def test_a_prepared_layer_gives_the_same_bits(name):
    plan, given = LAYERS[name]
    weights = {key: value for key, value in given.items() if key in WEIGHTS}
    inputs = {key: value for key, value in given.items() if key not in WEIGHTS}
    prepared = posenc.prepare_layer(plan, **weights)
    assert prepared.layer == plan and prepared.isa != "automatic"
    for tokens, keys in ((9, 9), (1, 9), (9, 40)):
        if "bias" in inputs and (tokens, keys) != (9, 9):
            continue
        q, k, v = tensors(tokens, keys)
        out, lse = posenc.attend(prepared, q, k, v, lse=True, **inputs)
        direct, direct_lse = posenc.attend(plan, q, k, v, lse=True, **given)
        assert np.array_equal(out, direct) and np.array_equal(lse, direct_lse)


def test_a_prepared_layer_keeps_its_tables():
    plan = LAYERS["t5"][0]
    q, k, v = tensors()
    table = TABLE.copy()
    wanted = posenc.attend(plan, q, k, v, score_weights=[posenc.T5Weights(table=table)])
    prepared = posenc.prepare_layer(plan, score_weights=(posenc.T5Weights(table=t) for t in [table]))
    assert prepared.score_weights[0].table is table
    assert prepared.value_weights is None and prepared.sinks is None
    assert prepared.bytes >= table.nbytes
    before = sys.getrefcount(table)
    del prepared
    assert sys.getrefcount(table) < before
    prepared = posenc.prepare_layer(plan, score_weights=[posenc.T5Weights(table=table.copy())])
    gc.collect()
    assert np.array_equal(posenc.attend(prepared, q, k, v), wanted)


def test_biases_of_fewer_distances_are_kept():
    plan = layer(score=(posenc.Kerple(),))
    weights = [posenc.KerpleWeights(r1=np.full(4, 0.5, np.float32), r2=np.ones(4, np.float32))]
    few, many = (posenc.prepare_layer(plan, score_weights=weights, max_distance=n) for n in (3, 100))
    assert few.bytes < many.bytes
    q, k, v = tensors()
    assert np.array_equal(posenc.attend(few, q, k, v), posenc.attend(many, q, k, v))
    with pytest.raises(ValueError, match=r"\[prepare_layer\] max_distance must be from 0 to"):
        posenc.prepare_layer(plan, score_weights=weights, max_distance=-1)


def test_what_a_prepared_layer_has_is_not_given_again():
    plan, given = LAYERS["t5"]
    prepared = posenc.prepare_layer(plan, **given)
    q, k, v = tensors()
    with pytest.raises(ValueError, match="weights"):
        posenc.attend(prepared, q, k, v, **given)
    other = "scalar" if prepared.isa != "scalar" else "automatic"
    with pytest.raises(ValueError, match="isa"):
        posenc.attend(prepared, q, k, v, isa=other)
    with pytest.raises(ValueError, match=r"weights.score\[0\] must hold"):
        posenc.prepare_layer(plan)
    with pytest.raises(TypeError, match=r"\[attend\] layer must be a LayerPlan or a PreparedLayer but is"):
        posenc.attend(given, q, k, v)


def test_masks_of_bool_and_packed_sequences():
    q, k, v = tensors()
    plan = layer(mask=posenc.Mask(kind="bidirectional"))
    visible = np.tri(9, dtype=bool)
    causal = posenc.attend(layer(), q, k, v)
    assert np.array_equal(posenc.attend(plan, q, k, v, attn_mask=visible), causal)
    # As SDPA has it: 0 where a key is seen, which as a mask would be its inverse.
    added = np.where(visible, 0, -np.inf).astype(np.float32)
    assert np.array_equal(posenc.attend(plan, q, k, v, bias=added), causal)
    for wrong in (added, visible.astype(np.float32), visible.astype(np.float16)):
        with pytest.raises(ValueError, match=r"attn_mask must be of bool, .* pass what is added .* as bias="):
            posenc.attend(plan, q, k, v, attn_mask=wrong)
    with pytest.raises(ValueError, match=r"bias must be of numbers, .* but is of bool: .* attn_mask="):
        posenc.attend(plan, q, k, v, bias=visible)
    with pytest.raises(ValueError, match=r"attn_mask must be of bool"):
        posenc.reference.attend(plan, q, k, v, attn_mask=added)
    packed = posenc.attend(plan, q, k, v, cu_seqlens_q=[0, 4, 9], cu_seqlens_k=np.array([0, 4, 9], np.int32))
    assert np.array_equal(packed[:4], posenc.attend(plan, q[:4], k[:4], v[:4]))


def test_parts_of_the_keys_merge():
    q, k, v = tensors()
    plan = layer(mask=posenc.Mask(kind="bidirectional"))
    order = dict(q_order=np.arange(9))
    parts = [
        posenc.attend(plan, q, k[a:b], v[a:b], lse=True, k_order=np.arange(a, b), **order) for a, b in ((0, 4), (4, 9))
    ]
    out, lse = posenc.merge(parts)
    whole, whole_lse = posenc.attend(plan, q, k, v, lse=True)
    assert np.abs(out - whole).max() <= BOUND and np.abs(lse - whole_lse).max() <= BOUND


def test_outputs_are_the_callers():
    q, k, v = tensors()
    out, lse = np.empty_like(q), np.empty((9, 4), np.float32)
    results = posenc.attend(layer(), q, k, v, out=out, lse=lse)
    assert results[0] is out and results[1] is lse
    assert np.array_equal(out, posenc.attend(layer(), q, k, v))
    half = [x.astype(np.float16) for x in (q, k, v)]
    assert posenc.attend(layer(), *half).dtype == np.float16


def test_what_does_not_fit_is_refused():
    q, k, v = tensors()
    with pytest.raises(ValueError, match=r"\[attend\] q must have shape \[9, 4, 16\] but is \[9, 3, 16\]"):
        posenc.attend(layer(), q[:, :3], k, v)
    with pytest.raises(TypeError, match=r"attend\(\) has no argument 'mask'"):
        posenc.attend(layer(), q, k, v, mask=None)
    with pytest.raises(ValueError, match="weights"):
        posenc.attend(LAYERS["t5"][0], q, k, v)
    with pytest.raises(TypeError, match="score_weights must be weights of a score term"):
        posenc.attend(LAYERS["t5"][0], q, k, v, score_weights=[TABLE])
    with pytest.raises(TypeError, match=r"T5Weights\(\) has no argument 'rows'"):
        posenc.T5Weights(rows=TABLE)
    with pytest.raises(ValueError, match=r"\[attend\] q must have rank 3 or 4 but is 2"):
        posenc.attend(layer(), q[0], k, v)


def test_weights_show_what_they_were_given():
    weights = posenc.T5Weights(table=TABLE)
    assert weights.table is TABLE
    hidden = posenc.Linear(weight=np.ones((8, 1), np.float32), bias=np.ones(8, np.float32))
    assert posenc.FireWeights(c=2.0, hidden=hidden).hidden is hidden


def test_what_is_left_out_is_named():
    """And not all that could have been given."""
    layer = posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8)
    x = np.zeros((3, 2, 8), np.float32)
    for given, name in (((), "q"), ((x,), "k"), ((x, x), "v")):
        for where in ("attend", "attend_linear"):
            with pytest.raises(TypeError, match=rf"^\[{where}\] {name} must be an array but is None$"):
                getattr(posenc, where)(layer, *given)
    for where in ("rotate", "rotate_"):
        with pytest.raises(TypeError, match=rf"^\[{where[:6]}\] table must be a RotaryTable, or a list of them but is None$"):
            getattr(posenc, where)(x)
    with pytest.raises(TypeError, match=r"^\[rerotate\] from_table must be a RotaryTable, or a list of them but is None$"):
        posenc.rerotate(x)
