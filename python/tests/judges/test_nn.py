"""posenc.nn: modules of transformers, of other libraries and of papers as judges; caches, copies, names, devices."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
import transformers as hf
from torch._subclasses.fake_tensor import FakeTensorMode

import bounds
import fake_cuda
import posenc
import posenc.nn as pn
from scheme_cases import Random

SMALL = {"vocab_size": 50}
BERT = {"hidden_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2, "intermediate_size": 32, **SMALL}
NO_DROP = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
POINTS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
RELATIVE = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], **BERT, **NO_DROP}
WHISPER = {
    "d_model": 32,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_layers": 1,
    "decoder_layers": 2,
    "encoder_ffn_dim": 32,
    "decoder_ffn_dim": 32,
    "max_source_positions": 8,
    "num_mel_bins": 8,
    "decoder_start_token_id": 1,
    **SMALL,
    **POINTS,
}
LLAMA = {
    "hidden_size": 32,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 32,
    **SMALL,
    **POINTS,
}
T5 = {
    "d_model": 32,
    "d_kv": 8,
    "num_heads": 4,
    "d_ff": 32,
    "num_layers": 2,
    "dropout_rate": 0.0,
    "decoder_start_token_id": 0,
    **SMALL,
}

# Name: configuration, class, its attention module, options of from_transformers.
MODELS = {
    "t5 encoder": (
        hf.T5Config(**T5),
        hf.T5Model,
        lambda m: m.encoder.block[0].layer[0].SelfAttention,
        {"stack": "encoder"},
    ),
    "t5 decoder": (
        hf.T5Config(**T5),
        hf.T5Model,
        lambda m: m.decoder.block[0].layer[0].SelfAttention,
        {"stack": "decoder"},
    ),
    "t5 cross": (
        hf.T5Config(**T5),
        hf.T5Model,
        lambda m: m.decoder.block[1].layer[1].EncDecAttention,
        {"stack": "decoder", "cross": True},
    ),
    "bert": (hf.BertConfig(**BERT, **NO_DROP), hf.BertModel, lambda m: m.encoder.layer[1].attention, {}),
    "gpt2": (
        hf.GPT2Config(n_embd=32, n_head=4, n_layer=2, attn_pdrop=0.0, resid_pdrop=0.0, **SMALL, **POINTS),
        hf.GPT2Model,
        lambda m: m.h[1].attn,
        {},
    ),
    "opt": (
        hf.OPTConfig(
            hidden_size=32,
            num_attention_heads=4,
            num_hidden_layers=2,
            ffn_dim=32,
            word_embed_proj_dim=32,
            dropout=0.0,
            **SMALL,
            **POINTS,
        ),
        hf.OPTModel,
        lambda m: m.decoder.layers[0].self_attn,
        {},
    ),
    "bloom": (
        hf.BloomConfig(hidden_size=32, n_head=4, n_layer=2, **SMALL),
        hf.BloomModel,
        lambda m: m.h[0].self_attention,
        {},
    ),
    "whisper encoder": (
        hf.WhisperConfig(**WHISPER),
        hf.WhisperModel,
        lambda m: m.encoder.layers[0].self_attn,
        {"stack": "encoder"},
    ),
    "whisper decoder": (
        hf.WhisperConfig(**WHISPER),
        hf.WhisperModel,
        lambda m: m.decoder.layers[0].self_attn,
        {"stack": "decoder"},
    ),
    "deberta": (
        hf.DebertaConfig(max_position_embeddings=16, **RELATIVE),
        hf.DebertaModel,
        lambda m: m.encoder.layer[0].attention,
        {},
    ),
    "deberta-v2": (
        hf.DebertaV2Config(position_buckets=4, max_relative_positions=16, **RELATIVE),
        hf.DebertaV2Model,
        lambda m: m.encoder.layer[1].attention,
        {},
    ),
    "deberta-v3": (
        hf.DebertaV2Config(position_buckets=4, max_relative_positions=16, share_att_key=True, **RELATIVE),
        hf.DebertaV2Model,
        lambda m: m.encoder.layer[1].attention,
        {},
    ),
    "llama": (hf.LlamaConfig(**LLAMA), hf.LlamaModel, lambda m: m.layers[1].self_attn, {}),
    "qwen3": (hf.Qwen3Config(head_dim=8, **LLAMA), hf.Qwen3Model, lambda m: m.layers[0].self_attn, {}),
}


def inputs_of(config):
    ids = torch.arange(1, 19).reshape(2, 9)
    if config.model_type == "whisper":
        return {"input_features": Random(4)(2, 8, 16), "decoder_input_ids": ids}
    if config.model_type == "t5":
        return {"input_ids": ids + 3, "decoder_input_ids": ids}
    return {"input_ids": ids}


def recorded(model, module, config):
    """What the model hands to that module: hidden states, and keyword arguments by name."""
    found = {}

    def keep(of, args, kwargs):
        hidden = args[0] if args else kwargs["hidden_states"]
        found.setdefault(
            "call", (hidden.detach().clone(), args[1:], {n: x for n, x in kwargs.items() if n != "hidden_states"})
        )

    handle = module.register_forward_pre_hook(keep, with_kwargs=True)
    with torch.no_grad():
        model(
            **inputs_of(config),
            **({"use_cache": False} if config.model_type not in ("bert", "deberta", "deberta-v2") else {}),
        )
    handle.remove()
    return found["call"]


def by_model(module, hidden, args, kwargs):
    """The model's own attention, up to its output projection."""
    out = {}
    last = pn.plans._find(module, pn.plans._OUTPUT)
    handle = last.register_forward_hook(lambda of, given, made: out.setdefault("made", made))
    module(*([hidden] if args or "hidden_states" not in kwargs else []), *args, **kwargs)
    handle.remove()
    return out["made"]


