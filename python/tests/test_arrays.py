"""Arrays of other libraries: nothing is copied on the way in, and results are of the caller's library."""

import array
import ctypes

import ml_dtypes
import numpy as np
import pytest

import posenc
from posenc import _posenc

ROPE = posenc.Rope(pairing="half", head_dim=8, dim=8)
TABLE = posenc.make_table(ROPE, count=64)
DTYPES = [np.float32, np.float16, ml_dtypes.bfloat16]


def random(shape, dtype=np.float32, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def address(x):
    return x.__array_interface__["data"][0]


@pytest.mark.parametrize("dtype", [*DTYPES, np.float64])
def test_inputs_are_not_copied(dtype):
    x = random((5, 2, 8), dtype)
    assert _posenc._address(x) == address(x)
    part = x[1:, 1:]
    assert _posenc._address(part) == address(part) != address(x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_are_the_callers(dtype):
    q = random((5, 2, 8), dtype)
    rotated = posenc.rotate(q, table=TABLE)
    assert type(rotated) is np.ndarray and rotated.dtype == q.dtype and rotated.shape == q.shape
    out = np.empty_like(q)
    assert posenc.rotate(q, table=TABLE, out=out) is out
    assert np.array_equal(out, rotated)
    before = address(q)
    assert posenc.rotate_(q, table=TABLE) is q and address(q) == before
    assert np.array_equal(q, rotated)


def test_memoryviews_do_without_a_library():
    numbers = random((5, 2, 8))
    plain = memoryview(array.array("f", numbers.ravel().tolist())).cast("B").cast("f", (5, 2, 8))
    rotated = posenc.rotate(plain, table=TABLE)
    assert type(rotated) is memoryview and rotated.shape == (5, 2, 8)
    assert np.array_equal(np.asarray(rotated), posenc.rotate(numbers, table=TABLE))


def test_strides_are_followed():
    x = random((2, 5, 3, 8))  # [batch, tokens, heads, head_dim]
    view = x.transpose(0, 2, 1, 3)
    rotated = posenc.rotate(view, table=TABLE)
    assert np.array_equal(rotated, posenc.rotate(np.ascontiguousarray(view), table=TABLE))
    posenc.rotate_(view, table=TABLE)
    assert np.array_equal(x.transpose(0, 2, 1, 3), rotated)
    backwards = random((5, 2, 8))[::-1]
    assert np.array_equal(
        posenc.rotate(backwards, table=TABLE), posenc.rotate(np.ascontiguousarray(backwards), table=TABLE)
    )


# Shapes as [batch, heads, tokens, channels], of which other axes lie next to one another in memory.
ORDERS = {
    "token by token": lambda x: x.transpose(0, 2, 1, 3),
    "tokens before sequences": lambda x: x.transpose(1, 0, 2, 3),
    "a part of each token": lambda x: x[:, :, 1:].transpose(0, 2, 1, 3),
    "backwards": lambda x: x[:, ::-1].transpose(0, 2, 1, 3),
    "one sequence": lambda x: x[:1].transpose(0, 2, 1, 3),
    "one token": lambda x: x[:, :1].transpose(0, 2, 1, 3),
}


def by_step(x):
    """Axes of more than one element, the slowest first."""
    return sorted((axis for axis in range(x.ndim) if x.shape[axis] > 1), key=lambda axis: -abs(x.strides[axis]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", ORDERS)
def test_results_lie_as_what_was_rotated(order, dtype):
    view = ORDERS[order](random((2, 5, 3, 8), dtype))
    rotated = posenc.rotate(view, table=TABLE)
    assert rotated.shape == view.shape and rotated.dtype == view.dtype and by_step(rotated) == by_step(view)
    assert rotated.size * rotated.itemsize == np.ptp(np.lib.array_utils.byte_bounds(rotated))  # without gaps
    assert np.array_equal(rotated, posenc.rotate(np.ascontiguousarray(view), table=TABLE))


def test_a_repeated_array_is_rotated_into_a_whole_one():
    one = random((1, 3, 5, 8))
    rotated = posenc.rotate(np.broadcast_to(one, (2, 3, 5, 8)), table=TABLE)
    assert rotated.flags.c_contiguous
    assert np.array_equal(rotated, np.repeat(posenc.rotate(one, table=TABLE), 2, 0))


@pytest.mark.parametrize("shape", [(0, 2, 8), (5, 0, 8), (1, 2, 0, 8), (0, 2, 5, 8)])
def test_sizes_of_0_are_no_error(shape):
    """NumPy's arrays without elements have strides of 0."""
    x = np.zeros(shape, np.float32)
    table = posenc.make_table(posenc.Rope(pairing="half", head_dim=8, dim=8), count=8)
    rows = np.zeros(x.size // (8 * max(x.shape[-3 if x.ndim == 3 else -2], 1)), np.int64)
    for positions in (0, rows, rows.astype(np.int16)) if 5 not in shape else (0,):
        rotated = posenc.rotate(x, table=table, positions=positions)
        assert rotated.shape == shape and rotated.dtype == x.dtype
    assert posenc.rotate_(x, table=table) is x
    assert posenc.rotate(x, table=table, out=np.empty(shape, np.float32)).shape == shape


def test_attention_of_no_queries_or_no_keys():
    layer = posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8)
    some, none = np.ones((3, 2, 8), np.float32), np.zeros((0, 2, 8), np.float32)
    assert posenc.attend(layer, none, some, some).shape == (0, 2, 8)
    assert posenc.attend(layer, none, none, none).shape == (0, 2, 8)
    seen = np.zeros((0, 3), bool)
    out, lse = posenc.attend(layer, none, some, some, attn_mask=seen, lse=True)
    assert out.shape == (0, 2, 8) and lse.shape == (0, 2)
    out, lse = posenc.attend(layer, some, none, none, lse=True)
    assert not out.any() and (lse == -np.inf).all()


def test_read_only_arrays_are_read_and_not_written():
    q = random((5, 2, 8))
    q.flags.writeable = False
    expected = posenc.rotate(q.copy(), table=TABLE)
    assert np.array_equal(posenc.rotate(q, table=TABLE), expected)
    for call in (lambda: posenc.rotate_(q, table=TABLE), lambda: posenc.rotate(q.copy(), table=TABLE, out=q)):
        with pytest.raises(ValueError, match="must be an array that can be written but is read-only"):
            call()


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),  # from here on DLPack's DLManagedTensor
        ("deleter", ctypes.c_void_p),
    ]


class Elsewhere:
    """Numbers that say of themselves that they lie in the memory of a GPU."""

    CUDA = 2

    def __init__(self, numbers):
        shape = (ctypes.c_int64 * numbers.ndim)(*numbers.shape)
        strides = (ctypes.c_int64 * numbers.ndim)(*(step // numbers.itemsize for step in numbers.strides))
        code = {"i": 0, "f": 2}[numbers.dtype.kind]
        self.kept = numbers, shape, strides
        self.tensor = DLTensor(address(numbers), self.CUDA, 0, numbers.ndim, code, 8 * numbers.itemsize, 1, shape, strides)

    def __dlpack__(self, **_):
        make = ctypes.pythonapi.PyCapsule_New
        make.restype, make.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.tensor), b"dltensor", None)

    def __dlpack_device__(self):
        return self.CUDA, 0


def test_what_lies_on_another_device_is_refused():
    q = random((5, 2, 8))
    for given in ({"q": Elsewhere(q)}, {"q": q, "positions": Elsewhere(np.arange(5, dtype=np.int64))}):
        with pytest.raises(ValueError, match="must be on the CPU.* but is on DLPack's device type 2"):
            posenc.rotate(table=TABLE, **given)
    with pytest.raises(ValueError, match=r"cu_seqlens must be on the CPU"):
        posenc.rotate(q, table=TABLE, cu_seqlens=Elsewhere(np.array([0, 5], np.int32)))


def test_what_is_no_tensor_is_refused():
    with pytest.raises(TypeError, match=r"\[rotate\] q must be an array"):
        posenc.rotate([[1.0]], table=TABLE)
    with pytest.raises(ValueError, match="of float32, float16, bfloat16 or float64 but is int64"):
        posenc.rotate(np.zeros((5, 2, 8), np.int64), table=TABLE)
    with pytest.raises(ValueError, match="have rank 1 to 4 but is 5"):
        posenc.rotate(np.zeros((1, 1, 1, 1, 8), np.float32), table=TABLE)
    with pytest.raises(ValueError, match=r"\[rotate\] .*strides"):
        posenc.rotate(random((5, 2, 16))[:, :, ::2], table=TABLE)
    with pytest.raises(ValueError, match="head_dim"):
        posenc.rotate(random((5, 2, 6)), table=TABLE)


def test_tables_are_seen_without_a_copy():
    rows = np.asarray(TABLE.rows)
    assert rows.shape == (64, 2, 4) and rows.dtype == np.float32 and not rows.flags.writeable
    assert address(rows) == address(np.asarray(TABLE.rows))
    assert list(TABLE.cos(7)) == rows[7, 0].tolist()
    held = np.asarray(posenc.make_table(ROPE, count=3).rows)  # the table lives as long as its rows
    assert np.array_equal(held, rows[:3])


def test_truth_values_are_no_numbers():
    """Of an attention mask alone they are taken."""
    rope = posenc.Rope(pairing="half", head_dim=4, dim=4)
    layer = posenc.LayerPlan(heads=1, kv_heads=1, head_dim=4, value_dim=4, softmax_scale=0.5)
    x, truths = np.ones((2, 1, 4), np.float32), np.ones((2, 1, 4), bool)
    with pytest.raises(ValueError, match="q must be of float32, .* but is bool"):
        posenc.rotate(truths, table=posenc.make_table(rope, count=2))
    for at in range(3):
        with pytest.raises(ValueError, match=f"{'qkv'[at]} must be of float32, .* but is bool"):
            posenc.attend(layer, *(truths if at == n else x for n in range(3)))
    assert posenc.attend(layer, x, x, x, attn_mask=np.ones((2, 2), bool)).shape == x.shape
