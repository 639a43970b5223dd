"""Files that grow in one way each, to be measured: by name, a function from a size to about so many bytes."""
import copy
import json
import pathlib
import struct
import sys

import tool

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
import gguf_file


def config(**changes):
    return tool.small(**changes)


def many(count, one):
    """An object of `count` members, one(i) a key's text."""
    return {one(i): i for i in range(count)}


def with_text(text, **changes):
    """`text` as it is, in front of the members of a config."""
    return b"{" + text + b", " + config(**changes)[1:]


CONFIGS = {
    "a long word": lambda n: config(model_type="m" * n),
    "many words": lambda n: config(model_type="m " * (n // 2)),
    "wide characters": lambda n: with_text(b'"model_type": "' + "\u6f22".encode() * (n // 3) + b'"', model_type=None),
    "control characters": lambda n: config(architectures=["\x1b" * (n // 6)], model_type=None),
    "escapes": lambda n: config(note="\u00e9" * (n // 6)),
    "an unread long key": lambda n: config(**{"k" * n: 1}),
    "many unread keys": lambda n: config(**many(n // 24, "unread_{:012}".format)),
    "many misspelled keys": lambda n: config(**many(n // 24, "rope_theta{:07}".format)),
    "a long key in the rope dictionary": lambda n: config(rope_scaling={"rope_type": "default", "f" * n: 1}),
    "many keys in the rope dictionary": lambda n: config(
        rope_scaling={"rope_type": "default", **many(n // 24, "unread_{:012}".format)}),
    "a long rule": lambda n: config(rope_scaling={"rope_type": "r" * n}),
    "many keys of a part that is not known": lambda n: config(
        **{"p" * (n // 2) + "_config": {"model_type": "what", **many(n // 48, "unread_{:012}".format)}}),
    "a rope dictionary for each of many kinds of layers": lambda n: config(
        rope_parameters={f"kind_{i:08}": {"rope_type": "default", "rope_theta": 1e4} for i in range(n // 60)}),
    "keys below a long kind of layers": lambda n: config(
        rope_parameters={"k" * (n // 2): many(n // 48, "unread_{:012}".format)}),
    "many duplicate keys": lambda n: with_text(b", ".join([b'"twice": 1'] * (n // 12))),
    "many pairs of duplicate keys": lambda n: with_text(
        b", ".join(b'"twice_%09d": 1, "twice_%09d": 2' % (i, i) for i in range(n // 38))),
    "a long number": lambda n: with_text(b'"vocab_size": 1' + b"0" * n),
    "a long fraction": lambda n: with_text(b'"rope_theta": 10000.' + b"0" * n, rope_theta=None),
    "two lists beyond all numbers": lambda n: with_text(
        b'"layer_types": [' + b",".join([b"1e999"] * (n // 12)) + b'], "layers_block_type": [' +
        b",".join([b"1e998"] * (n // 12)) + b"]"),
    "a list for layers": lambda n: config(layer_types=["full_attention"] * (n // 18)),
    "deep lists": lambda n: with_text(b'"deep": ' + b"[" * 100 + b",".join([b"1"] * (n // 2)) + b"]" * 100),
    "many deep lists": lambda n: with_text(b'"deep": [' + b",".join([b"[" * 99 + b"]" * 99] * (n // 199)) + b"]"),
    "many lines": lambda n: with_text(b'"lines": [' + b",\n".join([b"1"] * (n // 3)) + b"]"),
    "an error at the end of many lines": lambda n: with_text(b"\n" * n + b'"rope_theta": -1', rope_theta=None),
    "a broken end": lambda n: config(note="m" * n)[:-2],
    "spaces": lambda n: b" " * n + config(),
}


def saved_plan(change):
    """What `inspect --json` prints of a small model, changed by change(plan, n)."""
    plan = json.loads(tool.posenc("inspect", "--json", "-", stdin=config()).out)

    def text(n):
        one = copy.deepcopy(plan)
        change(one, n)
        return json.dumps(one).encode()
    return text


def change_layers(change):
    return saved_plan(lambda plan, n: change(plan["stacks"][0]["layers"], n))


def repeated(count, layer, change):
    """`count` copies of a layer, change(copy, i) made to each."""
    out = []
    for i in range(count):
        one = json.loads(layer)
        one["index"] = i
        change(one, i)
        out.append(one)
    return out


def bare_layers(layers, n):
    layers[:] = [{"index": i, "kind": "none"} for i in range(min(n // 40, 16000))]


def score_terms(layers, n):
    layers[0]["score"] = [{"kind": "clipped", "past": i, "future": 1} for i in range(n // 60)]


def set_first(layers, path, value):
    at = layers[0]
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value


def plans():
    def put(*path):
        def make(value):
            def change(plan, n):
                at = plan
                for key in path[:-1]:
                    at = at[key]
                at[path[-1]] = value(n)
            return saved_plan(change)
        return make
    warning = {"code": "odd", "message": "It is odd.", "keys": []}
    return {
        "a plan's long name": put("source", "name")(lambda n: "m" * n),
        "a plan's long family": put("family")(lambda n: "m" * n),
        "a plan's many sources": put("sources")(
            lambda n: {f"/stacks/0/layers/0-2/fact_{i:08}": f"/key_{i:08}" for i in range(n // 64)}),
        "a plan's many sources of one key": put("sources")(
            lambda n: {f"/stacks/0/layers/0-2/fact_{i:08}": "/key" for i in range(n // 56)}),
        "a plan's many owners": put("sources")(
            lambda n: {f"/stacks/0/layers/{i}-{i + 1}/heads": "/key" for i in range(n // 50)}),
        "a plan's many ignored keys": put("ignored_keys")(lambda n: [f"/key_{i:08}" for i in range(n // 18)]),
        "a plan's many warnings": put("warnings")(
            lambda n: [{**warning, "message": f"Odd {i:08}."} for i in range(n // 64)]),
        "a plan's long warning": put("warnings")(lambda n: [{**warning, "message": "m" * n}]),
        "a plan's many keys of a warning": put("warnings")(
            lambda n: [{**warning, "keys": [f"/key_{i:08}" for i in range(n // 18)]}]),
        "a plan's many stacks": put("stacks")(
            lambda n: [{"name": f"stack_{i:08}", "input": [], "layers": []} for i in range(n // 56)]),
        "a plan's long mask": change_layers(
            lambda layers, n: set_first(layers, ["mask"], {"kind": "sparse", "window": None, "chunk": None,
                                                           "detail": "m" * n})),
        "a plan's many layers": change_layers(bare_layers),
        "a plan's many score terms": change_layers(score_terms),
        "a plan's long axis": change_layers(
            lambda layers, n: set_first(layers, ["rotate", 0, "axes"], ["m" * n])),
        "a plan's many axes": change_layers(
            lambda layers, n: set_first(layers, ["rotate", 0, "axes"], ["t"] * (n // 5))),
    }


def gguf(**changes):
    file = gguf_file.Gguf().key("general.architecture", "llama")
    for name, value in {"block_count": 2, "context_length": 64, "embedding_length": 64, "attention.head_count": 4,
                        "rope.freq_base": 1e4, **changes}.items():
        file.key(f"llama.{name}", value)
    return file


def many_keys(n):
    file = gguf()
    for i in range(min(n // 40, 4000)):
        file.key(f"llama.rope.unread_{i:08}", 1)
    for i in range(n // 40):
        file.key(f"other.unread_{i:012}", 1)
    return file.bytes()


def long_keys(n):
    file = gguf()
    for i in range(n // 65000):
        file.key(f"llama.rope.{i:04}" + "k" * 64900, 1)
    return file.bytes()


def many_tensors(n):
    file = gguf()
    for i in range(n // 56):
        file.tensor(f"tensor_{i:08}", [1], offset=32 * i, data=b"")
    header = file.header()
    return header + bytes(-len(header) % 32 + 32 * (n // 56))


GGUFS = {
    "a long string": lambda n: gguf(**{"rope.scaling.type": "m" * n}).bytes(),
    "a long string that nobody reads": lambda n: gguf(note="m" * n).bytes(),
    "an array": lambda n: gguf(**{"attention.sliding_window_pattern": [1] * (n // 4)}).bytes(),
    "an array of strings": lambda n: gguf(tokens=["m"] * (n // 9)).bytes(),
    "many keys": many_keys,
    "long keys": long_keys,
    "many tensors": many_tensors,
}


def safetensors(header, data=b""):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(begin):
    return {"dtype": "F32", "shape": [1], "data_offsets": [4 * begin, 4 * begin + 4]}


def projections(layers):
    names = [f"model.layers.{i}.self_attn.{kind}_proj.weight" for i in range(layers) for kind in "qk"]
    return safetensors({name: {"dtype": "BF16", "shape": [64 if ".q" in name else 32, 1],
                               "data_offsets": [96 * i + i % 2 * 32, 96 * i + 128 - i % 2 * 32]}
                        for i, name in enumerate(names)}, bytes(96 * len(names)))


TENSORS = {
    "many tensors": lambda n: safetensors({f"tensor_{i:08}": entry(i) for i in range(n // 84)}, bytes(4 * (n // 84))),
    "a long name": lambda n: safetensors({"m" * n: entry(0), "q": entry(1)}, bytes(8)),
    "long metadata": lambda n: safetensors({"__metadata__": {"m": "m" * n}, "q": entry(0)}, bytes(4)),
    "many metadata": lambda n: safetensors({"__metadata__": {f"key_{i:08}": "m" for i in range(n // 22)},
                                            "q": entry(0)}, bytes(4)),
    "projections of many layers": lambda n: projections(n // 400),
    "a long type": lambda n: safetensors({"q": {**entry(0), "dtype": "m" * n}}, bytes(4)),
    "a long shape": lambda n: safetensors({"q": {**entry(0), "shape": [1] * (n // 3)}}, bytes(4)),
}


def index(weight_map):
    return json.dumps({"metadata": {}, "weight_map": weight_map}).encode()


INDICES = {
    "many tensors of a file that is not there": lambda n: index({f"tensor_{i:08}": "model-0.safetensors"
                                                                 for i in range(n // 44)}),
    "many files": lambda n: index({f"tensor_{i:08}": f"model-{i:08}.safetensors" for i in range(n // 52)}),
    "a long name": lambda n: index({"m" * n: "model-0.safetensors"}),
    "a long file": lambda n: index({"tensor": "m" * n}),
}
LISTS = {
    "many lines": lambda n: b"llama-2-7b\n" * 20 + b"no-such\n" * (n // 4096),
    "lines without a word": lambda n: b"\n" * n,
    "a long word": lambda n: b"m" * n,
}
