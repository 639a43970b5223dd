"""Rotations of ggml (llama.cpp's own code, of the library that ggml-compiler brings), of torchtune, of onnxruntime and of
plain torch: what diagnose says of them, right and spoiled."""

import ctypes
import importlib.util
import pathlib

import numpy as np
import pytest
import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

import posenc
from one_node import MICROSOFT, run

TOKENS, HEADS, WIDTH = 48, 4, 64
Q = np.random.default_rng(3).standard_normal((TOKENS, HEADS, WIDTH)).astype(np.float32)


def folder_of(package):
    """Where a package lies, without running any of it."""
    found = importlib.util.find_spec(package)
    return None if found is None else pathlib.Path(next(iter(found.submodule_search_locations)))


def plan_of(model_type, **keys):
    sizes = {"hidden_size": HEADS * WIDTH, "num_attention_heads": HEADS, "num_key_value_heads": HEADS, "head_dim": WIDTH, "num_hidden_layers": 1}
    return posenc.read_plan({"model_type": model_type, **sizes, **keys})


def said(plan, after, *named, start=0):
    found = posenc.diagnose(Q, after, plan, layer=0, start=start)
    if not named:
        assert found.verdict == "as the plan", found.describe()
        return
    assert found.verdict == "differs" and {one.fact for one in found.findings} & set(named), found.describe()


# ---- ggml ----

GGML = folder_of("ggml_compiler")
NORMAL, NEOX, MROPE, F32, I32 = 0, 2, 8, 0, 26


