"""Caches, and weights for the other pairing."""

import os
import pathlib
import subprocess
import sys

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


@pytest.mark.parametrize("order", ["before", "after"])
def test_gradients_of_keys_values_and_norms(order):
    k, d_k_cache = random((3, 2, 8)), random((10, 2, 8), 2)
    d_v_cache, weight, bias = random((10, 1, 4), 3), random((2, 8), 4), random((2, 8), 5)
    table, slots = posenc.make_table(ROPE, count=16), np.array([7, -1, 2])
    norm = posenc.QkNorm(kind="layer", order=order)
    of = dict(norm=norm, norm_weight=weight, norm_bias=bias, norm_epsilon=1e-5)
    made = posenc.rotate_into_cache_backward(
        k, d_k_cache=d_k_cache, d_v_cache=d_v_cache, slots=slots, table=table, positions=5, **of, d_norm_weight=True,
        d_norm_bias=np.zeros((2, 8)),
    )  # fmt: skip
    d = d_k_cache[slots] * (slots >= 0)[:, None, None].astype(np.float32)
    turn = dict(positions=5, direction="transpose")
    x = posenc.reference.rotate(ROPE, k, positions=5) if order == "after" else k
    if order == "before":
        d = posenc.reference.rotate(ROPE, d, **turn)
    wanted = posenc.reference.normalise_backward(x, d, norm, norm_epsilon=1e-5, norm_weight=weight, norm_bias=bias)
    if order == "after":
        wanted["d_x"] = posenc.reference.rotate(ROPE, wanted["d_x"], **turn)
    assert made["d_k"].dtype == np.float32 and made["d_norm_bias"].dtype == np.float64
    for name, other in (("d_k", "d_x"), ("d_norm_weight", "d_weight"), ("d_norm_bias", "d_bias")):
        # Sums of 8 channels, and of two tokens, of numbers up to 4 or so, times a factor of 3 at most.
        assert np.abs(made[name] - wanted[other]).max() <= 64 * 2.0**-24 * np.abs(wanted[other]).max(), name
        assert np.abs(wanted[other]).max() > 0.1
    assert np.array_equal(made["d_v"], d_v_cache[slots] * (slots >= 0)[:, None, None])
    assert not made["d_k"][1].any()
    assert set(posenc.rotate_into_cache_backward(k, d_k_cache=d_k_cache, slots=slots)) == {"d_k"}
    with pytest.raises(ValueError, match=r"\[rotate_into_cache_backward\] d_norm_weight must be omitted"):
        posenc.rotate_into_cache_backward(k, d_k_cache=d_k_cache, slots=slots, d_norm_weight=True)
    with pytest.raises(ValueError, match=r"d_v_cache must be given where d_v is"):
        posenc.rotate_into_cache_backward(k, d_k_cache=d_k_cache, slots=slots, d_v=np.zeros((3, 1, 4), np.float32))
    with pytest.raises(ValueError, match=r"slots must have"):
        posenc.rotate_into_cache_backward(k, d_k_cache=d_k_cache)
    with pytest.raises(TypeError, match="other"):
        posenc.rotate_into_cache_backward(k, d_k_cache=d_k_cache, slots=slots, other=1)


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


FORMATS = {
    # codes of a row of 64 channels, whether there are scales and zeros
    "int8": (64, True, False),
    "int8_asymmetric": (64, True, True),
    "int4": (32, True, False),
    "int4_asymmetric": (32, True, True),
    "fp8_e4m3": (64, True, False),
    "fp8_e5m2": (64, True, False),
    "q8_0": (68, False, False),
    "q4_0": (36, False, False),
    "q5_1": (48, False, False),
}


def quantised(format, rows=8, heads=2):
    size, has_scales, has_zeros = FORMATS[format]
    assert posenc.cache_row_bytes(format, 64) == size
    return posenc.Quantised(
        format,
        np.zeros((rows, heads, size), np.uint8),
        scales=np.zeros((rows, heads), np.float32) if has_scales else None,
        zeros=np.zeros((rows, heads), np.float32) if has_zeros else None,
    )


