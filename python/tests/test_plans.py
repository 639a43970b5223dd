"""Whatever names a model, to its plan."""

import json
import pickle

import pytest

import posenc

LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "rope_theta": 10000.0,
    "max_position_embeddings": 2048,
}


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    return path


class Config:
    """As transformers has them."""

    def to_dict(self):
        return {**LLAMA, "dtype": complex}


def same_but_source(plan, other):
    return plan.replace(source=posenc.PlanSource()) == other.replace(source=posenc.PlanSource())


def test_all_kinds_of_arguments(config):
    plan = posenc.read_plan(config)
    assert plan == posenc.read_plan(str(config)) and plan.source.kind == "config.json"
    assert same_but_source(plan, posenc.read_plan(config.parent))
    assert same_but_source(plan, posenc.read_plan(config.read_bytes()))
    assert same_but_source(plan, posenc.read_plan(LLAMA))
    from_object = posenc.read_plan(Config())
    assert from_object.source.name == "Config" and from_object.stacks == plan.stacks
    assert posenc.read_plan("llama-3.1-8b") == posenc.preset_plan("llama-3.1-8b")
    assert posenc.read_plan(LLAMA, length=4096).length == 4096
    with pytest.raises(TypeError, match="model must be a path"):
        posenc.read_plan(17)


def test_what_a_plan_says(config):
    plan = posenc.read_plan(config)
    layer = plan.stacks[0].layers[1]
    assert plan.known and plan.family and len(plan.stacks[0].layers) == 2
    assert (layer.heads, layer.kv_heads, layer.head_dim, layer.mask.kind) == (4, 2, 16, "causal")
    assert layer.rotate[0].rope == posenc.Rope(pairing="half", head_dim=16, dim=16)
    assert layer.rotate[0].rope == layer.rotate[0].scheme
    assert "decoder" in plan.describe()
    assert plan.sources[0].from_


def test_round_trips(config):
    for plan in (posenc.read_plan(config), *(posenc.preset_plan(name) for name in posenc.presets()[:8])):
        assert posenc.plan_from_json(plan.to_json()) == plan
        assert pickle.loads(pickle.dumps(plan)) == plan
        assert hash(pickle.loads(pickle.dumps(plan))) == hash(plan)
        assert eval(repr(plan), vars(posenc)) == plan


def test_members_of_json_are_those_of_values():
    plan = posenc.preset_plan("llama-3.1-8b")
    parsed = json.loads(plan.to_json())
    for key in parsed:
        assert key in ("schema_version", "schema") or hasattr(plan, key), key
    layer = parsed["stacks"][0]["layers"][0]
    for key in layer:
        assert key in ("layers", "blocks", "count") or hasattr(plan.stacks[0].layers[0], key), key


def test_file_errors(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama",\n "rope_theta": }')
    with pytest.raises(posenc.FileError) as caught:
        posenc.read_plan(path)
    error = caught.value
    assert isinstance(error, ValueError)
    assert (error.kind, error.file, error.line, error.column) == ("json_syntax", str(path), 2, 16)
    assert str(error).startswith(f"{path}:2:16: ")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) and vars(copy) == vars(error)
    with pytest.raises(posenc.FileError, match="absent") as caught:
        posenc.read_plan(tmp_path / "absent.json")
    assert caught.value.kind == "io_open" and caught.value.line is None
    with pytest.raises(ValueError, match="llama-3.1-8b"):
        posenc.preset_plan("llama-3.1-8")


@pytest.mark.parametrize(
    "name, hint",
    [
        ("llama-3.1-8", "did you mean the preset llama-3.1-8b?"),
        ("meta-llama/Llama-3.1-8B", "nothing is fetched from a hub: .* did you mean the preset llama-3.1-8b"),
        ("nothing-like-it", "nor is there a preset of that name"),
    ],
)
def test_a_name_that_is_no_path_gets_a_hint(name, hint):
    with pytest.raises(posenc.FileError, match=hint) as caught:
        posenc.read_plan(name)
    assert caught.value.kind == "io_open" and caught.value.detail in str(caught.value)
