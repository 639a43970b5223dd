"""A layer as FlexAttention takes it: score_mod and mask_mod (posenc.torch has both).

  x_ij = scale tau_i (q_i . k_j)         scale: flex_attention's own argument; tau: the query scale
  y_ij = x_ij + biases                   z_ij = cap tanh(y_ij / cap), or the cap before the biases

What FlexAttention has no place for is the caller's: the rotation of q and k, sinks, rotated values. score_mod takes a
layer that has any of these only from a caller who says that it is done.
"""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

from . import _posenc
from ._score_tables import Tables, place, with_ends

ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]

_OF_PLACES = (
    _posenc.Alibi,
    _posenc.ClippedBias,
    _posenc.Fire,
    _posenc.Kerple,
    _posenc.MlpBias,
    _posenc.Sandwich,
    _posenc.T5Bias,
)


def _layer_of(plan: Any, layer: int, stack: int, where: str) -> _posenc.LayerPlan:
    if not isinstance(plan, (_posenc.Plan, _posenc.LayerPlan)):
        raise TypeError(f"[{where}] plan must be a Plan or a LayerPlan but is a {type(plan).__name__}")
    of = _of_plan(plan, layer, stack, where) if isinstance(plan, _posenc.Plan) else plan
    if isinstance(plan, _posenc.LayerPlan) and (layer, stack) != (0, 0):
        raise ValueError(f"[{where}] layer and stack must be omitted for a LayerPlan, but are {layer!r} and {stack!r}")
    if of.kind not in ("attention", "cross_attention"):
        raise ValueError(f"[{where}] the layer must be of attention but is of {of.kind}")
    if of.compression is not None:
        raise ValueError(f"[{where}] keys must be tokens, but one of {of.compression} is compressed from several")
    return of


def _of_plan(plan: _posenc.Plan, layer: Any, stack: Any, where: str) -> _posenc.LayerPlan:
    """ValueError for a number that the plan does not have: a negative one is no count from the end."""
    stacks = plan.stacks
    _require_index(where, "stack", stack, len(stacks), "the plan has {} stacks: " + ", ".join(of.name for of in stacks))
    layers = stacks[stack].layers
    _require_index(where, "layer", layer, len(layers), f"the {stacks[stack].name} has {{}} layers")
    return layers[layer]


def _require_index(where: str, name: str, given: Any, count: int, words: str) -> None:
    if isinstance(given, bool) or not hasattr(given, "__index__"):
        raise TypeError(f"[{where}] {name} must be a whole number but is {given!r:.80}")
    if not 0 <= given < count:
        must = f"be from 0 to {count - 1}" if count else "be of a plan that has some"
        raise ValueError(f"[{where}] {name} must {must}, but is {given}: {words.format(count)}")


class _Places:
    """Where rows stand in their sequences: row + offset for queries, row for keys, or their place in a packed one."""

    def __init__(self, where: str, offset: int | Tensor, cu_seqlens: Any, device: Any) -> None:
        self.of_row: Tensor | None = None
        self.sequence: Tensor | None = None
        if isinstance(offset, Tensor):
            if offset.numel() != 1 or offset.is_floating_point():
                raise ValueError(f"[{where}] offset must be a whole number, or a tensor of one")
            offset = offset.reshape(()).to(device)
        elif isinstance(offset, bool) or not hasattr(offset, "__index__"):
            raise TypeError(f"[{where}] offset must be a whole number, or a tensor of one, but is {offset!r}")
        elif offset < 0:
            raise ValueError(f"[{where}] offset must be at least 0 but is {offset}")
        self.offset = offset
        if cu_seqlens is None:
            return
        if isinstance(offset, Tensor) or offset != 0:
            raise ValueError(f"[{where}] offset must be 0 with cu_seqlens, where queries and keys are the same rows")
        ends = torch.as_tensor(cu_seqlens, dtype=torch.int64).cpu()
        if ends.dim() != 1 or len(ends) < 2 or ends[0] != 0 or bool((ends.diff() < 0).any()):
            raise ValueError(f"[{where}] cu_seqlens must be [sequences + 1], ascending from 0, but is {ends.tolist()}")
        rows = torch.arange(int(ends[-1]))
        sequence = torch.searchsorted(ends[1:], rows, right=True)
        self.longest = int(ends.diff().max())
        self.sequence, self.of_row = sequence.to(device), (rows - ends[sequence]).to(device)

    def query(self, row: Tensor) -> Tensor:
        return row + self.offset if self.of_row is None else self.of_row[row]

    def key(self, row: Tensor) -> Tensor:
        return row if self.of_row is None else self.of_row[row]


