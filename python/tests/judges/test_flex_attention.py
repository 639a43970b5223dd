"""score_mod and mask_mod: torch's FlexAttention computes what posenc's reference does, scheme by scheme."""

import functools
import time

import pytest
import torch
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

import bounds
import posenc
import posenc.torch

HEADS, TOKENS = 3, 9


def random(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def layer_with(*terms, **others):
    sizes = {"heads": HEADS, "kv_heads": HEADS, "head_dim": 8, "value_dim": 8}
    return posenc.LayerPlan(**{**sizes, "softmax_scale": 0.3, "score": terms, **others})


def linear(outputs, inputs, seed):
    return posenc.Linear(weight=random(outputs, inputs, seed=seed), bias=random(outputs, seed=seed + 1))


def kerple():
    r1, r2 = (random(HEADS, seed=seed).abs() + 0.1 for seed in (6, 7))
    return posenc.KerpleWeights(r1=r1, r2=r2)


def alibi(**how):
    return posenc.Alibi(heads=HEADS, **how)


T5 = posenc.T5Bias(buckets=8, max_distance=6, bidirectional=True)
T5_TABLE = posenc.T5Weights(table=random(8, HEADS, seed=4))
FIRE = posenc.FireWeights(c=2.0, threshold=4.0, hidden=linear(5, 1, 8), out=linear(HEADS, 5, 10))
CLIPPED = posenc.ClippedBiasWeights(table=random(6, HEADS, seed=5))
LAYERS = [linear(5, 1, 12), posenc.Linear(weight=random(6, 5, seed=14)), linear(HEADS, 6, 16)]
PERCEPTRON = posenc.MlpBiasWeights(layers=LAYERS)
CAP = posenc.SoftCap(cap=2.0)
CASES = {
    "alibi": (layer_with(alibi()), None),
    "alibi, BLOOM": (layer_with(alibi(form="column")), None),
    "alibi, Falcon": (layer_with(alibi(form="column_bfloat16", scaled=True)), None),
    "alibi, symmetric": (layer_with(alibi(symmetric=True)), None),
    "t5": (layer_with(T5), T5_TABLE),
    "clipped": (layer_with(posenc.ClippedBias(past=3, future=2)), CLIPPED),
    "kerple": (layer_with(posenc.Kerple(form="power")), kerple()),
    "kerple, logarithmic": (layer_with(posenc.Kerple(form="logarithmic")), kerple()),
    "fire": (layer_with(posenc.Fire()), FIRE),
    "sandwich": (layer_with(posenc.Sandwich(heads=HEADS, channels=16)), None),
    "perceptron": (layer_with(posenc.MlpBias(logarithmic=True)), PERCEPTRON),
    "capped": (layer_with(alibi(), soft_cap=CAP), None),
    "BLOOM's, capped": (layer_with(alibi(form="column"), soft_cap=CAP), None),
    "capped before": (layer_with(alibi(), soft_cap=CAP.replace(order="before_bias")), None),
    "two terms": (layer_with(alibi(), T5), [None, T5_TABLE]),
    "llama 4": (layer_with(query_scale=posenc.Llama4Temperature(floor_scale=2.0)), ()),
    "ministral": (layer_with(query_scale=posenc.MinistralTemperature(original_max_position_embeddings=2)), ()),
    "qwen": (layer_with(alibi(), query_scale=posenc.LogNScale(seq_length=3), soft_cap=CAP), None),
}
MASKS = {
    "causal": posenc.Mask(),
    "bidirectional": posenc.Mask(kind="bidirectional"),
    "window": posenc.Mask(window=posenc.Window(past=2)),
    "two-sided": posenc.Mask(kind="bidirectional", window=posenc.Window(past=2, future=1)),
    "chunks": posenc.Mask(chunk=4),
    "prefix": posenc.Mask(kind="prefix"),
}
# queries, offset; the last query stands with the last key, as reference.attend has it.
CALLS = {
    "prefill": (TOKENS, 0),
    "decode": (1, TOKENS - 1),
    "tensor": (1, torch.tensor(TOKENS - 1)),
    "chunk": (4, TOKENS - 4),
}


def listed(weights):
    return weights if isinstance(weights, (list, tuple)) else [weights]


def qkv(layer, queries=TOKENS, batch=1):
    q = random(batch, layer.heads, queries, layer.head_dim, seed=1)
    return q, *(random(batch, layer.kv_heads, TOKENS, layer.head_dim, seed=seed) for seed in (2, 3))


def by_flex(layer, weights, q, k, v, offset=0, prefix=0, cu_seqlens=None, **how):
    given = {"offset": offset, "cu_seqlens": cu_seqlens}
    mod = posenc.torch.score_mod(layer, length=TOKENS, score_weights=listed(weights), **given, **how)
    mask = posenc.torch.mask_mod(layer, prefix=prefix, **given)
    seen = create_block_mask(mask, None, None, q.shape[2], k.shape[2], device="cpu")
    grouped = layer.heads != layer.kv_heads
    return flex_attention(q, k, v, score_mod=mod, block_mask=seen, scale=layer.softmax_scale, enable_gqa=grouped)


def agrees(layer, weights, q, k, v, given, **inputs):
    truth, biased = posenc.reference.attend(
        layer, q, k, v, score_weights=listed(weights), scores="biased", **inputs
    )
    bias = float(biased[biased.isfinite()].abs().max())  # FIRE has no number for keys after the query
    return float((given - truth).abs().max()) <= bounds.attended(q, k, v, 2 * layer.softmax_scale, bias)


def dense(layer, weights, q, k, v, offset=0, prefix=0, cu_seqlens=None):
    """What FlexAttention does with the two functions, without its speed: both take places of any shape."""
    given = {"offset": offset, "cu_seqlens": cu_seqlens}
    mod = posenc.torch.score_mod(layer, length=TOKENS, score_weights=listed(weights), **given)
    seen = posenc.torch.mask_mod(layer, prefix=prefix, **given)
    b, h = torch.tensor([0]), torch.arange(layer.heads)[:, None, None]
    i, j = torch.arange(q.shape[2])[:, None], torch.arange(k.shape[2])
    scores = mod(layer.softmax_scale * q @ k.mT, b, h, i, j)
    return scores.masked_fill(~seen(b, h, i, j), -torch.inf).softmax(-1) @ v


def is_of_future(case, mask):
    return case == "fire" and mask in ("bidirectional", "two-sided", "prefix")  # where ln(c d + 1) is no number


@pytest.mark.parametrize("case", CASES)
def test_the_scores_are_the_references(case):
    for mask, of_plan in MASKS.items():
        if is_of_future(case, mask):
            continue
        layer, weights = CASES[case]
        layer, prefix = layer.replace(mask=of_plan), 3 if mask == "prefix" else 0
        for call, (queries, offset) in CALLS.items():
            q, k, v = qkv(layer, queries)
            given = dense(layer, weights, q, k, v, offset, prefix)
            assert agrees(layer, weights, q, k, v, given, prefix=prefix), (mask, call)
        if mask == "causal":  # other masks in FlexAttention: the next test
            assert agrees(layer, weights, q, k, v, by_flex(layer, weights, q, k, v, offset), prefix=prefix)


@pytest.mark.parametrize("mask", MASKS)
def test_a_decode_step_has_its_place(mask):
    layer, weights = layer_with(T5, mask=MASKS[mask], query_scale=posenc.LogNScale(seq_length=3)), T5_TABLE
    for queries, offset in CALLS.values():
        q, k, v = qkv(layer, queries)
        assert agrees(layer, weights, q, k, v, by_flex(layer, weights, q, k, v, offset))
        if int(offset):
            assert not agrees(layer, weights, q, k, v, dense(layer, weights, q, k, v, 0))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("case", ["alibi, BLOOM", "t5", "fire", "qwen"])
def test_packed_sequences(case, mask):
    layer, weights = CASES[case]
    if is_of_future(case, mask):
        return
    layer = layer.replace(mask=MASKS[mask])
    prefix = 3 if mask == "prefix" else 0
    ends = torch.tensor([0, 2, 2, TOKENS], dtype=torch.int32)
    q, k, v = qkv(layer)
    given = (by_flex if mask == "causal" else dense)(layer, weights, q, k, v, 0, prefix, ends)
    rows = [x[0].transpose(0, 1) for x in (q, k, v)]
    truth = posenc.reference.attend(
        layer, *rows, score_weights=listed(weights), prefix=prefix, cu_seqlens_q=ends, cu_seqlens_k=ends
    )
    bound = bounds.attended(q, k, v, 2 * layer.softmax_scale, 8.0)
    assert float((given[0].transpose(0, 1) - truth).abs().max()) <= bound
    apart = dense(layer, weights, q, k, v, 0, prefix)
    assert float((apart - given).abs().max()) > bound


@pytest.mark.parametrize("mask", MASKS)
def test_a_mask_sees_what_the_reference_sees(mask):
    layer = layer_with(mask=MASKS[mask])
    for queries, offset in ((TOKENS, 0), (1, TOKENS - 1), (4, TOKENS - 4)):
        q, k, v = (torch.zeros_like(x) for x in qkv(layer, queries, batch=2))
        for prefix in (0, 5) if mask == "prefix" else (0,):
            _, weights = posenc.reference.attend(layer, q, k, v, prefix=prefix, scores="weights")
            seen = posenc.torch.mask_mod(layer, offset=offset, prefix=prefix)
            i, j = torch.arange(queries)[:, None], torch.arange(TOKENS)
            given = seen(torch.tensor(0), torch.tensor(0), i, j)
            assert given.dtype == torch.bool and torch.equal(given.expand(queries, TOKENS), weights[0, 0] > 0)
    if mask == "prefix":  # one for each sequence
        each = posenc.torch.mask_mod(layer, prefix=torch.tensor([0, 5]))
        for b, one in enumerate((0, 5)):
            alone = posenc.torch.mask_mod(layer, prefix=one)
            i, j = torch.arange(TOKENS)[:, None], torch.arange(TOKENS)
            assert torch.equal(each(torch.tensor(b), None, i, j), alone(torch.tensor(0), None, i, j))


def test_grouped_heads():
    layer = layer_with(alibi(form="relative").replace(heads=4), heads=4, kv_heads=2)
    q, k, v = qkv(layer)
    assert agrees(layer, None, q, k, v, by_flex(layer, None, q, k, v))


ROPE = posenc.Rope(pairing="half", head_dim=8, dim=8)
ROTATED = layer_with(alibi(), rotate=(posenc.Rotate(scheme=ROPE, heads=HEADS),))


def test_a_rotation_is_the_callers():
    with pytest.raises(ValueError, match=r"would leave out a rotation.*rotated=True"):
        posenc.torch.score_mod(ROTATED, length=TOKENS)
    q, k, v = qkv(ROTATED)
    table = posenc.torch.Table(posenc.make_table(ROPE, count=TOKENS))
    given = by_flex(ROTATED, None, *(posenc.torch.rotate(x, table) for x in (q, k)), v, rotated=True)
    truth = posenc.reference.attend(ROTATED, q, k, v)
    assert float((given - truth).abs().max()) <= bounds.attended(q, k, v, 0.3, 1.0, factor=1.0)
    of_others = ROTATED.replace(rotate=(posenc.Rotate(scheme=ROPE, heads=HEADS, role="indexer"),))
    posenc.torch.score_mod(of_others, length=TOKENS)  # an indexer's is none of q and k


def test_sinks_are_the_callers():
    layer, sinks = layer_with(alibi(form="column"), sinks=True), random(HEADS, seed=9)
    with pytest.raises(ValueError, match=r"would leave out sinks: .*sigmoid\(lse - sink\).*sinks=True"):
        posenc.torch.score_mod(layer, length=TOKENS)
    with pytest.raises(TypeError, match="sinks must be True"):
        posenc.torch.score_mod(layer, length=TOKENS, sinks=sinks)
    q, k, v = qkv(layer)
    mod = posenc.torch.score_mod(layer, length=TOKENS, sinks=True)
    seen = create_block_mask(posenc.torch.mask_mod(layer), None, None, TOKENS, TOKENS, device="cpu")
    out, aux = flex_attention(q, k, v, score_mod=mod, block_mask=seen, scale=0.3, return_aux=AuxRequest(lse=True))
    given = out * torch.sigmoid(aux.lse - sinks[:, None])[..., None]
    truth = posenc.reference.attend(layer, q, k, v, sinks=sinks)
    # The sigmoid moves an output by at most a fourth of what its argument is off, and rounds thrice.
    assert float((given - truth).abs().max()) <= 2 * bounds.attended(q, k, v, 0.3, 8.0)


def test_rotated_values_are_the_callers():
    layer = ROTATED.replace(value=posenc.RotatedValues(inverse_on_output=True))
    with pytest.raises(ValueError, match=r"would leave out RotatedValues.*values=True"):
        posenc.torch.score_mod(layer, length=TOKENS, rotated=True)
    q, k, v = qkv(layer)
    table = posenc.torch.Table(posenc.make_table(ROPE, count=TOKENS))
    out = by_flex(layer, None, *(posenc.torch.rotate(x, table) for x in (q, k, v)), rotated=True, values=True)
    truth = posenc.reference.attend(layer, q, k, v)
    given = posenc.torch.rotate(out, table, direction="inverse")
    assert float((given - truth).abs().max()) <= 2 * bounds.attended(q, k, v, 0.3, 1.0, factor=1.0)


REFUSED = {
    "content": (layer_with(posenc.ShawKeys(left=2, right=2)), "places alone"),
    "hidden states": (layer_with(T5.replace(gated=True)), "places alone"),
    "coordinates": (layer_with(T5.replace(axis=1)), "places alone"),
    "a window": (layer_with(posenc.GridBias(rows=3, columns=3)), "places alone"),
    "regions": (ROTATED.replace(regions=posenc.ReRope(window=3)), "places alone"),
    "values": (layer_with(value=posenc.ShawValues(left=2, right=2)), "no place for ShawValues"),
    "compression": (layer_with(compression=4), "compressed"),
    "no attention": (posenc.LayerPlan(kind="linear_attention"), "must be of attention"),
    "no table": (layer_with(T5), r"score\[0\]|score_weights|table"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_score_mod_refuses_what_it_cannot_do(case):
    layer, words = REFUSED[case]
    with pytest.raises(ValueError, match=words):
        posenc.torch.score_mod(layer, length=4, rotated=True, sinks=True, values=True)


def test_wrong_arguments_are_refused():
    layer = CASES["alibi"][0]
    for mod, more in ((posenc.torch.score_mod, {"length": 8}), (posenc.torch.mask_mod, {})):
        with pytest.raises(ValueError, match="offset must be at least 0 but is -1"):
            mod(layer, offset=-1, **more)
        with pytest.raises(TypeError, match="offset must be a whole number"):
            mod(layer, offset=1.5, **more)
        with pytest.raises(ValueError, match="offset must be 0 with cu_seqlens"):
            mod(layer, offset=1, cu_seqlens=[0, 4], **more)
        with pytest.raises(ValueError, match="ascending from 0"):
            mod(layer, cu_seqlens=[0, 4, 2], **more)
        with pytest.raises(TypeError, match="plan must be a Plan or a LayerPlan but is a str"):
            mod("llama", **more)
        with pytest.raises(ValueError, match="compressed"):
            mod(layer.replace(compression=4), **more)
    with pytest.raises(ValueError, match="longest sequence, 9, but is 8"):
        posenc.torch.score_mod(layer, length=8, cu_seqlens=[0, 9])
    with pytest.raises(ValueError, match="sparse"):
        posenc.torch.mask_mod(layer.replace(mask=posenc.Mask(kind="sparse")))
    with pytest.raises(ValueError, match="a prefix must have a mask that reads it, but the mask is causal"):
        posenc.torch.mask_mod(layer, prefix=3)


# ---- lengths that are exceeded ----

SHORT = 5
EXCEEDED = ["alibi", "alibi, BLOOM", "fire", "llama 4", "qwen"]  # by distance, key, both, and place of the query


def short(case, mask="causal"):
    """score_mod for fewer tokens than there are, and the arguments of FlexAttention beside it."""
    layer, weights = CASES[case]
    layer = layer.replace(mask=MASKS[mask])
    mod = posenc.torch.score_mod(layer, length=SHORT, score_weights=listed(weights))
    seen = create_block_mask(posenc.torch.mask_mod(layer), None, None, TOKENS, TOKENS, device="cpu")
    return mod, {"block_mask": seen, "scale": layer.softmax_scale}, qkv(layer)


@pytest.mark.parametrize("case", EXCEEDED)
def test_a_query_beyond_the_length_is_refused(case):
    """IndexError: index 9 is out of bounds for dimension 1 with size 9."""
    mod, given, (q, k, v) = short(case)
    words = r"\[score_mod\] length must be at least 9, as a query stands at 8, but is 5"
    with pytest.raises(ValueError, match=words):
        flex_attention(q, k, v, score_mod=mod, **given)
    with pytest.raises(ValueError, match=words):
        mod(torch.zeros(TOKENS), 0, torch.tensor(0), torch.arange(TOKENS), torch.tensor(0))
    with pytest.raises(ValueError, match="length must be at least 6, as a query stands at 5, but is 5"):
        posenc.torch.score_mod(CASES["alibi"][0], length=SHORT, offset=SHORT)


@pytest.mark.parametrize("case", EXCEEDED)
def test_a_graph_has_no_numbers_beyond_the_length(case):
    """Negative indexes counted from the end of a table, silently."""
    mod, given, (q, k, v) = short(case)
    places = torch.arange(TOKENS)
    alone = torch.compile(lambda i, j: mod(torch.zeros(TOKENS), 0, torch.tensor(0), i, j), backend="aot_eager", fullgraph=True)
    keys = places if case == "alibi, BLOOM" else 0 * places  # BLOOM's knows no query
    assert torch.equal(alone(places, keys) == torch.inf, places >= SHORT)
    assert (alone(places - 2 * TOKENS, places + SHORT) == torch.inf).all()
    out = torch.compile(flex_attention, backend="aot_eager", fullgraph=True)(q, k, v, score_mod=mod, **given)
    assert torch.equal(out.isnan(), (places >= SHORT)[:, None].expand(out.shape))


@pytest.mark.parametrize("case", ["alibi", "alibi, BLOOM", "fire"])
def test_keys_beyond_the_length_may_be_hidden(case):
    """As slots of a static KV cache are, that hold nothing yet."""
    mod, given, (q, k, v) = short(case)
    layer, weights = CASES[case]
    seen = create_block_mask(posenc.torch.mask_mod(layer), None, None, SHORT, TOKENS, device="cpu")
    out = flex_attention(q[:, :, :SHORT], k, v, score_mod=mod, **{**given, "block_mask": seen})
    enough = posenc.torch.score_mod(layer, length=TOKENS, score_weights=listed(weights))
    assert torch.equal(out, flex_attention(q[:, :, :SHORT], k, v, score_mod=enough, **{**given, "block_mask": seen}))


@pytest.mark.parametrize("case", ["alibi, symmetric", "alibi, BLOOM"])
def test_keys_beyond_the_length_that_are_seen_give_nan(case):
    mod, given, (q, k, v) = short(case, "bidirectional")
    out = flex_attention(q[:, :, :1], k, v, score_mod=mod, scale=given["scale"])
    assert out.isnan().all()


def test_tables_are_on_the_device_that_is_asked_for():
    layer, weights = CASES["two terms"]
    layer = layer.replace(query_scale=posenc.LogNScale(seq_length=3))
    places = [torch.zeros(1, dtype=torch.int64, device="meta")] * 4
    score = torch.zeros(1, device="meta")
    given = {"length": 4, "score_weights": weights}
    assert posenc.torch.score_mod(layer, device="meta", **given)(score, *places).device.type == "meta"
    assert posenc.torch.mask_mod(layer, device="meta")(*places).device.type == "meta"
    with pytest.raises(ValueError, match=r"made for cpu but the scores are on meta: say device="):
        posenc.torch.score_mod(layer, **given)(score, *places)


def test_compiled_in_one_graph():
    layer, weights = CASES["qwen"]
    layer = layer.replace(mask=MASKS["window"])
    offset = torch.tensor(TOKENS - 4)
    q, k, v = qkv(layer, 4)
    mod = posenc.torch.score_mod(layer, length=TOKENS, offset=offset)
    seen = create_block_mask(posenc.torch.mask_mod(layer, offset=offset), None, None, 4, TOKENS, device="cpu")
    graph = torch.compile(flex_attention, backend="aot_eager", fullgraph=True)
    given = graph(q, k, v, score_mod=mod, block_mask=seen, scale=layer.softmax_scale)
    assert agrees(layer, weights, q, k, v, given)


@pytest.mark.parametrize("case", ["fire", "perceptron", "alibi, Falcon", "t5"])
def test_tables_of_32_heads_take_less_than_a_second(case):
    heads, length = 32, 512
    layer = CASES[case][0]
    fire = posenc.FireWeights(c=0.1, threshold=64.0, hidden=linear(32, 1, 8), out=linear(heads, 32, 10))
    weights = {
        "fire": fire,
        "perceptron": posenc.MlpBiasWeights(layers=[linear(512, 1, 12), linear(heads, 512, 14)]),
        "t5": posenc.T5Weights(table=random(8, heads)),
    }.get(case)
    term = layer.score[0].replace(heads=heads) if weights is None else layer.score[0]
    layer = layer.replace(heads=heads, kv_heads=heads, score=(term,))
    began = time.process_time()
    mod = posenc.torch.score_mod(layer, length=length, score_weights=[weights])
    assert time.process_time() - began < 1
    # Of a few places, the reference's number, rounded once to float32.
    heads_at, i = torch.arange(heads)[:, None], torch.tensor(500)
    j = torch.tensor([0, 1, 77, 499, 500])
    given = mod(torch.zeros(()), None, heads_at, i, j)
    zeros = torch.zeros(1, heads, 8), torch.zeros(5, heads, 8), torch.zeros(5, heads, 8)
    _, truth = posenc.reference.attend(
        layer, *zeros, score_weights=[weights], scores="biased", q_order=i[None], k_order=j
    )
    assert float((given - truth[:, 0]).abs().max()) <= 2.0**-24 * float(truth.abs().max())


def test_scores_train_where_attend_does_not():
    # What the page's section on training does, against FlexAttention's forward pass and a difference quotient.
    layer, _ = CASES["qwen"]
    q, k, v = (x.double().requires_grad_() for x in qkv(layer))
    mod, seen = posenc.torch.score_mod(layer, length=TOKENS), posenc.torch.mask_mod(layer)
    h, i, j = torch.arange(HEADS)[:, None, None], torch.arange(TOKENS)[:, None], torch.arange(TOKENS)

    def attended(q, k, v):
        scores = mod(layer.softmax_scale * q @ k.mT, 0, h, i, j)
        return scores.masked_fill(~seen(0, h, i, j), -torch.inf).softmax(-1) @ v

    truth = posenc.reference.attend(layer, *(x.detach() for x in (q, k, v)))
    bound = bounds.attended(*(x.detach() for x in (q, k, v)), 0.6, 8.0)
    assert float((attended(q, k, v).detach() - truth).abs().max()) <= bound
    assert torch.autograd.gradcheck(attended, (q, k, v))


@pytest.mark.parametrize(
    "given, error, words",
    [
        ({"layer": 32}, ValueError, "layer must be from 0 to 31, but is 32: the decoder has 32 layers"),
        ({"layer": -1}, ValueError, "layer must be from 0 to 31, but is -1"),
        ({"layer": "0"}, TypeError, "layer must be a whole number but is '0'"),
        ({"layer": True}, TypeError, "layer must be a whole number but is True"),
        ({"stack": 1}, ValueError, "stack must be from 0 to 0, but is 1: the plan has 1 stacks: decoder"),
    ],
)
@pytest.mark.parametrize("make", [posenc.torch.mask_mod, functools.partial(posenc.torch.score_mod, length=8, rotated=True)])
def test_a_layer_that_there_is_not_is_refused(make, given, error, words):
    """IndexError: tuple index out of range; a negative one was counted from the end."""
    with pytest.raises(error, match=rf"\[(mask|score)_mod\] {words}"):
        make(posenc.read_plan("llama-3.1-8b"), **given)


def test_a_number_beside_a_layer_is_refused():
    """It was ignored."""
    layer = posenc.read_plan("llama-3.1-8b").stacks[0].layers[0]
    with pytest.raises(ValueError, match="layer and stack must be omitted for a LayerPlan"):
        posenc.torch.mask_mod(layer, 3)
