"""posenc in transformers: attention of the name "posenc", and the rotation of a model replaced, and put back.

    import posenc.transformers

    model = AutoModelForCausalLM.from_pretrained(path, attn_implementation="posenc")

    with posenc.transformers.use(model) as changed:                      # by the plan of model.config
        print(changed)                                                   # which modules are posenc's now
        model(input_ids)
    longer = lambda rope: rope.replace(scaling=posenc.YarnScaling(factor=4.0, original_max_position_embeddings=4096))
    with posenc.transformers.use(model, scheme=longer):                  # an experiment on the context in two lines
        model.generate(...)
    with posenc.transformers.use(model, plan=other, weights=tables):     # other schemes, with tables of the caller's
        model(input_ids)

Importing this module registers the attention and, under the same name, its mask: without one transformers drops masks
silently. A model whose file looks no attention up by its name is refused that name when it is made. All of it runs on
the CPU, and can be trained: gradients go through rotations, attention and learned tables.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import sdpa_mask

from . import _operators, _posenc
from ._attended_layer import AttendedLayer, is_causal
from ._attention_modules import (
    Learned,
    Place,
    attending,
    attention_layers,
    attends,
    can_be_replaced,
    given_tables,
    learned,
    looks_attention_up,
    masks_itself,
    needs_tables,
    require_cpu,
    rotates_itself,
)
from ._carried_out import (
    main_rope,
    require_carried_out,
    require_count,
    require_fit,
    require_others_alike,
    require_plan,
    require_same_channels,
    require_words,
)
from ._forward_mode import is_transformed, refuse_duals
from ._given_ropes import GivenRopes
from ._handed.bias import OwnBias
from ._held import NotCopied, hold, replace
from ._handed.causal_flag import require_flag, with_implied
from ._handed.keywords import refuse_unread, with_selected_keys
from ._handed.left import give_own_form, keep_own_names, made_by_posenc, refuse_masks_in
from ._handed.mask_kind import kind_of, masked
from ._handed.places import handed_places
from ._own_angles import require_own_angles, require_own_tables
from ._read_plan import read_plan
from ._registered_name import NAME, asks_another, refuse_models_without_the_registry
from ._replaced_methods import refuse_variant, replaced_methods
from ._strides import adjacent
from ._trained import trained
from ._unread_model import watch
from ._rotary_modules import (
    KEEP_ANGLES,
    Rotary,
    angle_buffers,
    apply_functions,
    has_gradient,
    is_rotary,
    of_layer,
    rotary_modules,
)
from ._text_part import TextPart

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
    scale, the cap, the biases and the sinks are those of the plan; what transformers says of them is compared with the
    plan of the model's configuration, and a difference is a ValueError. Where a gradient is asked for, operations of torch
    compute, in chunks of queries. NotImplementedError where dropout is asked for, for tensors not on the CPU, and for a
    keyword that may change what is attended and is not carried out.
    """
    _say_that_no_weights_come(kwargs.get("output_attentions"))
    given: AttendedLayer | None = getattr(module, _LAYER, None)
    if given is None or given.ranks is None:
        require_cpu(query, "attention", "query")
    if dropout:
        raise NotImplementedError("[attention] dropout must be 0: posenc drops nothing out of the attention matrix")
    refuse_unread(module, kwargs)
    indices: Tensor | None = kwargs.get("indices")
    if indices is not None and given is not None and given.ranks is not None:
        raise NotImplementedError("[attention] keys that an indexer selects are not known over ranks")
    attention_mask = with_selected_keys(attention_mask, indices, key.shape[2])
    if given is not None and torch.compiler.is_compiling():
        return given.in_graph(module, query, key, value, attention_mask, scaling, softcap, s_aux, kwargs), None
    if given is None or given.reads_flag:
        require_flag(module, kwargs.get("is_causal"), attention_mask, query.shape[2])
    sizes = {"heads": query.shape[1], "kv_heads": key.shape[1]}
    sizes |= {"head_dim": query.shape[-1], "value_dim": value.shape[-1]}
    if given is not None:
        handed = (*query.shape[:3], key.shape[2])
        given.compare_places(module, attention_mask, position_bias, handed, kwargs.get("key_places"))
        if given.masks == "plan" and attention_mask is None and not (given.reads_flag or masks_itself(module)):
            given.kind_without_a_mask(module, None, handed)  # which the plan's mask would hide from whoever took it away
        attention_mask = None if given.masks == "plan" else attention_mask
    if given is not None and attention_mask is None:
        key, value = given.filled(module, query.shape[2], key, value)
    shape = (*query.shape[:3], key.shape[2])
    kind, left = kind_of(attention_mask, shape)
    if has_gradient(attention_mask):
        left = attention_mask  # that it is no more than a kind is what it holds now
    layer: _posenc.LayerPlan | _posenc.PreparedLayer
    if given is None:
        if attention_mask is None and is_causal(module, kwargs.get("is_causal"), shape):
            kind = "causal"
        layer = _posenc.LayerPlan(
            **sizes,
            softmax_scale=query.shape[-1] ** -0.5 if scaling is None else float(scaling),
            soft_cap=None if softcap is None else _posenc.SoftCap(cap=softcap, order="before_bias"),
            sinks=s_aux is not None,
            mask=_posenc.Mask(kind=kind),
        )
        weights: dict[str, Any] = {} if s_aux is None else {"sinks": s_aux.detach()}
        learned_now = lambda: {} if s_aux is None else {"sinks": s_aux}
    else:
        given.compare(module, query, sizes, scaling, softcap, s_aux, kwargs.get("sliding_window"), key.shape[2])
        if given.ranks is not None:
            return given.over_ranks(query, key, value, sizes, s_aux), None
        if attention_mask is None and given.masks == "model":
            kind = given.kind_without_a_mask(module, kwargs.get("is_causal"), shape)
        # The mask of a module that adds a window of its own is a part of the plan's.
        keeps_mask = given.masks == "plan" or masks_itself(module)
        layer, weights = given.of_call(sizes, None if keeps_mask else kind, s_aux)
        weights |= given.places(shape, left, kwargs.get("key_places"))
        position_bias = None
        learned_now = lambda: ({"sinks": s_aux} if layer_sinks else {}) | given.weights.attached()
        layer_sinks = given.layer.sinks and s_aux is not None
    added = masked(left, position_bias)
    read = (query, key, value, attention_mask, s_aux, position_bias, *(given.weights.parameters if given else ()))
    if is_transformed():
        refuse_duals("attention", "take it of another attention")
    if has_gradient(*read):
        return trained(layer, query, key, value, weights | added, learned_now()), None
    weights |= {name: None if of is None else of.detach() for name, of in added.items()}
    out = query.new_empty((query.shape[0], query.shape[2], query.shape[1], value.shape[-1]))  # as it is asked for
    of = (adjacent(x.detach()) for x in (query, key, value))
    _posenc.attend(layer, *of, **weights, out=out.transpose(1, 2))
    return out, None


