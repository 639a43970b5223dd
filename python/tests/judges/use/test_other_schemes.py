"""Plans in use() that are others than the model's: what they say is what runs, layer by layer, or is refused.

The truth is transformers' own eager code, with the bias that a scheme is added to the scores; and posenc.reference.
"""

import pytest
import torch
import transformers
from transformers import StaticCache

import posenc
import posenc.transformers
from posenc.conformance import roundings, verdicts
from posenc.conformance.families import FAMILIES, TOKENS
from posenc.transformers import use

BY_TITLE = {family.title: family for family in FAMILIES}
HEADS, WIDTH = 4, 12


def made(title="llama"):
    family = BY_TITLE[title]
    return family.model(), family.inputs(), posenc.read_plan(family.config())


def with_layer(plan, at, **changes):
    (stack,) = plan.stacks
    layers = [layer.replace(**changes) if number == at else layer for number, layer in enumerate(stack.layers)]
    return plan.replace(stacks=(stack.replace(layers=tuple(layers)),))


def in_use(model, inputs, plan, **given):
    with use(model, plan=plan, angles="float32", **given):
        return verdicts.logits(model, inputs)


@pytest.fixture
def eager(monkeypatch):
    """transformers' own eager attention, by a bias [heads, queries, keys] and an angle factor for each layer."""

    def patch(model, biases=None, rotates=(True, True), bases=None, scales=None):
        file = __import__(type(model).__module__, fromlist=["x"])
        layer_of = {id(layer.self_attn): at for at, layer in enumerate(model.model.layers)}
        attend, apply = file.eager_attention_forward, file.apply_rotary_pos_emb
        calls = []

        def attended(module, q, k, v, mask, scaling, **given):
            at = layer_of[id(module)]
            if biases is not None and biases[at] is not None:
                first = k.shape[2] - q.shape[2]
                mask = biases[at](torch.arange(first, k.shape[2])[:, None], torch.arange(k.shape[2])) + mask
            return attend(module, q, k, v, mask, scaling=scales[at] if scales else scaling, **given)

        def rotated(q, k, cos, sin, unsqueeze_dim=1):
            at = len(calls) % len(model.model.layers)
            calls.append(None)
            if not rotates[at]:
                return q, k
            if bases is not None:
                places = torch.arange(cos.shape[1], dtype=torch.float32)
                freq = 1 / bases[at] ** (torch.arange(0, WIDTH, 2, dtype=torch.float32) / WIDTH)
                angles = torch.outer(places, freq)[None]
                cos, sin = (of(torch.cat((angles, angles), -1)) for of in (torch.cos, torch.sin))
            return apply(q, k, cos, sin, unsqueeze_dim)

        monkeypatch.setattr(file, "eager_attention_forward", attended)
        monkeypatch.setattr(file, "apply_rotary_pos_emb", rotated)

    yield patch
    monkeypatch.undo()


def judged(model, inputs, given, eager_of, eager):
    """given agrees with eager code as it is patched, which is far from the model as it is."""
    plain = verdicts.logits(model, inputs)
    eager(model, **eager_of)
    own = verdicts.logits(model, inputs)
    model.double()
    limit = roundings.bound(lambda: verdicts.logits(model, inputs))
    assert roundings.rms(given - own) <= limit
    assert roundings.rms(plain - own) > roundings.SPOILED_OVER_BOUND * limit


def alibi(heads=HEADS):
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)])[:, None, None]
    return lambda i, j: slopes * (j - i)


def kerple(tables):
    return lambda i, j: -tables["r1"].view(-1, 1, 1) * torch.log1p(tables["r2"].view(-1, 1, 1) * (i - j).abs())


def fire_tables():
    numbers = {"c": torch.tensor([0.5]), "threshold": torch.tensor([4.0])}
    hidden = {"hidden.weight": torch.randn(8, 1), "hidden.bias": torch.randn(8)}
    return numbers | hidden | {"out.weight": torch.randn(HEADS, 8), "out.bias": torch.randn(HEADS)}


