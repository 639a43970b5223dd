"""posenc.vectors and posenc.check_port: arrays, files and words. What is found is judged by tests/vectors."""

import json
import pickle
import sys

import numpy as np
import pytest

import posenc


@pytest.fixture(scope="module")
def golden():
    return posenc.vectors("llama-3.1-8b")


def rotated(x, golden, base=None):
    """In float32, half-split, by the vectors' own frequencies or by a base."""
    half = x.shape[-1] // 2
    inv_freq = np.asarray(golden["inv_freq"]) if base is None else base ** (-np.arange(half) / half)
    angles = (np.asarray(golden["positions"])[:, None] * inv_freq)[:, None]
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[..., :half], x[..., half:]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1).astype(np.float32)


def attended(golden, scale):
    """In float64, causal, KV heads repeated for neighbours."""
    q, k = (rotated(np.asarray(golden[name]), golden).astype(np.float64) for name in "qk")
    group = q.shape[1] // k.shape[1]
    k, v = (np.repeat(x, group, axis=1) for x in (k, np.asarray(golden["v"])))
    scores = np.einsum("ihd,jhd->hij", q, k) * scale
    scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hij,jhd->ihd", weights / weights.sum(-1, keepdims=True), v)


def test_what_vectors_hold(golden):
    assert (golden.stack, golden.layer.index, golden.plan_heads, golden.layer.heads) == ("decoder", 0, 32, 8)
    names = [tensor.name for tensor in golden.tensors]
    assert names == [*"qkv", "positions", "inv_freq", "cos", "sin", "q_rotated", "k_rotated", "scores", "mask", "out"]
    assert np.asarray(golden["q"]).shape == (12, 8, 128)
    assert [bounds.dtype for bounds in golden.bounds] == ["f32", "bf16", "f16"]
    assert golden == posenc.vectors(posenc.read_plan("llama-3.1-8b"))
    assert pickle.loads(pickle.dumps(golden)) == golden
    assert "llama3" in golden.describe()
    with pytest.raises(KeyError):
        golden["sinks"]


def test_a_right_port(golden):
    made = {name + "_rotated": rotated(np.asarray(golden[name]), golden) for name in "qk"}
    check = posenc.check_port(golden, {**made, "out": attended(golden, 128**-0.5).astype(np.float32)})
    assert check.passes, check.describe()
    assert json.loads(check.to_json())["passes"] is True
    by_heads = made["q_rotated"].transpose(1, 0, 2)[None]
    assert posenc.check_port(golden, {"q_rotated": by_heads}).tensors[0].layout == "heads, tokens, head_dim"


def test_a_wrong_rotation(golden):
    check = posenc.check_port(golden, {"q_rotated": rotated(np.asarray(golden["q"]), golden, base=10000.0)})
    assert (check.passes, check.first_failure, check.diagnosed) == (False, "q_rotated", "q")
    assert check.diagnosis.verdict == "differs"
    assert check.describe().startswith("fails: q_rotated")
    assert posenc.check_port(golden, {"q_rotated": golden["q"]}, diagnose=False).diagnosis is None


def test_a_wrong_scale(golden):
    check = posenc.check_port(golden, {"out": attended(golden, 1.0)})
    assert not check.passes
    assert [finding.fact for finding in check.findings] == ["scale"]


def test_files(golden, tmp_path):
    for form in ("npy", "safetensors", "json", "c", "rust", "python"):
        place = tmp_path / form
        written = posenc.write_vectors(golden, place, format=form)
        files = posenc.vector_files(golden, format=form)
        assert {path.name: path.read_bytes() for path in place.iterdir()} == files
        assert written == sum(map(len, files.values()))
        assert posenc.read_vectors(place) == golden
    with pytest.raises(posenc.FileError, match="empty directory"):
        posenc.write_vectors(golden, tmp_path / "npy")
    with pytest.raises(ValueError, match="go with the format"):
        posenc.vector_files(golden, format="npy", test="cargo")
    assert posenc.check_port(tmp_path / "npy", {"out": golden["out"]}).passes


