"""C of the checklist: GGUF; and faults of GGUF models that are not on the checklist."""
import math
import struct

from recipes import MARK, Gguf, Many, gguf
from gguf_file import F16, Q8_0

MOST = 2**64 - 1


def of(architecture, **lies):
    """A model that is read without a warning: 4 heads of 16 channels, 2 layers."""
    file = Gguf(**lies).key("general.architecture", architecture)
    sizes = {"block_count": 2, "context_length": 4096, "embedding_length": 64, "attention.head_count": 4}
    for key, value in sizes.items():
        file.key(f"{architecture}.{key}", value)
    return file


def llama(**lies):
    return of("llama", **lies)


def sections(*counts):
    return of("qwen2vl").key("qwen2vl.rope.dimension_sections", list(counts), ["i32"])


def architecture(name):
    return Gguf().key("general.architecture", name)


def shaped(*shape, kind=0):
    return llama().tensor("t", shape, kind, data=b"")


def factors(*numbers):
    return llama().floats("rope_freqs.weight", numbers)


def announced(file, length, behind):
    """A length where the file ends, and some bytes behind it."""
    return [file, MARK, struct.pack("<Q", length) + behind]


def million_keys(*behind):
    entry = struct.pack("<Q9sIB", 9, b"x.y######", 0, 0)
    return [llama(keys=5 + 999_000 + len(behind) // 2), Many(entry, 999_000), *behind]


FREQS = "rope_freqs.weight"
SECTIONS = "qwen2vl.rope.dimension_sections"

IDS = {
    "C1": ["magic",
        gguf("reversed", Gguf(magic=b"FUGG"), "wrong_format", "magic reversed"),
        gguf("lower_case", Gguf(magic=b"gguf"), "wrong_format", "GGUF"),
        gguf("ggml", Gguf(magic=b"lmgg"), "wrong_format", "before GGUF"),
        gguf("ggjt", Gguf(magic=b"tjgg"), "wrong_format", "before GGUF"),
        gguf("ggla", Gguf(magic=b"algg"), "wrong_format", "before GGUF")],
    "C2": ["version",
        gguf("version_0", Gguf(0), "unsupported_version", "version 1, 2 or 3, got 0", at=4),
        gguf("version_1", llama(version=1)),
        gguf("version_2", llama(version=2)),
        gguf("version_4", Gguf(4), "unsupported_version", "got 4", at=4),
        gguf("version_2_31", Gguf(2**31), "unsupported_version", "got 2147483648", at=4)],
    "C3": ["byte order",
        gguf("big_endian", llama(order=">").floats(FREQS, 8 * [1.0])),
        gguf("big_endian_version_1", llama(order=">", version=1)),
        gguf("big_endian_version_9", Gguf(9, ">"), "unsupported_version", "got 150994944", at=4)],
    "C4": ["counts",
        gguf("keys_2_64", llama(keys=MOST), "count_too_large", str(MOST), at=16),
        gguf("keys_2_63", llama(keys=2**63), "count_too_large", "number of keys", at=16),
        gguf("tensors_2_64", llama(tensors=MOST), "count_too_large", "number of tensors", at=8),
        gguf("tensors_2_63", llama(tensors=2**63), "count_too_large", "number of tensors", at=8),
        gguf("one_too_many", Gguf(keys=1), "count_too_large", "0 are left", at=16)],
    "C5": ["fewer keys",
        gguf("fewer_keys", [llama(keys=6), MARK], "truncated", "key 6 of 6")],
    "C6": ["key length",
        gguf("length_0", announced(Gguf(keys=1), 0, 32 * b"k"), "bad_key", "1 to 65535 bytes, got 0"),
        gguf("length_65536", announced(Gguf(keys=1), 65536, 32 * b"k"), "bad_key", "got 65536"),
        gguf("length_2_64", announced(Gguf(keys=1), MOST, 32 * b"k"), "bad_key", f"got {MOST}")],
    "C7": ["key text",
        gguf("nul", llama().key("llama.rope\0x", 1),
             "bad_key", "without control characters", at="name of llama.rope\0x"),
        gguf("escape", llama().key("llama.\x1b[2J", 1), "bad_key", "\\x1b", at="name of llama.\x1b[2J"),
        gguf("not_utf8", llama().key(b"llama.\xff", 1), "bad_key", "UTF-8", at="name of llama.\\xff"),
        gguf("upper_case", llama().key("Llama.Odd", 1), "ok", "odd-key")],
    "C8": ["key twice",
        gguf("adjacent", llama().key("llama.x", 1).key("llama.x", 1),
             "duplicate_key", "first at byte 218", at="entry of llama.x"),
        gguf("used", llama().key("llama.rope.freq_base", 1e4).key("llama.rope.freq_base", 1e6),
             "duplicate_key", "each key once", at="entry of llama.rope.freq_base"),
        gguf("million_keys", million_keys()),
        gguf("million_keys_one_twice",
             million_keys(MARK, struct.pack("<Q9sIB", 9, b"x.y500000", 0, 0)),
             "duplicate_key", "stands twice")],
    "C9": ["value type",
        gguf("type_13", llama().key("llama.x", b"1234", 13),
             "bad_type", "a type from 0 to 12, got 13", "llama.x", at="type of llama.x"),
        gguf("type_255", llama().key("llama.x", b"1234", 255), "bad_type", "got 255", "llama.x", at="type of llama.x"),
        gguf("type_2_31", llama().key("llama.x", b"1234", 2**31),
             "bad_type", "got 2147483648", "llama.x", at="type of llama.x"),
        gguf("type_minus_1", llama().key("llama.x", b"1234", 2**32 - 1),
             "bad_type", "got 4294967295", "llama.x", at="type of llama.x")],
    "C10": ["array of arrays",
        gguf("array_of_arrays", llama().array_head("llama.x",
             "array", 1), "nested_array", "an array of arrays", "llama.x")],
    "C11": ["array count",
        gguf("count_2_64", llama().array_head("llama.x",
             "u8", MOST), "truncated", f"{MOST} bytes", at="items of llama.x"),
        gguf("product_wraps", llama().array_head("llama.x", "u64", 2**61),
             "truncated", "bytes for llama.x", at="items of llama.x"),
        gguf("fifty_million_absent", llama().array_head("tokenizer.ggml.tokens", "text", 50_000_000),
             "truncated", "400000000 bytes for tokenizer.ggml.tokens", at="items of tokenizer.ggml.tokens")],
    "C12": ["string length",
        gguf("2_64", llama().text_head("llama.odd", MOST),
             "truncated", f"{MOST} bytes for llama.odd", at="text of llama.odd"),
        gguf("1_gib", llama().text_head("llama.odd", 2**30),
             "truncated", "1073741824 bytes for llama.odd", at="text of llama.odd")],
    "C13": ["bool",
        gguf("2", llama().key("llama.attention.causal", 2, "bool"), "ok", "odd-bool"),
        gguf("255", llama().key("llama.attention.causal", 255, "bool"), "ok", "odd-bool")],
    "C14": ["alignment",
        gguf("0", llama().key("general.alignment", 0), "bad_alignment", "power of two", "general.alignment"),
        gguf("3", llama().key("general.alignment", 3), "bad_alignment", "got 3", "general.alignment"),
        gguf("2_31", llama().key("general.alignment", 2**31), "bad_alignment", "1 to 65536", "general.alignment"),
        gguf("int32", llama().key("general.alignment", 32, "i32"), "type", "a uint32, got int32", "general.alignment"),
        gguf("string", llama().key("general.alignment", "32"), "type", "got string", "general.alignment"),
        gguf("array", llama().key("general.alignment", [32], ["i32"]), "type", "got array", "general.alignment"),
        gguf("twice", llama().key("general.alignment", 32).key("general.alignment", 64),
             "duplicate_key", "each key once", at="entry of general.alignment")],
    "C15": ["architecture",
        gguf("missing", Gguf().key("llama.block_count", 2), "missing_key", "this key", "general.architecture"),
        gguf("number", architecture(2), "type", "a string, got 2", "general.architecture"),
        gguf("path", architecture("../x"), "bad_value", "../x", "general.architecture"),
        gguf("escape", architecture("\x1b[31mllama"), "bad_value", "\\x1b", "general.architecture"),
        gguf("long", architecture(100_000 * "a"), "bad_value", "a string of 100000 bytes", "general.architecture")],
    "C16": ["freq_base",
        gguf("nan", llama().key("llama.rope.freq_base", math.nan), "not_finite", "nan", "llama.rope.freq_base"),
        gguf("infinite", llama().key("llama.rope.freq_base", math.inf), "not_finite", "inf", "llama.rope.freq_base"),
        gguf("0", llama().key("llama.rope.freq_base", 0.0), "out_of_range", "got 0", "llama.rope.freq_base"),
        gguf("negative", llama().key("llama.rope.freq_base", -1e4),
             "out_of_range", "got -10000", "llama.rope.freq_base"),
        gguf("1", llama().key("llama.rope.freq_base", 1.0)),
        gguf("u32", llama().key("llama.rope.freq_base", 10000)),
        gguf("f64", llama().key("llama.rope.freq_base", 1e4, "f64")),
        gguf("string", llama().key("llama.rope.freq_base", "10000"),
             "type", 'a number, got "10000"', "llama.rope.freq_base")],
    "C17": ["dimension_count",
        gguf("0", llama().key("llama.rope.dimension_count", 0), "out_of_range", "got 0", "llama.rope.dimension_count"),
        gguf("odd", llama().key("llama.rope.dimension_count", 15),
             "out_of_range", "an even number", "llama.rope.dimension_count"),
        gguf("wider_than_the_head", llama().key("llama.rope.dimension_count", 18),
             "out_of_range", "18 of 16 channels", "llama.rope.dimension_count"),
        gguf("array", llama().key("llama.rope.dimension_count", [8, 8], ["i32"]),
             "type", "an array of 2", "llama.rope.dimension_count")],
    "C18": ["sections",
        gguf("two", sections(4, 4), "bad_sections", "3 or 4 axes", SECTIONS),
        gguf("negative", sections(-1, 4, 4, 0), "out_of_range", "got -1", SECTIONS),
        gguf("too_many_pairs", sections(4, 4, 4, 0), "bad_sections", "4 + 4 + 4 + 0 = 12", SECTIONS),
        gguf("all_0", sections(0, 0, 0, 0), "bad_sections", "= 0", SECTIONS)],
    "C19": ["scaling",
        gguf("unknown_type", llama().key("llama.rope.scaling.type", "yam"),
             "unknown_rope_type", '"yam"', "llama.rope.scaling.type"),
        gguf("factor_0", llama().key("llama.rope.scaling.factor", 0.0),
             "out_of_range", "above 0", "llama.rope.scaling.factor"),
        gguf("factor_negative", llama().key("llama.rope.scaling.factor", -2.0),
             "out_of_range", "got -2", "llama.rope.scaling.factor"),
        gguf("longrope_without_lists", llama().key("llama.rope.scaling.type", "longrope").tensor("t", [2]),
             "missing_key", "longrope", "rope_factors_long.weight")],
    "C20": ["rope_freqs",
        gguf("right", factors(*8 * [1.0])),
        gguf("right_in_f16", llama().tensor(FREQS, [8], F16, data=struct.pack("<8e", *8 * [1.0]))),
        gguf("short", factors(*7 * [1.0]), "length_mismatch", "8 numbers, one a pair, got 7", FREQS),
        gguf("quantised", llama().tensor(FREQS, [32], Q8_0, data=34 * b"\1"), "type", "F32 or F16, got Q8_0", FREQS),
        gguf("unknown_type", llama().tensor(FREQS, [32], 4, data=64 * b"\1"), "type", "unknown(4)", FREQS),
        gguf("nan", factors(1, 1, 1, math.nan, 1, 1, 1, 1), "not_finite", "number 3 of 8", FREQS, at=("data", 3 * 4)),
        gguf("nan_in_f16", llama().tensor(FREQS, [8], F16, data=struct.pack("<8e", *7 * [1.0], math.nan)),
             "not_finite", "number 7 of 8", FREQS, at=("data", 7 * 2)),
        gguf("zero", factors(1, 1, 1, 1, 1, 1, 1, 0), "out_of_range", "divisors above 0, got 0", FREQS),
        gguf("huge", llama().tensor(FREQS, [10000], data=40000 * b"\1"), "limit", "at most 8192 numbers", FREQS)],
    "C21": ["tensor name",
        gguf("length_64", llama().tensor(64 * "n", [2]), "ok", "tensor-name"),
        gguf("length_2_64", announced(llama(tensors=1), MOST, 64 * b"n"), "bad_tensor", "at most 65535 bytes"),
        gguf("empty", llama().tensor("", [2]), "ok", "tensor-name"),
        gguf("twice", llama().tensor("t", [2]).tensor("t", [2]), "bad_tensor", "stands twice", at="entry of t"),
        gguf("nul", llama().tensor("t\0x", [2]), "bad_tensor", "control characters", at="name of t\0x")],
    "C22": ["n_dims",
        gguf("scalar", llama().tensor("t", [])),
        gguf("dims_5", llama().tensor("t", [1, 1, 1, 1, 1]),
             "bad_tensor", "at most 4 dimensions, got 5", "t", at="dims of t"),
        gguf("dims_2_32", llama().tensor("t", [1], dims=2**32 - 1),
             "bad_tensor", "got 4294967295", "t", at="dims of t")],
    "C23": ["dims",
        gguf("negative", shaped(MOST), "out_of_range", str(MOST), "t", at="dim 0 of t"),
        gguf("zero", shaped(0)),
        gguf("2_63", shaped(2**63 - 1), "overflow", "2^63 bytes", "t"),
        gguf("zero_hides_another", shaped(0, 2**62, 2**62), "overflow", "2^63 elements", "t", at="dim 2 of t")],
    "C24": ["products that wrap",
        gguf("2_32_squared", shaped(2**32, 2**32), "overflow", "2^63 elements", "t", at="dim 1 of t"),
        gguf("2_62", shaped(2**62), "overflow", "2^63 bytes", "t"),
        gguf("padded_to_0", shaped(2**62 - 1), "overflow", "2^63 bytes", "t"),
        gguf("just_above", shaped(2**42 + 1, 2**22), "overflow", "2^63 elements", "t", at="dim 1 of t"),
        gguf("sum_wraps", llama().tensor("a", [2**60], data=b"").tensor("b", [2**60], offset=2**62, data=b""),
             "overflow", "in all", "b", at="offset of b")],
    "C25": ["block size",
        gguf("31", shaped(31, kind=Q8_0), "block_size", "a multiple of 32 numbers, the block of Q8_0, got 31", "t")],
    "C26": ["tensor types", *[gguf(f"type_{kind}", shaped(32, kind=kind)) for kind in (4, 5, 31, 33, 36, 38, 10**6)]],
    "C27": ["offsets",
        gguf("unaligned", llama().tensor("t", [2], offset=8, data=bytes(64)),
             "bad_offset", "offset 0", "t", at="offset of t"),
        gguf("gap", llama().tensor("a", [2]).tensor("b", [2], offset=64, data=bytes(64)),
             "bad_offset", "offset 32, where the one before ends, got 64", "b", at="offset of b"),
        gguf("overlap", llama().tensor("a", [16]).tensor("b", [2], offset=32),
             "bad_offset", "offset 64", "b", at="offset of b"),
        gguf("unsorted", llama().tensor("a", [2], offset=32).tensor("b", [2], offset=0),
             "bad_offset", "offset 0", "a", at="offset of a"),
        gguf("of_another_alignment",
             llama(alignment=64).key("general.alignment", 64).tensor("a", [2]).tensor("b", [2])),
        gguf("beyond_the_file", llama().tensor("t", [1024], data=bytes(64)),
             "truncated", "the weights are not", at="data")],
    "C28": ["split files",
        gguf("count_0", llama().key("split.count", 0), "split", "from 1 to 65535", "split.count"),
        gguf("count_65536", llama().key("split.count", 65536), "split", "got 65536", "split.count"),
        gguf("number_out_of_range", llama().key("split.count", 2).key("split.no", 2),
             "split", "below split.count, 2", "split.no"),
        gguf("second_part", llama().key("split.count", 2).key("split.no", 1), "split", "part 2 of 2", "split.no"),
        gguf("first_part", llama().key("split.count", 2).key("split.no", 0)),
        gguf("count_a_string", llama().key("split.count", "2"), "type", "an integer", "split.count")],
    "other": ["not on the checklist",
        gguf("block_count_0", architecture("llama").key("llama.block_count", 0),
             "out_of_range", "got 0", "llama.block_count"),
        gguf("block_count_missing", architecture("llama"), "missing_key", "this key", "llama.block_count"),
        gguf("heads_2_63", llama().key("llama.attention.head_count_kv", 2**63, "u64"),
             "out_of_range", "got 9.223372036854776e+18", "llama.attention.head_count_kv"),
        gguf("heads_per_layer", llama().key("llama.attention.head_count_kv", [4, 4, 4], ["i32"]),
             "length_mismatch", "each of the 2 layers", "llama.attention.head_count_kv"),
        gguf("kv_heads_do_not_divide", llama().key("llama.attention.head_count_kv", 3),
             "not_divisible", "a divisor of the 4 heads", "llama.attention.head_count_kv")],
}
