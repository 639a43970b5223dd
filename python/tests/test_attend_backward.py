"""The backward pass of attention from Python: against differences of the reference, and what is refused."""

import numpy as np
import pytest

import posenc

RANDOM = np.random.default_rng(11)
LAYER = posenc.LayerPlan(heads=4, kv_heads=2, head_dim=8, value_dim=6, softmax_scale=0.35)
ROTATE = posenc.Rotate(scheme=posenc.Rope(pairing="interleaved", head_dim=8, dim=8))


def drawn(*shape):
    return RANDOM.standard_normal(shape).astype(np.float32)


CALLS = {
    "rotated, capped": (LAYER.replace(rotate=(ROTATE,), soft_cap=posenc.SoftCap(cap=4.0)), {}, {}),
    "t5, sinks": (
        LAYER.replace(score=(posenc.T5Bias(buckets=8, max_distance=16),), sinks=True),
        {"table": drawn(8, 4), "sinks": drawn(4)},
        {},
    ),
    "shaw, values too": (
        LAYER.replace(score=(posenc.ShawKeys(left=2, right=2),), value=posenc.ShawValues(left=2, right=2)),
        {"table": drawn(5, 8), "value_table": drawn(5, 6)},
        {},
    ),
    "forget gates": (LAYER.replace(score=(posenc.ForgetGate(),)), {}, {"log_forget": -np.abs(drawn(9, 4))}),
    "a bias": (LAYER, {}, {"bias": drawn(4, 9, 9)}),
}


def loss(layer, q, k, v, weights, inputs, d_out, d_lse):
    out, lse = posenc.reference.attend(layer, q, k, v, lse=True, **posenc.named_weights(layer, weights), **inputs)
    return float((out * d_out).sum() + (lse * d_lse).sum())


@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_slopes_of_the_reference(name):
    layer, weights, inputs = CALLS[name]
    q, k, v = drawn(9, 4, 8), drawn(9, 2, 8), drawn(9, 2, 6)
    given = posenc.named_weights(layer, weights)
    out, lse = posenc.attend(layer, q, k, v, lse=True, **given, **inputs)
    d_out, d_lse = drawn(9, 4, 6), drawn(9, 4)
    assert [one for one in posenc.gradient_names(layer, **given) if one != "inv_freq"] == list(weights)
    asked = {one: np.full(table.shape, np.nan, np.float64) for one, table in weights.items()}
    got = posenc.attend_backward(
        layer,
        q,
        k,
        v,
        out,
        lse,
        d_out,
        d_lse=d_lse,
        d_weights=asked,
        **{f"d_{one}": True for one in inputs},
        **given,
        **inputs,
    )
    assert all(got["d_weights"][one] is asked[one] for one in asked)
    assert list(got) == ["d_q", "d_k", "d_v", *(f"d_{one}" for one in inputs), "d_weights"]
    got = {one.removeprefix("d_"): x for one, x in got.items()} | got["d_weights"]
    moved = {"q": q, "k": k, "v": v} | weights | inputs
    for one, x in moved.items():
        assert got[one].shape == x.shape
        direction = RANDOM.standard_normal(x.shape)
        step = 1e-5

        def at(t, one=one, direction=direction):
            now = {key: value + (t * direction if key == one else 0.0) for key, value in moved.items()}
            tables = {key: now[key] for key in weights}
            return loss(layer, now["q"], now["k"], now["v"], tables, {key: now[key] for key in inputs}, d_out, d_lse)

        slope = (at(step) - at(-step)) / (2 * step)
        size = np.abs(got[one] * direction).sum()
        # Some 64 roundings of f32 a number; the difference itself is good to 1e-9.
        assert abs((got[one] * direction).sum() - slope) <= 64 * 2.0**-24 * size + 1e-7, one


def test_what_is_not_asked_for_is_not_there():
    q, k, v = drawn(5, 4, 8), drawn(5, 2, 8), drawn(5, 2, 6)
    out, lse = posenc.attend(LAYER, q, k, v, lse=True)
    d_k = np.empty_like(k)
    got = posenc.attend_backward(LAYER, q, k, v, out, lse, out, d_q=False, d_k=d_k)
    assert list(got) == ["d_k", "d_v"] and got["d_k"] is d_k
    whole = posenc.attend_backward(LAYER, q, k, v, out, lse, out, threads=1)
    assert np.array_equal(whole["d_k"], d_k) and np.array_equal(whole["d_v"], got["d_v"])


