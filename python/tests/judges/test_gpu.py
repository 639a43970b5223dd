"""posenc.torch and posenc.nn on a GPU, where there is one; else skipped by name."""

from __future__ import annotations

import pytest
import torch

import bounds
import posenc
import posenc.nn as pn
import posenc.torch
import scheme_cases
from scheme_cases import CASES, Arrangement, Call, Random

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="skipped: no CUDA device")
P = posenc
NEAR = Arrangement("near", P.Mask(kind="bidirectional"), batch=2, queries=9, keys=9)
SIZES = {"heads": 4, "kv_heads": 2, "head_dim": 64, "value_dim": 64, "softmax_scale": 0.125}
ROPE = P.Rotate(scheme=P.Rope(pairing="half", head_dim=64, dim=64))
TOKENS = 300


def on_gpu(call):
    layer = P.torch.Layer(call.plan, **scheme_cases.mapped(call.tables, lambda x: x.cuda()))
    q, k, v = (x.cuda().requires_grad_() for x in (call.q, call.k, call.v))
    return layer, q, k, v, {n: x.cuda() if isinstance(x, torch.Tensor) else x for n, x in call.given.items()}


@pytest.mark.parametrize("name", CASES)
def test_composed_is_what_the_cpu_composes(name):
    call = Call(CASES[name], NEAR)
    layer, *qkv, given = on_gpu(call)
    out = P.torch.attend(layer, *qkv, backend="composed", **given)
    plain = [x.detach().cpu().requires_grad_() for x in qkv]
    wanted = P.torch.attend(call.layer(), *plain, backend="composed", **call.given)
    largest = float(wanted.detach().abs().max())
    assert out.is_cuda and float((out.detach().cpu() - wanted.detach()).abs().max()) <= bounds.in_double(
        64 * largest, call.case.terms
    )
    weights = Random(4)(*wanted.shape)
    for one, other in zip(
        torch.autograd.grad((out * weights.cuda()).sum(), qkv), torch.autograd.grad((wanted * weights).sum(), plain)
    ):
        assert float((one.cpu() - other).abs().max()) <= bounds.in_double(
            64 * float(other.abs().max()), 8 * call.case.terms
        )


FLEX = {
    "plain": P.LayerPlan(**SIZES),
    "rope": P.LayerPlan(**SIZES, rotate=(ROPE,)),
    "window with sinks": P.LayerPlan(**SIZES, rotate=(ROPE,), sinks=True, mask=P.Mask(window=P.Window(past=40))),
    "capped": P.LayerPlan(**SIZES, soft_cap=P.SoftCap(cap=3.0), mask=P.Mask(kind="bidirectional")),
    "t5": P.LayerPlan(**SIZES, score=(P.T5Bias(bidirectional=True),), mask=P.Mask(kind="bidirectional")),
    "alibi": P.LayerPlan(**SIZES, score=(P.Alibi(heads=4),)),
    "alibi column": P.LayerPlan(**SIZES, score=(P.Alibi(heads=4, form="column"),)),
    "kerple": P.LayerPlan(**SIZES, score=(P.Kerple(),)),
    "chunks": P.LayerPlan(**SIZES, score=(P.ClippedBias(past=30),), mask=P.Mask(chunk=64)),
}


def tables_of(name, random):
    tables = {
        "window with sinks": {"sinks": random(4)},
        "t5": {"score_weights": [{"table": random(32, 4)}]},
        "kerple": {"score_weights": [{"r1": random.between(0.2, 1.0, 4), "r2": random.between(0.2, 1.0, 4)}]},
        "chunks": {"score_weights": [{"table": random(31, 4)}]},
    }.get(name, {})
    return scheme_cases.mapped(tables, lambda x: x.cuda().float().requires_grad_())


@pytest.mark.parametrize("name", FLEX)
def test_flex_and_its_gradients_are_the_composed_ones(name):
    random = Random(2)
    layer = P.torch.Layer(FLEX[name], **tables_of(name, random))
    q, k, v = (random(2, heads, TOKENS, 64).cuda().float().requires_grad_() for heads in (4, 2, 2))
    assert P.torch.backend_of(layer, q, k, v).backend == "flex"
    weights = random(2, 4, TOKENS, 64).cuda().float()
    read = [q, k, v, *layer.weights]
    made = []
    for backend in ("auto", "composed"):
        out, lse = P.torch.attend(layer, q, k, v, backend=backend, lse=True)
        made.append((out.detach(), lse.detach(), torch.autograd.grad((out * weights).sum(), read)))
    # FlexAttention multiplies float32 in TensorFloat-32 where torch allows it; here it does not.
    (flex, flex_lse, flex_grads), (wanted, wanted_lse, wanted_grads) = made
    bound = bounds.attended(q.detach(), k.detach(), v.detach(), 0.125, 40.0, 1.0)
    assert float((flex - wanted).abs().max()) <= bound
    assert float((flex_lse - wanted_lse).abs().max()) <= bound
    for one, other, of in zip(flex_grads, wanted_grads, ["q", "k", "v", *layer.names]):
        assert float((one - other).abs().max()) <= bounds.trained(float(other.abs().max()), TOKENS), of


