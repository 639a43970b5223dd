"""bench/scale: its bytes against the closed formula, its times against what was measured, one node for all; and what
docs/scale.md says of very long sequences, by the library."""

from __future__ import annotations

import decimal
import math
import os
import pathlib
import sys

import numpy as np
import pytest

import posenc

sys.path.insert(0, str(pathlib.Path(os.environ.get("POSENC_SOURCE_DIR", pathlib.Path(__file__).parents[2])) / "bench/scale"))

import carries  # noqa: E402
import decode  # noqa: E402
import modes  # noqa: E402
import overlap  # noqa: E402
from cases import compared  # noqa: E402
from events import Resource, Simulation  # noqa: E402
from machines import CHIPS, Accelerators, Links  # noqa: E402
from modes import Layer, Work, attend, causal_zigzag, tiles_of_causal_zigzag  # noqa: E402

CAUSAL = posenc.Mask(kind="causal")


def accelerators(ranks, is_alike=False, chip=CHIPS[1]):
    return lambda simulation: Accelerators(simulation, chip, ranks, is_alike)


def work_of(sharding, mask):
    pairs = posenc.shard_work(sharding, sharding, mask=mask).pairs.tolist()
    rows = [len(one.rows) for one in sharding.ranks]
    return Work(lambda r: rows[r], lambda r: rows[r], lambda r, k: pairs[r][k])


