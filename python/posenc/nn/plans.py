"""Modules of a plan's layer, and of an attention module of transformers, with its weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .. import _posenc
from .._read_plan import read_plan
from .attention import Attention
from .rotary import RotaryEmbedding


def from_plan(plan: Any, layer: int = 0, *, stack: int = 0, width: int | None = None, **options: Any) -> Attention:
    """Attention(plan.stacks[stack].layers[layer], width, **options); plan: also a LayerPlan, or what read_plan takes."""
    of = plan if isinstance(plan, _posenc.LayerPlan) else None
    if of is None:
        plan = plan if isinstance(plan, _posenc.Plan) else read_plan(plan)
        of = plan.stacks[stack].layers[layer]
    if of.kind not in ("attention", "cross_attention"):
        raise ValueError(f"[from_plan] the layer must be of attention but is of {of.kind}")
    return Attention(of, width, **options)


def module_of(scheme: Any) -> nn.Module:
    """RotaryEmbedding of a Rope or XPos."""
    if isinstance(scheme, (_posenc.Rope, _posenc.XPos)):
        return RotaryEmbedding(scheme)
    raise ValueError(
        f"[module_of] a scheme must be a Rope or an XPos but is {scheme!r}: a term's module is made by its heads"
    )


# The projections of q, k and v, by the names that classes of transformers have; and that of the output.
_QUERIES = ("q_proj", "q", "query", "query_proj", "self.query", "self.query_proj")
_MIXED = ("c_attn", "query_key_value", "in_proj", "self.in_proj")
_OUTPUT = ("o_proj", "out_proj", "o", "c_proj", "dense", "output.dense")


def _find(module: nn.Module, names: tuple[str, ...]) -> Any:
    for name in names:
        found: Any = module
        for step in name.split("."):
            found = getattr(found, step, None)
        if found is not None:
            return found
    return None


def _stack(plan: _posenc.Plan, module: nn.Module, asked: str | int | None) -> _posenc.Stack:
    if isinstance(asked, int):
        return plan.stacks[asked]
    of = {one.name: one for one in plan.stacks}
    if asked is None:
        inner = getattr(module, "self", module)
        is_decoder = getattr(inner, "is_decoder", None)
        asked = "decoder" if is_decoder in (True, None) and "decoder" in of else plan.stacks[0].name
        if is_decoder is False and "encoder" in of:
            asked = "encoder"
    if asked not in of:
        raise ValueError(f"[from_transformers] stack must be one of {', '.join(of)} but is {asked!r}")
    return of[asked]


def from_transformers(
    module: nn.Module,
    *,
    config: Any = None,
    layer: int | None = None,
    stack: str | int | None = None,
    cross: bool = False,
    table: torch.Tensor | None = None,
    **options: Any,
) -> Attention:
    """An attention module of a model of transformers as posenc's, with copies of its weights.

    Of T5, BERT, DeBERTa v1 and v2, GPT-2, OPT, BLOOM, Whisper, and those of q_proj, k_proj, v_proj (Llama ..). config:
    where the module has none; layer: which of the plan's, by default module.layer_idx or the first; stack: of an
    encoder-decoder, "encoder" or "decoder"; cross: its cross attention. table: [buckets, heads], the bias that T5's first
    layer hands to the others of its stack, which have none (`block[0].layer[0].SelfAttention.relative_attention_bias.weight`);
    a copy too. It takes hidden states, and what the model adds, scales or caches around them stays the model's. ValueError
    for what it has and this does not know, and for a table of the plan that neither has.
    """
    inner = getattr(module, "self", module)
    config = config if config is not None else getattr(module, "config", None) or getattr(inner, "config", None)
    if config is None:
        raise ValueError(f"[from_transformers] {type(module).__name__} has no config: give the model's as config=")
    plan = read_plan(config)
    of = _stack(plan, module, stack)
    index = layer if layer is not None else getattr(inner, "layer_idx", None) or 0
    kind = "cross_attention" if cross else "attention"
    layers = [one for one in of.layers if one.kind == kind and one.index == index]
    if not layers:
        raise ValueError(f"[from_transformers] layer must be one of the plan's {kind} layers but is {index}")
    of_layer = layers[0]
    mixed, queries = _find(module, _MIXED), _find(module, _QUERIES)
    if mixed is None and queries is None:
        raise ValueError(f"[from_transformers] {type(module).__name__} has no projection of a name that is known")
    output = _find(module, _OUTPUT)
    state = {
        name: x.detach().clone()
        for name, x in module.state_dict().items()
        if not name.startswith(("output.LayerNorm", "layer_norm"))
    }
    if table is not None:
        if "relative_attention_bias.weight" in state:
            raise ValueError(f"[from_transformers] table must be omitted: {type(module).__name__} has its own")
        state["relative_attention_bias.weight"] = table.detach().clone()
    biased = _biased(state, mixed is not None)
    projection = mixed if mixed is not None else queries
    if not isinstance(getattr(projection, "weight", None), torch.Tensor):
        raise ValueError(f"[from_transformers] projections must have a weight, but a {type(projection).__name__} has none")
    is_conv = type(projection).__name__ == "Conv1D"
    width = projection.weight.shape[0 if is_conv else 1]
    keys = _find(module, ("k_proj", "k", "key", "key_proj", "self.key"))
    memory = width if keys is None else keys.weight.shape[1]
    if any(isinstance(term, _posenc.Deberta) for term in of_layer.score):
        has_bias = any(name.endswith("pos_key_proj.bias") for name in state)
        options = {"term_options": {"shared_table": True, "key_bias": has_bias}, **options}
    if of_layer.qk_norm is not None:
        options = {"norm_epsilon": _epsilon(module), **options}
    made = Attention(
        of_layer,
        width,
        bias=biased,
        out=output is not None,
        memory_width=memory,
        out_bias=getattr(output, "bias", None) is not None,
        **options,
    )
    made.to(device=projection.weight.device, dtype=projection.weight.dtype)
    try:
        missing, unexpected = made.load_state_dict(state, strict=False)
    except RuntimeError as problem:  # sizes
        raise ValueError(
            f"[from_transformers] the weights of {type(module).__name__} must be those of the plan's layer {index}: {problem}"
        ) from None
    if not unexpected and missing == ["terms.0.table"]:
        raise ValueError(
            f"[from_transformers] table must be given: {type(module).__name__} has none of its own, and takes that of the first "
            "layer of its stack"
        )
    if unexpected or missing:
        raise ValueError(f"[from_transformers] names must be known, but {sorted(unexpected) or missing} are not")
    _require_same_norms(made, module)
    return made.train(module.training)


def _epsilon(module: nn.Module) -> float:
    for name in ("k_norm", "key_norm"):
        for told in ("variance_epsilon", "eps", "epsilon"):
            found = getattr(getattr(module, name, None), told, None)
            if isinstance(found, float):
                return found
    return 1e-6


def _require_same_norms(made: Attention, module: nn.Module) -> None:
    """ValueError where a norm of q or k is another than the model's: of some models 1 is added to the weight."""
    for name in ("q_norm", "k_norm"):
        own, theirs = getattr(made, name), getattr(module, name, None)
        if own is None and theirs is None:
            continue
        x = torch.linspace(
            -2.0, 3.0, made.layer.head_dim, dtype=made.q_proj.weight.dtype, device=made.q_proj.weight.device
        )
        with torch.no_grad():
            same = own is not None and theirs is not None and own.of.over == "head"
            if same and torch.allclose(own(x[None, None, None]), theirs(x[None, None, None]), rtol=1e-3, atol=1e-5):
                continue
        raise ValueError(f"[from_transformers] {name} must be a norm of a head as the plan has it, but is {theirs!r}")


def _biased(state: dict[str, torch.Tensor], is_mixed: bool) -> bool | str:
    """Which of q, k, v have a bias."""
    if is_mixed:
        if any(name.endswith("q_bias") for name in state):
            return "qv"
        return any(name.endswith(("c_attn.bias", "query_key_value.bias")) for name in state)
    letters = ""
    for letter, names in (
        ("q", _QUERIES),
        ("k", ("k_proj", "k", "key", "key_proj")),
        ("v", ("v_proj", "v", "value", "value_proj")),
    ):
        if any(f"{name}.bias" in state or f"self.{name}.bias" in state for name in names):
            letters += letter
    return letters