@pytest.mark.parametrize("name", MODELS)
def test_modules_of_transformers(name):
    config, model_class, find, options = MODELS[name]
    torch.manual_seed(3)
    config._attn_implementation = "eager"
    model = model_class(config).eval().double()
    with torch.no_grad():  # their first weights make all scores alike
        for x in model.parameters():
            x.add_(0.2 * torch.randn_like(x))
    module = find(model)
    hidden, args, kwargs = recorded(model, module, config)
    layer = {} if getattr(getattr(module, "self", module), "layer_idx", None) is not None else {"layer": 0}
    own = pn.from_transformers(module, config=config, **layer, **options)
    given = {"rel_embeddings": kwargs["rel_embeddings"]} if "rel_embeddings" in kwargs else {}
    if name.startswith("deberta"):
        given = {"rel_embeddings": model.encoder.get_rel_embedding().detach()}
    if options.get("cross"):
        given["memory"] = kwargs["key_value_states"]
    sides = []
    for attend, of in ((lambda x: by_model(module, x, args, kwargs), module), (lambda x: own(x, **given), own)):
        x = hidden.clone().requires_grad_()
        out = attend(x)
        weights = Random(9)(*out.shape)
        parameters = dict(of.named_parameters())
        gradients = torch.autograd.grad((out * weights).sum(), [x, *parameters.values()], allow_unused=True)
        sides.append((out.detach(), gradients[0], dict(zip(parameters, gradients[1:]))))
    (theirs, theirs_x, theirs_p), (ours, ours_x, ours_p) = sides
    # A weight is off by as many roundings to float32 as its softmax, score and angle have: 16, and a sum over 9 keys.
    bound = bounds.in_single(float(theirs.abs().max()), 9)
    assert ours.shape == theirs.shape and float((ours - theirs).abs().max()) <= bound
    steep = bounds.in_single(float(theirs_x.abs().max()), 9)
    assert float((ours_x - theirs_x).abs().max()) <= steep
    # Gradients by name: the same renaming as that of the weights themselves.
    state = {n: torch.zeros_like(dict(module.named_parameters())[n]) if g is None else g for n, g in theirs_p.items()}
    state = {n: g for n, g in state.items() if not n.startswith(("output.LayerNorm",))}
    pn.published.renamed(own, state, "")
    assert ours_p and set(ours_p) <= set(state)
    for parameter, gradient in ours_p.items():
        largest = max(float(state[parameter].abs().max()), float(theirs_x.abs().max()))
        off = float((gradient - state[parameter]).abs().max())
        assert off <= bounds.in_single(largest, 18), parameter