def test_packed_sequences():
    random = Random(3)
    plan = FLEX["t5"].replace(rotate=(ROPE,), mask=P.Mask())
    layer = P.torch.Layer(plan, **tables_of("t5", random))
    q, k, v = (random(TOKENS, heads, 64).cuda().float() for heads in (4, 2, 2))
    ends = torch.tensor([0, 100, 101, TOKENS], dtype=torch.int32, device="cuda")
    given = {"cu_seqlens_q": ends, "cu_seqlens_k": ends}
    assert P.torch.backend_of(layer, q, k, v, **given).backend == "flex"
    out = P.torch.attend(layer, q, k, v, **given)
    wanted = P.torch.attend(layer, q, k, v, backend="composed", **given)
    assert float((out - wanted).detach().abs().max()) <= bounds.attended(q, k, v, 0.125, 40.0, 1.0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_types(dtype):
    random = Random(5)
    layer = P.torch.Layer(FLEX["rope"])
    q, k, v = (random(1, heads, TOKENS, 64).cuda().to(dtype) for heads in (4, 2, 2))
    flex, composed = (P.torch.attend(layer, q, k, v, backend=of) for of in ("flex", "composed"))
    assert flex.dtype == composed.dtype == dtype
    # Rotated queries and keys are rounded for FlexAttention, weights for its products, and the output.
    step = {torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}[dtype]
    lengths = 0.125 * float(q.float().norm(dim=-1).max()) * float(k.float().norm(dim=-1).max())
    assert float((flex.float() - composed.float()).abs().max()) <= float(v.abs().max()) * (2 * 2 * lengths + 4) * step


@pytest.mark.parametrize("name", ["t5", "cope", "deberta v2", "several at once"])
def test_compiled_by_inductor(name):
    torch._dynamo.reset()
    call = Call(CASES[name], NEAR)
    layer, q, k, v, given = on_gpu(call)
    graph = torch.compile(lambda q, k, v: P.torch.attend(layer, q, k, v, backend="composed", **given), fullgraph=True)
    out, wanted = graph(q, k, v), P.torch.attend(layer, q, k, v, backend="composed", **given)
    largest = float(wanted.detach().abs().max())
    assert float((out - wanted).detach().abs().max()) <= bounds.in_double(64 * largest, call.case.terms)
    out.sum().backward()
    assert bool(q.grad.isfinite().all())


def test_rotate():
    table = P.torch.Table(P.make_table(ROPE.rope, count=64))
    x = torch.randn(2, 3, 5, 64, requires_grad=True)
    given = torch.tensor([[3, 1, 4, 1, 5]])
    for positions in (7, given):
        moved = x.detach().cuda().requires_grad_()
        on_device = P.torch.rotate(
            moved, table, positions=positions if isinstance(positions, int) else positions.cuda()
        )
        here = P.torch.rotate(x, table, positions=positions)
        assert float((on_device.cpu() - here).detach().abs().max()) <= bounds.rotated(float(x.detach().abs().max()))
        (one,), (other,) = (
            torch.autograd.grad(on_device.square().sum(), moved),
            torch.autograd.grad(here.square().sum(), x),
        )
        assert float((one.cpu() - other).abs().max()) <= 2 * 2 * bounds.rotated(float(x.detach().abs().max()))


def test_a_long_sequence_has_no_matrix_of_queries_times_keys():
    """16384 tokens and 4 heads: a matrix of them would take 4 GiB, and a backward pass several."""
    plan = P.LayerPlan(**SIZES, score=(P.ContextualPosition(positions=32),))
    layer = P.torch.Layer(plan, score_weights=[{"table": torch.randn(32, 64, device="cuda", requires_grad=True)}])
    q, k, v = (torch.randn(1, heads, 16384, 64, device="cuda", requires_grad=True) for heads in (4, 2, 2))
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    P.torch.attend(layer, q, k, v).sum().backward()
    peak = torch.cuda.max_memory_allocated() - before
    print(f"peak beyond inputs: {peak / 2**20:.0f} MiB")
    assert peak < 4 * 2**30 / 2
    assert float(layer.weights[0].grad.abs().max()) > 0


def test_a_module_is_trained():
    torch.manual_seed(0)
    attention = pn.from_plan(FLEX["rope"].replace(score=(P.T5Bias(),)), width=128).cuda()
    x, y = torch.randn(2, TOKENS, 128, device="cuda"), torch.randn(2, TOKENS, 128, device="cuda")
    optimizer = torch.optim.Adam(attention.parameters(), lr=0.01)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = (attention(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0]
    assert float(attention.terms[0].table.grad.abs().max()) > 0
