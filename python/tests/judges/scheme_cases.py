"""Every scheme as a layer with small random tables, and calls of it: what tests of posenc.torch and posenc.nn go through.

A score term, region, value scheme, query scale or rotation without a case here fails test_composed.py.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable

import torch
from torch import Tensor

import posenc
import posenc.torch
from posenc._graph_arguments import call_of

HEADS, KV_HEADS, HEAD_DIM, VALUE_DIM = 4, 2, 8, 6
SCALE = HEAD_DIM**-0.5
SIZES = {"heads": HEADS, "kv_heads": KV_HEADS, "head_dim": HEAD_DIM, "value_dim": VALUE_DIM, "softmax_scale": SCALE}


class Random:
    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, dtype=torch.float64)

    def between(self, low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(shape, generator=self.generator, dtype=torch.float64)

    def whole(self, low: int, high: int, *shape: int) -> Tensor:
        return torch.randint(low, high + 1, shape, generator=self.generator)

    def linear(self, outputs: int, inputs: int) -> dict[str, Tensor]:
        return {"weight": self(outputs, inputs), "bias": self(outputs)}


@dataclass
class Case:
    name: str
    layer: posenc.LayerPlan
    tables: Callable[[Random], dict[str, Any]] = lambda random: {}
    side: int = 0  # coordinates lie in [0, side); 0: anywhere
    from_zero: bool = False
    real: bool = False  # positions need not be whole
    batches_only: bool = False
    terms: int = HEAD_DIM  # products that a score is a sum of
    kernel: bool = True  # the kernels compute it too


def _term(name: str, term: Any, tables: Callable[[Random], Any] | None = None, **others: Any) -> Case:
    plan = posenc.LayerPlan(**SIZES, score=(term,))
    made = (lambda random: {"score_weights": [tables(random)]}) if tables is not None else (lambda random: {})
    return Case(name, plan, made, **others)


def _table(*shape: int) -> Callable[[Random], Any]:
    return lambda random: {"table": random(*shape)}


def half(**others: Any) -> posenc.Rope:
    return posenc.Rope(**{"pairing": "half", "head_dim": HEAD_DIM, "dim": HEAD_DIM, "base": 100.0, **others})


def _rotated(name: str, *schemes: Any, more: dict[str, Any] | None = None, **others: Any) -> Case:
    turns = tuple(s if isinstance(s, posenc.Rotate) else posenc.Rotate(scheme=s) for s in schemes)
    return Case(name, posenc.LayerPlan(**{**SIZES, "rotate": turns, **(more or {})}), **{"real": True, **others})


def _xl(random: Random, u: bool = True, v: bool = True, table: int = 0, channels: int = 6) -> dict[str, Any]:
    out: dict[str, Any] = {"projection": random(HEADS * HEAD_DIM, channels) * 0.5}
    if u:
        out["content_bias"] = random(HEADS, HEAD_DIM)
    if v:
        out["position_bias"] = random(HEADS, HEAD_DIM)
    if table:
        out["table"] = random(table, channels)
    return out


def _deberta(rows: int, keys: bool = True, queries: bool = True) -> Callable[[Random], Any]:
    def make(random: Random) -> dict[str, Any]:
        out: dict[str, Any] = {"table": random(rows, 5) * 0.5}
        if keys:
            out["keys"] = random.linear(HEADS * HEAD_DIM, 5)
        if queries:
            out["queries"] = random.linear(HEADS * HEAD_DIM, 5)
        return out

    return make


def _fire(random: Random) -> dict[str, Any]:
    c, threshold = random.between(0.2, 0.7), random.between(4, 7)
    return {"c": c, "threshold": threshold, "hidden": random.linear(7, 1), "out": random.linear(HEADS, 7)}


def _mlp(random: Random) -> dict[str, Any]:
    return {"layers": [random.linear(5, 1), random.linear(4, 5), random.linear(HEADS, 4)]}


def _kerple(random: Random) -> dict[str, Any]:
    return {"r1": random.between(0.2, 1.0, HEADS), "r2": random.between(0.2, 1.0, HEADS)}


def _xlnet(random: Random) -> dict[str, Any]:
    return {"positions": _xl(random), "segment_bias": random(HEADS, HEAD_DIM), "segments": random(2, HEADS, HEAD_DIM)}


P = posenc
ALIBI = {"heads": HEADS}
AXES = {"axes": P.axial_axes(["h", "w"], HEAD_DIM // 2), "axis_frequencies": "per_axis"}
MROPE = {"axes": P.chunked_axes(["t", "h", "w"], [2, 1, 1])}
YARN = P.YarnScaling(factor=4.0, original_max_position_embeddings=16)


def all_cases() -> list[Case]:
    shaw = (9, HEAD_DIM)
    cases = [
        Case("no positions", P.LayerPlan(**SIZES), real=True),
        _term("alibi", P.Alibi(**ALIBI), real=True),
        _term("alibi symmetric", P.Alibi(**ALIBI, symmetric=True), real=True),
        _term("alibi column", P.Alibi(**ALIBI, form="column"), real=True),
        _term("alibi falcon", P.Alibi(**ALIBI, form="column_bfloat16", scaled=True)),
        _term("alibi learned slopes", P.Alibi(**ALIBI), lambda r: {"slopes": r.between(0.1, 0.6, HEADS)}, kernel=False),
        _term("t5", P.T5Bias(buckets=8, max_distance=20), _table(8, HEADS)),
        _term(
            "t5 both ways", P.T5Bias(buckets=12, max_distance=20, bidirectional=True, scaled=True), _table(12, HEADS)
        ),
        _term("t5 gated, of an axis", P.T5Bias(buckets=8, max_distance=9, gated=True, axis=1), _table(8, HEADS)),
        _term("clipped", P.ClippedBias(past=4, future=2), _table(7, HEADS)),
        _term("grid", P.GridBias(rows=16, columns=16), _table(31 * 31, HEADS), side=16),
        _term("kerple", P.Kerple(), _kerple, real=True),
        _term("kerple power", P.Kerple(form="power"), _kerple, real=True),
        _term("fire", P.Fire(), _fire, from_zero=True, real=True, terms=8),
        _term("sandwich", P.Sandwich(heads=HEADS, channels=10), real=True, terms=5 * HEADS),
        _term("mlp", P.MlpBias(), _mlp, real=True, terms=12),
        _term("mlp logarithmic", P.MlpBias(logarithmic=True), _mlp, real=True, terms=12),
        _term("shaw", P.ShawKeys(left=5, right=3), _table(*shaw), terms=16),
        _term("shaw by keys, of heads", P.ShawKeys(left=5, right=3, by_keys=True), _table(HEADS, *shaw), terms=24),
        _term("nezha", P.ShawKeys(left=4, right=4, sinusoidal=True), terms=16),
        _term("transformer-xl", P.TransformerXl(), _xl, real=True, terms=64),
        _term("transformer-xl clamped", P.TransformerXl(clamp_length=5), _xl, real=True, terms=64),
        _term(
            "transformer-xl without u, v",
            P.TransformerXl(content_bias=False, position_bias=False, sinusoid="paper"),
            lambda r: _xl(r, False, False, channels=7),
            real=True,
            terms=64,
        ),
        _term(
            "transformer-xl rows",
            P.TransformerXl(distances=P.Distances(low=-2, high=6)),
            lambda r: _xl(r, table=9),
            terms=64,
        ),
        _term("transformer-xl clamped rows", P.TransformerXl(clamp_length=4), lambda r: _xl(r, table=9), terms=64),
        _term("xlnet", P.XlNet(bidirectional_data=True), _xlnet, real=True, batches_only=True, terms=80),
        _term("xlnet clamped", P.XlNet(clamp_length=6), lambda r: {"positions": _xl(r)}, real=True, terms=64),
        _term("deberta", P.Deberta(max_distance=6), _deberta(12), terms=80),
        _term("deberta v2", P.Deberta(buckets=6, max_distance=14, position_to_position=True), _deberta(12), terms=120),
        _term(
            "deberta c2p",
            P.Deberta(buckets=6, max_distance=14, position_to_content=False),
            _deberta(12, queries=False),
            terms=48,
        ),
        _term(
            "decomposed",
            P.DecomposedHw(rows=31),
            lambda r: {"rows": r(31, HEAD_DIM), "columns": r(31, HEAD_DIM)},
            side=16,
            terms=24,
        ),
        _term("cope", P.ContextualPosition(positions=5), _table(5, HEAD_DIM), real=True, terms=32),
        _term("forget gate", P.ForgetGate(), real=True, terms=16),
        Case("forget gates twice", P.LayerPlan(**SIZES, score=(P.ForgetGate(), P.ForgetGate())), real=True, terms=32),
        _term("distance logits", P.DistanceLogits(extent=4, channels=3), real=True),
        Case(
            "shaw values",
            P.LayerPlan(**SIZES, value=P.ShawValues(left=4, right=3)),
            lambda r: {"value_weights": {"table": r(8, VALUE_DIM)}},
        ),
        Case(
            "shaw values of heads",
            P.LayerPlan(**SIZES, value=P.ShawValues(left=4, right=3)),
            lambda r: {"value_weights": {"table": r(HEADS, 8, VALUE_DIM)}},
        ),
        Case("nezha values", P.LayerPlan(**SIZES, value=P.ShawValues(left=4, right=4, sinusoidal=True))),
        _rotated("rope", half()),
        _rotated("rope interleaved, partial", half(pairing="interleaved", dim=4, first_channel=2), terms=12),
        _rotated(
            "rope clockwise, yarn", posenc.Rotate(scheme=half(rotation_direction="clockwise", scaling=YARN), offset=1)
        ),
        _rotated("rope of two axes", half(**AXES)),
        _rotated("rope of three axes", half(**MROPE)),
        _rotated("two rotations", half(dim=4), half(pairing="interleaved", dim=4, first_channel=4, base=50.0)),
        _rotated(
            "learned frequencies",
            half(),
            tables=lambda r: {"inv_freq": [r.between(0.1, 1.0, HEAD_DIM // 2)]},
            kernel=False,
        ),
        _rotated("xpos", P.XPos(rope=half(pairing="interleaved"), scale_base=16.0), terms=24),
        _rotated("rotated values", half(), more={"value_dim": HEAD_DIM, "value": P.RotatedValues()}),
        _rotated(
            "rotated values and back",
            half(scaling=YARN),
            more={"value_dim": HEAD_DIM, "value": P.RotatedValues(inverse_on_output=True)},
        ),
        _rotated("self-extend", half(), more={"regions": P.SelfExtend(group=3, window=4)}, real=False),
        _rotated("rerope", half(), more={"regions": P.ReRope(window=4)}),
        _rotated("leaky rerope", half(), more={"regions": P.ReRope(window=4, step=2.5)}),
        _rotated("dual chunk", half(), more={"regions": P.DualChunk(chunk=4, local=2, trained=6)}, real=False),
        Case(
            "llama 4 scale",
            P.LayerPlan(**SIZES, query_scale=P.Llama4Temperature(attn_scale=0.4, floor_scale=3.0)),
            from_zero=True,
        ),
        Case(
            "ministral scale",
            P.LayerPlan(**SIZES, query_scale=P.MinistralTemperature(beta=0.3, original_max_position_embeddings=4)),
            from_zero=True,
        ),
        Case("log n", P.LayerPlan(**SIZES, query_scale=P.LogNScale(seq_length=5)), from_zero=True),
        Case(
            "beam scale", P.LayerPlan(**SIZES, query_scale=P.BeamTemperature(exponent=0.4, length=6.0)), from_zero=True
        ),
        Case(
            "inkling scale",
            P.LayerPlan(**SIZES, query_scale=P.InklingTemperature(alpha=0.4, floor=3.0)),
            from_zero=True,
        ),
        Case("sinks", P.LayerPlan(**SIZES, sinks=True), lambda r: {"sinks": r(HEADS)}, real=True),
        Case("capped", P.LayerPlan(**SIZES, soft_cap=P.SoftCap(cap=1.5), score=(P.Alibi(**ALIBI),)), real=True),
        Case(
            "capped before the bias, with sinks",
            P.LayerPlan(
                **SIZES, sinks=True, soft_cap=P.SoftCap(cap=1.5, order="before_bias"), score=(P.Alibi(**ALIBI),)
            ),
            lambda r: {"sinks": r(HEADS)},
            real=True,
        ),
        Case(
            "several at once",
            P.LayerPlan(
                **SIZES,
                sinks=True,
                rotate=(P.Rotate(scheme=half()),),
                value=P.ShawValues(left=4, right=3),
                query_scale=P.LogNScale(seq_length=5),
                soft_cap=P.SoftCap(cap=9.0),
                score=(
                    P.T5Bias(buckets=8, max_distance=20),
                    P.ShawKeys(left=5, right=3),
                    P.ContextualPosition(positions=5),
                    P.ForgetGate(),
                ),
            ),
            lambda r: {
                "sinks": r(HEADS),
                "value_weights": {"table": r(8, VALUE_DIM)},
                "score_weights": [{"table": r(8, HEADS)}, {"table": r(*shaw)}, {"table": r(5, HEAD_DIM)}, None],
            },
            from_zero=True,
            terms=64,
        ),
    ]
    return cases


CASES = {case.name: case for case in all_cases()}


def values_taken(member: str) -> set[type]:
    """Classes that this member of a LayerPlan takes."""
    taken: set[type] = set()
    for name, kind in vars(posenc).items():
        if not (isinstance(kind, type) and hasattr(kind, "__replace__")) or name == "LayerPlan":
            continue
        for arguments in ({}, {"pairing": "half"}, {"rope": half()}):
            try:
                one = kind(**arguments)
                made = posenc.LayerPlan(**{member: (one,) if member == "score" else one})
            except (TypeError, ValueError):
                continue
            held = getattr(made, member)
            if held == ((one,) if member == "score" else one):
                taken.add(kind)
    return taken


# ---- calls ----


@dataclass
class Arrangement:
    name: str
    mask: posenc.Mask
    batch: int = 0  # 0: rank 3
    queries: int = 12
    keys: int = 12
    given: dict[str, Any] = field(default_factory=dict)
    places: str = "by order"  # run, scattered, far, real


def _m(kind: str = "causal", **others: Any) -> posenc.Mask:
    return posenc.Mask(kind=kind, **others)


PACKED = {
    f"cu_seqlens_{of}": torch.tensor(ends, dtype=torch.int32)
    for of, ends in (("q", [0, 4, 4, 10]), ("k", [0, 5, 6, 12]))
}
ARRANGEMENTS = [
    Arrangement("causal", _m()),
    Arrangement("causal, run", _m(), batch=2, places="run"),
    Arrangement("causal window", _m(window=P.Window(past=3)), batch=2, places="scattered"),
    Arrangement("window", _m("bidirectional", window=P.Window(past=3, future=2))),
    Arrangement("chunks", _m(chunk=4), batch=2, places="real"),
    Arrangement("bidirectional", _m("bidirectional"), batch=2, places="far"),
    Arrangement("bidirectional, real", _m("bidirectional"), batch=2, places="real"),
    Arrangement("prefix", _m("prefix"), batch=2, given={"prefix": 5}),
    Arrangement("packed", _m(), queries=10, given=PACKED),
    Arrangement("packed, scattered", _m("bidirectional"), queries=10, given=PACKED, places="scattered"),
    Arrangement("arbitrary", _m("sparse"), batch=2, given={"attn_mask": "arbitrary"}),
    Arrangement("biased", _m(), batch=2, queries=4, keys=13, given={"bias": "arbitrary"}, places="scattered"),
    Arrangement("after cached keys", _m(), batch=2, queries=4, keys=13),
    Arrangement("one query", _m(), queries=1),
    Arrangement("more queries than keys", _m(), queries=12, keys=7),
    Arrangement("given orders", _m(), given={"orders": True}),
    Arrangement("given orders, all seen", _m("bidirectional"), batch=2, given={"orders": True}, places="scattered"),
]


def fits(case: Case, of: Arrangement) -> bool:
    if case.batches_only and of.batch == 0:
        return False
    if of.places == "real":
        return case.real
    if of.places in ("by order", "run") and (case.side or case.from_zero) and of.queries > of.keys:
        return False
    if case.side and of.places in ("by order", "run"):
        return max(of.queries, of.keys) + 2 <= case.side
    return of.places != "far" or not (case.side or case.real is False and case.from_zero)


class Call:
    """A layer, its tables, q, k, v and inputs, all in float64."""

    def __init__(self, case: Case, of: Arrangement, seed: int = 1, tables: dict[str, Any] | None = None) -> None:
        random = Random(seed)
        self.case, self.of = case, of
        self.plan = case.layer.replace(mask=of.mask)
        self.tables = case.tables(random) if tables is None else tables
        batch = max(of.batch, 1)

        def heads_of(tokens: int, heads: int, channels: int) -> Tensor:
            return random(of.batch, heads, tokens, channels) if of.batch else random(tokens, heads, channels)

        self.q = heads_of(of.queries, self.plan.heads, self.plan.head_dim)
        self.k = heads_of(of.keys, self.plan.kv_heads, self.plan.head_dim)
        self.v = heads_of(of.keys, self.plan.kv_heads, self.plan.value_dim)
        rows = {"q": batch * of.queries, "k": batch * of.keys}
        given: dict[str, Any] = dict(of.given)
        if given.pop("orders", False):
            given |= {f"{name}_order": random.whole(0, 12, n) for name, n in rows.items()}
        if given.get("attn_mask") is not None:
            given["attn_mask"] = random(batch, self.plan.heads, of.queries, of.keys) > 0
        if given.get("bias") is not None:
            given["bias"] = random(batch, 1, of.queries, of.keys)
        for term in self.plan.score:
            if isinstance(term, P.T5Bias) and term.gated:
                given["row_gate"] = random(rows["q"], self.plan.heads)
            if isinstance(term, P.ForgetGate):
                given["log_forget"] = random.between(-2.0, 0.0, rows["k"], self.plan.heads)
            if isinstance(term, P.DistanceLogits):
                given["bias"] = random(self.plan.heads, of.queries, of.keys)
            if isinstance(term, P.XlNet) and "segments" in (self.tables["score_weights"][0] or {}):
                given |= {f"{name}_segments": random.whole(0, 1, n).to(torch.int32) for name, n in rows.items()}
        given |= self._positions(random, rows)
        self.given = given

    def _positions(self, random: Random, rows: dict[str, int]) -> dict[str, Any]:
        case, of, axes = self.case, self.of, posenc_axes(self.plan)
        low = 0 if case.side or case.from_zero else -30
        high = case.side - 1 if case.side else 60
        if of.places == "by order":
            return {}
        if of.places == "run":
            return {"q_positions": low + 2 + of.keys - of.queries, "k_positions": low + 2}
        if of.places == "real":
            return {
                f"{name}_positions": low + random.between(0, 20, axes, n // max(of.batch, 1))
                for name, n in rows.items()
            }
        base = 2**31 if of.places == "far" else 0
        return {f"{name}_positions": base + random.whole(low, high, axes, n) for name, n in rows.items()}

    def layer(self, dtype: torch.dtype = torch.float64) -> posenc.torch.Layer:
        return posenc.torch.Layer(self.plan, **mapped(self.tables, lambda x: x.to(dtype)))

    def reference(self, lse: bool = False) -> Any:
        """By the float64 reference; of learned slopes and frequencies, by what says the same."""
        layer = posenc.torch.Layer(self.plan, **{k: v for k, v in self.tables.items() if k != "inv_freq"})
        plan, keywords = call_of(layer.text, layer.weights)
        given = dict(self.given)
        q, k = self.q, self.k
        if "inv_freq" in self.tables:
            q, k, given = self._rotated(q, k, given)
        if "slopes" in ((self.tables.get("score_weights") or [None])[0] or {}):
            plan, given = self._sloped(plan, given)
            keywords = {}
        made = posenc.reference.attend(plan, q, k, self.v, lse=True, **keywords, **given)
        out, sums = (torch.as_tensor(x) for x in made)
        return (out, sums) if lse else out

    def _coordinates(self) -> tuple[Tensor, Tensor]:
        """[1 or batch, tokens] of the first axis, of calls that are not packed."""
        made = []
        for name, tokens in (("q", self.of.queries), ("k", self.of.keys)):
            at = self.given.get(f"{name}_positions", self.given.get(f"{name}_order"))
            first = self.of.keys - self.of.queries if name == "q" else 0
            if at is None or isinstance(at, int):
                at = (first if at is None else at) + torch.arange(tokens)
            at = torch.as_tensor(at)
            made.append(at.reshape(-1, tokens) if at.numel() > tokens else at.reshape(1, tokens))
        return made[0].double(), made[1].double()

    def _rotated(self, q: Tensor, k: Tensor, given: Any) -> Any:
        (inv_freq,) = self.tables["inv_freq"]
        out = []
        for x, at in zip((q, k), self._coordinates()):
            angle = at[..., None] * inv_freq
            angle = angle[:, None] if x.dim() == 4 else angle[0, :, None]
            a, b = x[..., : HEAD_DIM // 2], x[..., HEAD_DIM // 2 :]
            out.append(torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1))
        return out[0], out[1], given | {"q_rotated": True, "k_rotated": True}

    def _sloped(self, plan: Any, given: Any) -> Any:
        slopes = self.tables["score_weights"][0]["slopes"]
        i, j = self._coordinates()
        bias = -slopes[:, None, None] * (i[..., :, None] - j[..., None, :])[:, None]
        bias = bias if self.q.dim() == 4 else bias[0]
        return plan.replace(score=()), given | {"bias": bias + given.get("bias", 0.0)}


def posenc_axes(plan: posenc.LayerPlan) -> int:
    axes = [1, *(len(one.rope.axes.names) for one in plan.rotate)]
    for term in plan.score:
        axes.append(2 if isinstance(term, (P.GridBias, P.DecomposedHw)) else 1)
        axes.append(getattr(term, "axis", 0) + 1)
    return max(axes)


def mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The same dicts and lists, each tensor changed."""
    if isinstance(value, dict):
        return {name: mapped(one, change) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [mapped(one, change) for one in value]
    return change(value) if isinstance(value, Tensor) else value


# ---- gradients ----

LEARNED = ("bias", "log_forget", "row_gate")


def function_of(call):
    """attend of tensors alone, those that may be learned: and what they are."""
    layer = call.layer()
    names = [n for n in LEARNED if n in call.given]

    def attend(q, k, v, *rest):
        given = {**call.given, **dict(zip(names, rest[: len(names)]))}
        return posenc.torch.attend(layer, q, k, v, tables=rest[len(names) :], lse=True, backend="composed", **given)

    tensors = [call.q, call.k, call.v, *(call.given[n] for n in names), *layer.weights]
    return attend, [x.detach().clone().requires_grad_() for x in tensors], ["q", "k", "v", *names, *layer.names]
