"""python -m posenc.conformance.sweep: sixty types, the page that has what it prints of all, and that it can fail."""

import dataclasses
import functools
import json
import os
import pathlib
import types

import posenc
import pytest
import torch
import transformers
from posenc.conformance import (
    sweep,
    sweep_described,
    sweep_layer,
    sweep_steps,
    sweep_table,
    sweep_type,
    sweep_varied,
)
from posenc.conformance import verdicts as families
from posenc.conformance.sweep_sample import SAMPLE

PAGE = pathlib.Path(os.environ["POSENC_SOURCE_DIR"]) / "docs/conformance-sweep.md"


@functools.cache
def judged(model_type):
    return [(sweep_table.row(verdict), verdict.verdict) for verdict in sweep_table.verdicts(model_type)]


def test_the_sample_is_of_sixty_types():
    assert len(set(SAMPLE)) == len(SAMPLE) == 60
    assert set(SAMPLE) <= set(transformers.CONFIG_MAPPING)


@pytest.mark.parametrize("model_type", SAMPLE)
def test_the_page_has_what_is_printed_of_the_sample(model_type):
    lines = PAGE.read_text().splitlines()
    for row, verdict in judged(model_type):
        assert verdict != "wrong", row
        assert row in lines


# The plan of LFM 3 needs the list of layers that its class makes by itself.
@pytest.mark.parametrize("model_type", ["llama", "lfm3"])
def test_types_have_variations(model_type):
    titles = [title for title, _ in sweep_varied.variations(model_type)]
    assert f"{model_type}, head_dim: 32" in titles


def test_the_page_has_every_type_once():
    text = PAGE.read_text()
    missing = [of for of in sweep_table.all_types() if text.count(f"| `{of}` |") != 1]
    assert not missing


def test_what_is_left_out_has_a_reason():
    types = sweep_table.all_types()
    assert sweep_table.left_out()
    assert list(sweep_table.left_out()) == sorted(sweep_table.left_out())
    for model_type, why in sweep_table.left_out().items():
        assert model_type in types and len(why) > 10
    assert not set(sweep_table.left_out()) & set(SAMPLE)


# ---- a plan that is wrong on purpose ----


def with_ropes(change):
    return lambda plan: families._with_ropes(plan, change)


def with_layers(change):
    return lambda plan: families.with_layers(plan, change)


def one_more(window):
    return window.replace(past=window.past + 1)


def longer_window(layer):
    mask = layer.mask
    return layer if mask.window is None else layer.replace(mask=mask.replace(window=one_more(mask.window)))


