"""Names that checkpoints have, to the names of posenc.nn.Attention: q_proj, k_proj, v_proj, o_proj, terms.N.

T5            q, k, v, o, relative_attention_bias              BERT     query, key, value, output.dense
GPT-2         c_attn [width, 3 width], c_proj                  OPT      q_proj, k_proj, v_proj, out_proj (Whisper too)
BLOOM         query_key_value [heads, 3, head_dim], dense      BERT's relative_key: distance_embedding, by j - i
DeBERTa v1    in_proj [heads, 3, head_dim], q_bias, v_bias, pos_proj, pos_q_proj
DeBERTa v2    query_proj, key_proj, value_proj, pos_key_proj, pos_query_proj
Transformer-XL  qkv_net, o_net, r_net, r_w_bias, r_r_bias
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

_LINEAR = {
    "q_proj": ("q", "query", "query_proj", "self.query", "self.query_proj"),
    "k_proj": ("k", "key", "key_proj", "self.key", "self.key_proj"),
    "v_proj": ("v", "value", "value_proj", "self.value", "self.value_proj"),
    "o_proj": ("o", "out_proj", "output.dense", "dense", "o_net"),
}
_TERMS = {
    "relative_attention_bias.weight": "table",
    "pos_proj.weight": "keys.weight",
    "pos_key_proj.weight": "keys.weight",
    "pos_key_proj.bias": "keys.bias",
    "pos_q_proj.weight": "queries.weight",
    "pos_q_proj.bias": "queries.bias",
    "pos_query_proj.weight": "queries.weight",
    "pos_query_proj.bias": "queries.bias",
    "r_net.weight": "projection.weight",
    "r_w_bias": "content_bias",
    "r_r_bias": "position_bias",
}


def _take(state: dict[str, Tensor], name: str) -> Tensor | None:
    return state.pop(name, None)


def _split(state: dict[str, Tensor], prefix: str, parts: tuple[Tensor, ...], kind: str) -> None:
    for name, part in zip(("q_proj", "k_proj", "v_proj"), parts):
        state[f"{prefix}{name}.{kind}"] = part.contiguous()


def _thirds(x: Tensor, heads: int) -> tuple[Tensor, ...]:
    """Rows of [heads, 3, head_dim], as BLOOM and DeBERTa v1 mix them."""
    each = x.unflatten(0, (heads, 3, -1))
    return tuple(each[:, part].flatten(0, 1) for part in range(3))


def _mixed(module: Any, state: dict[str, Tensor], prefix: str) -> None:
    heads = module.layer.heads
    for kind in ("weight", "bias"):
        x = _take(state, f"{prefix}c_attn.{kind}")
        if x is not None:  # Conv1D: [inputs, outputs]
            _split(state, prefix, tuple((x.T if kind == "weight" else x).chunk(3)), kind)
        x = _take(state, f"{prefix}query_key_value.{kind}")
        if x is not None:
            _split(state, prefix, _thirds(x, heads), kind)
        x = _take(state, f"{prefix}c_proj.{kind}")
        if x is not None:
            state[f"{prefix}o_proj.{kind}"] = (x.T if kind == "weight" else x).contiguous()
    for start in ("", "self."):
        x = _take(state, f"{prefix}{start}in_proj.weight")
        if x is not None:
            _split(state, prefix, _thirds(x, heads), "weight")
        for name, to in (("q_bias", "q_proj.bias"), ("v_bias", "v_proj.bias")):
            x = _take(state, f"{prefix}{start}{name}")
            if x is not None:
                state[f"{prefix}{to}"] = x
    x = _take(state, f"{prefix}qkv_net.weight")
    if x is not None:
        _split(state, prefix, tuple(x.chunk(3)), "weight")


def renamed(module: Any, state: dict[str, Tensor], prefix: str) -> None:
    """Before a state dict is loaded: published names of what stands below prefix become the module's own, in place."""
    _mixed(module, state, prefix)
    for ours, theirs in _LINEAR.items():
        for name in theirs:
            for kind in ("weight", "bias"):
                x = _take(state, f"{prefix}{name}.{kind}") if name != ours else None
                if x is not None:
                    state[f"{prefix}{ours}.{kind}"] = x
    for start in ("", "self."):
        for name, to in _TERMS.items():
            x = _take(state, f"{prefix}{start}{name}")
            if x is None:
                continue
            place = f"{prefix}terms.0.{to}"
            own = _parameter(module, f"terms.0.{to}")
            state[place] = x if own is None or own.shape == x.shape else x.reshape(own.shape)


def _parameter(module: Any, path: str) -> Any:
    for step in path.split("."):
        module = module[int(step)] if step.isdigit() else getattr(module, step, None)
        if module is None:
            return None
    return module
