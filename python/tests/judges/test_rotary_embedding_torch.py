"""rotary-embedding-torch as the judge: plain, interpolated, rescaled as NTK, in a part of the head, with xPos, and along
the axes of a grid. It rotates neighbours."""

import math

import pytest
import torch
from rotary_embedding_torch import RotaryEmbedding, apply_rotary_emb

import bounds
import posenc

BATCH, HEADS, TOKENS, WIDTH = 2, 3, 11, 16


def random(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def rope(**others):
    return posenc.Rope(**{"pairing": "interleaved", "head_dim": WIDTH, "dim": WIDTH, **others})


def must_be(theirs, ours, wrong, x, angle):
    """x rotated, by angles of theirs that are off by so much; `wrong` is ours with one thing spoiled."""
    bound = bounds.rotated(float(x.abs().max())) + angle * float(x.unflatten(-1, (-1, 2)).norm(dim=-1).max())
    assert float((theirs - ours).abs().max()) <= bound
    assert float((theirs - wrong).abs().max()) > 100 * bound


KINDS = {
    "plain": (rope(), {}, rope(pairing="half")),
    "another base": (rope(base=500.0), {"theta": 500.0}, rope()),
    "interpolated": (rope(scaling=posenc.LinearScaling(factor=4.0)), {"interpolate_factor": 4.0}, rope()),
    "rescaled": (rope(scaling=posenc.NtkScaling(alpha=3.0)), {"theta_rescale_factor": 3.0}, rope()),
    "a part": (rope(dim=8), {"dim": 8}, rope()),
}


@pytest.mark.parametrize("offset", [0, 5])
@pytest.mark.parametrize("kind", KINDS)
def test_rotations(kind, offset):
    scheme, given, wrong = KINDS[kind]
    x = random(BATCH, HEADS, TOKENS, WIDTH)
    theirs = RotaryEmbedding(**{"dim": WIDTH, **given}).rotate_queries_or_keys(x, offset=offset)

    def ours(of):
        return posenc.rotate(x, table=posenc.make_table(of, count=32), positions=offset)

    must_be(theirs, ours(scheme), ours(wrong), x, bounds.float_angle(TOKENS + offset))


def test_xpos():
    q, k, v = (random(1, HEADS, TOKENS, WIDTH, seed=seed) for seed in (1, 2, 3))
    rotated = RotaryEmbedding(WIDTH, use_xpos=True, xpos_scale_base=16).rotate_queries_and_keys(q, k)
    theirs = torch.nn.functional.scaled_dot_product_attention(*rotated, v, scale=0.25, is_causal=True)

    def ours(scale_base):
        scheme = posenc.XPos(rope=rope(), scale_base=scale_base)
        sizes = {"heads": HEADS, "kv_heads": HEADS, "head_dim": WIDTH, "value_dim": WIDTH, "softmax_scale": 0.25}
        return posenc.attend(posenc.LayerPlan(**sizes, rotate=[posenc.Rotate(scheme=scheme)]), q, k, v)

    # zeta^(i - j) is at most 1 of keys that are seen. Their scales of q and of k are powers of about 3 roundings.
    angle = bounds.float_angle(TOKENS) + 3 * bounds.HALF_UNIT
    bound = bounds.attended(q, k, v, 0.25, factor=1.0, angle=2 * angle)
    assert float((theirs - ours(16.0)).abs().max()) <= bound
    assert float((theirs - ours(32.0)).abs().max()) > 100 * bound


# ---- axes ----

GRID = (3, 5)


def cells():
    return torch.cartesian_prod(*(torch.arange(n) for n in GRID)).T.contiguous()


def test_axes_of_a_grid():
    """A ladder for each axis: [axis 0, all its pairs], [axis 1, all of its]."""
    x = random(BATCH, HEADS, math.prod(GRID), WIDTH)
    angles = RotaryEmbedding(WIDTH // 2).get_axial_freqs(*GRID)
    theirs = apply_rotary_emb(angles, x.unflatten(2, GRID)).flatten(2, 3)

    def ours(places, **others):
        of = rope(axes=posenc.axial_axes(["h", "w"], WIDTH // 2), **others)
        return posenc.rotate(x, table=posenc.table_on_demand(of), positions=places)

    right = ours(cells(), axis_frequencies="per_axis")
    must_be(theirs, right, ours(cells().flip(0), axis_frequencies="per_axis"), x, bounds.float_angle(max(GRID)))
    must_be(theirs, right, ours(cells(), axis_frequencies="shared"), x, bounds.float_angle(max(GRID)))


def test_pixels():
    """Places between -1 and 1, and frequencies of even steps up to max_freq pi / 2: a base of any ladder, divided."""
    x = random(BATCH, HEADS, math.prod(GRID), WIDTH)
    angles = RotaryEmbedding(WIDTH // 2, freqs_for="pixel", max_freq=10).get_axial_freqs(*GRID)
    theirs = apply_rotary_emb(angles, x.unflatten(2, GRID)).flatten(2, 3)
    per_axis = WIDTH // 4
    wanted = [(1 + p * (10 / 2 - 1) / (per_axis - 1)) * math.pi for p in range(per_axis)] * 2
    plain = rope(axes=posenc.axial_axes(["h", "w"], WIDTH // 2), axis_frequencies="per_axis")
    factors = [of / want for of, want in zip(posenc.frequencies(plain).inv_freq, wanted)]
    places = torch.stack([2 * cells()[a].double() / (n - 1) - 1 for a, n in enumerate(GRID)])

    def ours(places):
        of = plain.replace(scaling=posenc.FactorListScaling(factors=factors))
        return posenc.rotate(x, table=posenc.table_on_demand(of), positions=places)

    # Both the place and the frequency are quotients and sums of theirs, a rounding or two each.
    must_be(theirs, ours(places), ours(places.flip(0)), x, bounds.float_angle(5 * math.pi))
