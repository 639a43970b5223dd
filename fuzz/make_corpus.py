#!/usr/bin/env python3
"""Writes the inputs from which fuzzing starts: make_corpus.py OUT_FOLDER --plans WRITE_PLANS

Everything is our own: the configs in the tests of src/plan, the small cases of tests/hostile, one text for each thing
that the JSON reader treats by itself, and plans at random, which the program WRITE_PLANS writes into a folder.
"""
import argparse
import hashlib
import io
import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/hostile"))
import make_cases  # noqa: E402
from gguf_file import FORMATS, Gguf  # noqa: E402

RAW_STRING = re.compile(r'R"\((\s*\{.*?)\)"', re.DOTALL)
LARGEST_PLAN = 4096  # bytes; fuzz/run lets no input of this target grow beyond it
LARGEST_CASE = 1024  # bytes

JSON_TEXTS = [
    b"{}", b"[]", b"null", b"true", b"[false, true]", b"0", b"-0.0", b"1e3", b"-12.5E-7", b"[1e400, -1e400, 1e-400]",
    b"[9007199254740993, 9223372036854775807, 9223372036854775808, -9223372036854775808]",
    b'[NaN, Infinity, -Infinity]', b'{"a": 1, "a": 2, "b": {"c": [], "c": {}}}', b'\xef\xbb\xbf{"mark": 1}',
    b'"\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u00e9 \\ud83e\\udded"', '"\u00e9 \u8bcd \U0001f9ed"'.encode(), b'"\\ud800"',
    b'"\\udc00"', b'"\xff"', b'"\xc0\x80"', b"[[[[[[[[1]]]]]]]]", b"[" * 130, b'{"a":' * 127 + b"1" + b"}" * 127,
    b"\xff\xfe{\x00}\x00", b"\x00\x00\x00{", b" \t\r\n[ 1 , 2 ]\n ", b"[1,]", b"{'a': 1}", b'{"a" 1}', b"{} x", b"01",
    b"[+1]", b"[.5]", b"[1.]", b"[0x10]", b"// c\n1", b"{\"a~b/c\": {\"\": [0, {\"d\": null}]}}", b"[1 2]", b"nul", b'"a',
    b'"a\nb"', b'"\\x"', b'"\\u12"', b"-", b"1.5.5", b"\x00", b"\x1f\x8b\x08", b"PK\x03\x04", b"<!DOCTYPE html>",
    json.dumps({f"key{i}": i for i in range(40)}).encode(), ("[" + "7" * 400 + "]").encode(),
]

# What the tests of the reader do not hold in one piece.
ROPE_RULES = [
    {"type": "linear", "factor": 2.0}, {"type": "dynamic", "factor": 4.0}, {"rope_type": "default"},
    {"rope_type": "dynamic", "alpha": 1000.0, "factor": 1.0}, {"type": "mrope", "mrope_section": [2, 1, 1]},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64, "attention_factor": 1.25,
     "beta_fast": 16, "beta_slow": 2, "mscale": 0.7, "mscale_all_dim": 0.8, "truncate": False},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 64},
    {"rope_type": "longrope", "factor": 4.0, "original_max_position_embeddings": 64, "short_factor": [1, 1.5, 2, 2.5],
     "long_factor": [1, 4, 8, 16], "short_mscale": 1.1, "long_mscale": 1.2},
    {"rope_type": "proportional", "partial_rotary_factor": 0.25, "factor": 2.0},
]


def configs():
    for path in sorted((ROOT / "tests/plan").glob("*.cpp")):
        for text in RAW_STRING.findall(path.read_text(encoding="ascii")):
            yield text.encode()
    base = {"model_type": "llama", "head_dim": 8, "num_attention_heads": 2, "num_hidden_layers": 2,
            "max_position_embeddings": 128, "rope_theta": 10000.0}
    for rule in ROPE_RULES:
        yield json.dumps({**base, "rope_scaling": rule}).encode()
        yield json.dumps({**base, "rope_parameters": {**rule, "rope_theta": 500000.0}}).encode()


def model(architecture, *more):
    """`more`: keys without the architecture, values, and their kinds where no default fits."""
    sizes = {"context_length": 2048, "embedding_length": 64, "block_count": 2, "attention.head_count": 4,
             "attention.head_count_kv": 2, "rope.dimension_count": 16}
    return with_keys(Gguf(), architecture, *sizes.items(), *more)


def with_keys(file, architecture, *keys):
    file.key("general.architecture", architecture)
    for name, *value in keys:
        file.key(f"{architecture}.{name}", *value)
    return file


