"""The norm of q and k with RoPE, posenc.torch.normalise: torch's own norms and autograd are the judges."""

from __future__ import annotations

import copy
import itertools
import pickle

import pytest
import torch
from torch.nn import functional

import bounds
import posenc
import posenc.nn
import posenc.torch
from scheme_cases import Random

HEADS, DIM, TOKENS = 3, 8, 5
ROPE = posenc.Rope(
    pairing="half",
    head_dim=DIM,
    dim=6,
    first_channel=2,
    base=100.0,
    scaling=posenc.YarnScaling(factor=4.0, original_max_position_embeddings=16),
)
TABLE = posenc.torch.Table(posenc.make_table(ROPE, count=64))
EPSILON = 1e-5


def eager(x, norm, weight, bias, plus_one, rotates, start):
    """[batch, heads, tokens, head_dim], by torch's norms, and a rotation by complex numbers."""
    made = posenc.frequencies(ROPE)
    angle = torch.arange(start, start + TOKENS).double()[:, None] * torch.tensor(made.inv_freq, dtype=torch.float64)
    turn = torch.polar(torch.full_like(angle, made.attention_factor), angle)

    def rotated(y):
        a, b = y[..., 2:5], y[..., 5:8]
        z = torch.complex(a, b) * turn
        return torch.cat([y[..., :2], z.real, z.imag], -1)

    def normed(y):
        y = y.transpose(1, 2)
        y = y.flatten(-2) if norm.over == "all_heads" else y
        count = y.shape[-1]
        if norm.kind == "layer":
            y = functional.layer_norm(y, (count,), eps=EPSILON)
        elif norm.kind == "rms":
            y = functional.rms_norm(y, (count,), eps=EPSILON)
        else:
            y = y / torch.sqrt(y.square().sum(-1, keepdim=True) + EPSILON)
        y = y.unflatten(-1, (HEADS, DIM)) if norm.over == "all_heads" else y
        if weight is not None:
            of = weight + 1 if plus_one else weight
            y = y * (of if of.numel() == DIM else of.reshape(HEADS, DIM))
        if bias is not None:
            y = y + (bias if bias.numel() == DIM else bias.reshape(HEADS, DIM))
        return y.transpose(1, 2)

    if not rotates:
        return normed(x)
    return rotated(normed(x)) if norm.order == "before" else normed(rotated(x))


def cases():
    kinds = itertools.product(("rms", "l2", "layer"), ("before", "after"), ("head", "all_heads"), (True, False))
    for kind, order, over, rotates in kinds:
        for weights in ("none", "head", "heads", "bias"):
            if (weights == "head" and over == "all_heads") or (weights == "bias" and kind != "layer"):
                continue
            norm = posenc.QkNorm(kind=kind, order=order, over=over, weighted=weights != "none")
            yield pytest.param(norm, weights, rotates, id=f"{kind} {order} {over} {weights} {'rope' if rotates else ''}")


def tensors_of(weights, dtype=torch.float64):
    random = Random(3)
    shape = {"none": None, "head": (DIM,), "heads": (HEADS, DIM), "bias": (HEADS * DIM,)}[weights]
    x = random(2, HEADS, TOKENS, DIM)
    weight = None if shape is None else random.between(0.3, 1.5, *shape)
    bias = random(*shape) if weights == "bias" else None
    return [None if one is None else one.to(dtype).requires_grad_() for one in (x, weight, bias)]


def run(call, tensors, d_out):
    out = call(*tensors)
    given = [one for one in tensors if one is not None]
    return [out.detach(), *torch.autograd.grad(out, given, d_out.to(out.dtype))]


