"""Schemes and the parts of plans as frozen values."""

import copy
import gc
import inspect
import math
import pickle
import re
import weakref

import numpy as np
import pytest

import posenc
from posenc import _posenc

LLAMA = posenc.Rope(
    pairing="half",
    head_dim=128,
    dim=128,
    base=500000.0,
    scaling=posenc.Llama3Scaling(factor=8.0, original_max_position_embeddings=8192),
)

# Every class of values, with what must be given.
REQUIRED = {
    "Rope": {"pairing": "interleaved"},
    "RotaryLayout": {"pairing": "half"},
    "XPos": {"rope": LLAMA},
    "Rotate": {"scheme": LLAMA},
}
VALUES = sorted(
    name for name, kind in vars(_posenc).items() if inspect.isclass(kind) and hasattr(kind, "__replace__")
)


def test_every_scheme_is_there():
    for one_of_each in ("YarnScaling", "BinaryInput", "Alibi", "DualChunk", "RotatedValues", "LogNScale", "Comparison"):
        assert one_of_each in VALUES


@pytest.mark.parametrize("name", VALUES)
def test_value(name):
    kind = getattr(posenc, name)
    value = kind(**REQUIRED.get(name, {}))
    assert value == kind(**REQUIRED.get(name, {}))
    assert hash(value) == hash(kind(**REQUIRED.get(name, {})))
    assert eval(repr(value), vars(posenc)) == value
    assert pickle.loads(pickle.dumps(value)) == value
    assert copy.copy(value) == value == copy.deepcopy(value)
    assert value != "something else"
    assert kind.__doc__
    with pytest.raises(TypeError, match="has no argument 'no_such_member'"):
        kind(**REQUIRED.get(name, {}), no_such_member=1)
    with pytest.raises(AttributeError):
        value.no_such_member = 1


def test_members_are_frozen_and_replaced():
    with pytest.raises(AttributeError):
        LLAMA.base = 1.0
    other = LLAMA.replace(base=10000.0)
    assert (LLAMA.base, other.base, other.pairs) == (500000.0, 10000.0, 64)
    assert other != LLAMA and other.replace(base=500000.0) == LLAMA
    assert {LLAMA: 1}[pickle.loads(pickle.dumps(LLAMA))] == 1


def test_repr_leaves_defaults_out():
    assert repr(posenc.Window(past=4095)) == "Window(past=4095)"
    assert repr(posenc.Kerple(form="power")) == "Kerple(form='power')"
    assert repr(posenc.Fire()) == "Fire()"
    assert repr(LLAMA) == (
        "Rope(pairing='half', head_dim=128, dim=128, base=500000.0, scaling=Llama3Scaling(factor=8.0, "
        "original_max_position_embeddings=8192))"
    )


def test_nested_values_outlive_their_owner():
    axes = posenc.Rope(pairing="half", axes=posenc.AxisMap(names=("h", "w"), of_pair=(0, 1))).axes
    assert axes.names == ("h", "w") and axes.of_pair == (0, 1)


def test_wrong_members_are_refused():
    with pytest.raises(TypeError, match=r"Rope\(\) misses the argument 'pairing'"):
        posenc.Rope(head_dim=64)
    with pytest.raises(ValueError, match=r"\[Rope\] pairing must be one of 'half', 'interleaved' but is 'halves'"):
        posenc.Rope(pairing="halves")
    with pytest.raises(ValueError, match=r"rotation_direction must be one of .*'clockwise' but is 'left'"):
        posenc.Rope(pairing="half", rotation_direction="left")
    with pytest.raises(TypeError, match=r"\[Rope\] head_dim must be a whole number but is 64.5"):
        posenc.Rope(pairing="half", head_dim=64.5)
    with pytest.raises(TypeError, match=r"\[Rope\] base must be a number but is 'large'"):
        posenc.Rope(pairing="half", base="large")
    with pytest.raises(TypeError, match=r"\[Rope\] scaling must be a LinearScaling \| .* \| None but is 4.0"):
        posenc.Rope(pairing="half", scaling=4.0)
    with pytest.raises(TypeError, match=r"\[Alibi\] symmetric must be True or False but is 1"):
        posenc.Alibi(symmetric=1)
    with pytest.raises(ValueError, match=r"\[Alibi\] heads must fit 64 bits"):
        posenc.Alibi(heads=2**63)
    with pytest.raises(TypeError):
        posenc.Window(4095)


TOO_LARGE = 2**63
LAYOUT = posenc.RotaryLayout(pairing="half", head_dim=128, dim=128)


