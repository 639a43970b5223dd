"""Learned slopes and frequencies by the kernels: what operations of torch give, forward and backward.
How fast: `bench/python training/slopes training/frequencies`.

The composed path is the judge, in float64; what it is held to is in test_composed.py.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch

import bounds
import posenc
import posenc.nn
import posenc.torch
import scheme_cases
from scheme_bounds import bound_of
from scheme_cases import ARRANGEMENTS, HEAD_DIM, HEADS, Call, Random, half

P = posenc
ALIBI = {"heads": HEADS}


def slopes(random):
    return {"slopes": random.between(-0.3, 0.6, HEADS)}


def frequencies(random, pairs=HEAD_DIM // 2):
    return {"inv_freq": [random.between(0.1, 1.0, pairs)]}


def rotated(name, *ropes, tables=frequencies, **more):
    plan = P.LayerPlan(**{**scheme_cases.SIZES, "rotate": tuple(P.Rotate(scheme=one) for one in ropes), **more})
    return scheme_cases.Case(name, plan, tables, real=True, kernel=False)


CALLS = {
    "slopes": scheme_cases._term("slopes", P.Alibi(**ALIBI), slopes, kernel=False),
    "slopes both ways": scheme_cases._term("slopes both ways", P.Alibi(**ALIBI, symmetric=True), slopes, kernel=False),
    "slopes scaled": scheme_cases._term("slopes scaled", P.Alibi(**ALIBI, scaled=True), slopes, kernel=False),
    "slopes, and a rotation": rotated(
        "slopes, and a rotation",
        half(),
        tables=lambda r: {"score_weights": [None, {"slopes": r.between(0.1, 0.6, HEADS)}], **frequencies(r)},
        score=(P.Sandwich(heads=HEADS, channels=10), P.Alibi(**ALIBI)),
        soft_cap=P.SoftCap(cap=3.0),
    ),
    "frequencies": rotated("frequencies", half()),
    "frequencies interleaved, of some channels": rotated(
        "frequencies interleaved, of some channels",
        half(pairing="interleaved", dim=4, first_channel=2, scaling=scheme_cases.YARN),
        tables=lambda r: frequencies(r, 2),
    ),
    "frequencies of two axes": rotated("frequencies of two axes", half(**scheme_cases.AXES)),
    "frequencies of one of two rotations": rotated(
        "frequencies of one of two rotations",
        half(dim=4),
        half(pairing="interleaved", dim=4, first_channel=4, base=50.0),
        tables=lambda r: {"inv_freq": [None, r.between(0.1, 1.0, 2)]},
    ),
    "clockwise": rotated("clockwise", half(rotation_direction="clockwise")),
}


def by(call, backend, dtype):
    """Output, lse, and gradients of q, k, v and the tables."""
    layer = call.layer(dtype)
    tables = [x.detach().clone().requires_grad_() for x in layer.weights]
    tensors = [x.to(dtype, copy=True).requires_grad_() for x in (call.q, call.k, call.v)]
    given = {n: x.to(dtype) if n in scheme_cases.LEARNED else x for n, x in call.given.items()}
    out, lse = posenc.torch.attend(layer, *tensors, tables=tables, backend=backend, lse=True, **given)
    d_out, d_lse = Random(11)(*out.shape).to(dtype), Random(12)(*lse.shape).to(dtype)
    loss = (out * d_out).sum() + (torch.where(lse.isneginf(), 0.0, lse) * d_lse).sum()
    gradients = torch.autograd.grad(loss, [*tensors, *tables], allow_unused=True)
    return out.detach(), lse.detach(), gradients, d_out


def assert_as_near(one, other, exact, what):
    """`one` is off by at most 4 times what `other` is off, and 4 roundings of the largest."""
    off, allowed = (float((x.double() - exact).abs().max()) for x in (one, other))
    assert off <= 4 * (allowed + 2.0**-24 * float(exact.abs().max())), (what, off, allowed)


@pytest.mark.parametrize("name", CALLS)
def test_the_kernels_give_what_composed_operations_give(name):
    compared = 0
    for of in ARRANGEMENTS[::2]:
        if not scheme_cases.fits(CALLS[name], of) or of.places == "far":
            continue
        call = Call(CALLS[name], of, 3)
        layer = call.layer(torch.float32)
        told = posenc.torch.backend_of(layer, *(x.float() for x in (call.q, call.k, call.v)), **call.given)
        if told.backend != "kernel":
            assert "learned slopes with positions or orders" in told.reason and layer.numbers.terms
            continue
        compared += 1
        out, lse, gradients, d_out = by(call, "auto", torch.float32)
        wanted, wanted_lse, of_wanted, _ = by(call, "composed", torch.float64)
        assert float((out - wanted).abs().max()) <= bound_of(call, 2.0**-24), of.name
        assert torch.equal(lse.isneginf(), wanted_lse.isneginf())
        # A rotation and a bias move a score by what a place is large; a frequency's gradient is times it too.
        far = max([1.0, *(float(x.abs().max()) for n, x in call.given.items() if n.endswith("_positions") and torch.is_tensor(x))])
        place = max(far, float(call.k.shape[-2]))
        bound = bounds.attended_gradient(call.q, call.k, call.v, d_out, scheme_cases.SCALE, 4.0 * place)
        for at, (one, other) in enumerate(zip(gradients, of_wanted)):
            if other is None:
                assert one is None or float(one.abs().max()) == 0.0
                continue
            rows = call.q.shape[-2] * HEADS * 2
            room = bound if at < 3 else bound * rows * place
            assert one.shape == other.shape and float((one - other).abs().max()) <= room, (of.name, at)
            assert float(other.abs().max()) > 0 or at >= 3
    assert compared >= 3


def test_gradients_of_slopes_and_frequencies_are_near():
    """As near as those of torch's operations in float32: the bounds above are worst cases."""
    for name in CALLS:
        call = Call(CALLS[name], replace(ARRANGEMENTS[0], places="by order", batch=2, queries=9, keys=9), 4)
        _, _, ours, _ = by(call, "auto", torch.float32)
        _, _, by_operations, _ = by(call, "composed", torch.float32)
        _, _, wanted, _ = by(call, "composed", torch.float64)
        for one, other, exact in zip(ours[3:], by_operations[3:], wanted[3:]):
            if exact is not None:
                assert_as_near(one, other, exact, name)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_types(dtype):
    """q and k are rounded once more, when they are rotated: a few of their roundings of what float32 gives."""
    for name in ("slopes", "frequencies"):
        call = Call(CALLS[name], replace(ARRANGEMENTS[0], places="by order"), 4)
        layer = call.layer(torch.float32)
        q, k, v = (x.to(dtype) for x in (call.q, call.k, call.v))
        out = posenc.torch.attend(layer, q, k, v, **call.given)
        wanted = posenc.torch.attend(layer, q.double(), k.double(), v.double(), backend="composed", **call.given)
        unit = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}[dtype]
        lengths = scheme_cases.SCALE * float(call.q.norm(dim=-1).max()) * float(call.k.norm(dim=-1).max())
        assert out.dtype == dtype
        assert float((out - wanted).abs().max()) <= float(call.v.abs().max()) * unit * (4 * lengths + 1)