def test_no_rotation_in_one_layer(eager):
    model, inputs, plan = made()
    given = in_use(model, inputs, with_layer(plan, 1, rotate=()))
    judged(model, inputs, given, {"rotates": (True, False)}, eager)


def test_no_rotation_at_all(eager):
    model, inputs, plan = made()
    given = in_use(model, inputs, verdicts.with_layers(plan, lambda layer: layer.replace(rotate=())))
    judged(model, inputs, given, {"rotates": (False, False)}, eager)


def test_another_base_in_one_layer(eager):
    model, inputs, plan = made()
    (rotate,) = plan.stacks[0].layers[1].rotate
    other = with_layer(plan, 1, rotate=(rotate.replace(scheme=rotate.rope.replace(base=300.0)),))
    judged(model, inputs, in_use(model, inputs, other), {"bases": (10000.0, 300.0)}, eager)


def test_another_scale_in_one_layer(eager):
    model, inputs, plan = made()
    given = in_use(model, inputs, with_layer(plan, 1, softmax_scale=0.6))
    judged(model, inputs, given, {"scales": (WIDTH**-0.5, 0.6)}, eager)


def test_alibi_instead_of_rope(eager):
    model, inputs, plan = made()
    other = verdicts.with_layers(plan, lambda layer: layer.replace(rotate=(), score=(posenc.Alibi(heads=HEADS),)))
    given = in_use(model, inputs, other)
    judged(model, inputs, given, {"rotates": (False, False), "biases": [alibi(), alibi()]}, eager)


@pytest.mark.parametrize("how", ["shared", "each"])
def test_kerple_with_given_weights(eager, how):
    model, inputs, plan = made()
    other = verdicts.with_layers(plan, lambda layer: layer.replace(rotate=(), score=(posenc.Kerple(),)))
    tables = [{"r1": torch.rand(HEADS) + at, "r2": torch.rand(HEADS) + 1} for at in (0.5, 1.5)]
    tables[1:] = [tables[0]] if how == "shared" else tables[1:]
    given = in_use(model, inputs, other, weights=tables[0] if how == "shared" else tables)
    judged(model, inputs, given, {"rotates": (False, False), "biases": [kerple(of) for of in tables]}, eager)


def test_weights_that_change_are_seen(eager):
    model, inputs, plan = made()
    other = with_layer(plan, 0, score=(posenc.Kerple(),))
    tables = {"r1": torch.rand(HEADS) + 0.5, "r2": torch.rand(HEADS) + 1}
    with use(model, plan=other, weights=[tables, None], angles="float32"):
        verdicts.logits(model, inputs)
        tables["r1"].mul_(2)
        given = verdicts.logits(model, inputs)
    judged(model, inputs, given, {"biases": [kerple(tables), None]}, eager)


@pytest.mark.parametrize("scheme", ["cope", "kerple", "fire", "clipped", "shaw"])
def test_what_attention_computes_is_the_reference(monkeypatch, scheme):
    """Of each layer, by the formula in float64: what came in, the tables as given, what went out."""
    term, tables = {
        "cope": (posenc.ContextualPosition(positions=5), {"table": torch.randn(5, WIDTH)}),
        "kerple": (posenc.Kerple(), {"r1": torch.rand(HEADS) + 0.1, "r2": torch.rand(HEADS) + 0.1}),
        "fire": (posenc.Fire(), fire_tables()),
        "clipped": (posenc.ClippedBias(past=3, future=0), {"table": torch.randn(4, HEADS)}),
        "shaw": (posenc.ShawKeys(left=3, right=0), {"table": torch.randn(4, WIDTH)}),
    }[scheme]
    model, inputs, plan = made()
    other = verdicts.with_layers(plan, lambda layer: layer.replace(rotate=(), score=(term,)))
    attention, compared = posenc.transformers.attention, []

    def seen(module, query, key, value, attention_mask, **given):
        out, _ = attention(module, query, key, value, attention_mask, **given)
        layer = other.stacks[0].layers[0]
        weights = posenc.named_weights(layer, tables)
        for at in range(query.shape[0]):
            rows = (x[at].transpose(0, 1) for x in (query, key, value))
            truth = torch.as_tensor(posenc.reference.attend(layer, *rows, score_weights=weights["score_weights"]))
            compared.append(float((truth - out[at]).abs().max()) / float(value.abs().max()))
        return out, None

    posenc.transformers.AttentionInterface.register("posenc", seen)
    try:
        plain = verdicts.logits(model, inputs)
        given = in_use(model, inputs, other, weights=tables)
    finally:
        posenc.transformers.AttentionInterface.register("posenc", attention)
    # Scores near 10 of some dozen float operations each, in a softmax and a sum over 11 keys: 300 half units.
    assert len(compared) == 4 and max(compared) < 300 * roundings.HALF_UNIT
    assert roundings.rms(given - plain) > 0.01