def test_all_that_is_learned_by_one_word():
    layer, weights, _ = CALLS["t5, sinks"]
    layer = layer.replace(rotate=(ROTATE,))
    q, k, v = drawn(5, 4, 8), drawn(5, 2, 8), drawn(5, 2, 6)
    given = posenc.named_weights(layer, weights)
    out, lse = posenc.attend(layer, q, k, v, lse=True, **given)
    got = posenc.attend_backward(layer, q, k, v, out, lse, out, d_weights=True, **given)["d_weights"]
    truth = posenc.reference.attend_backward(layer, q, k, v, out, **given)["d_weights"]
    assert list(got) == list(truth) == ["table", "sinks", "inv_freq"]
    for one, x in got.items():
        # Some 64 roundings of numbers as large as those of q, 8 channels of them, and positions below 5.
        assert x.dtype == np.float32 and np.abs(x - truth[one]).max() <= 64 * 2.0**-24 * 8 * 5 * 4


def test_paged_keys_have_gradients_in_rows():
    q, k, v = drawn(5, 4, 8), drawn(5, 2, 8), drawn(5, 2, 6)
    out, lse = posenc.attend(LAYER, q, k, v, lse=True)
    rows = posenc.attend_backward(LAYER, q, k, v, out, lse, out)
    pages = [np.concatenate((x, np.zeros((3, *x.shape[1:]), x.dtype))).reshape(2, 4, 2, -1) for x in (k, v)]
    ends = np.array([0, 5], np.int32)
    paged = posenc.attend_backward(
        LAYER, q, *pages, out, lse, out, block_table=[0, 1], cu_seqlens_q=ends, cu_seqlens_k=ends
    )
    assert all(np.array_equal(paged[one], rows[one]) for one in ("d_q", "d_k", "d_v"))


def test_wrong_arguments():
    q, k, v = drawn(5, 4, 8), drawn(5, 2, 8), drawn(5, 2, 6)
    out, lse = posenc.attend(LAYER, q, k, v, lse=True)
    good = (LAYER, q, k, v, out, lse, out)
    with pytest.raises(ValueError, match="lse"):
        posenc.attend_backward(LAYER, q, k, v, out, lse[:4], out)
    with pytest.raises(ValueError, match="d_out must have shape"):
        posenc.attend_backward(LAYER, q, k, v, out, lse, out[:, :2])
    with pytest.raises(ValueError, match='d_weights\\["table"\\] must be omitted'):
        posenc.attend_backward(*good, d_weights={"table": np.zeros((2, 2), np.float32)})
    with pytest.raises(ValueError, match="d_q"):
        posenc.attend_backward(*good, d_q=np.empty((5, 4, 7), np.float32))
    with pytest.raises(ValueError, match="d_bias must be omitted"):
        posenc.attend_backward(*good, d_bias=np.empty((5, 5), np.float32))
    with pytest.raises(TypeError, match="no argument 'd_value'"):
        posenc.attend_backward(*good, d_value=True)
    with pytest.raises(TypeError):
        posenc.attend_backward(LAYER, q, k, v, out)


def test_a_prepared_layer_has_the_same_gradients():
    layer, weights, _ = CALLS["t5, sinks"]
    given = posenc.named_weights(layer, weights)
    prepared = posenc.prepare_layer(layer, **given)
    q, k, v, d_out = drawn(9, 4, 8), drawn(9, 2, 8), drawn(9, 2, 6), drawn(9, 4, 6)
    out, lse = posenc.attend(prepared, q, k, v, lse=True)
    wanted = posenc.attend_backward(layer, q, k, v, out, lse, d_out, d_weights=True, **given)
    got = posenc.attend_backward(prepared, q, k, v, out, lse, d_out, d_weights=True)
    assert list(got["d_weights"]) == list(wanted["d_weights"]) == ["table", "sinks"]
    for one in ("d_q", "d_k", "d_v"):
        np.testing.assert_array_equal(got[one], wanted[one])
    for one, of in wanted["d_weights"].items():
        np.testing.assert_array_equal(got["d_weights"][one], of)
    with pytest.raises(ValueError, match=r"\[attend_backward\] weights must be omitted, since the prepared layer has them"):
        posenc.attend_backward(prepared, q, k, v, out, lse, d_out, **given)
    with pytest.raises(TypeError, match=r"\[attend_backward\] layer must be a LayerPlan or a PreparedLayer"):
        posenc.attend_backward("layer", q, k, v, out, lse, d_out)