def ggufs():
    base = ("rope.freq_base", 500000.0)
    scalars, lists = Gguf(), Gguf()
    for kind in FORMATS:
        scalars.key(f"key.{kind}", 1, kind)
    for kind in ("u8", "f32", "i64"):
        lists.key(f"list.{kind}", [0, 1], [kind])
    factors = [1 + 0.5 * i for i in range(8)]
    yield from (Gguf(), scalars.key("key.text", "text"), lists.key("list.text", ["a", "b"]))
    for file in (Gguf(1), Gguf(2), Gguf(order=">"), Gguf(alignment=64).key("general.alignment", 64)):
        yield with_keys(file, "llama", ("block_count", 2), ("embedding_length", 64), ("attention.head_count", 4), base)
    for architecture in ("llama", "qwen2", "gemma3", "phi3", "mpt", "gpt2", "bert", "deepseek2", "qwen2vl", "stablelm"):
        yield model(architecture)
    for rule in ("none", "linear", "yarn", "longrope"):
        yield model("llama", ("rope.scaling.type", rule), ("rope.scaling.factor", 4.0),
                    ("rope.scaling.original_context_length", 512))
    yield model("qwen2vl", ("rope.dimension_sections", [4, 2, 2, 0], ["i32"]))
    yield model("gemma3", ("attention.sliding_window", 512), ("attention.head_count_kv", [2, 2]))
    yield model("llama").floats("rope_freqs.weight", factors)
    yield model("phi3", ("rope.scaling.original_context_length", 512)).floats(
        "rope_factors_long.weight", factors).floats("rope_factors_short.weight", factors)
    yield model("llama").tensor("half", [2, 2], 1, data=bytes(32)).tensor("odd", [32], 2, data=bytes(32)).tensor(
        "other", [], 999, data=bytes(32))


def hostile(suffix):
    """The cases of tests/hostile that are small enough to change."""
    for _, case in make_cases.cases():
        if case.reader.suffix == suffix and case.size() <= LARGEST_CASE:
            yield case.bytes()


# ---- files of tensors ----


def npys():
    def file(descr, shape, data, fortran=False, version=1):
        header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n".encode()
        return b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)) + header + data

    for kind, size in [("|b1", 1), ("|i1", 1), ("|u1", 1), ("<i2", 2), ("<u2", 2), ("<f2", 2), ("<V2", 2), (">i4", 4),
                       ("<f4", 4), (">f4", 4), ("<f8", 8), (">c8", 8), ("<c16", 16), ("|O", 8), ("<U1", 4)]:
        yield file(kind, (2,), bytes(range(2 * size)))
    yield file("<f4", (2, 3), bytes(24), fortran=True, version=2)
    yield file("<f4", (), bytes(4), version=3)
    yield file("<f4", (3, 0, 2), b"")
    yield file("<f4", (1 << 32, 1 << 32), b"")


def npzs():
    def file(**members):
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w") as archive:
            for name, data in members.items():
                with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=len(data) % 2 == 0) as member:
                    member.write(data)
        return whole.getvalue()

    arrays = [one for one in npys() if len(one) < 120]
    yield file()
    yield file(a=arrays[0])
    yield file(a=arrays[1], b=arrays[2][:-1])
    yield file(q=arrays[8], k=arrays[10])


def safetensors():
    def file(header, size):
        text = json.dumps(header, separators=(",", ":")).encode()
        return struct.pack("<Q", len(text)) + text + bytes(range(size))

    def entry(dtype, shape, begin, end):
        return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}

    yield file({}, 0)
    yield file({"__metadata__": {"format": "pt"}, "a": entry("F32", [2, 1], 0, 8), "b": entry("BF16", [1], 8, 10)}, 10)
    yield file({"b": entry("I8", [], 1, 2), "a": entry("BOOL", [1], 0, 1), "c": entry("F64", [0, 3], 2, 2)}, 2)
    yield file({"a": entry("F4", [4], 0, 2), "b": entry("F6_E2M3", [4], 2, 5), "c": entry("NEW", [9], 5, 7)}, 7)
    yield file({"a": entry("U8", [1 << 62, 4], 0, 4), "b": entry("C64", [1], 4, 12)}, 12)


