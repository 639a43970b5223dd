"""Each module of posenc.nn by itself: its numbers against the paper's formula in eager torch, gradcheck, state dicts,
pickles, copies, the meta device, float32, and what it says of itself. Modules of transformers are in test_nn.py."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
import transformers as hf
from torch import Tensor
from torch.nn import functional

import bounds
import posenc
import posenc.nn as pn
from scheme_cases import Random

HEADS, DIM, TOKENS, WIDTH = 4, 8, 5, 12
QUERIES, KEYS = 5, 7
I = torch.arange(KEYS - QUERIES, KEYS)[:, None].double()
J = torch.arange(KEYS)[None].double()
D = I - J
SQUARE = (torch.arange(TOKENS)[:, None] - torch.arange(TOKENS)).double()
SCALE = DIM**-0.5


def inputs(*shape: int, seed: int = 6) -> Tensor:
    return Random(seed)(*shape)


Q, K, V = (inputs(2, HEADS, TOKENS, DIM, seed=seed) for seed in (1, 2, 3))
HIDDEN = inputs(2, TOKENS, WIDTH, seed=4)


@dataclass
class Module:
    """A module, what it is called with, and the formula that it stands for."""

    make: Callable[[], torch.nn.Module]
    call: Callable[..., Tensor]  # of the module and the inputs
    formula: Callable[..., Tensor]
    inputs: list[Tensor] = field(default_factory=list)  # of which a gradient is asked, too
    says: str = ""
    terms: int = 64  # products and sums that one number is made of
    seen: Tensor | None = None  # where the formula holds


MODULES: dict[str, Module] = {}


# ---- biases by distance: [heads, queries, keys] ----


def bias(name: str, make: Any, formula: Any, says: str, seen: Tensor | None = None) -> None:
    def call(module: Any, *none: Tensor) -> Tensor:
        of = next(iter(module.parameters()), None)
        where = {} if of is None else {"dtype": of.dtype}
        return module(QUERIES, KEYS, **({"dtype": torch.float64} if of is None else where))

    MODULES[name] = Module(make, call, formula, [], says, 256, seen)


def slopes() -> Tensor:
    return 2.0 ** (-8 * torch.arange(1, HEADS + 1).double() / HEADS)[:, None, None]


def t5(module: Any) -> Tensor:
    of = module.scheme
    bucket = hf.models.t5.modeling_t5.T5Attention._relative_position_bucket(
        -D.long(), bidirectional=of.bidirectional, num_buckets=of.buckets, max_distance=of.max_distance
    )
    return module.table[bucket].permute(2, 0, 1)


def kerple(module: Any) -> Tensor:
    r1, r2 = (x.clamp(min=0.01)[:, None, None] for x in (module.r1, module.r2))
    return -r1 * (D.abs() ** r2 if module.scheme.form == "power" else torch.log(1 + r2 * D.abs()))


def fire(module: Any) -> Tensor:
    c, threshold = module.c.abs(), (module.multiplier * module.length).abs()
    psi = lambda x: torch.log(c * x + 1)  # noqa: E731
    share = psi(D.clamp(min=0)) / psi(torch.maximum(I.expand_as(D), threshold))
    return module.out(functional.relu(module.hidden(share[..., None]))).permute(2, 0, 1)


def sandwich(module: Any) -> Tensor:
    p = torch.arange(8).double()
    sums = torch.cos(D[..., None] * 10000.0 ** (-2 * p / 16)).sum(-1)
    return sums * (HEADS / (8.0 * (torch.arange(HEADS) + 1).double()))[:, None, None]


def mlp(module: Any) -> Tensor:
    x = D.sign() * torch.log(D.abs() + 1) if module.scheme.logarithmic else D
    first, last = module.layers
    return last(functional.silu(first(x[..., None]))).permute(2, 0, 1)


def grid(module: Any) -> Tensor:
    at = [(row, column) for row in range(2) for column in range(3)]
    index = [[(a - c + 1) * 5 + b - d + 2 for c, d in at] for a, b in at]
    return module.table[torch.tensor(index)].permute(2, 0, 1)


bias("ALiBi", lambda: pn.ALiBi(HEADS), lambda m: -slopes() * D, "Alibi(")
bias("ALiBi of columns", lambda: pn.ALiBi(HEADS, form="column"), lambda m: (slopes() * J).expand(HEADS, QUERIES, KEYS), "form='column'")
bias(
    "ALiBi learned",
    lambda: pn.ALiBi(HEADS, learned=True, symmetric=True),
    lambda m: -m.slopes[:, None, None] * D.abs(),
    "symmetric=True",
)
bias("T5", lambda: pn.T5RelativeBias(HEADS, buckets=8, max_distance=5), t5, "T5Bias(buckets=8")
bias("T5 both ways", lambda: pn.T5RelativeBias(HEADS, bidirectional=True), t5, "bidirectional=True")
bias(
    "clipped",
    lambda: pn.ClippedRelativeBias(HEADS, 3, 2),
    lambda m: m.table[D.long().clamp(-2, 3) + 2].permute(2, 0, 1),
    "ClippedBias(past=3, future=2)",
)
bias("KERPLE", lambda: pn.Kerple(HEADS), kerple, "Kerple(")
bias("KERPLE power", lambda: pn.Kerple(HEADS, form="power"), kerple, "form='power'")
bias("FIRE", lambda: pn.Fire(HEADS, width=6, length=3.0), fire, "Fire(", D >= 0)
bias("Sandwich", lambda: pn.Sandwich(HEADS, 16), sandwich, "channels=16")
bias("perceptron", lambda: pn.MlpRelativeBias(HEADS, width=5), mlp, "MlpBias(")
bias("perceptron of ln", lambda: pn.MlpRelativeBias(HEADS, width=5, logarithmic=True), mlp, "logarithmic=True")
MODULES["Swin"] = Module(
    lambda: pn.GridRelativeBias(HEADS, 2, 3),
    lambda m, *none: m(dtype=next(m.parameters()).dtype),
    grid,
    [],
    "GridBias(rows=2, columns=3)",
)


# ---- what knows queries and keys: attention by it alone ----


def attended(scores: Tensor, v: Tensor, added: Tensor | None = None, distance: Tensor = SQUARE) -> Tensor:
    weights = scores.masked_fill(distance < 0, -torch.inf).softmax(-1)
    out = weights @ v
    return out if added is None else out + torch.einsum("bhij,ijc->bhic", weights, added)


def clipped(table: Tensor, left: int, right: int) -> Tensor:
    return table[SQUARE.long().clamp(-right, left) + right]


def shaw(module: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    rows = clipped(module.table, module.scheme.left, module.scheme.right)
    return attended((q @ k.mT + torch.einsum("bhic,ijc->bhij", q, rows)) * SCALE, v)


def shaw_values(module: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return attended(q @ k.mT * SCALE, v, clipped(module.table, module.scheme.left, module.scheme.right))


def sines(channels: int) -> Tensor:
    angle = SQUARE[..., None] * 10000.0 ** (-torch.arange(0, channels, 2).double() / channels)
    return torch.cat([angle.sin(), angle.cos()], -1)


def transformer_xl(module: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    r = module.projection(sines(WIDTH)).unflatten(-1, (HEADS, DIM))
    content = (q + module.content_bias[:, None]) @ k.mT
    return attended((content + torch.einsum("bhic,ijhc->bhij", q + module.position_bias[:, None], r)) * SCALE, v)


def deberta(module: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    of = module.scheme
    bucket = hf.models.deberta_v2.modeling_deberta_v2.make_log_bucket_position(SQUARE, of.buckets, of.max_distance)
    rows = module.table[(bucket.long() + of.buckets).clamp(0, 2 * of.buckets - 1)]
    keys, queries = (of_rows(rows).unflatten(-1, (HEADS, DIM)) for of_rows in (module.keys, module.queries))
    scores = q @ k.mT + torch.einsum("bhic,ijhc->bhij", q, keys) + torch.einsum("bhjc,ijhc->bhij", k, queries)
    return attended(scores * SCALE, v)


def cope(module: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The program of the paper, with scores that are scaled already."""
    scores = q @ k.mT * SCALE
    gates = torch.sigmoid(scores) * (SQUARE >= 0)
    position = gates.flip(-1).cumsum(-1).flip(-1).clamp(max=module.scheme.positions - 1)
    asked = q @ module.table.T
    ceil, floor = position.ceil().long(), position.floor().long()
    share = position - floor
    return attended(scores + asked.gather(-1, ceil) * share + asked.gather(-1, floor) * (1 - share), v)


