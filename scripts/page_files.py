"""What the commands that pages show read: the files of the folder that they run in (capture_cli.py)."""
import math
import struct

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


def gguf(keys):
    """A GGUF file of version 3 with metadata and no tensor."""
    def text(value):
        return struct.pack("<Q", len(value)) + value.encode()

    def entry(key, value):
        if isinstance(value, str):
            return text(key) + struct.pack("<I", 8) + text(value)
        if isinstance(value, float):
            return text(key) + struct.pack("<If", 6, value)
        return text(key) + struct.pack("<II", 4, value)

    return b"GGUF" + struct.pack("<IQQ", 3, 0, len(keys)) + b"".join(entry(*item) for item in keys.items())


# Page: what is in its folder. A page that is not named begins in an empty one, and makes what it needs.
FILES = {
    "README.md": {"config.json": LONG.encode(), "model.gguf": gguf(CONVERTED), "q.npy": tensor((6, 28, 128)),
                  "k.npy": tensor((6, 4, 128)), "v.npy": tensor((6, 4, 128))},
    "docs/cli.md": {"config.json": MALFORMED.encode(), "q.npy": tensor((6, 32, 128)), "k.npy": tensor((6, 8, 128)),
                    "v.npy": tensor((6, 8, 128))},
}
