"""Files of tensors as NumPy, safetensors and gguf read and write them, against posenc, both ways, at random.

usage: tensor_oracles.py TENSOR_ECHO FORMAT [--runs N] [--seed N]     FORMAT: npy, npz, safetensors, gguf

Golden .npy files are compared, too, where POSENC_TEST_DATA or ../shared/data beside the checkout has them. Exits with 77, which CTest calls skipped, and names the packages where they are not there.
"""
import argparse
import ctypes
import importlib
import importlib.metadata
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SKIPPED = 77
NEEDS = {"npy": ["numpy"], "npz": ["numpy"], "safetensors": ["numpy", "safetensors"], "gguf": ["numpy", "gguf"]}


def modules_or_skip(names):
    missing = []
    for name in names:
        try:
            globals()[name] = importlib.import_module(name)
        except ImportError:
            missing.append(name)
    if missing:
        print(f"skipped: the comparison with other readers needs the Python package{'s' * (len(missing) > 1)} "
              f"{', '.join(missing)} (scripts/install_environment)")
        sys.exit(SKIPPED)


class Echo:
    """posenc's side."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments], capture_output=True, text=True, check=True)
        return json.loads(done.stdout) if done.stdout.strip() else None

    def tensors(self, path, *options):
        """{name: (type, shape, bytes in C order)}; posenc's error as a string."""
        said = self.run("list", path, self.folder, *options)
        if "error" in said:
            return said["error"], None
        out = {}
        for i, tensor in enumerate(said["tensors"]):
            file = self.folder / str(i)
            out[tensor["name"]] = (tensor["type"], tuple(tensor["shape"]),
                                   file.read_bytes() if file.exists() and "error" not in tensor else None)
            file.unlink(missing_ok=True)
        return out, said["metadata"]

    def write(self, kind, source, target, *options):
        error = self.run(kind, source, target, *options)
        assert error is None, error


def must(holds, *what):
    if not holds:
        sys.exit("not the same: " + " ".join(str(part)[:400] for part in what))


def random_shape(rng, most_axes, most=5):
    return tuple(rng.randrange(most) if rng.random() < 0.1 else 1 + rng.randrange(most)
                 for _ in range(rng.randrange(most_axes + 1)))


def random_array(rng, dtype, shape):
    """Any bits of that type, NaNs and all."""
    dtype = numpy.dtype(dtype)
    count = int(numpy.prod(shape, dtype=object)) if shape else 1
    raw = rng.randbytes(count * dtype.itemsize)
    if dtype.kind == "b":
        raw = bytes(byte & 1 for byte in raw)
    return numpy.frombuffer(raw, dtype=dtype).reshape(shape)


def in_c_order(array):
    return numpy.ascontiguousarray(array).astype(array.dtype.newbyteorder("="), copy=False).tobytes()


# ---- .npy ----

NPY_TYPES = {"?": "bool", "i1": "i8", "<i2": "i16", ">i2": "i16", "<i4": "i32", ">i4": "i32", "<i8": "i64", ">i8": "i64",
             "u1": "u8", "<u2": "u16", ">u2": "u16", "<u4": "u32", ">u4": "u32", "<u8": "u64", ">u8": "u64",
             "<f2": "f16", ">f2": "f16", "<f4": "f32", ">f4": "f32", "<f8": "f64", ">f8": "f64", "<c8": "complex64",
             ">c8": "complex64", "<c16": "complex128", ">c16": "complex128"}
OUR_FLOATS = ["<f2", "<f4", "<f8"]  # what posenc writes


def check_npy_read(rng, echo, folder):
    code = rng.choice(sorted(NPY_TYPES))
    array = random_array(rng, code, random_shape(rng, 6))
    if rng.random() < 0.4:
        array = numpy.asfortranarray(array)
    path = folder / "x.npy"
    version = rng.choice([None, (1, 0), (2, 0), (3, 0)])
    with path.open("wb") as file:
        numpy.lib.format.write_array(file, array, version=version)
    found, _ = echo.tensors(path, *rng.choice([[], ["map"]]))
    must(found == {"": (NPY_TYPES[code], array.shape, in_c_order(array))}, code, array.shape, version, found)


