"""A Llama of random weights: its files, as llama2.c and as Hugging Face have them, and its forward pass in double."""
import json
import math
import random
import struct

import tensors

DIM, HIDDEN, HEADS, KV_HEADS, VOCAB, LENGTH = 16, 24, 2, 1, 20, 64
HEAD_DIM = DIM // HEADS
BASE, EPSILON = 10000.0, 1e-5

# The tensors of a llama2.c file, version 0, in its order: Hugging Face's name, rows (of a norm none), columns, whether
# each layer has one.
EMBEDDING = ("embed_tokens", VOCAB, DIM, False)
PARTS = [
    EMBEDDING,
    ("input_layernorm", None, DIM, True),
    ("self_attn.q_proj", DIM, DIM, True),
    ("self_attn.k_proj", KV_HEADS * HEAD_DIM, DIM, True),
    ("self_attn.v_proj", KV_HEADS * HEAD_DIM, DIM, True),
    ("self_attn.o_proj", DIM, DIM, True),
    ("post_attention_layernorm", None, DIM, True),
    ("mlp.gate_proj", HIDDEN, DIM, True),
    ("mlp.down_proj", DIM, HIDDEN, True),
    ("mlp.up_proj", HIDDEN, DIM, True),
    ("norm", None, DIM, False),
]


def rounded(values):
    return tensors.decoded("f32", tensors.encoded("f32", values))


class TinyLlama:
    """weights: {Hugging Face's name: rows}; the order of channels is Meta's."""

    def __init__(self, layers=2, vocab=VOCAB, seed=5):
        source = random.Random(seed)
        self.layers = layers
        self.vocab = vocab
        self.weights = {}
        for part in PARTS:
            _, rows, columns, _ = part
            if part is EMBEDDING:
                rows = vocab
            mean, spread = (1, 0.3) if rows is None else (0, 2 / math.sqrt(columns))  # attention is far from even
            for full_name in self.names(part):
                self.weights[full_name] = [rounded([source.gauss(mean, spread) for _ in range(columns)])
                                           for _ in range(rows or 1)]

    def names(self, part):
        name, _, _, per_layer = part
        return [f"layers.{layer}.{name}" for layer in range(self.layers)] if per_layer else [name]

    def of(self, layer, name):
        return self.weights[f"layers.{layer}.{name}"]

    # ---- files ----

    def write_llama2c(self, path):
        data = struct.pack("<7i", DIM, HIDDEN, self.layers, HEADS, KV_HEADS, self.vocab, LENGTH)
        for name in (name for part in PARTS for name in self.names(part)):
            for row in self.weights[name]:
                data += tensors.encoded("f32", row)
        data += bytes(4 * 2 * LENGTH * (HEAD_DIM // 2))  # tables of cos and sin, which nobody reads
        path.write_bytes(data)
        return path

    def write_folder(self, folder, shards=1, **config):
        """Hugging Face's order of channels: the pairs' first, then the pairs' second ones."""
        folder.mkdir()
        named = {}
        for name, rows in self.weights.items():
            if name.endswith(("q_proj", "k_proj")):
                order = [*range(0, HEAD_DIM, 2), *range(1, HEAD_DIM, 2)]
                rows = [rows[at + c] for at in range(0, len(rows), HEAD_DIM) for c in order]
            flat = [x for row in rows for x in row]
            shape = (DIM,) if "norm" in name else (len(rows), len(rows[0]))
            named[f"model.{name}.weight"] = tensors.Tensor("f32", shape, flat)
        if shards == 1:
            tensors.write_safetensors(folder / "model.safetensors", named)
        else:
            files = {name: f"model-{i % shards + 1:05}-of-{shards:05}.safetensors" for i, name in enumerate(named)}
            for file in set(files.values()):
                tensors.write_safetensors(folder / file, {n: named[n] for n in named if files[n] == file})
            (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
        (folder / "config.json").write_text(json.dumps({
            "model_type": "llama", "hidden_size": DIM, "intermediate_size": HIDDEN, "num_hidden_layers": self.layers,
            "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "vocab_size": self.vocab,
            "max_position_embeddings": LENGTH, "rope_theta": BASE, "rms_norm_eps": EPSILON,
            "tie_word_embeddings": True, **config}))
        return folder

    # ---- the forward pass ----

    def logits(self, tokens, factor=1.0, attention_factor=1.0):
        """Of every token. factor: of linear scaling, which divides positions, or one of each pair."""
        rotation = tensors.Rotation(HEAD_DIM, base=BASE, half=False)
        factors = [factor] * (HEAD_DIM // 2) if isinstance(factor, float) else factor
        x = [self.weights["embed_tokens"][token] for token in tokens]
        for layer in range(self.layers):
            y = [norm(row, self.of(layer, "input_layernorm")[0]) for row in x]
            q, k, v = ([heads(product(self.of(layer, f"self_attn.{name}_proj"), row)) for row in y] for name in "qkv")
            q, k = ([[rotation.head(head, [i / f for f in factors]) for head in row] for i, row in enumerate(rows)]
                    for rows in (q, k))
            for i, row in enumerate(x):
                out = []
                for h in range(HEADS):
                    of = h * KV_HEADS // HEADS
                    weights = softmax([attention_factor**2 * dot(q[i][h], k[j][of]) / math.sqrt(HEAD_DIM) for j in range(i + 1)])
                    out += [sum(w * v[j][of][c] for j, w in enumerate(weights)) for c in range(HEAD_DIM)]
                x[i] = add(row, product(self.of(layer, "self_attn.o_proj"), out))
            for i, row in enumerate(x):
                y = norm(row, self.of(layer, "post_attention_layernorm")[0])
                gate = [g / (1 + math.exp(-g)) for g in product(self.of(layer, "mlp.gate_proj"), y)]
                up = product(self.of(layer, "mlp.up_proj"), y)
                x[i] = add(row, product(self.of(layer, "mlp.down_proj"), [g * u for g, u in zip(gate, up)]))
        return [product(self.weights["embed_tokens"], norm(row, self.weights["norm"][0])) for row in x]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def add(a, b):
    return [x + y for x, y in zip(a, b)]


def product(matrix, x):
    return [dot(row, x) for row in matrix]


def heads(x):
    return [x[at:at + HEAD_DIM] for at in range(0, len(x), HEAD_DIM)]


def norm(x, weight):
    scale = 1 / math.sqrt(dot(x, x) / len(x) + EPSILON)
    return [c * scale * w for c, w in zip(x, weight)]


def softmax(scores):
    exponentials = [math.exp(score - max(scores)) for score in scores]
    return [e / sum(exponentials) for e in exponentials]
