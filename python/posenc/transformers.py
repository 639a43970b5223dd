"""posenc in transformers: attention of the name "posenc", and the rotation of a model replaced, and put back.

    import posenc.transformers

    model = AutoModelForCausalLM.from_pretrained(path, attn_implementation="posenc")

    with posenc.transformers.use(model) as changed:                      # by the plan of model.config
        print(changed)                                                   # which modules are posenc's now
        model(input_ids)
    longer = lambda rope: rope.replace(scaling=posenc.YarnScaling(factor=4.0, original_max_position_embeddings=4096))
    with posenc.transformers.use(model, scheme=longer):                  # an experiment on the context in two lines
        model.generate(...)

Importing this module registers the attention and, under the same name, its mask: without one transformers drops masks
silently. All of it runs on the CPU. RoPE has a backward pass; attention has none, and raises where it is needed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import sdpa_mask

from . import _posenc
from ._attention_modules import ATTENDING, Learned, attention_layers, learned, masks_itself, replaced_methods
from ._read_plan import read_plan
from ._rotary_modules import Rotary, angle_buffers, apply_functions, has_gradient, rotary_modules

__all__ = ["Changed", "attention", "mask", "use"]

# The plan's layer of an attention module, while use() holds.
_LAYER = "_posenc_layer"


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    position_bias: Tensor | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """posenc.attend as transformers calls attention: q [batch, heads, tokens, channels]; returns tokens before heads.

    attention_mask: of bool, True where a key is seen; or of floats, which are added to the scores. Within use() the
    scale, the cap, the biases and the sinks are those of the plan, and what transformers says of them is not looked at.
    NotImplementedError where dropout is asked for, and from the backward pass.
    """
    _say_that_no_weights_come(kwargs.get("output_attentions"))
    if dropout:
        raise NotImplementedError("[attention] dropout must be 0: posenc has inference only")
    given = getattr(module, _LAYER, None)
    sizes = {"heads": query.shape[1], "kv_heads": key.shape[1]}
    sizes |= {"head_dim": query.shape[-1], "value_dim": value.shape[-1]}
    if given is not None and given.masks == "plan":
        attention_mask = None
    kind, left = _kind_of(attention_mask, (*query.shape[:3], key.shape[2]))
    if given is None:
        layer = _posenc.LayerPlan(
            **sizes,
            softmax_scale=query.shape[-1] ** -0.5 if scaling is None else float(scaling),
            soft_cap=None if softcap is None else _posenc.SoftCap(cap=softcap, order="before_bias"),
            sinks=s_aux is not None,
            mask=_posenc.Mask(kind=kind),
        )
        weights: dict[str, Any] = {}
    else:
        # The mask of a module that adds a window of its own is a part of the plan's.
        keeps_mask = given.masks == "plan" or masks_itself(module)
        layer, score_weights = given.of_call(sizes, None if keeps_mask else kind)
        weights = {"score_weights": score_weights, "angles": given.angles}
        position_bias = None
    if s_aux is not None and not isinstance(layer, _posenc.PreparedLayer) and layer.sinks:
        weights["sinks"] = s_aux.detach()
    weights |= _masked(left, position_bias)

    def attended() -> Tensor:
        out = query.new_empty((query.shape[0], query.shape[2], query.shape[1], value.shape[-1]))  # as it is asked for
        _posenc.attend(layer, query.detach(), key.detach(), value.detach(), **weights, out=out.transpose(1, 2))
        return out

    read = (query, key, value, attention_mask, s_aux, position_bias, *(given.weights.parameters if given else ()))
    if has_gradient(*read):
        return _WithoutBackward.apply(attended, *read), None
    return attended(), None


class _WithoutBackward(torch.autograd.Function):
    """So that a gradient of what attention read is refused, not left out: called with what computes, and what it reads."""

    @staticmethod
    def forward(ctx: Any, attended: Callable[[], Tensor], *read: Tensor | None) -> Tensor:
        return attended()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise NotImplementedError(
            "[attention] has no backward pass: call the model under torch.no_grad(), or train it with another attention"
        )


def _say_that_no_weights_come(are_wanted: bool | None) -> None:
    if are_wanted:
        warnings.warn(
            "`posenc` attention gives no weights for `output_attentions=True`: set another attention for them", stacklevel=3
        )


def _kind_of(mask: Tensor | None, sizes: tuple[int, ...]) -> tuple[str, Tensor | None]:
    """A kind of posenc.Mask, and what is left to say besides: nothing where that is the whole mask, as without padding.

    sizes: batch, heads, queries, keys; a mask that lacks one of the last two, or does not fit, is left as it is. One that
    is read for each query and key costs a fifth of the rest of attention, and tiles that a kind hides cost nothing. All
    layers get one tensor, which keeps the
    answer.
    """
    *outer, queries, keys = sizes
    if mask is None or not (mask.dtype == torch.bool or mask.dtype.is_floating_point):
        return "bidirectional", mask
    if mask.shape[-2:] != (queries, keys) or any(has not in (1, size) for has, size in zip(mask.shape[:-2], outer)):
        return "bidirectional", mask
    version = None if mask.is_inference() else mask._version
    seen, answer = getattr(mask, "posenc_kind", (None, None))
    if answer is None or version is None or seen != version:
        answer = _kind_of_pattern(mask, queries, keys)
        mask.posenc_kind = (version, answer)  # type: ignore[attr-defined]
    kind, is_whole = answer
    return kind, None if is_whole else mask


def _kind_of_pattern(mask: Tensor, queries: int, keys: int) -> tuple[str, bool]:
    shows = mask if mask.dtype == torch.bool else mask == 0
    # What is added hides a key as a mask of bool does where it is about the lowest number, and another key is seen.
    if mask.dtype.is_floating_point and not bool((shows | (mask <= torch.finfo(mask.dtype).min / 2)).all()):
        return "bidirectional", False
    if bool(shows.all()):
        return "bidirectional", True
    is_causal = keys >= queries and bool((shows == shows.new_ones(queries, keys).tril(keys - queries)).all())
    return ("causal", True) if is_causal else ("bidirectional", False)


def _masked(mask: Tensor | None, bias: Tensor | None) -> dict[str, Tensor | None]:
    """attn_mask and bias of attend: what is of floats is added to scores, as eager attention and SDPA do."""
    if mask is not None and mask.dtype.is_floating_point:
        mask, bias = None, mask if bias is None else bias + mask
    if mask is not None and mask.dtype != torch.bool:
        raise TypeError(f"[attention] attention_mask must be of bool, or of floats to add, but is of {mask.dtype}")
    return {"attn_mask": mask, "bias": None if bias is None else bias.detach()}


def mask(*args: Any, **kwargs: Any) -> Tensor | None:
    """The mask of "posenc": True where a query attends, [batch, 1, queries, keys]; never omitted for being causal."""
    kwargs["allow_is_causal_skip"] = False
    return sdpa_mask(*args, **kwargs)


AttentionInterface.register("posenc", attention)
AttentionMaskInterface.register("posenc", mask)


@dataclasses.dataclass(frozen=True)
class Changed:
    """What use() replaced: names of modules of the model, and of functions."""

    rotary: tuple[str, ...]
    attention: tuple[str, ...]
    functions: tuple[str, ...]

    def __str__(self) -> str:
        parts = {"rotary": self.rotary, "attention": self.attention, "functions": self.functions}
        return "\n".join(f"{what}: {', '.join(names) or 'none'}" for what, names in parts.items())


class _Layer:
    """The plan's layer of an attention module, its learned tables prepared once for all calls alike."""

    def __init__(self, layer: _posenc.LayerPlan, weights: Learned, masks: str, angles: str) -> None:
        self.layer = layer
        self.weights = weights
        self.masks = masks
        self.angles = angles  # of a rotation that is left to attention
        self._last: tuple[Any, ...] = (None, None)  # one object, as threads may call at the same time

    def of_call(
        self, sizes: dict[str, int], mask: str | None
    ) -> tuple[_posenc.LayerPlan | _posenc.PreparedLayer, tuple[Any, ...]]:
        """layer and score_weights of attend; again those of the last call, unless sizes, mask or parameters are others.

        mask: the kind of another mask than the plan's.
        """
        versions = self.weights.versions()
        like = (sizes, mask, versions)
        seen, made, *_ = self._last
        if versions is None or seen != like:
            made = self._made(sizes, mask, versions is not None)
            # What the parameters hold is kept, so that nothing else can come to lie where it does.
            self._last = (like, made, [of.detach() for of in self.weights.parameters])
        return made

    def _made(self, sizes: dict[str, int], mask: str | None, is_counted: bool) -> tuple[Any, tuple[Any, ...]]:
        layer = self.layer.replace(**sizes)
        # transformers caps scores before it adds a mask. Without terms it is all one to a plan.
        if layer.soft_cap is not None and not layer.score:
            layer = layer.replace(soft_cap=layer.soft_cap.replace(order="before_bias"))
        if mask is not None:
            layer = layer.replace(mask=_posenc.Mask(kind=mask))
        weights = self.weights.make()
        # Sinks come with each call.
        if not self.weights.parameters or not is_counted or layer.sinks:
            return layer, weights
        return _posenc.prepare_layer(layer, score_weights=weights), ()


