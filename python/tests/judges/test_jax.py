"""Arrays of JAX are read where they lie, and made, and never written; its formulas are the judge of what is made."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import posenc
from posenc import _posenc

ROPE = posenc.Rope(pairing="half", head_dim=16, dim=16)
TABLE = posenc.make_table(ROPE, count=64)
LAYER = posenc.LayerPlan(heads=4, kv_heads=2, head_dim=16, value_dim=16, softmax_scale=0.25)
DTYPES = {"float32": jnp.float32, "float16": jnp.float16, "bfloat16": jnp.bfloat16}
# A rounding of the result.
EPSILON = {"float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}


def drawn(seed, *shape, dtype="float32"):
    return jax.random.normal(jax.random.key(seed), shape, DTYPES[dtype])


def rotated(x):
    """Half pairing, position by position, in jax.numpy: x [tokens, heads, 16]."""
    x = x.astype(jnp.float32)
    angles = np.arange(x.shape[0])[:, None] * 10000.0 ** (-np.arange(8) / 8)
    cos, sin = (jnp.asarray(of(angles), jnp.float32)[:, None] for of in (np.cos, np.sin))
    a, b = jnp.split(x, 2, axis=-1)
    return jnp.concatenate((a * cos - b * sin, b * cos + a * sin), axis=-1)


def attended(q, k, v, bias=0.0):
    """Causal attention of grouped heads, in jax.numpy."""
    q, k, v = (x.astype(jnp.float32) for x in (q, jnp.repeat(k, 2, axis=1), jnp.repeat(v, 2, axis=1)))
    scores = 0.25 * jnp.einsum("qhd,khd->hqk", q, k, precision="highest") + bias
    seen = jnp.tri(q.shape[0], k.shape[0], dtype=bool)
    return jnp.einsum("hqk,khd->qhd", jax.nn.softmax(jnp.where(seen, scores, -jnp.inf)), v, precision="highest")


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_is_copied_on_the_way_in(dtype):
    x = drawn(1, 5, 2, 16, dtype=dtype)
    assert _posenc._address(x) == x.unsafe_buffer_pointer()
    assert _posenc._address(x.block_until_ready()) == x.unsafe_buffer_pointer()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("tokens", [1, 3, 5, 64])
def test_rotation(dtype, tokens):
    q = drawn(1, tokens, 3, 16, dtype=dtype)
    ours = posenc.rotate(q, table=TABLE)
    assert type(ours) is type(q) and ours.dtype == q.dtype and ours.shape == q.shape
    truth = rotated(q)
    # Its products and sum are rounded three times, cos and sin once on each side; then ours once.
    bound = (5 * 2.0**-24 + EPSILON[dtype]) * 2 * float(jnp.abs(q.astype(jnp.float32)).max())
    assert float(jnp.abs(ours.astype(jnp.float32) - truth).max()) <= bound
    assert tokens == 1 or float(jnp.abs(rotated(q[::-1])[::-1] - truth).max()) > 10 * bound
    assert np.array_equal(np.asarray(ours), np.asarray(posenc.rotate(np.asarray(q), table=TABLE)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_attention(dtype):
    q, k, v = drawn(1, 9, 4, 16, dtype=dtype), drawn(2, 9, 2, 16, dtype=dtype), drawn(3, 9, 2, 16, dtype=dtype)
    ours, lse = posenc.attend(LAYER, q, k, v, lse=True)
    assert type(ours) is type(q) and ours.dtype == q.dtype and lse.dtype == jnp.float32 and lse.shape == (9, 4)
    # Sums of 16 products of numbers below 5, a softmax of 9 weights, a weighted sum: 64 roundings at most; ours once.
    bound = 5 * (64 * 2.0**-24 + EPSILON[dtype])
    assert float(jnp.abs(ours.astype(jnp.float32) - attended(q, k, v)).max()) <= bound
    slopes = 2.0 ** (-2.0 * np.arange(1, 5))
    bias = -slopes[:, None, None] * (np.arange(9)[:, None] - np.arange(9))
    alibi = posenc.attend(LAYER.replace(score=[posenc.Alibi(heads=4)]), q, k, v)
    assert float(jnp.abs(alibi.astype(jnp.float32) - attended(q, k, v, bias)).max()) <= bound
    assert float(jnp.abs(alibi.astype(jnp.float32) - attended(q, k, v)).max()) > 10 * bound


def test_what_is_made_is_arrays_own_memory():
    """JAX copies memory that does not lie as it likes; what posenc wrote afterwards would be lost."""
    for tokens in range(1, 20):
        x = drawn(tokens, tokens, 1, 16)
        made = posenc.rotate(x, table=TABLE)
        assert _posenc._address(made) == made.unsafe_buffer_pointer()
        assert made.unsafe_buffer_pointer() % 64 == 0
        assert np.array_equal(np.asarray(made), posenc.rotate(np.asarray(x), table=TABLE))


def test_arrays_that_are_still_being_computed_are_waited_for():
    power = jax.jit(lambda a: jax.lax.fori_loop(0, 20, lambda _, b: jnp.tanh(b @ a), a))
    x = drawn(4, 512, 512)
    power(x).block_until_ready()  # compiles
    later = power(x).reshape(64, 256, 16)
    ours = posenc.rotate(later, table=TABLE)
    assert np.array_equal(np.asarray(ours), posenc.rotate(np.asarray(later), table=TABLE))


def test_positions_of_jax():
    q = drawn(1, 5, 2, 16)
    places = jnp.asarray([[7, 1, 0, 5, 2]], jnp.int32)
    assert np.array_equal(
        posenc.rotate(q, table=TABLE, positions=places),
        posenc.rotate(np.asarray(q), table=TABLE, positions=[7, 1, 0, 5, 2]),
    )


def test_arrays_of_jax_are_never_written():
    q = drawn(1, 5, 2, 16)
    before = np.array(q)
    with pytest.raises(ValueError, match="can be written but is JAX's"):
        posenc.rotate_(q, table=TABLE)
    with pytest.raises(ValueError, match="can be written but is JAX's"):
        posenc.rotate(np.asarray(q), table=TABLE, out=q)
    assert np.array_equal(before, q)
