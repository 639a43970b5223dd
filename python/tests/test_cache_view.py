"""Verdicts on caches, and views of them: a cache that is moved, against one that was made so."""

import json

import numpy as np
import pytest

import posenc


def test_verdicts_are_those_of_the_library():
    verdict = posenc.reuse_verdict("llama-3.1-8b", 0, "front_trim")
    assert (verdict.reuse, verdict.reach, verdict.period) == ("exact", 0, 1)
    assert verdict.reasons[0].fact == "rotated_on_load"
    rotated = posenc.reuse_verdict("llama-3.1-8b", 0, "shift", keys="rotated")
    assert (rotated.reuse, rotated.reasons[0].fact) == ("approximate", "rounded_again")
    deeper = posenc.reuse_verdict("llama-3.1-8b", 5, "splice")
    assert (deeper.reuse, deeper.reach) == ("approximate", None)
    assert posenc.reuse_verdict("gpt2", 3, "shift").reuse == "no"
    assert posenc.reuse_verdict("llama-3.1-8b", 0, "share", reader="qwen3-8b").reuse == "no"
    with pytest.raises(ValueError, match="layer must be from 0 to 31 but is 32"):
        posenc.reuse_verdict("llama-3.1-8b", 32, "shift")
    with pytest.raises(ValueError, match="operation must be"):
        posenc.reuse_verdict("llama-3.1-8b", 0, "turn")


def test_a_study_is_that_of_the_tool():
    study = json.loads(posenc.study_cache("qwen2.5-0.5b", simulate=True, shift_by=8))
    assert study["bytes"]["f16"] == 24 * 2 * (2 * 64) * 2
    assert study["shifts"] == [0, 1, 4, 16, 64, 256, 1000]
    assert {one["format"] for one in study["groups"][0]["shifts"]} == set(study["bytes"])
    with pytest.raises(ValueError, match="shift_by must be from 1"):
        posenc.study_cache("qwen2.5-0.5b", shift_by=0)


def layer_of(axes=None):
    rope = posenc.Rope(pairing="half", head_dim=8, dim=8, base=100.0)
    if axes:
        rope = rope.replace(axes=axes)
    return posenc.LayerPlan(heads=2, kv_heads=1, head_dim=8, value_dim=8, softmax_scale=0.35,
                            rotate=[posenc.Rotate(heads=2, scheme=rope)])


def test_a_moved_cache_is_one_that_was_made_so():
    random = np.random.default_rng(0)
    cache = random.standard_normal((4, 4, 1, 8)).astype(np.float32)  # [blocks, block size, heads, channels]
    view = posenc.CacheView(4)
    view.append(0, 10)
    view.erase(2, 5)
    other = posenc.CacheView(4)
    other.append(12, 3)
    view.insert(1, other)
    view.shift(100)
    assert (len(view), view.next_position, view.block_size, view.axes) == (8, 108, 4, 1)
    slots = [0, 12, 13, 14, 1, 7, 8, 9]
    q = random.standard_normal((2, 2, 8)).astype(np.float32)
    is_ = posenc.attend(layer_of(), q, cache, cache, **posenc.view_rows([view], [2]))
    kv = cache.reshape(16, 1, 8)[slots]
    wanted = posenc.attend(layer_of(), q, kv, kv, q_positions=106, k_positions=100)
    np.testing.assert_allclose(is_, wanted, atol=1e-6)
    assert view.passage(1, 3) != other  # it stands elsewhere
    assert np.abs(is_ - posenc.attend(layer_of(), q, cache.reshape(16, 1, 8)[:8], kv)).max() > 1e-3


def test_tokens_of_images_have_coordinates_of_their_own():
    axes = posenc.chunked_axes(["t", "h", "w"], [2, 1, 1])
    view = posenc.CacheView(4, axes=3)
    view.append(0, 2)
    view.append(2, coordinates=np.array([[2, 2, 2, 2], [2, 2, 3, 3], [2, 3, 2, 3]]).ravel())
    view.append(6, 2)
    assert view.next_position == 6
    rows = posenc.view_rows([view], [1])
    np.testing.assert_array_equal(np.asarray(rows["k_positions"])[:, :8],
                                  [[0, 1, 2, 2, 2, 2, 4, 5], [0, 1, 2, 2, 3, 3, 4, 5], [0, 1, 2, 3, 2, 3, 4, 5]])
    cache = np.random.default_rng(0).standard_normal((2, 4, 1, 8)).astype(np.float32)
    q = np.ones((1, 2, 8), np.float32)
    is_ = posenc.attend(layer_of(axes), q, cache, cache, **rows)
    kv = cache.reshape(8, 1, 8)
    wanted = posenc.attend(layer_of(axes), q, kv, kv, q_positions=np.full((3, 1), 5),
                           k_positions=np.asarray(rows["k_positions"]))
    np.testing.assert_allclose(is_, wanted, atol=1e-6)


def test_wrong_arguments_are_refused():
    view = posenc.CacheView(4)
    with pytest.raises(ValueError, match="block_size must be from 1"):
        posenc.CacheView(0)
    with pytest.raises(ValueError, match="count must be given, or coordinates but is neither"):
        view.append(0)
    with pytest.raises(ValueError, match="first must be from 0 to 0 but is 1"):
        view.erase(1, 1)
    with pytest.raises(ValueError, match="views must be at least one"):
        posenc.view_rows([], [])
    with pytest.raises(TypeError):
        view.shift(1.5)