def test_published_names_of_transformer_xl():
    """Relative attention of arXiv 1901.02860 as its published code has it: one projection, r by distance, u and v."""
    heads, width, tokens, random = 4, 32, 7, Random(2)
    plan = posenc.LayerPlan(
        heads=heads, kv_heads=heads, head_dim=8, value_dim=8, softmax_scale=8**-0.5, score=(posenc.TransformerXl(),)
    )
    own = pn.Attention(plan, width).double()
    state = {
        "qkv_net.weight": random(3 * width, width),
        "o_net.weight": random(width, width),
        "r_net.weight": random(width, width),
        "r_w_bias": random(heads, 8),
        "r_r_bias": random(heads, 8),
    }
    own.load_state_dict(state)
    x = random(2, tokens, width)
    q, k, v = (part.unflatten(-1, (heads, 8)) for part in (x @ state["qkv_net.weight"].T).chunk(3, dim=-1))
    distances = torch.arange(tokens)[:, None] - torch.arange(tokens)
    inv_freq = 10000.0 ** (-torch.arange(0, width, 2).double() / width)
    angle = distances[..., None] * inv_freq
    r = (torch.cat([angle.sin(), angle.cos()], -1) @ state["r_net.weight"].T).unflatten(-1, (heads, 8))
    score = torch.einsum("binc,bjnc->bnij", q + state["r_w_bias"][:, :], k)
    score = (score + torch.einsum("binc,ijnc->bnij", q + state["r_r_bias"], r)) * 8**-0.5
    score = score.masked_fill(distances < 0, -torch.inf).softmax(-1)
    wanted = torch.einsum("bnij,bjnc->binc", score, v).flatten(2) @ state["o_net.weight"].T
    assert float((own(x) - wanted).detach().abs().max()) <= bounds.in_double(float(wanted.abs().max()) * 40, 400)


def test_positions_of_models():
    config = hf.GPT2Config(n_embd=32, n_head=4, n_layer=1, n_positions=16, **SMALL, **POINTS)
    gpt2 = hf.GPT2Model(config)
    learned = pn.LearnedPositions(16, 32)
    learned.load_state_dict(gpt2.wpe.state_dict())
    x = torch.randn(2, 5, 32)
    assert torch.equal(learned(x, 3), x + gpt2.wpe(torch.arange(3, 8)))
    opt = hf.models.opt.modeling_opt.OPTLearnedPositionalEmbedding(16, 32)
    offset = pn.LearnedPositions(16, 32, offset=2)
    offset.load_state_dict(opt.state_dict())
    assert torch.equal(offset(x), x + opt(torch.ones(2, 5, dtype=torch.int64)))
    whisper = hf.WhisperModel(hf.WhisperConfig(**WHISPER))
    rows = whisper.encoder.embed_positions.weight
    sinusoid = pn.SinusoidalPositions(32, convention="whisper")
    # Theirs is made in float32: an angle below 8 and its sine.
    assert float((sinusoid.rows(torch.arange(8)) - rows).abs().max()) <= 2 * bounds.float_angle(8)
    for convention in ("paper", "tensor2tensor", "musicgen", "marian", "whisper", "xlnet"):
        own = pn.SinusoidalPositions(12, convention=convention, offset=1)
        wanted = torch.tensor([posenc.input_row(own.scheme, 12, place) for place in (0, 5)], dtype=torch.float64)
        assert float((own.rows(torch.tensor([0, 5])) - wanted).abs().max()) <= bounds.in_double(1.0, 4)
    for width, convention in ((7, "paper"), (7, "tensor2tensor"), (7, "marian")):
        wanted = torch.tensor(
            [posenc.input_row(posenc.SinusoidalInput(convention=convention), width, 4)], dtype=torch.float64
        )
        own = pn.SinusoidalPositions(width, convention=convention)
        assert float((own.rows(torch.tensor([4])) - wanted).abs().max()) <= bounds.in_double(1.0, 4)


# ---- rotations ----

ROPES = [
    posenc.Rope(pairing="half", head_dim=8, dim=8),
    posenc.Rope(
        pairing="interleaved",
        head_dim=10,
        dim=6,
        first_channel=2,
        scaling=posenc.YarnScaling(factor=4.0, original_max_position_embeddings=32),
    ),
    posenc.Rope(pairing="half", head_dim=8, dim=8, axes=posenc.chunked_axes(["t", "h", "w"], [2, 1, 1])),
]


