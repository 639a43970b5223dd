"""The port of docs/stories/slightly-worse-glm4.md: what its layers dump, day by day, as files.

GLM-4 rotates the first half of each head's channels, neighbours together; 8 query heads share 2 KV heads in groups of
four. The port gets three of these things wrong, one after the other.
"""
import json
import math
import struct

TOKENS, HEADS, KV_HEADS, WIDTH, ROTATED = 24, 8, 2, 64, 32
CONFIG = {"model_type": "glm4", "hidden_size": HEADS * WIDTH, "num_hidden_layers": 4, "num_attention_heads": HEADS,
          "num_key_value_heads": KV_HEADS, "head_dim": WIDTH, "partial_rotary_factor": ROTATED / WIDTH,
          "rope_theta": 10000.0, "max_position_embeddings": 32768, "vocab_size": 1000}


def numbers(count, seed):
    """From -1.5 to 1.5, the same everywhere: a linear congruential generator."""
    out = []
    for _ in range(count):
        seed = seed * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        out.append(3 * (seed >> 40) / 2**24 - 1.5)
    return out


def heads(count, seed):
    """[tokens][heads][channels]"""
    flat = numbers(TOKENS * count * WIDTH, seed)
    return [[flat[(t * count + h) * WIDTH:][:WIDTH] for h in range(count)] for t in range(TOKENS)]


def rotated(x, neighbours, first):
    out = [[list(head) for head in token] for token in x]
    for t, token in enumerate(x):
        for h, head in enumerate(token):
            for p in range(ROTATED // 2):
                a, b = (2 * p, 2 * p + 1) if neighbours else (p, p + ROTATED // 2)
                angle = (t + first) * 10000.0 ** (-2 * p / ROTATED)
                out[t][h][a] = head[a] * math.cos(angle) - head[b] * math.sin(angle)
                out[t][h][b] = head[a] * math.sin(angle) + head[b] * math.cos(angle)
    return out


def attended(q, k, v, kv_head):
    out = [[None] * HEADS for _ in range(TOKENS)]
    for h in range(HEADS):
        g = kv_head(h)
        for i in range(TOKENS):
            scores = [sum(a * b for a, b in zip(q[i][h], k[j][g])) / math.sqrt(WIDTH) for j in range(i + 1)]
            weights = [math.exp(score - max(scores)) for score in scores]
            total = sum(weights)
            out[i][h] = [sum(w * v[j][g][c] for j, w in enumerate(weights)) / total for c in range(WIDTH)]
    return out


def npy(x):
    shape = (len(x), len(x[0]), len(x[0][0]))
    flat = [c for token in x for head in token for c in head]
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header += b" " * (-(10 + len(header) + 1) % 64) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(flat)}f", *flat)


def files():
    q, k, v = heads(HEADS, 1), heads(KV_HEADS, 2), heads(KV_HEADS, 3)
    right_q, right_k = rotated(q, True, 0), rotated(k, True, 0)
    return {
        "config.json": json.dumps(CONFIG, indent=2).encode(),
        "q.npy": npy(q),
        "v.npy": npy(v),
        "monday.npy": npy(rotated(q, False, 0)),
        "tuesday.npy": npy(right_q),
        "tuesday-1.npy": npy(rotated(q, True, 1)),
        "q-rotated.npy": npy(right_q),
        "k-rotated.npy": npy(right_k),
        "wednesday.npy": npy(attended(right_q, right_k, v, lambda h: h % KV_HEADS)),
        "thursday.npy": npy(attended(right_q, right_k, v, lambda h: h // (HEADS // KV_HEADS))),
    }
