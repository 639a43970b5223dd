"""Arrays of JAX are read and made, and never written."""

import numpy as np
import pytest

jnp = pytest.importorskip("jax.numpy")

import posenc

TABLE = posenc.make_table(posenc.Rope(pairing="half", head_dim=8, dim=8), count=64)


def test_jax():
    numbers = np.random.default_rng(1).standard_normal((5, 2, 8)).astype(np.float32)
    q = jnp.asarray(numbers)
    turned = posenc.rotate(q, table=TABLE)
    assert type(turned) is type(q)
    assert np.array_equal(np.asarray(turned), posenc.rotate(numbers, table=TABLE))
    with pytest.raises(ValueError, match="can be written but is JAX's"):
        posenc.rotate_(q, table=TABLE)
