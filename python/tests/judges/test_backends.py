"""posenc.torch.attend: which backend computes a call, FlexAttention's against the kernels, and what is refused."""

from __future__ import annotations

import math
import re
import typing
from dataclasses import replace

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import fake_cuda
import posenc
import posenc.torch
import scheme_cases
from posenc import _flex_backend, _torch_attend
from posenc._composed import attend as composed
from scheme_bounds import bound_of
from scheme_cases import ARRANGEMENTS, CASES, Arrangement, Call

NEAR = Arrangement("near", posenc.Mask(kind="bidirectional"), batch=2, queries=3, keys=4)


@pytest.fixture(autouse=True)
def no_graphs_of_another_test():
    torch._dynamo.reset()


# ---- which backend ----


def test_the_backend_is_told():
    call = Call(CASES["t5"], NEAR)
    layer, q, k, v = call.layer(torch.float32), call.q.float(), call.k.float(), call.v.float()

    def told(*x, **more):
        return posenc.torch.backend_of(layer, *x, **more)

    assert told(q, k, v).backend == "kernel"
    assert told(q.double(), k, v) == ("composed", "the kernels take float32, float16 and bfloat16")
    assert told(q.clone().requires_grad_(), k, v) == ("kernel", "it is on the CPU")
    assert told(q, k, v, tables=[layer.weights[0].clone().requires_grad_()]).backend == "kernel"
    assert told(q, k, v, backend="flex") == ("flex", "asked for")
    with pytest.raises(ValueError, match="backend must be one of auto, kernel, flex, composed but is 'gpu'"):
        posenc.torch.attend(layer, q, k, v, backend="gpu")
    learned = Call(CASES["alibi learned slopes"], NEAR)
    told = posenc.torch.backend_of(learned.layer(torch.float32), q, k, v, q_positions=1)
    assert told == ("composed", "the kernels take no learned slopes with positions or orders of the call's own")


def test_cope_twice_is_refused():
    """Kernels would sum the gates of one table alone."""
    x, tables = torch.randn(4, 1, 8), [torch.randn(n, 8) for n in (5, 3)]
    terms = tuple(posenc.ContextualPosition(positions=len(table)) for table in tables)
    plan = posenc.LayerPlan(heads=1, kv_heads=1, head_dim=8, value_dim=8, score=terms)
    weights = [posenc.CopeWeights(table=table) for table in tables]
    said = "layer.score must have CoPE once, since gates are summed for one table but is of 2"
    with pytest.raises(ValueError, match=said):
        posenc.attend(plan, x, x, x, score_weights=weights)
    for backend in ("auto", "kernel", "composed"):
        with pytest.raises(ValueError, match=said):
            posenc.torch.attend(posenc.torch.Layer(plan, score_weights=weights), x, x, x, backend=backend)


def test_the_kernel_is_that_of_posenc():
    call = Call(CASES["t5"], Arrangement("scattered", posenc.Mask(), batch=2, places="scattered"))
    layer, q, k, v = call.layer(torch.float32), call.q.float(), call.k.float(), call.v.float()
    weights = [posenc.T5Weights(table=layer.weights[0])]
    wanted = posenc.attend(call.plan, q, k, v, score_weights=weights, **call.given)
    assert torch.equal(posenc.torch.attend(layer, q, k, v, **call.given), wanted)
    graph = torch.compile(
        lambda q: posenc.torch.attend(layer, q, k, v, **call.given), backend="aot_eager", fullgraph=True
    )
    assert torch.equal(graph(q), wanted)


def test_the_kernel_serves_what_is_trained():
    """Parameters, a bias that learns, gates: without a gradient their numbers are read."""
    for name in ("t5", "forget gate", "distance logits"):
        call = Call(CASES[name], NEAR)
        layer = posenc.torch.Layer(call.plan, **scheme_cases.mapped(call.tables, lambda x: x.float().requires_grad_()))
        q, k, v = (x.float().requires_grad_() for x in (call.q, call.k, call.v))
        given = {n: x.float().requires_grad_() if n in scheme_cases.LEARNED else x for n, x in call.given.items()}
        given |= {} if "bias" in given else {"bias": torch.zeros(3, 4, requires_grad=True)}
        with torch.no_grad():
            assert posenc.torch.backend_of(layer, q, k, v, **given).backend == "kernel"
            out = posenc.torch.attend(layer, q, k, v, **given)
        trained = posenc.torch.attend(layer, q, k, v, **given)
        assert out.grad_fn is None and trained.grad_fn is not None
        assert float((out - trained).detach().abs().max()) <= bound_of(call, 2.0**-24)


