"""Whether what a caller's plan says, and the model does not, is carried out by use(): all else is refused.

The model's own plan, read_plan(model.config), says what the model does. Where the caller's says the same nothing can be
lost. Where it differs, what differs must be something that use() replaces, in a module that it replaces.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from . import _posenc
from ._attention_modules import Place, attending

# Facts of a layer that attention takes from the plan; masks only where the caller says so.
_ATTENTION = ("score", "softmax_scale", "soft_cap", "sinks")
_SIZES = ("heads", "kv_heads", "head_dim", "value_dim")
_OTHERS = ("kind", "kv_from", "compression", "channel_scale", "qk_norm", "regions", "query_scale")


def main_rope(layer: _posenc.LayerPlan) -> _posenc.Rope | None:
    """ValueError for a rotation that is no RoPE."""
    for rotate in layer.rotate:
        if rotate.role == "main":
            if not isinstance(rotate.scheme, _posenc.Rope):
                raise ValueError(
                    f"[use] rotate must be RoPE in layer {layer.index}, as of a model of transformers, but is "
                    f"{type(rotate.scheme).__name__}"
                )
            return rotate.scheme
    return None


def require_fit(plan: _posenc.Plan, own: _posenc.Plan) -> None:
    """ValueError for layers of other sizes than the model's configuration has."""
    given, has = (_sizes(of) for of in (plan, own))
    if not given.keys() & has.keys():
        raise ValueError(f"[use] plan must have a stack of the model's, {', '.join(has)}, but has {', '.join(given)}")
    for stack in given.keys() & has.keys():
        if len(given[stack]) != len(has[stack]):
            raise ValueError(
                f"[use] plan must have as many attention layers as the model, {len(has[stack])}, but has {len(given[stack])}"
            )
        for number, (ours, theirs) in enumerate(zip(given[stack], has[stack])):
            for name, size in theirs.items():
                if ours[name] != size:
                    raise ValueError(
                        f"[use] plan must have {name} {size} in attention layer {number}, as the model, but has {ours[name]}"
                    )


def _sizes(plan: _posenc.Plan) -> dict[str, list[dict[str, int]]]:
    return {
        stack.name: [{name: getattr(layer, name) for name in _SIZES} for layer in attending(stack)]
        for stack in plan.stacks
    }


def require_carried_out(plan: _posenc.Plan, own: _posenc.Plan, replaced: Collection[Place], masks: str) -> None:
    """ValueError for what the plan says otherwise than the model's own, and use() does not do.

    replaced: the layers that attend by posenc. What rotates is looked at where it is replaced.
    """
    stacks = {stack.name: stack for stack in own.stacks}
    for stack in plan.stacks:
        theirs = stacks.get(stack.name)
        if theirs is None:
            continue
        if stack.input != theirs.input:
            raise _not_done(f"the {stack.name}", "input", stack, theirs, "embeddings are the model's")
        for number, (layer, has) in enumerate(zip(attending(stack), attending(theirs))):
            _require_layer(layer, has, f"{stack.name} layer {number}", (stack.name, number) in replaced, masks)


def _require_layer(
    layer: _posenc.LayerPlan, has: _posenc.LayerPlan, where: str, is_replaced: bool, masks: str
) -> None:
    for name in _OTHERS:
        _require_same(layer, has, where, name, "use() leaves that to the model")
    if not isinstance(layer.value, _posenc.ShawValues):
        _require_same(layer, has, where, "value", "use() leaves that to the model")
    if masks == "model":
        _require_same(layer, has, where, "mask", "masks are transformers' own: say masks='plan'")
    if not is_replaced:
        for name in (*_ATTENTION, "mask", "value"):
            _require_same(layer, has, where, name, "posenc does not attend in that module")
    others = [tuple(of for of in one.rotate if of.role != "main") for one in (layer, has)]
    if others[0] != others[1]:
        raise _not_done(where, "rotate", layer, has, "use() replaces main rotations only")


def _require_same(layer: Any, has: Any, where: str, name: str, why: str) -> None:
    if getattr(layer, name) != getattr(has, name):
        raise _not_done(where, name, layer, has, why)


def _not_done(where: str, name: str, asked: Any, has: Any, why: str) -> ValueError:
    given, own = getattr(asked, name), getattr(has, name)
    return ValueError(f"[use] plan must have the model's {name} in {where}, for {why}: {own!r}, but has {given!r}")
