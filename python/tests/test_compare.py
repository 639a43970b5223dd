"""Two plans side by side."""

import json
import pickle

import pytest

import posenc


def test_compare():
    plan = posenc.preset_plan("llama-3.1-8b")
    same = posenc.compare(plan, plan)
    assert same.verdict == "same" and not same.differences
    other = plan.replace(length=131072)
    assert posenc.compare(plan, other).length == 131072
    layer = plan.stacks[0].layers[0]
    rotate = layer.rotate[0]
    swapped = rotate.replace(scheme=rotate.rope.replace(pairing="interleaved"))
    layers = [one.replace(rotate=[swapped]) for one in plan.stacks[0].layers]
    found = posenc.compare(plan, plan.replace(stacks=[plan.stacks[0].replace(layers=layers)]))
    assert found.verdict == "same_but_pairing"
    assert [d.field for d in found.differences] == ["rotate/0/pairing"]
    assert found.cached_keys[0].use == "reordered" and found.pairings[0].rows[1] == 64
    assert found.describe().splitlines() and json.loads(found.to_json())["verdict"]
    assert pickle.loads(pickle.dumps(found)) == found
    with pytest.raises(ValueError, match="tolerance"):
        posenc.compare(plan, plan, tolerance=-1.0)


def test_layer_runs():
    runs = posenc.layer_runs(posenc.preset_plan("llama-3.1-8b").stacks[0])
    assert len(runs) == 1 and runs[0].blocks == tuple(range(32)) and runs[0].selection() == "0-31"


def test_whatever_names_a_model_is_compared():
    names = ("llama-3.1-8b", "qwen2-7b")
    plans = [posenc.read_plan(name) for name in names]
    assert posenc.compare(*names) == posenc.compare(*plans) == posenc.compare(names[0], plans[1])
    assert posenc.compare(*names, tolerance=0.001) == posenc.compare(*names) != posenc.compare(*names, tolerance=4.0)
    with pytest.raises(posenc.FileError, match="did you mean the preset llama-3.1-8b?"):
        posenc.compare(names[0], "llama-3.1-8")