@pytest.mark.parametrize("rope", ROPES, ids=["half", "yarn", "three axes"])
def test_rotary_embedding(rope):
    random, axes = Random(1), len(rope.axes.names)
    x, positions = random(2, 3, 5, rope.head_dim), random.whole(0, 50, axes, 5)
    wanted = torch.as_tensor(posenc.reference.rotate(rope, x, positions=positions))
    for learned in (False, True):
        rotary = pn.RotaryEmbedding(rope, learned=learned)
        out = rotary(x, positions)
        # Learned frequencies are float32: angles below 50 are off by half a unit of their frequency each.
        off = 50 * bounds.HALF_UNIT if learned else 0.0
        assert float((out - wanted).abs().max()) <= bounds.in_double(8 * float(x.abs().max()), 8) + 8 * off
        assert len(list(rotary.parameters())) == int(learned)
        back = rotary(out, positions, "inverse")
        assert float((back - x).abs().max()) <= bounds.in_double(32 * float(x.abs().max()), 16) + 16 * off
    rotary.inv_freq.data = rotary.inv_freq.data.double()
    f = rotary.inv_freq
    assert torch.autograd.gradcheck(
        lambda f, x: torch.func.functional_call(rotary, {"inv_freq": f}, (x, positions)), (f, x.requires_grad_())
    )
    assert repr(rope) in repr(rotary) and "learned=True" in repr(rotary)


def test_pixel_rotary_is_that_of_rotary_embedding_torch():
    judge = pytest.importorskip("rotary_embedding_torch")
    other = judge.RotaryEmbedding(dim=8, freqs_for="pixel", max_freq=20)
    freqs = other.get_axial_freqs(3, 5)
    x = torch.randn(2, 4, 3, 5, 16)
    wanted = judge.apply_rotary_emb(freqs, x).flatten(2, 3)
    own = pn.PixelRotary(16, max_freq=20.0)
    out = own(x.flatten(2, 3), own.coordinates(3, 5))
    # Angles of up to 10 pi, in float32 there: of each two roundings of the frequency, the place and their product.
    assert float((out - wanted).abs().max()) <= 2 * float(x.abs().max()) * (
        bounds.float_angle(31.5) + bounds.rotated(1.0)
    )


def test_axial_rotary():
    own = pn.AxialRotary(8)
    x = Random(3)(1, 2, 6, 8)
    grid = torch.stack(torch.meshgrid(torch.arange(2), torch.arange(3), indexing="ij")).flatten(1)
    out = own(x, grid)
    for axis, channels in ((0, [0, 1, 4, 5]), (1, [2, 3, 6, 7])):  # pairs 0, 1 and 2, 3 of the half-split
        alone = pn.RotaryEmbedding(posenc.Rope(pairing="half", head_dim=4, dim=4))(x[..., channels], grid[axis])
        assert float((out[..., channels] - alone).abs().max()) <= bounds.in_double(4.0, 8)


# ---- biases and contents by themselves ----

PLACES = [
    pn.ALiBi(4),
    pn.ALiBi(4, learned=True, symmetric=True),
    pn.ALiBi(4, form="column"),
    pn.T5RelativeBias(4, bidirectional=True),
    pn.ClippedRelativeBias(4, 3, 2),
    pn.Kerple(4),
    pn.Kerple(4, form="power"),
    pn.Fire(4, length=3.0),
    pn.Sandwich(4, 16),
    pn.MlpRelativeBias(4, logarithmic=True),
]
CONTENTS = [
    pn.ShawRelative(4, 8, 3, 2),
    pn.ShawRelative(4, 8, 3, 3, sinusoidal=True),
    pn.ShawRelativeValues(4, 8, 3, 2),
    pn.TransformerXLRelative(4, 8, 12),
    pn.DisentangledAttention(4, 8, 12, buckets=4, max_distance=12),
    pn.XLNetRelative(4, 8, 12, segments=False),
    pn.CoPE(4, 8, 6),
]


