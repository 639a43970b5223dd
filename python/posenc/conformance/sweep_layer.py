"""One layer of a plan against what one layer of the class did: the facts that differ, by name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

import posenc

from . import sweep_inputs, sweep_sparse
from .sweep_probe import Attended, alike, kv_heads_of
from .sweep_rotation import Rotated, halves_to_neighbours, projected_order, ranges, reordered, still

Differences = dict[str, str]

_MASKED = -5000.0  # below the largest score of the row: classes add -1e4, the least float, or -inf
_APART = -50.0  # Swin's classes take 100 off where a window holds what is not adjacent
_SCORE = 2e-4
_SCORES = 2**22  # of a layer, at most, that are compared: of some heads where there are many tokens
_JUDGED = (posenc.Alibi, posenc.T5Bias, posenc.ClippedBias, posenc.GridBias, posenc.DistanceLogits)
_MOST_ROWS = 2**16
_TABLES = (posenc.T5Bias, posenc.ClippedBias, posenc.GridBias, posenc.DistanceLogits)


def main_rope(layer: posenc.LayerPlan) -> posenc.Rope | None:
    return next((rotate.rope for rotate in layer.rotate if rotate.role == "main"), None)


def main_ropes(layer: posenc.LayerPlan) -> list[posenc.Rope]:
    return [rotate.rope for rotate in layer.rotate if rotate.role == "main"]


def visible(mask: posenc.Mask, rows: int, columns: int) -> Tensor | None:
    """[rows, columns]; None where a plan says in words only what is masked."""
    if mask.kind in ("prefix", "sparse"):
        return None
    i, j = torch.arange(rows)[:, None], torch.arange(columns)
    seen = torch.ones(rows, columns, dtype=torch.bool)
    if mask.kind == "causal":
        seen &= j <= i
    if mask.window is not None:
        seen &= (i - j <= mask.window.past) & (j - i <= mask.window.future)
    if mask.chunk is not None:
        seen &= i // mask.chunk == j // mask.chunk
    return seen


@dataclasses.dataclass(frozen=True)
class Setting:
    """What layers of a run have in common."""

    text: bool  # tokens stand at 0, 1, 2, ...; else where the class puts them
    length: int | None  # of the plan
    permuted: bool  # channels of q and k are moved as checkpoints are loaded


def compare(layer: posenc.LayerPlan, event: Attended, setting: Setting) -> Differences:
    length = setting.length
    if not bool(event.q.any()) or not bool(event.k.any()):
        return {"hidden states": "vanish in the class as it is fed here"}
    if not bool(torch.isfinite(event.q).all() and torch.isfinite(event.k).all()):
        return {"hidden states": "are not finite in the class as it is fed here"}  # as heads, no two NaN are alike
    found: Differences = {}
    sizes = {
        "heads": (layer.heads, event.q.shape[1]),
        "kv_heads": (layer.kv_heads, kv_heads_of(event)),
        "head_dim": (layer.head_dim, event.q.shape[-1]),
        "value_dim": (layer.value_dim, event.value_dim or layer.value_dim),
        "sinks": (layer.sinks, event.sinks),
    }
    for name, (plan, own) in sizes.items():
        if plan != own:
            found[name] = f"plan {plan}, class {own}"
    if "heads" in found or "head_dim" in found:
        return found
    found.update(_additions(layer, event))
    found.update(_rotations(layer, event, setting))
    found.update(_masks(layer, event))
    if "mask" not in found:
        found.update(_scores(layer, event, length))
    return found


_ROUNDED = 2e-5  # equal, but for the rounding of products of two or three hundred channels
_ADDED_TO = {"queries": ("queries", "queries_and_keys"), "keys": ("keys", "queries_and_keys", "keys_and_values")}


def _additions(layer: posenc.LayerPlan, event: Attended) -> Iterator[tuple[str, str]]:
    """Queries and keys of tokens that have one hidden state differ where, and only where, something is added."""
    if any(of.to == "hidden_states" for of in layer.added):
        return  # values have it too, and a norm may leave no trace of it: sweep_input_tables looks for the tables
    # One row for all cells of a level (Mask2Former) leaves none either.
    added = [of for of in layer.added if getattr(of.scheme, "tokens", "") != "levels"]
    if event.values_alike and any(of.to == "keys_and_values" for of in added):
        yield "added", "values: the class adds nothing"
        return
    beside = [of for of in added if of.how == "beside"]
    width = event.q.shape[-1] // 2 if beside else event.q.shape[-1]
    for name, x in (("queries", event.q[0]), ("keys", event.k[0])):
        said = [of for of in added if of.to in _ADDED_TO[name]]
        for of, part in (("in channels beside", x[..., width:]), ("", x[..., :width])):
            is_said = any((each.how == "beside") == bool(of) for each in said)
            if not part.numel() or x.shape[1] < 2:
                continue
            if is_said and alike(part, _ROUNDED):
                yield "added", f"{name}: the class adds nothing {of}".strip()
                return
            has_one_state = event.values_alike and (name == "keys" or layer.kind == "attention")
            if not is_said and not alike(part) and has_one_state and not event.steady and not layer.rotate:
                yield ("added", f"{name}: the class adds something that the plan has not {of}".strip())
                return


def _rotations(layer: posenc.LayerPlan, event: Attended, setting: Setting) -> Iterator[tuple[str, str]]:
    ropes = main_ropes(layer)
    if not event.steady:
        return
    for name, x in (("queries", _unscaled(event.q[0], layer, setting)), ("keys", _own_keys(layer, event))):
        heads = _rotated_heads(layer)
        if heads < x.shape[0]:
            if float((x[heads:] - x[heads:, :1]).abs().amax()) > 1e-4 * float(x.abs().amax()):
                yield "rotation", f"{name}: heads after the first {heads} rotate too"
                return
            x = x[:heads]
        if len(ropes) == 1 and setting.text:
            x = reordered(x, ropes[0], _order(layer, event, name, x, setting.length))
        places = torch.arange(x.shape[1], dtype=torch.float64)[None] if setting.text else None
        what = Rotated(x, places).difference(ropes, setting.length)
        if what is not None and len(ropes) == 1 and setting.permuted and ropes[0].pairing == "interleaved":
            x = reordered(x, ropes[0], halves_to_neighbours(ropes[0]))
            what = Rotated(x, places).difference(ropes, setting.length)
        if what is not None:
            yield "rotation", f"{name}: {what}"
            return


def _rotated_heads(layer: posenc.LayerPlan) -> int:
    return max((rotate.heads for rotate in layer.rotate if rotate.role == "main"), default=0) or layer.heads


def _unscaled(q: Tensor, layer: posenc.LayerPlan, setting: Setting) -> Tensor:
    """Without the scale of queries by position, if the plan has one: what is left of it would seem a rotation."""
    if layer.query_scale is None or not setting.text:
        return q
    scales = [posenc.query_scale(layer.query_scale, i) for i in range(q.shape[1])]
    return (q.double() / torch.tensor(scales, dtype=torch.float64)[:, None]).to(q.dtype)


def _own_keys(layer: posenc.LayerPlan, event: Attended) -> Tensor:
    """Of a self attention that looks at another stack's tokens too, behind its own: those keys do not rotate. Nor are
    keys compared that are made of several tokens, of which the first is not alike."""
    k, rows = event.k[0], event.q.shape[2]
    if layer.compression and rows < k.shape[1]:  # those made of several tokens stand behind them
        return k[:, :rows]
    is_merged = layer.kind == "attention" and layer.mask.kind == "sparse" and rows < k.shape[1]
    others = k[:, rows:]
    if is_merged and bool((others - others[:, :1]).abs().amax() <= 1e-4 * others.abs().amax()):
        return k[:, :rows]
    return k


_ORDERS: dict[tuple[object, ...], Tensor | None] = {}


def _order(layer: posenc.LayerPlan, event: Attended, name: str, x: Tensor, length: int | None) -> Tensor | None:
    """Found once for a class: it does not depend on the layer."""
    rope = main_rope(layer)
    assert rope is not None
    key = (type(event.module), name, rope.head_dim, rope.first_channel, rope.dim, rope.pairing)
    if key not in _ORDERS:
        _ORDERS[key] = projected_order(x, rope, event.sources, _factors(layer, event, length))
    return _ORDERS[key]


def _factors(layer: posenc.LayerPlan, event: Attended, length: int | None) -> list[float]:
    """By which the class may have multiplied queries or keys: what it was seen to multiply by, and YaRN's factor."""
    plain = list(dict.fromkeys([1.0, *event.factors, layer.softmax_scale, layer.head_dim**-0.5, layer.head_dim**-0.25]))
    of = attention_factor(layer, length)
    return [*plain, *(of * each for each in plain)] if of != 1 else plain