def llama2cs():
    def numbers(dim, hidden, layers, heads, kv_heads, vocab, length):
        kv = dim // heads * kv_heads
        layer = 2 * dim + 2 * dim * dim + 2 * kv * dim + 3 * dim * hidden
        return layers * layer + dim + abs(vocab) * dim * (2 if vocab < 0 else 1) + length * (dim // heads)

    for sizes in [(2, 1, 1, 1, 1, 1, 1), (4, 3, 2, 2, 1, -2, 2)]:
        yield struct.pack("<7i", *sizes) + bytes(4 * numbers(*sizes))
    yield struct.pack("<7i", 288, 768, 6, 6, 6, 32000, 256)
    yield b"24ka" + struct.pack("<8iB", 1, 2, 1, 1, 1, 1, 1, 1, 1) + bytes(219 + 4 * 30)
    yield b"24ka" + struct.pack("<8iBi", 2, 2, 1, 1, 1, 1, 1, 1, 1, 2) + bytes(215 + 4 * 6 + 24 + 4 * 12)


def gguf_tensors():
    """One tensor of each type that is read, and of some that are not."""
    yield from ggufs()
    for order in "<>":
        file = Gguf(order=order)
        for kind, size in [(0, 4), (1, 2), (30, 2), (28, 8), (24, 1), (25, 2), (26, 4), (27, 8)]:
            file.tensor(f"t{kind}", [2], kind, data=bytes(range(2 * size)) + bytes(32 - 2 * size))
        yield file
    yield Gguf().tensor("q8", [32, 2], 8, data=bytes(96)).tensor("new", [5], 77, data=bytes(32))


def plans(writer):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([writer, folder], check=True)
        for path in sorted(pathlib.Path(folder).iterdir()):
            text = json.dumps(json.loads(path.read_bytes()), separators=(",", ":")).encode()
            if len(text) <= LARGEST_PLAN:
                yield text


SETTINGS = [
    "base=5e5", "rope_scaling=none", "rope_scaling=yarn,factor=4,original=32", "rope_scaling=linear,factor=2",
    "rope_scaling=longrope,factor=4,original=64,short_factor=[1,1,1,1],long_factor=[1,2,4,8]",
    "rope_scaling=llama3,factor=8,low_freq_factor=1,high_freq_factor=4,original=64", "rope_scaling=dynamic,factor=2",
    "rope_scaling=ntk,factor=2", "rope_scaling=proportional,partial_rotary_factor=0.25", "rope_scaling=qwen_ntk",
    "rope_scaling=factors,factors=[1,2,3,4]", "factor=8,attention_factor=1.2", "beta_fast=16,beta_slow=2,truncate=no",
    "pairing=interleaved", "rotary_dim=4", "partial=0.5", "direction=clockwise", "offset=2", "rope=none", "window=none",
    "all:window=16", "all:window=4..2", "chunk=8", "all:chunk=8", "mask=bidirectional", "causal=yes", "scale=0.25",
    "all:soft_cap=30", "soft_cap=none", "all:sinks=yes", "kv_heads=1", "qk_norm=none", "query_scale=none",
    "self_extend=4/16", "trained_length=256", "0-1:base=2e4", "decoder/0:window=4", "sliding:base=2e4\nfull:base=1e6",
]


def overrides(found):
    for number, settings in enumerate(SETTINGS):
        for config in found[number % 7::29]:
            yield settings.encode() + b"\n" + config


# ---- calls ----


CALLS = ["rotate", "rerotate", "cache", "attend", "attend_linear", "attend_backward", "merge", "c"]
SEEDS = 200  # of each


def arguments(target):
    """Bytes at random, most of them small: zero is what is usual, and what is beyond 240 spoils a call."""
    drawn = random.Random(target)
    yield b"\0"
    for number in range(SEEDS):
        most = (16, 100, 240, 256)[number % 4]
        yield bytes(drawn.randrange(most) for _ in range(drawn.randrange(1, 96)))


def write(folder, inputs):
    folder.mkdir(parents=True, exist_ok=True)
    for content in inputs:
        (folder / hashlib.sha256(content).hexdigest()[:16]).write_bytes(content)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--plans", required=True, help="the program write_plans")
    given = parser.parse_args()
    found = list(configs())
    spoiled = list(hostile("json"))
    write(given.out / "json", [*JSON_TEXTS, *found, *spoiled])
    write(given.out / "config", [*found, *spoiled])
    write(given.out / "override", overrides(found))
    write(given.out / "gguf", [*(file.bytes() for file in ggufs()), *hostile("gguf")])
    write(given.out / "gguf_tensors", (file.bytes() for file in gguf_tensors()))
    write(given.out / "npy", npys())
    write(given.out / "npz", npzs())
    write(given.out / "safetensors", safetensors())
    write(given.out / "llama2c", llama2cs())
    made = list(plans(given.plans))
    write(given.out / "plan_json", made)
    write(given.out / "page", [*made, *found])
    for target in CALLS:
        write(given.out / target, arguments(target))


if __name__ == "__main__":
    main()