def half_rotated(rope):
    return rope.replace(dim=rope.dim // 2)


def of_last_layer(change):
    def changed(plan):
        last = plan.stacks[0].layers[-1].index
        return families.with_layers(plan, lambda layer: change(layer) if layer.index == last else layer)

    return changed


def without_sampling(plan):
    def attending(layers):
        return tuple(layer for layer in layers if layer.kind != "deformable_attention")

    return plan.replace(stacks=tuple(of.replace(layers=attending(of.layers)) for of in plan.stacks))


def with_terms(change):
    return with_layers(lambda layer: layer.replace(score=tuple(change(term) for term in layer.score)))


SPOILED = {
    ("llama", "base doubled"): (with_ropes(lambda rope: rope.replace(base=2 * rope.base)), "rotation"),
    ("llama", "base a thousandth larger"): (with_ropes(lambda rope: rope.replace(base=1.001 * rope.base)), "rotation"),
    ("llama", "pairing swapped"): (with_ropes(families.swapped), "rotation"),
    ("llama", "sense reversed"): (with_ropes(families.reversed_sense), "rotation"),
    ("llama", "half of the channels"): (with_ropes(half_rotated), "rotation"),
    ("llama", "no rotation in the last layer"): (of_last_layer(lambda layer: layer.replace(rotate=())), "rotation"),
    ("llama", "scale"): (
        with_layers(lambda layer: layer.replace(softmax_scale=1.01 * layer.softmax_scale)),
        "softmax_scale",
    ),
    ("llama", "heads"): (with_layers(lambda layer: layer.replace(kv_heads=layer.kv_heads // 2)), "kv_heads"),
    ("llama", "a layer less"): (
        lambda plan: plan.replace(stacks=tuple(of.replace(layers=of.layers[:-1]) for of in plan.stacks)),
        "layers",
    ),
    ("llama", "bidirectional"): (
        with_layers(lambda of: of.replace(mask=of.mask.replace(kind="bidirectional"))),
        "mask",
    ),
    ("deepseek_v3", "pairing swapped"): (with_ropes(families.swapped), "rotation"),
    ("gpt_oss", "window one longer"): (with_layers(longer_window), "mask"),
    ("gpt_oss", "no YaRN"): (with_ropes(lambda rope: rope.replace(scaling=None)), "rotation"),
    ("gpt_oss", "no sinks"): (with_layers(lambda layer: layer.replace(sinks=False)), "sinks"),
    ("gemma2", "no soft cap"): (with_layers(lambda layer: layer.replace(soft_cap=None)), "scores"),
    ("bloom", "slopes halved"): (with_terms(lambda term: term.replace(max_bias=term.max_bias / 2)), "scores"),
    ("bert", "scale"): (
        with_layers(lambda layer: layer.replace(softmax_scale=1.01 * layer.softmax_scale)),
        "softmax_scale",
    ),
    ("t5", "half the buckets"): (with_terms(lambda term: term.replace(buckets=term.buckets // 2)), "bias"),
    ("t5", "distances"): (with_terms(lambda term: term.replace(max_distance=term.max_distance // 2)), "bias"),
    ("swin", "windows a row less"): (with_terms(lambda term: term.replace(rows=term.rows - 1)), "bias"),
    ("swin", "windows on their side"): (with_terms(lambda term: term.replace(rows=7 * 7, columns=1)), "bias"),
    ("segformer", "scale"): (
        with_layers(lambda layer: layer.replace(softmax_scale=1.01 * layer.softmax_scale)),
        "softmax_scale",
    ),
    ("eomt", "scale"): (with_layers(lambda layer: layer.replace(softmax_scale=1.01 * layer.softmax_scale)), "scale"),
    ("detr", "nothing added"): (with_layers(lambda layer: layer.replace(added=())), "added"),
    ("detr", "nothing added to keys"): (
        with_layers(lambda layer: layer.replace(added=tuple(of for of in layer.added if of.to != "keys"))),
        "added",
    ),
    ("deformable_detr", "no layer that samples"): (without_sampling, "deformable attention"),
    ("pvt", "a stage less"): (lambda plan: plan.replace(stacks=plan.stacks[:-1]), "layers"),
}

# Of fewer layers than by default.
FEW: dict[str, dict[str, object]] = {
    "t5": {"num_layers": 2},
    "bloom": {"num_hidden_layers": 2, "n_layer": 2},
    "swin": {},
    "segformer": {},
    "pvt": {},
    "eomt": {"num_hidden_layers": 4, "num_blocks": 1},
    "detr": {"encoder_layers": 2, "decoder_layers": 2},
    "deformable_detr": {"encoder_layers": 2, "decoder_layers": 2},
}


@pytest.mark.parametrize("of", SPOILED, ids=" ".join)
def test_a_wrong_plan_is_seen(of):
    change, fact = SPOILED[of]
    keys = FEW.get(of[0], {"num_hidden_layers": 2})
    verdict = sweep_type.judge(of[0], keys)
    assert verdict.verdict == "right", verdict.facts
    verdict = sweep_type.judge(of[0], keys, change)
    assert verdict.verdict == "wrong"
    assert any(fact in what for what in verdict.facts), verdict.facts


# ---- what a class does whose plan is not known ----


@pytest.mark.parametrize(
    ("model_type", "keys", "said"),
    [
        ("gpt2", {"n_layer": 2}, "h.#.attn: 2 layers, 12 heads of 64, no rotation, causal, scores 0.125 q.k"),
        ("llama", {"num_hidden_layers": 2}, "causal, scores 0.088388 q.k"),
        ("gemma2", {"num_hidden_layers": 2}, "scores with more than q.k"),
    ],
)
def test_a_class_is_described(model_type, keys, said):
    (group,) = sweep_type.judge(model_type, keys).runs.groups
    assert said in sweep_described.described(group)


def test_a_window_is_left_to_the_cache_where_the_mask_is_causal_alone():
    model = torch.nn.Module()
    model.config = transformers.MistralConfig(sliding_window=3, num_hidden_layers=1)

    def leaves(mask):
        event = types.SimpleNamespace(scores=torch.where(mask, 0.0, -torch.inf)[None, None])
        return sweep_steps.leaves_window_to_cache(model, [event])

    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    assert leaves(causal) and not leaves(causal.triu(-2)) and not leaves(causal[:, :5]) and not leaves(causal | causal.T)
    model.config.sliding_window = None
    assert not leaves(causal)


# ---- one key at a time ----


@pytest.mark.parametrize("model_type", ["llama", "gpt_neox", "smollm3", "vit"])
def test_no_key_is_misread(model_type):
    varied = list(sweep_table.varied(model_type))
    assert {verdict.verdict for verdict in varied} >= {"right"}
    assert [sweep_table.row(verdict) for verdict in varied if verdict.verdict == "wrong"] == []


def test_a_key_that_is_misread_is_seen(monkeypatch, capsys):
    judge = sweep_type.judge

    def misread(model_type, keys):
        return judge(model_type, keys, with_ropes(lambda rope: rope.replace(base=1e4)))

    monkeypatch.setattr(sweep_type, "judge", misread)
    assert sweep.main(["--vary", "--type", "llama"]) == 1
    rows = [line for line in capsys.readouterr().out.splitlines() if "| wrong |" in line]
    assert [row for row in rows if row.startswith("| `llama, rope_theta: 99.0` |")]


def test_a_file_that_is_read_otherwise_than_its_class_is_seen(monkeypatch):
    read_plan = posenc.read_plan

    def misread(model):
        plan = read_plan(model)
        return with_ropes(lambda rope: rope.replace(base=2 * rope.base))(plan) if isinstance(model, dict) else plan

    monkeypatch.setattr(posenc, "read_plan", misread)
    (verdict,) = [of for of in sweep_table.varied("llama") if of.title == "llama, rope_theta: 99.0"]
    assert verdict.verdict == "wrong" and "of a file" in verdict.facts[0]


LINEAR = {"rope_type": "linear", "factor": 3.0}


# Of each the plan or the judge was wrong.
@pytest.mark.parametrize(
    ("model_type", "keys", "verdict"),
    [
        ("blt_local_encoder", {"sliding_window": 8}, "right"),
        ("deepseek_v4", {"num_hidden_layers": 4, "rope_scaling": LINEAR}, "right"),
        ("inkling_text", {"num_hidden_layers": 2, "layer_types": ["full_attention", "sliding_attention"]}, "unknown"),
        ("moonshine", {"decoder_num_key_value_heads": 1}, "unknown"),
        ("nemotron_asr_streaming_encoder", {"num_hidden_layers": 2, "num_key_value_heads": 1}, "right"),
    ],
)
def test_keys_that_were_misread(model_type, keys, verdict):
    judged = sweep_varied.judge(model_type, keys)
    assert (judged.verdict, judged.facts if verdict == "right" else []) == (verdict, [])


def test_hidden_states_that_are_no_numbers_prove_nothing():
    verdict = sweep_type.judge("llama", {"num_hidden_layers": 1})
    (layer,), ((event,),) = verdict.plan.stacks[0].layers, (of.layers for of in verdict.runs.groups)
    setting = sweep_layer.Setting(text=True, length=None, permuted=False)
    assert sweep_layer.compare(layer, event, setting) == {}
    for name in ("q", "k"):
        broken = dataclasses.replace(event, **{name: getattr(event, name) * float("nan")})
        assert "not finite" in sweep_layer.compare(layer, broken, setting)["hidden states"]


# ---- the command ----


def test_a_table(capsys):
    assert sweep.main(["--type", "llama", "--type", "mamba"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == sweep_table.HEAD.splitlines()
    assert lines[2:4] == ["| `llama` | right |  |", "| `mamba` | no attention |  |"]
    assert lines[5] == f"1 right, 1 no attention; transformers {transformers.__version__}."


def test_json(capsys):
    assert sweep.main(["--json", "--type", "gpt2"]) == 0
    (gpt2,) = json.loads(capsys.readouterr().out)["types"]
    assert gpt2["model_type"] == gpt2["title"] == "gpt2" and gpt2["verdict"] == "right"
    assert gpt2["facts"] == [] and gpt2["class"] == "modeling_gpt2.GPT2Model"


def test_the_status_says_that_a_type_is_wrong(monkeypatch, capsys):
    judge = sweep_type.judge
    change = with_ropes(families.swapped)
    monkeypatch.setattr(sweep_type, "judge", lambda of, keys: judge(of, keys, change))
    assert sweep.main(["--type", "llama"]) == 1
    assert "| `llama` | wrong | decoder 0-31: rotation: " in capsys.readouterr().out


def test_shards_are_all_types():
    types = [of for shard in range(3) for of in sweep_table._chosen(None, False, (shard, 3))]
    assert sorted(types) == sweep_table.all_types()


@pytest.mark.parametrize("shard", ["3/3", "1", "a/b", "-1/2"])
def test_a_shard_that_is_none(shard, capsys):
    with pytest.raises(SystemExit):
        sweep.main([f"--shard={shard}"])
    assert "expected i/n with 0 <= i < n" in capsys.readouterr().err


def test_an_unknown_type_is_named(capsys):
    assert sweep.main(["--type", "lama"]) == 2
    assert "has no model type 'lama'" in capsys.readouterr().err
