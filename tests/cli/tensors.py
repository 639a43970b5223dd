"""Files of tensors without NumPy, and what a rotation of them must be, by its formula in double."""
import json
import math
import random
import struct
from typing import NamedTuple

import tolerances


class Tensor(NamedTuple):
    dtype: str  # f32, f16, bf16
    shape: tuple
    values: list  # in C order

    def at(self, *index):
        place = 0
        for i, size in zip(index, self.shape):
            place = place * size + i
        return self.values[place]


def encoded(dtype, values):
    if dtype == "bf16":
        return b"".join(struct.pack("<f", value)[2:] for value in values)  # values that bf16 holds
    return struct.pack(f"<{len(values)}{'f' if dtype == 'f32' else 'e'}", *values)


def decoded(dtype, data):
    if dtype == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
    return list(struct.unpack(f"<{len(data) // (4 if dtype == 'f32' else 2)}{'f' if dtype == 'f32' else 'e'}", data))


def random_tensor(shape, dtype="f32", seed=1):
    """Normally distributed, and held by the dtype."""
    source = random.Random(seed)
    values = [source.gauss(0, 1) for _ in range(math.prod(shape))]
    if dtype == "bf16":
        data = b"".join(struct.pack("<f", value)[2:] for value in values)
    else:
        data = encoded(dtype, values)
    return Tensor(dtype, tuple(shape), decoded(dtype, data))


NPY = {"f32": "<f4", "f16": "<f2", "bf16": "<V2"}


def write_npy_bytes(path, descr, shape, data, fortran=False):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)!r}, }}".encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    path.write_bytes(b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + data)
    return path


def write_npy(path, tensor, descr=None):
    return write_npy_bytes(path, descr or NPY[tensor.dtype], tensor.shape, encoded(tensor.dtype, tensor.values))


def write_numbers(path, kind, shape, values):
    """kind: a letter of struct: q int64, i int32, d double, ..."""
    descr = "<" + {"q": "i8", "i": "i4", "B": "u1", "Q": "u8", "d": "f8", "f": "f4", "e": "f2"}[kind]
    return write_npy_bytes(path, descr, shape, struct.pack(f"<{len(values)}{kind}", *values))


def read_npy(path):
    raw = path.read_bytes()
    assert raw[:8] == b"\x93NUMPY\x01\0", raw[:8]
    start = 10 + struct.unpack("<H", raw[8:10])[0]
    header = eval(raw[10:start], {"__builtins__": {}})  # pylint: disable=eval-used  # what this tool wrote
    assert not header["fortran_order"]
    dtype = {descr: dtype for dtype, descr in NPY.items()}[header["descr"]]
    return Tensor(dtype, header["shape"], decoded(dtype, raw[start:]))


def write_safetensors(path, tensors, metadata=None):
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, tensor in tensors.items():
        part = encoded(tensor.dtype, tensor.values)
        header[name] = {"dtype": tensor.dtype.upper(), "shape": tensor.shape,
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def read_safetensors(path):
    raw = path.read_bytes()
    start = 8 + struct.unpack("<Q", raw[:8])[0]
    out = {}
    header = json.loads(raw[8:start])
    header.pop("__metadata__", None)
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        dtype = entry["dtype"].lower()
        out[name] = Tensor(dtype, tuple(entry["shape"]), decoded(dtype, raw[start + begin:start + end]))
    return out


def read_metadata(path):
    raw = path.read_bytes()
    return json.loads(raw[8:8 + struct.unpack("<Q", raw[:8])[0]]).get("__metadata__", {})


class Rotation(NamedTuple):
    """The plain scheme: RoFormer, arXiv 2104.09864."""
    dim: int
    base: float = 10000.0
    half: bool = True
    factor: float = 1.0  # divides frequencies

    def pair(self, p):
        return (p, p + self.dim // 2) if self.half else (2 * p, 2 * p + 1)

    def head(self, x, position, inverse=False):
        """One head rotated; position: a number, or one of each pair."""
        out = list(x)
        for p in range(self.dim // 2):
            where = position[p] if isinstance(position, (list, tuple)) else position
            angle = where * self.base ** (-2 * p / self.dim) / self.factor
            c, s = math.cos(angle), math.sin(angle) * (-1 if inverse else 1)
            a, b = self.pair(p)
            out[a], out[b] = x[a] * c - x[b] * s, x[a] * s + x[b] * c
        return out

    def bound(self, x, expected, dtype):
        """What each channel may be off."""
        out = [0.0] * len(x)
        for p in range(self.dim // 2):
            a, b = self.pair(p)
            for own, other in ((a, b), (b, a)):
                out[own] = tolerances.rotated(dtype, x[own], x[other], expected[own])
        return out
