"""How a batch is dealt to ranks: what Python shows of it; how it is dealt is tested in C++ (tests/shard)."""

import pytest

import posenc

CAUSAL = posenc.Mask(kind="causal")


def test_tokens_keep_what_they_are():
    positions = [[10, 11, 12, 13, 14, 15], [5, 4, 3, 2, 1, 0]]
    dealt = posenc.shard(2, dealing="striped", cu_seqlens=[0, 4, 6], positions=[x for axis in positions for x in axis])
    assert (dealt.tokens, dealt.documents, dealt.axes) == (6, 2, 2)
    one, two = dealt.ranks
    assert list(one.rows) == [0, 2, 4] and list(two.rows) == [1, 3, 5]
    assert list(one.order) == [0, 2, 0] and list(two.documents) == [0, 0, 1]
    assert list(one.cu_seqlens) == [0, 2, 3]
    assert one.positions.shape == (2, 3) and one.positions.tolist() == [[10.0, 12.0, 14.0], [5.0, 3.0, 1.0]]
    held = [*one.rows, *two.rows]
    assert [held[place] for place in dealt.places] == list(range(6))
    assert list(posenc.joined(dealt, 2).ranks[0].rows) == list(range(6))


def test_runs_are_told():
    dealt = posenc.shard(2, tokens=8)
    assert posenc.list_runs(dealt) == ((0, 0, 2), (1, 0, 4), (0, 2, 2))
    runs, owners = posenc.runs_of(dealt)
    assert list(owners) == [0, 1, 0] and [list(run.rows) for run in runs.ranks] == [[0, 1], [2, 3, 4, 5], [6, 7]]
    for call in (posenc.list_runs, posenc.runs_of):
        with pytest.raises(ValueError, match=rf"\[{call.__name__}\] sharding must deal neighbours together, contiguous or zigzag"):
            call(posenc.shard(2, dealing="striped", tokens=40))


def test_memory_outlives_its_sharding():
    rows = posenc.shard(1, tokens=1000).ranks[0].rows
    assert list(rows) == list(range(1000))


def test_work_and_cost():
    dealt = posenc.shard(4, dealing="contiguous", tokens=40)
    work = posenc.shard_work(dealt, dealt, mask=CAUSAL)
    assert work.pairs.tolist()[1] == [100, 55, 0, 0] and work.tiles.tolist()[3] == [1, 1, 1, 1]
    assert work.pair_imbalance == 355 * 4 / 820 and work.tile_imbalance == 1.6
    layer = posenc.LayerPlan(heads=6, kv_heads=2, head_dim=8, value_dim=4)
    cost = posenc.shard_cost(layer, dealt, dealt, key_bytes=2)
    assert [one.forward_sent for one in cost] == [n * 10 * 2 * 12 * 2 for n in (3, 2, 1, 0)]
    assert cost[3].held_keys == 30 and "forward_sent=0" in repr(cost[3])
    assert [posenc.heads_of_rank(6, 4, place) for place in range(4)] == [(0, 1), (1, 3), (3, 4), (4, 6)]
    assert posenc.kv_heads_of(1, 4, 3) == (0, 2)


def test_refusals():
    with pytest.raises(ValueError, match="ranks must be from 1 to 65536 but is 0"):
        posenc.shard(0, tokens=4)
    with pytest.raises(ValueError, match="'contiguous', 'zigzag', 'striped', 'balanced'"):
        posenc.shard(2, dealing="spiral", tokens=4)
    with pytest.raises(ValueError, match="positions must be of 4 tokens on each axis but is 3 long"):
        posenc.shard(2, tokens=4, positions=[1, 2, 3])
