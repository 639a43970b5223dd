"""What a port's rotation did to queries or keys, and what of it is wrong."""

from __future__ import annotations

from typing import SupportsIndex, Union

from . import _posenc
from ._arrays import ArrayLike, PositionsLike
from ._posenc import Diagnosis, Plan, Rotate
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
) -> Diagnosis:
    """What a rotation did, measured on queries or keys before and after it, and what of it the plan does not say.

    before, after: [tokens, heads, head_dim] or [batch, heads, tokens, head_dim], of any dtype; of [batch, tokens, heads,
    head_dim] pass x.transpose(1, 2). plan: a plan, or whatever read_plan takes; without one, what was done is recovered.
    layer: counted from 0; may be omitted where all layers of the stack rotate alike. start: the position of each
    sequence's first token; positions: [axes, tokens] or [axes, batch * tokens] instead. With neither, 0 is as good as
    the plan, and another start is open. length: of the sequence, in tokens, for rules that depend on it.

    The verdict is 'as the plan', 'differs', 'cannot tell' or, without a plan, 'recovered'. ValueError for arrays that
    do not fit, for a NaN or an infinity, and for a layer that does not rotate.
    """
    of = plan if plan is None or isinstance(plan, Plan) else read_plan(plan)
    return _posenc._diagnose(
        before,
        after,
        rotate=None if of is None else _rotation(of, stack, layer),
        plan=of,
        length=length,
        start=None if start is None else int(start.__index__()),
        positions=positions,
    )