@pytest.mark.parametrize(
    ("place", "call"),
    [
        ("make_table] start", lambda n: posenc.make_table(LLAMA, start=n, count=1)),
        ("make_table] count", lambda n: posenc.make_table(LLAMA, count=n)),
        ("make_table] max_bytes", lambda n: posenc.make_table(LLAMA, count=1, max_bytes=n)),
        ("make_table] count", lambda n: posenc.make_table(LAYOUT, posenc.frequencies(LLAMA), count=n)),
        ("RotaryTable.cos] position", lambda n: posenc.make_table(LLAMA, count=1).cos(n)),
        ("RotaryTable.sin] position", lambda n: posenc.make_table(LLAMA, count=1).sin(n)),
        ("wavelengths] trained_length", lambda n: posenc.wavelengths(LLAMA, n)),
        ("wavelengths] length", lambda n: posenc.wavelengths(LLAMA, 1, length=n)),
        ("angle_error] end", lambda n: posenc.angle_error(LLAMA, "exact", n)),
        ("angle_error] count", lambda n: posenc.angle_error(LLAMA, "exact", 64, count=n)),
        ("axial_axes] pairs", lambda n: posenc.axial_axes(["h", "w"], n)),
        ("query_scale] position", lambda n: posenc.query_scale(None, n)),
        ("input_row] channels", lambda n: posenc.input_row(posenc.SinusoidalInput(), n, 1)),
        ("places] past", lambda n: posenc.places([True], past=n)),
        ("grid_positions] spatial_merge_size", lambda n: posenc.grid_positions([], rule="qwen2_vl", spatial_merge_size=n)),
        ("rotate] threads", lambda n: posenc.rotate(table=posenc.make_table(LLAMA, count=1), threads=n)),
        ("score_matrix] places", lambda n: posenc.score_matrix("rope", places=n)),
        ("decay_curves] samples", lambda n: posenc.decay_curves(samples=n)),
        ("cost] head_dim", lambda n: posenc.cost("rope", head_dim=n)),
        ("plain_attention_cost] tokens", lambda n: posenc.plain_attention_cost(tokens=n)),
    ],
)
def test_whole_numbers_beyond_64_bits_are_refused_by_name(place, call):
    """As members of structs are, and not as a TypeError that lists signatures."""
    for number in (TOO_LARGE, -TOO_LARGE - 1, 10**30):
        with pytest.raises(ValueError, match=re.escape(f"[{place} must fit 64 bits but is {number}")):
            call(number)
    with pytest.raises(TypeError):
        call(1.5)


def test_grown_tables_take_a_number_or_a_pair():
    """Two overloads: what is no number goes to the other one."""
    row = np.zeros((2, 3))
    assert posenc.grow_table(row, np.int64(4)).shape == (4, 3)
    assert posenc.grow_table(np.zeros((2, 2, 3)), (3, 3), kernel="plain").shape == (3, 3, 3)
    with pytest.raises(ValueError, match=r"\[grow_table\] new_rows must fit 64 bits"):
        posenc.grow_table(row, TOO_LARGE)


def test_check_and_frequencies():
    assert posenc.check(LLAMA) is None
    assert posenc.check(LLAMA.replace(dim=127)) == "dim must be even and at least 2, since channels are rotated in pairs, but is 127"
    with pytest.raises(ValueError, match=r"dim must be"):
        posenc.frequencies(LLAMA.replace(dim=127))
    plain = posenc.frequencies(LLAMA.replace(scaling=None))
    assert plain.inv_freq[1] == pytest.approx(500000.0 ** (-2 / 128), rel=1e-15)
    found = posenc.wavelengths(LLAMA, 131072)
    assert found.wavelength[0] == pytest.approx(6.283185307179586, rel=1e-15)
    assert (found.incomplete_pairs, found.critical_dim) == (25, 78)  # as `posenc inspect llama-3.1-8b` says
    longrope = posenc.read_plan("phi-3.5-mini").stacks[0].layers[0].rotate[0].scheme
    assert posenc.wavelengths(longrope, 131072).incomplete_pairs == 17  # by the long list, which holds there
    assert posenc.wavelengths(longrope, 131072, length=4096).incomplete_pairs == 1
    assert posenc.angle_error(LLAMA, "exact", 131072).largest == 0.0
    assert posenc.angle_error(LLAMA, "float32", 131072).largest == pytest.approx(0.009, rel=0.05)
    assert posenc.layout(LLAMA) == posenc.RotaryLayout(pairing="half", head_dim=128, dim=128)
    assert posenc.describe(LLAMA.scaling).startswith("llama3, factor 8,") and posenc.describe(None) == "none"


def test_formulas():
    assert posenc.alibi_slopes(posenc.Alibi(heads=8)) == tuple(2.0 ** -(h + 1) for h in range(8))
    assert posenc.t5_bucket(posenc.T5Bias(), 3) == 3
    assert posenc.alibi_bias(posenc.Alibi(heads=8), 0.5, 7, 3) == -2.0
    assert posenc.deberta_span(posenc.Deberta(buckets=256)) == 256
    assert posenc.kerple_bias(posenc.Kerple(form="power"), 2.0, 1.0, 3.0) == -6.0
    assert posenc.fire_input(1.0, 4.0, 3.0, 3.0) == pytest.approx(math.log(4) / math.log(5), rel=1e-15)
    assert posenc.grid_row(posenc.GridBias(rows=2, columns=3), 1, -2) == 2 * 5 + 0
    assert posenc.query_scale(None, 7) == 1.0
    assert posenc.standing(posenc.ReRope(window=4), 10, 0) == (4.0, 0.0)