def _refuse_terms(of: _posenc.LayerPlan) -> None:
    """ValueError for what depends on more than places: hidden states (WavLM's gate), contents, coordinates."""
    for term in of.score:
        is_more = getattr(term, "gated", False) or getattr(term, "axis", 0) != 0
        if is_more or not isinstance(term, _OF_PLACES):
            raise ValueError(f"[score_mod] the score must depend on places alone but has {term!r}")
    if of.regions is not None:
        raise ValueError(f"[score_mod] the score must depend on places alone but has {of.regions!r}")
    if isinstance(of.value, _posenc.ShawValues):
        raise ValueError(f"[score_mod] FlexAttention has no place for {of.value!r}: use posenc.torch.attend")


def _refuse_undone(of: _posenc.LayerPlan, done: dict[str, bool]) -> None:
    """ValueError for what the caller has to do and does not say that he does."""
    is_rotated = any(one.role == "main" for one in of.rotate)
    left_out = {
        "rotated": (is_rotated, "a rotation, which q and k must have (posenc.torch.rotate)"),
        "sinks": (of.sinks, "sinks: multiply the output by sigmoid(lse - sink), of AuxRequest(lse=True)"),
        "values": (of.value is not None, f"{of.value!r}: rotate v, and the output back where it says so"),
    }
    for name, (is_there, what) in left_out.items():
        if not isinstance(done[name], bool):
            raise TypeError(f"[score_mod] {name} must be True, where the caller does it, or False: it is no table")
        if is_there and not done[name]:
            raise ValueError(f"[score_mod] would leave out {what}; then say {name}=True")


def _refuse_length(length: int, least: int) -> None:
    raise ValueError(
        f"[score_mod] length must be at least {least}, as a query stands at {least - 1}, but is {length}: it is the most "
        "tokens that a sequence will have"
    )


def _below(i: Tensor, length: int) -> Tensor:
    """Places of queries, unchanged; ValueError for one from length on, where numbers can be looked at.

    FlexAttention that is not compiled makes a graph too, and runs it with numbers, of which it is a part; what compiles
    looks into it, and finds nothing to do.
    """
    known = _known(i)
    if known is not None and known.numel() and int(known.max()) >= length:
        _refuse_length(length, int(known.max()) + 1)
    return i


def _known(x: Tensor) -> Tensor | None:
    """The numbers of a tensor, under vmap too; None in a graph that is being made, and on meta."""
    if torch._C._len_torch_dispatch_stack():
        return None
    of = torch._C._functorch
    while of.is_functorch_wrapped_tensor(x):
        x = of.get_unwrapped(x)
    return x if type(x) is Tensor and x.device.type == "cpu" else None