def _say_that_no_weights_come(are_wanted: bool | None) -> None:
    if are_wanted:
        warnings.warn(
            "`posenc` attention gives no weights for `output_attentions=True`: set another attention for them", stacklevel=3
        )


def mask(*args: Any, **kwargs: Any) -> Tensor | None:
    """The mask of "posenc": True where a query attends, [batch, 1, queries, keys]; never omitted for being causal."""
    return made_by_posenc(with_implied(sdpa_mask, args, kwargs))


_operators.kind_of[:] = [kind_of]
AttentionInterface.register(NAME, attention)
AttentionMaskInterface.register(NAME, mask)
refuse_models_without_the_registry()


@dataclasses.dataclass(frozen=True)
class Changed:
    """What use() replaced: names of modules of the model, and of functions; and the towers that it left to the model."""

    rotary: tuple[str, ...]
    attention: tuple[str, ...]
    functions: tuple[str, ...]
    left: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = {"rotary": self.rotary, "attention": self.attention, "functions": self.functions}
        parts |= {"left to the model": self.left} if self.left else {}
        return "\n".join(f"{what}: {', '.join(names) or 'none'}" for what, names in parts.items())


def ropes_by_layer_type(config: Any, plan: _posenc.Plan) -> dict[str | None, _posenc.Rope]:
    """By layer type where the configuration has such; else the one that all layers share, under None."""
    types = _layer_types(config)
    ropes: dict[str | None, _posenc.Rope] = {}
    for stack in plan.stacks:
        for layer in stack.layers:
            rope = main_rope(layer)
            if rope is not None:
                ropes.setdefault(None, rope)
                if layer.index < len(types):
                    ropes.setdefault(types[layer.index], rope)
    return ropes