def test_what_this_machine_can():
    assert posenc.supported_isas()[0] == "scalar" and posenc.selected_isa() in posenc.supported_isas()
    assert posenc.info()["selected"] == posenc.selected_isa() and posenc.default_threads() >= 1


# ---- what holds arrays ----

ON_CHANNELS = posenc.RotaryLayout(pairing="half", head_dim=4, dim=4)
HALF = np.full((3, 2), 0.5, np.float32)
TABLES = {
    "of a rope": posenc.make_table(LLAMA, start=-2, count=5, length=9000, angles="float32"),
    "of frequencies": posenc.make_table(ON_CHANNELS, posenc.Frequencies(inv_freq=[1.0, 0.1]), count=4),
    "on demand": posenc.table_on_demand(LLAMA, length=9000),
    "of cos and sin": posenc.table_from_cos_sin(ON_CHANNELS, HALF, -HALF, start=7, attention_factor=0.5),
    "of angles": posenc.table_from_angles(ON_CHANNELS, [1.0, 2.0, 3.0, 4.0], start=1),
    "empty": posenc.make_table(LLAMA, count=0),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_pickled_and_compared(name):
    table = TABLES[name]
    again = pickle.loads(pickle.dumps(table))
    assert again is not table and again == table and hash(again) == hash(table)
    assert bytes(again.rows) == bytes(table.rows) and again.layout == table.layout
    assert (again.start, again.count, again.attention_factor) == (table.start, table.count, table.attention_factor)
    assert pickle.loads(pickle.dumps(again)) == table
    assert copy.copy(table) == table == copy.deepcopy([table])[0]
    assert [other for other in TABLES.values() if other == table] == [table]
    assert table != name
    x = np.ones((1, 1, table.layout.head_dim), np.float32)
    if table.count or table.on_demand:
        rotated = [posenc.rotate(x, table=of, positions=max(table.start, 0)) for of in (table, again)]
        assert (rotated[0] == rotated[1]).all()


def test_tables_of_other_bits_differ():
    rope = posenc.Rope(pairing="half", head_dim=8, dim=8)
    table = posenc.make_table(rope, count=4)
    assert table == posenc.make_table(rope, count=4, max_bytes=10**6)
    others = [
        posenc.make_table(rope, count=5),
        posenc.make_table(rope, start=1, count=4),
        posenc.make_table(rope.replace(base=9999.0), count=4),
        posenc.make_table(rope.replace(pairing="interleaved"), count=4),
        posenc.make_table(rope, count=4, angles="bfloat16"),
    ]
    assert all(table != other for other in others)
    demand = posenc.table_on_demand(rope)
    assert demand == posenc.table_on_demand(rope) != posenc.table_on_demand(rope, angles="float32")


def test_a_pickle_makes_tables_alone():
    from posenc._tables import remade

    with pytest.raises(ValueError, match="must be of a call of make_table, .* but is of write_safetensors"):
        remade("write_safetensors", {})
    with pytest.raises(ValueError, match="rows must be rows of cos and sin"):
        remade("_table_of_rows", {"layout": ON_CHANNELS, "start": 0, "attention_factor": 1.0, "rows": b"123"})


def test_weights_are_copied():
    linear = posenc.Linear(weight=np.ones((2, 1), np.float32), bias=np.zeros(2, np.float32))
    fire = posenc.FireWeights(c=0.5, hidden=linear, out=linear)
    for again in (pickle.loads(pickle.dumps(fire)), copy.deepcopy(fire), copy.copy(fire)):
        assert again.c == 0.5 and (again.hidden.weight == 1).all() and again.threshold is None
    assert copy.copy(fire).hidden is linear
    assert copy.deepcopy(fire).hidden.weight is not linear.weight
    table = posenc.T5Weights(table=np.ones((32, 2), np.float32))
    layer = posenc.LayerPlan(heads=2, kv_heads=2, head_dim=4, value_dim=4, score=(posenc.T5Bias(),))
    x = np.ones((3, 2, 4), np.float32)
    expected = posenc.attend(layer, x, x, x, score_weights=[table])
    assert (posenc.attend(layer, x, x, x, score_weights=[copy.deepcopy(table)]) == expected).all()


def test_weights_that_are_refused_leave_nothing_behind():
    class Watched(np.ndarray):
        pass

    for wrong in ({"r2": 3.0}, {"r2": "text"}, {"no_such_member": 1}):
        array = np.ones(2, np.float32).view(Watched)
        alive = weakref.ref(array)
        with pytest.raises(TypeError):
            posenc.KerpleWeights(r1=array, **wrong)
        del array
        gc.collect()
        assert alive() is None, wrong


def test_numbers_beyond_float64_are_refused():
    for make in (lambda: LLAMA.replace(base=10**400), lambda: posenc.FireWeights(c=-(10**400))):
        with pytest.raises(ValueError, match="must be within float64's range but is beyond it"):
            make()