@pytest.mark.parametrize("module", PLACES, ids=lambda m: repr(m)[:40])
def test_a_bias_is_what_attention_adds(module):
    module = copy.deepcopy(module).double()
    random = Random(6)
    q, k, v = random(2, 4, 5, 8), random(2, 4, 7, 8), random(2, 4, 7, 8)
    bias = module(5, 7)
    assert bias.shape == (4, 5, 7)
    wanted = (q @ k.mT * 8**-0.5 + bias).softmax(-1) @ v
    out = module.attend(q, k, v, mask=posenc.Mask(kind="bidirectional"))
    # The matrix is made in float32.
    assert (
        float((out - wanted).abs().max())
        <= 8 * float(v.abs().max()) * (float(bias.detach().abs().max()) + 1) * 8 * bounds.HALF_UNIT
    )
    for name, x in module.named_parameters():
        (gradient,) = torch.autograd.grad((out * Random(7)(*out.shape)).sum(), x, retain_graph=True)
        assert float(gradient.abs().max()) > 0, name


@pytest.mark.parametrize("module", CONTENTS, ids=lambda m: repr(m)[:40])
def test_a_content_scheme_is_trained(module):
    module = copy.deepcopy(module).double()
    random = Random(6)
    for x in module.parameters():
        x.data.add_(random(*x.shape))
    q, k, v = random(2, 4, 5, 8), random(2, 4, 5, 8), random(2, 4, 5, 8)
    out = module(q, k, v)
    plain = module.plan(8, 8, 4, 8**-0.5, posenc.Mask()).replace(score=(), value=None)
    without = posenc.torch.attend(posenc.torch.Layer(plain), q, k, v)
    assert float((out - without).abs().max()) > 0.01
    for name, x in module.named_parameters():
        (gradient,) = torch.autograd.grad((out * Random(7)(*out.shape)).sum(), x, retain_graph=True)
        assert float(gradient.abs().max()) > 0, name


# Learned slopes and what has no parameters are left out.
KERNELS = [one for one in PLACES + CONTENTS if not isinstance(one, pn.ALiBi) and list(one.parameters())]


@pytest.mark.parametrize("module", KERNELS, ids=lambda m: repr(m)[:40])
def test_kernels_train_it(module):
    """In float32, by the kernels, with the gradients that operations of torch give in double."""
    module = copy.deepcopy(module)
    random = Random(6)
    for x in module.parameters():
        x.data.copy_(random.between(0.1, 1.0, *x.shape))
    q, k, v, d_out = (random(2, 4, 5, 8) for _ in range(4))
    gradients = []
    for dtype, backend in ((torch.float32, "kernel"), (torch.float64, "composed")):
        one = copy.deepcopy(module).to(dtype)
        out = one.attend(q.to(dtype), k.to(dtype), v.to(dtype), backend=backend)
        gradients.append(torch.autograd.grad((out * d_out.to(dtype)).sum(), list(one.parameters())))
    # A table's is that of a bias, summed over batch and heads.
    bound = 2 * 4 * bounds.attended_gradient(q, k, v, d_out, 8**-0.5)
    assert max(float(x.abs().max()) for x in gradients[1]) >= 4 * bound
    for (name, _), by_kernel, in_double in zip(module.named_parameters(), *gradients):
        assert by_kernel.shape == in_double.shape, name
        assert float((by_kernel - in_double).abs().max()) <= bound, name


def test_xlnet_is_that_of_transformers():
    """With segments and both terms of positions; from_plan makes it."""
    config = hf.XLNetConfig(d_model=32, n_layer=1, n_head=4, d_inner=32, vocab_size=50, dropout=0.0)
    theirs = hf.XLNetModel(config).double().eval()
    inner = theirs.layer[0].rel_attn
    random = Random(5)
    for x in inner.parameters():
        x.data.copy_(random(*x.shape) * 0.3)
    ours = pn.from_plan(posenc.read_plan(config), width=32).double()
    names = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "o_proj": "o", "terms.0.projection": "r"}
    state = {f"{name}.weight": getattr(inner, of).detach().flatten(1) for name, of in names.items()}
    state = {name: x if name.startswith("o_proj") else x.T for name, x in state.items()}
    for name, of in {"content": "r_w_bias", "position": "r_r_bias", "segment": "r_s_bias"}.items():
        state[f"terms.0.{name}_bias"] = getattr(inner, of).detach()
    ours.load_state_dict({**state, "terms.0.segments": inner.seg_embed.detach()})
    hidden, segments = random(1, 7, 32), torch.tensor([0, 0, 0, 1, 1, 1, 0])
    made = {}
    inner.layer_norm.register_forward_pre_hook(lambda module, given: made.update(out=given[0]))
    theirs(inputs_embeds=hidden, token_type_ids=segments[None])
    of = segments.to(torch.int32)
    out = ours(hidden, q_segments=of, k_segments=of)
    wanted = made["out"].transpose(0, 1) - hidden if made["out"].shape[0] == 7 else made["out"] - hidden
    assert float((out - wanted).detach().abs().max()) <= bounds.in_single(float(wanted.detach().abs().max()) * 8, 64)


