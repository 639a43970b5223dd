"""posenc.torch: its operators as PyTorch checks them, its gradients, its graphs, and FlexAttention as a judge."""

import gc

import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import bounds
import posenc
import posenc.torch

YARN = posenc.Rope(
    pairing="interleaved",
    head_dim=10,
    dim=6,
    first_channel=2,
    scaling=posenc.YarnScaling(factor=4.0, original_max_position_embeddings=32),
)
XPOS = posenc.XPos(rope=posenc.Rope(pairing="half", head_dim=8, dim=8), scale_base=512.0).rope
HEADS, TOKENS = 3, 9


def random(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def table_of(rope):
    return posenc.torch.Table(posenc.make_table(rope, count=32))


@pytest.mark.parametrize("direction", ["forward", "inverse", "transpose"])
@pytest.mark.parametrize("rope", [YARN, XPOS], ids=["yarn", "xpos"])
def test_gradients(rope, direction):
    # The rotation is linear, so a step of 1 is as good as any, and float32 is enough.
    table = table_of(rope)
    x = random(1, 2, 3, rope.head_dim).requires_grad_()
    largest = 2 * float(x.detach().abs().max()) + 1
    assert torch.autograd.gradcheck(
        lambda x: posenc.torch.rotate(x, table, positions=5, direction=direction),
        (x,),
        eps=1.0,
        atol=bounds.gradient(1.2, 1.0, 1.2 * largest),
        rtol=0.0,
    )


def test_backward_is_the_transpose():
    table = table_of(YARN)
    x, g = random(1, 2, 4, 10).requires_grad_(), random(1, 2, 4, 10, seed=2)
    posenc.torch.rotate(x, table, positions=7).backward(g)
    assert torch.equal(x.grad, posenc.torch.rotate(g, table, positions=7, direction="transpose"))
    assert not torch.equal(x.grad, posenc.torch.rotate(g, table, positions=7, direction="inverse"))


def test_operators_are_as_pytorch_wants_them():
    table, layer = table_of(YARN), posenc.torch.Layer(layer_with())
    x, q = random(1, 2, 4, 10), random(1, HEADS, TOKENS, 8)
    checks = ("test_schema", "test_faketensor", "test_autograd_registration")
    places = torch.tensor([[3, 1, 4, 1]])
    for positions in (None, places):
        arguments = (x.clone().requires_grad_(), positions, 0, table.number, "forward")
        torch.library.opcheck(torch.ops.posenc.rotate.default, arguments, test_utils=checks)
        torch.library.opcheck(
            torch.ops.posenc.rotate_.default, (x.clone(), *arguments[1:]), test_utils=checks
        )
    for view in (x.transpose(1, 2), random(1, 4, 2, 30)[..., 10:20].transpose(1, 2), x[:, :1].expand(1, 2, 4, 10)):
        arguments = (view.detach().requires_grad_(), None, 3, table.number, "forward")
        torch.library.opcheck(torch.ops.posenc.rotate.default, arguments, test_utils=checks)
    torch.library.opcheck(
        torch.ops.posenc.attend.default, (q, q, q, None, None, layer.number, 8), test_utils=checks
    )


def test_compiled():
    table, layer = table_of(XPOS), posenc.torch.Layer(layer_with())

    def step(q, k, positions):
        q = posenc.torch.rotate(2 * q, table, positions=positions)
        k = posenc.torch.rotate_(k.clone(), table, positions=3)
        return posenc.torch.attend(layer, q.detach(), k, k), q.sum()

    q, k = random(1, HEADS, TOKENS, 8).requires_grad_(), random(1, HEADS, TOKENS, 8, seed=2)
    positions = torch.arange(3, 3 + TOKENS)[None]
    graph = torch.compile(step, backend="aot_eager", fullgraph=True)
    (expected, total), (given, graph_total) = step(q, k, positions), graph(q, k, positions)
    assert torch.equal(given, expected)
    (gradient,) = torch.autograd.grad(total, q)
    assert torch.equal(torch.autograd.grad(graph_total, q)[0], gradient)


def test_what_is_gone_is_named():
    table = table_of(XPOS)
    number = table.number
    del table
    gc.collect()
    with pytest.raises(ValueError, match="keep it alive"):
        torch.ops.posenc.rotate(random(1, 1, 1, 8), None, 0, number, "forward")


# ---- FlexAttention ----


def layer_with(*terms, **others):
    sizes = {"heads": HEADS, "kv_heads": HEADS, "head_dim": 8, "value_dim": 8}
    return posenc.LayerPlan(**sizes, softmax_scale=0.3, score=terms, **others)


def test_a_prepared_layer_may_be_given():
    weights = [posenc.T5Weights(table=random(32, HEADS, seed=7))]
    layer = layer_with(posenc.T5Bias())
    q, k, v = (random(1, HEADS, TOKENS, 8, seed=seed) for seed in (1, 2, 3))
    prepared = posenc.torch.Layer(posenc.prepare_layer(layer, score_weights=weights))
    graph = torch.compile(lambda q: posenc.torch.attend(prepared, q, k, v), backend="aot_eager", fullgraph=True)
    given = posenc.torch.attend(posenc.torch.Layer(layer, score_weights=weights), q, k, v)
    assert torch.equal(posenc.torch.attend(prepared, q, k, v), given) and torch.equal(graph(q), given)


def linear(outputs, inputs, seed):
    return posenc.Linear(weight=random(outputs, inputs, seed=seed), bias=random(outputs, seed=seed + 1))


def positive(*shape, seed):
    return random(*shape, seed=seed).abs() + 0.1


BIDIRECTIONAL = posenc.Mask(kind="bidirectional")
CASES = {
    "alibi": (layer_with(posenc.Alibi(heads=HEADS)), None),
    "alibi, columns": (layer_with(posenc.Alibi(heads=HEADS, form="column")), None),
    "alibi, both ways": (layer_with(posenc.Alibi(heads=HEADS, symmetric=True), mask=BIDIRECTIONAL), None),
    "t5": (
        layer_with(posenc.T5Bias(buckets=8, max_distance=6, bidirectional=True), mask=BIDIRECTIONAL),
        posenc.T5Weights(table=random(8, HEADS, seed=4)),
    ),
    "clipped": (
        layer_with(posenc.ClippedBias(past=3, future=2), mask=BIDIRECTIONAL),
        posenc.ClippedBiasWeights(table=random(6, HEADS, seed=5)),
    ),
    "kerple": (
        layer_with(posenc.Kerple(form="power")),
        posenc.KerpleWeights(r1=positive(HEADS, seed=6), r2=positive(HEADS, seed=7)),
    ),
    "kerple, logarithmic": (
        layer_with(posenc.Kerple(form="logarithmic")),
        posenc.KerpleWeights(r1=positive(HEADS, seed=6), r2=positive(HEADS, seed=7)),
    ),
    "fire": (
        layer_with(posenc.Fire()),
        posenc.FireWeights(c=2.0, threshold=4.0, hidden=linear(5, 1, 8), out=linear(HEADS, 5, 10)),
    ),
    "sandwich": (layer_with(posenc.Sandwich(heads=HEADS, channels=16)), None),
    "perceptron": (
        layer_with(posenc.MlpBias(logarithmic=True)),
        posenc.MlpBiasWeights(layers=[linear(5, 1, 12), linear(HEADS, 5, 14)]),
    ),
    "alibi, capped": (layer_with(posenc.Alibi(heads=HEADS), soft_cap=posenc.SoftCap(cap=2.0)), None),
}


@pytest.mark.parametrize("case", CASES)
def test_flex_attention(case):
    layer, weights = CASES[case]
    q, k, v = (random(1, HEADS, TOKENS, 8, seed=seed) for seed in (1, 2, 3))
    ours = posenc.torch.attend(posenc.torch.Layer(layer, score_weights=[weights]), q, k, v)
    is_causal = layer.mask.kind == "causal"
    seen = create_block_mask(lambda b, h, i, j: (i >= j) | (not is_causal), None, None, TOKENS, TOKENS, device="cpu")

    def judged(by):
        mod = posenc.torch.score_mod(by, length=TOKENS, score_weights=[weights])
        return flex_attention(q, k, v, score_mod=mod, block_mask=seen, scale=layer.softmax_scale)

    bias = float(posenc.torch._biases(layer, [weights], range(TOKENS), range(TOKENS)).abs().max())
    bound = bounds.attended(q, k, v, layer.softmax_scale, bias)
    assert float((ours - judged(layer)).abs().max()) <= bound
    # Without the bias it is seen that there is one.
    bare = flex_attention(q, k, v, block_mask=seen, scale=layer.softmax_scale)
    assert float((ours - bare).abs().max()) > 100 * bound


def test_score_mod_refuses_what_is_not_of_places():
    with pytest.raises(ValueError, match="places alone"):
        posenc.torch.score_mod(layer_with(posenc.ShawKeys(left=2, right=2)), length=4)