def _layer_types(config: Any) -> list[str]:
    return getattr(config, "layer_types", None) or []


@contextlib.contextmanager
def use(
    model: PreTrainedModel,
    *,
    plan: _posenc.Plan | None = None,
    scheme: _posenc.Rope | Callable[[_posenc.Rope], _posenc.Rope] | None = None,
    weights: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
    angles: str = "exact",
    length: int | None = None,
    masks: str = "model",
) -> Iterator[Changed]:
    """Within it, positions of the model are posenc's: rotary modules, what applies RoPE with them, and attention.

    plan: by which; read_plan(model.config). Layers may differ from each other and from the model's: another rotation or
    none, other biases, another scale. scheme: a Rope for all layers, or what makes another of the plan's. weights: the
    learned tables of the plan's layers by the names of named_weights, for all layers that need some, or one such dict
    (or None) for each attention layer; without, the model's own are used. angles: 'exact', or 'float32' as transformers
    computes them. length: that rules of length are read for; by default the largest position + 1 of each forward pass.
    transformers starts from that too, but its dynamic NTK keeps the longest that the model has seen, until one is no
    longer than the original length. masks: 'model', those that transformers makes, or 'plan', which knows nothing of
    padding.

    Of a model with towers (of images, of sound) the text is taken over, by its stacks of the plan; what else attends or
    rotates is left to the model, and named in Changed.left.

    Learned tables of scores are prepared once, and again when their parameters are others or hold others, written
    through `parameter.data` too.

    Afterwards all is as before, whatever happened. Functions that apply RoPE belong to the model's file: two models of
    one family can be in use at once, in one thread, and left in any order.

    ValueError for a plan of other sizes than the model's, for what it says that the model would not do, for a scheme
    where nothing rotates by it, for tables that do not fit, for a configuration whose plan is not known, and where
    nothing of the model is known; for functions and methods that somebody has put in place of transformers' own, and
    where another thread has replaced the same. NotImplementedError for a model that is not on the CPU, and for a copy of
    one that is made within.

    In a forward pass, ValueError for position ids that are not whole numbers, frequencies or an attention factor that
    were changed meanwhile, an is_causal that contradicts the mask where SDPA reads it, and a scale, cap, window or sinks
    that the plan does not have; a window that hides none of the tokens is none. NotImplementedError for a mask of posenc's
    that comes to a module which adds masks to scores by code of its own.
    """
    how = {"plan": plan, "scheme": scheme, "weights": weights, "angles": angles, "length": length, "masks": masks}
    with in_use(model, composed=False, **how) as changed:
        yield changed


