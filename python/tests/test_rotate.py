"""Tables, and the rotation, against the reference."""

import re
import threading

import numpy as np
import pytest

import posenc

YARN = posenc.Rope(
    pairing="interleaved",
    head_dim=16,
    dim=12,
    first_channel=4,
    scaling=posenc.YarnScaling(factor=4.0, original_max_position_embeddings=32),
)
# Two products and a sum in f32, each rounded by 2^-24 of the largest, of coordinates below 8; cos and sin within 1 ulp.
F32_BOUND = 8 * 4 * 2.0**-24 * 1.2


def random(shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_tables_agree_with_cos_sin():
    table = posenc.make_table(YARN, start=100, count=20)
    assert (table.start, table.count, table.pairs, table.on_demand) == (100, 20, 6, False)
    assert table.layout == posenc.RotaryLayout(pairing="interleaved", head_dim=16, first_channel=4, dim=12)
    assert table.attention_factor == posenc.frequencies(YARN).attention_factor
    cos, sin = posenc.cos_sin(YARN, np.arange(100, 120))
    rows = np.asarray(table.rows)
    assert np.array_equal(rows[:, 0], cos) and np.array_equal(rows[:, 1], sin)
    given = posenc.table_from_cos_sin(table.layout, cos, sin, start=100)
    assert np.array_equal(np.asarray(given.rows), rows)
    own = posenc.make_table(table.layout, posenc.frequencies(YARN), start=100, count=20)
    assert np.array_equal(np.asarray(own.rows), rows)
    radians = np.arange(100.0, 120.0)[:, None] * np.array(posenc.frequencies(YARN).inv_freq)
    angles = posenc.table_from_angles(table.layout, radians, start=100, attention_factor=table.attention_factor)
    assert np.abs(np.asarray(angles.rows) - rows).max() <= 2.0**-23
    assert "100 to 119" in repr(table)
    with pytest.raises(ValueError, match="position"):
        table.cos(99)
    with pytest.raises(ValueError, match=r"\[make_table\] .*count"):
        posenc.make_table(YARN, count=-1)
    with pytest.raises(ValueError, match="'exact', 'float32', 'bfloat16' but is 'fast'"):
        posenc.make_table(YARN, count=1, angles="fast")


def test_values_of_another_shape_are_refused():
    table = posenc.make_table(YARN, start=100, count=20)
    cos, sin = posenc.cos_sin(YARN, np.arange(100, 120))
    radians = np.arange(100.0, 120.0)[:, None] * np.array(posenc.frequencies(YARN).inv_freq)
    # As many numbers, in another order: transformers' rotary modules give one a channel.
    doubled = np.concatenate((cos, cos), axis=-1)
    wide = np.concatenate((radians, radians), axis=-1)
    with pytest.raises(ValueError, match=r"cos must be \[count, .*\], a number for each pair, but is .* for each channel"):
        posenc.table_from_cos_sin(table.layout, doubled, doubled)
    with pytest.raises(ValueError, match=r"radians must be \[count, .* but is .* a number for each channel"):
        posenc.table_from_angles(table.layout, wide)
    with pytest.raises(ValueError, match=r"sin must be \[count, .*: transpose it"):
        posenc.table_from_cos_sin(table.layout, cos, np.ascontiguousarray(sin.T))
    with pytest.raises(ValueError, match=r"radians must be \[count, .*: transpose it"):
        posenc.table_from_angles(table.layout, np.ascontiguousarray(radians.T))


def test_cos_sin_takes_lists_and_is_of_the_positions_library():
    cos, sin = posenc.cos_sin(YARN, [5, 0, -3])
    assert type(cos) is memoryview and cos.shape == (3, 6)
    for positions in (np.array([5, 0, -3]), np.array([5, 0, -3], np.int32), np.array([5.0, 0.0, -3.0])):
        made = posenc.cos_sin(YARN, positions)
        assert type(made[0]) is np.ndarray
        assert np.array_equal(made[0], np.asarray(cos)) and np.array_equal(made[1], np.asarray(sin))


@pytest.mark.parametrize("direction", ["forward", "inverse", "transpose"])
def test_rotation_agrees_with_the_reference(direction):
    q, k = random((2, 3, 7, 16)), random((2, 1, 7, 16), 2)
    table = posenc.make_table(YARN, count=20)
    rotated = posenc.rotate(q, k, table=table, positions=11, direction=direction)
    for x, y in zip((q, k), rotated):
        truth = posenc.reference.rotate(YARN, x, positions=11, direction=direction)
        assert truth.dtype == np.float64
        assert 0 < np.abs(y - truth).max() <= F32_BOUND
    assert np.array_equal(posenc.rotate(k=k, table=table, positions=11, direction=direction), rotated[1])


def test_clockwise():
    rope = posenc.Rope(pairing="half", head_dim=8, dim=8, rotation_direction="clockwise")
    assert eval(repr(rope), vars(posenc)) == rope != rope.replace(rotation_direction="counterclockwise")
    assert posenc.check(rope) is None
    assert posenc.frequencies(rope).inv_freq == pytest.approx((-1.0, -0.1, -0.01, -0.001), rel=1e-14)
    x, angles = random((5, 1, 8)), np.arange(5)[:, None] * np.array([1.0, 0.1, 0.01, 0.001])
    a, b = (half.astype(np.float64) for half in np.split(x[:, 0], 2, axis=-1))
    truth = np.concatenate((a * np.cos(angles) + b * np.sin(angles), b * np.cos(angles) - a * np.sin(angles)), -1)
    for table in (posenc.make_table(rope, count=5), posenc.table_on_demand(rope)):
        rotated = posenc.rotate(x, table=table)
        assert 0 < np.abs(rotated[:, 0] - truth).max() <= F32_BOUND
    usual = posenc.table_on_demand(rope.replace(rotation_direction="counterclockwise"))
    assert np.array_equal(rotated, posenc.rotate(x, table=usual, positions=[0, -1, -2, -3, -4]))


def test_positions_of_all_kinds():
    q = random((4, 2, 16))
    table = posenc.table_on_demand(YARN)
    expected = posenc.rotate(q, table=table, positions=[3, 1, 4, 1])
    for positions in (np.array([3, 1, 4, 1]), np.array([3, 1, 4, 1], np.int32), (3.0, 1.0, 4.0, 1.0)):
        assert np.array_equal(posenc.rotate(q, table=table, positions=positions), expected)
    for narrow in (np.int8, np.int16, np.uint8, np.uint16, np.uint32, np.float32):
        assert np.array_equal(posenc.rotate(q, table=table, positions=np.array([3, 1, 4, 1], narrow)), expected)
    once = (position for position in [3, 1, 4, 1])
    assert np.array_equal(posenc.rotate(q, table=table, positions=once), expected)
    last = np.uint32(2**32 - 1)
    given = posenc.rotate(q[:1], table=table, positions=np.array([last]))
    assert np.array_equal(given, posenc.rotate(q[:1], table=table, positions=int(last)))
    assert np.array_equal(
        posenc.rotate(q, table=table, positions=np.int64(5)), posenc.rotate(q, table=table, positions=range(5, 9))
    )
    for other in (np.uint64, np.float16, np.bool_):
        wrong = re.escape(f"of whole numbers (not uint64), float32 or float64 but is {np.dtype(other)}")
        with pytest.raises(ValueError, match="positions must be " + wrong):
            posenc.rotate(q, table=table, positions=np.zeros(4, other))
    with pytest.raises(TypeError, match="positions must be one list of numbers, or an array but is "):
        posenc.rotate(q, table=table, positions=[[0, 1, 2, 3]])
    with pytest.raises(TypeError, match="positions must be a whole number, an array or a list but is 1.5"):
        posenc.rotate(q, table=table, positions=1.5)
    with pytest.raises(TypeError, match="table must be a RotaryTable, or a list of them"):
        posenc.rotate(q, table=YARN)


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.int16, np.float64, np.float32])
def test_positions_of_any_strides(dtype):
    q = random((8, 2, 16))
    table = posenc.table_on_demand(YARN)
    rows = np.array([[3, 1, 4, 1], [5, 9, 2, 6]], dtype)
    expected = posenc.rotate(q, table=table, positions=rows)
    wide = np.zeros((3, 4, 11), dtype)
    wide[1:, :, 2:10:5] = np.stack((rows, rows), -1)
    for strided in (
        np.ascontiguousarray(rows.T).T,
        np.asfortranarray(rows),
        rows[::-1, ::-1].copy()[::-1, ::-1],
        np.repeat(rows, 3, axis=1)[:, ::3],
        wide[1:, :, 7],
    ):
        assert not strided.flags.c_contiguous and np.array_equal(strided, rows)
        assert np.array_equal(posenc.rotate(q, table=table, positions=strided), expected)
    one = np.broadcast_to(rows[0], (2, 4))
    assert np.array_equal(
        posenc.rotate(q, table=table, positions=one), posenc.rotate(q, table=table, positions=one.copy())
    )
    none = np.zeros((0, 4), dtype).T
    assert posenc.rotate(q[:0], table=table, positions=none).shape == (0, 2, 16)


