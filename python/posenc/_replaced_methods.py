"""Attention modules of transformers that know no registry: a method of each, by one that attends by posenc.

GPT-J, GPT-Neo, CodeGen, Falcon, BLOOM, MPT, MPNet, RoFormer, XLNet and both DeBERTas. What stands in does with the
projections and the KV cache what the method does, and leaves the rest to attention(). It reads its arguments by their
names: one that it does not know, and that says something, is refused.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ._handed.own_functions import require_own, stands_in

Attention = Callable[..., "tuple[Tensor, None]"]
Given = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Replaced:
    method: str
    stand_in: Callable[[Any, Attention, Given], Any]
    reads: tuple[str, ...]  # arguments that it does something with
    has_no_say: tuple[str, ...] = ()  # those that the plan, or what is read, says already
    dropouts: tuple[str, ...] = ()  # members of the module: what the method drops out of the attention matrix


def replaced_methods(module: nn.Module, attention: Attention) -> Iterator[tuple[str, Callable[..., Any]]]:
    replaced = METHODS.get(type(module).__name__)
    if replaced is not None:
        require_own(f"{type(module).__name__}.{replaced.method}", getattr(module, replaced.method))
        yield replaced.method, _standing_in(module, attention, replaced)


def _standing_in(module: nn.Module, attention: Attention, replaced: Replaced) -> Callable[..., Any]:
    signature = inspect.signature(getattr(type(module), replaced.method))

    def method(*args: Any, **kwargs: Any) -> Any:
        given = _by_name(signature, module, args, kwargs)
        _refuse_unread(module, replaced, given)
        _refuse_dropout(module, replaced.dropouts)
        return replaced.stand_in(module, attention, given)

    return stands_in(method)


def _by_name(signature: inspect.Signature, module: nn.Module, args: Any, kwargs: Any) -> dict[str, Any]:
    given: dict[str, Any] = {}
    for name, value in list(signature.bind(module, *args, **kwargs).arguments.items())[1:]:
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            given |= value
        else:
            given[name] = value
    return given


_OF_NO_CONSEQUENCE = ("use_cache", "output_attentions", "output_hidden_states", "return_dict")


def _refuse_unread(module: nn.Module, replaced: Replaced, given: Given) -> None:
    known = (*replaced.reads, *replaced.has_no_say, *_OF_NO_CONSEQUENCE)
    for name, value in given.items():
        if name in known or value is None or value is False:
            continue
        raise NotImplementedError(
            f"[use] {type(module).__name__} must be called without {name}: posenc does not know what it would do"
        )


def _refuse_dropout(module: nn.Module, dropouts: tuple[str, ...]) -> None:
    if not module.training:
        return
    for name in dropouts:
        held = getattr(module, name, 0.0)
        probability = float(getattr(held, "p", held))
        if probability:
            raise NotImplementedError(
                f"[use] dropout must be 0: posenc drops nothing out of the attention matrix, but {type(module).__name__}.{name} is "
                f"{probability:g} in train(): call model.eval(), or set it to 0"
            )


def refuse_variant(module: nn.Module) -> None:
    """What a configuration can make of a module that what stands in does not do."""
    of = type(module).__name__
    if of == "DisentangledSelfAttention" and getattr(module, "talking_head", False):
        raise NotImplementedError("[use] DeBERTa must have no talking_head, which mixes heads, but has it")


# ---- by class ----


def _cached(given: Given, name: str, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """What the KV cache has, when these keys and values are in it."""
    cache = given.get(name)
    return (k, v) if cache is None else cache.update(k, v, layer)


def _added(module: nn.Module, mask: Tensor | None) -> Tensor | None:
    """A mask that the method adds to scores; NotImplementedError for one of True and False, of which it would add 1 and 0."""
    of_one_form = getattr(getattr(module, "config", None), "_attn_implementation", "eager") != "eager"
    if mask is not None and mask.dtype == torch.bool and not of_one_form:
        raise NotImplementedError(
            f"[use] {type(module).__name__} attends by code of its own, which adds a mask to scores, but is given one of True "
            "and False: pass 0 where a key is seen, and the lowest number of its dtype where none is"
        )
    return mask


def _gptj(module: Any, attention: Attention, given: Given) -> Any:
    """Of GPT-J, GPT-Neo and GPT-NeoX Japanese, whose forward has rotated and cached already."""
    q, k, v = given["query"], given["key"], given["value"]
    scale = 1.0 / next((getattr(module, of) for of in ("scale_attn", "norm_factor") if hasattr(module, of)), 1.0)
    mask = _added(module, given.get("attention_mask"))
    out, _ = attention(module, q, k.to(q.dtype), v, mask, scaling=scale, is_causal=False)
    return out.transpose(1, 2).to(v.dtype), None


def _codegen(module: Any, attention: Attention, given: Given) -> Any:
    """As GPT-J, but that scores are divided after the mask was added."""
    mask = given.get("attention_mask")
    if mask is not None and mask.dtype.is_floating_point:
        mask = torch.where(mask > torch.finfo(mask.dtype).min / 2, mask / module.scale_attn, mask)
    return _gptj(module, attention, {**given, "attention_mask": mask})


def _places_of_keys(mask: Tensor | None, keys: int) -> Tensor | None:
    """Of ALiBi as BLOOM and Falcon have it: keys are counted without those that padding hides. [batch, keys]"""
    if mask is None or mask.dim() != 4 or mask.shape[-1] != keys:
        return None
    shown = mask[:, 0, -1] if mask.dtype == torch.bool else mask[:, 0, -1] > torch.finfo(mask.dtype).min / 2
    return None if bool(shown.all()) else (shown.long().cumsum(-1) - 1).clamp(min=0)


def _of_heads(alibi: Tensor, heads: int) -> Tensor:
    """[batch, heads, 1, keys], also of heads side by side with the batch."""
    return alibi.reshape(-1, heads, 1, alibi.shape[-1])


def _bloom(module: Any, attention: Attention, given: Given) -> Any:
    hidden, mask = given["hidden_states"], _added(module, given["attention_mask"])
    q, k, v = module._reshape(module.query_key_value(hidden))
    k, v = _cached(given, "layer_past", module.layer_idx, k, v)
    places = _places_of_keys(mask, k.shape[2])
    scale, alibi = module.inv_norm_factor, _of_heads(given["alibi"], module.num_heads)
    out, _ = attention(module, q, k, v, mask, scaling=scale, is_causal=False, key_places=places, position_bias=alibi)
    projected = module.dense(out.flatten(2))
    dropped = nn.functional.dropout(projected, p=module.hidden_dropout, training=module.training)
    return dropped + given["residual"], None


def _mpt(module: Any, attention: Attention, given: Given) -> Any:
    parts = module.Wqkv(given["hidden_states"])
    if module.clip_qkv:
        parts = parts.clamp(-module.clip_qkv, module.clip_qkv)
    q, k, v = (x.unflatten(-1, (module.n_heads, -1)).transpose(1, 2) for x in parts.chunk(3, -1))
    k, v = _cached(given, "past_key_values", module.layer_idx, k, v)
    mask = given.get("attention_mask")
    mask = None if mask is None else ~mask
    bias = given.get("position_bias")
    out, _ = attention(module, q, k, v, mask, scaling=module.softmax_scale, is_causal=False, position_bias=bias)
    return module.out_proj(out.flatten(2)), None


def _falcon(module: Any, attention: Attention, given: Given) -> Any:
    mask, places = _added(module, given["attention_mask"]), None
    q, k, v = (x.transpose(1, 2) for x in module._split_heads(module.query_key_value(given["hidden_states"])))
    has_alibi = given.get("alibi") is not None
    if has_alibi:
        _refuse_dropout(module, ("attention_dropout",))  # without ALiBi the module has none
    else:
        q, k = _function_of(module, "apply_rotary_pos_emb")(q, k, *given["position_embeddings"])
    k, v = _cached(given, "layer_past", module.layer_idx, k, v)
    if has_alibi and mask is not None:
        # ALiBi was added to it, and stands in the plan. Hidden keys have the lowest number of the dtype.
        mask = mask[:, :1] > torch.finfo(mask.dtype).min / 2
        places = _places_of_keys(mask, k.shape[2])
    scale = module.inv_norm_factor
    bias = _of_heads(given["alibi"], module.num_heads) * scale if has_alibi else None
    out, _ = attention(module, q, k, v, mask, scaling=scale, is_causal=False, key_places=places, position_bias=bias)
    return module.dense(out.flatten(2)), None


def _by_heads(heads: int, hidden: Tensor, *projections: nn.Module) -> Iterator[Tensor]:
    return (project(hidden).unflatten(-1, (heads, -1)).transpose(1, 2) for project in projections)


def _deberta_heads(module: Any, hidden: Tensor) -> Iterator[Tensor]:
    heads = module.num_attention_heads
    if not hasattr(module, "in_proj"):
        return _by_heads(heads, hidden, module.query_proj, module.key_proj, module.value_proj)
    # DeBERTa's first version: q, k and v of a head side by side; q and v have biases.
    (packed,) = _by_heads(heads, hidden, module.in_proj)
    biases = (module.q_bias, None, module.v_bias)
    return (
        x if bias is None else x + bias.view(heads, 1, -1) for x, bias in zip(packed.chunk(3, dim=-1), biases)
    )


def _deberta(module: Any, attention: Attention, given: Given) -> Any:
    held = getattr(module, "_posenc_layer", None)
    if held is not None and held.handed is not None:
        held.handed.compare(module, given)
    mask = given["attention_mask"].bool()
    out, _ = attention(module, *_deberta_heads(module, given["hidden_states"]), mask, is_causal=False)
    return out.flatten(2), None


def _mpnet(module: Any, attention: Attention, given: Given) -> Any:
    qkv = _by_heads(module.num_attention_heads, given["hidden_states"], module.q, module.k, module.v)
    scale = module.attention_head_size**-0.5
    mask, bias = _added(module, given.get("attention_mask")), given.get("position_bias")
    out, _ = attention(module, *qkv, mask, scaling=scale, is_causal=False, position_bias=bias)
    return (module.o(out.flatten(2)),)


def _roformer(module: Any, attention: Attention, given: Given) -> Any:
    qkv = _by_heads(module.num_attention_heads, given["hidden_states"], module.query, module.key, module.value)
    scale = module.attention_head_size**-0.5
    mask = _added(module, given.get("attention_mask"))
    out, _ = attention(module, *qkv, mask, scaling=scale, is_causal=False)
    return out.flatten(2), None


def _xlnet(module: Any, attention: Attention, given: Given) -> Any:
    mask = given.get("attn_mask")
    seen = None if mask is None else mask.permute(2, 3, 0, 1) == 0
    qkv = (given[of].permute(1, 2, 0, 3) for of in ("q_head", "k_head_h", "v_head_h"))
    out, _ = attention(module, *qkv, seen, scaling=module.scale, is_causal=False)
    return out.transpose(0, 1)


def _function_of(module: nn.Module, name: str) -> Callable[..., Any]:
    return getattr(sys.modules[type(module).__module__], name)


_OF_HEADS = ("query", "key", "value", "attention_mask")
METHODS: dict[str, Replaced] = {
    "GPTJAttention": Replaced("_attn", _gptj, _OF_HEADS, dropouts=("attn_dropout",)),
    "GPTNeoSelfAttention": Replaced("_attn", _gptj, _OF_HEADS, dropouts=("attn_dropout",)),
    "GPTNeoXJapaneseAttention": Replaced("_attn", _gptj, _OF_HEADS, dropouts=("attention_dropout",)),
    "CodeGenAttention": Replaced("_attn", _codegen, _OF_HEADS, dropouts=("attn_dropout",)),
    "BloomAttention": Replaced(
        "forward",
        _bloom,
        ("hidden_states", "residual", "attention_mask", "layer_past"),
        ("alibi",),  # compared with the plan's
        ("attention_dropout",),
    ),
    "MptAttention": Replaced(
        "forward",
        _mpt,
        ("hidden_states", "attention_mask", "past_key_values"),
        ("position_bias",),
        ("attn_dropout_p",),
    ),
    "FalconAttention": Replaced(
        "forward",
        _falcon,
        ("hidden_states", "attention_mask", "layer_past", "alibi", "position_embeddings"),
        ("position_ids",),
    ),
    "MPNetSelfAttention": Replaced(
        "forward", _mpnet, ("hidden_states", "attention_mask"), ("position_bias",), ("dropout",)
    ),
    "RoFormerSelfAttention": Replaced(
        "forward", _roformer, ("hidden_states", "attention_mask"), ("sinusoidal_pos",), ("dropout",)
    ),
    "XLNetRelativeAttention": Replaced(
        "rel_attn_core", _xlnet, ("q_head", "k_head_h", "v_head_h", "attn_mask"), ("k_head_r",), ("dropout",)
    ),
    "DisentangledSelfAttention": Replaced(
        "forward",
        _deberta,
        ("hidden_states", "attention_mask", "relative_pos", "rel_embeddings"),
        (),
        ("dropout", "pos_dropout"),
    ),
}
