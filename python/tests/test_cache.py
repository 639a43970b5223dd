"""Caches, and weights for the other pairing."""

import numpy as np
import pytest

import posenc

ROPE = posenc.Rope(pairing="half", head_dim=8, dim=8)


def random(shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_keys_and_values_go_into_a_cache():
    k, v = random((3, 2, 8)), random((3, 2, 8), 2)
    k_cache, v_cache = np.zeros((10, 2, 8), np.float16), np.zeros((10, 2, 8), np.float32)
    table = posenc.make_table(ROPE, count=16)
    slots = np.array([7, -1, 2])
    assert posenc.rotate_into_cache(k, v, k_cache=k_cache, v_cache=v_cache, slots=slots, table=table, positions=5) is None
    rotated = posenc.rotate(k, table=table, positions=5)
    assert np.array_equal(k_cache[7], rotated[0].astype(np.float16)) and np.array_equal(v_cache[2], v[2])
    assert not k_cache[[0, 1, 3, 4, 5, 6, 8, 9]].any()


def test_norms():
    k, weight = random((3, 2, 8)), random(8, 3)
    cache = np.zeros((3, 2, 8), np.float32)
    posenc.rotate_into_cache(k, k_cache=cache, slots=range(3), norm=posenc.QkNorm(), norm_weight=weight)
    expected = k / np.sqrt((k**2).mean(-1, keepdims=True) + 1e-6) * weight
    assert np.abs(cache - expected).max() <= 16 * 2.0**-24 * np.abs(expected).max()
    with pytest.raises(ValueError, match="weight"):
        posenc.rotate_into_cache(k, k_cache=cache, slots=range(3), norm=posenc.QkNorm())


def test_weights_for_the_other_pairing():
    weights = random((16, 4))
    before = weights.copy()
    half = posenc.RotaryLayout(pairing="half", head_dim=8, dim=8)
    assert posenc.pairing_order(half, "interleaved") == (0, 4, 1, 5, 2, 6, 3, 7)
    assert posenc.permute_pairing(weights, half, "interleaved") is weights
    assert np.array_equal(weights[:8], before[:8][[0, 4, 1, 5, 2, 6, 3, 7]])
    posenc.permute_pairing(weights, posenc.RotaryLayout(pairing="interleaved", head_dim=8, dim=8), "half")
    assert np.array_equal(weights, before)


@pytest.mark.parametrize("name", ["norm_weight", "norm_bias"])
def test_weights_without_their_norm_are_refused(name):
    k, cache = random((3, 2, 8)), np.zeros((3, 2, 8), np.float32)
    with pytest.raises(ValueError, match=rf"{name} must have a norm to belong to"):
        posenc.rotate_into_cache(k, k_cache=cache, slots=range(3), **{name: random(8, 3)})
    assert not cache.any()
