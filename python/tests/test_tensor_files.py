"""Files of tensors, against NumPy's own reader and writer, and a header written by hand."""

import json
import os
import signal
import struct

import ml_dtypes
import numpy as np
import pytest

import posenc


def random(shape, dtype=np.float32, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def address(x):
    return x.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int8, np.uint64, np.bool_, np.complex64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_npy_is_read_as_numpy_does(tmp_path, dtype, order):
    path = tmp_path / "x.npy"
    x = np.asarray(random((3, 4, 5)) * 10).astype(dtype, order=order)
    np.save(path, x)
    for access in ("read", "map"):
        data = posenc.open_tensor_file(path, access=access).read(0)
        y = np.asarray(data)
        assert y.dtype == x.dtype and np.array_equal(y, x) and data.shape == (3, 4, 5)
        assert data.owned == (access == "read") == y.flags.writeable
        assert address(np.asarray(data)) == address(y)  # where it lies


def test_npy_is_written_as_numpy_does(tmp_path):
    for x in (random((3, 4)), random(5, np.float16), random((2, 3, 4), np.float64).transpose(2, 0, 1)):
        ours, theirs = tmp_path / "ours.npy", tmp_path / "theirs.npy"
        assert posenc.write_npy(ours, x, replace=True) == ours.stat().st_size
        np.save(theirs, np.ascontiguousarray(x))
        assert np.array_equal(np.load(ours), x)
        assert np.array_equal(np.asarray(posenc.read_tensor(theirs)), x)
    brain = random((3, 2), ml_dtypes.bfloat16)
    posenc.write_npy(tmp_path / "brain.npy", brain)
    read = posenc.read_tensor(tmp_path / "brain.npy", raw16_is_bf16=True)
    assert read.type == "bf16" and np.array_equal(np.asarray(read), brain)
    with pytest.raises(ValueError, match=r"\[write_npy\] tensor must be of float32, .* but is bool"):
        posenc.write_npy(tmp_path / "mask.npy", np.ones(3, bool))


def test_safetensors(tmp_path):
    path = tmp_path / "x.safetensors"
    tensors = {"b": random((2, 3)), "a": random(4, ml_dtypes.bfloat16), "c": random((5, 1), np.float16)}
    posenc.write_safetensors(path, tensors, metadata={"format": "pt"})
    blob = path.read_bytes()
    header = json.loads(blob[8 : 8 + struct.unpack("<Q", blob[:8])[0]])
    assert header["a"] == {"dtype": "BF16", "shape": [4], "data_offsets": header["a"]["data_offsets"]}
    for file in (posenc.open_tensor_file(path), posenc.open_tensor_file(blob, name="memory")):
        assert file.format == "safetensors" and file.metadata == {"format": "pt"} and file.warnings == ()
        assert {entry.name for entry in file.tensors} == set(tensors)
        for name, x in tensors.items():
            assert np.array_equal(np.asarray(file.read(name)), x)
            assert file.find(name).shape == x.shape
        assert file.find("d") is None
        with pytest.raises(posenc.FileError, match="'d'|d") as caught:
            file.read("d")
        assert caught.value.kind == "missing_key"
    assert file.file_of(file.tensors[0]) == "memory"


def test_data_outlives_its_file(tmp_path):
    x = random((300, 4))
    posenc.write_npy(tmp_path / "x.npy", x)
    mapped = np.asarray(posenc.open_tensor_file(tmp_path / "x.npy", access="map").read(0))
    in_bytes = np.asarray(posenc.open_tensor_file((tmp_path / "x.npy").read_bytes()).read(0))
    assert np.array_equal(mapped, x) and np.array_equal(in_bytes, x)


def test_the_library_takes_what_it_read(tmp_path):
    q = random((5, 2, 8))
    table = posenc.make_table(posenc.Rope(pairing="half", head_dim=8, dim=8), count=8)
    posenc.write_npy(tmp_path / "q.npy", q)
    data = posenc.read_tensor(tmp_path / "q.npy")
    assert posenc._posenc._address(data) == address(np.asarray(data))
    rotated = posenc.rotate(data, table=table)
    assert type(rotated) is memoryview and np.array_equal(np.asarray(rotated), posenc.rotate(q, table=table))


def test_files_are_whole_or_not_there(tmp_path):
    path = tmp_path / "x.npy"
    posenc.write_npy(path, random(3))
    before = path.read_bytes()
    with pytest.raises(posenc.FileError) as caught:
        posenc.write_npy(path, random(4))
    assert caught.value.kind == "output_exists" and path.read_bytes() == before
    large = np.zeros(2**23, np.float32)  # 32 MiB: asked at least twice
    seen = []
    assert posenc.write_npy(path, large, replace=True, progress=seen.append) == path.stat().st_size
    assert len(seen) >= 2 and seen == sorted(seen)

    def stop(_):
        raise RuntimeError("enough")

    def interrupt(_):
        os.kill(os.getpid(), signal.SIGINT)

    before = path.read_bytes()
    for progress, error in ((stop, RuntimeError), (interrupt, KeyboardInterrupt)):
        with pytest.raises(error):
            posenc.write_npy(path, large, replace=True, progress=progress)
        assert path.read_bytes() == before and [p.name for p in tmp_path.iterdir()] == ["x.npy"]
    assert posenc.write_file(tmp_path / "words", b"abc") == 3 and (tmp_path / "words").read_bytes() == b"abc"


def test_what_is_wrong_is_said(tmp_path):
    with pytest.raises(posenc.FileError, match="no.npy"):
        posenc.open_tensor_file(tmp_path / "no.npy")
    with pytest.raises(posenc.FileError) as caught:
        posenc.open_tensor_file(b"\x93NUMPY\x01\x00", name="short.npy")
    assert caught.value.file == "short.npy"
    with pytest.raises(ValueError, match="format must be one of 'npy', 'safetensors', 'gguf', 'llama2c', 'npz'"):
        posenc.open_tensor_file(b"", format="zip")
    with pytest.raises(TypeError):
        posenc.open_tensor_file(7)


def test_another_dtype_is_a_copy(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(4, dtype=np.float32))
    data = posenc.read_tensor(tmp_path / "x.npy")
    own = data.__array__(copy=False)
    assert address(own) == address(data.__array__()) == address(data.__array__(np.float32, copy=False))
    for copy in (None, True):
        converted = data.__array__(np.float64, copy=copy)
        assert converted.dtype == np.float64 and converted.tolist() == own.tolist()
    with pytest.raises(ValueError, match="copy must be None or True for another dtype than its own but is False"):
        data.__array__(np.float64, copy=False)
    assert address(data.__array__(copy=True)) != address(own)
