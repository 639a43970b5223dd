"""Linear attention with rotation, against its formula; and learned tables by name."""

import numpy as np
import pytest

import posenc

ROPE = posenc.Rope(pairing="half", head_dim=16, dim=16)
LAYER = posenc.LayerPlan(
    heads=4, kv_heads=2, head_dim=16, value_dim=16, softmax_scale=0.25, rotate=(posenc.Rotate(scheme=ROPE),)
)
# Sums of 12 features and 16 products of numbers below 5 in f32, divided by a sum of terms above 0.
BOUND = 5 * 64 * 2.0**-24


def tensors(tokens=12):
    random = np.random.default_rng(3)
    return [random.standard_normal((tokens, heads, 16)).astype(np.float32) for heads in (4, 2, 2)]


@pytest.mark.parametrize("feature_map", ["elu_plus_one", "relu"])
def test_agrees_with_the_reference(feature_map):
    q, k, v = tensors()
    out = posenc.attend_linear(LAYER, q, k, v, feature_map=feature_map)
    truth = posenc.reference.attend_linear(LAYER, q, k, v, feature_map=feature_map)
    assert out.dtype == np.float32 and truth.dtype == np.float64
    assert 0 < np.abs(out - truth).max() <= BOUND


def test_a_state_goes_from_call_to_call():
    q, k, v = tensors()
    whole = posenc.attend_linear(LAYER, q, k, v)
    state = posenc.LinearState(products=np.zeros((1, 2, 16, 16), np.float32), totals=np.zeros((1, 2, 16), np.float32))
    for a, b in ((0, 7), (7, 12)):
        places = np.arange(a, b)
        part = posenc.attend_linear(
            LAYER, q[a:b], k[a:b], v[a:b], state=state, q_positions=places, k_positions=places
        )
        assert np.abs(part - whole[a:b]).max() <= BOUND
    assert state.totals.any() and state.products.shape == (1, 2, 16, 16)
    with pytest.raises(TypeError, match="state must be a LinearState"):
        posenc.attend_linear(LAYER, q, k, v, state=(1, 2))
    with pytest.raises(ValueError, match="linear attention"):
        posenc.attend_linear(LAYER.replace(score=(posenc.Alibi(heads=4),)), q, k, v)


@pytest.mark.parametrize("feature_map", ["elu_plus_one", "relu"])
def test_gradients_are_the_references(feature_map):
    q, k, v = tensors(60)
    d_out = np.random.default_rng(4).standard_normal(q.shape).astype(np.float32)
    found = posenc.attend_linear_backward(LAYER, q, k, v, d_out, feature_map=feature_map, d_weights=True)
    truth = posenc.reference.attend_linear_backward(LAYER, q, k, v, d_out, feature_map=feature_map)
    for name in ("d_q", "d_k", "d_v"):
        assert found[name].dtype == np.float32 and found[name].shape == truth[name].shape
        # Sums over 60 tokens of products of 16 channels, in f32, each divided by a sum of terms above 0.
        assert 0 < np.abs(found[name] - truth[name]).max() <= BOUND * np.abs(truth[name]).max()
    ours, theirs = found["d_weights"]["inv_freq"], truth["d_weights"]["inv_freq"]
    assert 0 < np.abs(ours - theirs).max() <= BOUND * 60 * np.abs(theirs).max()


def test_gradients_that_are_asked_for():
    q, k, v = tensors()
    d_out = np.ones_like(q)
    all_of_them = posenc.attend_linear_backward(LAYER, q, k, v, d_out, threads=1)
    assert set(all_of_them) == {"d_q", "d_k", "d_v"}
    own = np.full(v.shape, np.nan, np.float32)
    found = posenc.attend_linear_backward(LAYER, q, k, v, d_out, d_q=False, d_k=False, d_v=own)
    assert list(found) == ["d_v"] and found["d_v"] is own and (own == all_of_them["d_v"]).all()
    with pytest.raises(ValueError, match=r"\[attend_linear_backward\] d_out.shape must have the tokens of q but is 5"):
        posenc.attend_linear_backward(LAYER, q, k, v, d_out[:5])
    with pytest.raises(ValueError, match="must not share memory with q"):
        posenc.attend_linear_backward(LAYER, q, k, v, d_out, d_q=q)
    with pytest.raises(TypeError, match="state"):
        posenc.attend_linear_backward(LAYER, q, k, v, d_out, state=None, stat=1)


