"""posenc.torch.attend in operations of torch: every scheme against the float64 reference and the kernels, its gradients,
its graphs, other devices, and what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import bounds
import fake_cuda
import posenc
import posenc.torch
import scheme_cases
from posenc._composed import attend as composed
from posenc._composed import layer as stages
from posenc._composed.query_scale import SCALES
from posenc._composed.regions import REGIONS
from posenc._composed.values import VALUES
from scheme_bounds import bound_of
from scheme_cases import ARRANGEMENTS, CASES, Arrangement, Call

SMALL = Arrangement("small", posenc.Mask(), batch=2, queries=4, keys=5, places="scattered")
NEAR = Arrangement("near", posenc.Mask(kind="bidirectional"), batch=2, queries=3, keys=4)
ratios: list[float] = []


@pytest.fixture
def chunks_of_three(monkeypatch):
    monkeypatch.setattr(composed, "SCORES", 1)
    monkeypatch.setattr(composed, "LEAST_ROWS", 3)


def calls_of(case, seed=1):
    for of in ARRANGEMENTS:
        learned_and_packed = not case.kernel and "packed" in of.name
        if scheme_cases.fits(case, of) and not learned_and_packed:
            yield Call(case, of, seed)


# ---- no scheme is forgotten ----


@pytest.mark.parametrize(
    ("member", "table"), [("score", stages.TERMS), ("regions", REGIONS), ("value", VALUES), ("query_scale", SCALES)]
)
def test_every_scheme_has_a_form(member, table):
    taken = scheme_cases.values_taken(member)
    assert len(taken) >= 2
    assert taken == {kind for kind in table if kind is not type(None)}
    tried = set()
    for case in CASES.values():
        held = getattr(case.layer, member)
        tried |= {type(one) for one in (held if member == "score" else (held,))}
    assert taken <= tried


def test_a_scheme_without_a_form_is_refused(monkeypatch):
    monkeypatch.delitem(stages.TERMS, posenc.ForgetGate)
    with pytest.raises(ValueError, match=r"ForgetGate must have a form in torch's operations"):
        stages.ComposedLayer(posenc.LayerPlan(**scheme_cases.SIZES, score=(posenc.ForgetGate(),)))


# ---- values ----


@pytest.mark.parametrize("name", CASES)
def test_outputs_are_the_reference_s(name, chunks_of_three):
    for call in calls_of(CASES[name]):
        wanted, wanted_lse = call.reference(lse=True)
        bound = bound_of(call, 2.0**-53)
        for scores in (1, 2**24):
            composed.SCORES = scores
            out, lse = posenc.torch.attend(
                call.layer(), call.q, call.k, call.v, backend="composed", lse=True, **call.given
            )
            assert out.shape == wanted.shape and out.dtype == torch.float64
            off = float((out - wanted).abs().max())
            assert off <= bound, call.of.name
            ratios.append(off / bound)
            seen = ~wanted_lse.isneginf()
            assert torch.equal(seen, ~lse.isneginf())
            largest = max(float(wanted_lse[seen].abs().max()), 1.0) if bool(seen.any()) else 1.0
            assert not seen.any() or float((lse - wanted_lse)[seen].abs().max()) <= bound * largest


def test_the_bounds_are_not_loose():
    assert ratios and 0.01 <= max(ratios) <= 1


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.kernel])
def test_outputs_are_the_kernels(name):
    compared = 0
    for call in list(calls_of(CASES[name]))[::2]:
        if call.of.places == "far":  # a float32 has no room for biases of such places
            continue
        bound = bound_of(call, 2.0**-24)
        layer = call.layer(torch.float32)
        q, k, v = (x.float() for x in (call.q, call.k, call.v))
        given = {n: x.float() if n in ("bias", "log_forget", "row_gate") else x for n, x in call.given.items()}
        with torch.no_grad():
            try:
                kernel, kernel_lse = posenc.torch.attend(layer, q, k, v, backend="kernel", lse=True, **given)
            except ValueError as problem:
                # Tables by distance, and sums along the keys, are the kernels' ways, not the formulas'.
                assert "whole distances, for a table" in str(problem) or "k_order must ascend" in str(problem)
                continue
            compared += 1
            out, lse = posenc.torch.attend(layer, q, k, v, backend="composed", lse=True, **given)
        assert out.dtype == torch.float32 and out.shape == kernel.shape
        assert float((out - kernel).abs().max()) <= bound, call.of.name
        assert torch.equal(lse.isneginf(), kernel_lse.isneginf())
    assert compared >= 3


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_short_types_are_summed_in_float32(dtype):
    call = Call(CASES["several at once"], NEAR)
    layer = call.layer(dtype)
    q, k, v = (x.to(dtype) for x in (call.q, call.k, call.v))
    given = {n: x.to(dtype) if n == "log_forget" else x for n, x in call.given.items()}
    wide = {n: x.float() if n == "log_forget" else x for n, x in given.items()}
    out = posenc.torch.attend(layer, q, k, v, backend="composed", **given)
    tables = [x.float() for x in layer.weights]
    same = posenc.torch.attend(layer, q.float(), k.float(), v.float(), tables=tables, backend="composed", **wide)
    assert out.dtype == dtype and torch.equal(out, same.to(dtype))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        again = posenc.torch.attend(layer, q.float(), k.float(), v.float(), tables=tables, backend="composed", **wide)
    assert torch.equal(again, same)


# ---- gradients ----


@pytest.mark.parametrize("name", CASES)
def test_gradients(name, chunks_of_three):
    # The third derivative of an output along a direction of norm 1 is below 100 for scores of this size.
    step = 1e-5
    tolerance = bounds.central_difference(bounds.in_double(10.0, 64), step, 100.0)
    for call in (Call(CASES[name], SMALL, 3), Call(CASES[name], NEAR, 3)):
        attend, tensors, names = scheme_cases.function_of(call)
        assert torch.autograd.gradcheck(attend, tensors, eps=step, atol=tolerance, rtol=1e-6, fast_mode=True)
        out, lse = attend(*tensors)
        weights = scheme_cases.Random(5)(*out.shape)
        total = (out * weights).sum() + torch.nan_to_num(lse, neginf=0.0).sum()
        for gradient, of in zip(torch.autograd.grad(total, tensors), names):
            assert bool(gradient.isfinite().all()), of
            # FIRE's threshold is in reach of the nearest queries alone, and sinks without keys take nothing.
            assert float(gradient.abs().max()) > 0 or "threshold" in of, of


def test_nothing_that_is_kept_for_a_backward_pass_is_of_queries_times_keys(chunks_of_three):
    call = Call(CASES["several at once"], Arrangement("long", posenc.Mask(), batch=1, queries=96, keys=96))
    attend, tensors, _ = scheme_cases.function_of(call)
    kept = []

    def pack(x):
        kept.append(x.numel())
        return x

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda x: x):
        out, _ = attend(*tensors)
    assert max(kept) < 96 * 96
    out.sum().backward()
    assert all(x.grad is not None for x in tensors)


def call_with_hidden(name, hidden):
    """The output and all gradients of a padded batch, whose keys that nobody sees and queries that see nothing hold
    `hidden`, and so do what is given for their outputs and the gates of their rows."""
    case = CASES[name]
    call = Call(case, replace(NEAR, queries=7, keys=7, places="scattered" if case.side else NEAR.places))
    keys = torch.tensor([True, True, False, False, False, True, False])
    queries = torch.tensor([True, True, False, False, False, False, True])
    seen = ~(keys | queries[:, None])[None, None]
    q, d_out = (torch.where(queries[:, None], hidden, x) for x in (call.q, torch.ones_like(call.q[..., :1])))
    k, v = (torch.where(keys[:, None], hidden, x) for x in (call.k, call.v))
    given = dict(call.given)
    if "row_gate" in given:
        given["row_gate"] = torch.where(queries[:, None], hidden, given["row_gate"].unflatten(0, (-1, 7))).flatten(0, 1)
    tensors = [x.detach().clone().requires_grad_() for x in (q, k, v, *call.layer().weights)]
    out = posenc.torch.attend(
        call.layer(), *tensors[:3], attn_mask=seen, tables=tensors[3:], backend="composed", **given
    )
    return out.detach(), *torch.autograd.grad(out, tensors, d_out.expand_as(out), allow_unused=True)


@pytest.mark.parametrize("name", CASES)
def test_what_is_hidden_may_be_nan(name):
    """Padding, and a KV cache that is longer than what was written: neither outputs nor gradients see it. Of the kernels
    tests/attend/backward/hidden_rows_test.cpp."""
    clean = call_with_hidden(name, 0.0)
    for hidden in (float("nan"), float("inf")):
        for one, other in zip(clean, call_with_hidden(name, hidden)):
            assert one is None or (bool(other.isfinite().all()) and torch.equal(one, other))


def test_second_derivatives():
    """Of operations of torch; by the kernels they are refused, by name."""
    call = Call(CASES["t5"], replace(NEAR, batch=1, queries=2, keys=3))

    def attend(*tensors, backend="composed"):
        q, k, v, *tables = tensors
        return posenc.torch.attend(call.layer(), q, k, v, tables=tables, backend=backend)

    tensors = [x.detach().requires_grad_() for x in (call.q, call.k, call.v, *call.layer().weights)]
    assert torch.autograd.gradgradcheck(attend, tensors)
    tensors = [x.detach().float().requires_grad_() for x in tensors]
    of_q = torch.autograd.grad(attend(*tensors, backend="auto").square().sum(), tensors[0], create_graph=True)[0]
    with pytest.raises(RuntimeError, match=r"\[attend\] backend must be 'composed' for a second derivative but is 'kernel'"):
        of_q.sum().backward()


# ---- graphs, transforms, devices ----

GRAPHED = ["transformer-xl clamped", "xpos", "several at once"]


@pytest.fixture(autouse=True)
def no_graphs_of_another_test():
    torch._dynamo.reset()


@pytest.mark.parametrize("name", GRAPHED)
def test_compiled(name):
    call = Call(CASES[name], NEAR)
    attend, tensors, _ = scheme_cases.function_of(call)
    graph = torch.compile(lambda *x: attend(*x)[0], backend="aot_eager", fullgraph=True)
    out, same = attend(*tensors)[0], graph(*tensors)
    bound = bound_of(call, 2.0**-53)
    assert float((out - same).detach().abs().max()) <= bound
    for one, other in zip(
        torch.autograd.grad(out.sum(), tensors, allow_unused=True),
        torch.autograd.grad(same.sum(), tensors, allow_unused=True),
    ):
        if one is None:
            assert other is None
        else:
            assert torch.allclose(one, other, rtol=1e-9, atol=bound)


def test_compiled_in_chunks(chunks_of_three):
    call = Call(CASES["shaw"], Arrangement("ten", posenc.Mask(), batch=1, queries=10, keys=10))
    attend, tensors, _ = scheme_cases.function_of(call)
    graph = torch.compile(lambda *x: attend(*x)[0], backend="aot_eager", fullgraph=True)
    out, same = attend(*tensors)[0], graph(*tensors)
    bound = bound_of(call, 2.0**-53)
    assert float((out - same).detach().abs().max()) <= bound
    for one, other in zip(torch.autograd.grad(out.sum(), tensors), torch.autograd.grad(same.sum(), tensors)):
        assert torch.allclose(one, other, rtol=1e-9, atol=bound)


class Attending(torch.nn.Module):
    def __init__(self, call):
        super().__init__()
        self.layer, self.given = call.layer(), call.given

    def forward(self, q, k, v):
        return posenc.torch.attend(self.layer, q, k, v, backend="composed", **self.given)


@pytest.mark.parametrize("name", ["t5", "xpos", "several at once"])
@pytest.mark.parametrize("strict", [False, True])
def test_exported(name, strict):
    call = Call(CASES[name], NEAR)
    module = Attending(call)
    program = torch.export.export(module, (call.q, call.k, call.v), strict=strict)
    out = program.module()(call.q, call.k, call.v)
    assert float((out - module(call.q, call.k, call.v)).abs().max()) <= bound_of(call, 2.0**-53)


def test_exported_for_any_length():
    call = Call(CASES["t5"], Arrangement("nine", posenc.Mask(), batch=2, queries=9, keys=9))
    module, tokens = Attending(call), torch.export.Dim("tokens", min=2, max=256)
    shapes = {name: {2: tokens} for name in "qkv"}
    program = torch.export.export(module, (call.q, call.k, call.v), dynamic_shapes=shapes).module()
    for other in (5, 30):
        longer = Call(CASES["t5"], Arrangement("other", posenc.Mask(), batch=2, queries=other, keys=other), seed=2)
        out = program(longer.q, longer.k, longer.v)
        wanted = module(longer.q, longer.k, longer.v)
        assert float((out - wanted).abs().max()) <= bound_of(longer, 2.0**-53)


@pytest.mark.parametrize("name", ["t5", "cope", "several at once"])
def test_vmap(name, chunks_of_three):
    call = Call(CASES[name], NEAR)
    layer = call.layer()
    many = torch.stack([call.q, 2 * call.q])
    mapped = torch.vmap(lambda q: posenc.torch.attend(layer, q, call.k, call.v, **call.given))(many)
    for q, out in zip(many, mapped):
        alone = posenc.torch.attend(layer, q, call.k, call.v, backend="composed", **call.given)
        assert float((out - alone).abs().max()) <= bound_of(call, 2.0**-53)
    table = layer.weights[0]
    gradient = torch.func.grad(
        lambda t: posenc.torch.attend(layer, call.q, call.k, call.v, tables=[t, *layer.weights[1:]], **call.given).sum()
    )(table)
    assert gradient.shape == table.shape and float(gradient.abs().max()) > 0


def moved(call, move):
    """The layer and all tensors of a call elsewhere."""
    layer = posenc.torch.Layer(call.plan, **scheme_cases.mapped(call.tables, move))
    q, k, v = (move(x) for x in (call.q, call.k, call.v))
    return layer, q, k, v, {n: move(x) if isinstance(x, torch.Tensor) else x for n, x in call.given.items()}


@pytest.mark.parametrize("name", CASES)
def test_on_meta_there_are_shapes(name):
    layer, q, k, v, given = moved(Call(CASES[name], SMALL), lambda x: x.to("meta"))
    q.requires_grad_()
    out = posenc.torch.attend(layer, q, k, v, **given)
    assert out.device.type == "meta" and out.shape == (*q.shape[:-1], v.shape[-1])
    out.sum().backward()
    assert q.grad is not None and q.grad.shape == q.shape


@pytest.mark.parametrize("name", CASES)
def test_traced_with_fake_cuda_tensors(name):
    """Every operation knows which device it is for: none makes a tensor on the CPU. Without CUDA torch has no backward
    pass of such tensors, fake or not."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    call = Call(CASES[name], SMALL)
    with FakeTensorMode(), fake_cuda.by_operators(), torch.no_grad():
        layer, q, k, v, given = moved(call, lambda x: torch.empty(x.shape, dtype=x.dtype, device="cuda"))
        assert posenc.torch.backend_of(layer, q, k, v, **given).backend == "composed"
        out = posenc.torch.attend(layer, q, k, v, **given)
        assert out.device.type == "cuda" and out.shape == (*q.shape[:-1], v.shape[-1])


def test_devices_are_not_mixed():
    call = Call(CASES["t5"], NEAR)
    layer = call.layer()
    with pytest.raises(ValueError, match=r"\[attend\] k must be on meta, as q is, but is on cpu"):
        posenc.torch.attend(layer, call.q.to("meta"), call.k, call.v.to("meta"), backend="composed")
    with pytest.raises(ValueError, match=r"\[attend\] score_weights.0.table must be on meta, as q is, but is on cpu"):
        posenc.torch.attend(layer, *(x.to("meta") for x in (call.q, call.k, call.v)), backend="composed")
