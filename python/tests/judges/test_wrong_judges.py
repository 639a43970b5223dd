"""Where a judge is wrong: that it is, and that posenc follows the formula (or what checkpoints were trained with)."""

import dataclasses

import pytest
import torch
from rotary_embedding_torch import RotaryEmbedding

import bounds
import posenc
import posenc.transformers
from posenc.conformance import roundings, verdicts
from posenc.conformance.families import FAMILIES

FALCON = next(family for family in FAMILIES if family.title == "falcon, alibi")


def test_falcon_eager_adds_alibi_twice():
    """transformers 5.23, modeling_falcon.py: FalconModel adds ALiBi to the mask, for SDPA, and the eager attention adds
    it again. Checkpoints were trained with one; a plan with both is what the eager code computes.
    """
    model, inputs = FALCON.model(), FALCON.inputs()
    bound = verdicts.judge(FALCON).bound
    once = verdicts.logits(model, inputs)
    model = dataclasses.replace(FALCON, own="eager").model()
    eager = verdicts.logits(model, inputs)
    assert roundings.rms(eager - once) > roundings.SPOILED_OVER_BOUND * bound
    plan = posenc.read_plan(FALCON.config())
    twice = verdicts.with_layers(plan, lambda layer: layer.replace(score=layer.score + layer.score))
    with posenc.transformers.use(model, plan=twice, masks="plan"):
        assert roundings.rms(verdicts.logits(model, inputs) - eager) <= bound


def test_falcon_by_the_formula():
    """(q.k + slope_h j) / sqrt(d), slopes 2^(-8 h / heads), in double, one layer: what SDPA's path computes too."""
    plan = posenc.read_plan(FALCON.config())
    layer = plan.stacks[0].layers[0]
    tokens, width = 7, layer.head_dim
    q, k, v = (torch.randn(tokens, layer.heads, width, generator=torch.Generator().manual_seed(s)) for s in (1, 2, 3))
    layer = layer.replace(kv_heads=layer.heads)
    slopes = torch.tensor([2.0 ** (-8 * (h + 1) / layer.heads) for h in range(layer.heads)], dtype=torch.float64)
    places = torch.arange(tokens, dtype=torch.float64)
    # slopes and products are rounded to bfloat16: of 4 heads and 7 tokens all of them are whole in it.
    scores = (torch.einsum("ihc,jhc->hij", q.double(), k.double()) + slopes[:, None, None] * places) / width**0.5
    scores = scores.masked_fill(places[:, None] < places[None], -torch.inf)
    expected = torch.einsum("hij,jhc->ihc", scores.softmax(-1), v.double())
    given = posenc.reference.attend(layer, q, k, v)
    assert float((torch.as_tensor(given) - expected).abs().max()) <= bounds.in_double(float(v.abs().max()), 2 * width)


def test_dynamic_ntk_remembers_a_longer_text():
    """transformers 5.23, dynamic_rope_update: a module that has seen a longer text goes back for texts shorter than the
    trained length only, and not for one of just that length. posenc's frequencies depend on nothing but the length.
    """
    family = next(family for family in FAMILIES if family.title == "llama, dynamic, long")
    (module,) = (module for _, module in posenc.transformers.rotary_modules(family.model().named_modules()))
    trained = family.config().max_position_embeddings
    at_first = module(torch.zeros(1), torch.arange(trained)[None])[0]
    module(torch.zeros(1), torch.arange(3 * trained)[None])
    assert not torch.equal(module(torch.zeros(1), torch.arange(trained)[None])[0], at_first)
    module(torch.zeros(1), torch.arange(trained - 1)[None])
    assert torch.equal(module(torch.zeros(1), torch.arange(trained)[None])[0], at_first)


def test_mpnet_counts_32_buckets_whatever_its_configuration_says():
    """transformers 5.23, MPNetEncoder.compute_position_bias: num_buckets is an argument that nobody gives, so that a
    table with fewer rows is asked for some that it does not have. posenc's rows are those of the table.
    """
    mpnet = next(family for family in FAMILIES if family.title == "mpnet")
    fewer = dataclasses.replace(mpnet, keys={**mpnet.keys, "relative_attention_num_buckets": 8})
    with pytest.raises(IndexError):
        verdicts.logits(fewer.model(), fewer.inputs())
    (term,) = posenc.read_plan(fewer.config()).stacks[0].layers[0].score
    assert max(posenc.t5_bucket(term, distance) for distance in range(-300, 300)) == 7


def test_xpos_beside_a_cache():
    """rotary-embedding-torch 0.9.1, rotate_queries_with_cached_keys (its issue 27): the scales of queries are centred
    at half of their number, those of keys at half of theirs, so that of fewer queries a score has
    zeta^((i - j + (keys - queries) / 2) / s). In posenc, and in the formula, they are those of the whole text.
    """
    tokens, queries, width, scale = 11, 3, 16, 0.25
    q, k, v = (torch.randn(1, 2, tokens, width, generator=torch.Generator().manual_seed(s)) for s in (1, 2, 3))
    last = q[:, :, -queries:].contiguous()
    rope = posenc.Rope(pairing="interleaved", head_dim=width, dim=width)
    sizes = {"heads": 2, "kv_heads": 2, "head_dim": width, "value_dim": width, "softmax_scale": scale}
    layer = posenc.LayerPlan(**sizes, rotate=[posenc.Rotate(scheme=posenc.XPos(rope=rope, scale_base=16.0))])
    ours = posenc.attend(layer, last, k, v)

    def judged(of):
        judge = RotaryEmbedding(width, use_xpos=True, xpos_scale_base=16)
        rotated = judge.rotate_queries_with_cached_keys(of, k)
        seen = torch.ones(of.shape[2], tokens, dtype=torch.bool).tril(tokens - of.shape[2])
        out = torch.nn.functional.scaled_dot_product_attention(*rotated, v, attn_mask=seen, scale=scale)
        return out[:, :, -queries:]

    angle = bounds.float_angle(tokens) + 3 * bounds.HALF_UNIT
    bound = bounds.attended(q, k, v, scale, factor=1.0, angle=2 * angle)
    assert float((judged(q) - ours).abs().max()) <= bound
    assert float((judged(last) - ours).abs().max()) > 100 * bound

    # The formula, pairs as complex numbers: q_i conj(k_j) zeta^((i - j) / s) e^(i (i - j) inv_freq).
    pairs = torch.arange(width // 2, dtype=torch.float64)
    apart = torch.arange(tokens - queries, tokens)[:, None, None] - torch.arange(tokens)[:, None]
    zeta = (2 * pairs + 0.4 * width) / (1.4 * width)
    turns = torch.polar(zeta ** (apart / 16), apart * 10000.0 ** (-2 * pairs / width))
    q_pairs, k_pairs = (torch.view_as_complex(x.double().unflatten(-1, (-1, 2)).contiguous()) for x in (last, k))
    formula = scale * torch.einsum("bhip,bhjp,ijp->bhij", q_pairs, k_pairs.conj(), turns).real
    _, scores = posenc.reference.attend(layer, last, k, v, scores="content")
    seen = torch.isfinite(torch.as_tensor(scores))
    largest = scale * float(last.norm(dim=-1).max() * k.norm(dim=-1).max())
    assert float((torch.as_tensor(scores) - formula)[seen].abs().max()) <= bounds.in_double(largest, width)