@pytest.mark.parametrize(("norm", "weights", "rotates"), list(cases()))
def test_kernels_and_composed_operations_are_torch_s(norm, weights, rotates):
    plus_one = weights == "heads"
    of = posenc.torch.Norm(norm, epsilon=EPSILON, weight_plus_one=plus_one)
    d_out = Random(4)(2, HEADS, TOKENS, DIM)

    def ours(x, weight, bias, backend="auto"):
        table = TABLE if rotates else None
        return posenc.torch.normalise(
            x, of, weight=weight, bias=bias, table=table, positions=7, backend=backend
        )

    wanted = run(lambda *x: eager(x[0], norm, x[1], x[2], plus_one, rotates, 7), tensors_of(weights), d_out)
    in_double = run(ours, tensors_of(weights), d_out)
    by_kernel = run(lambda *x: ours(*x, backend="kernel"), tensors_of(weights, torch.float32), d_out)
    composed = run(lambda *x: ours(*x, backend="composed"), tensors_of(weights, torch.float32), d_out)
    for made, unit in ((in_double, 2.0**-53), (by_kernel, 2.0**-24), (composed, 2.0**-24)):
        for one, other in zip(made, wanted):
            # Sums over a norm's channels of numbers that are at most 4, times a factor of at most 4, over 30 rows.
            largest = max(1.0, float(other.abs().max()))
            angle = 8 if rotates else 0
            assert one.shape == other.shape
            assert float((one - other).abs().max()) <= 16 * (HEADS * DIM + 16 + angle) * largest * unit
    assert all(float(one.abs().max()) > 0.05 for one in wanted)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_types_and_rows(dtype):
    """[tokens, heads, head_dim], positions of its own, weights of another type; a gradient that is one number."""
    x, weight, _ = tensors_of("head", torch.float32)
    positions = torch.tensor([[3, 9, 1, 40, 2]])
    of = posenc.torch.Norm(posenc.QkNorm(), epsilon=EPSILON)
    rows = x[0].detach().transpose(0, 1)
    short, long = (rows.to(t).requires_grad_() for t in (dtype, torch.float64))
    out = posenc.torch.normalise(short, of, weight=weight, table=TABLE, positions=positions)
    wanted = posenc.torch.normalise(
        short.detach().double().requires_grad_(), of, weight=weight.double(), table=TABLE, positions=positions
    )
    unit = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}[dtype]
    assert out.dtype == dtype and out.shape == long.shape
    assert float((out - wanted).detach().abs().max()) <= 2 * unit * float(wanted.detach().abs().max())
    d_x, d_weight = torch.autograd.grad(out.sum(), [short, weight])
    assert d_x.dtype == dtype and d_weight.dtype == torch.float32 and bool(d_weight.abs().max() > 0)


def test_graphs_devices_transforms_and_second_derivatives():
    torch._dynamo.reset()
    x, weight, _ = tensors_of("head", torch.float32)
    of = posenc.torch.Norm(posenc.QkNorm(), epsilon=EPSILON)

    def normalise(x, weight, backend="auto"):
        return posenc.torch.normalise(x, of, weight=weight, table=TABLE, positions=2, backend=backend)

    out = normalise(x, weight)
    gradients = torch.autograd.grad(out.square().sum(), [x, weight])
    graph = torch.compile(normalise, backend="aot_eager", fullgraph=True)
    for call in (graph, lambda *given: torch.utils.checkpoint.checkpoint(normalise, *given, use_reentrant=False)):
        made = call(x, weight)
        assert torch.equal(made, out)
        assert all(map(torch.equal, torch.autograd.grad(made.square().sum(), [x, weight]), gradients))

    class Module(torch.nn.Module):
        def forward(self, x, weight):
            return normalise(x, weight)

    program = torch.export.export(Module(), (x.detach(), weight.detach()))
    assert torch.equal(program.module()(x.detach(), weight.detach()), out)
    meta = normalise(x.to("meta"), weight.to("meta"))
    assert meta.device.type == "meta" and meta.shape == out.shape
    by_func = torch.func.grad(lambda w: normalise(x.detach(), w).square().sum())(weight.detach())
    assert torch.allclose(by_func, gradients[1], rtol=1e-4)
    each = torch.vmap(lambda one: normalise(one, weight.detach()))(x.detach()[:, None])
    assert float((each[:, 0] - out).detach().abs().max()) <= bounds.in_single(4.0, 32)
    wide = [one.detach().double().requires_grad_() for one in (x[:1, :1, :2], weight)]
    assert torch.autograd.gradcheck(normalise, wide) and torch.autograd.gradgradcheck(normalise, wide)
    of_x = torch.autograd.grad(normalise(x, weight).square().sum(), x, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="backend must be 'composed' for a second derivative"):
        of_x.sum().backward()
    again = torch.autograd.grad(normalise(x, weight, "composed").square().sum(), x, create_graph=True)[0]
    again.sum().backward()