def _main_rope(layer: _posenc.LayerPlan) -> _posenc.Rope | None:
    return next((rotate.rope for rotate in layer.rotate if rotate.role == "main"), None)


def ropes_by_layer_type(model: nn.Module, plan: _posenc.Plan) -> dict[str | None, _posenc.Rope]:
    """By layer type where the configuration has such; else the one that all layers share, under None."""
    config = model.config.get_text_config()
    types = getattr(config, "layer_types", None) or []
    ropes: dict[str | None, _posenc.Rope] = {}
    for stack in plan.stacks:
        for layer in stack.layers:
            rope = _main_rope(layer)
            if rope is not None:
                ropes.setdefault(None, rope)
                if layer.index < len(types):
                    ropes.setdefault(types[layer.index], rope)
    return ropes


@contextlib.contextmanager
def use(
    model: PreTrainedModel,
    *,
    plan: _posenc.Plan | None = None,
    scheme: _posenc.Rope | Callable[[_posenc.Rope], _posenc.Rope] | None = None,
    angles: str = "exact",
    length: int | None = None,
    masks: str = "model",
) -> Iterator[Changed]:
    """Within it, positions of the model are posenc's: rotary modules, what applies RoPE with them, and attention.

    plan: by which; read_plan(model.config). scheme: a Rope for all layers, or what makes another of the plan's. angles:
    'exact', or 'float32' as transformers computes them. length: that rules of length are read for; by default the
    largest position + 1 of each forward pass, as transformers does. masks: 'model', those that transformers makes, or
    'plan', which knows nothing of padding.

    Learned tables of scores are prepared once, and again when their parameters change by what torch counts: not by
    writing through `parameter.data`.

    Afterwards all is as before, whatever happened. Functions that apply RoPE belong to the model's file: two models of
    one family can be in use at once, in one thread, and left in any order.

    ValueError for a plan of other sizes than the model's, and for a scheme where nothing rotates by it.
    """
    if plan is None:
        plan = read_plan(model.config)
    else:
        _require_fit(plan, model)
    change = (lambda rope: scheme) if isinstance(scheme, _posenc.Rope) else (scheme or (lambda rope: rope))
    ropes = {kind: change(rope) for kind, rope in ropes_by_layer_type(model, plan).items()}
    with contextlib.ExitStack() as undo:
        rotated = []
        if ropes:
            for name, module in list(rotary_modules(model)):
                parent = model.get_submodule(name.rpartition(".")[0])
                _set(undo, parent, name.rpartition(".")[2], Rotary(module, ropes, angles, length))
                rotated.append(name)
            for name, module, buffer, table in list(angle_buffers(model, ropes, angles)):
                _set(undo, module, buffer, table)
                rotated.append(f"{name}.{buffer}")
        functions = []
        for file, name, stand_in in list(apply_functions(model, ropes)) if ropes else ():
            _set(undo, file, name, stand_in)
            functions.append(f"{file.__name__}.{name}")
        attending = []
        rotates = bool(rotated)
        for name, module, layer in attention_layers(model, plan):
            layer = layer.replace(rotate=tuple(of.replace(scheme=change(of.rope)) for of in layer.rotate))
            _set(undo, module, _LAYER, _Layer(layer, learned(model, name, module, layer), masks, angles))
            for method, stand_in in replaced_methods(module, attention):
                _set(undo, module, method, stand_in)
            attending.append(name)
            rotates = rotates or bool(layer.rotate)
        if scheme is not None and not rotates:
            raise ValueError("[use] scheme must be omitted where the plan has no RoPE, as in this model")
        before = model.config._attn_implementation
        _hold(undo, model.config, "_attn_implementation", before, "posenc", lambda by: _look_attention_up_by(model, by))
        weights = model.register_forward_pre_hook(_look_for_weights, with_kwargs=True)
        undo.callback(weights.remove)
        yield Changed(tuple(rotated), tuple(attending), tuple(functions))