@pytest.mark.parametrize("scheme", ["alibi", "kerple", "fire"])
def test_other_schemes_with_caches_and_padding(scheme):
    """As without: token by token, in a static cache, and with padding before the text."""
    model, inputs, plan = made()
    term, tables = {
        "alibi": (posenc.Alibi(heads=HEADS), None),
        "kerple": (posenc.Kerple(), {"r1": torch.rand(HEADS) + 0.1, "r2": torch.rand(HEADS) + 0.1}),
        "fire": (posenc.Fire(), fire_tables()),
    }[scheme]
    other = verdicts.with_layers(plan, lambda layer: layer.replace(rotate=(), score=(term,)))
    limit = roundings.bound(lambda: verdicts.logits(BY_TITLE["llama"].model().double(), inputs))
    ids = inputs["input_ids"]
    if scheme == "fire":
        tables["c"] = tables["c"][0]  # numbers may be without an axis
    with torch.no_grad(), use(model, plan=other, weights=tables):
        whole = model(ids).logits
        for cache in (None, StaticCache(config=model.config, max_cache_len=TOKENS + 4)):
            first = model(ids[:, :8], past_key_values=cache, use_cache=True)
            rest = [model(ids[:, at : at + 1], past_key_values=first.past_key_values).logits for at in range(8, TOKENS)]
            assert roundings.rms(torch.cat((first.logits, *rest), 1) - whole) <= limit
        padded = torch.cat((torch.zeros(2, 3, dtype=torch.long), ids), 1)
        mask = torch.cat((torch.zeros(2, 3, dtype=torch.long), torch.ones_like(ids)), 1)
        assert roundings.rms(model(padded, attention_mask=mask).logits[:, 3:] - whole) <= limit


def changed(plan, **changes):
    return verdicts.with_layers(plan, lambda layer: layer.replace(**changes))


