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
_OTHERS = (
    "kind", "begins_apart", "kv_from", "compression", "mixing", "channel_scale", "qk_norm", "regions", "query_scale"
)


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


_WORDS = {"angles": ("exact", "float32", "bfloat16"), "masks": ("model", "plan")}


def require_words(length: Any, **words: Any) -> None:
    """ValueError for a word of use() that there is not, or a length that is none: not read as its default."""
    for name, given in words.items():
        if not isinstance(given, str) or given not in _WORDS[name]:
            *most, last = (repr(word) for word in _WORDS[name])
            raise ValueError(f"[use] {name} must be {', '.join(most)} or {last} but is {given!r:.80}")
    if length is None:
        return
    if isinstance(length, bool) or not hasattr(length, "__index__"):
        raise TypeError(f"[use] length must be a whole number, or None, but is {length!r:.80}")
    if length < 1:
        raise ValueError(f"[use] length must be at least 1, or None, but is {length}")


def require_plan(plan: Any) -> None:
    """TypeError for what is no plan; ValueError for one of which it is not known that it says all."""
    if not isinstance(plan, _posenc.Plan):
        raise TypeError(f"[use] plan must be a posenc.Plan, as read_plan makes, but is a {type(plan).__name__}")
    if not plan.known:
        said = "; ".join(warning.message for warning in plan.warnings) or "no more is said"
        raise ValueError(
            f"[use] plan must be known, but what it leaves out is not ({said}): give plan.replace(known=True) where it is "
            "all that the model shall do"
        )


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


def require_count(plan: _posenc.Plan, modules: int) -> None:
    """ValueError for a plan of more or fewer layers than a model has modules that attend, of which nothing else is known."""
    layers = sum(len(attending(stack)) for stack in plan.stacks)
    if modules and layers != modules:
        raise ValueError(f"[use] plan must have as many attention layers as the model, {modules}, but has {layers}")


def require_same_channels(
    rope: _posenc.Rope, own: _posenc.Rope, layer: _posenc.LayerPlan, where: str
) -> None:
    """ValueError for a rotation of other channels, or by other coordinates, than the model's functions let rotate."""
    if rope.head_dim != layer.head_dim:
        raise ValueError(
            f"[use] plan must rotate heads of {layer.head_dim} channels in {where}, but has a rotation of heads of "
            f"{rope.head_dim}"
        )
    for name, words in {"dim": "channels rotate", "first_channel": "is the first that rotates"}.items():
        given, has = getattr(rope, name), getattr(own, name)
        if given != has:
            raise ValueError(f"[use] plan must have {name} {has} in {where}, which {words} in the model, but has {given}")
    if rope.axes.names != own.axes.names:
        names = [", ".join(of.axes.names) or "none" for of in (own, rope)]
        raise ValueError(f"[use] plan must have the axes of the model's positions in {where}, {names[0]}, but has {names[1]}")


def require_others_alike(plan: _posenc.Plan, own: _posenc.Plan, names: Collection[str]) -> None:
    """ValueError for stacks of other names that the plan has otherwise than the model's own: towers are left as they
    are."""
    theirs = {stack.name: stack for stack in own.stacks}
    for stack in plan.stacks:
        if stack.name not in names and stack.name in theirs and stack.layers != theirs[stack.name].layers:
            raise ValueError(f"[use] plan must have the {stack.name} of the model's, for use() leaves it to the model")


def _sizes(plan: _posenc.Plan) -> dict[str, list[dict[str, int]]]:
    return {
        stack.name: [{name: getattr(layer, name) for name in _SIZES} for layer in attending(stack)]
        for stack in plan.stacks
    }


def require_carried_out(
    plan: _posenc.Plan, own: _posenc.Plan, replaced: Collection[Place], attends_rotating: Collection[Place], masks: str
) -> None:
    """ValueError for what the plan says otherwise than the model's own, and use() does not do.

    replaced: the layers that attend by posenc; attends_rotating: those of them whose rotation attention does, as a whole.
    By which scheme others rotate is looked at where it is replaced.
    """
    stacks = {stack.name: stack for stack in own.stacks}
    for stack in plan.stacks:
        theirs = stacks.get(stack.name)
        if theirs is None:
            continue
        if theirs.known and not stack.known:
            raise ValueError(f"[use] plan must have a known {stack.name}, as the model's plan has, but it is not known")
        if stack.input != theirs.input:
            raise _not_done(f"the {stack.name}", "input", stack, theirs, "embeddings are the model's")
        for number, (layer, has) in enumerate(zip(attending(stack), attending(theirs))):
            place, where = (stack.name, number), f"{stack.name} layer {number}"
            _require_layer(layer, has, where, place in replaced, masks)
            if place not in attends_rotating:
                _require_rotation(layer, has, where)


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


def _require_rotation(layer: _posenc.LayerPlan, has: _posenc.LayerPlan, where: str) -> None:
    """One main rotation of all heads, counted as the model counts: a rotary module knows cos and sin, and no more."""
    others = [tuple(of for of in one.rotate if of.role != "main") for one in (layer, has)]
    if others[0] != others[1]:
        raise _not_done(where, "rotate", layer, has, "use() replaces main rotations only")
    mains, own = ([of for of in one.rotate if of.role == "main"] for one in (layer, has))
    if len(mains) > 1:
        raise ValueError(
            f"[use] plan must have at most one main rotation in {where}, as the model rotates once, but has {len(mains)}"
        )
    for rotate in mains:
        if rotate.heads not in (0, layer.heads, *(of.heads for of in own)):
            raise ValueError(
                f"[use] plan must have all heads rotated in {where}, {layer.heads}, or 0 for them, but has {rotate.heads}"
            )
        offset = own[0].offset if own else 0
        if rotate.offset != offset:
            raise ValueError(
                f"[use] plan must have the offset {offset} of the model's rotation in {where}, for positions are the "
                f"model's, but has {rotate.offset}"
            )


def _require_same(layer: Any, has: Any, where: str, name: str, why: str) -> None:
    if getattr(layer, name) != getattr(has, name):
        raise _not_done(where, name, layer, has, why)


def _not_done(where: str, name: str, asked: Any, has: Any, why: str) -> ValueError:
    given, own = getattr(asked, name), getattr(has, name)
    return ValueError(f"[use] plan must have the model's {name} in {where}, for {why}: {own!r}, but has {given!r}")