@contextlib.contextmanager
def in_use(
    model: PreTrainedModel,
    *,
    plan: _posenc.Plan | None,
    scheme: Any,
    weights: Any,
    angles: str,
    length: int | None,
    masks: str,
    composed: bool,
) -> Iterator[Changed]:
    """use(); or, for attention that is composed of operations of torch, of a model on any device."""
    require_words(length, angles=angles, masks=masks)
    if plan is not None:
        require_plan(plan)
    if any(held is not None and held.ranks is not None for held in (getattr(of, _LAYER, None) for of in model.modules())):
        raise ValueError("[use] model must not be in use over ranks: give plan, scheme and weights to context_parallel")
    for name, tensor in () if composed else (*model.named_parameters(), *model.named_buffers()):
        require_cpu(tensor, "use", name)
    change = _change(scheme)
    part = TextPart(model)
    asked = plan
    own, plan = _plans(part, asked)
    require_fit(plan, own)
    layers = list(attention_layers(part.modules(), plan))
    attends_rotating = {place for _, module, place, _ in layers if not rotates_itself(module)}
    require_carried_out(plan, own, {place for _, _, place, _ in layers}, attends_rotating, masks)
    own_layers = {(stack.name, at): layer for stack in own.stacks for at, layer in enumerate(attending(stack))}
    ropes: dict[str | None, _posenc.Rope | None] = {
        kind: change(rope) for kind, rope in ropes_by_layer_type(part.config, plan).items()
    }
    is_of_configuration = own is not plan or asked is None
    rotary = list(rotary_modules(part.modules()))
    if ropes_by_layer_type(part.config, own) or (rotary and not is_of_configuration):
        ropes.setdefault(None, None)
    rope_of = {name: _changed_rope(layer, change) for name, _, _, layer in layers}
    planned = _planned_ropes(plan, own, change)
    given = GivenRopes(rotary, ropes, planned, is_of_configuration) if ropes else None
    differing = _differing(_layer_types(part.config), plan, own, layers, given, change)
    tables = _tables(plan, layers, weights, composed)
    own_ropes = ropes_by_layer_type(part.config, own) if is_of_configuration else {}
    for name, module in rotary if own_ropes else ():
        if not isinstance(module, Rotary):
            require_own_angles(name, module, own_ropes, planned)
    require_own_tables(part.modules() if not _is_in_use(part) else (), own_ropes.get(None))
    with contextlib.ExitStack() as undo:
        rotated = []
        if given is not None:
            for name, module in rotary:
                parent = part.model.get_submodule(name.rpartition(".")[0])
                of = Rotary(module, given.of_module(name), angles, length, composed)
                replace(undo, parent, name.rpartition(".")[2], of)
                rotated.append(name)
            of_name = lambda name: rope_of.get(name, ropes[None])
            for name, module, buffer, table in list(angle_buffers(part.modules(), of_name, angles)):
                replace(undo, module, buffer, table)
                rotated.append(f"{name}.{buffer}")
        functions = []
        modules, others = ([module for _, module in of] for of in (part.modules(), part.others()))
        for file, name, stand_in in list(apply_functions(modules, others, ropes)) if ropes else ():
            replace(undo, file, name, stand_in)
            functions.append(f"{file.__name__}.{name}")
        changed = []
        handed = handed_places(part.model.modules())
        rotates = bool(rotated)
        for name, module, place, layer in layers:
            refuse_variant(module)
            if isinstance(layer.value, _posenc.RotatedValues) and rotates_itself(module):
                raise ValueError(f"[use] plan must have no rotated values: {type(module).__name__} does what it has of them")
            layer = layer.replace(rotate=tuple(of.replace(scheme=change(of.rope)) for of in layer.rotate))
            learned_of = tables[name] if name in tables else learned(part.model, name, module, layer)
            has = own_layers.get(place, layer)
            own_tables = functools.partial(_own_tables, part.model, name, module, has)
            own_bias = OwnBias(has, own_tables) if is_of_configuration else None
            held = AttendedLayer(module, layer, has, learned_of, masks, angles, own_bias, handed)
            undo.callback(held.projected.remove)
            replace(undo, module, _LAYER, held)
            if held.layer.score or held.layer.value is not None or masks == "plan" or masks_itself(module):
                _before_calls(undo, module, held, held.cache.of_call)
            if name in differing:
                _before_calls(undo, module, held, _angles_of(rope_of[name]))
            if rotary and not is_of_configuration and rotates_itself(module):
                watch(undo, name, module, rope_of[name])
            for method, stand_in in replaced_methods(module, attention):
                replace(undo, module, method, stand_in)
            changed.append(name)
            rotates = rotates or bool(held.layer.rotate)
        if not (rotated or changed or looks_attention_up(modules)):
            raise ValueError(f"[use] no module of {type(model).__name__} is known, so that nothing would be posenc's")
        if scheme is not None and not rotates:
            raise ValueError("[use] scheme must be omitted where the plan has no RoPE, as in this model")
        if ropes and not rotates:
            raise ValueError("[use] plan must have no RoPE, as no module of the model that makes its angles is known")
        _look_attention_up(undo, part)
        no_weights = model.register_forward_pre_hook(_look_for_weights, with_kwargs=True)
        undo.callback(no_weights.remove)
        left = dict.fromkeys(part.left_out(name) for name, of in part.others() if attends(of) or is_rotary(of))
        names = ([part.full_name(name) for name in of] for of in (rotated, changed))
        yield Changed(*map(tuple, names), tuple(functions), tuple(left))


