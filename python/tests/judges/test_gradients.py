"""Gradients of the float64 reference against torch's autograd of attention that is written here, eagerly, in double.

The formulas are the papers'; the layer, its tensors and its learned numbers are the same on both sides.
"""

import math

import pytest
import torch

import posenc

HEADS, KV_HEADS, WIDTH, TOKENS = 4, 2, 8, 12
# Sums of some hundred numbers of a few in double, through 12 keys and back: 2^-53 a rounding.
RELATIVE = 256 * 2.0**-53


def random(*shape, seed):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def positive(*shape, seed):
    return random(*shape, seed=seed).abs() * 0.3 + 0.1


DISTANCE = torch.arange(TOKENS)[:, None] - torch.arange(TOKENS)  # i - j
SEEN = DISTANCE >= 0


def rotated(x, inv_freq):
    """RoFormer, arXiv 2104.09864, (34), halves paired: x [tokens, heads, channels]."""
    angles = torch.arange(TOKENS, dtype=torch.float64)[:, None, None] * inv_freq
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()), dim=-1)


def shaw(q, table, left, right):
    """arXiv 1803.02155, (5), of a table by i - j from -right: q_i . E[clip(i - j)], [heads, queries, keys]."""
    rows = table[DISTANCE.clamp(-right, left) + right]
    return torch.einsum("ihd,ijd->hij", q, rows)


def cope(q, scores, table):
    """arXiv 2405.18719, listing 1, of masked scores."""
    gates = scores.sigmoid() * SEEN
    places = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=table.shape[0] - 1)
    below, above = places.floor(), places.ceil()
    share = places - below
    asked = torch.einsum("ihd,pd->hip", q, table)
    return asked.gather(-1, above.long()) * share + asked.gather(-1, below.long()) * (1 - share)


def t5(given, q, k, scores):
    """arXiv 1910.10683, beside RoPE."""
    buckets = torch.tensor([[posenc.t5_bucket(posenc.T5Bias(), int(d)) for d in row] for row in DISTANCE])
    return given["table"][buckets].permute(2, 0, 1)


def kerple(given, q, k, scores):
    """arXiv 2205.09921, (5)."""
    r1, r2 = given["r1"][:, None, None], given["r2"][:, None, None]
    return -r1 * torch.log(1 + r2 * DISTANCE.abs())


def alibi(given, q, k, scores):
    """arXiv 2108.12409, of slopes that are learned."""
    return -given["slopes"][:, None, None] * DISTANCE


def fox(given, q, k, scores):
    """arXiv 2503.02130: sums of ln f along the row."""
    sums = given["log_forget"].cumsum(0).T
    return sums[:, :, None] - sums[:, None, :]


def layer(**members):
    return posenc.LayerPlan(
        heads=HEADS, kv_heads=KV_HEADS, head_dim=WIDTH, value_dim=WIDTH, softmax_scale=1 / math.sqrt(WIDTH)
    ).replace(**members)


ROPE = posenc.Rope(pairing="half", head_dim=WIDTH, dim=WIDTH, base=100.0)
ROTATE = (posenc.Rotate(scheme=ROPE),)
SHAW = posenc.ShawKeys(left=4, right=2)
SLOPES = torch.tensor(posenc.alibi_slopes(posenc.Alibi(heads=HEADS)), dtype=torch.float64)
INV_FREQ = torch.tensor(posenc.frequencies(ROPE).inv_freq, dtype=torch.float64)

# The layer, what it has learned by the names of its gradients, and what its scores are: content terms are inside the
# scale, biases are added to scores that have it.
CASES = {
    "RoPE, T5": (
        layer(rotate=ROTATE, score=(posenc.T5Bias(),)),
        {"inv_freq": INV_FREQ, "table": random(32, HEADS, seed=1)},
        {"bias": t5},
    ),
    "KERPLE": (
        layer(score=(posenc.Kerple(),)),
        {"r1": positive(HEADS, seed=2), "r2": positive(HEADS, seed=3)},
        {"bias": kerple},
    ),
    "ALiBi": (layer(score=(posenc.Alibi(heads=HEADS),)), {"slopes": SLOPES}, {"bias": alibi}),
    "Shaw": (
        layer(score=(SHAW,)),
        {"table": random(7, WIDTH, seed=4)},
        {"content": lambda given, q, k: shaw(q, given["table"], SHAW.left, SHAW.right)},
    ),
    "CoPE": (
        layer(score=(posenc.ContextualPosition(positions=5),)),
        {"table": random(5, WIDTH, seed=5)},
        {"bias": lambda given, q, k, scores: cope(q, scores, given["table"])},
    ),
    "FoX": (
        layer(score=(posenc.ForgetGate(),)),
        {"log_forget": -positive(TOKENS, HEADS, seed=6)},
        {"bias": fox},
    ),
    "RoPE, a cap and sinks": (
        layer(rotate=ROTATE, soft_cap=posenc.SoftCap(cap=2.0), sinks=True),
        {"inv_freq": INV_FREQ, "sinks": random(HEADS, seed=7)},
        {},
    ),
}


