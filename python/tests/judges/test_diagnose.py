"""Ports that are not ours, right and spoiled: transformers, onnxruntime, rotary-embedding-torch, x-transformers, and a
module as people write them. What diagnose says of each must be the truth."""

import importlib
import os

import pytest
import torch
import transformers
from rotary_embedding_torch import RotaryEmbedding
from x_transformers import x_transformers

import posenc
import posenc.torch
from one_node import MICROSOFT, run
from posenc.conformance.families import FAMILIES

TOKENS, WIDTH, HEADS = 40, 64, 4


def random(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def facts(found):
    return {finding.fact for finding in found.findings}


def must_be(found, named, words=""):
    """`named`: facts, one of which names it; empty: as the plan."""
    if not named:
        assert found.verdict == "as the plan", found.describe()
        return
    assert found.verdict == "differs", found.describe()
    likely = max(found.findings, key=lambda of: of.confidence)
    assert facts(found) & named, found.describe()
    assert likely.fact in named or likely.confidence < 0.6, found.describe()
    assert not words or any(words in of.found for of in found.findings), found.describe()


# ---- transformers: whole models ----

# A family beside each of the ways in which models rotate.
USUAL = ("llama", "llama, llama3", "llama, yarn", "mistral", "qwen2", "qwen3", "gemma3_text", "cohere", "glm4", "phi3",
         "phi3, longrope", "gpt_neox", "gptj", "codegen", "gpt_oss", "deepseek_v2", "deepseek_v3, yarn", "llama4_text",
         "nanochat", "qwen2_vl_text", "qwen3_vl_text", "falcon", "stablelm", "persimmon")
TITLES = [family.title for family in FAMILIES if "POSENC_ALL_PORTS" in os.environ or family.title in USUAL]
BY_TITLE = {family.title: family for family in FAMILIES}


# Whose attention is given what the plan says of a whole layer: queries that were multiplied by (a part of) the softmax
# scale, or KV heads that are repeated in turn, one for each expert.
OF_THEIR_OWN = ("esm", "longcat_flash", "jetmoe")


def test_the_usual_families_are_there():
    assert set(USUAL) <= set(BY_TITLE)


@pytest.mark.parametrize("title", TITLES)
def test_models_are_as_their_plans(title):
    family = BY_TITLE[title]
    model, inputs = family.model(), family.inputs()
    with torch.no_grad(), posenc.torch.capture(model) as dump:
        model(**inputs)
    given = {"start": 0}
    if family.axes:
        given = {"positions": inputs["position_ids"][-3:].reshape(3, -1).double().contiguous()}
    plan = posenc.read_plan(model.config)
    found = posenc.diagnose(dump, plan, **given)
    assert len(found.layers) >= 2
    assert all(layer.parts() or layer.said == "the plan rotates nothing in this layer" for layer in found.layers)
    rotates = any(at.rotate for at in plan.stacks[0].layers)
    assert any(layer.queries is not None and layer.keys is not None for layer in found.layers) == rotates
    parts = [of for layer in found.layers for of in layer.parts().items() if of[0] != "attention" or title not in OF_THEIR_OWN]
    assert {part.verdict for _, part in parts} <= {"as the plan"}, str(found)


# ---- transformers: one rotation, with the sizes of real models ----


def config_of(model_type, **keys):
    sizes = {"hidden_size": HEADS * WIDTH, "num_attention_heads": HEADS, "num_key_value_heads": 2, "head_dim": WIDTH}
    return transformers.AutoConfig.for_model(model_type, **{**sizes, "num_hidden_layers": 2, "vocab_size": 32, **keys})


def rotated(config, positions=None, x=None, of=None, convert=None, layer_type=None):
    """x by the code of the config's own family, or of another's, `of`."""
    name = type(config).__name__.removesuffix("Config")
    file = importlib.import_module(type(config).__module__.replace(".configuration_", ".modeling_"))
    classes = (of for key, of in vars(file).items() if key.endswith("RotaryEmbedding") and key.startswith(name[:4]))
    rotary = next(classes)(config)
    if convert is not None:
        rotary = convert(rotary)
    positions = torch.arange(TOKENS)[None] if positions is None else positions
    named = {} if layer_type is None else {"layer_type": layer_type}
    cos, sin = rotary(x, positions, **named)
    apply = (importlib.import_module(f"transformers.models.{of}.modeling_{of}") if of else file).apply_rotary_pos_emb
    return apply(x, x, cos, sin)[0]


def angles_in_bfloat16(rotary):
    rotary.inv_freq = rotary.inv_freq.to(torch.bfloat16).float()
    return rotary


def rope_parameters(kind, base=10000.0, **numbers):
    return {"rope_parameters": {"rope_type": kind, "rope_theta": base, **numbers}}


LLAMA3 = rope_parameters("llama3", 500000.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                         original_max_position_embeddings=8192)
YARN = rope_parameters("yarn", 1e6, factor=4.0, original_max_position_embeddings=32768)
LONG = rope_parameters("longrope", original_max_position_embeddings=4096, factor=32.0,
                       short_factor=[1.0 + p / 50 for p in range(32)], long_factor=[1.0 + p for p in range(32)])
PLAIN = rope_parameters("default")

# Family, keys of the plan, keys of the port, what else is done, facts of which one names it.
SPOILED = {
    "llama": ("llama", PLAIN, {}, {}, set()),
    "llama, base 500000": ("llama", PLAIN, rope_parameters("default", 500000.0), {}, {"base"}),
    "llama, interleaved": ("llama", PLAIN, {}, {"of": "cohere"}, {"pairing"}),
    "llama, off by one": ("llama", PLAIN, {}, {"positions": torch.arange(1, TOKENS + 1)[None]}, {"offset"}),
    "llama, left padding": ("llama", PLAIN, {}, {"positions": (torch.arange(TOKENS) - 6).clamp(min=0)[None]},
                            {"positions"}),
    "llama, all at 1": ("llama", PLAIN, {}, {"positions": torch.ones(1, TOKENS, dtype=torch.int64)}, {"repeated"}),
    "llama, frequencies in bfloat16": ("llama", PLAIN, {}, {"convert": angles_in_bfloat16}, {"precision"}),
    "llama3": ("llama", LLAMA3, {}, {}, set()),
    "llama3, no scaling": ("llama", LLAMA3, rope_parameters("default", 500000.0), {}, {"scaling"}),
    "llama3, another base and no scaling": ("llama", LLAMA3, PLAIN, {}, {"base", "scaling"}),
    "yarn": ("qwen2", YARN, {}, {}, set()),
    "yarn, no scaling": ("qwen2", YARN, rope_parameters("default", 1e6), {}, {"scaling", "attention_factor"}),
    "yarn, no attention factor": ("qwen2", YARN,
                                  {"rope_parameters": {**YARN["rope_parameters"], "attention_factor": 1.0}}, {},
                                  {"attention_factor"}),
    "yarn, linear": ("qwen2", YARN, rope_parameters("linear", 1e6, factor=4.0), {}, {"scaling", "attention_factor"}),
    "glm4": ("glm4", PLAIN, {}, {}, set()),
    "glm4, the whole head": ("glm4", PLAIN, {"partial_rotary_factor": 1.0}, {}, {"dim"}),
    "glm4, half": ("glm4", PLAIN, {}, {"of": "phi3"}, {"pairing"}),
    "glm4, as its base says wrong": ("glm4", PLAIN, rope_parameters("default", 1e6), {}, {"base"}),
    "cohere": ("cohere", PLAIN, {}, {}, set()),
    "cohere, half": ("cohere", PLAIN, {}, {"of": "llama"}, {"pairing"}),
    "phi3, longrope": ("phi3", LONG, {}, {}, set()),
    "phi3, the long list": ("phi3", LONG, {"rope_parameters": {**LONG["rope_parameters"],
                            "short_factor": LONG["rope_parameters"]["long_factor"]}}, {}, {"scaling"}),
    "phi3, no scaling": ("phi3", LONG, PLAIN, {}, {"scaling", "attention_factor"}),
    "gpt_neox, a quarter": ("gpt_neox", {**PLAIN, "partial_rotary_factor": 0.25}, {}, {}, set()),
    "gpt_neox, the whole head": ("gpt_neox", {**PLAIN, "partial_rotary_factor": 0.25}, {"partial_rotary_factor": 1.0}, {},
                                 {"dim"}),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("case", SPOILED)
def test_rotations_of_transformers(case, dtype):
    family, planned, ported, done, named = SPOILED[case]

    def merged(*keys):
        out = {}
        for of in keys:
            out |= {key: dict(value) if isinstance(value, dict) else value for key, value in of.items()}
        parameters = out.setdefault("rope_parameters", {})
        if "partial_rotary_factor" in out:
            parameters["partial_rotary_factor"] = out["partial_rotary_factor"]
        return out

    plan = posenc.read_plan(config_of(family, **merged(planned)))
    x = random(1, HEADS, TOKENS, WIDTH).to(dtype)
    after = rotated(config_of(family, **merged(planned, ported)), x=x, **done)
    found = posenc.diagnose(x, after, plan, layer=0, start=0)
    if named == {"precision"} and dtype == torch.bfloat16:
        # Frequencies of 8 bits turn the first pairs by less than the tensors round: 40 tokens do not show it.
        assert found.verdict in ("as the plan", "differs") and facts(found) <= {"precision"}, found.describe()
        return
    if not named and dtype == torch.bfloat16 and found.verdict == "cannot tell":
        # Of 40 positions, other factors of the same rule turn the slow pairs by no more than the tensors round.
        assert not found.findings and all(of.startswith("scaling") for of in found.undecided), found.describe()
        return
    must_be(found, named)


def test_gemma_3_with_the_other_layers_rotation():
    keys = {"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                                "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}},
            "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 16}
    config = config_of("gemma3_text", **keys)
    plan = posenc.read_plan(config)
    x = random(1, HEADS, TOKENS, WIDTH)
    for layer, kind in enumerate(keys["layer_types"]):
        other = keys["layer_types"][1 - layer]
        must_be(posenc.diagnose(x, rotated(config, x=x, layer_type=kind), plan, layer=layer, start=0), set())
        must_be(posenc.diagnose(x, rotated(config, x=x, layer_type=other), plan, layer=layer, start=0), {"base"}, "layer")


# ---- a model that is spoiled where it runs ----


def spoiled_model(title):
    family = BY_TITLE[title]
    return family.model(), family.inputs()


def captured(model, inputs, plan, **given):
    with torch.no_grad(), posenc.torch.capture(model, layers=[1]) as dump:
        model(**inputs)
    return posenc.diagnose(dump, plan, **given)


def test_a_llama_above_whose_first_layer_positions_are_off():
    model, inputs = spoiled_model("llama")
    plan = posenc.read_plan(model.config)
    attention = model.model.layers[1].self_attn
    whole = type(attention).forward

    def later(self, *args, position_embeddings, **named):
        cos, sin = position_embeddings
        return whole(self, *args, position_embeddings=(cos.roll(-1, 1), sin.roll(-1, 1)), **named)

    attention.forward = later.__get__(attention)
    found = captured(model, inputs, plan, start=0)
    assert [layer.name for layer in found.layers] == ["model.layers.1.self_attn"]
    assert found.verdict == "differs" and facts(found.layers[0].queries) <= {"positions", "offset", "rotation"}


def test_a_gptj_with_another_base():
    config = transformers.AutoConfig.for_model("gptj", n_embd=HEADS * WIDTH, n_head=HEADS, n_layer=2, rotary_dim=32,
                                               vocab_size=32, n_positions=64)
    model, inputs = transformers.AutoModelForCausalLM.from_config(config).eval(), {"input_ids": torch.arange(24)[None]}
    plan = posenc.read_plan(config)
    assert captured(model, inputs, plan, start=0).verdict == "as the plan"
    for module in model.modules():
        if hasattr(module, "embed_positions"):
            rows = module.embed_positions.shape
            angles = torch.arange(rows[0])[:, None] * 300.0 ** (-torch.arange(0, rows[1], 2) / rows[1])
            module.embed_positions = torch.cat((angles.sin(), angles.cos()), 1)
    found = captured(model, inputs, plan, start=0)
    assert found.verdict == "differs"
    must_be(found.layers[0].queries, {"base"})
    must_be(found.layers[0].keys, {"base"})


class Written(torch.nn.Module):
    """Attention as people write it: a projection of all three, complex numbers, and torch's attention."""

    def __init__(self, base, interleaved=True):
        super().__init__()
        self.qkv = torch.nn.Linear(HEADS * WIDTH, 3 * HEADS * WIDTH)
        self.register_buffer("inv_freq", base ** (-torch.arange(0, WIDTH, 2) / WIDTH))
        self.interleaved = interleaved

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (3, HEADS, WIDTH)).permute(2, 0, 3, 1, 4)
        turns = torch.polar(torch.ones(x.shape[1], WIDTH // 2), torch.arange(x.shape[1])[:, None] * self.inv_freq)
        q, k = my_rope(q, turns, self.interleaved), my_rope(k, turns, self.interleaved)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def my_rope(x, turns, interleaved):
    pairs = x.unflatten(-1, (-1, 2)) if interleaved else x.unflatten(-1, (2, -1)).transpose(-1, -2)
    out = torch.view_as_real(torch.view_as_complex(pairs.contiguous()) * turns)
    return out.flatten(-2) if interleaved else out.transpose(-1, -2).flatten(-2)


OWN = [(10000.0, True, set()), (5000.0, True, {"base"}), (10000.0, False, {"pairing"})]


@pytest.mark.parametrize("base, interleaved, named", OWN)
def test_a_module_of_ones_own(base, interleaved, named, tmp_path):
    plan = posenc.read_plan({"model_type": "cohere", "hidden_size": HEADS * WIDTH, "num_attention_heads": HEADS,
                             "num_hidden_layers": 1, "rope_theta": 10000.0})
    torch.manual_seed(1)
    model = torch.nn.ModuleList([Written(base, interleaved)])
    with torch.no_grad(), posenc.torch.capture(model) as dump:
        model[0](random(2, 24, HEADS * WIDTH))
    posenc.torch.save_dump(dump, tmp_path / "dump.pt")
    found = posenc.diagnose(posenc.torch.load_dump(tmp_path / "dump.pt"), plan, start=0)
    assert [layer.name for layer in found.layers] == ["0"]
    must_be(found.layers[0].queries, named)
    must_be(found.layers[0].keys, named)


def test_capture_leaves_no_trace():
    model, inputs = spoiled_model("llama")
    file = importlib.import_module("transformers.models.llama.modeling_llama")
    before = dict(vars(file))
    with torch.no_grad():
        plain = model(**inputs).logits
        with pytest.raises(KeyError), posenc.torch.capture(model):
            raise KeyError
        with posenc.torch.capture(model, layers=[0], calls=2) as dump:
            seen = model(**inputs).logits
            model(**inputs)
            model(**inputs)
    assert torch.equal(plain, seen) and dict(vars(file)) == before
    assert [(at.name, at.call) for at in dump] == [("model.layers.0.self_attn", 0), ("model.layers.0.self_attn", 1)]
    # Attention is of what was seen: softmax of scores, weights times values.
    at = dump["model.layers.0.self_attn"]
    assert torch.equal(at.scores.softmax(-1), at.weights)
    values = at.v.repeat_interleave(at.weights.shape[1] // at.v.shape[1], 1)
    torch.testing.assert_close(at.weights @ values, at.out)


# ---- rotary-embedding-torch and x-transformers, which rotate neighbours ----


def rope(**others):
    return posenc.Rope(**{"pairing": "interleaved", "head_dim": WIDTH, "dim": WIDTH, **others})


def plan_of(scheme):
    layer = posenc.LayerPlan(heads=HEADS, kv_heads=HEADS, head_dim=WIDTH, value_dim=WIDTH,
                             rotate=[posenc.Rotate(heads=HEADS, scheme=scheme)])
    return posenc.Plan(known=True, stacks=[posenc.Stack(name="decoder", layers=[layer])])


OF_TORCH = {
    "plain": ({}, 0, rope(), set()),
    "another base": ({"theta": 500.0}, 0, rope(), {"base"}),
    "not interpolated": ({}, 0, rope(scaling=posenc.LinearScaling(factor=4.0)), {"scaling", "step"}),
    "interpolated": ({"interpolate_factor": 4.0}, 0, rope(), {"scaling"}),
    "rescaled": ({"theta_rescale_factor": 8.0}, 0, rope(scaling=posenc.NtkScaling(alpha=8.0)), set()),
    "not rescaled": ({}, 0, rope(scaling=posenc.NtkScaling(alpha=8.0)), {"scaling"}),
    "half of the head": ({"dim": WIDTH // 2}, 0, rope(), {"dim"}),
    "from 3 on": ({}, 3, rope(), {"offset"}),
    "the other pairing": ({}, 0, rope(pairing="half"), {"pairing"}),
}


@pytest.mark.parametrize("case", OF_TORCH)
def test_rotary_embedding_torch(case):
    given, offset, scheme, named = OF_TORCH[case]
    x = random(2, HEADS, TOKENS, WIDTH)
    after = RotaryEmbedding(**{"dim": WIDTH, **given}).rotate_queries_or_keys(x, offset=offset)
    must_be(posenc.diagnose(x, after, plan_of(scheme), start=0), named)


OF_X = {
    "plain": ({}, rope(), set()),
    "another base": ({"base": 500.0}, rope(), {"base"}),
    "interpolated": ({"interpolation_factor": 4.0}, rope(), {"scaling"}),
    "a part": ({"dim": WIDTH // 4}, rope(dim=WIDTH // 4), set()),
    "the other pairing": ({}, rope(pairing="half"), {"pairing"}),
}


@pytest.mark.parametrize("case", OF_X)
def test_x_transformers(case):
    given, scheme, named = OF_X[case]
    x = random(2, HEADS, TOKENS, WIDTH)
    angles, scale = x_transformers.RotaryEmbedding(**{"dim": WIDTH, **given})(torch.arange(TOKENS))
    must_be(posenc.diagnose(x, x_transformers.apply_rotary_pos_emb(x, angles, scale), plan_of(scheme), start=0), named)


# ---- onnxruntime ----


def by_onnxruntime(x, scheme, ids, interleaved, domain=""):
    angles = torch.arange(128)[:, None] * torch.tensor(posenc.frequencies(scheme).inv_freq)
    inputs = {"x": x, "ids": ids, "cos": angles.cos().float(), "sin": angles.sin().float()}
    if domain:
        return run("RotaryEmbedding", inputs, domain=domain, interleaved=interleaved)
    inputs = {key: inputs[key] for key in ("x", "cos", "sin", "ids")}
    return run("RotaryEmbedding", inputs, interleaved=interleaved, num_heads=HEADS)


OF_ORT = {
    "right": (rope(), torch.arange(TOKENS), 1, set()),
    "half": (rope(), torch.arange(TOKENS), 0, {"pairing"}),
    "off by one": (rope(), torch.arange(TOKENS) + 1, 1, {"offset"}),
    "wrong table": (rope(base=500000.0), torch.arange(TOKENS), 1, {"base"}),
    "in steps of 2": (rope(), torch.arange(TOKENS) * 2, 1, {"step", "rotation"}),
}


@pytest.mark.parametrize("domain", ["", MICROSOFT], ids=["onnx", "microsoft"])
@pytest.mark.parametrize("case", OF_ORT)
def test_onnxruntime(case, domain):
    scheme, ids, interleaved, named = OF_ORT[case]
    x = random(2, HEADS, TOKENS, WIDTH)
    after = by_onnxruntime(x, scheme, ids.repeat(2, 1), interleaved, domain)
    must_be(posenc.diagnose(x, after, plan_of(rope()), start=0), named)