@pytest.mark.parametrize("format", FORMATS)
def test_quantised_caches_are_attended_to(format):
    k, v = random((8, 2, 64)), random((8, 2, 64), 2)
    k_cache, v_cache = quantised(format), quantised("int8_asymmetric")
    posenc.rotate_into_cache(k, v, k_cache=k_cache, v_cache=v_cache, slots=range(8))
    assert k_cache.format == format and k_cache.shape == (8, 2, 64)
    kept_k, kept_v = posenc.dequantise(k_cache), posenc.dequantise(v_cache)
    assert 0 < np.abs(kept_k - k).max() < (0.5 if posenc.cache_row_bytes(format, 64) < 60 else 0.3)
    layer = posenc.LayerPlan(
        heads=4,
        kv_heads=2,
        head_dim=64,
        value_dim=64,
        softmax_scale=0.125,
        rotate=(posenc.Rotate(scheme=posenc.Rope(pairing="half", head_dim=64, dim=64)),),
    )
    q = random((2, 4, 64), 3)
    wanted = posenc.attend(layer, q, kept_k, kept_v)
    assert np.abs(posenc.attend(layer, q, k_cache, v_cache) - wanted).max() < 1e-5
    assert np.abs(posenc.attend(layer, q, k_cache, kept_v) - wanted).max() < 1e-5
    with pytest.raises(ValueError, match="store keys unrotated instead"):
        table = posenc.make_table(layer.rotate[0].scheme, count=16)
        posenc.rerotate(k_cache, from_table=table, from_positions=0, to_table=table, to_positions=3)
    assert "round " + format + " codes again" in posenc.rerotation_obstacle(format)


def test_keys_by_channel_are_stored_in_groups():
    k = random((8, 2, 64))
    k[:, :, 5] += 30  # a channel that is larger than all others
    cache = posenc.Quantised(
        "int4_by_channel",
        np.zeros((8, 2, 32), np.uint8),
        scales=np.zeros((2, 2, 64), np.float16),
        zeros=np.zeros((2, 2, 64), np.float16),
        group=4,
    )
    posenc.rotate_into_cache(k, k_cache=cache, slots=range(8))
    by_token = quantised("int4_asymmetric")
    posenc.rotate_into_cache(k, k_cache=by_token, slots=range(8))
    error = [np.abs(posenc.dequantise(x) - k).mean() for x in (cache, by_token)]
    assert error[0] < 0.1 < error[1]
    with pytest.raises(ValueError, match="begin 4 rows of one group"):
        posenc.rotate_into_cache(k[:3], k_cache=cache, slots=range(3))


def test_quantised_views_say_what_they_are():
    codes, scales = np.zeros((8, 2, 64), np.int8), np.zeros((8, 2), np.float32)
    with pytest.raises(ValueError, match="format"):
        posenc.Quantised("int3", codes)
    with pytest.raises(ValueError, match="elements of 8 bits"):
        posenc.dequantise(posenc.Quantised("int8", np.zeros((8, 2, 64), np.int16), scales=scales))
    for dtype in (np.int16, np.bool_, np.float32):
        with pytest.raises(ValueError, match=r"\[Quantised\] codes must have elements of 8 bits: .* but is "):
            posenc.Quantised("int8", np.zeros((8, 2, 64), dtype), scales=scales)
    for shape in ((64,), (8, 64)):
        with pytest.raises(ValueError, match=r"\[Quantised\] codes must have 3 axes, .*, or 4 but is an array of [12]"):
            posenc.Quantised("int8", np.zeros(shape, np.int8), scales=scales)
    for shape in ((), (1, 1, 8, 2, 64)):
        with pytest.raises(ValueError, match=r"\[Quantised\] codes must have rank 1 to 4 but is [05]"):
            posenc.Quantised("int8", np.zeros(shape, np.int8), scales=scales)
    with pytest.raises(TypeError, match="codes"):
        posenc.Quantised("int8", [[[1, 2]]], scales=scales)
    with pytest.raises(ValueError, match=r"\[Quantised\] codes must have rows of whole blocks, 34 bytes each, but is 64"):
        posenc.Quantised("q8_0", codes)
    later = np.zeros((8, 2, 64), np.int8)
    cache = posenc.Quantised("int8", later, scales=scales)
    later.shape = (1024,)
    for call in (lambda: cache.shape, lambda: posenc.dequantise(cache)):
        with pytest.raises(ValueError, match="codes must have 3 axes"):
            call()
    with pytest.raises(ValueError, match="scales must be given"):
        posenc.dequantise(posenc.Quantised("int8", codes))
    with pytest.raises(ValueError, match="adjacent bytes"):
        posenc.dequantise(posenc.Quantised("int8", codes[:, :, ::2], scales=scales))
    with pytest.raises(TypeError, match="be a Quantised"):
        posenc.dequantise(codes)
    scales.flags.writeable = False
    with pytest.raises(ValueError, match="k_cache.scales must be an array that can be written"):
        posenc.rotate_into_cache(
            random((8, 2, 64)), k_cache=posenc.Quantised("int8", codes, scales=scales), slots=range(8)
        )


