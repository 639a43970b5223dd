"""x-transformers as the judge: its rotation (which rotates neighbours), ALiBi, T5's bias, perceptrons of the distance,
CoPE and forget gates. Its biases and scores go through torch's softmax, ours through attend."""

import math

import pytest
import torch
from x_transformers import x_transformers as judge

import bounds
import posenc

HEADS, TOKENS, WIDTH = 6, 11, 16
SCALE = WIDTH**-0.5
CAUSAL, BIDIRECTIONAL = posenc.Mask(), posenc.Mask(kind="bidirectional")


def random(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def qkv(queries=TOKENS):
    return [random(1, HEADS, tokens, WIDTH, seed=seed) for seed, tokens in enumerate((queries, TOKENS, TOKENS), 1)]


def layer_with(*terms, **others):
    sizes = {"heads": HEADS, "kv_heads": HEADS, "head_dim": WIDTH, "value_dim": WIDTH}
    return posenc.LayerPlan(**sizes, softmax_scale=SCALE, score=terms, **others)


def softmaxed(scores, v, is_causal):
    """scores: [.., queries, keys], the last query beside the last key."""
    queries, keys = scores.shape[-2:]
    seen = torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)
    return (scores.masked_fill(~seen, -math.inf) if is_causal else scores).softmax(-1) @ v


def must_be(theirs, ours, wrong, bound):
    assert float((theirs - ours).abs().max()) <= bound
    assert float((theirs - wrong).abs().max()) > 100 * bound


# ---- rotation ----


def rope(**others):
    return posenc.Rope(**{"pairing": "interleaved", "head_dim": WIDTH, "dim": WIDTH, **others})


