"""What the shapes of tensors say of a plan, tried on every model type of the installed transformers: names and shapes of
the class's own weights lie beside its default configuration, and nothing may contradict; then one key of the
configuration is changed, and where heads, tables or layers of the plan change by that, something must.

    python -m posenc.conformance.shapes --shard 0/2     # of all types, every second; two minutes each
    python -m posenc.conformance.shapes --type llama

It needs torch and transformers; models are made on the meta device, and files hold headers alone. The status is 1 where
a type's own weights are said to contradict it. docs/conformance-sweep.md says what came of it.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import re
import struct
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

import torch
import transformers
from transformers.models.auto import modeling_auto

import posenc

from . import sweep_keys, sweep_model

Shapes = dict[str, tuple[int, ...]]

# Whose names published files have: a head around the model, where the class has one.
_MAPPINGS = (
    "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING",  # first: of others the decoder alone may be a causal model
    "MODEL_FOR_CAUSAL_LM_MAPPING",
    "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING",
    "MODEL_FOR_MASKED_LM_MAPPING",
)
# Keys of heads, layers and tables by all their names, each set to half of what it is.
_HALVED = (
    *("num_attention_heads", "n_head", "num_heads", "n_heads", "encoder_attention_heads", "decoder_attention_heads"),
    *("num_key_value_heads", "num_kv_heads", "multi_query_group_num", "n_head_kv", "swa_num_key_value_heads"),
    *("head_dim", "d_kv", "kv_channels", "attention_head_dim", "swa_head_dim", "global_head_dim"),
    *("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"),
    *("num_hidden_layers", "n_layer", "num_layers", "n_layers", "encoder_layers", "decoder_layers"),
    *("max_position_embeddings", "n_positions", "n_ctx", "max_source_positions", "max_target_positions"),
    *("image_size", "relative_attention_num_buckets"),
)


def _classes(config: Any) -> Iterator[Any]:
    for name in _MAPPINGS:
        mapping = getattr(modeling_auto, name)
        if type(config) in mapping:
            found = mapping[type(config)]
            yield found[0] if isinstance(found, (tuple, list)) else found
    if (of := sweep_model.model_class(config)) is not None:
        yield of


def weights(config: Any) -> Shapes | None:
    """Names and shapes of a class's weights; None where transformers has no class of its own for it."""
    failure = None
    for of in _classes(config):
        try:
            with torch.device("meta"):
                model = of(config)
        except (AttributeError, AssertionError) as error:  # of a part of what this configuration is of (Qwen3.5's text)
            failure = failure or error
            continue
        return {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    if failure is not None:
        raise failure
    return None


def write_header(file: pathlib.Path, shapes: Shapes) -> None:
    """A safetensors file whose data is a hole."""
    entries, end = {}, 0
    for name, shape in shapes.items():
        begin, end = end, end + 2 * torch.Size(shape).numel()
        entries[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [begin, end]}
    header = json.dumps(entries).encode()
    with file.open("wb") as out:
        out.write(struct.pack("<Q", len(header)) + header)
        out.truncate(8 + len(header) + end)


def _mismatches(plan: posenc.Plan) -> list[str]:
    return [warning.message for warning in plan.warnings if warning.code == "shape-mismatch"]


def _rows(layer: posenc.LayerPlan) -> list[Any]:
    """Of a layer: more heads of fewer channels have the same rows."""
    heads, kv_heads = layer.heads or 0, layer.kv_heads or 0
    norm = layer.qk_norm
    return [
        *(layer.kind, heads * layer.head_dim, kv_heads * layer.head_dim, kv_heads * layer.value_dim),
        layer.head_dim if norm is not None and norm.weighted and norm.over == "head" else 0,
        heads if layer.sinks else 0,
        [(of.buckets, heads) for of in layer.score if isinstance(of, posenc.T5Bias)],
    ]


def _claims(plan: posenc.Plan) -> list[Any]:
    """What shapes could contradict."""
    tables = [[getattr(of, "positions", None) for of in stack.input] for stack in plan.stacks]
    return [tables, [[_rows(layer) for layer in stack.layers] for stack in plan.stacks]]


@dataclasses.dataclass
class Verdict:
    model_type: str
    verdict: str  # agrees, contradicts, unknown, no model, not made
    facts: list[str] = dataclasses.field(default_factory=list)
    named: list[str] = dataclasses.field(default_factory=list)  # changed keys whose contradiction is named
    missed: list[str] = dataclasses.field(default_factory=list)


def _of_class(config: Any, name: str) -> Any:
    try:
        return getattr(config, name, None)
    except Exception:  # whatever transformers raises for what single layers have of their own (per_layer_config)
        return None


def _changes(own: dict[str, Any], config: Any) -> Iterator[tuple[str, int]]:
    for name in _HALVED:
        value = own[name] if name in own else _of_class(config, name)
        if isinstance(value, int) and value > 1:
            yield name, value // 2


def judge(model_type: str) -> Verdict:
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        try:
            config = sweep_keys.config(model_type)
            shapes = weights(config)
            config.save_pretrained(folder)
        except Exception as error:  # whatever a class says against its own defaults, or the meta device
            return Verdict(model_type, "not made", [f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"])
        if shapes is None:
            return Verdict(model_type, "no model")
        file = folder / "config.json"
        own = json.loads(file.read_text())
        bare = folder / "bare"
        bare.mkdir()

        def read(keys: dict[str, Any], beside: bool) -> posenc.Plan:
            place = file if beside else bare / "config.json"
            place.write_text(json.dumps(own | keys))
            return posenc.read_plan(str(place.parent))

        write_header(folder / "model.safetensors", shapes)
        try:
            plan = read({}, True)
        except posenc.FileError as error:
            return Verdict(model_type, "unknown", [str(error)[:100]])
        verdict = Verdict(model_type, "agrees" if plan.known else "unknown", _mismatches(plan))
        if verdict.facts:
            verdict.verdict = "contradicts"
        if verdict.verdict != "agrees":
            return verdict
        for key, value in _changes(own, config):
            try:
                changed = read({key: value}, False)
                if not changed.known or _claims(changed) == _claims(plan):
                    continue
                found = _mismatches(read({key: value}, True))
            except posenc.FileError:  # refused: no plan that could be contradicted
                continue
            (verdict.named if found else verdict.missed).append(key)
    return verdict


def _row(verdict: Verdict) -> str:
    def cell(of: list[str]) -> str:
        return re.sub(r"[|\n]", "/", "; ".join(of))

    named, missed = cell(verdict.named), cell(verdict.missed)
    return f"| `{verdict.model_type}` | {verdict.verdict} | {cell(verdict.facts)} | {named} | {missed} |"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m posenc.conformance.shapes",
        description="Compares shapes of each class's weights with the plan of its configuration, as it is and with one "
        "key changed. The status is 1 where a class's own weights are said to contradict its configuration.",
    )
    parser.add_argument("--type", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--shard", default="0/1", metavar="I/N", help="every N-th type, from the I-th on")
    given = parser.parse_args(arguments)
    shard = re.fullmatch(r"(\d+)/(\d+)", given.shard)
    if shard is None or int(shard[1]) >= int(shard[2]):
        parser.error(f"argument --shard: expected i/n with 0 <= i < n, got {given.shard}")
    known = sorted(transformers.CONFIG_MAPPING)
    strange = [name for name in given.type or () if name not in known]
    if strange:
        parser.error(f"transformers {transformers.__version__} has no model type {strange[0]!r}")
    transformers.logging.set_verbosity_error()
    print("| type | own weights | contradictions | changes that are named | changes that are not |")
    print("| --- | --- | --- | --- | --- |")
    seen = []
    for model_type in (given.type or known)[int(shard[1]) :: int(shard[2])]:
        seen.append(judge(model_type))
        print(_row(seen[-1]), flush=True)
    counts = [f"{sum(of.verdict == name for of in seen)} {name}" for name in sorted({of.verdict for of in seen})]
    named, missed = (sum(len(getattr(of, name)) for of in seen) for name in ("named", "missed"))
    print(f"\n{', '.join(counts)}; {named} of {named + missed} changes named; transformers {transformers.__version__}.")
    return 1 if any(of.verdict == "contradicts" for of in seen) else 0


if __name__ == "__main__":
    sys.exit(main())
