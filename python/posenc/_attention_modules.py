"""Which modules of a model of transformers attend, by which layer of its plan; and those that know no registry.

Most modules look their attention up by name. GPT-J, GPT-Neo, CodeGen, Falcon, BLOOM, MPT, MPNet, RoFormer, XLNet and
both DeBERTas do not: a method of theirs is replaced by one that projects as theirs does and attends by the plan.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn

from . import _posenc

Attention = Callable[..., tuple[Tensor, None]]

ATTENDING = ("attention", "cross_attention")  # kinds of layers


def attention_layers(model: nn.Module, plan: _posenc.Plan) -> Iterator[tuple[str, nn.Module, _posenc.LayerPlan]]:
    """Modules in their order beside the plan's layers in theirs, stack by stack; none where their numbers differ."""
    modules = [(name, module) for name, module in model.named_modules() if _attends(module)]
    for stack in plan.stacks:
        of_stack = modules if len(plan.stacks) == 1 else [at for at in modules if f"{stack.name}." in at[0]]
        layers = [layer for layer in stack.layers if layer.kind in ATTENDING]
        if len(of_stack) == len(layers):
            for (name, module), layer in zip(of_stack, layers):
                if _can_be_replaced(module):
                    yield name, module, _as_called(module, layer)


def _attends(module: nn.Module) -> bool:
    of = type(module).__name__
    return of in _OTHER_NAMES or (of.endswith("Attention") and not any(_attends(child) for child in module.children()))


def _can_be_replaced(module: nn.Module) -> bool:
    """Whether it looks attention up by name, or has a method that stands below; LongT5's local attention does neither."""
    forward = inspect.unwrap(type(module).forward)
    return type(module).__name__ in _METHODS or "ALL_ATTENTION_FUNCTIONS" in forward.__code__.co_names


_OTHER_NAMES = ("EsmSelfAttention",)
_SCALE_QUERIES_THEMSELVES = ("EsmSelfAttention",)
_LEFT_TO_ROTATE = ("RoFormerSelfAttention",)


def _as_called(module: nn.Module, layer: _posenc.LayerPlan) -> _posenc.LayerPlan:
    """The layer of queries as the module gives them: rotated, where it does not leave that to attention, and by some
    scaled."""
    name = type(module).__name__
    scale = 1.0 if name in _SCALE_QUERIES_THEMSELVES else layer.softmax_scale
    rotate = layer.rotate if name in _LEFT_TO_ROTATE else ()
    return layer.replace(rotate=rotate, query_scale=None, softmax_scale=scale)


def masks_itself(module: nn.Module) -> bool:
    """Whether the module adds a window of its own to the mask that it is given."""
    return type(module).__name__ == "GPTNeoSelfAttention"


# ---- learned tables ----


@dataclasses.dataclass(frozen=True)
class Learned:
    """What attend needs besides the layer: made of these parameters of the model, by a function for each term."""

    parameters: tuple[Tensor, ...]
    terms: tuple[Callable[[], Any], ...]

    def make(self) -> tuple[Any, ...]:
        """score_weights of attend, of what the parameters hold now."""
        return tuple(term() for term in self.terms)

    def versions(self) -> tuple[tuple[int, int], ...] | None:
        """What is another as soon as a parameter is, or is written into; None where torch does not count that.

        Writing through `parameter.data` is not counted.
        """
        if any(of.is_inference() for of in self.parameters):
            return None
        return tuple((of.data_ptr(), of._version) for of in self.parameters)


def learned(model: nn.Module, name: str, module: nn.Module, layer: _posenc.LayerPlan) -> Learned:
    of_terms = [_learned(model, name, module, term) for term in layer.score]
    return Learned(
        tuple(of for parameters, _ in of_terms for of in parameters), tuple(make for _, make in of_terms)
    )


def _learned(model: nn.Module, name: str, module: Any, term: Any) -> tuple[list[Tensor], Callable[[], Any]]:
    if isinstance(term, _posenc.T5Bias):
        table = _t5_table(model, name)
        return [table], lambda: _posenc.T5Weights(table=table.detach())
    if isinstance(term, _posenc.Deberta):
        return _deberta_weights(model, module, term)
    if isinstance(term, _posenc.XlNet):
        return [module.r, module.r_w_bias, module.r_r_bias], lambda: _xlnet_weights(module)
    return [], lambda: None