FLEX_AT = {
    "no positions": [0, 3],
    "alibi": [1, 12],
    "alibi column": [12],
    "t5": [8],
    "t5 both ways": [5],
    "kerple": [7],
    "mlp": [0],
    "rope": [8],
    "sinks": [12],
    "capped": [1],
    "log n": [0],
}


@pytest.mark.filterwarnings("ignore:flex_attention called without")
@pytest.mark.parametrize("name", FLEX_AT)
def test_flex_is_the_kernel_s(name):
    for at in FLEX_AT[name]:
        case, of = CASES[name], replace(ARRANGEMENTS[at], places="by order")
        call = Call(case, of)
        layer, q, k, v = call.layer(torch.float32), call.q.float(), call.k.float(), call.v.float()
        out, lse = posenc.torch.attend(layer, q, k, v, backend="flex", lse=True, **call.given)
        wanted, wanted_lse = posenc.torch.attend(layer, q, k, v, backend="kernel", lse=True, **call.given)
        assert float((out - wanted).abs().max()) <= bound_of(call, 2.0**-24), of.name
        assert torch.equal(lse.isneginf(), wanted_lse.isneginf())


@pytest.mark.parametrize("name", ["t5", "kerple", "mlp", "alibi learned slopes", "sinks", "capped"])
def test_what_flex_is_given_has_gradients(name):
    """FlexAttention has no backward pass on the CPU: its score_mod and mask_mod by plain softmax, in float64."""
    call = Call(CASES[name], replace(ARRANGEMENTS[1], places="by order"))
    layer = call.layer()
    tables = [x.detach().clone().requires_grad_() for x in layer.weights]
    assert tables or name == "capped"
    given = _torch_attend._given(call.given, call.q.device)
    made = composed.Attention(layer.composed, layer.learned(tables), call.q, call.k, call.v, given)
    length = max(call.of.queries, call.of.keys)
    mod = _flex_backend._score_mod(made, *_flex_backend._tables(made, length), length)
    h, i, j = torch.arange(4)[:, None, None], torch.arange(call.of.queries)[:, None], torch.arange(call.of.keys)
    scores = call.plan.softmax_scale * call.q @ call.k.repeat_interleave(2, 1).mT
    scores = scores if mod is None else mod(scores, torch.zeros(1, dtype=torch.int64), h, i, j)
    seen = _flex_backend._mask_mod(made, 0)(torch.zeros(1), h, i, j)
    scores = scores.masked_fill(~seen, -torch.inf)
    out = scores.softmax(-1) @ call.v.repeat_interleave(2, 1)
    if made.sinks is not None:
        out = out * torch.sigmoid(scores.logsumexp(-1) - made.sinks[..., 0])[..., None]
    wanted = posenc.torch.attend(layer, call.q, call.k, call.v, tables=tables, backend="composed", **call.given)
    bound = bound_of(call, 2.0**-53)
    assert float((out - wanted).detach().abs().max()) <= bound
    weights = scheme_cases.Random(3)(*out.shape)
    gradients = [torch.autograd.grad((of * weights).sum(), tables) for of in (out, wanted)] if tables else []
    for one, other in zip(*gradients):
        assert float(other.abs().max()) > 0 and float((one - other).abs().max()) <= 100 * bound


def test_flex_says_what_it_cannot():
    for name, why in (
        ("cope", "depend on more than places"),
        ("grid", "more than places"),
        ("dual chunk", "regions"),
        ("xpos", "xPos"),
        ("shaw values", "values"),
    ):
        call = Call(CASES[name], NEAR)
        layer, q, k, v = call.layer(torch.float32), call.q.float(), call.k.float(), call.v.float()
        with pytest.raises(ValueError, match=f"backend must be 'composed' or 'auto' but is 'flex', .*{why}"):
            posenc.torch.attend(layer, q, k, v, backend="flex", **call.given)
    call = Call(CASES["t5"], NEAR)
    with pytest.raises(ValueError, match="no backward pass on the CPU"):
        posenc.torch.attend(
            call.layer(torch.float32), call.q.float().requires_grad_(), call.k.float(), call.v.float(), backend="flex"
        )


# ---- what is refused ----