def refusals():
    rope = posenc.Rope(pairing="half", head_dim=WIDTH, dim=WIDTH)
    t5, window = posenc.T5Bias(), posenc.Mask(window=posenc.Window(past=2))
    x_pos = posenc.Rotate(scheme=posenc.XPos(rope=rope))
    kerple = {"r1": torch.ones(HEADS), "r2": torch.ones(HEADS)}
    main = posenc.Rotate(scheme=rope)
    layers = {
        "T5 without tables": ("llama", {"score": (t5,)}, {}, r"weights must have the tables of T5Bias"),
        "KERPLE without tables": ("llama", {"score": (posenc.Kerple(),)}, {}, "weights must have the tables of Kerple"),
        "DeBERTa": ("llama", {"score": (posenc.Deberta(),)}, {}, "weights must have the tables of Deberta"),
        "XLNet": ("llama", {"score": (posenc.XlNet(),)}, {}, "weights must have the tables of XlNet"),
        "forget gates": ("llama", {"score": (posenc.ForgetGate(),)}, {}, "weights must have the tables of ForgetGate"),
        "a table too few": ("llama", {"score": (posenc.Kerple(),)}, {"weights": {"r1": torch.ones(4)}}, r'weights\["r2"\]'),
        "a table too many": ("llama", {"score": (posenc.Kerple(),)}, {"weights": {**kerple, "x": torch.ones(1)}}, '"x"'),
        "tables for none": ("llama", {}, {"weights": kerple}, "weights must be omitted"),
        "tables of one layer": ("llama", {"score": (posenc.Kerple(),)}, {"weights": [kerple]}, "one entry for each of 2"),
        "a window": ("llama", {"mask": window}, {}, "model's mask in decoder layer 0, for masks are transformers' own"),
        "norms": ("llama", {"qk_norm": posenc.QkNorm()}, {}, "model's qk_norm"),
        "a query scale": ("llama", {"query_scale": posenc.LogNScale()}, {}, "model's query_scale"),
        "regions": ("llama", {"regions": posenc.ReRope(window=4)}, {}, "model's regions"),
        "sinks": ("llama", {"sinks": True}, {}, "weights must have the sinks"),
        "two rotations": ("llama", {"rotate": (main, main)}, {}, "at most one main rotation in decoder layer 0, .* has 2"),
        "some heads": ("llama", {"rotate": (main.replace(heads=2),)}, {}, "all heads rotated in decoder layer 0, 4, .* has 2"),
        "heads too many": ("llama", {"rotate": (main.replace(heads=9),)}, {}, "all heads rotated .* but has 9"),
        "negative heads": ("llama", {"rotate": (main.replace(heads=-1),)}, {}, "all heads rotated .* but has -1"),
        "an offset": ("llama", {"rotate": (main.replace(offset=5),)}, {}, "offset 0 of the model's rotation .* but has 5"),
        "xPos": ("llama", {"rotate": (x_pos,)}, {}, "rotate must be RoPE in layer 0"),
        "RoPE in BLOOM": ("bloom", {"rotate": (posenc.Rotate(scheme=rope),)}, {}, "no rotation in decoder layer 0"),
        "RoPE in a layer without": ("smollm3", {"rotate": (posenc.Rotate(scheme=rope),)}, {}, "no rotation in decoder layer 1"),
    }
    return [pytest.param(*case, id=name) for name, case in layers.items()]


@pytest.mark.parametrize("title, changes, given, words", refusals())
def test_what_is_not_carried_out_is_refused(title, changes, given, words):
    """By the first forward pass at the latest, and mostly before; afterwards the model is as it was."""
    model, inputs, plan = made(title)
    before = verdicts.logits(model, inputs)
    with pytest.raises(ValueError, match=words):
        with use(model, plan=changed(plan, **changes), **given):
            verdicts.logits(model, inputs)
    assert torch.equal(verdicts.logits(model, inputs), before)


@pytest.mark.parametrize("masks", ["Plan", "plans", "", None, True, ["plan"]])
def test_masks_that_there_are_not_are_refused(masks):
    """They dropped the plan's mask silently."""
    model, _, plan = made()
    windowed = changed(plan, mask=posenc.Mask(window=posenc.Window(past=2)))
    with pytest.raises(ValueError, match=r"\[use\] masks must be 'model' or 'plan' but is "):
        with use(model, plan=windowed, masks=masks):
            pass


@pytest.mark.parametrize(
    "given, error, words",
    [
        ({"angles": "float16"}, ValueError, "angles must be 'exact', 'float32' or 'bfloat16' but is 'float16'"),
        ({"angles": None}, ValueError, "angles must be .* but is None"),
        ({"length": 0}, ValueError, "length must be at least 1, or None, but is 0"),
        ({"length": "long"}, TypeError, "length must be a whole number, or None, but is 'long'"),
    ],
)
def test_other_words_that_there_are_not_are_refused(given, error, words):
    model, _, _ = made("bloom")  # which needs neither
    with pytest.raises(error, match=words):
        with use(model, **given):
            pass


@pytest.mark.parametrize("first", [-30, -5])
def test_negative_positions_are_those_of_the_model(first):
    """All of them negative, "length must be at least 1 but is -19" was said of what nobody gave."""
    model, inputs, _ = made()
    places = torch.arange(first, first + inputs["input_ids"].shape[1])[None]
    with torch.no_grad():
        own = model(**inputs, position_ids=places).logits
        with use(model, angles="float32"):
            given = model(**inputs, position_ids=places).logits
    assert roundings.rms(given - own) <= 1e-5 * roundings.rms(own)