def attention_factor(layer: posenc.LayerPlan, length: int | None) -> float:
    """That of the scores' queries and keys: a norm after the rotation takes it off again."""
    rope = main_rope(layer)
    if layer.qk_norm is not None and layer.qk_norm.order == "after":
        return 1.0
    return posenc.frequencies(rope, length=length).attention_factor if rope is not None else 1.0


def _visible_to_heads(event: Attended) -> Tensor:
    scores = event.scores[0]
    return scores > scores.amax(-1, keepdim=True) + _MASKED


def visible_to(event: Attended) -> Tensor:
    """[n, m]; the class's mask, which is that of every head."""
    return _visible_to_heads(event).any(0)


def _planned(mask: posenc.Mask, rows: int, columns: int) -> Tensor | None:
    plan = sweep_sparse.visible(mask, rows, columns) if mask.kind == "sparse" else visible(mask, rows, columns)
    return plan if isinstance(plan, Tensor) else None


def not_compared(layer: posenc.LayerPlan, event: Attended) -> str | None:
    """Why who sees whom was not held to the plan's words."""
    if layer.mask.kind != "sparse":
        return None
    rows, columns = event.scores.shape[-2:]
    most = sweep_sparse.patches(layer.mask)
    if most is not None:
        return None if columns == most else f"{columns} keys at once, which is no window"
    plan = sweep_sparse.visible(layer.mask, rows, columns)
    return plan if isinstance(plan, str) else None