def wrong_calls():
    """(what, case, change of q, k, v and inputs)"""
    T = torch
    yield "rank", "t5", lambda q, k, v, g: (q[0, 0], k, v, g)
    yield "heads", "t5", lambda q, k, v, g: (q[:, :3], k, v, g)
    yield "channels", "t5", lambda q, k, v, g: (q, k[..., :5], v, g)
    yield "ranks differ", "t5", lambda q, k, v, g: (q, k[0].transpose(0, 1), v, g)
    yield "batch", "t5", lambda q, k, v, g: (q, k[:1], v, g)
    yield "tokens", "t5", lambda q, k, v, g: (q, k, v[:, :, :2], g)
    yield "mask shape", "t5", lambda q, k, v, g: (q, k, v, {"attn_mask": T.ones(3, 3, dtype=T.bool)})
    yield "bias rank", "t5", lambda q, k, v, g: (q, k, v, {"bias": T.ones(3)})
    yield "positions", "t5", lambda q, k, v, g: (q, k, v, {"q_positions": T.arange(5)})
    yield "far", "t5", lambda q, k, v, g: (q, k, v, {"q_positions": T.tensor([1, 2**60, 3])})
    yield "orders", "t5", lambda q, k, v, g: (q, k, v, {"k_order": T.arange(3)})
    yield "between", "t5", lambda q, k, v, g: (q, k, v, {"q_positions": T.tensor([0.5, 1.0, 2.0], dtype=T.float64)})
    yield "prefix", "t5", lambda q, k, v, g: (q, k, v, {"prefix": 2})
    yield "segments", "t5", lambda q, k, v, g: (q, k, v, {"q_segments": T.zeros(6, dtype=T.int32)})
    yield "forget", "t5", lambda q, k, v, g: (q, k, v, {"log_forget": T.zeros(8, 4)})
    yield "gate", "t5", lambda q, k, v, g: (q, k, v, {"row_gate": T.zeros(6, 4)})
    yield (
        "packed",
        "t5",
        lambda q, k, v, g: (q, k, v, {f"cu_seqlens_{n}": T.tensor([0, 3], dtype=T.int32) for n in "qk"}),
    )
    yield "no gate", "t5 gated, of an axis", lambda q, k, v, g: (q, k, v, {})
    yield "no forget", "forget gate", lambda q, k, v, g: (q, k, v, {})
    yield "no logits", "distance logits", lambda q, k, v, g: (q, k, v, {})
    yield "no segments", "xlnet", lambda q, k, v, g: (q, k, v, {})
    yield "odd batch", "xlnet", lambda q, k, v, g: (q[:1], k[:1], v[:1], {})
    yield "regions rotated", "rerope", lambda q, k, v, g: (q, k, v, {"q_rotated": True})
    yield "grid", "grid", lambda q, k, v, g: (q, k, v, {"q_positions": T.tensor([[0, 1, 30], [0, 1, 2]])})
    yield (
        "shaw between",
        "shaw",
        lambda q, k, v, g: (q, k, v, {"k_positions": T.tensor([0.0, 1, 2, 3.5], dtype=T.float64)}),
    )
    yield "before 0", "log n", lambda q, k, v, g: (q, k, v, {"q_positions": T.tensor([-4, 1, 2])})


# Only numbers say so, and tensors of the meta device, or fake ones, have none.
IN_NUMBERS = {"far", "between", "grid", "shaw between", "before 0"}
CANNOT = r"\[attend\] backend must be 'composed' or 'auto' but is 'flex', which does not compute this call: "


def on_fake_device(x):
    return torch.empty(x.shape, dtype=x.dtype, device="cuda") if isinstance(x, torch.Tensor) else x


@pytest.mark.parametrize(("what", "name", "change"), [pytest.param(*one, id=one[0]) for one in wrong_calls()])
def test_bad_calls_are_refused_in_the_kernels_words(what, name, change):
    """Whichever path computes the call: with a gradient and without, composed, by FlexAttention (which may say that it
    has no such call), on the meta device, and traced for CUDA."""
    call = Call(CASES[name], NEAR)
    layer = call.layer(torch.float32)
    q, k, v, given = change(call.q.float(), call.k.float(), call.v.float(), call.given)
    attend = posenc.torch.attend

    def said(run):
        with pytest.raises(ValueError) as problem:
            run()
        return str(problem.value)

    def elsewhere(move):
        there = posenc.torch.Layer(call.plan, **scheme_cases.mapped(call.tables, move))
        return attend(there, *(move(x) for x in (q, k, v)), **{n: move(x) for n, x in given.items()})

    def on_fake_cuda():
        with FakeTensorMode(), fake_cuda.by_operators(), torch.no_grad():
            return elsewhere(on_fake_device)

    wanted = said(lambda: attend(layer, q, k, v, backend="kernel", **given))
    assert said(lambda: attend(layer, q, k, v, backend="composed", **given)) == wanted
    assert said(lambda: attend(layer, q.clone().requires_grad_(), k, v, **given)) == wanted
    by_flex = said(lambda: attend(layer, q, k, v, backend="flex", **given))
    assert by_flex == wanted or re.match(CANNOT, by_flex)
    if what not in IN_NUMBERS:
        assert said(lambda: elsewhere(lambda x: x.to("meta") if isinstance(x, torch.Tensor) else x)) == wanted
        assert said(on_fake_cuda) == wanted


