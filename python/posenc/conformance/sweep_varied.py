"""One key at a time: configurations that differ from a type's default by one key, for the same judge.

A name that a class does not read must change nothing, and one that it reads must change what the class does. A file is
judged too: the plan of what stands in it is the plan of what the class makes of it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from transformers import CONFIG_MAPPING, PretrainedConfig

import posenc

from . import sweep_keys, sweep_type

_LINEAR = {"rope_type": "linear", "factor": 3.0}
_BY_LAYER_TYPE = {
    "full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 300.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 70.0},
}
_YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}
_LLAMA3 = {
    "rope_type": "llama3",
    "factor": 4.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
# Names of keys, of all families, and what they are set to.
VALUES: dict[str, tuple[Any, ...]] = {
    # How wide the rotation is, and its base.
    **dict.fromkeys(("partial_rotary_factor", "rotary_pct", "rope_pct"), (0.5,)),
    **dict.fromkeys(("rotary_dim", "rope_dim"), (8,)),
    **dict.fromkeys(("rope_theta", "rotary_emb_base", "rope_base", "rotary_base", "rotary_embedding_base"), (99.0,)),
    **dict.fromkeys(("rope_local_base_freq", "local_rope_theta"), (33.0,)),
    **dict.fromkeys(("global_rope_theta", "swa_rope_theta"), (77.0,)),
    "rope_ratio": (4.0,),
    # Rules.
    "rope_scaling": ({"type": "linear", "factor": 3.0}, _LINEAR, _YARN, _LLAMA3),
    "rope_parameters": (_LINEAR, {"rope_theta": 50.0}, {"partial_rotary_factor": 0.5}, _BY_LAYER_TYPE),
    # Pairing, and whether anything rotates.
    **dict.fromkeys(("rope_interleaved", "rope_interleave", "rotary_emb_interleaved"), (True, False)),
    **dict.fromkeys(("use_rope", "rope", "use_mem_rope"), (False,)),
    **dict.fromkeys(("alibi", "use_alibi", "relative_attention"), (True,)),
    "position_embedding_type": ("alibi", "rotary", "relative_key", "nope"),
    "position_embeddings_type": ("rotary", "relative"),
    "no_rope_layers": ([1, 0] * 24,),
    **dict.fromkeys(("no_rope_layer_interval", "nope_layer_interval"), (2,)),
    "sinusoidal_embeddings": (True,),
    # Windows.
    **dict.fromkeys(("sliding_window", "sliding_window_size"), (8,)),
    **dict.fromkeys(("window_size", "attention_window", "local_attention"), (8,)),
    "attention_chunk_size": (8,),
    "sliding_window_pattern": (2, 3),
    "use_sliding_window": (True, False),
    "max_window_layers": (1,),
    "global_attn_every_n_layers": (2,),
    # Masks.
    **dict.fromkeys(("is_causal", "causal", "causal_attn", "is_decoder", "use_bidirectional_attention"), (True, False)),
    # Scores.
    **dict.fromkeys(("attn_logit_softcapping", "logit_softcap", "attention_logit_cap"), (3.0,)),
    "query_pre_attn_scalar": (7,),
    **dict.fromkeys(("attention_multiplier", "attn_scale", "softmax_scale"), (0.3,)),
    **dict.fromkeys(("attention_scale", "scaling_factor"), (0.3,)),
    "scale_attn_weights": (False,),
    "scale_attn_by_inverse_layer_idx": (True,),
    **dict.fromkeys(("attn_temperature_tuning", "use_qk_norm", "qk_layernorm", "qk_norm"), (True, False)),
    # Heads.
    **dict.fromkeys(("num_key_value_heads", "num_kv_heads", "multi_query_group_num"), (1,)),
    **dict.fromkeys(("head_dim", "kv_channels", "attention_head_dim"), (32,)),
    "multi_query": (True,),
    "num_kv_shared_layers": (1,),
    # Lengths.
    "max_position_embeddings": (1000,),  # more than all tokens that are run
    "original_max_position_embeddings": (32,),
}


# Several keys that depend on each other. Layers take layer types in turn.
TOGETHER: tuple[dict[str, Any], ...] = (
    {"rope_scaling": _YARN, "original_max_position_embeddings": 32},
    {"rope_scaling": _LLAMA3, "original_max_position_embeddings": 32},
    {"rope_scaling": _BY_LAYER_TYPE},
    {"layer_types": ("full_attention", "sliding_attention"), "sliding_window": 8},
    {"layer_types": ("sliding_attention", "full_attention"), "sliding_window": 8},
)
# Names that classes read without declaring them.
_ASKED_EVERYWHERE = ("head_dim", "num_key_value_heads", "is_causal", "sliding_window", "attention_chunk_size")
# Layers are made few by them, where a list of one for each layer does not stand in the way.
_COUNTS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers", "decoder_layers")
_FEW = 4


def _own(config: Any, name: str) -> Any:
    try:
        return getattr(config, name, None)
    except Exception:  # whatever transformers raises for what single layers have of their own (per_layer_config)
        return None


def _is_count(default: Any, name: str) -> bool:
    """Whether a configuration has more layers than are needed. LongCat counts them twice, once as a property."""
    count = _own(default, name)
    return isinstance(count, int) and count > _FEW and not isinstance(getattr(type(default), name, None), property)


def variations(model_type: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Title and keys of each. None of a model of several parts, which are types of their own."""
    try:
        default = sweep_keys.config(model_type)
    except Exception:  # whatever a class says against its own defaults
        return
    if any(isinstance(of, PretrainedConfig) for of in vars(default).values()):
        return
    few = {name: _FEW for name in _COUNTS if _is_count(default, name)}
    try:
        sweep_keys.config(model_type, few)
        posenc.read_plan(_file(model_type, few))
    except Exception:  # of a class, or a plan, with a list that it does not shorten
        few = {}
    plan = posenc.read_plan(_file(model_type, few))
    types = _own(sweep_keys.config(model_type, few), "layer_types")
    if not plan.known and types:  # a plan that needs the list which the class makes by itself (LFM 3)
        few["layer_types"] = list(types)
        plan = posenc.read_plan(_file(model_type, few))
    if not plan.known or not sweep_type.parts(plan):
        return
    before = _facts(plan)
    is_pyramid = _own(default, "depths") is not None  # its sizes are made for its windows
    for name, values in VALUES.items():
        for value in () if is_pyramid and name == "window_size" else values:
            keys = {**few, name: copy.deepcopy(value)}  # classes change what they are given
            is_read = name in _ASKED_EVERYWHERE or hasattr(type(default), name) or _changes(model_type, keys, before)
            if _own(default, name) == value or not is_read:
                continue
            yield f"{model_type}, {name}: {json.dumps(value)}", keys
    layers = few.get("num_hidden_layers", _own(default, "num_hidden_layers"))
    for together in TOGETHER:
        first = next(iter(together))
        if not hasattr(default, "rope_parameters" if first == "rope_scaling" else first) or not isinstance(layers, int):
            continue
        keys = {**few, **copy.deepcopy(together)}
        if first == "layer_types":
            keys[first] = [together[first][at % len(together[first])] for at in range(layers)]
        yield f"{model_type}, {json.dumps(together)}", keys