def _own_tables(model: nn.Module, name: str, module: nn.Module, layer: _posenc.LayerPlan) -> dict[str, Any]:
    return learned(model, name, module, layer).make()


def _is_in_use(part: TextPart) -> bool:
    return any(hasattr(module, _LAYER) for _, module in part.modules())


def _plans(part: TextPart, plan: _posenc.Plan | None) -> tuple[_posenc.Plan, _posenc.Plan]:
    """Of the part that posenc takes over, the configuration's plan and the caller's; where one is not there, or the
    first cannot be known, the other in its place.

    ValueError where there is neither.
    """
    whole, unread = _read(part)
    if plan is None and unread is not None:
        raise unread
    if plan is not None and whole is not None:
        require_others_alike(plan, whole, {stack.name for stack in part.stacks(whole).stacks})
    own = None if whole is None else part.stacks(whole)
    given = None if plan is None else part.stacks(plan) if part.stacks(plan).stacks else plan
    if own is not None and own.known:
        return own, own if given is None else given
    if given is None:
        said = "; ".join(of.message for of in whole.warnings) if whole is not None else ""
        name = type(part.whole).__name__
        raise ValueError(
            f"[use] plan must be given: what {name} does is not known by its configuration ({said or 'no more is said'})"
        )
    require_count(given, sum(attends(module) for _, module in part.modules()))
    return given, given


def _read(part: TextPart) -> tuple[_posenc.Plan | None, ValueError | None]:
    """The plan of the model's configuration; where one of its towers cannot be read, of the text's alone."""
    try:
        return read_plan(part.whole.config), None
    except ValueError as error:
        if part.model is not part.whole:
            with contextlib.suppress(ValueError):
                return read_plan(part.config), None
        return None, error


def _change(scheme: Any) -> Callable[[_posenc.Rope], _posenc.Rope]:
    if scheme is None:
        return lambda rope: rope
    if isinstance(scheme, _posenc.Rope):
        return lambda rope: scheme
    if not callable(scheme):
        raise TypeError(
            f"[use] scheme must be a posenc.Rope, or a function of one, but is {type(scheme).__name__}: give a plan with it "
            "for other schemes (plan=)"
        )
    return scheme


def _changed_rope(
    layer: _posenc.LayerPlan, change: Callable[[_posenc.Rope], _posenc.Rope]
) -> _posenc.Rope | None:
    rope = main_rope(layer)
    return None if rope is None else change(rope)


def _planned_ropes(
    plan: _posenc.Plan, own: _posenc.Plan, change: Callable[[_posenc.Rope], _posenc.Rope]
) -> dict[_posenc.Rope, _posenc.Rope | None]:
    """By each rope of the model's own layers, that of the plan, changed; where that differs, the first layer's."""
    has = {stack.name: attending(stack) for stack in own.stacks}
    planned: dict[_posenc.Rope, _posenc.Rope | None] = {}
    for stack in plan.stacks:
        for layer, theirs in zip(attending(stack), has.get(stack.name, ())):
            rope = main_rope(theirs)
            if rope is not None:
                planned.setdefault(rope, _changed_rope(layer, change))
    return planned


