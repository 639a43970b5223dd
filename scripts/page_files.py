"""What the commands that pages show read: the files of the folder that they run in (capture_cli.py)."""
import json
import math
import struct

import glm4_port

# A factor that cannot be.
MALFORMED = """{
  "model_type": "llama",
  "hidden_size": 256,
  "num_attention_heads": 4,
  "num_hidden_layers": 4,
  "max_position_embeddings": 4096,
  "rope_theta": 10000.0,
  "rope_scaling": {
    "type": "linear",
    "factor": -2
  }
}
"""

# Qwen2.5 7B with the rule that its model card names for long texts.
LONG = """{
  "model_type": "qwen2",
  "hidden_size": 3584,
  "num_attention_heads": 28,
  "num_key_value_heads": 4,
  "num_hidden_layers": 28,
  "max_position_embeddings": 131072,
  "rope_theta": 1000000.0,
  "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
}
"""

# The same as GGUF, from which that rule was lost.
CONVERTED = {
    "general.architecture": "qwen2",
    "qwen2.block_count": 28,
    "qwen2.context_length": 131072,
    "qwen2.embedding_length": 3584,
    "qwen2.attention.head_count": 28,
    "qwen2.attention.head_count_kv": 4,
    "qwen2.rope.freq_base": 1e6,
}


def tensor(shape):
    """A .npy file of f32 that count up from -1 in steps of 2^-12."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    count = math.prod(shape)
    numbers = struct.pack(f"<{count}f", *(i / 4096 - 1 for i in range(count)))
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + numbers


# A Llama of one layer, and a DeepSeek, so small that a page can show all of them.
LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
         "num_hidden_layers": 1, "max_position_embeddings": 2048, "rope_theta": 10000.0}
DEEPSEEK = {"model_type": "deepseek_v3", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 4,
            "num_hidden_layers": 1, "q_lora_rank": 32, "kv_lora_rank": 32, "qk_nope_head_dim": 16,
            "qk_rope_head_dim": 8, "v_head_dim": 16, "max_position_embeddings": 2048, "rope_theta": 10000.0,
            "rope_interleave": True}
PROJECTIONS = {
    "llama": {"q_proj": [64, 64], "k_proj": [32, 64], "v_proj": [32, 64], "o_proj": [64, 64]},
    "deepseek": {"q_a_proj": [32, 64], "q_b_proj": [96, 32], "kv_a_proj_with_mqa": [40, 64], "kv_b_proj": [128, 32],
                 "o_proj": [64, 64]},
}


def bf16(count):
    """Numbers that count up from 1, 2^-7 at a time, and over again."""
    return b"".join(struct.pack("<H", 0x3F80 + i % 128) for i in range(count))


def safetensors(shapes):
    """Tensors of bf16, one after another."""
    header, data = {}, b""
    for name, shape in shapes.items():
        part = bf16(math.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def attention(model):
    return safetensors({f"model.layers.0.self_attn.{name}.weight": shape for name, shape in PROJECTIONS[model].items()})


def gguf(keys, tensors=()):
    """A GGUF file of version 3 with metadata, and tensors of Q8_0: (name, rows), each of 64 numbers."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def entry(key, value):
        if isinstance(value, str):
            return text(key) + struct.pack("<I", 8) + text(value)
        if isinstance(value, float):
            return text(key) + struct.pack("<If", 6, value)
        return text(key) + struct.pack("<II", 4, value)

    table, data = b"", b""
    for name, rows in tensors:
        table += text(name) + struct.pack("<IQQIQ", 2, 64, rows, 8, len(data))
        data += b"".join(bytes([i % 251]) for i in range(rows * 2 * 34))
        data += bytes(-len(data) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    head += b"".join(entry(*item) for item in keys.items()) + table
    return head + bytes(-len(head) % 32) + data if tensors else head


# As llama.cpp has a Llama's keys.
LLAMA_GGUF = {
    "general.architecture": "llama",
    "llama.block_count": 1,
    "llama.context_length": 2048,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.rope.dimension_count": 16,
    "llama.rope.freq_base": 10000.0,
}


# Page: what is in its folder, or what makes it. A page that is not named begins in an empty one, and makes what it needs.
FILES = {
    "README.md": {"config.json": LONG.encode(), "model.gguf": gguf(CONVERTED), "q.npy": tensor((6, 28, 128)),
                  "k.npy": tensor((6, 4, 128)), "v.npy": tensor((6, 4, 128)),
                  "llama/config.json": json.dumps(LLAMA, indent=2).encode(), "llama/model.safetensors": attention("llama")},
    "docs/cli.md": {"config.json": MALFORMED.encode(), "q.npy": tensor((6, 32, 128)), "k.npy": tensor((6, 8, 128)),
                    "v.npy": tensor((6, 8, 128)), "llama/config.json": json.dumps(LLAMA, indent=2).encode(),
                    "llama/model.safetensors": attention("llama")},
    "docs/convert.md": {"llama/config.json": json.dumps(LLAMA, indent=2).encode(),
                        "llama/model.safetensors": attention("llama"),
                        "deepseek/config.json": json.dumps(DEEPSEEK, indent=2).encode(),
                        "deepseek/model.safetensors": attention("deepseek"),
                        "unpermuted.gguf": gguf(LLAMA_GGUF, [("blk.0.attn_q.weight", 64), ("blk.0.attn_k.weight", 32),
                                                             ("blk.0.attn_v.weight", 32)]),
                        "pytorch_model.bin": b"PK"},
    "docs/vectors.md": {"q.npy": tensor((6, 32, 128))},
    "docs/stories/slightly-worse-glm4.md": glm4_port.files,
}


def files_of(page):
    """By name, in bytes."""
    files = FILES.get(page, {})
    return files() if callable(files) else files