def _masks(layer: posenc.LayerPlan, event: Attended) -> Iterator[tuple[str, str]]:
    own = visible_to(event)
    if layer.mask.kind == "sparse" and (most := sweep_sparse.patches(layer.mask)) is not None:
        if own.shape[1] > most:
            yield "mask", f"windows of {most} patches by the plan, {own.shape[1]} keys at once in the class"
        return
    plan = _planned(layer.mask, *own.shape)
    if plan is None:
        return
    if own.shape[0] == own.shape[1] and bool(own.diagonal().any()):  # padding does not see itself
        plan = torch.where(own.diagonal()[:, None] & own.diagonal(), plan, own)
    if torch.equal(plan, own):
        return
    row = int((plan != own).any(-1).nonzero()[-1])
    keys = [ranges(of[row].nonzero().flatten().tolist()) for of in (plan, own)]
    yield "mask", f"query {row} sees keys {keys[0]} by the plan, {keys[1]} by the class"


def factor(x: Tensor, sources: list[Tensor], candidates: list[float]) -> float | None:
    """By what the class multiplied a head's channels after it projected and normalised them; None: not seen."""
    if not x.numel() or not sources:
        return None
    known = torch.cat([source.flatten() for source in sources]).double().abs()
    probes = x.double().abs().flatten()[:6].tolist()
    for of in candidates:
        if all(float((known - probe / of).abs().amin()) <= 2e-6 * probe / of + 1e-9 for probe in probes):
            return of
    return None


def _of_head_norms(x: Tensor, sources: list[Tensor], candidates: list[float]) -> float | None:
    """As `factor`, where the first token may be rotated: lengths of heads stay."""
    d = x.shape[-1]
    chunks = [source.reshape(-1, d) for source in sources if source.numel() % d == 0]
    return factor(x.double().norm(dim=-1)[:4], [chunk.double().norm(dim=-1) for chunk in chunks], candidates)


def multiplied(x: Tensor, layer: posenc.LayerPlan, event: Attended, length: int | None) -> tuple[float, float | None]:
    """Of rotated channels (of all, where none is) and of those that are not. x: [heads, d] of the first token."""
    factors = _factors(layer, event, length)
    ropes = main_ropes(layer)
    rest = still(ropes, x.shape[-1])
    unmoved = factor(x[0, rest], event.sources, factors) if ropes else None
    moved = [c for c in range(x.shape[-1]) if c not in set(rest)] if ropes else rest
    own = factor(x[0, moved], event.sources, factors)
    if own is None:
        own = _of_head_norms(x, event.sources, factors)
    return (attention_factor(layer, length) if own is None else own), unmoved


