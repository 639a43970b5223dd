"""posenc.convert: paths, models, reports and errors. Which rows move is judged by tests/convert."""

import json
import pathlib
import pickle

import numpy as np
import pytest

import posenc

LLAMA = {
    "model_type": "llama",
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 1,
    "max_position_embeddings": 64,
}
AT = "model.layers.0.self_attn."


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA))
    random = np.random.default_rng(1)
    posenc.write_safetensors(
        folder / "model.safetensors",
        {
            AT + f"{name}_proj.weight": random.standard_normal((rows, 32)).astype(np.float32)
            for name, rows in (("q", 32), ("k", 16), ("v", 16))
        },
    )
    return folder


def weights(folder, name):
    return np.array(posenc.read_tensor(folder / "model.safetensors", AT + name + "_proj.weight"))


def permuted(w, heads):
    """As llama.cpp's converters have it."""
    return w.reshape(heads, 2, w.shape[0] // heads // 2, *w.shape[1:]).swapaxes(1, 2).reshape(w.shape)


def test_there_and_back(model, tmp_path):
    done = posenc.convert(model, tmp_path / "out", to="interleaved")
    assert (done.from_, done.to, len(done.tensors), done.copied, done.checked_heads) == ("half", "interleaved", 2, 1, 3)
    assert done.score_difference < 1e-15
    assert np.array_equal(weights(tmp_path / "out", "q"), permuted(weights(model, "q"), 4))
    assert np.array_equal(weights(tmp_path / "out", "k"), permuted(weights(model, "k"), 2))
    assert np.array_equal(weights(tmp_path / "out", "v"), weights(model, "v"))
    posenc.convert(str(tmp_path / "out"), str(tmp_path / "back"), to="half", from_="interleaved")
    same = "model.safetensors"
    assert (tmp_path / "back" / same).read_bytes() == (model / same).read_bytes()


def test_a_dry_run_is_a_report(model):
    done = posenc.convert(model, to="interleaved")
    assert done.checked_heads == 0
    assert sorted(one.part for one in done.tensors) == ["keys", "queries"]
    assert "2 tensors change their rows" in done.describe()
    assert json.loads(done.to_json())["tensors"][0]["dim"] == 8
    assert pickle.loads(pickle.dumps(done)) == done


def test_models_and_plans(model, tmp_path):
    (model / "config.json").unlink()
    with pytest.raises(posenc.FileError, match="config.json"):
        posenc.convert(model, to="interleaved")
    for of in (LLAMA, posenc.read_plan(LLAMA)):
        assert posenc.convert(model, to="interleaved", model=of).stack == "decoder"


def test_what_is_refused(model, tmp_path):
    with pytest.raises(ValueError, match="what the plan has"):
        posenc.convert(model, tmp_path / "out", to="half")
    with pytest.raises(ValueError, match="to must be"):
        posenc.convert(model, tmp_path / "out", to="neox")
    with pytest.raises(ValueError, match="stack must be"):
        posenc.convert(model, tmp_path / "out", to="interleaved", stack="vision")
    with pytest.raises(posenc.FileError, match="save_file"):
        pickled = tmp_path / "pytorch_model.bin"
        pickled.write_bytes(b"PK")
        posenc.convert(pickled, tmp_path / "out", to="interleaved")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    with pytest.raises(posenc.FileError, match="a name that is free"):
        posenc.convert(model, tmp_path / "out", to="interleaved")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "out", "pytorch_model.bin"]


def test_progress_that_raises_leaves_what_can_be_gone_on_with(model, tmp_path):
    seen = []

    def stop(stage, done, all_):
        seen.append((stage, done, all_))
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        posenc.convert(model, tmp_path / "out", to="interleaved", progress=stop)
    assert len(seen) == 1 and seen[0][0] == "copying" and seen[0][1] <= seen[0][2]
    assert not (tmp_path / "out").exists()
    assert pathlib.Path(str(tmp_path / "out") + ".posenc-partial").exists()
    stages = []
    done = posenc.convert(model, tmp_path / "out", to="interleaved", progress=lambda stage, *_: stages.append(stage))
    assert done.found_bytes > 0
    assert stages[-1] == "checking"
