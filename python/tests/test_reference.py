"""The forms of the rotation agree, and schemes of research papers give what their formulas say by hand."""

import math

import numpy as np
import pytest

import posenc
from posenc import reference

LAYOUT = posenc.RotaryLayout(pairing="interleaved", head_dim=6, first_channel=2, dim=4)
X, ANGLES = [1.0, -2.0, 3.0, 0.5, -1.5, 2.5], [0.3, -1.2]
ROUNDING = 8 * 2.0**-52  # products and sums of numbers below 4, in double


def test_the_forms_agree():
    one = np.array(reference.rotate_matrix(LAYOUT, X, ANGLES))
    for form in (reference.rotate_complex, reference.rotate_pairwise, reference.rotate_half):
        assert np.abs(np.array(form(LAYOUT, X, ANGLES)) - one).max() <= ROUNDING
    matrix = np.array(reference.rotation_matrix(LAYOUT, np.array(ANGLES))).reshape(6, 6)
    assert np.abs(matrix @ X - one).max() <= ROUNDING
    assert one[2] == pytest.approx(3.0 * math.cos(0.3) - 0.5 * math.sin(0.3), rel=1e-15) and one[0] == X[0]
    with pytest.raises(ValueError, match="angles"):
        reference.rotate_half(LAYOUT, X, [0.3])


def test_norms():
    k = np.random.default_rng(1).standard_normal((3, 2, 8)).astype(np.float32)
    weight = np.arange(1.0, 9.0, dtype=np.float32)
    found = reference.normalise(k, posenc.QkNorm(), norm_weight=weight, weight_plus_one=True)
    expected = k / np.sqrt((k.astype(float) ** 2).mean(-1, keepdims=True) + 1e-6) * (weight + 1.0)
    assert found.dtype == np.float64 and np.abs(found - expected).max() <= 64 * ROUNDING
    with pytest.raises(TypeError, match="QkNorm"):
        reference.normalise(k, None)


def softplus(x):
    return math.log1p(math.exp(x))


def test_research_schemes():
    q, k = [0.5, -1.0], np.array([1.5, 0.25])
    pope = sum(softplus(a) * softplus(b) * math.cos(-3 * w) for a, b, w in zip(q, k, (1.0, 10000.0**-0.5)))
    assert reference.pope_score(q, k, 5, 2) == pytest.approx(pope, rel=1e-14)
    fope = dict(inv_freq=[0.7], cos_mix=[1.0], sin_mix=[1.0])  # one frequency, unmixed, is RoPE
    rotated = [0.5 * math.cos(2.1) + math.sin(2.1), -math.cos(2.1) + 0.5 * math.sin(2.1)]
    assert reference.fope(q, 3, **fope) == pytest.approx(rotated, rel=1e-14)
    assert reference.fope_score(q, k, 3, 3, **fope) == pytest.approx(0.5, rel=1e-13)
    plane = ([1.0, 0.0], [0.0, 1.0], 0.7)  # clockwise
    assert reference.grape([plane], [1.0, 0.0], 1) == pytest.approx([math.cos(0.7), -math.sin(0.7)], rel=1e-14)
    assert reference.grape_score([plane], q, k, 3, 3) == pytest.approx(0.5, rel=1e-13)
    assert reference.grape_bias(q, k, 5, 2, rate=0.5) == -1.5
    assert reference.path_score(q, k, [], []) == 0.5
    assert reference.path_score(q, k, [1.0, 0.0], [2.0]) == pytest.approx(-0.75 - 0.25, rel=1e-15)
    logit = reference.relative_logit(q, k, [2.0], 4, 3, profiles=[0.1, 0.2])
    assert logit == pytest.approx(0.5 / 2 + 2.0 * 0.2, rel=1e-15)
    with pytest.raises(ValueError):
        reference.pope_score(q, [1.0], 5, 2)
    with pytest.raises(TypeError, match=r"\(a, b, frequency\)"):
        reference.grape([plane[:2]], q, 1)


def test_gradients_of_sizes_that_do_not_fit_are_refused_before_memory_is_taken():
    x = np.ones((3, 4, 8))
    layer = posenc.LayerPlan(heads=4, kv_heads=4, head_dim=8, value_dim=8)
    for heads in (2**60, -1):
        with pytest.raises(ValueError, match=r"^\[attend_backward\] .* must have slopes for 4 heads"):
            posenc.reference.attend_backward(layer.replace(score=(posenc.Alibi(heads=heads),)), x, x, x, x)
    rope = posenc.Rope(pairing="half", head_dim=8, dim=2**60)
    with pytest.raises(ValueError, match="dim"):
        posenc.reference.attend_linear_backward(layer.replace(rotate=(posenc.Rotate(scheme=rope),)), x, x, x, x)
    with pytest.raises(ValueError, match=r"^\[attend_backward\] d_out must have rank 3 or 4"):
        posenc.reference.attend_backward(layer, x, x, x, np.ones(3))
