"""A plan with facts set by words."""

import json

import pytest

import posenc


def test_override():
    plan = posenc.preset_plan("qwen3-8b")
    long = posenc.override(plan, "rope_scaling=yarn,factor=4,original=32768", "base=2e6")
    rope = long.stacks[0].layers[35].rotate[0].rope
    assert rope.base == 2e6
    assert rope.scaling == posenc.YarnScaling(factor=4.0, original_max_position_embeddings=32768)
    assert "set: base=2e6" in [source.from_ for source in long.sources]
    assert posenc.override(plan) == plan
    assert posenc.override("qwen3-8b", "base=2e6") == posenc.override(plan, "base=2e6")
    assert posenc.compare(plan, long).verdict == "differ"


@pytest.mark.parametrize(
    "words, told",
    [
        ("bsae=1", "did you mean base?"),
        ("base=nan", "finite number"),
        ("window=none", "without effect: none has a window"),
        ("base=1\0", "control characters"),
        ("base=-1", "at least 1"),
        ("x" * 100000, "WORD=VALUE"),
    ],
)
def test_what_it_refuses(words, told):
    with pytest.raises(ValueError, match="override_plan") as raised:
        posenc.override("qwen3-8b", words)
    assert told in str(raised.value) and len(str(raised.value)) < 1000


def test_a_setting_is_a_text():
    with pytest.raises(TypeError):
        posenc.override("qwen3-8b", 5)


# A patch of steps "add" and "remove", as RFC 6902 has them.
def apply(config, patch):
    config = json.loads(json.dumps(config))
    for step in json.loads(patch):
        *parents, last = step["path"].split("/")[1:]
        at = config
        for parent in parents:
            at = at[parent]
        if step["op"] == "add":
            at[last] = step["value"]
        else:
            del at[last]
    return config


CONFIG = {
    "model_type": "llama",
    "hidden_size": 256,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
}


@pytest.mark.parametrize("words", ["base=5e5", "rope_scaling=yarn,factor=4", "kv_heads=2", "base=7,factor=3"])
@pytest.mark.parametrize("scaling", [None, {"rope_type": "linear", "factor": 2.0}])
def test_patches_read_back(words, scaling):
    config = dict(CONFIG) if scaling is None else {**CONFIG, "rope_scaling": scaling}
    if "factor=3" in words and scaling is None:
        words = "base=7"
    wanted = posenc.override(config, words)
    patches = posenc.override_patches(config, words)
    assert [patch.form for patch in patches] == ["hugging_face_old", "hugging_face_new", "llama_cpp", "vllm"]
    for patch in patches[:2]:
        assert patch.unsaid == ()
        got = posenc.read_plan(apply(config, patch.text))
        assert got.stacks == wanted.stacks and got.trained_length == wanted.trained_length


def test_patches_of_whatever_names_a_model(tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(CONFIG))
    by_dict = posenc.override_patches(CONFIG, "base=7")
    plan = posenc.read_plan(CONFIG)
    assert by_dict == posenc.override_patches(file, "base=7") == posenc.override_patches(plan, "base=7", config=CONFIG)
    assert by_dict == posenc.override_patches(plan, "base=7", config=json.dumps(CONFIG))
    assert by_dict == posenc.override_patches(json.dumps(CONFIG).encode(), "base=7")
    # Without the config a patch is not tried, and says so.
    assert "not tried" in posenc.override_patches(plan, "base=7")[0].unsaid[0]
    assert posenc.override_patches("llama-2-7b", "base=7")[0].unsaid == ()
    with pytest.raises(ValueError, match="config_json must be what the plan was read from"):
        posenc.override_patches(plan, "base=7", config={**CONFIG, "rope_theta": 5.0})
    with pytest.raises(ValueError, match="config_json must be the text of a JSON object"):
        posenc.override_patches(plan, "base=7", config="[")


def test_a_config_is_that_of_the_model(tmp_path):
    """A file, its folder, its bytes, and a configuration of transformers: patches are tried on what it says."""
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))

    class Config:
        def to_dict(self):
            return CONFIG

    wanted = [patch.text for patch in posenc.override_patches(CONFIG, "base=7")]
    for model in (tmp_path, str(tmp_path / "config.json"), json.dumps(CONFIG).encode(), Config()):
        patches = posenc.override_patches(model, "base=7")
        assert [patch.text for patch in patches] == wanted
        assert patches[0].unsaid == ()


def test_what_a_saved_plan_was_read_from_is_not_opened(tmp_path):
    """Its source is a text of the file, and may name any other."""
    saved = json.loads(posenc.read_plan(CONFIG).to_json())
    saved["source"] = {"kind": "config.json", "name": "/dev/zero"}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(saved))
    assert "not tried" in posenc.override_patches(path, "base=7")[0].unsaid[0]