def check_npy_write(rng, echo, folder):
    shape = random_shape(rng, 4)
    array = random_array(rng, rng.choice(OUR_FLOATS), shape)
    if rng.random() < 0.5:
        array = numpy.asfortranarray(array)  # posenc writes it in C order
    path, written = folder / "x.npy", folder / "y.npy"
    numpy.save(path, array)
    echo.write("npy", path, written)
    with written.open("rb") as file:
        again = numpy.load(file, allow_pickle=False)
        must(not file.read(), "bytes behind the array")
    must(again.dtype == array.dtype and again.shape == (shape or (1,)), again.dtype, again.shape, array.dtype, shape)
    must(again.tobytes() == in_c_order(array), "elements", array.dtype, shape)


def check_bf16(rng, echo, folder):
    array = random_array(rng, "<u2", (3, 1 + rng.randrange(4)))
    path, written = folder / "x.npy", folder / "y.npy"
    numpy.save(path, array.view("V2") if rng.random() < 0.5 else array)
    found, _ = echo.tensors(path, "bf16")
    must(found[""][0] == "bf16" and found[""][2] == array.tobytes(), found)
    echo.write("npy", path, written, "bf16")
    again = numpy.load(written)
    must(again.dtype == numpy.dtype("V2") and again.tobytes() == array.tobytes(), again.dtype)


def check_golden(echo, data):
    count = 0
    for path in sorted(data.rglob("*.npy")):
        array = numpy.load(path)
        found, _ = echo.tensors(path)
        must(isinstance(found, dict) and found[""][1:] == (array.shape, in_c_order(array)), path, found)
        count += 1
    return count


def npz(rng, echo, folder, arguments):
    for _ in range(arguments.runs):
        arrays = {rng.choice(["", "layer.0/"]) + f"x{i}": random_array(rng, rng.choice(sorted(NPY_TYPES)),
                                                                      random_shape(rng, 4))
                  for i in range(rng.randrange(1, 6))}
        path = folder / "x.npz"
        numpy.savez(path, **arrays)
        found, _ = echo.tensors(path, *rng.choice([[], ["map"]]))
        wanted = {name: (NPY_TYPES[x.dtype.str if x.dtype.itemsize > 1 else x.dtype.char if x.dtype.kind == "b"
                                   else x.dtype.str[1:]], x.shape, in_c_order(x)) for name, x in arrays.items()}
        must(found == wanted, found, wanted)
        numpy.savez_compressed(path, **arrays)
        found, _ = echo.tensors(path)
        must(isinstance(found, str) and "compressed by method 8" in found, found)


def npy(rng, echo, folder, arguments):
    for _ in range(arguments.runs):
        check_npy_read(rng, echo, folder)
        check_npy_write(rng, echo, folder)
        check_bf16(rng, echo, folder)
    data = pathlib.Path(os.environ.get("POSENC_TEST_DATA") or ROOT.parent / "shared/data")
    print(f"{check_golden(echo, data / 'golden')} files of other people are what NumPy reads")


# ---- safetensors ----

# The reference's names, as its Python side takes them: the type, bytes of an element.
SAFETENSORS_TYPES = {"bool": ("bool", 1), "uint8": ("u8", 1), "int8": ("i8", 1), "int16": ("i16", 2),
                     "uint16": ("u16", 2), "float16": ("f16", 2), "bfloat16": ("bf16", 2), "int32": ("i32", 4),
                     "uint32": ("u32", 4), "float32": ("f32", 4), "float64": ("f64", 8), "int64": ("i64", 8),
                     "uint64": ("u64", 8), "float8_e4m3fn": ("f8_e4m3", 1), "float8_e5m2": ("f8_e5m2", 1),
                     "float8_e4m3fnuz": ("f8_e4m3fnuz", 1), "float8_e5m2fnuz": ("f8_e5m2fnuz", 1),
                     "float8_e8m0fnu": ("f8_e8m0", 1), "complex64": ("complex64", 8)}