@pytest.mark.parametrize("mode, dealt", [("ring", 1), ("all_gather", 1), ("ulysses", 1), ("hybrid", 2), ("hybrid", 3)])
@pytest.mark.parametrize("heads, kv_heads", [(12, 3), (7, 7), (8, 1)])
def test_bytes_are_those_of_the_formula(mode, dealt, heads, kv_heads):
    layer = posenc.LayerPlan(heads=heads, kv_heads=kv_heads, head_dim=8, value_dim=4)
    for dealing, mask, ends in (
        ("zigzag", CAUSAL, [0, 97]),
        ("contiguous", posenc.Mask(kind="causal", window=posenc.Window(past=9)), [0, 100]),
        ("striped", CAUSAL, [0, 13, 13, 61]),
    ):
        sharding = posenc.shard(6, dealing=dealing, cu_seqlens=ends)
        cost = posenc.shard_cost(
            layer.replace(mask=mask), sharding, sharding, mode=mode, ulysses_ranks=dealt, query_bytes=2, key_bytes=2
        )
        if dealt > 1:  # what groups have together, which is not the sum of what their ranks have
            groups = posenc.joined(sharding, dealt)
            pairs = posenc.shard_work(groups, groups, mask=mask).pairs.tolist()
            of_ranks = work_of(sharding, mask)
            work = Work(of_ranks.queries, of_ranks.keys, lambda r, k: pairs[r // dealt][k // dealt])
        else:
            work = work_of(sharding, mask)
        made = attend(accelerators(6), Layer(heads, kv_heads, 8, 4), work, mode, dealt)
        assert made.sent == [one.forward_sent for one in cost], (dealing, ends)
        assert sum(made.sent) > 0


def test_parts_of_blocks_are_the_blocks(monkeypatch):
    """As many as posenc.distributed makes of it, and as many bytes as without."""
    layer, work = Layer(4, 4, 8, 8), causal_zigzag(64, 4)
    whole = attend(accelerators(4), layer, work, "ring")
    monkeypatch.setattr(modes, "LEAST_ROWS", 4)
    parted = attend(accelerators(4), layer, work, "ring")
    assert parted.sent == whole.sent and parted.seconds != whole.seconds
    parts = modes.parts_of(modes.Run(layer, work, accelerators(4)(Simulation()), None, whole), 0, False)
    assert [(part.owner, part.number) for part in parts] == [(0, 0), (3, 0), (2, 0), (1, 0), (1, 1), (1, 2), (1, 3)]
    links = lambda simulation: Links(simulation, 4, 2, 1e6, 0.0, 1e-9)
    parts = modes.parts_of(modes.Run(layer, work, links(Simulation()), None, whole), 0, False)
    assert [(part.owner, part.number) for part in parts] == [(0, 0), *((k, n) for k in (3, 2, 1) for n in range(4))]


def test_of_computing_a_part_of_the_last_block_is_not_hidden():
    """Where sending is the limit: the last of 4 parts of one of R blocks is computed after all has come."""
    for ranks in (2, 4, 8):
        _, _, share = overlap.hidden(ranks, 8192 * ranks, 10, 0.5)
        assert share == pytest.approx(1 - 1 / (4 * ranks), abs=0.02)


def test_measured_overlaps_within_15_percent():
    for ranks, tokens, megabits, computing, both in overlap.MEASURED:
        assert 1 / 1.15 <= overlap.hidden(ranks, tokens, megabits, computing)[1] / both <= 1.15


def test_zigzag_is_as_it_is_dealt():
    for ranks, tokens in ((2, 64), (8, 4096)):
        dealt = work_of(posenc.shard(ranks, tokens=tokens), CAUSAL)
        ours = causal_zigzag(tokens, ranks)
        for r in range(ranks):
            assert ours.queries(r) == dealt.queries(r)
            assert [ours.pairs(r, k) for k in range(ranks)] == [dealt.pairs(r, k) for k in range(ranks)]


@pytest.mark.parametrize("mode, dealt", [("ring", None), ("all_gather", None), ("ulysses", None), ("hybrid", 8)])
def test_one_node_stands_for_all(mode, dealt):
    for chip in CHIPS:
        one, every = (
            attend(accelerators(32, is_alike, chip), Layer(32, 8, 128, 128), causal_zigzag(1 << 17, 32), mode, dealt)
            for is_alike in (True, False)
        )
        assert len(one.seconds) == 8 and len(every.seconds) == 32
        for name in ("seconds", "sent", "held"):
            assert getattr(every, name) == pytest.approx(4 * getattr(one, name), rel=1e-9)


def test_kernels_compute_whole_tiles():
    """Two ranks of 512 tokens: of the 6 blocks of 48 queries by 4 tiles of 64 keys that a rank's 256 and 256 are, counted by
    hand. Rank 0 has parts 0 and 3; rank 1 the two between, of which only part 3 sees any, and the block that it begins in."""
    work = tiles_of_causal_zigzag(512, 2)
    own = 64 * (48 * (1 + 2 + 3 + 3 + 4) + 16 * 4)
    assert work.pairs(0, 0) == work.pairs(1, 1) == own
    assert work.pairs(0, 1) == 64 * 4 * (48 * 3 + 16) and work.pairs(1, 0) == 64 * 2 * 256
    assert work.together is not None
    # All tokens of both, as where heads are dealt, have no border between parts: what is seen, and half of a diagonal.
    whole = work.together((0, 1), (0, 1))
    assert 512 * 513 / 2 < whole < own * 2 + work.pairs(0, 1) + work.pairs(1, 0)


def test_measured_cases_within_15_percent():
    ratios = {(case["mode"], case["ranks"], case["tokens"]): seconds / case["seconds"] for case, seconds in compared()}
    assert len(ratios) >= 10
    assert {mode for mode, _, _ in ratios} == {"ring", "all_gather", "ulysses", "hybrid", "tree"}
    outside = {case for case, ratio in ratios.items() if not 1 / 1.15 <= ratio <= 1.15}
    assert not outside, ratios


def test_shares_are_fair():
    """Two flows of one link, of which one is held up by another: 10 and 30 of 40, then all for who is left."""
    simulation = Simulation()
    link, narrow = Resource(40.0), Resource(10.0)
    ends = []

    def flow(work, *resources):
        yield simulation.start(work, *resources)
        ends.append(simulation.now)

    simulation.run([flow(20.0, link, narrow), flow(30.0, link), flow(40.0, link)])
    # Rates are 10, 15 and 15 up to 2; then 40 for the last, of which 10 are left.
    assert ends == pytest.approx([2.0, 2.0, 2.25])


def test_a_tree_sends_each_part_up_and_down():
    layer = Layer(32, 8, 128, 128)
    for ranks in (1, 2, 7, 64):
        tree, chain = (decode.decode(accelerators(ranks), layer, 1 << 20, is_tree) for is_tree in (True, False))
        assert sum(tree.sent) == sum(chain.sent) == 2 * (ranks - 1) * 32 * 129 * 4
        assert max(tree.seconds) <= max(chain.seconds)


def test_runs_reach_all_that_see_them_either_way():
    layer, tokens, ranks = Layer(4, 2, 8, 4), 256, 4
    sharding = posenc.shard(ranks, tokens=tokens)
    plan = posenc.LayerPlan(heads=4, kv_heads=2, head_dim=8, value_dim=4, mask=CAUSAL)
    cost = posenc.shard_cost(plan, sharding, sharding, sums_along_keys=True, query_bytes=2, key_bytes=2)
    owners, passed = (carries.attend(accelerators(ranks), layer, tokens, passes, 1) for passes in (False, True))
    assert owners.sent == [one.forward_sent for one in cost]
    assert sum(passed.sent) == sum(owners.sent)  # as many bytes, over other links


# ---- what breaks first ----


def test_log_sum_exp_of_1e8_keys():
    """Scores of zero: ln n, and a mean of ones. A sum of floats, one by one, would stop at 2^24 keys."""
    plan = posenc.LayerPlan(
        heads=1, kv_heads=1, head_dim=4, value_dim=4, softmax_scale=1.0, mask=posenc.Mask(kind="bidirectional")
    )  # fmt: skip
    part = 10**6
    zeros, ones = np.zeros((part, 1, 4), np.float32), np.ones((part, 1, 4), np.float32)
    out, lse = np.empty((1, 1, 4), np.float32), np.empty((1, 1), np.float32)
    posenc.attend(plan, zeros[:1], zeros, ones, out=out, lse=lse)
    whole, sums = out.copy(), lse.copy()
    for _ in range(99):
        posenc.merge([(whole, sums), (out, lse)], out=whole, lse=sums)
    unit = 2.0**-24
    assert abs(float(sums[0, 0]) - math.log(1e8)) <= 2 * 99 * unit * math.log(1e8)
    assert np.abs(whole - 1).max() <= 99 * unit


def test_small_weights_beside_a_large_one():
    """A key that outweighs others 2^27 times, before them: what the others weigh together is off no more where they are
    32 times as many."""
    plan = posenc.LayerPlan(
        heads=1, kv_heads=1, head_dim=4, value_dim=4, softmax_scale=1.0, mask=posenc.Mask(kind="bidirectional")
    )  # fmt: skip
    score = np.float32(-27 * math.log(2))
    q = np.array([[[1, 0, 0, 0]]], np.float32)
    for count in (2**17, 2**22):
        k, v = np.zeros((count, 1, 4), np.float32), np.ones((count, 1, 4), np.float32)
        k[1:, 0, 0], v[0] = score, 0
        weight = math.exp(float(score)) * (count - 1)
        out = np.empty((1, 1, 4), np.float32)
        posenc.attend(plan, q, k, v, out=out)
        assert abs(float(out[0, 0, 0]) / (weight / (1 + weight)) - 1) <= 8 * 2.0**-24 * -float(score)


def test_angles_of_a_position_of_1e9():
    """cos and sin of the exact product, in 60 digits; the angle in float32 is off by more than a radian."""
    decimal.getcontext().prec = 60
    pi = decimal.Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
    rope = posenc.Rope(pairing="half", head_dim=128, dim=128, base=5e5)
    inv_freq = list(posenc.frequencies(rope).inv_freq)
    cos, sin = posenc.cos_sin(rope, [10**9, 2**31 - 1])
    short_cos, _ = posenc.cos_sin(rope, [10**9], angles="float32")
    worst = worst_short = 0.0
    for row, position in enumerate((10**9, 2**31 - 1)):
        for pair, frequency in enumerate(inv_freq):
            turned = float((decimal.Decimal(frequency) * position).remainder_near(2 * pi))  # within 2^-53 of it
            worst = max(worst, abs(cos[row, pair] - math.cos(turned)), abs(sin[row, pair] - math.sin(turned)))
            if not row:
                worst_short = max(worst_short, abs(short_cos[0, pair] - math.cos(turned)))
    assert worst <= 2.0**-24 and worst_short > 1
