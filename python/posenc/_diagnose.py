"""What a port's rotation did to queries or keys, and what of it is wrong."""

from __future__ import annotations

import dataclasses
from typing import Any, SupportsIndex, Union, overload

from . import _posenc
from ._arrays import ArrayLike, PositionsLike
from ._dump import Dump, DumpedLayer
from ._posenc import AttentionDiagnosis, BothDiagnosis, Diagnosis, LayerPlan, Plan, Rope, Rotate, Stack
from ._read_plan import Model, read_plan


def _rotation(plan: Plan, stack: str | None, layer: int | None) -> Rotate:
    """The one rotation of queries and keys that is meant."""
    stacks = [of for of in plan.stacks if stack is None or of.name == stack]
    if not stacks:
        raise ValueError(f"[diagnose] stack must be one of {', '.join(of.name for of in plan.stacks)} but is {stack}")
    for of in stacks:
        layers = [one for one in of.layers if layer is None or one.index == layer]
        found = list(dict.fromkeys(one for at in layers for one in at.rotate if one.role != "indexer"))
        if len(found) == 1:
            return found[0]
        if found:
            raise ValueError(f"[diagnose] layer must be given: the layers of {of.name} rotate differently")
    where = "no layer" if layer is None else f"layer {layer} does not exist or does not"
    raise ValueError(f"[diagnose] layer must rotate queries and keys but {where} rotate")


@dataclasses.dataclass(frozen=True)
class DiagnosedLayer:
    """What one attention module of a dump did; None where the dump or the plan says nothing of it."""

    name: str
    call: int
    queries: Union[Diagnosis, None] = None
    keys: Union[Diagnosis, None] = None
    attention: Union[AttentionDiagnosis, None] = None
    exchanged: bool = False  # queries came out as keys
    said: str = ""  # why nothing was looked at

    def parts(self) -> dict[str, Union[Diagnosis, AttentionDiagnosis]]:
        """What was looked at: "queries", "keys", "attention"."""
        named = {"queries": self.queries, "keys": self.keys, "attention": self.attention}
        return {name: found for name, found in named.items() if found is not None}

    @property
    def verdict(self) -> str:
        """The worst of its parts: differs, cannot tell, as the plan."""
        return "differs" if self.exchanged else _worst([found.verdict for found in self.parts().values()])


@dataclasses.dataclass(frozen=True)
class DiagnosedDump:
    """A diagnosis for each layer of a dump, in its order."""

    layers: tuple[DiagnosedLayer, ...]

    @property
    def verdict(self) -> str:
        """The worst of all layers; 'cannot tell' where nothing could be looked at."""
        return _worst([layer.verdict for layer in self.layers if layer.parts()])

    def describe(self) -> str:
        """A line a layer and part, and below it what was found of those that are not as the plan says."""
        lines = [self.verdict]
        for layer in self.layers:
            call = f", call {layer.call}" if layer.call else ""
            if not layer.parts():
                lines.append(f"  {layer.name}{call}: {layer.said}")
            if layer.exchanged:
                lines.append(f"  {layer.name}{call}: differs: exchanged, queries come out as keys")
            for part, found in layer.parts().items():
                first, *others = found.describe().splitlines()
                lines.append(f"  {layer.name}{call}, {part}: {first}")
                if found.verdict != "as the plan":
                    lines += [f"    {line}".rstrip() for line in others]
        return "\n".join(lines) + "\n"

    def __str__(self) -> str:
        return self.describe()


def _worst(verdicts: list[str]) -> str:
    order = ("differs", "cannot tell", "recovered", "as the plan")
    return next((verdict for verdict in order if verdict in verdicts), "cannot tell")


def _stack_of(plan: Plan, stack: str | None, name: str) -> Stack | None:
    """The stack that is asked for, the only one, or the one whose name the module's has."""
    if stack is not None or len(plan.stacks) == 1:
        return next((of for of in plan.stacks if stack in (None, of.name)), None)
    named = [of for of in plan.stacks if of.name in name]
    return named[0] if named else next((of for of in plan.stacks if of.name == "decoder"), None)