def test_what_is_told_and_refused():
    call = Call(CALLS["slopes"], replace(ARRANGEMENTS[0], places="by order"), 4)
    layer, q, k, v = call.layer(torch.float32), *(x.float() for x in (call.q, call.k, call.v))
    told = posenc.torch.backend_of
    assert told(layer, q, k, v) == ("kernel", "it is on the CPU")
    assert told(layer, q, k, v, k_positions=2).backend == "composed"
    with pytest.raises(ValueError, match="backend must be 'composed' for learned slopes with positions or orders of the call"):
        posenc.torch.attend(layer, q, k, v, k_positions=2, backend="kernel")
    for scheme, more, reason in (
        (P.XPos(rope=half(pairing="interleaved"), scale_base=16.0), {}, "learned frequencies of xPos"),
        (half(), {"regions": P.SelfExtend(group=3, window=4)}, "learned frequencies of regions"),
        (half(), {"value_dim": HEAD_DIM, "value": P.RotatedValues()}, "learned frequencies of values"),
        (half(), {"qk_norm": P.QkNorm(order="after")}, "learned frequencies before a norm"),
    ):
        plan = P.LayerPlan(**{**scheme_cases.SIZES, "rotate": (P.Rotate(scheme=scheme),), **more})
        rotating = posenc.torch.Layer(plan, inv_freq=[torch.ones(HEAD_DIM // 2, requires_grad=True)])
        assert told(rotating, q, k, v) == ("composed", f"the kernels take no {reason}")
    columns = P.LayerPlan(**scheme_cases.SIZES, score=(P.Alibi(**ALIBI, form="column"),))
    of = posenc.torch.Layer(columns, score_weights=[{"slopes": torch.ones(HEADS)}])
    assert told(of, q, k, v) == ("composed", "the kernels take no learned slopes of columns")
    # Numbers that stand for a call's own in the text of a layer.
    far = P.LayerPlan(**scheme_cases.SIZES, score=(P.Alibi(**ALIBI),), mask=P.Mask(window=P.Window(past=1234567891)))
    of = posenc.torch.Layer(far, score_weights=[{"slopes": torch.ones(HEADS)}])
    assert told(of, q, k, v) == ("composed", "the kernels take no learned slopes beside the number 1234567891 or 1987654321")


def test_what_nobody_sees_may_be_nan():
    call = Call(CALLS["frequencies"], replace(ARRANGEMENTS[0], places="by order", batch=2, queries=6, keys=6), 4)
    layer = call.layer(torch.float32)
    shown = torch.ones(2, 1, 1, 6, dtype=torch.bool)
    shown[1, ..., :2] = False  # padding on the left: its keys are hidden, its queries see nothing
    found = []
    for hidden in (0.0, float("nan")):
        q, k, v = (x.float().clone() for x in (call.q, call.k, call.v))
        for x in (q, k, v):
            x[1, :, :2] = hidden
        inv_freq = layer.weights[0].detach().clone().requires_grad_()
        q.requires_grad_()
        out = posenc.torch.attend(layer, q, k, v, tables=[inv_freq], attn_mask=shown)
        assert posenc.torch.backend_of(layer, q, k, v, tables=[inv_freq], attn_mask=shown).backend == "kernel"
        d_out = Random(11)(*out.shape).float()
        found.append(torch.autograd.grad((torch.where(out.isnan(), 0.0, out) * d_out).sum(), [inv_freq]))
    # Of keys that are not finite the kernels make tiles in another way: the last bits are others.
    assert bool(found[1][0].isfinite().all()) and torch.allclose(found[0][0], found[1][0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["slopes", "frequencies", "slopes, and a rotation"])
def test_graphs(name):
    """Compiled as one graph, exported, checkpointed: the same bits."""
    torch._dynamo.reset()
    call = Call(CALLS[name], replace(ARRANGEMENTS[0], places="by order"), 4)
    layer = call.layer(torch.float32)
    q, k, v = (x.float() for x in (call.q, call.k, call.v))
    tables = [x.detach().clone().requires_grad_() for x in layer.weights]

    def attend(q, k, v, *tables):
        return posenc.torch.attend(layer, q, k, v, tables=list(tables))

    wanted = attend(q, k, v, *tables)
    of = torch.autograd.grad(wanted.square().sum(), tables)
    graph = torch.compile(attend, backend="aot_eager", fullgraph=True)
    for run in (graph, lambda *x: torch.utils.checkpoint.checkpoint(attend, *x, use_reentrant=False)):
        made = run(q, k, v, *tables)
        assert torch.equal(made, wanted)
        assert all(map(torch.equal, torch.autograd.grad(made.square().sum(), tables), of))

    class Module(torch.nn.Module):
        def forward(self, q, k, v):
            return posenc.torch.attend(layer, q, k, v)

    with torch.no_grad():
        program = torch.export.export(Module(), (q, k, v))
        assert torch.equal(program.module()(q, k, v), wanted)
    meta = posenc.torch.attend(layer, *(x.to("meta") for x in (q, k, v)), tables=[x.to("meta") for x in tables])
    assert meta.shape == wanted.shape and meta.device.type == "meta"


def test_modules_train_by_the_kernels():
    """Every gradient of a model's layer, held to float64 as those of operations of torch in float32 are."""
    size = {"heads": 8, "kv_heads": 8, "head_dim": 64, "value_dim": 64, "softmax_scale": 0.125}
    rope = P.Rope(pairing="half", head_dim=64, dim=64)
    plans = {
        "slopes": P.LayerPlan(**size, score=(P.Alibi(heads=8),)),
        "frequencies": P.LayerPlan(**size, rotate=(P.Rotate(scheme=rope),)),
    }
    for name, plan in plans.items():
        torch.manual_seed(0)
        options = {"learned_frequencies": True} if name == "frequencies" else {"term_options": {"learned": True}}
        attention = posenc.nn.Attention(plan, 512, **options)
        x = torch.randn(1, 96, 512)

        def gradients(of, backend, x):
            of.backend = backend
            of.zero_grad()
            of(x).square().mean().backward()
            return {n: p.grad.double() for n, p in of.named_parameters()}

        wanted = gradients(copy.deepcopy(attention).double(), "composed", x.double())
        by_operations = gradients(copy.deepcopy(attention), "composed", x)
        ours = gradients(attention, "auto", x)
        assert len(ours) == 5
        for n, exact in wanted.items():
            assert_as_near(ours[n], by_operations[n], exact, (name, n))