def _file(model_type: str, keys: dict[str, Any]) -> dict[str, Any]:
    return {"model_type": model_type, **sweep_keys.given(model_type), **keys}


def _changes(model_type: str, keys: dict[str, Any], before: list[Any]) -> bool:
    try:
        return _facts(posenc.read_plan(_file(model_type, keys))) != before
    except posenc.FileError:  # refused
        return False


def _facts(plan: posenc.Plan) -> list[Any]:
    """What a plan says of its layers, without the sources; numbers to 14 digits: head_dim ** -0.5 of a class may be one
    unit beside 1 / sqrt(head_dim)."""
    read = json.loads(plan.to_json(), parse_float=lambda digits: f"{float(digits):.14g}")
    return [[stack["name"], stack["input"], stack["layers"]] for stack in read["stacks"]]


def judge(model_type: str, keys: dict[str, Any]) -> sweep_type.Verdict:
    """Of the configuration with these keys; wrong, too, where the plan of a file that has them is another."""
    of_file = None
    try:
        file = _file(model_type, copy.deepcopy(keys))
        of_file = posenc.read_plan(file)
        made = CONFIG_MAPPING[model_type].from_dict(copy.deepcopy(file))
        is_same = _facts(of_file) == _facts(posenc.read_plan(made))
    except Exception:  # of the class, whatever; of the plan: the verdict says it
        is_same = True
    verdict = sweep_type.judge(model_type, keys)
    raised = verdict.runs.failures if verdict.runs is not None else []
    if raised and verdict.verdict == "wrong" and all("vanish" in fact for fact in verdict.facts):
        verdict.verdict, verdict.facts = "not run", raised[:1]  # for this key the class raises on its way
    if of_file is not None and not of_file.known and verdict.verdict == "wrong":
        verdict.verdict = "unknown"
    if verdict.verdict == "right" and of_file is not None and of_file.known and not is_same:
        verdict.verdict = "wrong"
        verdict.facts = ["the plan of a file with this key is not that of what the class makes of it"]
    return verdict
