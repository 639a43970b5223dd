"""The input stage, and the positions of images and videos."""

import numpy as np
import pytest

import posenc


def test_rows():
    row = posenc.input_row(posenc.SinusoidalInput(), 8, 3)
    assert len(row) == 8 and row == posenc.input_row(posenc.SinusoidalInput(), 8, 3.0)
    assert posenc.input_row(posenc.BinaryInput(), 4, 5) in ((1.0, 0.0, 1.0, 0.0), (0.0, 1.0, 0.0, 1.0))
    assert posenc.input_row(posenc.IntegerInput(normalised=True), 2, 3, length=4) == (0.75, 0.75)
    with pytest.raises(ValueError, match="length"):
        posenc.input_row(posenc.IntegerInput(normalised=True), 2, 3)
    with pytest.raises(TypeError, match=r"\[input_row\] scheme must be a SinusoidalInput"):
        posenc.input_row(posenc.LearnedInput(), 4, 0)


def test_places():
    mask = [0, 0, 1, 1, 0, 1]
    assert posenc.places(mask) == (-1, -1, 0, 1, -1, 2)
    assert posenc.places(np.array(mask, bool), past=10, masked=0) == (0, 0, 10, 11, 0, 12)
    with pytest.raises(ValueError, match="past"):
        posenc.places(mask, past=-1)


def test_tables_grow():
    table = np.arange(8, dtype=np.float32).reshape(4, 2)
    grown = posenc.grow_table(table, 7, align_corners=True)
    assert grown.dtype == np.float64 and np.allclose(grown[:, 0], np.linspace(0, 6, 7), rtol=0, atol=2.0**-50)
    assert np.array_equal(posenc.grow_table(table, 4), table)
    grid = np.random.default_rng(1).standard_normal((3, 4, 2)).astype(np.float16)
    assert np.array_equal(posenc.grow_table(grid, (3, 4), kernel="plain"), grid)
    assert posenc.grow_table(grid, (5, 6), kernel="antialias").shape == (5, 6, 2)
    with pytest.raises(TypeError):
        posenc.grow_table(grid, (5, 6))  # which kernel is the model's to say
    with pytest.raises(ValueError, match="rank 2 but is 3"):
        posenc.grow_table(grid, 5)


def test_what_is_added():
    x = np.random.default_rng(2).standard_normal((3, 8)).astype(np.float32)
    sines = np.array([posenc.input_row(posenc.SinusoidalInput(), 8, place) for place in (5, 6, 7)])
    added = posenc.reference.add_input(posenc.SinusoidalInput(), x, positions=5)
    assert added.dtype == np.float64 and np.array_equal(added, x + sines)
    table, types = np.eye(10, 8), np.full((2, 8), 0.5)
    weights = posenc.LearnedInputWeights(positions=table, token_types=types)
    scheme = posenc.LearnedInput(positions=10, offset=2, token_types=2)
    added = posenc.reference.add_input(scheme, x, weights=weights, positions=[0, 4, 1], token_types=[0, 1, 1])
    assert np.array_equal(added, x + table[[2, 6, 3]] + 0.5)
    assert weights.positions is table
    with pytest.raises(ValueError, match="positions"):
        posenc.reference.add_input(scheme, x, weights=weights, positions=8, token_types=[0, 1, 1])
    with pytest.raises(TypeError, match="weights must be LearnedInputWeights"):
        posenc.reference.add_input(scheme, x, weights=posenc.SinusoidalInputWeights(scale=2.0))
    with pytest.raises(TypeError, match="nothing is learned"):
        posenc.reference.add_input(posenc.IntegerInput(), x, weights=weights)


def test_text_and_images():
    items = [posenc.TextTokens(tokens=2), posenc.ImageGrid(height=4, width=6), posenc.TextTokens(tokens=1)]
    ids = posenc.grid_positions(items, rule="qwen2_vl")
    assert (ids.tokens, ids.next_position, ids.decode_delta) == (9, 6, -3)
    t, h, w = np.asarray(ids.positions)
    assert t.tolist() == [0, 1, *[2] * 6, 5]
    assert h.tolist() == [0, 1, 2, 2, 2, 3, 3, 3, 5] and w.tolist() == [0, 1, 2, 3, 4, 2, 3, 4, 5]
    axes = posenc.chunked_axes(["t", "h", "w"], [1, 1, 2])
    rope = posenc.Rope(pairing="half", head_dim=8, dim=8, axes=axes)
    q = np.ones((9, 1, 8), np.float32)
    rotated = posenc.rotate(q, table=posenc.table_on_demand(rope), positions=ids.positions)
    assert np.array_equal(rotated, posenc.rotate(q, table=posenc.table_on_demand(rope), positions=np.array([t, h, w])))
    with pytest.raises(TypeError, match="items must be a TextTokens"):
        posenc.grid_positions([7], rule="qwen2_vl")
    with pytest.raises(ValueError, match="'qwen2_vl', 'qwen2_5_vl', 'qwen3_vl', 'glm4v'"):
        posenc.grid_positions(items, rule="qwen")