# ---- Attention ----

SIZES = {"heads": 4, "kv_heads": 2, "head_dim": 8, "value_dim": 8, "softmax_scale": 8**-0.5}
ROPE = posenc.Rotate(scheme=ROPES[0])
LAYERS = {
    "rope": posenc.LayerPlan(**SIZES, rotate=(ROPE,)),
    "alibi in a window": posenc.LayerPlan(
        **SIZES, score=(posenc.Alibi(heads=4),), mask=posenc.Mask(window=posenc.Window(past=3))
    ),
    "t5 and shaw": posenc.LayerPlan(**SIZES, score=(posenc.T5Bias(),), value=posenc.ShawValues(left=4, right=0)),
    "cope": posenc.LayerPlan(**SIZES, score=(posenc.ContextualPosition(positions=4),)),
    "forget gate": posenc.LayerPlan(**SIZES, score=(posenc.ForgetGate(),), sinks=True),
    "qk norm": posenc.LayerPlan(**SIZES, rotate=(ROPE,), qk_norm=posenc.QkNorm()),
    "norm after": posenc.LayerPlan(
        **SIZES, rotate=(ROPE,), qk_norm=posenc.QkNorm(kind="l2", order="after", weighted=False)
    ),
    "transformer-xl": posenc.LayerPlan(**SIZES, score=(posenc.TransformerXl(),)),
}


def attention_of(name, **options):
    torch.manual_seed(1)
    made = pn.Attention(LAYERS[name], 32, **options).double()
    with torch.no_grad():
        for x in made.parameters():
            x.add_(0.3 * torch.randn_like(x))
    return made


@pytest.mark.parametrize("name", LAYERS)
def test_a_cache_gives_what_the_whole_does(name):
    attention, x = attention_of(name), Random(8)(2, 9, 32)
    whole, cache = attention(x), pn.KVCache()
    parts = [attention(part, cache=cache) for part in x.split([4, 1, 1, 3], dim=1)]
    assert len(cache) == 9
    together = torch.cat(parts, dim=1)
    assert float((whole - together).abs().max()) <= bounds.in_double(float(whole.abs().max()) * 40, 400)


@pytest.mark.parametrize("name", LAYERS)
def test_copies_pickles_and_devices(name):
    attention, x = attention_of(name, learned_frequencies=bool(LAYERS[name].rotate)), Random(8)(2, 5, 32)
    out = attention(x)
    again = pickle.loads(pickle.dumps(attention))
    copied = copy.deepcopy(attention)
    fresh = pn.from_plan(LAYERS[name], width=32, learned_frequencies=bool(LAYERS[name].rotate)).double()
    fresh.load_state_dict(attention.state_dict())
    for other in (again, copied, fresh):
        assert torch.equal(other(x), out)
        assert set(other.state_dict()) == set(attention.state_dict())
    with torch.no_grad():
        copied.q_proj.weight.add_(1.0)
        for parameter in copied.terms.parameters():
            parameter.add_(1.0)
    assert torch.equal(attention(x), out) and not torch.equal(copied(x), out)
    moved = copy.deepcopy(attention).to("meta")
    assert moved(x.to("meta")).device.type == "meta"
    single = copy.deepcopy(attention).float()
    assert single(x.float()).dtype == torch.float32
    assert "heads=4, kv_heads=2" in repr(attention)
    missing = {n for n, p in attention.named_parameters() if p.requires_grad}
    got = torch.autograd.grad((attention(x) * Random(2)(*out.shape)).sum(), list(attention.parameters()))
    assert len(got) == len(missing) and all(float(g.abs().max()) > 0 for g in got)


def test_the_kernel_runs_a_module_without_gradients():
    attention, x = attention_of("t5 and shaw").float(), Random(8)(2, 5, 32).float()
    trained = attention(x)
    with torch.no_grad():
        served = attention(x)
    assert float((trained - served).abs().max()) <= bounds.attended(x, x, x, 1.0, 3.0) and served.grad_fn is None