def test_tables_by_name():
    q, k, v = tensors()
    plan = LAYER.replace(rotate=(), score=(posenc.T5Bias(), posenc.Fire()), sinks=True)
    random = np.random.default_rng(5)
    given = {
        "0.table": random.standard_normal((32, 4)).astype(np.float32),
        "1.c": np.array([0.5], np.float32),
        "1.threshold": np.array([2.0], np.float32),
        "1.hidden.weight": random.standard_normal((3, 1)).astype(np.float32),
        "1.hidden.bias": random.standard_normal(3).astype(np.float32),
        "1.out.weight": random.standard_normal((4, 3)).astype(np.float32),
        "1.out.bias": random.standard_normal(4).astype(np.float32),
        "sinks": np.ones(4, np.float32),
    }
    keywords = posenc.named_weights(plan, given)
    t5, fire = keywords["score_weights"]
    assert t5.table is given["0.table"] and fire.hidden.bias is given["1.hidden.bias"] and fire.c == 0.5
    assert keywords["sinks"] is given["sinks"] and keywords["value_weights"] is None
    out = posenc.attend(plan, q, k, v, **keywords)
    truth = posenc.reference.attend(plan, q, k, v, **keywords)
    assert np.abs(out - truth).max() <= BOUND
    with pytest.raises(ValueError, match="sinks"):
        posenc.named_weights(plan, {name: x for name, x in given.items() if name != "sinks"})
    with pytest.raises(ValueError, match="rows"):
        posenc.named_weights(plan, {**given, "rows": given["sinks"]})


def test_tables_that_begin_at_one_place_are_told_apart():
    layer = posenc.LayerPlan(
        heads=2, kv_heads=2, head_dim=4, value_dim=4, score=(posenc.DecomposedHw(rows=5),), sinks=True
    )
    rows = np.random.default_rng(1).standard_normal((5, 4)).astype(np.float32)
    given = {"rows": rows[:, :], "columns": rows[:, :], "sinks": rows[0, :2]}
    for order in (given, dict(reversed(given.items()))):
        keywords = posenc.named_weights(layer, order)
        assert keywords["sinks"] is given["sinks"]
        assert keywords["score_weights"][0].rows.shape == (5, 4)


def test_learned_rows_in_place_of_sinusoids_have_a_name():
    """Of XLNet: rows for -2 to 2; without the name sinusoids of as many channels."""
    layer = posenc.LayerPlan(heads=2, kv_heads=2, head_dim=4, value_dim=4, score=(posenc.XlNet(clamp_length=2),))
    random = np.random.default_rng(7)
    x = random.standard_normal((6, 2, 4)).astype(np.float32)
    given = {
        "projection": random.standard_normal((8, 4)).astype(np.float32),
        "content_bias": np.zeros((2, 4), np.float32),
        "position_bias": np.zeros((2, 4), np.float32),
    }
    sines = posenc.attend(layer, x, x, x, **posenc.named_weights(layer, given))
    keywords = posenc.named_weights(layer, {**given, "table": np.zeros((5, 4), np.float32)})
    assert keywords["score_weights"][0].positions.table.shape == (5, 4)
    zeros = posenc.attend(layer, x, x, x, **keywords)
    plain = posenc.attend(layer.replace(score=()), x, x, x)
    assert np.abs(zeros - plain).max() <= BOUND  # rows of zeros add nothing
    assert np.abs(sines - plain).max() > 0.01
    with pytest.raises(ValueError, match=r"table must have shape \[5, 4\] but is \[4, 4\]"):
        posenc.attend(layer, x, x, x, **posenc.named_weights(layer, {**given, "table": np.zeros((4, 4), np.float32)}))


def test_a_table_of_sines_needs_no_weights():
    shaw = posenc.ShawKeys(left=2, right=1, sinusoidal=True)
    layer = posenc.LayerPlan(heads=2, kv_heads=2, head_dim=4, value_dim=4, score=(shaw,))
    x = np.random.default_rng(1).standard_normal((5, 2, 4)).astype(np.float32)
    expected = posenc.attend(layer, x, x, x)
    for weights in ({"score_weights": [posenc.ShawWeights()]}, posenc.named_weights(layer, {})):
        assert (posenc.attend(layer, x, x, x, **weights) == expected).all()
        assert np.array_equal(posenc.reference.attend(layer, x, x, x, **weights), posenc.reference.attend(layer, x, x, x))
    with pytest.raises(ValueError, match="must hold nothing but is tables"):
        posenc.attend(layer, x, x, x, score_weights=[posenc.ShawWeights(table=x[:4, 0])])
