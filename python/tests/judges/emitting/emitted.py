"""Code that posenc.emit wrote, made callable from here, whatever its language: a Port has cos_sin, rotate and attention
over NumPy arrays.

C and C++ are compiled by gcc; CUDA and Metal too, through shims that make their words plain C++ (shims/). Kernels are
then called once for each of their threads."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

SHIMS = pathlib.Path(__file__).resolve().parent / "shims"
WHOLE = {"tokens", "heads", "queries", "keys", "prefix", "length"}
WHOLES = {"positions", "q_order", "k_order", "q_positions", "k_positions"}
TRUTHS = {"selected"}
WRITTEN = {"x", "cosines", "sines", "out"}
STRICT = ["-Wall", "-Wextra", "-Werror"]


@dataclass
class Port:
    """cos_sin(positions, length), rotate(x, cos, sin), attention(q, k, v, **inputs): NumPy in, NumPy out."""

    language: str
    cos_sin: Callable[..., Any] | None
    rotate: Callable[..., Any] | None
    attention: Callable[..., Any]
    rotate_back: Callable[..., Any] | None = None


@dataclass
class Sizes:
    heads: int
    value_dim: int
    pairs: int


def module(code, text=None):
    made = types.ModuleType(code.file_name)
    exec(compile(text or code.text, code.file_name, "exec"), made.__dict__)
    return made


def parameters(code, name):
    (found,) = (of.parameters for of in code.functions if of.name == name)
    return found


def numpy_port(code, text=None):
    made = module(code, text)

    def cos_sin(positions, length):
        given = {"positions": positions, "length": length}
        return made.cos_sin(*(given[name] for name in parameters(code, "cos_sin")))

    def attention(q, k, v, **inputs):
        given = {"q": q, "k": k, "v": v, **inputs}
        return made.attention(*(given[name] for name in parameters(code, "attention")))

    turns = hasattr(made, "rotate")
    return Port(
        "numpy",
        cos_sin if turns else None,
        made.rotate if turns else None,
        attention,
        (lambda x, cos, sin: made.rotate(x, cos, -sin)) if turns else None,
    )


def torch_port(code, made):
    """Of torch or Triton: tensors in float32."""

    def tensor(x):
        return torch.from_numpy(np.ascontiguousarray(x)) if isinstance(x, np.ndarray) else x

    def cos_sin(positions, length):
        given = {"positions": tensor(positions), "length": length}
        return [x.numpy() for x in made.cos_sin(*(given[name] for name in parameters(code, "cos_sin")))]

    def rotate(x, cos, sin):
        return made.rotate(tensor(x), tensor(cos), tensor(sin)).numpy()

    def attention(q, k, v, **inputs):
        given = {"q": q, "k": k, "v": v, **inputs}
        return made.attention(*(tensor(given[name]) for name in parameters(code, "attention"))).numpy()

    turns = hasattr(made, "rotate")
    return Port(
        code.as_,
        cos_sin if turns else None,
        rotate if turns else None,
        attention,
        (lambda x, cos, sin: rotate(x, cos, -sin)) if turns else None,
    )


def pointer(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def c_port(code, sizes, call):
    """call(name, given) runs a function of the code, with `given` by the names of its parameters."""

    def cos_sin(positions, length):
        tokens = positions.shape[-1]
        cosines, sines = (np.zeros((tokens, sizes.pairs), np.float32) for _ in range(2))
        call(
            "cos_sin",
            {"tokens": tokens, "positions": positions, "length": length, "cosines": cosines, "sines": sines},
            tokens * sizes.pairs,
        )
        return cosines, sines

    def turned(name):
        def rotate(x, cos, sin):
            out = np.array(x, np.float32, order="C")
            call(
                name,
                {"tokens": len(x), "heads": x.shape[1], "x": out, "cosines": cos, "sines": sin},
                len(x) * x.shape[1] * sizes.pairs,
            )
            return out

        return rotate

    def attention(q, k, v, **inputs):
        out = np.full((len(q), sizes.heads, sizes.value_dim), np.nan, np.float32)
        call(
            "attention",
            {"queries": len(q), "keys": len(k), "q": q, "k": k, "v": v, "out": out, **inputs},
            len(q) * sizes.heads,
        )
        return out

    names = {of.name for of in code.functions}
    turns = "rotate" in names
    return Port(
        code.as_,
        cos_sin if turns else None,
        turned("rotate") if turns else None,
        attention,
        turned("rotate_back") if "rotate_back" in names else None,
    )


def argument(name, value):
    if name in WHOLE:
        return ctypes.c_int(int(value))
    dtype = np.int32 if name in WHOLES else np.bool_ if name in TRUTHS else np.float32
    if name in WRITTEN:
        assert value.dtype == dtype and value.flags.c_contiguous
        return value
    return np.ascontiguousarray(value, dtype)


def caller(library, code, prefix="", with_threads=False):
    def call(name, given, threads):
        arguments = [argument(of, given[of]) for of in parameters(code, name)]
        passed = []
        for of, value in zip(parameters(code, name), arguments):
            passed.append(value if of in WHOLE else pointer(value))
            if with_threads == "spans" and of not in WHOLE:
                passed.append(ctypes.c_int64(value.size))
        if with_threads is True:
            passed.append(ctypes.c_int(threads))
        getattr(library, prefix + name)(*passed)

    return call


def compiled(command, source, folder, name):
    """A shared library of the source; what the compiler says when it refuses is the error."""
    file = pathlib.Path(folder) / name
    file.write_text(source)
    library = file.with_suffix(".so")
    run = subprocess.run(
        [*command, "-shared", "-fPIC", "-o", str(library), str(file)], check=False, capture_output=True, text=True
    )
    assert run.returncode == 0, f"{name}:\n{run.stderr[:4000]}"
    return ctypes.CDLL(str(library))


def c_type(name):
    if name in WHOLE:
        return "int"
    of = "int" if name in WHOLES else "bool" if name in TRUTHS else "float"
    return f"{of}*" if name in WRITTEN else f"const {of}*"


def c_ports(codes, sizes, folder):
    """Each is a library of its own."""
    ports = []
    for number, (code, size) in enumerate(zip(codes, sizes)):
        library = compiled(["gcc", "-std=c11", "-O1", *STRICT, "-x", "c"], code.text, folder, f"c{number}.c")
        library_of = caller(library, code)
        # -lm is in the process already: Python's own math.
        ports.append(c_port(code, size, library_of))
    return ports


def wrapped(codes, wrapper, before, between=""):
    """All of them in one source, each in a namespace; what they include is included before, once."""
    out = [before]
    for number, code in enumerate(codes):
        text = re.sub(r"^#(include|pragma once).*$", "", code.text, flags=re.MULTILINE)
        out.append(f"namespace case{number} {{\n{between}{text}\n}}\n")
        for function in code.functions:
            out.append(wrapper(number, function))
    return "".join(out)


def cpp_ports(codes, sizes, folder):
    def wrapper(number, function):
        declared, handed = [], []
        for name in function.parameters:
            if name in WHOLE:
                declared.append(f"int {name}")
                handed.append(name)
            else:
                declared.append(f"{c_type(name)} {name}, long n_{name}")
                handed.append(f"std::span({name}, std::size_t(n_{name}))")
        return (
            f'extern "C" void case{number}_{function.name}({", ".join(declared)}) '
            f"{{ case{number}::attention_layer::{function.name}({', '.join(handed)}); }}\n"
        )

    includes = sorted({line for code in codes for line in re.findall(r"^#include.*$", code.text, re.MULTILINE)})
    source = wrapped(codes, wrapper, "\n".join(includes) + "\n")
    library = compiled(["g++", "-std=c++20", "-O1", *STRICT], source, folder, "all.cpp")
    return [
        c_port(code, size, caller(library, code, f"case{number}_", "spans"))
        for number, (code, size) in enumerate(zip(codes, sizes))
    ]


def cuda_ports(codes, sizes, folder):
    def wrapper(number, function):
        declared = [f"{c_type(name)} {name}" for name in function.parameters]
        return (
            f'extern "C" void case{number}_{function.name}({", ".join(declared)}, int threads) {{\n'
            f"  blockDim.x = 32;\n"
            f"  for (int n = 0; n < (threads + 31) / 32 * 32; ++n) {{\n"
            f"    blockIdx.x = n / 32;\n    threadIdx.x = n % 32;\n"
            f"    case{number}::{function.name}({', '.join(function.parameters)});\n  }}\n}}\n"
        )

    source = wrapped(codes, wrapper, '#include "cuda_shim.h"\n')
    library = compiled(
        ["g++", "-std=c++20", "-O1", *STRICT, "-Wno-unused-function", f"-I{SHIMS}"], source, folder, "all_cuda.cpp"
    )
    return [
        c_port(code, size, caller(library, code, f"case{number}_", True))
        for number, (code, size) in enumerate(zip(codes, sizes))
    ]


def metal_ports(codes, sizes, folder):
    def wrapper(number, function):
        declared = [f"{c_type(name)} {name}" for name in function.parameters]
        return (
            f'extern "C" void case{number}_{function.name}({", ".join(declared)}, int threads) {{\n'
            f"  for (int n = 0; n < threads + 7; ++n) "
            f"case{number}::{function.name}({', '.join(function.parameters)}, unsigned(n));\n}}\n"
        )

    source = wrapped(codes, wrapper, "#include <metal_stdlib>\n")
    flags = ["-Wno-attributes", "-Wno-unknown-pragmas", "-Wno-unused-function", f"-I{SHIMS}"]
    library = compiled(["g++", "-std=c++20", "-O1", *STRICT, *flags], source, folder, "all_metal.cpp")
    return [
        c_port(code, size, caller(library, code, f"case{number}_", True))
        for number, (code, size) in enumerate(zip(codes, sizes))
    ]


def nvcc():
    """Where CUDA's compiler is, or None."""
    for place in (os.environ.get("CUDACXX"), "/usr/local/cuda/bin/nvcc"):
        if place and pathlib.Path(place).exists():
            return place
    found = subprocess.run(["sh", "-c", "command -v nvcc"], check=False, capture_output=True, text=True).stdout.strip()
    return found or None


def with_triton():
    """Whether Triton is there: in this environment, or in one of its own beside it (triton.txt)."""
    beside = pathlib.Path(os.environ.get("POSENC_SOURCE_DIR", ".")) / "build" / "triton" / "lib"
    sys.path += [str(of) for of in beside.glob(f"python{sys.version_info[0]}.{sys.version_info[1]}/site-packages")]
    return importlib.util.find_spec("triton") is not None


def triton_module(code, folder):
    """Triton reads the source of its kernels from a file."""
    file = pathlib.Path(folder) / code.file_name
    file.write_text(code.text)
    spec = importlib.util.spec_from_file_location("emitted_by_triton", file)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made
