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
        ("ggml_new_graph", pointer, [pointer]),
        ("ggml_build_forward_expand", None, [pointer, pointer]),
        ("ggml_graph_compute_with_ctx", ctypes.c_int, [pointer, pointer, ctypes.c_int]),
    ):
        function = getattr(library, name)
        function.restype, function.argtypes = kind, arguments
    return library


def by_ggml(ggml, mode, *, width=WIDTH, base=10000.0, scale=1.0, start=0, factors=None, original=0, ramp=0.0, attention=1.0):
    """ggml_rope_ext as llama.cpp calls it."""
    context = ggml.ggml_init(Parameters(1 << 24, None, False))

    def given(array, kind, shape):
        make = ggml.ggml_new_tensor_3d if len(shape) == 3 else ggml.ggml_new_tensor_1d
        tensor = make(context, kind, *shape)
        ctypes.memmove(ggml.ggml_get_data(tensor), np.ascontiguousarray(array).ctypes.data, array.nbytes)
        return tensor

    x = given(Q, F32, (WIDTH, HEADS, TOKENS))
    places = given(np.arange(start, start + TOKENS, dtype=np.int32), I32, (TOKENS,))
    c = None if factors is None else given(np.asarray(factors, np.float32), F32, (len(factors),))
    y = ggml.ggml_rope_ext(context, x, places, c, width, mode, original, base, scale, ramp, attention, 32.0, 1.0)
    graph = ggml.ggml_new_graph(context)
    ggml.ggml_build_forward_expand(graph, y)
    assert ggml.ggml_graph_compute_with_ctx(context, graph, 1) == 0
    out = np.empty_like(Q)
    ctypes.memmove(out.ctypes.data, ggml.ggml_get_data(y), out.nbytes)
    ggml.ggml_free(context)
    return out


def test_ggml_as_the_plan(ggml):
    # qwen2 is NeoX in llama.cpp; glm4 and cohere are not; llama is once its rows are permuted.
    said(plan_of("qwen2"), by_ggml(ggml, NEOX))
    said(plan_of("qwen2", rope_theta=1e6), by_ggml(ggml, NEOX, base=1e6, start=4000), start=4000)
    said(plan_of("cohere", rope_theta=10000.0), by_ggml(ggml, NORMAL))
    said(plan_of("glm4", partial_rotary_factor=0.5), by_ggml(ggml, NORMAL, width=WIDTH // 2))
    said(plan_of("phi3"), by_ggml(ggml, NEOX))
    said(plan_of("stablelm", partial_rotary_factor=0.25), by_ggml(ggml, NEOX, width=WIDTH // 4))
    said(plan_of("gpt_neox", rotary_pct=0.25), by_ggml(ggml, NEOX, width=WIDTH // 4))
    for alike in ("gemma", "starcoder2", "olmo2"):
        said(plan_of(alike, rope_theta=10000.0), by_ggml(ggml, NEOX))
    said(plan_of("phi", partial_rotary_factor=0.5), by_ggml(ggml, NEOX, width=WIDTH // 2))
    linear = {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}
    said(plan_of("qwen2", **linear), by_ggml(ggml, NEOX, scale=0.25))
    # llama3's rule is a list of factors in GGUF.
    rule = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192}
    llama3 = plan_of("llama", rope_theta=500000.0, rope_scaling=rule)
    rope = llama3.stacks[0].layers[0].rotate[0].rope
    plain = 500000.0 ** (-2 * np.arange(WIDTH // 2) / WIDTH)
    factors = plain / np.asarray(posenc.frequencies(rope).inv_freq)
    said(llama3, by_ggml(ggml, NEOX, base=500000.0, factors=factors))
    # YaRN: llama.cpp makes the attention factor 0.1 ln(factor) + 1 of an attn_factor of 1.
    yarn = {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}}
    said(plan_of("qwen2", rope_theta=1e6, **yarn),
         by_ggml(ggml, NEOX, base=1e6, scale=0.25, original=32768, ramp=1.0))


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


@pytest.mark.parametrize("engine", ["onnx", "microsoft", "torch"])
def test_a_dozen_models(engine):
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

        said(plan, ported(cos, sin, interleaved))
        said(plan, ported(cos, sin, not interleaved), "pairing")
        said(plan, ported(cos, -sin, interleaved), "direction")