FLOATS = ["float16", "bfloat16", "float32", "float64"]
NAMES = ["model.layers.0.self_attn.q_proj.weight", "a", "b\"\\/", "\u00e9\u4e2d\U0001f9ed", "", " ", "tab\there", "0"]


def serialized(tensors, metadata):
    kept = {name: ctypes.create_string_buffer(data, len(data) + 1) for name, (_, _, data) in tensors.items()}
    return safetensors.serialize(
        {name: safetensors.TensorSpec(dtype=dtype, shape=list(shape), data_ptr=ctypes.addressof(kept[name]),
                                      data_len=len(data))
         for name, (dtype, shape, data) in tensors.items()}, metadata)


def random_tensors(rng, types, names, most_axes):
    out = {}
    for name in rng.sample(names, rng.randrange(len(names) + 1)):
        dtype = rng.choice(types)
        shape = random_shape(rng, most_axes)
        count = 1
        for size in shape:
            count *= size
        out[name] = (dtype, shape, rng.randbytes(count * SAFETENSORS_TYPES[dtype][1]))
    return out


def check_safetensors_read(rng, echo, folder):
    tensors = random_tensors(rng, sorted(SAFETENSORS_TYPES), NAMES, 6)
    metadata = rng.choice([None, {"format": "pt"}, {"a": "\u4e2d", "b": "", "c\n": "\x01"}])
    path = folder / "x.safetensors"
    path.write_bytes(serialized(tensors, metadata))
    found, said = echo.tensors(path, *rng.choice([[], ["map"]]))
    wanted = {name: (SAFETENSORS_TYPES[dtype][0], shape, data) for name, (dtype, shape, data) in tensors.items()}
    must(found == wanted and said == (metadata or {}), found, wanted, said, metadata)


def check_safetensors_write(rng, echo, folder):
    """The same tensors give the same bytes."""
    tensors = random_tensors(rng, FLOATS, [name for name in NAMES if name], 4)
    tensors = {name: (dtype, shape or (1,), data) for name, (dtype, shape, data) in tensors.items()}
    metadata = rng.choice([None, {"format": "pt"}])  # the reference orders more keys at random
    path, written = folder / "x.safetensors", folder / "y.safetensors"
    path.write_bytes(serialized(tensors, metadata))
    echo.write("safetensors", path, written)
    must(written.read_bytes() == path.read_bytes(), written.read_bytes()[:300], path.read_bytes()[:300])


def spoiled(rng, content):
    """A change to the header, or to the file's length."""
    length = int.from_bytes(content[:8], "little")
    at = rng.randrange(8 + length)
    way = rng.randrange(4)
    if way == 0:
        return content[:at] + bytes([rng.randrange(256)]) + content[at + 1:]
    if way == 1:
        return content[:rng.randrange(len(content))]
    if way == 2:
        return content + rng.randbytes(1 + rng.randrange(3))
    digits = [i for i in range(8, 8 + length) if content[i:i + 1].isdigit()]
    if not digits:
        return content
    at = rng.choice(digits)
    return content[:at] + rng.choice([b"0", b"1", b"7", b"9"]) + content[at + 1:]