def test_a_rotation_that_attention_does_is_carried_out_whole():
    """RoFormer's module leaves its rotation to attention: twice by an angle is once by twice of it."""
    model, inputs, plan = made("roformer")
    layer = plan.stacks[0].layers[0]
    again = in_use(model, inputs, changed(plan, rotate=layer.rotate * 2))
    once = in_use(model, inputs, plan)
    assert roundings.rms(again - once) > 1e-3 * roundings.rms(once)


def test_other_embeddings_are_refused():
    model, _, plan = made()
    stacks = tuple(stack.replace(input=(posenc.SinusoidalInput(),)) for stack in plan.stacks)
    with pytest.raises(ValueError, match="model's input in the decoder, for embeddings are the model's"):
        with use(model, plan=plan.replace(stacks=stacks)):
            pass


@pytest.mark.parametrize("scheme", [posenc.XPos(rope=posenc.Rope(pairing="half")), posenc.Alibi(heads=4)])
def test_a_scheme_is_a_rope(scheme):
    model, _, _ = made()
    with pytest.raises(TypeError, match=f"scheme must be a posenc.Rope, .* but is {type(scheme).__name__}: give a plan"):
        with use(model, scheme=scheme):
            pass


def test_a_model_that_is_elsewhere_is_refused_at_once():
    model, inputs, _ = made()
    with pytest.raises(NotImplementedError, match="model.embed_tokens.weight must be on the CPU, .* but is on meta"):
        with use(model.to("meta")):
            pass
    q = torch.empty(1, HEADS, 3, WIDTH, device="meta")
    with pytest.raises(NotImplementedError, match=r"\[attention\] query must be on the CPU"):
        posenc.transformers.attention(torch.nn.Module(), q, q, q, None)


def test_a_model_of_which_nothing_is_known_is_refused():
    config = transformers.LEDConfig(
        d_model=48, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, vocab_size=32
    )
    with pytest.raises(ValueError, match="no module of LEDModel is known"):
        with use(transformers.LEDModel(config)):
            pass


def test_a_plan_is_a_plan_that_is_known():
    model, _, plan = made()
    with pytest.raises(TypeError, match="plan must be a posenc.Plan, as read_plan makes, but is a str"):
        with use(model, plan="llama-2-7b"):
            pass
    with pytest.raises(ValueError, match=r"plan must be known, .*: give plan.replace\(known=True\)"):
        with use(model, plan=plan.replace(known=False)):
            pass
    with pytest.raises(ValueError, match="plan must have a known decoder"):
        with use(model, plan=plan.replace(stacks=tuple(stack.replace(known=False) for stack in plan.stacks))):
            pass


def test_a_plan_that_is_not_known_is_refused(monkeypatch):
    model, _, plan = made()
    monkeypatch.setattr(posenc.transformers, "read_plan", lambda config: plan.replace(known=False))
    with pytest.raises(ValueError, match="plan must be given: what LlamaForCausalLM does is not known"):
        with use(model):
            pass
    with use(model, plan=plan):
        pass


# ---- what a module hands over ----


def handing_over(**facts):
    """A call of attention as a module of Llama's makes it."""
    model, _, _ = made()
    module = model.model.layers[0].self_attn
    q, k, v = (torch.randn(1, heads, 5, WIDTH) for heads in (HEADS, 2, 2))
    mask = torch.ones(1, 1, 5, 5).tril().bool()
    given = {"scaling": WIDTH**-0.5, **facts}
    with torch.no_grad(), use(model, masks="plan" if "sliding_window" in facts else "model"):
        return posenc.transformers.attention(module, q, k, v, given.pop("attention_mask", mask), **given)