def test_files_by_independent_readers(golden, tmp_path):
    for form in ("npy", "json", "python", "safetensors"):
        posenc.write_vectors(golden, tmp_path / form, format=form)
    manifest = json.loads((tmp_path / "json" / "vectors.json").read_text())
    sys.path.insert(0, str(tmp_path / "python"))
    try:
        import vectors as module
    finally:
        sys.path.pop(0)
        sys.modules.pop("vectors", None)
    load_file = pytest.importorskip("safetensors.numpy").load_file
    loaded = load_file(tmp_path / "safetensors" / "vectors.safetensors")
    assert set(loaded) == {tensor.name for tensor in golden.tensors}
    for tensor in golden.tensors:
        expected = np.asarray(golden[tensor.name])
        kind = np.int64 if tensor.is_whole else np.float64
        array = np.load(tmp_path / "npy" / f"{tensor.name}.npy")
        assert array.dtype == kind and loaded[tensor.name].dtype == kind
        of = manifest["tensors"][tensor.name]
        values = np.array([-np.inf if x is None else x for x in of["values"]], float).reshape(of["shape"])
        shape, numbers = module.TENSORS[tensor.name]
        for found in (array, loaded[tensor.name], values, np.array(numbers, float).reshape(shape)):
            assert np.array_equal(found, expected), tensor.name


def test_what_is_refused(golden):
    with pytest.raises(ValueError, match="layers differ"):
        posenc.vectors("gemma-2-9b")
    with pytest.raises(ValueError, match="tokens must be from 1 to 256"):
        posenc.vectors("llama-2-7b", tokens=1000)
    with pytest.raises(ValueError, match="dtype must be one of"):
        posenc.check_port(golden, {"out": golden["out"]}, dtype="int8")
    with pytest.raises(ValueError, match="have shape"):
        posenc.check_port(golden, {"out": np.zeros((3, 3))})


def test_vectors_of_inputs_judge_a_port():
    """Of q, k and v that a port was run on, at positions of its own."""
    np = pytest.importorskip("numpy")
    plan = posenc.read_plan("llama-3.1-8b")
    layer, positions = plan.stacks[0].layers[0], [3, 4, 5, 9, 10, 11]
    draw = np.random.default_rng(0).standard_normal
    q, k, v = (draw((6, heads, 128)).astype("f") for heads in (32, 8, 8))
    golden = posenc.vectors(plan, layer=0, inputs={"q": q, "k": k, "v": v, "positions": np.array(positions)})
    table = posenc.make_table(layer.rotate[0].rope, count=16)
    at = np.array(positions)
    right = {"q_rotated": posenc.rotate(q, table=table, positions=at)}
    right["out"] = posenc.attend(layer, q, k, v, q_positions=at, k_positions=at)
    found = posenc.check_port(golden, right)
    assert found.passes and all(0.001 < one.over_bound < 1 for one in found.tensors)
    wrong = posenc.check_port(golden, {"q_rotated": posenc.rotate(q, table=table, positions=3)})
    assert not wrong.passes and wrong.first_failure == "q_rotated"
    alone = posenc.vectors(plan, layer=0, start=3, inputs={"k": k})
    assert posenc.check_port(alone, {"k_rotated": posenc.rotate(k, table=table, positions=3)}).passes


@pytest.mark.parametrize(
    "inputs, more, error, words",
    [
        ({}, {}, ValueError, "inputs.q must be given, or k but is omitted"),
        ({"q": (6, 32, 128), "k": (3, 8, 128)}, {}, ValueError, r"inputs.k must have shape \[6, 8, 128\] but is \[3, 8, 128\]"),
        ({"q": (6, 32, 128)}, {"tokens": 6}, ValueError, "tokens must be omitted with inputs"),
        ({"q": (6, 32, 128), "positions": [0.5] * 6}, {}, TypeError, "positions must be whole numbers but has 0.5"),
        ({"q": (6, 32, 128), "positions": "0"}, {}, TypeError, "positions must be a list or an array"),
        ({"q": (6, 32, 128), "positions": [1, 2]}, {}, ValueError, "inputs.positions must have 6 elements"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(inputs, more, error, words):
    np = pytest.importorskip("numpy")
    made = {name: np.ones(of, "f") if isinstance(of, tuple) else of for name, of in inputs.items()}
    with pytest.raises(error, match=words):
        posenc.vectors("llama-3.1-8b", layer=0, inputs=made, **more)