def check_safetensors_verdict(rng, echo, folder):
    """What the reference refuses, posenc refuses; posenc alone refuses keys that stand twice."""
    content = spoiled(rng, serialized(random_tensors(rng, sorted(SAFETENSORS_TYPES), NAMES, 3), None))
    path = folder / "x.safetensors"
    path.write_bytes(content)
    try:
        reference = safetensors.deserialize(content)
    except Exception as error:  # noqa: BLE001: whatever it throws
        reference = str(error)
    found, _ = echo.tensors(path)
    if isinstance(reference, str):
        # A type that is not known is listed by posenc, and cannot be read.
        unread = isinstance(found, dict) and any(data is None for _, _, data in found.values())
        must(isinstance(found, str) or unread, "only the reference refuses", content[:300], reference)
        return
    if isinstance(found, str):
        must("twice" in found, "only posenc refuses", content[:300], found)
        return
    must({name: bytes(entry["data"]) for name, entry in reference} ==
         {name: data for name, (_, _, data) in found.items()}, content[:300])


def safetensors_files(rng, echo, folder, arguments):
    for _ in range(arguments.runs):
        check_safetensors_read(rng, echo, folder)
        check_safetensors_write(rng, echo, folder)
        check_safetensors_verdict(rng, echo, folder)


# ---- GGUF ----

def gguf_arrays(rng):
    for i in range(1 + rng.randrange(5)):
        kind = rng.choice(["float32", "float16", "bf16", "float64", "int8", "int16", "int32", "int64", "q8_0"])
        shape = tuple(1 + rng.randrange(4) for _ in range(rng.randrange(4))) + (32,)
        if kind == "bf16":
            yield f"t{i}", "bf16", shape, random_array(rng, "<u2", shape), gguf.GGMLQuantizationType.BF16
        elif kind == "q8_0":
            floats = numpy.array([rng.uniform(-1, 1) for _ in range(int(numpy.prod(shape)))], "<f4").reshape(shape)
            blocks = gguf.quants.quantize(floats, gguf.GGMLQuantizationType.Q8_0)
            yield f"t{i}", "other", shape, blocks, gguf.GGMLQuantizationType.Q8_0
        else:
            ours = {"float": "f", "int": "i"}[kind.rstrip("0123456789")] + kind.lstrip("floatin")
            yield f"t{i}", ours, shape, random_array(rng, kind, shape), None


def check_gguf(rng, echo, folder):
    path = folder / "x.gguf"
    big = rng.random() < 0.3
    writer = gguf.GGUFWriter(path, "llama", endianess=gguf.GGUFEndian.BIG if big else gguf.GGUFEndian.LITTLE)
    if rng.random() < 0.3:
        writer.add_custom_alignment(64)
    wanted = {}
    for name, kind, shape, array, raw_type in gguf_arrays(rng):
        if big and raw_type is not None:
            continue  # the package writes these little-endian whatever the file is
        # The package rotates an array's own bytes for a big-endian file.
        data = array.view(numpy.uint8) if kind == "bf16" else array
        writer.add_tensor(name, data.copy(), raw_dtype=raw_type)
        wanted[name] = (kind, shape, None if kind == "other" else array.tobytes())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found, _ = echo.tensors(path, *rng.choice([[], ["map"]]))
    must(found == wanted, found, wanted)
    reader = {tensor.name: tuple(int(size) for size in reversed(tensor.shape))
              for tensor in gguf.GGUFReader(path).tensors}
    must(reader == {name: shape for name, (_, shape, _) in found.items()}, reader, found)


def gguf_files(rng, echo, folder, arguments):
    for _ in range(arguments.runs):
        check_gguf(rng, echo, folder)


CHECKS = {"npy": npy, "npz": npz, "safetensors": safetensors_files, "gguf": gguf_files}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("echo", help="the program tensor_echo")
    parser.add_argument("format", choices=CHECKS)
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    arguments = parser.parse_args()
    modules_or_skip(NEEDS[arguments.format])
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in NEEDS[arguments.format])
    print(f"{versions}; {arguments.runs} rounds, --seed {arguments.seed}")
    rng = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = folder / "data"
        data.mkdir()
        CHECKS[arguments.format](rng, Echo(arguments.echo, data), folder, arguments)
    print("the same")


if __name__ == "__main__":
    main()