@pytest.mark.parametrize(
    "facts, words",
    [
        ({"scaling": 0.5}, r"softmax scale of 0\.5, but the model's plan has 0\.288675135"),
        ({"scaling": 1.0}, r"softmax scale of 1, but the model's plan has 0\.288675135"),
        ({"softcap": 30.0}, r"soft cap of 30\.0, but the model's plan has None"),
        ({"s_aux": torch.ones(HEADS)}, "sinks, but the model's plan has none"),
        ({"sliding_window": 4}, "window of 4, but the model's plan has None, and it hides some of 5 tokens: say masks='model'"),
        ({"attention_mask": None, "is_causal": False}, "no mask, .* plan is causal, Mask"),
    ],
)
def test_what_a_module_hands_over_is_compared(facts, words):
    handing_over()
    with pytest.raises(ValueError, match=words):
        handing_over(**facts)


def test_a_soft_cap_that_is_no_longer_handed_over_is_missed():
    keys = {"vocab_size": 32, "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = transformers.Gemma2Config(**keys, num_key_value_heads=2, head_dim=8, attn_implementation="eager")
    model, inputs = transformers.Gemma2ForCausalLM(config).eval(), {"input_ids": torch.arange(3, 14)[None]}
    with torch.no_grad(), use(model):
        model(**inputs)
        model.model.layers[1].self_attn.attn_logit_softcapping = None
        with pytest.raises(ValueError, match=r"a soft cap of None, but the model's plan has 50"):
            model(**inputs)


@pytest.mark.parametrize("window", [5, 7])
def test_a_window_that_hides_none_of_the_tokens_is_what_the_plan_says(window):
    assert torch.equal(handing_over(sliding_window=window)[0], handing_over()[0])


@pytest.mark.parametrize("spoiled", [False, True])
def test_scaled_queries_are_seen(spoiled):
    """OPT multiplies its queries and hands over 1; where it does not, the softmax scale is missing."""
    keys = {"vocab_size": 32, "hidden_size": 48, "ffn_dim": 40, "num_hidden_layers": 2, "num_attention_heads": 4}
    torch.manual_seed(0)
    config = transformers.OPTConfig(**keys, word_embed_proj_dim=48, attn_implementation="eager", activation_function="gelu")
    model, inputs = transformers.OPTForCausalLM(config).eval(), {"input_ids": torch.arange(3, 14)[None]}
    with torch.no_grad():
        own = model(**inputs).logits
        if spoiled:
            for layer in model.model.decoder.layers:
                layer.self_attn.scaling = 1.0
            with pytest.raises(ValueError, match="OPTAttention hands over a softmax scale of 1, but"), use(model):
                model(**inputs)
            return
        with use(model):
            given = model(**inputs).logits
        # Another scale than the configuration's, in a plan: of the same queries.
        plan = verdicts.with_layers(posenc.read_plan(config), lambda layer: layer.replace(softmax_scale=0.6))
        with use(model, plan=plan):
            scaled = model(**inputs).logits
        for layer in model.model.decoder.layers:
            layer.self_attn.scaling = 0.6
        truth = model(**inputs).logits
    assert roundings.rms(given - own) <= 1e-5 * roundings.rms(own)
    assert roundings.rms(scaled - truth) <= 1e-5 * roundings.rms(own)
    assert roundings.rms(own - truth) > 1e-3 * roundings.rms(own)


@pytest.mark.parametrize("title", ["bloom", "mpt", "falcon, alibi", "mpnet", "roformer", "deberta"])
def test_an_argument_that_is_not_read_is_refused(title):
    model, inputs, _ = made(title)
    calls = []
    with use(model) as changed, torch.no_grad():
        module = model.get_submodule(changed.attention[0])
        module.register_forward_pre_hook(lambda *given: calls.append(given[1:]), with_kwargs=True)
        model(**inputs)
        args, kwargs = calls[0]
        with pytest.raises(NotImplementedError, match=f"{type(module).__name__} must be called without .*: posenc does not"):
            name = {"roformer": "encoder_hidden_states", "deberta": "query_states"}.get(title, "another")
            module(*args, **{**kwargs, name: torch.ones(1)})