def _look_attention_up_by(model: PreTrainedModel, name: str) -> None:
    """Without a warning for modules that look nothing up: a method of theirs was replaced, or Changed does not name
    them."""
    logger = logging.getLogger("transformers.modeling_utils")

    def is_other(record: logging.LogRecord) -> bool:
        return "does not support setting its attention implementation" not in record.getMessage()

    logger.addFilter(is_other)
    try:
        model.set_attn_implementation(name)
    finally:
        logger.removeFilter(is_other)


def _look_for_weights(model: PreTrainedModel, args: Any, kwargs: dict[str, Any]) -> None:
    _say_that_no_weights_come(kwargs.get("output_attentions") or getattr(model.config, "output_attentions", False))


def _require_fit(plan: _posenc.Plan, model: PreTrainedModel) -> None:
    """ValueError for layers of other sizes than the model's configuration has, and for a plan without its RoPE.

    A configuration that cannot be read says nothing.
    """
    try:
        own = read_plan(model.config)
    except ValueError:
        return
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
    if ropes_by_layer_type(model, own) and not ropes_by_layer_type(model, plan):
        raise ValueError("[use] plan must have a rotation, as the model has rotary modules, but has none")


def _sizes(plan: _posenc.Plan) -> dict[str, list[dict[str, int]]]:
    names = ("heads", "kv_heads", "head_dim", "value_dim")
    return {
        stack.name: [{name: getattr(layer, name) for name in names} for layer in stack.layers if layer.kind in ATTENDING]
        for stack in plan.stacks
    }


# ---- what is replaced, and put back ----

_ABSENT = object()

# By owner and name: what was there before, and what has taken its place since, each in a box of its own. The last holds.
_held: dict[tuple[int, str], list[list[Any]]] = {}


def _hold(
    undo: contextlib.ExitStack, owner: Any, name: str, before: Any, value: Any, put: Callable[[Any], None]
) -> None:
    """put(value), until undone; where several hold, in any order."""
    boxes = _held.setdefault((id(owner), name), [[before, owner]])
    box = [value]
    boxes.append(box)

    def leave() -> None:
        was_last = boxes[-1] is box
        boxes[:] = (of for of in boxes if of is not box)
        if len(boxes) == 1:
            del _held[id(owner), name]
        if was_last:
            put(boxes[-1][0])

    undo.callback(leave)
    put(value)


def _set(undo: contextlib.ExitStack, owner: Any, name: str, value: Any) -> None:
    before = vars(owner).get(name, _ABSENT)
    for kept in (owner._modules, owner._buffers) if isinstance(owner, nn.Module) else ():
        before = kept.get(name, before)

    def put(value: Any) -> None:
        delattr(owner, name) if value is _ABSENT else setattr(owner, name, value)

    _hold(undo, owner, name, before, value, put)