def eager(plan, given, q, k, v, content=None, bias=None):
    """out [tokens, heads, channels] and lse [tokens, heads], as the equation of docs/attention.md stands."""
    k, v = (x.repeat_interleave(HEADS // KV_HEADS, dim=1) for x in (k, v))
    turned = [rotated(x, given["inv_freq"]) if "inv_freq" in given else x for x in (q, k)]
    scores = torch.einsum("ihd,jhd->hij", *turned)
    if content is not None:
        scores = scores + content(given, q, k)
    scores = scores * plan.softmax_scale
    if bias is not None:
        scores = scores + bias(given, q, k, scores)
    if plan.soft_cap is not None:
        scores = plan.soft_cap.cap * torch.tanh(scores / plan.soft_cap.cap)
    scores = scores.masked_fill(~SEEN, -math.inf)
    lse = scores.logsumexp(-1)
    if "sinks" in given:
        scores = torch.cat((scores, given["sinks"][:, None, None].expand(-1, TOKENS, 1)), dim=-1)
    weights = scores.softmax(-1)[..., :TOKENS]
    return torch.einsum("hij,jhd->ihd", weights, v), lse.T


def keywords(plan, given):
    """What reference.attend is given besides q, k and v: numbers that the plan has are not among them."""
    tables = {name: x for name, x in given.items() if name not in ("inv_freq", "slopes", "log_forget")}
    inputs = {"log_forget": given["log_forget"]} if "log_forget" in given else {}
    return {**posenc.named_weights(plan, {name: x.detach() for name, x in tables.items()}), **inputs}


@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_autograd(name):
    plan, learned, terms = CASES[name]
    given = {key: x.clone().requires_grad_() for key, x in learned.items()}
    heads = (HEADS, KV_HEADS, KV_HEADS)
    q, k, v = (random(TOKENS, h, WIDTH, seed=10 + n).requires_grad_() for n, h in enumerate(heads))
    d_out, d_lse = random(TOKENS, HEADS, WIDTH, seed=20), random(TOKENS, HEADS, seed=21)

    out, lse = eager(plan, given, q, k, v, **terms)
    taken = {key: x.detach() for key, x in given.items()}
    tensors = [x.detach() for x in (q, k, v)]
    ours, our_lse = posenc.reference.attend(plan, *tensors, lse=True, **keywords(plan, taken))
    torch.testing.assert_close(ours, out.detach(), rtol=RELATIVE, atol=RELATIVE)
    torch.testing.assert_close(our_lse, lse.detach(), rtol=RELATIVE, atol=RELATIVE)

    ((out * d_out).sum() + (lse * d_lse).sum()).backward()
    gradients = posenc.reference.attend_backward(plan, *tensors, d_out, d_lse=d_lse, **keywords(plan, taken))
    found = {f"d_{key}": x for key, x in gradients["d_weights"].items()}
    found |= {key: x for key, x in gradients.items() if key != "d_weights"}
    wanted = {"d_q": q.grad, "d_k": k.grad, "d_v": v.grad, **{f"d_{key}": x.grad for key, x in given.items()}}
    assert found.keys() == wanted.keys()
    for key, gradient in wanted.items():
        largest = gradient.abs().max().item()
        assert largest > 1e-3, key
        assert (found[key] - gradient).abs().max().item() <= RELATIVE * max(largest, 1.0), key


def test_gradients_of_linear_attention_are_those_of_autograd():
    """RoFormer, arXiv 2104.09864, (19), of features elu(x) + 1."""
    plan = layer(rotate=ROTATE)
    inv_freq = INV_FREQ.clone().requires_grad_()
    heads = (HEADS, KV_HEADS, KV_HEADS)
    q, k, v = (random(TOKENS, h, WIDTH, seed=30 + n).requires_grad_() for n, h in enumerate(heads))
    d_out = random(TOKENS, HEADS, WIDTH, seed=40)
    features = [torch.nn.functional.elu(x) + 1 for x in (q, k.repeat_interleave(2, dim=1))]
    weights = torch.einsum("ihd,jhd->hij", *(rotated(x, inv_freq) for x in features)) * SEEN
    total = (torch.einsum("ihd,jhd->hij", *features) * SEEN).sum(-1)
    out = torch.einsum("hij,jhd->ihd", weights, v.repeat_interleave(2, dim=1)) / total.T[..., None]
    (out * d_out).sum().backward()

    tensors = [x.detach() for x in (q, k, v)]
    ours = posenc.reference.attend_linear(plan, *tensors)
    torch.testing.assert_close(ours, out.detach(), rtol=RELATIVE, atol=RELATIVE)
    found = posenc.reference.attend_linear_backward(plan, *tensors, d_out)
    wanted = {"d_q": q.grad, "d_k": k.grad, "d_v": v.grad, "inv_freq": inv_freq.grad}
    for key, gradient in wanted.items():
        is_off = ({**found, **found["d_weights"]}[key] - gradient).abs().max().item()
        assert is_off <= RELATIVE * max(gradient.abs().max().item(), 1.0), key


def test_names_are_those_of_the_gradients():
    plan, learned, _ = CASES["RoPE, T5"]
    weights = posenc.named_weights(plan, {"table": learned["table"]})
    assert posenc.gradient_names(plan, **weights) == ["table", "inv_freq"]
