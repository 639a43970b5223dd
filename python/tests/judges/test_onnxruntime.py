"""onnxruntime as the judge: RotaryEmbedding and Attention of ONNX's opset 23, rotations of its own; and torch's SDPA with
biases added."""

import numpy as np
import pytest
import torch

import bounds
import posenc
from one_node import MICROSOFT, run

TOKENS, HEADS, KV_HEADS, WIDTH = 7, 4, 2, 8


def random(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


ROPES = {
    "half": posenc.Rope(pairing="half", head_dim=WIDTH, dim=WIDTH),
    "interleaved": posenc.Rope(pairing="interleaved", head_dim=WIDTH, dim=WIDTH),
    "half, a part": posenc.Rope(pairing="half", head_dim=WIDTH, dim=4, base=100.0),
    "interleaved, a part": posenc.Rope(pairing="interleaved", head_dim=WIDTH, dim=4, base=100.0),
    "yarn": posenc.Rope(
        pairing="half",
        head_dim=WIDTH,
        dim=WIDTH,
        scaling=posenc.YarnScaling(factor=4.0, original_max_position_embeddings=8),
    ),
}


@pytest.mark.parametrize("with_ids", [True, False], ids=["ids", "rows"])
@pytest.mark.parametrize("kind", ROPES)
def test_rotary_embedding(kind, with_ids):
    rope = ROPES[kind]
    table = posenc.make_table(rope, count=32)
    x = random(2, HEADS, TOKENS, WIDTH)
    places = torch.stack((torch.arange(TOKENS), torch.arange(TOKENS) * 3 + 2))
    rows = torch.from_numpy(np.asarray(table.rows).copy())
    caches = (rows[:, 0], rows[:, 1]) if with_ids else (rows[places, 0], rows[places, 1])
    ours = posenc.rotate(x, table=table, positions=places.reshape(1, -1).contiguous())

    def judged(interleaved):
        return run(
            "RotaryEmbedding",
            {
                "x": x,
                "cos": caches[0].contiguous(),
                "sin": caches[1].contiguous(),
                "ids": places if with_ids else None,
            },
            interleaved=interleaved,
            rotary_embedding_dim=rope.dim if rope.dim < WIDTH else 0,
            num_heads=HEADS,
        )

    is_interleaved = int(rope.pairing == "interleaved")
    bound = bounds.rotated(float(x.abs().max()) * table.attention_factor)
    assert float((ours - judged(is_interleaved)).abs().max()) <= bound
    assert float((ours - judged(1 - is_interleaved)).abs().max()) > 100 * bound


def rows_of(rope):
    """cos and sin, as onnxruntime's own operators take them: [positions, pairs]."""
    return [torch.as_tensor(x) for x in posenc.cos_sin(rope, torch.arange(32))]


@pytest.mark.parametrize("kind", ["half", "interleaved", "yarn"])
def test_rotary_embedding_of_microsoft(kind):
    rope = ROPES[kind]
    x, places, (cos, sin) = random(2, HEADS, TOKENS, WIDTH), torch.arange(TOKENS).repeat(2, 1) + 2, rows_of(rope)
    ours = posenc.rotate(x, table=posenc.make_table(rope, count=32), positions=places.reshape(1, -1))

    def judged(ids, interleaved):
        inputs = {"x": x, "ids": ids, "cos": cos, "sin": sin}
        return run("RotaryEmbedding", inputs, domain=MICROSOFT, interleaved=interleaved)

    is_interleaved = int(rope.pairing == "interleaved")
    bound = bounds.rotated(float(x.abs().max()) * posenc.frequencies(rope).attention_factor)
    assert float((ours - judged(places, is_interleaved)).abs().max()) <= bound
    assert float((ours - judged(places, 1 - is_interleaved)).abs().max()) > 100 * bound
    assert float((ours - judged(places + 1, is_interleaved)).abs().max()) > 100 * bound


SECTIONS = [2, 1, 1]
AXES = {0: posenc.chunked_axes(["t", "h", "w"], SECTIONS), 1: posenc.interleaved_axes(SECTIONS)}


@pytest.mark.parametrize("layout", AXES, ids=["Qwen2-VL", "Qwen3-VL"])
def test_rotary_embedding_of_three_axes(layout):
    rope = ROPES["half"].replace(axes=AXES[layout])
    x = random(2, HEADS, TOKENS, WIDTH)
    places = torch.randint(0, 32, (3, 2, TOKENS), generator=torch.Generator().manual_seed(2))
    ours = posenc.rotate(x, table=posenc.make_table(rope, count=32), positions=places.flatten(1))

    def judged(layout):
        inputs = dict(zip(("x", "ids", "cos", "sin"), (x, places, *rows_of(ROPES["half"]))))
        return run("MRotaryEmbedding", inputs, domain=MICROSOFT, mrope_section=SECTIONS, mrope_layout=layout)

    bound = bounds.rotated(float(x.abs().max()))
    assert float((ours - judged(layout)).abs().max()) <= bound
    assert float((ours - judged(1 - layout)).abs().max()) > 100 * bound


def layer_with(*terms, **others):
    sizes = {"heads": HEADS, "kv_heads": KV_HEADS, "head_dim": WIDTH, "value_dim": WIDTH}
    return posenc.LayerPlan(**sizes, softmax_scale=0.4, score=terms, **others)


def qkv():
    return [random(2, heads, TOKENS, WIDTH, seed=s) for s, heads in ((1, HEADS), (2, KV_HEADS), (3, KV_HEADS))]


BIDIRECTIONAL = posenc.Mask(kind="bidirectional")


@pytest.mark.parametrize("cap", [0.0, 1.5])
@pytest.mark.parametrize("is_causal", [True, False])
def test_attention(is_causal, cap):
    q, k, v = qkv()
    soft_cap = posenc.SoftCap(cap=cap) if cap else None
    layer = layer_with(soft_cap=soft_cap, **({} if is_causal else {"mask": BIDIRECTIONAL}))
    ours = posenc.attend(layer, q, k, v)
    inputs = {"q": q, "k": k, "v": v}
    attributes = {"scale": layer.softmax_scale, "softcap": cap, "is_causal": int(is_causal)}
    bound = bounds.attended(q, k, v, layer.softmax_scale)
    assert float((ours - run("Attention", inputs, **attributes)).abs().max()) <= bound
    spoiled = run("Attention", inputs, **{**attributes, "is_causal": int(not is_causal)})
    assert float((ours - spoiled).abs().max()) > 100 * bound


# ---- biases, by their formulas, added to the scores of others ----

PLACES = torch.arange(TOKENS, dtype=torch.float64)
DISTANCE = PLACES[:, None] - PLACES[None]  # i - j
SLOPES = torch.tensor([2.0 ** (-8 * (h + 1) / HEADS) for h in range(HEADS)], dtype=torch.float64)[:, None, None]
TABLE = random(6, HEADS, seed=5)
R1, R2 = random(HEADS, seed=6).abs() + 0.1, random(HEADS, seed=7).abs() + 0.1
CLIPPED = TABLE[(DISTANCE.clamp(-2, 3) + 2).long()].permute(2, 0, 1)
BIASES = {
    "alibi": (posenc.Alibi(heads=HEADS), None, -SLOPES * DISTANCE),
    "alibi, both ways": (posenc.Alibi(heads=HEADS, symmetric=True), None, -SLOPES * DISTANCE.abs()),
    "clipped": (posenc.ClippedBias(past=3, future=2), posenc.ClippedBiasWeights(table=TABLE), CLIPPED),
    "kerple": (
        posenc.Kerple(form="logarithmic"),
        posenc.KerpleWeights(r1=R1, r2=R2),
        -R1[:, None, None].double() * (1 + R2[:, None, None].double() * DISTANCE.abs()).log(),
    ),
}


@pytest.mark.parametrize("judge", ["onnxruntime", "sdpa"])
@pytest.mark.parametrize("kind", BIASES)
def test_biases(kind, judge):
    term, weights, bias = BIASES[kind]
    q, k, v = qkv()
    layer = layer_with(term, mask=BIDIRECTIONAL)
    ours = posenc.attend(layer, q, k, v, score_weights=[weights])

    def judged(bias):
        mask = bias.float()[None].contiguous()
        if judge == "onnxruntime":
            return run("Attention", {"q": q, "k": k, "v": v, "mask": mask}, scale=layer.softmax_scale)
        return torch.nn.functional.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, scale=layer.softmax_scale, enable_gqa=True
        )

    bound = bounds.attended(q, k, v, layer.softmax_scale, float(bias.abs().max()))
    assert float((ours - judged(bias)).abs().max()) <= bound
    assert float((ours - judged(bias.roll(1, 0))).abs().max()) > 100 * bound