def test_compiled_and_checkpointed():
    torch._dynamo.reset()
    attention, x = attention_of("cope"), Random(8)(1, 5, 32)
    graph = torch.compile(attention, backend="aot_eager", fullgraph=True)
    out = attention(x)
    wanted = torch.autograd.grad(out.square().sum(), list(attention.parameters()))
    for run in (lambda: graph(x), lambda: torch.utils.checkpoint.checkpoint(attention, x, use_reentrant=False)):
        made = run()
        assert float((made - out).detach().abs().max()) <= bounds.in_double(float(out.detach().abs().max()) * 40, 400)
        for one, other in zip(wanted, torch.autograd.grad(made.square().sum(), list(attention.parameters()))):
            assert torch.allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LAYERS)
def test_traced_with_fake_cuda_tensors(name):
    """No module makes a tensor on the CPU for tokens that are elsewhere."""
    attention = attention_of(name).float()
    with FakeTensorMode(), fake_cuda.by_operators(), torch.no_grad():
        there = {
            n: torch.empty(x.shape, dtype=x.dtype, device="cuda")
            for n, x in (*attention.named_parameters(), *attention.named_buffers())
        }
        out = torch.func.functional_call(attention, there, (torch.empty(2, 5, 32, device="cuda"),))
    assert out.device.type == "cuda" and out.shape == (2, 5, 32)


@pytest.mark.parametrize("name", LAYERS)
def test_autocast_and_checkpoints_train_it(name):
    """In bfloat16 within a few of its roundings of what float32 gives, a checkpoint's gradients to the bit."""
    attention, x = attention_of(name).float(), Random(8)(2, 5, 32).float()
    weights, wanted = list(attention.parameters()), attention(x).detach()

    def trained(run):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = run()
        return out, torch.autograd.grad(out.float().square().sum(), weights)

    out, gradients = trained(lambda: attention(x))
    assert out.dtype == torch.bfloat16 and all(g.dtype == torch.float32 and bool(g.isfinite().all()) for g in gradients)
    assert float((out.float() - wanted).detach().abs().max()) <= 2**-4 * max(1.0, float(wanted.abs().max()))
    again, recomputed = trained(lambda: torch.utils.checkpoint.checkpoint(attention, x, use_reentrant=False))
    assert torch.equal(again, out) and all(torch.equal(a, b) for a, b in zip(gradients, recomputed))


@pytest.mark.parametrize("name", ["t5 and shaw", "cope", "transformer-xl"])
def test_exported_and_mapped(name):
    attention, x = attention_of(name), Random(8)(2, 5, 32)
    out = attention(x)
    assert float((torch.export.export(attention, (x,)).module()(x) - out).detach().abs().max()) <= 1e-12

    def loss(weights, x):
        return torch.func.functional_call(attention, weights, (x[None],)).square().sum()

    weights = {n: w.detach() for n, w in attention.named_parameters()}
    each = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(weights, x)
    for n, x_of_sample in enumerate(x):
        for name_of_weight, one in torch.func.grad(loss)(weights, x_of_sample).items():
            assert torch.allclose(each[name_of_weight][n], one, rtol=1e-9, atol=1e-9)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="the layer must be of attention but is of none"):
        pn.from_plan(posenc.LayerPlan(kind="none"))
    with pytest.raises(ValueError, match="DistanceLogits must have a module, but has none"):
        pn.Attention(posenc.LayerPlan(**SIZES, score=(posenc.DistanceLogits(extent=4, channels=3),)), 32)
    with pytest.raises(ValueError, match="terms must be of the layer's score"):
        pn.Attention(LAYERS["cope"], 32, terms=[pn.ALiBi(4)])
    with pytest.raises(ValueError, match="rel_embeddings must be given"):
        pn.DisentangledAttention(4, 8, 12, shared_table=True, max_distance=6).tables()
    with pytest.raises(ValueError, match="has no config: give the model's as config="):
        pn.from_transformers(torch.nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="Unexpected key"):
        attention_of("rope").load_state_dict({**attention_of("rope").state_dict(), "rotary.inv_freq": torch.zeros(4)})
    with pytest.raises(ValueError, match="dim"):
        pn.RotaryEmbedding(posenc.Rope(pairing="half", head_dim=8, dim=7))