def _layer_of(plan: Plan, stack: str | None, at: DumpedLayer) -> LayerPlan | None:
    of = _stack_of(plan, stack, at.name)
    if of is None or at.block is None:
        return None
    cross = any(word in at.name.lower() for word in ("cross", "encdec"))
    kind = "cross_attention" if cross else "attention"
    return next((layer for layer in of.layers if layer.index == at.block and layer.kind == kind), None)


def _as_given(rotate: Rotate, channels: int) -> Rotate:
    """The rotation of a tensor that has the rotated channels alone, as code has it that splits them off first."""
    rope = rotate.scheme
    if not isinstance(rope, Rope) or channels == rope.head_dim or channels != rope.dim:
        return rotate
    return rotate.replace(scheme=rope.replace(head_dim=rope.dim, first_channel=0))


def _diagnosed(plan: Plan, stack: str | None, at: DumpedLayer, numbers: dict[str, Any]) -> DiagnosedLayer:
    layer = _layer_of(plan, stack, at)
    if layer is None:
        return DiagnosedLayer(at.name, at.call, said="no attention layer of the plan has its number")
    rotations = [of for of in layer.rotate if of.role == "main" and isinstance(of.scheme, Rope)]
    found: dict[str, Any] = {}
    if rotations:
        found = _rotated(rotations[0], plan, at, numbers)
    attention = _attended(layer, plan, at)
    said = "no rotation was seen" if rotations else "the plan rotates nothing in this layer"
    seen = bool(found) or attention is not None
    return DiagnosedLayer(at.name, at.call, **found, attention=attention, said="" if seen else said)


def _rotated(rotate: Rotate, plan: Plan, at: DumpedLayer, numbers: dict[str, Any]) -> dict[str, Any]:
    """Queries and keys, both where both were seen."""
    pairs = {"queries": (at.q_before, at.q_after), "keys": (at.k_before, at.k_after)}
    seen = {part: pair for part, pair in pairs.items() if pair[0] is not None and pair[1] is not None}
    given = {
        part: _as_given(rotate, int(getattr(before, "shape")[-1])) for part, (before, _) in seen.items()
    }
    if len(seen) == 2 and given["queries"] == given["keys"]:
        both = _posenc._diagnose_both(
            *seen["queries"], *seen["keys"], rotate=given["queries"], plan=plan, **numbers
        )
        return {"queries": both.queries, "keys": both.keys, "exchanged": bool(both.findings)}
    return {
        part: _posenc._diagnose(*pair, rotate=given[part], plan=plan, **numbers) for part, pair in seen.items()
    }


def _attended(layer: LayerPlan, plan: Plan, at: DumpedLayer) -> Union[AttentionDiagnosis, None]:
    """Scores, weights and output; nothing where they were not seen, or need tables that a dump does not have."""
    if at.q is None or at.k is None or at.v is None or (at.scores is None and at.out is None):
        return None
    if layer.score or layer.sinks or layer.channel_scale:
        return None
    shapes = [tuple(getattr(x, "shape")) for x in (at.q, at.k, at.v)]
    fits = shapes[0][1] == layer.heads and {shapes[1][1], shapes[2][1]} <= {layer.heads, layer.kv_heads}
    if not fits or any(shape[-1] != of for shape, of in zip(shapes, (layer.head_dim, layer.head_dim, layer.value_dim))):
        return None
    given = {"scores": at.scores, "weights": at.weights, "out": at.out}
    # Queries as they were captured have their query scale, where the layer has one.
    of = layer.replace(query_scale=None)
    found = _posenc.diagnose_attention(of, at.q, at.k, at.v, **given, plan=plan)
    if [finding.fact for finding in found.findings] != ["scale"]:
        return found
    # So they may have the softmax scale (OPT, Whisper), which looks as if it were left out.
    without = _posenc.diagnose_attention(of.replace(softmax_scale=1.0), at.q, at.k, at.v, **given, plan=plan)
    if without.verdict != "as the plan":
        return found
    return without.replace(verdict="cannot tell", undecided=(*without.undecided, _SCALED), dump=_UNSCALED)