def test_int8_of_torch():
    torch = pytest.importorskip("torch")
    k, v = random((8, 2, 64)), random((8, 2, 64), 2)

    def filled(made):
        caches = [posenc.Quantised("int8", made((8, 2, 64), "int8"), scales=made((8, 2), "float32")) for _ in range(2)]
        posenc.rotate_into_cache(k, v, k_cache=caches[0], v_cache=caches[1], slots=range(8))
        return caches

    in_torch = filled(lambda shape, dtype: torch.zeros(shape, dtype=getattr(torch, dtype)))
    in_numpy = filled(np.zeros)
    for one, other in zip(in_torch, in_numpy):
        assert np.array_equal(one.codes.numpy(), other.codes) and np.array_equal(one.scales.numpy(), other.scales)
        assert other.codes.any()
    layer = posenc.LayerPlan(heads=4, kv_heads=2, head_dim=64, value_dim=64, softmax_scale=0.125)
    q = random((2, 4, 64), 3)
    assert np.array_equal(posenc.attend(layer, q, *in_torch), posenc.attend(layer, q, *in_numpy))


def test_float8_of_torch():
    torch = pytest.importorskip("torch")
    k = torch.from_numpy(random((8, 2, 64)))
    for dtype, format in ((torch.float8_e4m3fn, "fp8_e4m3"), (torch.float8_e5m2, "fp8_e5m2")):
        codes = torch.zeros((8, 2, 64), dtype=dtype)
        cache = posenc.Quantised(format, codes, scale=0.5)
        posenc.rotate_into_cache(k, k_cache=cache, slots=range(8))
        # torch rounds to nearest, ties to even, too, and nothing here is beyond the type.
        assert torch.equal(codes.view(torch.uint8), (k / 0.5).to(dtype).view(torch.uint8))
        kept = posenc.dequantise(cache)
        assert isinstance(kept, torch.Tensor) and torch.equal(kept, codes.float() * 0.5)
    with pytest.raises(ValueError, match="be codes of fp8_e4m3"):
        posenc.Quantised("fp8_e4m3", codes)


def test_float8_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    k = random((8, 2, 64))
    codes = np.zeros((8, 2, 64), ml_dtypes.float8_e4m3fn)
    scales = np.zeros((8, 2), np.float32)
    posenc.rotate_into_cache(k, k_cache=posenc.Quantised("fp8_e4m3", codes, scales=scales), slots=range(8))
    assert np.array_equal(codes.view(np.uint8), (k / scales[:, :, None]).astype(codes.dtype).view(np.uint8))


def test_the_table_of_errors_is_what_its_script_prints():
    root = pathlib.Path(os.environ.get("POSENC_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
    script, page = root / "scripts" / "cache_errors.py", root / "docs" / "quantised-cache.md"
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(posenc.__file__).parents[1])}
    subprocess.run([sys.executable, script, "--check", page], check=True, env=env)
