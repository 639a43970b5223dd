"""posenc.torch: its operators as PyTorch checks them, its gradients and its graphs."""

import gc

import pytest
import torch

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
        arguments = (x.clone().requires_grad_(), positions, 0, table.text, "forward")
        torch.library.opcheck(torch.ops.posenc.rotate.default, arguments, test_utils=checks)
        torch.library.opcheck(
            torch.ops.posenc.rotate_.default, (x.clone(), *arguments[1:]), test_utils=checks
        )
    for view in (x.transpose(1, 2), random(1, 4, 2, 30)[..., 10:20].transpose(1, 2), x[:, :1].expand(1, 2, 4, 10)):
        arguments = (view.detach().requires_grad_(), None, 3, table.text, "forward")
        torch.library.opcheck(torch.ops.posenc.rotate.default, arguments, test_utils=checks)
    t5 = posenc.torch.Layer(layer_with(posenc.T5Bias()), score_weights=[posenc.T5Weights(table=random(32, HEADS))])
    for one in (layer, t5):
        arguments = (q, q, q, None, None, one.weights, one.text, 8)
        torch.library.opcheck(torch.ops.posenc.attend.default, arguments, test_utils=checks)


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


def test_given_values_that_are_gone_are_named():
    half = torch.full((4, 4), 0.5)
    layout = posenc.RotaryLayout(pairing="half", head_dim=8, dim=8)
    table = posenc.torch.Table(posenc.table_from_cos_sin(layout, half, half))
    text, x = table.text, random(1, 1, 4, 8)
    expected = posenc.rotate(x, table=table.table)
    assert torch.equal(torch.ops.posenc.rotate(x, None, 0, text, "forward"), expected)
    del table
    gc.collect()
    with pytest.raises(ValueError, match="given values.*make its posenc.torch.Table first, and keep it alive"):
        torch.ops.posenc.rotate(x, None, 0, text, "forward")


def test_a_text_makes_a_table_again():
    for made in (posenc.make_table(XPOS, start=-3, count=9), posenc.table_on_demand(YARN, length=64)):
        table = posenc.torch.Table(made)
        text, x = table.text, random(1, 1, 4, table.table.layout.head_dim)
        expected = posenc.rotate(x, table=made)
        del table, made
        gc.collect()
        assert torch.equal(torch.ops.posenc.rotate(x, None, 0, text, "forward"), expected)


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
