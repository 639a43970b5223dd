"""posenc.torch.attend's gradients, by the kernels, against autograd of the same in torch's operations, in double."""

from typing import List, Optional, Tuple

import bounds
import pytest
import torch

import posenc
import posenc.torch
from posenc import _attend_backward
from posenc._graph_arguments import call_of

HEADS, KV_HEADS, DIM, TOKENS = 4, 2, 16, 70
SCALE = 0.25
PAST = 5
PLAIN = posenc.LayerPlan(heads=HEADS, kv_heads=KV_HEADS, head_dim=DIM, value_dim=DIM, softmax_scale=SCALE)
ROPE = posenc.Rope(pairing="half", head_dim=DIM, dim=DIM)


def random(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def rotated(x):
    angles = torch.arange(x.shape[2], dtype=torch.float64)[:, None] * torch.tensor(posenc.frequencies(ROPE).inv_freq)
    a, b = x[..., : DIM // 2], x[..., DIM // 2 :]
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), -1)


def eager(q, k, v, *, rotates=False, cap=None, bias=None, table=None, sinks=None, seen=None):
    """[1, heads, tokens, channels], causal."""
    if rotates:
        q, k = rotated(q), rotated(k)
    k, v = (x.repeat_interleave(HEADS // KV_HEADS, 1) for x in (k, v))
    scores = SCALE * q @ k.transpose(2, 3)
    if bias is not None:
        scores = scores + bias
    distance = torch.arange(TOKENS)[:, None] - torch.arange(TOKENS)
    if table is not None:
        scores = scores + table[distance.clamp(0, PAST)].permute(2, 0, 1)
    if cap is not None:
        scores = cap * torch.tanh(scores / cap)
    scores = scores.masked_fill(distance < 0, -torch.inf)
    if seen is not None:
        scores = scores.masked_fill(~seen, -torch.inf)
    if sinks is not None:
        column = sinks.reshape(1, -1, 1, 1).expand(1, HEADS, TOKENS, 1)
        return torch.cat((scores, column), -1).softmax(-1)[..., :-1] @ v
    return scores.softmax(-1) @ v


CASES = {
    "rotated": (PLAIN.replace(rotate=(posenc.Rotate(scheme=ROPE),)), {"rotates": True}, {}),
    "capped, with a bias": (
        PLAIN.replace(soft_cap=posenc.SoftCap(cap=3.0)),
        {"cap": 3.0},
        {"bias": random(HEADS, TOKENS, TOKENS, seed=5)},
    ),
    "one bias for all heads": (PLAIN, {}, {"bias": random(TOKENS, TOKENS, seed=6)}),
    "a table, and sinks": (
        PLAIN.replace(score=(posenc.ClippedBias(past=PAST),), sinks=True),
        {},
        {"table": random(PAST + 1, HEADS, seed=7), "sinks": random(HEADS, seed=8)},
    ),
}


def layer_of(plan, tables):
    weights = {}
    if "table" in tables:
        weights["score_weights"] = [posenc.ClippedBiasWeights(table=tables["table"])]
    if "sinks" in tables:
        weights["sinks"] = tables["sinks"]
    return posenc.torch.Layer(plan, **weights)


def by_kernels(plan, q, k, v, learned):
    tables = {name: x for name, x in learned.items() if name != "bias"}
    layer = layer_of(plan, {name: x.detach() for name, x in tables.items()})
    order = [tables[name] for name in ("table", "sinks") if name in tables]
    return torch.ops.posenc.attend(q, k, v, None, learned.get("bias"), order, layer.text, layer.value_dim)


def leaves(dtype, learned):
    heads = enumerate((HEADS, KV_HEADS, KV_HEADS), 1)
    made = [random(1, count, TOKENS, DIM, seed=seed).to(dtype).requires_grad_() for seed, count in heads]
    return made, {name: x.clone().requires_grad_() for name, x in learned.items()}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_autograd(name):
    plan, eagerly, learned = CASES[name]
    (q, k, v), own = leaves(torch.float32, learned)
    d_out = random(1, HEADS, TOKENS, DIM, seed=9)
    got = torch.autograd.grad(by_kernels(plan, q, k, v, own), [q, k, v, *own.values()], d_out)
    doubles = [x.detach().double().requires_grad_() for x in (q, k, v, *own.values())]
    wanted = torch.autograd.grad(eager(*doubles[:3], **eagerly, **dict(zip(own, doubles[3:]))), doubles, d_out.double())
    bound = bounds.attended_gradient(q, k, v, d_out, SCALE, bias=5.0)
    for one, truth in zip(got, wanted):
        assert one.shape == truth.shape and one.dtype == torch.float32
        assert truth.abs().max() > 0.1
        assert (one - truth).abs().max() <= bound


def test_bfloat16():
    plan, eagerly, _ = CASES["rotated"]
    (q, k, v), _ = leaves(torch.bfloat16, {})
    d_out = random(1, HEADS, TOKENS, DIM, seed=9).bfloat16()
    got = torch.autograd.grad(by_kernels(plan, q, k, v, {}), [q, k, v], d_out)
    doubles = [x.detach().double().requires_grad_() for x in (q, k, v)]
    wanted = torch.autograd.grad(eager(*doubles, **eagerly), doubles, d_out.double())
    # A rounding to 8 digits of the output, which meets d_out, and of the result.
    for one, truth in zip(got, wanted):
        assert one.dtype == torch.bfloat16
        assert (one - truth).abs().max() <= 2.0**-8 * 4 * truth.abs().max()


def test_a_mask_that_is_given():
    (q, k, v), _ = leaves(torch.float32, {})
    seen = random(HEADS, TOKENS, TOKENS, seed=4) > -0.5
    seen |= torch.eye(TOKENS, dtype=torch.bool)
    layer = posenc.torch.Layer(PLAIN)
    d_out = random(1, HEADS, TOKENS, DIM, seed=9)
    got = torch.autograd.grad(posenc.torch.attend(layer, q, k, v, attn_mask=seen), [q, k, v], d_out)
    doubles = [x.detach().double().requires_grad_() for x in (q, k, v)]
    wanted = torch.autograd.grad(eager(*doubles, seen=seen), doubles, d_out.double())
    for one, truth in zip(got, wanted):
        assert (one - truth).abs().max() <= bounds.attended_gradient(q, k, v, d_out, SCALE)


def test_a_graph_has_the_same_gradients():
    plan, _, learned = CASES["capped, with a bias"]
    (q, k, v), own = leaves(torch.float32, learned)
    layer = posenc.torch.Layer(plan)

    def loss(q, k, v, bias):
        return posenc.torch.attend(layer, q, k, v, bias=bias).square().sum()

    inputs = (q, k, v, own["bias"])
    wanted = torch.autograd.grad(loss(*inputs), inputs)
    got = torch.autograd.grad(torch.compile(loss, backend="aot_eager", fullgraph=True)(*inputs), inputs)
    assert all(torch.equal(one, truth) for one, truth in zip(got, wanted))


def test_the_operators_pass_torchs_own_checks():
    plan, _, learned = CASES["a table, and sinks"]
    (q, k, v), own = leaves(torch.float32, learned)
    layer = layer_of(plan, {name: x.detach() for name, x in own.items()})
    checks = ("test_schema", "test_faketensor", "test_autograd_registration")
    arguments = (q, k, v, None, None, list(own.values()), layer.text, layer.value_dim)
    torch.library.opcheck(torch.ops.posenc.attend, arguments, test_utils=checks)


def test_gates_and_other_inputs_of_a_call():
    """What registers an operator with all inputs of a call, which gives the log-sum-exp too."""
    plan = PLAIN.replace(score=(posenc.ForgetGate(),))
    (q, k, v), _ = leaves(torch.float32, {})
    gates = -random(TOKENS, HEADS, seed=3).abs()
    layer = posenc.torch.Layer(plan)
    out, lse = posenc.attend(plan, q.detach(), k.detach(), v.detach(), lse=True, log_forget=gates)
    d_out, d_lse = random(1, HEADS, TOKENS, DIM, seed=9), random(1, HEADS, TOKENS, seed=10)
    got = torch.ops.posenc.attend_backward(
        d_out, d_lse, q, k, v, out, lse, [gates], "log_forget", 0, None, False, False, [], layer.text, [True]
    )
    doubles = [x.detach().double().requires_grad_() for x in (q, k, v, gates)]
    sums = doubles[3].cumsum(0).T
    scores = SCALE * doubles[0] @ doubles[1].repeat_interleave(HEADS // KV_HEADS, 1).transpose(2, 3)
    scores = scores + sums[:, :, None] - sums[:, None, :]
    scores = scores.masked_fill(torch.ones(TOKENS, TOKENS).triu(1).bool(), -torch.inf)
    result = scores.softmax(-1) @ doubles[2].repeat_interleave(HEADS // KV_HEADS, 1)
    loss = (result * d_out).sum() + (scores.logsumexp(-1) * d_lse).sum()
    bound = bounds.attended_gradient(q, k, v, d_out, SCALE, bias=float(sums.detach().abs().max()))
    for one, truth in zip(got, torch.autograd.grad(loss, doubles)):
        assert (one - truth).abs().max() <= bound


def test_a_table_of_no_axes_has_a_gradient_of_none():
    """FIRE's c and threshold, which a dict may give as tensors."""
    plan = PLAIN.replace(score=(posenc.Fire(),))
    hidden = {"weight": random(5, 1, seed=2), "bias": random(5, seed=3)}
    out = {"weight": random(HEADS, 5, seed=4), "bias": random(HEADS, seed=5)}
    c = torch.tensor(0.5, requires_grad=True)
    layer = posenc.torch.Layer(plan, score_weights=[{"c": c, "threshold": torch.tensor(9.0), "hidden": hidden, "out": out}])
    (q, k, v), _ = leaves(torch.float32, {})
    sides = []
    for backend in ("kernel", "composed"):
        made = posenc.torch.attend(layer, q, k, v, backend=backend)
        sides.append(torch.autograd.grad(made.square().sum(), c)[0])
    assert sides[0].shape == () and float(sides[1].abs()) > 0.01
    assert float((sides[0] - sides[1]).abs()) <= 1e-4 * float(sides[1].abs()) + bounds.attended_gradient(q, k, v, v, SCALE, bias=5.0)


@torch.library.custom_op("posenc_test::attend_call", mutates_args=(), device_types="cpu")
def attend_call(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    inputs: List[torch.Tensor],
    names: str,
    prefix: int,
    length: Optional[int],
    q_rotated: bool,
    k_rotated: bool,
    weights: List[torch.Tensor],
    layer: str,
    value_dim: int,
) -> Tuple[torch.Tensor, torch.Tensor]:
    plan, keywords = call_of(layer, weights)
    given = dict(zip(names.split(), (x.detach() for x in inputs)))
    return posenc.attend(plan, q.detach(), k.detach(), v.detach(), lse=True, prefix=prefix, **given, **keywords)


attend_call.register_autograd(_attend_backward.backward_of_call, setup_context=_attend_backward.keep_call)


def test_an_operator_with_all_inputs_and_the_log_sum_exp():
    plan, eagerly, learned = CASES["a table, and sinks"]
    (q, k, v), own = leaves(torch.float32, learned)
    bias = random(HEADS, TOKENS, TOKENS, seed=5).requires_grad_()
    orders = torch.arange(TOKENS)
    layer = layer_of(plan, {name: x.detach() for name, x in own.items()})
    out, lse = attend_call(
        q, k, v, [orders, bias], "q_order bias", 0, None, False, False, list(own.values()), layer.text, layer.value_dim
    )
    d_out = random(1, HEADS, TOKENS, DIM, seed=9)
    got = torch.autograd.grad((out * d_out).sum(), [q, k, v, bias, *own.values()])
    doubles = [x.detach().double().requires_grad_() for x in (q, k, v, bias, *own.values())]
    made = eager(*doubles[:3], **eagerly, bias=doubles[3], **dict(zip(own, doubles[4:])))
    wanted = torch.autograd.grad((made * d_out).sum(), doubles)
    for one, truth in zip(got, wanted):
        assert (one - truth).abs().max() <= bounds.attended_gradient(q, k, v, d_out, SCALE, bias=8.0)