def _scores(layer: posenc.LayerPlan, event: Attended, length: int | None) -> Iterator[tuple[str, str]]:
    if any(not isinstance(term, _JUDGED) for term in layer.score):
        return
    plan = attention_factor(layer, length)
    by_queries, still_queries = multiplied(event.q[0, :, 0], layer, event, length)
    by_keys, _ = multiplied(event.k[0, :, 0], layer, event, length)
    if still_queries is not None and abs(by_queries / still_queries / plan - 1) > 1e-5:
        yield ("attention_factor", f"plan {plan:.6g}, class {by_queries / still_queries:.6g}")
        return
    scale = layer.softmax_scale * plan**2 / (by_queries * by_keys)
    group = event.q.shape[1] // event.k.shape[1]
    heads = max(group, _SCORES // event.scores[0, 0].numel() // group * group)
    q, k = event.q[0, :heads].double(), event.k[0, : heads // group].double()
    content = q @ k.repeat_interleave(group, 0).transpose(-1, -2)
    # Queries that are chosen are others in each head.
    seen = _visible_to_heads(event)[:heads] if layer.mask.kind == "sparse" else visible_to(event)
    own = event.scores[0, :heads].double()
    expected = _capped(layer, content * scale, _bias(layer, event.scores[0].shape)[:heads])
    if any(isinstance(term, posenc.GridBias) for term in layer.score):
        seen = seen & (own - expected > _APART)
    rest = torch.where(seen, own - expected, 0)
    if any(isinstance(term, _TABLES) for term in layer.score):
        yield from _by_distance(layer, rest, seen)
    elif not _is_nothing(layer, own, rest, seen, expected) and not _was_taken(layer, event, content, own, seen):
        yield _what_differs(layer, content, own, seen, scale)


def _was_taken(layer: posenc.LayerPlan, event: Attended, content: Tensor, own: Tensor, seen: Tensor) -> bool:
    """Scores that are q.k as they stand, where the module multiplied by the plan's scale: before them then, queries or
    keys that are sums of projections, in which `multiplied` finds no output of one (DAB-DETR)."""
    if layer.score or not any(of.how != "before_projection" for of in layer.added):
        return False
    is_plain = float(((own - content) * seen).abs().amax()) <= _SCORE * (1 + float((content * seen).abs().amax()))
    return is_plain and any(abs(of / layer.softmax_scale - 1) < 1e-6 for of in event.factors)


def _capped(layer: posenc.LayerPlan, scores: Tensor, bias: Tensor) -> Tensor:
    cap = layer.soft_cap
    if cap is None:
        return scores + bias
    if cap.order == "before_bias":
        return cap.cap * (scores / cap.cap).tanh() + bias
    return cap.cap * ((scores + bias) / cap.cap).tanh()


def _bias(layer: posenc.LayerPlan, shape: torch.Size) -> Tensor:
    total = torch.zeros(shape, dtype=torch.float64)
    for term in layer.score:
        if isinstance(term, posenc.Alibi):
            scale = layer.softmax_scale if term.scaled else 1.0
            for head, slope in enumerate(posenc.alibi_slopes(term)):
                rows = [[posenc.alibi_bias(term, slope, i, j) for j in range(shape[2])] for i in range(shape[1])]
                total[head] += scale * torch.tensor(rows, dtype=torch.float64)
    return total


def _is_nothing(layer: posenc.LayerPlan, own: Tensor, rest: Tensor, seen: Tensor, expected: Tensor) -> bool:
    """A number that all keys of a query have is nothing to a softmax: ALiBi by columns, the largest score taken off."""
    bound = _SCORE * (1 + float(torch.where(seen, expected, 0).abs().amax()))
    if float(rest.abs().amax()) <= bound:
        return True
    if len(own) > 1 and float((rest - rest[seen.expand_as(rest)][0])[seen.expand_as(rest)].abs().amax()) <= bound:
        return True  # one number for all heads and tokens, which a wrong scale would not give
    if layer.mask.kind == "sparse" and _is_number_of_heads(rest, seen.expand_as(rest), expected, bound):
        return True
    if not any(isinstance(term, posenc.Alibi) for term in layer.score) and float(own.amax(-1).abs().amax()) > 0:
        return False
    low = torch.where(seen, rest, torch.inf).amin(-1)
    high = torch.where(seen, rest, -torch.inf).amax(-1)
    return bool(((high - low)[seen.any(-1).expand(high.shape)] <= bound).all())


def _is_number_of_heads(rest: Tensor, seen: Tensor, expected: Tensor, bound: float) -> bool:
    """One number for all tokens of a head, made of contents that are the same here (Doge), which a wrong scale would
    not give where scores differ."""
    for of, pairs, scores in zip(rest, seen, expected):
        own, by_plan = of[pairs], scores[pairs]
        if float(own.max() - own.min()) > bound or float(by_plan.max() - by_plan.min()) < 10 * bound:
            return False
    return True


def _what_differs(layer: Any, content: Tensor, own: Tensor, seen: Tensor, scale: float) -> tuple[str, str]:
    pairs = seen.expand_as(content)
    x, y = content[pairs], own[pairs]
    slope = float((x * y).sum() / (x * x).sum())
    fits = bool((y - slope * x).abs().max() <= _SCORE * (1 + float(y.abs().max())))
    if fits and not layer.score:
        return ("softmax_scale", f"plan {layer.softmax_scale:.6g}, class {layer.softmax_scale * slope / scale:.6g}")
    return ("scores", f"another term or cap: {float((y - scale * x).abs().max()):.3g} apart")


def _row(term: Any, i: int, j: int) -> int:
    if isinstance(term, posenc.T5Bias):
        place = i, j
        if term.axis > 0:  # across and down a page
            place = sweep_inputs.box(i)[term.axis - 1], sweep_inputs.box(j)[term.axis - 1]
        return posenc.t5_bucket(term, place[0] - place[1])
    if isinstance(term, posenc.GridBias):  # row by row
        rows, columns = (i // term.columns - j // term.columns, i % term.columns - j % term.columns)
        return (rows + term.rows - 1) * (2 * term.columns - 1) + columns + term.columns - 1
    if isinstance(term, posenc.DistanceLogits):  # one row more, of zeros
        return i - j if 0 <= i - j < term.extent else term.extent
    return max(-term.future, min(term.past, i - j))


def _by_distance(layer: posenc.LayerPlan, rest: Tensor, seen: Tensor) -> Iterator[tuple[str, str]]:
    """Two pairs of tokens have one bias if, and only if, the plan has one row for them (of each table, where there are
    several). To a softmax it is nothing what all keys of a query have: the bias of a token's own key is taken off."""
    terms = [term for term in layer.score if isinstance(term, _TABLES)]
    if rest.shape[1] == rest.shape[2] and bool(seen.diagonal(dim1=-2, dim2=-1).all()):
        rest = rest - rest.diagonal(dim1=-2, dim2=-1).unsqueeze(-1)
    term = terms[0]
    if isinstance(term, posenc.GridBias) and rest.shape[1:] != (term.rows * term.columns,) * 2:
        yield ("bias", f"windows of {term.rows} x {term.columns}, of which the class has {rest.shape[1]} tokens")
        return
    rows = torch.zeros(rest.shape[1:], dtype=torch.long)
    for term in terms:
        own = torch.tensor([[_row(term, i, j) for j in range(rest.shape[2])] for i in range(rest.shape[1])])
        rows = rows * _MOST_ROWS + own
    means = {}
    seen = seen.expand_as(rest).all(0)
    for row in rows[seen].unique().tolist():
        values = rest[:, (rows == row) & seen]
        if float((values - values[:, :1]).abs().max()) > 1e-3:
            yield "bias", f"row {row} of the plan's table holds several of the class's"
            return
        means[row] = values[:, 0]
    stacked = torch.stack(list(means.values()))
    apart = torch.cdist(stacked, stacked) + torch.eye(len(stacked)) * 1e3
    if float(apart.min()) < 1e-3:
        one, other = divmod(int(apart.argmin()), len(stacked))
        yield ("bias", f"the class has one row for the plan's {list(means)[one]} and {list(means)[other]}")