SCHEMES = [
    (posenc.SinusoidalInput(convention="whisper", offset=1), None, {}),
    (posenc.SinusoidalInput(learned_scale=True), posenc.SinusoidalInputWeights(scale=0.5), {}),
    (posenc.IntegerInput(normalised=True, embedding_multiplier=2.0), None, {"length": 9}),
    (posenc.BinaryInput(combine="multiply"), None, {}),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize(("scheme", "weights", "more"), SCHEMES)
def test_embeddings(scheme, weights, more, dtype):
    x = np.random.default_rng(3).standard_normal((5, 8)).astype(dtype)
    truth = posenc.reference.add_input(scheme, x, weights=weights, positions=2, **more)
    added = posenc.add_input(scheme, x, weights=weights, positions=2, **more)
    assert added.dtype == dtype and type(added) is np.ndarray
    # In double as the reference; else three roundings to f32 of numbers below 16, and one to the dtype.
    bound = 2.0**-44 if dtype == np.float64 else 16 * (3 * 2.0**-24 + np.finfo(dtype).eps / 2)
    assert np.abs(added - truth).max() <= bound
    prepared = posenc.prepare_input(scheme, channels=8, weights=weights, count=4)
    assert prepared.scheme == scheme and prepared.weights is weights
    assert np.array_equal(posenc.add_input(prepared, x, positions=2, **more), added)
    batch = np.stack([x, x[::-1]])
    both = posenc.add_input(prepared, batch, positions=np.array([[2, 3, 4, 5, 6], [6, 5, 4, 3, 2]]).ravel(), **more)
    assert np.array_equal(both, np.stack([added, added[::-1]]))
    assert posenc.add_input(prepared, x, out=x, positions=2, threads=1, **more) is x
    assert np.array_equal(x, added)


def test_learned_embeddings():
    x = np.random.default_rng(4).standard_normal((2, 3, 8)).astype(np.float32)
    before = x.copy()
    table, types = np.eye(10, 8, dtype=np.float32), np.full((2, 8), 0.5, np.float32)
    weights = posenc.LearnedInputWeights(positions=table, token_types=types)
    prepared = posenc.prepare_input(posenc.LearnedInput(offset=2, token_types=2), weights=weights)
    assert (prepared.channels, prepared.axes, prepared.start, prepared.count, prepared.bytes) == (8, 1, 0, 0, 0)
    added = posenc.add_input(prepared, x, positions=[0, 4, 1], token_types=[0, 1, 1])
    assert np.array_equal(added, x + np.float32(0.5) + table[[2, 6, 3]])
    with pytest.raises(ValueError, match=r"\[add_input\] positions\[1\] must find one of the table's 10 rows"):
        posenc.add_input(prepared, x, out=x, positions=[0, 8, 1], token_types=[0, 1, 1])
    with pytest.raises(TypeError, match="beside a PreparedInput"):
        posenc.add_input(prepared, x, weights=weights)
    with pytest.raises(TypeError, match=r"\[add_input\] input must be"):
        posenc.add_input(posenc.Alibi(), x)
    with pytest.raises(ValueError, match="axial"):
        posenc.add_input(posenc.AxialInput(), x)
    with pytest.raises(TypeError, match="weights must be LearnedInputWeights, SinusoidalInputWeights or None"):
        posenc.prepare_input(posenc.LearnedInput(), weights=table)
    assert np.array_equal(x, before)


def test_axes_of_an_image():
    scheme = posenc.AxisSinesInput(scale=2 * np.pi, offset=1.0)
    at = np.array([[0, 0, 1, 1], [0, 1, 0, 1]])
    x = np.zeros((4, 16), np.float32)
    added = posenc.add_input(scheme, x, positions=at.ravel(), lengths=[2, 2])
    rows = [posenc.input_row(scheme, 16, place, lengths=(2.0, 2.0)) for place in at.T.astype(float)]
    assert np.abs(added - np.array(rows)).max() <= 2.0**-23
    with pytest.raises(ValueError, match="lengths must have 2 entries"):
        posenc.add_input(scheme, x, positions=at.ravel())


def test_gradients_of_the_input_stage():
    random = np.random.default_rng(4)
    table, types = (random.standard_normal((rows, 8)).astype(np.float32) for rows in (10, 3))
    weights = posenc.LearnedInputWeights(positions=table, token_types=types)
    scheme = posenc.LearnedInput(positions=10, offset=2, token_types=3, embedding_multiplier=2.0)
    d_out = random.integers(-9, 9, (2, 3, 8)).astype(np.float32)  # whose sums are exact
    places, segments = np.array([0, 4, 0, 1, 7, 4]), np.array([0, 1, 1, 0, 0, 0])
    prepared = posenc.prepare_input(scheme, weights=weights)
    given = dict(positions=places, token_types=segments, d_positions=True, d_token_types=True)
    for input, own in ((prepared, None), (scheme, weights)):
        found = posenc.add_input_backward(input, d_out, weights=own, **given)
        rows, by_type = np.zeros((10, 8)), np.zeros((3, 8))
        np.add.at(rows, places + 2, d_out.reshape(6, 8))
        np.add.at(by_type, segments, d_out.reshape(6, 8))
        assert np.array_equal(found["d_x"], 2 * d_out)
        assert found["d_positions"].dtype == np.float32 and np.array_equal(found["d_positions"], rows.astype(np.float32))
        assert np.array_equal(found["d_token_types"], by_type.astype(np.float32))
    sines = posenc.SinusoidalInput(learned_scale=True)
    scale = np.zeros(1)
    of_scale = posenc.SinusoidalInputWeights(scale=0.5)
    found = posenc.add_input_backward(sines, d_out, weights=of_scale, positions=5, d_x=False, d_scale=scale, threads=1)
    wanted = sum(d_out[:, n] @ posenc.input_row(sines.replace(learned_scale=False), 8, 5 + n) for n in range(3)).sum()
    assert list(found) == ["d_scale"] and found["d_scale"] is scale
    assert abs(scale[0] - wanted) <= 48 * 9 * 2.0**-24  # 48 products of a sine that is rounded to float32
    with pytest.raises(ValueError, match=r"\[add_input_backward\] d_scale must be omitted"):
        posenc.add_input_backward(scheme, d_out, weights=weights, positions=places, token_types=segments, d_scale=True)
    with pytest.raises(TypeError, match="other"):
        posenc.add_input_backward(sines, d_out, weights=of_scale, other=1)
