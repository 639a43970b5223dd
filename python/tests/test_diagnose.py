"""posenc.diagnose: arrays, plans and layers. What it finds is judged by tests/diagnose."""

import pickle

import numpy as np
import pytest

import posenc


def rotated(q, base=10000.0, start=0):
    tokens, _, channels = q.shape
    half = channels // 2
    angles = (start + np.arange(tokens))[:, None] * base ** (-2 * np.arange(half) / channels)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    a, b = q[..., :half], q[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(q.dtype)


Q = np.random.default_rng(1).standard_normal((24, 4, 128)).astype(np.float32)


def test_a_right_port():
    d = posenc.diagnose(Q, rotated(Q), "llama-2-7b", start=0)
    assert (d.verdict, d.findings) == ("as the plan", ())
    assert (d.tokens, d.heads, d.channels) == (24, 4, 128)
    assert pickle.loads(pickle.dumps(d)) == d


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e-20, 1e38, 1e76, 1e150, 1e300])
def test_numbers_far_from_one(scale):
    """Squares, and squares of squares, are beyond float64 there."""
    q = Q.astype(np.float64) * scale
    right = posenc.diagnose(q, rotated(q), "llama-2-7b", start=0)
    assert (right.verdict, right.findings) == ("as the plan", ())
    wrong = posenc.diagnose(q, 1.5 * rotated(q), "llama-2-7b", start=0)
    assert [(f.fact, f.found) for f in wrong.findings] == [("attention_factor", "1.5")]
    assert "nan" not in right.describe() + wrong.describe()


def test_what_differs():
    d = posenc.diagnose(Q, rotated(Q, base=500000.0), posenc.read_plan("llama-2-7b"), layer=3, start=0)
    assert d.verdict == "differs"
    assert [(f.fact, f.found, f.expected) for f in d.findings] == [("base", "500000", "10000")]
    assert d.describe().startswith("differs: base")
    assert '"verdict": "differs"' in d.to_json()


def test_starts_and_positions():
    after = rotated(Q, start=7)
    assert posenc.diagnose(Q, after, "llama-2-7b").verdict == "cannot tell"
    assert posenc.diagnose(Q, after, "llama-2-7b", start=7).verdict == "as the plan"
    assert posenc.diagnose(Q, after, "llama-2-7b", positions=np.arange(7.0, 31.0)).verdict == "as the plan"


def test_without_a_plan():
    d = posenc.diagnose(Q, rotated(Q))
    assert d.verdict == "recovered"
    assert ("base", "10000") in [(f.fact, f.found) for f in d.findings]


def test_what_does_not_fit():
    with pytest.raises(ValueError, match="after.shape"):
        posenc.diagnose(Q, Q[:2])
    with pytest.raises(ValueError, match="head_dim"):
        posenc.diagnose(Q[..., :64], Q[..., :64], "llama-2-7b")
    with pytest.raises(ValueError, match="layer must be given"):
        posenc.diagnose(Q, Q, "gemma-3-4b")
    with pytest.raises(ValueError, match="layer"):
        posenc.diagnose(Q, Q, "llama-2-7b", layer=99)
    with pytest.raises(ValueError, match="stack"):
        posenc.diagnose(Q, Q, "llama-2-7b", stack="vision")
    bad = Q.copy()
    bad[3, 2, 5] = np.nan
    with pytest.raises(ValueError, match="token 3, head 2, channel 5"):
        posenc.diagnose(Q, bad)