def _differing(
    types: list[str], plan: _posenc.Plan, own: _posenc.Plan, layers: Any, given: GivenRopes | None, change: Any
) -> set[str]:
    """Names of modules that rotate by another rope than their rotary module makes for their type of layer.

    ValueError where the model cannot do that.
    """
    modules = {place: (name, module) for name, module, place, _ in layers}
    has = {stack.name: attending(stack) for stack in own.stacks}
    differing = set()
    for stack in plan.stacks:
        for place, (layer, theirs) in enumerate(zip(attending(stack), has.get(stack.name, ()))):
            rope = _changed_rope(layer, change)
            name, module = modules.get((stack.name, place), ("", None))
            if module is not None and not rotates_itself(module):
                continue
            own_rope = main_rope(theirs)
            if own_rope is None:
                if rope is not None:
                    raise ValueError(
                        f"[use] plan must have no rotation in {stack.name} layer {place}, where the model has none to "
                        f"replace, but has {rope!r}"
                    )
                continue
            of_type = types[layer.index] if layer.index < len(types) else None
            if rope is not None:
                require_same_channels(rope, own_rope, layer, f"{stack.name} layer {place}")
            if given is not None and given.is_given(rope, own_rope, of_type):
                continue
            if module is None:
                raise ValueError(
                    f"[use] plan must rotate all layers alike: {stack.name} layer {place} is in a module that is not known"
                )
            if type(module).__name__ not in KEEP_ANGLES:
                differing.add(name)
            first = None if given is None else given.of_module(name)[None]
            if type(module).__name__ in KEEP_ANGLES and rope and first and rope.pairing != first.pairing:
                raise ValueError("[use] plan must pair channels alike in all layers of this model")
    return differing


def _angles_of(rope: _posenc.Rope | None) -> Callable[..., Any]:
    """A forward pre-hook: the layer's own angles in place of those that all layers are given."""

    def give(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        if kwargs.get("position_embeddings") is None:
            raise ValueError(f"[use] plan must rotate all layers alike: {type(module).__name__} is not given its angles")
        return args, {**kwargs, "position_embeddings": of_layer(kwargs["position_embeddings"], rope)}

    return give


class _BeforeCalls(NotCopied):
    """A hook before each call of a module, while `held` is what holds: of several use() the last."""

    def __init__(self, held: AttendedLayer, hook: Callable[..., Any]) -> None:
        self.held = held
        self.hook = hook

    def __call__(self, module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        return self.hook(module, args, kwargs) if getattr(module, _LAYER, None) is self.held else None


def _before_calls(undo: contextlib.ExitStack, module: nn.Module, held: AttendedLayer, hook: Callable[..., Any]) -> None:
    undo.callback(module.register_forward_pre_hook(_BeforeCalls(held, hook), with_kwargs=True).remove)


def _tables(plan: _posenc.Plan, layers: Any, weights: Any, composed: bool) -> dict[str, Learned]:
    """Of the caller's, by name of the module."""
    if weights is None:
        return {}
    places = [(stack.name, at) for stack in plan.stacks for at in range(len(attending(stack)))]
    is_shared = isinstance(weights, Mapping)
    if not is_shared and len(weights) != len(places):
        raise ValueError(
            f"[use] weights must have one entry for each of {len(places)} attention layers, but has {len(weights)}"
        )
    by_place: dict[Place, Any] = dict(zip(places, [weights] * len(places) if is_shared else weights))
    tables = {}
    for name, _, place, layer in layers:
        given = by_place[place]
        takes = needs_tables(layer) or layer.sinks
        if given and (takes or not is_shared):
            tables[name] = given_tables(name, layer, given, composed)
    if not tables:
        raise ValueError("[use] weights must be omitted where no layer of the plan has learned tables")
    return tables


def _look_attention_up(undo: contextlib.ExitStack, part: TextPart) -> None:
    """By posenc's name in the configurations of the part, each as it was afterwards. ValueError for a model some of whose
    modules would take posenc's masks and know nothing of its name."""
    if part.model._can_set_attn_implementation() and asks_another(type(part.model)):
        raise ValueError(
            f"[use] the attention of {type(part.model).__name__} must be looked up by its name, but some of its modules "
            "take theirs from a list of their own"
        )
    configs = {id(of.config): of.config for _, of in part.modules() if isinstance(of, PreTrainedModel)}
    before = {key: config._attn_implementation for key, config in configs.items()}
    other = part.config._attn_implementation
    try:
        _look_attention_up_by(part.model, NAME)
    finally:
        for key, config in configs.items():
            put = functools.partial(setattr, config, "_attn_implementation_internal")
            hold(undo, config, "_attn_implementation", before[key], config._attn_implementation, put)
    keep_own_names(undo, part.model, before, attends, can_be_replaced)
    left = [of for _, of in part.modules() if attends(of) and not can_be_replaced(of)]
    refuse_masks_in(undo, left, before, other)
    give_own_form(undo, part.model, attends, before, other)


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