def decomposed(module: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    at = torch.tensor([[row, column] for row in range(2) for column in range(2)])
    by = (at[:, None] - at[None] + 1).unbind(-1)
    scores = q @ k.mT * SCALE
    for table, row in ((module.rows, by[0]), (module.columns, by[1])):
        scores = scores + torch.einsum("bhic,ijc->bhij", q, table[row])
    return attended(scores, v, distance=torch.zeros(4, 4))


def xlnet(module: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    r = module.projection(sines(WIDTH)).unflatten(-1, (HEADS, DIM))
    scores = (q + module.content_bias[:, None]) @ k.mT
    scores = scores + torch.einsum("bhic,ijhc->bhij", q + module.position_bias[:, None], r)
    of = torch.tensor(SEGMENTS)
    is_other = (of[:, None] != of).long()
    scores = scores + torch.einsum("bhic,ijhc->bhij", q + module.segment_bias[:, None], module.segments[is_other])
    return attended(scores * SCALE, v)


SEGMENTS = [0, 0, 1, 1, 0]


def forgetting(module: Any, q: Tensor, k: Tensor, v: Tensor, hidden: Tensor) -> Tensor:
    gates = functional.logsigmoid(module.projection(hidden)).mT  # [batch, heads, tokens]
    sums = gates.cumsum(-1)
    return attended(q @ k.mT * SCALE + sums[..., :, None] - sums[..., None, :], v)


def by_segments(module: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    of = torch.tensor(SEGMENTS * q.shape[0], dtype=torch.int32, device=q.device)
    return module(q, k, v, q_segments=of, k_segments=of)


def in_window(module: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    at = torch.tensor([[0, 0, 1, 1], [0, 1, 0, 1]], device=q.device)
    return module(q, k, v, mask=posenc.Mask(kind="bidirectional"), q_positions=at, k_positions=at)


def content(name: str, make: Any, formula: Any, says: str, call: Any = None, of: list[Tensor] | None = None) -> None:
    MODULES[name] = Module(make, call or (lambda m, q, k, v: m(q, k, v)), formula, of or [Q, K, V], says, 256)


FOUR = [inputs(1, HEADS, 4, DIM, seed=seed) for seed in (1, 2, 3)]
content("Shaw", lambda: pn.ShawRelative(HEADS, DIM, 3, 2), shaw, "ShawKeys(left=3, right=2")
content("Shaw's values", lambda: pn.ShawRelativeValues(HEADS, DIM, 3, 2), shaw_values, "ShawValues(left=3, right=2")
content("Transformer-XL", lambda: pn.TransformerXLRelative(HEADS, DIM, WIDTH), transformer_xl, "TransformerXl(")
content("XLNet", lambda: pn.XLNetRelative(HEADS, DIM, WIDTH), xlnet, "XlNet(", by_segments)
content(
    "DeBERTa",
    lambda: pn.DisentangledAttention(HEADS, DIM, WIDTH, buckets=4, max_distance=12),
    deberta,
    "Deberta(",
)
content("CoPE", lambda: pn.CoPE(HEADS, DIM, 4), cope, "ContextualPosition(positions=4)")
content("SAM", lambda: pn.DecomposedRelative(HEADS, DIM, 2), decomposed, "DecomposedHw(rows=3", in_window, FOUR)
content(
    "forget gate",
    lambda: pn.ForgetGate(HEADS, WIDTH),
    forgetting,
    "ForgetGate(",
    lambda m, q, k, v, hidden: m(q, k, v, log_forget=m.log_forget(hidden)),
    [Q, K, V, HIDDEN],
)


# ---- rotations ----


def turned(x: Tensor, angle: Tensor, pairing: str = "half") -> Tensor:
    """As complex numbers."""
    half = x.shape[-1] // 2
    a, b = (x[..., :half], x[..., half:]) if pairing == "half" else (x[..., 0::2], x[..., 1::2])
    z = torch.complex(a, b) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([z.real, z.imag], -1) if pairing == "half" else torch.stack([z.real, z.imag], -1).flatten(-2)


PLACES = torch.arange(3, 3 + TOKENS).double()
GRID = torch.tensor([[0, 0, 1, 1, 2], [0, 1, 0, 1, 2]])
ROPE = posenc.Rope(pairing="half", head_dim=DIM, dim=DIM, base=100.0)
BY_BASE = 100.0 ** (-2 * torch.arange(DIM // 2).double() / DIM)


def rotary(name: str, make: Any, formula: Any, says: str, positions: Any = 3) -> None:
    MODULES[name] = Module(make, lambda m, x: m(x, positions), formula, [Q], says, 32)


def pixels(module: Any, x: Tensor) -> Tensor:
    freqs = (torch.linspace(1.0, 5.0, 2).double() * torch.pi).float().double()  # as a parameter of float32 has them
    angle = torch.cat([COORDINATES[0][:, None] * freqs, COORDINATES[1][:, None] * freqs], -1)
    return turned(x, angle, "interleaved")


COORDINATES = pn.PixelRotary.coordinates(1, TOKENS)
rotary(
    "RoPE", lambda: pn.RotaryEmbedding(ROPE), lambda m, x: turned(x, PLACES[:, None] * BY_BASE), "Rope(pairing='half'"
)
rotary(
    "RoPE learned",
    lambda: pn.RotaryEmbedding(ROPE, learned=True),
    lambda m, x: turned(x, PLACES[:, None] * m.inv_freq),
    "learned=True",
)
rotary(
    "axial",
    lambda: pn.AxialRotary(DIM, base=100.0),
    lambda m, x: turned(x, torch.cat([at[:, None] * 100.0 ** (-torch.arange(2).double() / 2) for at in GRID], -1)),
    "axes=",
    GRID,
)
rotary("pixels", lambda: pn.PixelRotary(DIM), pixels, "max_freq=10", COORDINATES)
rotary(
    "pixels learned",
    lambda: pn.PixelRotary(DIM, learned=True),
    lambda m, x: turned(
        x, COORDINATES[torch.tensor([0, 0, 1, 1])].T * m.inv_freq, "interleaved"
    ),
    "axes=",
    COORDINATES,
)


# ---- the input stage, and the layer ----


def sinusoids(module: Any, x: Tensor) -> Tensor:
    angle = PLACES[:, None] * 10000.0 ** (-2 * torch.arange(WIDTH // 2).double() / WIDTH)
    rows = torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
    return x + rows * (1.0 if module.scale is None else module.scale)


MODULES["learned rows"] = Module(
    lambda: pn.LearnedPositions(16, WIDTH, offset=2),
    lambda m, x: m(x, 3),
    lambda m, x: x + m.weight[PLACES.long() + 2],
    [HIDDEN],
    "positions=16, width=12, offset=2",
)
MODULES["sines"] = Module(
    lambda: pn.SinusoidalPositions(WIDTH), lambda m, x: m(x, 3), sinusoids, [HIDDEN], "SinusoidalInput("
)
MODULES["sines, a learned scale"] = Module(
    lambda: pn.SinusoidalPositions(WIDTH, learned_scale=True),
    lambda m, x: m(x, 3),
    sinusoids,
    [HIDDEN],
    "learned_scale=True",
)
LAYER = posenc.LayerPlan(
    heads=HEADS,
    kv_heads=2,
    head_dim=DIM,
    value_dim=DIM,
    softmax_scale=SCALE,
    rotate=(posenc.Rotate(scheme=ROPE),),
    qk_norm=posenc.QkNorm(),
    score=(posenc.Alibi(heads=HEADS),),
)


def attention(module: Any, x: Tensor) -> Tensor:
    def heads(projection: Any, norm: Any) -> Tensor:
        y = projection(x).unflatten(-1, (-1, DIM)).transpose(1, 2)
        if norm is not None:
            y = y * torch.rsqrt(y.square().mean(-1, keepdim=True) + 1e-6) * norm.weight
            y = turned(y, torch.arange(TOKENS).double()[:, None] * module.inv_freq[0])
        return y

    q, k = heads(module.q_proj, module.q_norm), heads(module.k_proj, module.k_norm)
    k, v = (y.repeat_interleave(2, dim=1) for y in (k, heads(module.v_proj, None)))
    slope = module.terms[0].slopes[:, None, None]
    return module.o_proj(attended(q @ k.mT * SCALE - slope * SQUARE, v).transpose(1, 2).flatten(2))


MODULES["Attention"] = Module(
    lambda: pn.Attention(LAYER, WIDTH, learned_frequencies=True, term_options={"learned": True}),
    lambda m, x: m(x),
    attention,
    [HIDDEN],
    "heads=4, kv_heads=2",
    2048,
)


def made(name: str, dtype: torch.dtype = torch.float64) -> torch.nn.Module:
    """With numbers of its own, away from where a scheme has a corner."""
    torch.manual_seed(1)
    module = MODULES[name].make().to(dtype)
    random = Random(5)
    for x in module.parameters():
        if x.requires_grad:
            x.data.add_(random.between(0.05, 0.4, *x.shape).to(dtype))
    return module


def run(name: str, module: torch.nn.Module, dtype: torch.dtype = torch.float64) -> Tensor:
    return MODULES[name].call(module, *(x.to(dtype) for x in MODULES[name].inputs))


def test_every_module_is_here():
    public = {name: getattr(pn, name) for name in pn.__all__}
    modules = {name for name, of in public.items() if isinstance(of, type) and issubclass(of, torch.nn.Module)}
    assert {type(of.make()).__name__ for of in MODULES.values()} == modules - {"SchemeModule"}


@pytest.mark.parametrize("name", MODULES)
def test_numbers_are_the_formula_s(name):
    of, module = MODULES[name], made(name)
    out, wanted = run(name, module).detach(), of.formula(module, *of.inputs).detach()
    if of.seen is not None:
        out, wanted = out[..., of.seen], wanted[..., of.seen]
    assert out.shape == wanted.shape and out.dtype == torch.float64
    assert float((out - wanted).abs().max()) <= bounds.in_double(max(1.0, float(wanted.abs().max())) * 8, of.terms)
    assert float(wanted.abs().max()) > 0.01


@pytest.mark.parametrize("name", MODULES)
def test_gradients(name):
    """By differences, of inputs and of everything that is learned; and the formula's, by autograd."""
    of, module = MODULES[name], made(name)
    learned = {n: x.detach().clone().requires_grad_() for n, x in module.named_parameters() if x.requires_grad}
    given = [x.clone().requires_grad_() for x in of.inputs]
    if not learned and not given:
        assert not run(name, module).requires_grad
        return

    class Called(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.of = module

        def forward(self, *x: Tensor) -> Tensor:
            return of.call(self.of, *x)

    def call(*tensors: Tensor) -> Tensor:
        by_name = {f"of.{n}": x for n, x in zip(learned, tensors[len(given) :])}
        out = torch.func.functional_call(Called(), by_name, tensors[: len(given)])
        return out if of.seen is None else out[..., of.seen]

    tensors = [*given, *learned.values()]
    assert torch.autograd.gradcheck(call, tensors, fast_mode=True)
    if of.seen is not None:
        return
    d_out = Random(7)(*run(name, module).shape)
    ours = torch.autograd.grad((call(*tensors) * d_out).sum(), tensors)
    x = [one.clone().requires_grad_() for one in of.inputs]
    theirs = torch.autograd.grad((of.formula(module, *x) * d_out).sum(), [*x, *(p for p in module.parameters() if p.requires_grad)])
    for one, other in zip(ours, theirs):
        largest = max(1.0, float(other.abs().max())) * 64
        assert float((one - other).abs().max()) <= bounds.in_double(largest, 4 * of.terms)


@pytest.mark.parametrize("name", MODULES)
def test_copies_pickles_and_states(name):
    module = made(name)
    out, state = run(name, module).detach(), {n: x.clone() for n, x in module.state_dict().items()}
    torch.manual_seed(9)
    fresh = MODULES[name].make().double()
    assert set(fresh.state_dict()) == set(state)
    fresh.load_state_dict(state)
    copied = copy.deepcopy(module)
    for other in (pickle.loads(pickle.dumps(module)), copied, fresh):
        assert torch.equal(run(name, other), out)
        assert all(torch.equal(x, state[n]) for n, x in other.state_dict().items())
    with torch.no_grad():
        for x in copied.parameters():
            x.add_(1.0)
    assert torch.equal(run(name, module), out)
    assert not state or not torch.equal(run(name, copied), out)
    with pytest.raises(RuntimeError, match="Unexpected key"):
        fresh.load_state_dict({**state, "nothing.of.the.kind": torch.zeros(1)})


@pytest.mark.parametrize("name", MODULES)
def test_devices_and_types(name):
    of, module = MODULES[name], made(name)
    out = run(name, module)
    meta = copy.deepcopy(module).to(device="meta")
    there = [x.to("meta") for x in of.inputs]
    if there or list(meta.parameters()):
        moved = of.call(meta, *there)
        assert moved.device.type == "meta" and moved.shape == out.shape and moved.dtype == out.dtype
    else:
        assert meta(QUERIES, KEYS, device="meta").device.type == "meta"
    single = copy.deepcopy(module).float()
    if there or list(single.parameters()):
        short = run(name, single, torch.float32)
        assert short.dtype == torch.float32
        off = bounds.in_single(max(1.0, float(out.detach().abs().max())) * 8, of.terms)
        assert float((short.double() - out).detach().abs().max()) <= off


@pytest.mark.parametrize("name", MODULES)
def test_what_it_says(name):
    module = MODULES[name].make()
    said = repr(module)
    assert said.startswith(type(module).__name__) and MODULES[name].says in said, said