@pytest.mark.parametrize("name", ["heads", "positions", "far", "no gate"])
def test_bad_calls_are_refused_in_graphs(name):
    torch._dynamo.reset()
    _, case, change = next(one for one in wrong_calls() if one[0] == name)
    call = Call(CASES[case], NEAR)
    layer = call.layer(torch.float32)
    q, k, v, given = change(call.q.float(), call.k.float(), call.v.float(), call.given)
    said = []
    graph = torch.compile(
        lambda q, k, v: posenc.torch.attend(layer, q, k, v, **given), backend="aot_eager", fullgraph=True
    )
    for run in (graph, lambda q, k, v: posenc.torch.attend(layer, q, k, v, backend="kernel", **given)):
        with pytest.raises(ValueError) as problem:
            run(q, k, v)
        said.append(str(problem.value))
    assert said[0] == said[1]


def wrong_layers():
    plan, t5 = posenc.LayerPlan(**scheme_cases.SIZES), {"table": torch.zeros(8, 4)}
    bias = posenc.T5Bias(buckets=8, max_distance=20)
    yield "kind", plan.replace(kind="linear_attention"), {}
    yield "kv heads", plan.replace(kv_heads=3), {}
    yield "no table", plan.replace(score=(bias,)), {}
    yield "table shape", plan.replace(score=(bias,)), {"score_weights": [{"table": torch.zeros(7, 4)}]}
    yield "too many", plan.replace(score=(bias,)), {"score_weights": [t5, t5]}
    yield "buckets", plan.replace(score=(bias.replace(buckets=1),)), {"score_weights": [{"table": torch.zeros(1, 4)}]}
    yield "no sinks", plan.replace(sinks=True), {}
    yield "sinks", plan, {"sinks": torch.zeros(4)}
    yield "alibi heads", plan.replace(score=(posenc.Alibi(heads=3),)), {}
    yield "cap", plan.replace(soft_cap=posenc.SoftCap(cap=-1.0)), {}
    yield "chunk", plan.replace(mask=posenc.Mask(chunk=0)), {}
    yield "region", plan.replace(regions=posenc.ReRope(window=4)), {}
    yield "values", plan.replace(value=posenc.RotatedValues()), {}
    yield (
        "kerple",
        plan.replace(score=(posenc.Kerple(),)),
        {"score_weights": [{"r1": -torch.ones(4), "r2": torch.ones(4)}]},
    )
    fire = {"c": -1.0, "threshold": 1.0, "hidden": {"weight": torch.ones(3, 1)}, "out": {"weight": torch.ones(4, 3)}}
    yield "fire", plan.replace(score=(posenc.Fire(),)), {"score_weights": [fire]}


@pytest.mark.parametrize(("plan", "weights"), [pytest.param(p, w, id=what) for what, p, w in wrong_layers()])
def test_bad_layers_are_refused_in_the_kernels_words(plan, weights):
    layer = posenc.torch.Layer(plan, **weights)
    call = Call(CASES["no positions"], NEAR)
    q, k, v = call.q.float(), call.k.float(), call.v.float()
    if plan.value is not None:
        v = torch.zeros(2, 2, 4, plan.value_dim)
    said = []
    for backend in ("kernel", "composed"):
        with pytest.raises(ValueError) as problem:
            posenc.torch.attend(layer, q, k, v, backend=backend)
        said.append(str(problem.value))
    assert said[0] == said[1]


def test_learned_numbers_that_left_their_range_are_refused():
    """Not by their layer, which was sound when it was made."""
    call = Call(CASES["kerple"], NEAR)
    layer = call.layer()
    layer.weights[0].copy_(-layer.weights[0])
    with pytest.raises(ValueError, match=r"r1 must be at least 0, as training clamps it but is -"):
        posenc.torch.attend(layer, call.q, call.k, call.v)
    fire = Call(CASES["fire"], NEAR)
    layer = fire.layer()
    layer.weights[layer.names.index("score_weights.0.c")].fill_(-1.0)
    with pytest.raises(ValueError, match=r"weights.score\[0\] must have c and threshold above 0 but is otherwise"):
        posenc.torch.attend(layer, fire.q, fire.k, fire.v)


def test_a_layer_is_copied_and_pickled_with_what_is_learned():
    import copy
    import pickle

    call = Call(CASES["several at once"], NEAR)
    layer = call.layer()
    out = posenc.torch.attend(layer, call.q, call.k, call.v, **call.given)
    for again in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert again == layer and again.names == layer.names
        assert torch.equal(posenc.torch.attend(again, call.q, call.k, call.v, **call.given), out)
    assert typing.cast(list, layer.names) == [
        "score_weights.0.table",
        "score_weights.1.table",
        "score_weights.2.table",
        "value_weights.table",
        "sinks",
    ]
    assert not math.isnan(float(out.sum()))
