"""Derivatives in forward mode and by torch.func: right, or refused; never 0 without a word."""

import pytest
import torch
from torch.autograd import forward_ad

import posenc
import posenc.torch
import posenc.transformers
from posenc.conformance.families import FAMILIES

BY_TITLE = {family.title: family for family in FAMILIES}
YARN = posenc.YarnScaling(factor=4.0, original_max_position_embeddings=16)
TABLE = posenc.torch.Table(
    posenc.make_table(posenc.Rope(pairing="half", head_dim=8, dim=6, scaling=YARN), count=16)
)
LAYER = posenc.torch.Layer(posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8))
torch.manual_seed(0)
X, V = torch.randn(3, 2, 8), torch.randn(3, 2, 8)
DIRECTIONS = ["forward", "inverse", "transpose"]


def rotation(direction):
    return lambda x: posenc.torch.rotate(x, TABLE, positions=2, direction=direction)


def near(one, other):
    return torch.allclose(one, other, rtol=0, atol=1e-5) and one.abs().max() > 0.1


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_tangent_is_rotated_as_x_is(direction):
    f = rotation(direction)
    truth = f(V)
    assert near(torch.func.jvp(f, (X,), (V,))[1], truth)
    with forward_ad.dual_level():
        assert near(forward_ad.unpack_dual(f(forward_ad.make_dual(X, V))).tangent, truth)
    assert near(torch.func.linearize(f, X)[1](V), truth)
    nested = torch.func.jvp(lambda x: torch.func.jvp(lambda y: f(x) * y, (V,), (V,))[1], (X,), (V,))[1]
    assert near(nested, truth * V)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_jacobians_agree(direction):
    f = rotation(direction)
    forward, backward = torch.func.jacfwd(f)(X), torch.func.jacrev(f)(X)
    assert near(forward, backward) and near((forward * V).sum((-1, -2, -3)), f(V))
    x = X.clone().requires_grad_()
    (f(x) * V).sum().backward()
    assert near(torch.func.grad(lambda x: (f(x) * V).sum())(X), x.grad)
    assert near(torch.func.vmap(f, in_dims=1, out_dims=1)(torch.stack([X, V], 1)), torch.stack([f(X), f(V)], 1))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: posenc.torch.attend(LAYER, x, x, x, backend="kernel"),
        lambda x: posenc.torch.rotate_(x.clone(), TABLE),
        lambda x: torch.ops.posenc.rotate(x, None, 0, TABLE.text, "forward"),
    ],
)
def test_what_has_no_forward_derivative_refuses(call):
    with pytest.raises(NotImplementedError, match="has no forward-mode derivative"):
        torch.func.jvp(call, (X,), (V,))


@pytest.mark.parametrize("graph", [False, True])
def test_attention_has_a_forward_derivative_by_composed_operations(graph):
    def attend(x):
        return posenc.torch.attend(LAYER, x, x, x)

    # In double, where a step of 1e-5 leaves 1e-10 of the third derivative, and rounds by 1e-11.
    x, v, step = X.double(), V.double(), 1e-5
    truth = (attend(x + step * v) - attend(x - step * v)) / (2 * step)
    call = torch.compile(attend, backend="aot_eager") if graph else attend
    assert near(torch.func.jvp(call, (X,), (V,))[1], truth.float())
    with forward_ad.dual_level():
        assert near(forward_ad.unpack_dual(call(forward_ad.make_dual(X, V))).tangent, truth.float())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_derivative_is_right_or_refused(backend):
    f = rotation("inverse")
    compiled = torch.compile(lambda x, v: torch.func.jvp(f, (x,), (v,))[1], backend=backend)
    try:
        given = compiled(X, V)
    except NotImplementedError as error:
        assert "has no forward-mode derivative" in str(error)
        return
    assert near(given, f(V))


def forward(model, inputs):
    """The derivative of logits along ones, of embeddings."""
    x = model.get_input_embeddings()(inputs["input_ids"]).detach()
    with forward_ad.dual_level():
        logits = model(inputs_embeds=forward_ad.make_dual(x, torch.ones_like(x)))[0]
        return forward_ad.unpack_dual(logits).tangent


@pytest.mark.parametrize("title", ["llama", "bloom"])
def test_a_model_in_use_refuses_forward_mode(title):
    """Its attention has no derivative; what the logits' was lacked it."""
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    with posenc.transformers.use(model):
        with pytest.raises(NotImplementedError, match=r"\[attention\] has no forward-mode derivative"):
            forward(model, inputs)


def test_rotation_alone_in_a_model_has_one(monkeypatch):
    """Where attention is the model's own."""
    model, inputs = BY_TITLE["llama"].model(), BY_TITLE["llama"].inputs()
    truth = forward(model, inputs)
    monkeypatch.setattr(posenc.transformers, "attention_layers", lambda modules, plan: [])
    monkeypatch.setattr(posenc.transformers, "_look_attention_up", lambda undo, part: None)
    with posenc.transformers.use(model, angles="float32") as changed:
        assert changed.rotary and not changed.attention
        given = forward(model, inputs)
    assert torch.allclose(given, truth, rtol=1e-4, atol=1e-4 * float(truth.abs().max()))