def _deberta_weights(model: nn.Module, module: Any, term: Any) -> tuple[list[Tensor], Callable[[], Any]]:
    encoder: Any = next(m for m in model.modules() if hasattr(m, "get_rel_embedding"))
    shared = term.shared_projection
    keys = module.key_proj if shared else _either(module, "pos_key_proj", "pos_proj")
    queries = module.query_proj if shared else _either(module, "pos_query_proj", "pos_q_proj")
    holders = (encoder.rel_embeddings, _either(encoder, "LayerNorm"), keys, queries)
    parameters = [of for holder in holders if holder is not None for of in holder.parameters()]
    return parameters, lambda: _posenc.DebertaWeights(
        table=encoder.get_rel_embedding().detach().contiguous(), keys=_linear(keys), queries=_linear(queries)
    )


def _xlnet_weights(module: Any) -> Any:
    positions = _posenc.TransformerXlWeights(
        projection=module.r.detach().flatten(1).T.contiguous(),
        content_bias=module.r_w_bias.detach(),
        position_bias=module.r_r_bias.detach(),
    )
    return _posenc.XlNetWeights(positions=positions)


def _either(module: nn.Module, *names: str) -> nn.Module | None:
    """What DeBERTa v2 calls by the first name, and DeBERTa by the second; None where there is neither."""
    return next((getattr(module, name) for name in names if hasattr(module, name)), None)


def _linear(module: nn.Module | None) -> Any:
    if module is None:
        return _posenc.Linear()
    return _posenc.Linear(weight=module.weight.detach(), bias=None if module.bias is None else module.bias.detach())


def _t5_table(model: nn.Module, name: str) -> Tensor:
    """A layer's own, or the one of its stack: T5's first layer has it, or the stack itself (MPNet)."""
    own = getattr(model.get_submodule(name), "relative_attention_bias", None)
    while own is None:
        name = name.rpartition(".")[0]
        holders = (m for m in model.get_submodule(name).modules() if hasattr(m, "relative_attention_bias"))
        own = next((holder.relative_attention_bias for holder in holders), None)
    return own.weight


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
    elif attention_mask is not None:
        # ALiBi was added to it, and stands in the plan. Hidden keys have the lowest number of the dtype.
        attention_mask = attention_mask > torch.finfo(attention_mask.dtype).min / 2
    out, _ = attention(module, q, k, v, attention_mask)
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


def _deberta(module: Any, attention: Attention, hidden: Tensor, attention_mask: Any, *_: Any, **__: Any) -> Any:
    out, _ = attention(module, *_deberta_heads(module, hidden), attention_mask.bool())
    return out.flatten(2), None


def _mpnet(
    module: Any, attention: Attention, hidden: Tensor, attention_mask: Any = None, *_: Any, **__: Any
) -> Any:
    qkv = _by_heads(module.num_attention_heads, hidden, module.q, module.k, module.v)
    out, _ = attention(module, *qkv, attention_mask)
    return (module.o(out.flatten(2)),)


def _roformer(
    module: Any, attention: Attention, hidden: Tensor, attention_mask: Any = None, *_: Any, **given: Any
) -> Any:
    if given.get("encoder_hidden_states") is not None or given.get("past_key_values") is not None:
        raise NotImplementedError("[use] RoFormer must be called without another sequence and without a cache")
    qkv = _by_heads(module.num_attention_heads, hidden, module.query, module.key, module.value)
    out, _ = attention(module, *qkv, attention_mask)
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
    "GPTNeoSelfAttention": ("_attn", _gptj),
    "GPTNeoXJapaneseAttention": ("_attn", _gptj),
    "CodeGenAttention": ("_attn", _gptj),
    "BloomAttention": ("forward", _bloom),
    "MptAttention": ("forward", _mpt),
    "FalconAttention": ("forward", _falcon),
    "MPNetSelfAttention": ("forward", _mpnet),
    "RoFormerSelfAttention": ("forward", _roformer),
    "XLNetRelativeAttention": ("rel_attn_core", _xlnet),
    "DisentangledSelfAttention": ("forward", _deberta),
}