def score_mod(
    plan: _posenc.Plan | _posenc.LayerPlan,
    layer: int = 0,
    *,
    length: int,
    score_weights: Any = (),
    stack: int = 0,
    device: Any = "cpu",
    offset: int | Tensor = 0,
    cu_seqlens: Any = None,
    rotated: bool = False,
    sinks: bool = False,
    values: bool = False,
) -> ScoreMod:
    """The scores of a layer as FlexAttention takes them: flex_attention(q, k, v, score_mod=score_mod(plan, 0, ...)).

    plan: a Plan, whose `layer` of `stack` is meant, or a LayerPlan. length: the most tokens that a sequence will have,
    those in its KV cache included. score_weights: learned tables, as attend has them. device: of q, k and v.

    offset: where the first query stands; in a decode step the number of keys before it. A tensor of one number may
    change between calls of one graph. cu_seqlens: [sequences + 1], packed sequences, whose places begin anew.

    It adds the biases and does the query scale and the soft cap. FlexAttention's `scale` is layer.softmax_scale, and
    mask_mod makes its block_mask; norms of q and k are applied before, as for attend. What it cannot do is refused,
    unless the caller says that the call does it besides:
      rotated: q and k are rotated, as posenc.torch.rotate does it.
      sinks: the output is multiplied by sigmoid(lse - sink).
      values: values are rotated (RotatedValues), and the output back where the layer says so.

    What depends on the distance alone is looked up in 2 length - 1 numbers a head (ALiBi, T5, clipped tables, KERPLE,
    Sandwich, perceptrons of the distance), BLOOM's and Falcon's ALiBi in length, FIRE, which knows the query's place
    too, in length^2. ValueError for a layer whose scores depend on more: on what queries and keys hold, on coordinates.

    Places beyond these numbers: ValueError for an offset of length or more, and on the CPU for a query that stands
    there, unless the call is compiled. A graph cannot look at places: there, on other devices, and for keys, a score
    without a number is +Inf, and the output NaN unless the mask hides it, as it hides empty slots of a static KV cache.
    """
    of = _layer_of(plan, layer, stack, "score_mod")
    _refuse_terms(of)
    _refuse_undone(of, {"rotated": rotated, "sinks": sinks, "values": values})
    if length < 1:
        raise ValueError(f"[score_mod] length must be at least 1 but is {length}")
    places = _Places("score_mod", offset, cu_seqlens, device)
    if cu_seqlens is not None and places.longest > length:
        longest = f"that of the longest sequence, {places.longest}"
        raise ValueError(f"[score_mod] length must be at least {longest}, but is {length}")
    add = Tables(of, score_weights, length).lookup(device)
    if isinstance(places.offset, int) and places.offset >= length:
        _refuse_length(length, places.offset + 1)
    # Plain values: a graph cannot look into the plan.
    cap = of.soft_cap.cap if of.soft_cap is not None else None
    is_before = of.soft_cap is not None and of.soft_cap.order == "before_bias"
    tau: Tensor | None = None
    if of.query_scale is not None:
        tau = with_ends(torch.tensor([_posenc.query_scale(of.query_scale, i) for i in range(length)], device=device))
    on, has_tables = torch.device(device), bool(of.score) or tau is not None
    below = torch.compiler.allow_in_graph(_below)  # not at the top: it imports the compiler

    def mod(score: Tensor, b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        if score.device.type != on.type:
            raise ValueError(f"[score_mod] was made for {on} but the scores are on {score.device}: say device=")
        i, j = places.query(q_idx), places.key(kv_idx)
        if has_tables:
            i = below(i, length)
        if tau is not None:
            score = score * tau[place(i, length)]
        if cap is None:
            score = add(score, h, i, j)
        elif is_before:
            score = add(cap * torch.tanh(score / cap), h, i, j)
        else:
            score = cap * torch.tanh(add(score, h, i, j) / cap)
        # NaN of a table's ends would do, but that Inductor's kernel for the CPU gives 0 where a row has nothing else.
        return score.masked_fill(score.isnan(), torch.inf) if has_tables else score

    return mod


def mask_mod(
    plan: _posenc.Plan | _posenc.LayerPlan,
    layer: int = 0,
    *,
    stack: int = 0,
    device: Any = "cpu",
    offset: int | Tensor = 0,
    cu_seqlens: Any = None,
    prefix: int | Tensor = 0,
) -> MaskMod:
    """The attention mask of a layer as FlexAttention takes it: create_block_mask(mask_mod(plan, 0), B, H, Q, KV).

    Causal or bidirectional, prefix, sliding window and chunks, as the layer has them. plan, layer, stack, device,
    offset and cu_seqlens: as for score_mod; packed sequences do not see one another. prefix: tokens at the front that
    all attend to, for the mask "prefix": a number, or [batch]. Padding is for a mask of the caller's own: and_masks.
    ValueError for a sparse mask, which the plan does not have, and for a prefix without a mask that reads it.
    """
    of = _layer_of(plan, layer, stack, "mask_mod")
    mask = of.mask
    if mask.kind == "sparse":
        raise ValueError("[mask_mod] the plan's mask is sparse: which keys are visible is for the model to say")
    if mask.kind != "prefix" and not (isinstance(prefix, int) and prefix == 0):
        raise ValueError(f"[mask_mod] a prefix must have a mask that reads it, but the mask is {mask.kind}")
    places = _Places("mask_mod", offset, cu_seqlens, device)
    front = torch.as_tensor(prefix).to(device)
    sequence, kind, window, chunk = places.sequence, mask.kind, mask.window, mask.chunk
    past, future = (window.past, window.future) if window is not None else (0, 0)
    has_window = window is not None

    def mod(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        i, j = places.query(q_idx), places.key(kv_idx)
        seen = (j <= i) if kind != "bidirectional" else (j >= 0) & (i >= 0)
        if kind == "prefix":
            seen = seen | (j < (front[b] if front.dim() else front))
        if has_window:
            seen = seen & (i - j <= past) & (j - i <= future)
        if chunk is not None:
            seen = seen & (i // chunk == j // chunk)
        return seen if sequence is None else seen & (sequence[q_idx] == sequence[kv_idx])

    return mod