def test_a_norm_is_a_value():
    of = posenc.torch.Norm(posenc.QkNorm(kind="l2"), epsilon=1e-3)
    assert pickle.loads(pickle.dumps(of)) == of == copy.deepcopy(of) and hash(of) == hash(copy.deepcopy(of))
    assert of != posenc.torch.Norm(posenc.QkNorm(kind="l2"), epsilon=1e-4)


@pytest.mark.parametrize("backend", ["kernel", "composed"])
def test_what_is_refused(backend):
    x = torch.randn(2, HEADS, TOKENS, DIM)
    of = posenc.torch.Norm(posenc.QkNorm())
    plain = posenc.torch.Norm(posenc.QkNorm(weighted=False))
    normalise = posenc.torch.normalise
    with pytest.raises(ValueError, match="weight must be given"):
        normalise(x, of, backend=backend)
    with pytest.raises(ValueError, match="weight must be omitted"):
        normalise(x, plain, weight=torch.ones(DIM), backend=backend)
    with pytest.raises(ValueError, match=f"{HEADS} heads of {DIM}"):
        normalise(x, of, weight=torch.ones(DIM + 1), backend=backend)
    with pytest.raises(ValueError, match="bias must be omitted"):
        normalise(x, of, weight=torch.ones(DIM), bias=torch.ones(DIM), backend=backend)
    with pytest.raises(TypeError, match="Norm takes a QkNorm"):
        posenc.torch.Norm("rms")
    with pytest.raises(TypeError, match="norm must be a posenc.torch.Norm"):
        normalise(x, posenc.QkNorm(), backend=backend)
    with pytest.raises(ValueError, match="backend must be 'auto', 'kernel' or 'composed' but is 'gpu'"):
        normalise(x, of, weight=torch.ones(DIM), backend="gpu")
    with pytest.raises(ValueError, match="since a tensor is of torch.float64, but is 'kernel'"):
        normalise(x.double(), of, weight=torch.ones(DIM).double(), backend="kernel")


def test_an_attention_trains_its_norms():
    """By the kernels in float32, of a norm before and after the rotation, as by operations of torch in double."""
    for order in ("before", "after"):
        plan = posenc.LayerPlan(
            heads=4,
            kv_heads=2,
            head_dim=8,
            value_dim=8,
            softmax_scale=8**-0.5,
            rotate=(posenc.Rotate(scheme=posenc.Rope(pairing="half", head_dim=8, dim=8)),),
            qk_norm=posenc.QkNorm(order=order, over="all_heads"),
        )
        torch.manual_seed(1)
        attention = posenc.nn.Attention(plan, 32)
        x, found = torch.randn(2, 6, 32), {}
        for dtype in (torch.float32, torch.float64):
            one = copy.deepcopy(attention).to(dtype)
            one(x.to(dtype)).square().sum().backward()
            found[dtype] = {n: p.grad.double() for n, p in one.named_parameters()}
        for n, wanted in found[torch.float64].items():
            off = float((found[torch.float32][n] - wanted).abs().max())
            assert off <= 1e-4 * max(float(wanted.abs().max()), 0.01), (order, n)
        assert found[torch.float32]["k_norm.weight"].shape == (16,)