KINDS = {
    "plain": (rope(), {}, rope(pairing="half")),
    "another base": (rope(base=500.0), {"base": 500.0}, rope()),
    "interpolated": (rope(scaling=posenc.LinearScaling(factor=4.0)), {"interpolation_factor": 4.0}, rope()),
    "rescaled": (rope(scaling=posenc.NtkScaling(alpha=3.0)), {"base_rescale_factor": 3.0}, rope()),
    "a part": (rope(dim=8), {"dim": 8}, rope()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rotations(kind):
    scheme, given, wrong = KINDS[kind]
    x, places = random(2, HEADS, TOKENS, WIDTH), torch.arange(TOKENS).repeat(2, 1) * 2 + 1
    angles, scale = judge.RotaryEmbedding(**{"dim": WIDTH, **given})(places)
    theirs = judge.apply_rotary_pos_emb(x, angles, scale)

    def ours(of):
        return posenc.rotate(x, table=posenc.make_table(of, count=32), positions=places.reshape(1, -1))

    moved = bounds.float_angle(2 * TOKENS) * float(x.norm(dim=-1).max())
    must_be(theirs, ours(scheme), ours(wrong), bounds.rotated(float(x.abs().max())) + moved)


def test_xpos():
    q, k, v = qkv()
    angles, scale = judge.RotaryEmbedding(WIDTH, use_xpos=True, scale_base=16)(torch.arange(TOKENS))
    rotated = judge.apply_rotary_pos_emb(q, angles, scale), judge.apply_rotary_pos_emb(k, angles, scale**-1)
    theirs = softmaxed(rotated[0] @ rotated[1].transpose(-1, -2) * SCALE, v, is_causal=True)

    def ours(scale_base):
        scheme = posenc.XPos(rope=rope(), scale_base=scale_base)
        return posenc.attend(layer_with(rotate=[posenc.Rotate(scheme=scheme)]), q, k, v)

    # zeta^(i - j) is at most 1 of keys that are seen; their scales of q and k, up to zeta^-(n / 2) apart from it, are
    # powers of about 3 roundings.
    angle = bounds.float_angle(TOKENS) + 3 * bounds.HALF_UNIT
    must_be(theirs, ours(16.0), ours(32.0), bounds.attended(q, k, v, SCALE, factor=1.0, angle=2 * angle))


# ---- biases of the distance ----


def of_distance(layer, wrong, bias, weights=None, wrong_weights=None, queries=TOKENS):
    q, k, v = qkv(queries)
    is_causal = layer.mask.kind == "causal"
    theirs = softmaxed(q @ k.transpose(-1, -2) * SCALE + bias, v, is_causal)
    ours = posenc.attend(layer, q, k, v, score_weights=[weights])
    other = posenc.attend(wrong, q, k, v, score_weights=[weights if wrong_weights is None else wrong_weights])
    must_be(theirs, ours, other, bounds.attended(q, k, v, SCALE, float(bias.abs().max())))


@pytest.mark.parametrize("queries", [TOKENS, 2])
@pytest.mark.parametrize("mask", [CAUSAL, BIDIRECTIONAL], ids=lambda mask: mask.kind)
def test_alibi(mask, queries):
    """Of 6 heads: the slopes of 4, and every second of 8."""
    bias = judge.AlibiPositionalBias(HEADS)(queries, TOKENS).detach()
    term = posenc.Alibi(heads=HEADS, symmetric=mask.kind == "bidirectional")
    wrong = term.replace(max_bias=4.0)
    of_distance(layer_with(term, mask=mask), layer_with(wrong, mask=mask), bias, queries=queries)


@pytest.mark.parametrize("mask", [CAUSAL, BIDIRECTIONAL], ids=lambda mask: mask.kind)
def test_t5(mask):
    is_causal = mask.kind == "causal"
    torch.manual_seed(4)
    theirs = judge.RelativePositionBias(WIDTH**0.5, causal=is_causal, num_buckets=8, max_distance=10, heads=HEADS)
    table = theirs.relative_attention_bias.weight.detach() * theirs.scale
    layer = layer_with(posenc.T5Bias(buckets=8, max_distance=10, bidirectional=not is_causal), mask=mask)
    wrong = layer_with(posenc.T5Bias(buckets=8, max_distance=20, bidirectional=not is_causal), mask=mask)
    of_distance(layer, wrong, theirs(TOKENS, TOKENS).detach(), posenc.T5Weights(table=table))


@pytest.mark.parametrize("logarithmic", [False, True])
@pytest.mark.parametrize("depth", [1, 2])
def test_perceptrons(depth, logarithmic):
    torch.manual_seed(5)
    theirs = judge.DynamicPositionBias(5, heads=HEADS, depth=depth, log_distance=logarithmic)
    linears = [layer for layer in theirs.modules() if isinstance(layer, torch.nn.Linear)]
    weights = posenc.MlpBiasWeights(
        layers=[posenc.Linear(weight=layer.weight.detach(), bias=layer.bias.detach()) for layer in linears]
    )
    layer = layer_with(posenc.MlpBias(logarithmic=logarithmic), mask=BIDIRECTIONAL)
    wrong = layer_with(posenc.MlpBias(logarithmic=not logarithmic), mask=BIDIRECTIONAL)
    of_distance(layer, wrong, theirs(TOKENS, TOKENS).detach(), weights)


# ---- what queries and keys say themselves ----


def test_cope():
    q, k, v = qkv()
    table = 0.3 * random(7, WIDTH, seed=4)
    theirs = judge.CoPE(WIDTH, HEADS, max_pos=7)
    theirs.pos_emb.data = table
    hidden = torch.ones(TOKENS, TOKENS, dtype=torch.bool).triu(1)
    scores = (q @ k.transpose(-1, -2) * SCALE).masked_fill(hidden, -torch.finfo(torch.float32).max)
    judged = softmaxed(scores + theirs(q, scores).detach(), v, is_causal=True)

    def ours(table):
        weights = posenc.CopeWeights(table=table)
        return posenc.attend(layer_with(posenc.ContextualPosition(positions=7)), q, k, v, score_weights=[weights])

    # A place is a sum of up to 11 gates, each off by a quarter of what its score is and by a rounding; the rows that it
    # is between differ by two lengths at most. It is as if the scores were off by so much more.
    rows = 2 * float(q.norm(dim=-1).max()) * float(table.norm(dim=-1).max())
    score = (WIDTH + 2) * SCALE * float(q.norm(dim=-1).max() * k.norm(dim=-1).max()) * bounds.HALF_UNIT
    places = TOKENS * (score / 4 + 2 * TOKENS * bounds.HALF_UNIT)
    bound = bounds.attended(q, k, v, SCALE, rows) + 2 * float(v.abs().max()) * 2 * 2 * places * rows
    must_be(judged, ours(table), ours(table.roll(1, 0)), bound)


def test_forget_gates():
    q, k, v = qkv()
    torch.manual_seed(6)
    theirs = judge.DataDependentAlibi(10, HEADS, bias_init=0.5)
    hidden = random(1, TOKENS, 10, seed=7)
    bias = theirs(hidden).detach()
    gates = theirs.to_forget_gates(hidden).detach()[0].T.contiguous()  # [keys, heads]
    judged = softmaxed(q @ k.transpose(-1, -2) * SCALE + bias, v, is_causal=True)

    def ours(gates):
        return posenc.attend(layer_with(posenc.ForgetGate()), q, k, v, log_forget=gates)

    # A bias is a difference of two sums of 11 gates.
    largest = float(gates.abs().sum(0).max())
    must_be(judged, ours(gates), ours(gates.roll(1, 0)), bounds.attended(q, k, v, SCALE, 2 * TOKENS * largest))