class Parameters(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


@pytest.fixture(scope="module")
def ggml():
    if GGML is None:
        pytest.skip("ggml-compiler is not installed")
    library = ctypes.CDLL(str(next(GGML.rglob("libggml*.so"))))
    pointer, whole, number = ctypes.c_void_p, ctypes.c_int64, ctypes.c_float
    for name, kind, arguments in (
        ("ggml_init", pointer, [Parameters]),
        ("ggml_free", None, [pointer]),
        ("ggml_new_tensor_1d", pointer, [pointer, ctypes.c_int, whole]),
        ("ggml_new_tensor_3d", pointer, [pointer, ctypes.c_int, whole, whole, whole]),
        ("ggml_get_data", pointer, [pointer]),
        ("ggml_rope_ext", pointer, [pointer] * 4 + [ctypes.c_int] * 3 + [number] * 6),
        ("ggml_mul_mat", pointer, [pointer] * 3),
        ("ggml_scale", pointer, [pointer, pointer, number]),
        ("ggml_tanh", pointer, [pointer] * 2),
        ("ggml_soft_max_ext", pointer, [pointer] * 3 + [number] * 2),
        ("ggml_new_graph", pointer, [pointer]),
        ("ggml_build_forward_expand", None, [pointer, pointer]),
        ("ggml_graph_compute_with_ctx", ctypes.c_int, [pointer, pointer, ctypes.c_int]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = kind, arguments
    return library


class Ggml:
    """One graph of ggml's, on one thread."""

    def __init__(self, library):
        self.library = library
        self.context = library.ggml_init(Parameters(1 << 25, None, False))

    def given(self, array, kind=F32):
        """A tensor of ggml's of this array's numbers; its first axis is the array's last."""
        array = np.ascontiguousarray(array)
        make = self.library.ggml_new_tensor_3d if array.ndim == 3 else self.library.ggml_new_tensor_1d
        tensor = make(self.context, kind, *reversed(array.shape))
        ctypes.memmove(self.library.ggml_get_data(tensor), array.ctypes.data, array.nbytes)
        return tensor

    def made(self, name, *arguments):
        return getattr(self.library, "ggml_" + name)(self.context, *arguments)

    def computed(self, *results):
        """Arrays of tensors, each given with its shape as numpy has it."""
        graph = self.library.ggml_new_graph(self.context)
        for tensor, _ in results:
            self.library.ggml_build_forward_expand(graph, tensor)
        assert self.library.ggml_graph_compute_with_ctx(self.context, graph, 1) == 0
        out = [np.empty(shape, np.float32) for _, shape in results]
        for array, (tensor, _) in zip(out, results, strict=True):
            ctypes.memmove(array.ctypes.data, self.library.ggml_get_data(tensor), array.nbytes)
        self.library.ggml_free(self.context)
        return out


def by_ggml(ggml, mode, *, width=WIDTH, base=10000.0, scale=1.0, start=0, factors=None, original=0, ramp=0.0, attention=1.0):
    """ggml_rope_ext as llama.cpp calls it."""
    graph = Ggml(ggml)
    places = graph.given(np.arange(start, start + TOKENS, dtype=np.int32), I32)
    c = None if factors is None else graph.given(np.asarray(factors, np.float32))
    y = graph.made("rope_ext", graph.given(Q), places, c, width, mode, original, base, scale, ramp, attention, 32.0, 1.0)
    return graph.computed((y, Q.shape))[0]


def test_ggml_as_the_plan(ggml):
    # Those that MODELS below has not: another start, and ways in which configs say a part of the head.
    said(plan_of("qwen2", rope_theta=1e6), by_ggml(ggml, NEOX, base=1e6, start=4000), start=4000)
    said(plan_of("phi3"), by_ggml(ggml, NEOX))
    said(plan_of("gpt_neox", rotary_pct=0.25), by_ggml(ggml, NEOX, width=WIDTH // 4))


# Heads, KV heads, keys of the config, cap and ALiBi's max_bias of models whose attention llama.cpp has in these steps.
ATTENTION = (
    ("qwen2", 2, {}, 0.0, 0.0), ("mistral", 4, {"sliding_window": 12}, 0.0, 0.0), ("phi3", 2, {}, 0.0, 0.0),
    ("starcoder2", 1, {}, 0.0, 0.0), ("olmo2", 4, {}, 0.0, 0.0), ("gemma", 1, {}, 0.0, 0.0),
    ("gemma2", 2, {"attn_logit_softcapping": 5.0, "query_pre_attn_scalar": 48, "sliding_window": 4096}, 5.0, 0.0),
    ("granite", 2, {"attention_multiplier": 0.2}, 0.0, 0.0), ("cohere", 2, {}, 0.0, 0.0), ("glm4", 2, {}, 0.0, 0.0),
    ("bloom", 4, {"n_head": HEADS, "n_layer": 1}, 0.0, 8.0), ("mpt", 4, {"d_model": HEADS * WIDTH, "n_heads": HEADS, "n_layers": 1}, 0.0, 8.0),
)


def attended_by_ggml(ggml, q, k, v, *, scale, cap, max_bias, window=None):
    """build_attn_mha of llama.cpp without flash attention. Scores before the softmax's scale and bias are not given on."""
    graph = Ggml(ggml)
    i, j = np.arange(TOKENS)[:, None], np.arange(TOKENS)[None]
    seen = (j <= i) & (j > i - (window or TOKENS))
    # The mask holds the distance that ALiBi's slopes multiply.
    mask = np.where(seen, -np.abs(i - j) if max_bias else 0.0, -np.inf).astype(np.float32)[None]
    kq = graph.made("mul_mat", graph.given(k.transpose(1, 0, 2)), graph.given(q.transpose(1, 0, 2)))
    if cap:
        kq = graph.made("scale", graph.made("tanh", graph.made("scale", kq, scale / cap)), cap)
    weights = graph.made("soft_max_ext", kq, graph.given(mask), 1.0 if cap else scale, max_bias)
    out = graph.made("mul_mat", graph.given(v.transpose(1, 2, 0)), weights)
    weights, out = graph.computed((weights, (HEADS, TOKENS, TOKENS)), (out, (HEADS, TOKENS, WIDTH)))
    return weights, out.transpose(1, 0, 2)


@pytest.mark.parametrize("case", ATTENTION, ids=lambda case: case[0])
def test_attention_of_ggml(ggml, case):
    model_type, kv_heads, keys, cap, max_bias = case
    plan = plan_of(model_type, num_key_value_heads=kv_heads, **keys)
    layer = plan.stacks[0].layers[0]
    assert (layer.heads, layer.kv_heads, layer.head_dim) == (HEADS, kv_heads, WIDTH)
    rng = np.random.default_rng(5)
    k, v = (rng.standard_normal((TOKENS, kv_heads, WIDTH)).astype(np.float32) for _ in range(2))
    window = None if layer.mask.window is None else layer.mask.window.past + 1
    right = {"scale": layer.softmax_scale, "cap": cap, "max_bias": max_bias, "window": window}

    def named(**changed):
        weights, out = attended_by_ggml(ggml, Q, k, v, **{**right, **changed})
        found = posenc.diagnose_attention(layer, Q, k, v, weights=weights, out=out, plan=plan)
        return found.verdict, {one.fact for one in found.findings}

    assert named() == ("as the plan", set())
    assert named(scale=2 * layer.softmax_scale) == ("differs", {"scale"})
    if cap:
        assert named(cap=0.0) == ("differs", {"soft_cap"})
    if max_bias:
        assert named(max_bias=0.0) == ("differs", {"slopes"})


def test_ggml_spoiled(ggml):
    said(plan_of("llama"), by_ggml(ggml, NORMAL), "pairing")
    said(plan_of("qwen2", rope_theta=1e6), by_ggml(ggml, NEOX), "base")
    said(plan_of("qwen2"), by_ggml(ggml, NEOX, start=1), "offset")
    said(plan_of("qwen2"), by_ggml(ggml, NEOX, scale=0.25), "scaling", "step")
    said(plan_of("glm4", partial_rotary_factor=0.5), by_ggml(ggml, NORMAL), "dim")
    rule = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192}
    said(plan_of("llama", rope_theta=500000.0, rope_scaling=rule), by_ggml(ggml, NEOX, base=500000.0), "scaling")
    yarn = {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}
    said(plan_of("qwen2", rope_theta=1e6, **yarn),
         by_ggml(ggml, NEOX, base=1e6, scale=0.25, original=32768, ramp=1.0, attention=1 / (1 + 0.1 * np.log(4.0))),
         "attention_factor")


# ---- torchtune ----

TUNE = folder_of("torchtune")


def by_torchtune(file, kind, *made, **named):
    """A class of a file of torchtune's, which needs torch alone; the package needs a torchao of its time."""
    if TUNE is None:
        pytest.skip("torchtune is not installed")
    found = importlib.util.spec_from_file_location("torchtune_rotation", TUNE / file)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return getattr(module, kind)(*made, **named)(torch.from_numpy(Q)[None])[0].numpy()


PLAIN, LLAMA3 = "modules/position_embeddings.py", "models/llama3_1/_position_embeddings.py"


def test_torchtune_as_the_plan():
    # torchtune has Meta's order of rows: the pairs of Llama and Mistral are neighbours, as Cohere's are here.
    said(plan_of("cohere", rope_theta=10000.0), by_torchtune(PLAIN, "RotaryPositionalEmbeddings", WIDTH, 128, 10000))
    said(plan_of("cohere", rope_theta=500000.0), by_torchtune(PLAIN, "RotaryPositionalEmbeddings", WIDTH, 128, 500000))
    said(plan_of("qwen2", rope_theta=1e6),
         by_torchtune("models/qwen2/_positional_embeddings.py", "Qwen2RotaryPositionalEmbeddings", WIDTH, 128, 1e6))
    said(plan_of("phi3"), by_torchtune("models/phi3/_position_embeddings.py", "Phi3RotaryPositionalEmbeddings", WIDTH, 128))
    rule = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192}
    said(plan_of("cohere", rope_theta=500000.0, rope_scaling=rule),
         by_torchtune(LLAMA3, "Llama3ScaledRoPE", WIDTH, 128, 500000, 8))


def test_torchtune_spoiled():
    said(plan_of("llama"), by_torchtune(PLAIN, "RotaryPositionalEmbeddings", WIDTH, 128, 10000), "pairing")
    said(plan_of("cohere", rope_theta=500000.0), by_torchtune(LLAMA3, "Llama3ScaledRoPE", WIDTH, 128, 500000, 8), "scaling")


# ---- onnxruntime and torch, by the tables of transformers: a dozen models ----

LLAMA3_RULE = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
               "original_max_position_embeddings": 8192}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
LINEAR = {"rope_type": "linear", "factor": 4.0}
# model_type, its base, rule and rotated part, and whether neighbours are a pair.
MODELS = (
    ("llama", 10000.0, {}, 1.0, False), ("llama", 500000.0, LLAMA3_RULE, 1.0, False), ("mistral", 1e6, {}, 1.0, False),
    ("qwen2", 1e6, {}, 1.0, False), ("qwen3", 1e6, YARN, 1.0, False), ("gemma", 10000.0, {}, 1.0, False),
    ("phi", 10000.0, {}, 0.5, False), ("stablelm", 10000.0, {}, 0.25, False), ("olmo2", 500000.0, {}, 1.0, False),
    ("starcoder2", 10000.0, LINEAR, 1.0, False), ("cohere", 10000.0, {}, 1.0, True), ("glm4", 10000.0, {}, 0.5, True),
    ("nemotron", 10000.0, {}, 0.5, False),
)


def tables_of(base, rule, width):
    """cos and sin of each pair, [TOKENS, width / 2], by transformers' own rules."""
    config = LlamaConfig(head_dim=width, max_position_embeddings=131072, rope_parameters={"rope_type": "default", **rule, "rope_theta": base})
    cos, sin = LlamaRotaryEmbedding(config)(torch.zeros(1), torch.arange(TOKENS)[None])
    return cos[0, :, : width // 2].contiguous(), sin[0, :, : width // 2].contiguous()


def by_onnxruntime(cos, sin, width, interleaved, domain):
    x, ids = torch.from_numpy(Q)[None], torch.arange(TOKENS)[None]
    part = {"num_heads": HEADS, "rotary_embedding_dim": width} if width < WIDTH or not domain else {}
    rows = x.transpose(1, 2)
    inputs = {"x": rows, "ids": ids, "cos": cos, "sin": sin} if domain else {"x": rows, "cos": cos, "sin": sin, "ids": ids}
    return run("RotaryEmbedding", inputs, domain=domain, interleaved=int(interleaved), **part)[0].transpose(0, 1).numpy()


def by_torch(cos, sin, width, interleaved):
    x, cos, sin = torch.from_numpy(Q), cos[:, None], sin[:, None]
    turned, rest = x[..., :width], x[..., width:]
    if interleaved:
        pairs = torch.view_as_complex(turned.unflatten(-1, (-1, 2)).contiguous())
        turned = torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2)
    else:
        a, b = turned.chunk(2, -1)
        turned = torch.cat([a * cos - b * sin, b * cos + a * sin], -1)
    return torch.cat([turned, rest], -1).numpy()


def rotated_by_ggml(ggml, model_type, base, rule, width, interleaved):
    """As GGUF files of the model have them: linear is a scale, llama3 a list of factors, YaRN's attention factor ggml's own."""
    mode, given = NORMAL if interleaved else NEOX, {}
    if rule == LINEAR:
        given = {"scale": 1 / rule["factor"]}
    elif rule == YARN:
        given = {"scale": 1 / rule["factor"], "original": rule["original_max_position_embeddings"], "ramp": 1.0}
    elif rule == LLAMA3_RULE:
        plan = plan_of(model_type, rope_theta=base, rope_scaling=rule)
        rope = plan.stacks[0].layers[0].rotate[0].rope
        given = {"factors": base ** (-2 * np.arange(width // 2) / width) / np.asarray(posenc.frequencies(rope).inv_freq)}
    return by_ggml(ggml, mode, width=width, base=base, **given)


# transformers' own code runs in test_diagnose.py, two dozen families of it.
@pytest.mark.parametrize("engine", ["ggml", "onnx", "microsoft", "torch"])
def test_a_dozen_models(engine, request):
    assert len({model_type for model_type, *_ in MODELS}) >= 12
    ggml = request.getfixturevalue("ggml") if engine == "ggml" else None
    for model_type, base, rule, part, interleaved in MODELS:
        keys = {"rope_theta": base, "max_position_embeddings": 131072, **({"rope_scaling": rule} if rule else {})}
        if part != 1.0:
            keys["partial_rotary_factor"] = part
        width = int(part * WIDTH)
        cos, sin = tables_of(base, rule, width)
        plan = plan_of(model_type, **keys)

        def ported(cos, sin, pairing):
            if engine == "torch":
                return by_torch(cos, sin, width, pairing)
            return by_onnxruntime(cos, sin, width, pairing, MICROSOFT if engine == "microsoft" else "")

        if ggml is not None:
            said(plan, rotated_by_ggml(ggml, model_type, base, rule, width, interleaved))
            said(plan, rotated_by_ggml(ggml, model_type, base, rule, width, not interleaved), "pairing")
            continue
        said(plan, ported(cos, sin, interleaved))
        said(plan, ported(cos, sin, not interleaved), "pairing")
        said(plan, ported(cos, -sin, interleaved), "direction")
