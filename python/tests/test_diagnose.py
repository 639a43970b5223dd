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
    for kind in (np.int64, np.int32, np.float32, list):
        at = list(range(7, 31)) if kind is list else np.arange(7, 31).astype(kind)
        assert posenc.diagnose(Q, after, "llama-2-7b", positions=at).verdict == "as the plan", kind
    with pytest.raises(TypeError, match="a first position is start"):
        posenc.diagnose(Q, after, "llama-2-7b", positions=7)


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


# ---- queries and keys together ----


def test_both():
    k = np.random.default_rng(2).standard_normal(Q.shape).astype(np.float32)
    both = posenc.diagnose_both(Q, rotated(Q), k, rotated(k, base=500000.0), "llama-2-7b", layer=3, start=0)
    assert (both.verdict, both.findings) == ("differs", ())
    assert both.queries.verdict == "as the plan" and [of.fact for of in both.keys.findings] == ["base"]
    both = posenc.diagnose_both(Q, rotated(k), k, rotated(Q), "llama-2-7b", start=0)
    assert (both.verdict, [of.fact for of in both.findings]) == ("differs", ["exchanged"])
    assert both.queries.verdict == both.keys.verdict == "as the plan"
    assert pickle.loads(pickle.dumps(both)) == both and '"exchanged"' in both.to_json()
    # Channels that come out in another order alike.
    order = np.arange(128).reshape(2, 64).T.ravel()
    both = posenc.diagnose_both(Q, rotated(Q)[..., order], k, rotated(k)[..., order], "llama-2-7b", start=0)
    assert both.verdict == "as the plan"
    assert posenc.diagnose_both(Q, rotated(Q), k, rotated(k)).verdict == "recovered"
    with pytest.raises(ValueError, match="layer"):
        posenc.diagnose_both(Q, Q, Q, Q, "llama-2-7b", layer=99)


# ---- the order of a checkpoint's rows ----


def trained_rows(strength, seed=7, heads=12, width=32, inputs=48):
    """Each pair of a head wants its mean query and key alike or opposite, along a direction of its plane of its own."""
    random = np.random.default_rng(seed)
    q, k = random.standard_normal((2, heads, 2, width // 2, inputs))
    mean = random.standard_normal(inputs)
    turn = 3.14 * random.standard_normal((heads, 1, width // 2))
    along = strength * np.concatenate([np.cos(turn), np.sin(turn)], 1)[..., None] * mean
    sign = np.sign(random.standard_normal((heads, 1, width // 2, 1)))
    return (q + along).reshape(-1, inputs), (k + sign * along).reshape(-1, inputs)


def interleaved(rows, width=32):
    return rows.reshape(-1, 2, width // 2, rows.shape[-1]).swapaxes(1, 2).reshape(rows.shape)


def test_pairing():
    q, k = trained_rows(2.0)
    for dtype in (np.float64, np.float32):
        found = posenc.diagnose_pairing([(q.astype(dtype), k.astype(dtype))], 32)
        assert found.pairing == "half" and found.kv_heads == 12 and found.half > 3 > found.interleaved
        assert found.describe().startswith("half: ") and '"pairing": "half"' in found.to_json()
        assert pickle.loads(pickle.dumps(found)) == found
    assert posenc.diagnose_pairing([(interleaved(q), interleaved(k))], 32).pairing == "interleaved"
    assert posenc.diagnose_pairing([trained_rows(0.0)], 32).pairing is None
    # What rotates is the head's second half.
    behind = [np.concatenate([np.ones_like(of), of], 1).reshape(-1, 48) for of in (q.reshape(12, 32, 48), k.reshape(12, 32, 48))]
    assert posenc.diagnose_pairing([behind], 64, first_channel=32).pairing == "half"
    assert posenc.diagnose_pairing(iter([]), 32) == posenc.PairingDiagnosis(confidence=0.5)
    with pytest.raises(ValueError, match="dim"):
        posenc.diagnose_pairing([(q, k)], 32, dim=34)
    with pytest.raises(ValueError, match="be finite"):
        posenc.diagnose_pairing([(np.full_like(q, np.nan), k)], 32)
    with pytest.raises(TypeError, match="pairs of arrays"):
        posenc.diagnose_pairing([q], 32)
    with pytest.raises(TypeError, match="layers"):
        posenc.diagnose_pairing(7, 32)


# ---- dumps and attention ----


def test_dumps():
    plan = posenc.read_plan("llama-2-7b")
    layers = [
        posenc.DumpedLayer(name="model.layers.3.self_attn", q_before=Q, q_after=rotated(Q), k_before=Q, k_after=rotated(Q)),
        posenc.DumpedLayer(name="model.layers.4.self_attn", q_before=Q, q_after=rotated(Q, base=500000.0)),
        posenc.DumpedLayer(name="model.norm"),
    ]
    dump = posenc.Dump(layers)
    assert posenc.Dump.of_tensors(dump.tensors()).tensors().keys() == dump.tensors().keys()
    found = posenc.diagnose(dump, plan, start=0)
    assert [layer.verdict for layer in found.layers] == ["as the plan", "differs", "cannot tell"]
    assert found.layers[2].said == "no attention layer of the plan has its number"
    assert found.verdict == "differs"
    assert "model.layers.4.self_attn, queries: differs: base" in str(found)
    with pytest.raises(ValueError, match="MODULE/CALL/ARRAY"):
        posenc.Dump.of_tensors({"weight": Q})
    with pytest.raises(ValueError, match="layer be omitted"):
        posenc.diagnose(dump, plan, layer=3)


def test_queries_that_come_out_as_keys():
    k = np.random.default_rng(2).standard_normal(Q.shape).astype(np.float32)
    at = posenc.DumpedLayer(name="layers.0.attn", q_before=Q, q_after=rotated(k), k_before=k, k_after=rotated(Q))
    found = posenc.diagnose(posenc.Dump([at]), "llama-2-7b", start=0)
    assert found.layers[0].exchanged and found.verdict == "differs"
    assert found.layers[0].queries.verdict == "as the plan"


def attended(q, k, v, scale, seen):
    scores = np.where(seen, scale * np.einsum("ihc,jhc->hij", q, k), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    return scores, weights, np.einsum("hij,jhc->ihc", weights, v)


def test_attention():
    q, k, v = (np.random.default_rng(seed).standard_normal((20, 4, 16)) for seed in (3, 4, 5))
    layer = posenc.LayerPlan(heads=4, kv_heads=4, head_dim=16, value_dim=16, softmax_scale=0.25)
    causal = np.tril(np.ones((20, 20), dtype=bool))
    scores, weights, out = attended(q, k, v, 0.25, causal)
    d = posenc.diagnose_attention(layer, q, k, v, scores=scores, weights=weights, out=out)
    assert (d.verdict, d.stage, d.findings) == ("as the plan", None, ())
    _, _, out = attended(q, k, v, 0.25, causal & ~np.tril(np.ones((20, 20), dtype=bool), -6))
    d = posenc.diagnose_attention(layer.replace(mask=posenc.Mask(window=posenc.Window(past=8))), q, k, v, out=out)
    assert (d.verdict, d.stage) == ("differs", "out")
    d = posenc.diagnose_attention(layer, q, k, v, out=attended(q, k, v, 1.0, causal)[2])
    assert [finding.fact for finding in d.findings] == ["scale"]
    assert d.describe().startswith("differs: scale\n") and '"stage": "out"' in d.to_json()
    with pytest.raises(ValueError, match="scores, weights or out"):
        posenc.diagnose_attention(layer, q, k, v)
