"""Which modules of a model of transformers attend, by which layer of its plan; and those that know no registry.

Most modules look their attention up by name. GPT-J, CodeGen, Falcon, BLOOM, MPT and DeBERTa do not: a method of theirs
is replaced by one that projects as theirs does and attends by the plan.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn

from . import _posenc

Attention = Callable[..., tuple[Tensor, None]]


def attention_layers(model: nn.Module, plan: _posenc.Plan) -> Iterator[tuple[str, nn.Module, _posenc.LayerPlan]]:
    """Modules in their order beside the plan's layers in theirs, stack by stack; none where their numbers differ."""
    modules = [(name, module) for name, module in model.named_modules() if _attends(module)]
    for stack in plan.stacks:
        of_stack = modules if len(plan.stacks) == 1 else [at for at in modules if f"{stack.name}." in at[0]]
        layers = [layer for layer in stack.layers if layer.kind in ("attention", "cross_attention")]
        if len(of_stack) == len(layers):
            yield from ((name, module, _as_called(module, layer)) for (name, module), layer in zip(of_stack, layers))


def _attends(module: nn.Module) -> bool:
    of = type(module).__name__
    return of in _OTHER_NAMES or (of.endswith("Attention") and not any(_attends(child) for child in module.children()))


_OTHER_NAMES = ("EsmSelfAttention",)
_SCALE_QUERIES_THEMSELVES = ("EsmSelfAttention",)


def _as_called(module: nn.Module, layer: _posenc.LayerPlan) -> _posenc.LayerPlan:
    """The layer of queries as the module gives them: turned, and by some scaled."""
    scale = 1.0 if type(module).__name__ in _SCALE_QUERIES_THEMSELVES else layer.logit_scale
    return layer.replace(rotate=(), query_scale=None, logit_scale=scale)


# ---- learned tables ----


def score_weights(model: nn.Module, name: str, module: nn.Module, layer: _posenc.LayerPlan) -> tuple[Any, ...]:
    """What attend needs besides the layer, from the parameters of the model."""
    return tuple(_weights(model, name, module, term) for term in layer.score)


def _weights(model: nn.Module, name: str, module: nn.Module, term: Any) -> Any:
    if isinstance(term, _posenc.T5Bias):
        return _posenc.T5Weights(table=_t5_table(model, name))
    if isinstance(term, _posenc.Deberta):
        encoder = next(m for m in model.modules() if hasattr(m, "get_rel_embedding"))
        shared = term.shared_projection
        keys = module.key_proj if shared else getattr(module, "pos_key_proj", None)
        queries = module.query_proj if shared else getattr(module, "pos_query_proj", None)
        return _posenc.DebertaWeights(
            table=encoder.get_rel_embedding().detach().contiguous(), keys=_linear(keys), queries=_linear(queries)
        )
    if isinstance(term, _posenc.XlNet):
        positions = _posenc.TransformerXlWeights(
            projection=module.r.detach().flatten(1).T.contiguous(),
            content_bias=module.r_w_bias.detach(),
            position_bias=module.r_r_bias.detach(),
        )
        return _posenc.XlNetWeights(positions=positions)
    return None


def _linear(module: nn.Module | None) -> Any:
    if module is None:
        return _posenc.Linear()
    return _posenc.Linear(weight=module.weight.detach(), bias=None if module.bias is None else module.bias.detach())


def _t5_table(model: nn.Module, name: str) -> Tensor:
    """A layer's own, or that of the first layer of its stack."""
    stack = name.split(".block.")[0]
    own = getattr(model.get_submodule(name), "relative_attention_bias", None)
    if own is None:
        own = next(m for m in model.get_submodule(stack).modules() if hasattr(m, "relative_attention_bias"))
        own = own.relative_attention_bias
    return own.weight.detach()


# ---- modules without the registry ----


def replaced_methods(module: nn.Module, attention: Attention) -> Iterator[tuple[str, Callable[..., Any]]]:
    make = _METHODS.get(type(module).__name__)
    if make is not None:
        name, method = make
        yield name, lambda *args, **kwargs: method(module, attention, *args, **kwargs)


def _gptj(module: Any, attention: Attention, query: Tensor, key: Tensor, value: Tensor, mask: Any = None) -> Any:
    out, _ = attention(module, query, key, value, mask)
    return out.transpose(1, 2), None


def _bloom(
    module: Any, attention: Attention, hidden: Tensor, residual: Tensor, alibi: Any, attention_mask: Any, **_: Any
) -> Any:
    q, k, v = module._reshape(module.query_key_value(hidden))
    out, _ = attention(module, q, k, v, attention_mask)
    return module.dense(out.flatten(2)) + residual, None


def _mpt(
    module: Any, attention: Attention, hidden: Tensor, position_bias: Any, attention_mask: Any = None, **_: Any
) -> Any:
    parts = module.Wqkv(hidden)
    if module.clip_qkv:
        parts = parts.clamp(-module.clip_qkv, module.clip_qkv)
    q, k, v = (x.unflatten(-1, (module.n_heads, -1)).transpose(1, 2) for x in parts.chunk(3, -1))
    out, _ = attention(module, q, k, v, None if attention_mask is None else ~attention_mask)
    return module.out_proj(out.flatten(2)), None


def _falcon(module: Any, attention: Attention, hidden: Tensor, alibi: Any, attention_mask: Any, **given: Any) -> Any:
    q, k, v = (x.transpose(1, 2) for x in module._split_heads(module.query_key_value(hidden)))
    if alibi is None:
        q, k = _function_of(module, "apply_rotary_pos_emb")(q, k, *given["position_embeddings"])
    out, _ = attention(module, q, k, v, attention_mask)
    return module.dense(out.flatten(2)), None


def _deberta(module: Any, attention: Attention, hidden: Tensor, attention_mask: Any, *_: Any, **__: Any) -> Any:
    projected = (project(hidden) for project in (module.query_proj, module.key_proj, module.value_proj))
    q, k, v = (x.unflatten(-1, (module.num_attention_heads, -1)).transpose(1, 2) for x in projected)
    out, _ = attention(module, q, k, v, attention_mask.bool())
    return out.flatten(2), None


def _xlnet(module: Any, attention: Attention, q: Tensor, k: Tensor, v: Tensor, *_: Any, **given: Any) -> Any:
    if given.get("seg_mat") is not None:
        raise NotImplementedError("[use] XLNet must be called without token_type_ids")
    seen = None if given.get("attn_mask") is None else given["attn_mask"].permute(2, 3, 0, 1) == 0
    out, _ = attention(module, *(x.permute(1, 2, 0, 3) for x in (q, k, v)), seen)
    return out.transpose(0, 1)


def _function_of(module: nn.Module, name: str) -> Callable[..., Any]:
    return getattr(sys.modules[type(module).__module__], name)


_METHODS: dict[str, tuple[str, Callable[..., Any]]] = {
    "GPTJAttention": ("_attn", _gptj),
    "CodeGenAttention": ("_attn", _gptj),
    "BloomAttention": ("forward", _bloom),
    "MptAttention": ("forward", _mpt),
    "FalconAttention": ("forward", _falcon),
    "XLNetRelativeAttention": ("rel_attn_core", _xlnet),
    "DisentangledSelfAttention": ("forward", _deberta),
}