def test_boundaries_of_sequences_of_any_strides():
    q = random((5, 2, 16))
    table = posenc.table_on_demand(YARN)
    bounds = np.array([0, 9, 2, 9, 5, 9], np.int32)[::2]
    assert np.array_equal(
        posenc.rotate(q, table=table, cu_seqlens=bounds), posenc.rotate(q, table=table, cu_seqlens=[0, 2, 5])
    )


def test_packed_sequences_have_tables_of_their_own():
    q = random((5, 2, 16))
    one, other = posenc.make_table(YARN, count=8), posenc.make_table(YARN.replace(base=500.0), count=8)
    packed = posenc.rotate(q, table=[one, other], cu_seqlens=[0, 2, 5])
    assert np.array_equal(packed[:2], posenc.rotate(q[:2], table=one))
    assert np.array_equal(packed[2:], posenc.rotate(q[2:], table=other))


def test_rerotate_shifts_a_cache():
    k = random((6, 2, 16))
    table = posenc.make_table(YARN, count=64)
    cached = posenc.rotate(k, table=table, positions=10)
    shifted = posenc.rerotate(cached, from_table=table, from_positions=10, to_table=table, to_positions=3)
    assert np.abs(shifted - posenc.rotate(k, table=table, positions=3)).max() <= 2 * F32_BOUND
    layer = posenc.preset_plan("llama-3.1-8b").stacks[0].layers[0]
    assert posenc.rerotation_obstacle(layer) is None


def test_threads_may_rotate_at_once():
    q = random((256, 4, 16))
    table = posenc.make_table(YARN, count=256)
    expected = posenc.rotate(q, table=table, threads=1)
    results = [None] * 4

    def work(i):
        results[i] = posenc.rotate(q, table=table)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(result, expected) for result in results)