_SCALED = "queries were multiplied by the softmax scale before, or it is left out"
_UNSCALED = "compare q with the output of its projection"


@overload
def diagnose(
    before: Dump, after: Union[Plan, Model], plan: None = None, **options: Any
) -> DiagnosedDump: ...


@overload
def diagnose(
    before: ArrayLike,
    after: ArrayLike,
    plan: Union[Plan, Model, None] = None,
    *,
    layer: int | None = None,
    stack: str | None = None,
    start: Union[SupportsIndex, None] = None,
    positions: Union[PositionsLike, None] = None,
    length: int | None = None,
) -> Diagnosis: ...


def diagnose(
    before: Any,
    after: Any,
    plan: Union[Plan, Model, None] = None,
    *,
    layer: int | None = None,
    stack: str | None = None,
    start: Union[SupportsIndex, None] = None,
    positions: Union[PositionsLike, None] = None,
    length: int | None = None,
) -> Union[Diagnosis, DiagnosedDump]:
    """What a rotation did, measured on queries or keys before and after it, and what of it the plan does not say.

    before, after: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim], of any dtype; of [batch, tokens, heads,
    head_dim] pass x.transpose(1, 2). plan: a plan, or whatever read_plan takes; without one, what was done is recovered.
    layer: counted from 0; may be omitted where all layers of the stack rotate alike. start: the position of each
    sequence's first token; positions: [axes, tokens] or [axes, batch * tokens] instead. With neither, 0 is as good as
    the plan, and another start is open. length: of the sequence, in tokens, for rules that depend on it.

    diagnose(dump, plan) takes what posenc.torch.capture recorded, or posenc.torch.load_dump read, and gives a
    DiagnosedDump: each layer by the number of the block in its module's name, queries and keys by the plan's layer of
    that number. start, positions and length are those of every call then, and layer must be omitted.

    The verdict is 'as the plan', 'differs', 'cannot tell' or, without a plan, 'recovered'. ValueError for arrays that
    do not fit, for a NaN or an infinity, and for a layer that does not rotate.
    """
    numbers = {
        "length": length,
        "start": None if start is None else int(start.__index__()),
        "positions": positions,
    }
    if isinstance(before, Dump):
        if plan is not None or layer is not None:
            raise ValueError(
                "[diagnose] plan must be the second of two arguments where the first is a dump, and layer be omitted"
            )
        whole = after if isinstance(after, Plan) else read_plan(after)
        return DiagnosedDump(tuple(_diagnosed(whole, stack, at, numbers) for at in before))
    of = plan if plan is None or isinstance(plan, Plan) else read_plan(plan)
    return _posenc._diagnose(
        before, after, rotate=None if of is None else _rotation(of, stack, layer), plan=of, **numbers
    )


def diagnose_both(
    q_before: ArrayLike,
    q_after: ArrayLike,
    k_before: ArrayLike,
    k_after: ArrayLike,
    plan: Union[Plan, Model, None] = None,
    *,
    layer: int | None = None,
    stack: str | None = None,
    start: Union[SupportsIndex, None] = None,
    positions: Union[PositionsLike, None] = None,
    length: int | None = None,
) -> BothDiagnosis:
    """Queries and keys of one call, each as diagnose has it, and what only both of them together show.

    findings of both is 'exchanged' where queries came out as keys: queries and keys are diagnosed as they came out then.
    Channels that come out in another order alike leave every score as it was, and are as the plan. The arguments are
    those of diagnose.
    """
    of = plan if plan is None or isinstance(plan, Plan) else read_plan(plan)
    return _posenc._diagnose_both(
        q_before,
        q_after,
        k_before,
        k_after,
        rotate=None if of is None else _rotation(of, stack, layer),
        plan=of,
        length=length,
        start=None if start is None else int(start.__index__()),
        positions=positions,
    )
