"""Threads of Python run while a call computes: no call keeps the GIL."""

import sys
import threading
import time

import numpy as np
import pytest

import posenc

ROPE = posenc.Rope(pairing="half", head_dim=64, dim=64)
LAYER = posenc.LayerPlan(heads=8, kv_heads=8, head_dim=64, value_dim=64)
LAYOUT = posenc.layout(ROPE)
ANGLES = np.zeros((1 << 18, 32), np.float32)
RADIANS = ANGLES.astype(np.float64)
TABLE = posenc.make_table(ROPE, count=65536)
X = np.zeros((65536, 8, 64), np.float32)
OUT = np.zeros_like(X)
FEW, FEWER = X[:2048], X[:256]
LSE = np.zeros((65536, 8), np.float32)
HOW = {"threads": 1}
CALLS = {
    "make_table": lambda: posenc.make_table(ROPE, count=1 << 20),
    "table_from_cos_sin": lambda: posenc.table_from_cos_sin(LAYOUT, ANGLES, ANGLES),
    "table_from_angles": lambda: posenc.table_from_angles(LAYOUT, RADIANS),
    "cos_sin": lambda: posenc.cos_sin(ROPE, range(1 << 17)),
    "rotate": lambda: posenc.rotate(X, table=TABLE, out=OUT, **HOW),
    "rotate_": lambda: posenc.rotate_(OUT, table=TABLE, **HOW),
    "rerotate": lambda: posenc.rerotate(
        X, from_table=TABLE, from_positions=0, to_table=TABLE, to_positions=0, out=OUT, **HOW
    ),
    "rotate_into_cache": lambda: posenc.rotate_into_cache(X, k_cache=OUT, slots=range(65536), table=TABLE, **HOW),
    "permute_pairing": lambda: posenc.permute_pairing(X.reshape(-1, 512), posenc.layout(ROPE), "interleaved"),
    "attend": lambda: posenc.attend(LAYER, FEW, FEW, FEW, **HOW),
    "attend_linear": lambda: posenc.attend_linear(LAYER, X, X, X, **HOW),
    "attend_linear_backward": lambda: posenc.attend_linear_backward(LAYER, X, X, X, X, **HOW),
    "merge": lambda: posenc.merge([(X, LSE), (X, LSE)]),
    "grow_table": lambda: posenc.grow_table(X[:, 0], 131072),
    "reference.attend": lambda: posenc.reference.attend(LAYER, FEWER, FEWER, FEWER),
    "reference.attend_linear": lambda: posenc.reference.attend_linear(LAYER, FEWER, FEWER, FEWER),
    "reference.rotate": lambda: posenc.reference.rotate(ROPE, FEW),
    "measure_property": lambda: posenc.properties.measure_property("alibi", "relative"),
}


@pytest.fixture(autouse=True)
def short_turns():
    """What a thread may take before a call begins is little beside the call: milliseconds."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize("name", CALLS)
def test_other_threads_run(name):
    """A thread that reads the clock finds it moving during the call, again and again while that is long enough."""
    ticks, is_over = [], threading.Event()

    def tick():
        while not is_over.is_set():
            ticks.append(time.perf_counter())

    CALLS[name]()  # pages, threads
    ticking = threading.Thread(target=tick)
    ticking.start()
    try:
        for _ in range(50):  # which a busy machine may need before both are given a processor
            begin = time.perf_counter()
            CALLS[name]()
            end = time.perf_counter()
            middle = (0.75 * begin + 0.25 * end, 0.25 * begin + 0.75 * end)
            if any(middle[0] < at < middle[1] for at in ticks):
                return
            ticks.clear()
    finally:
        is_over.set()
        ticking.join()
    pytest.fail("in none of 50 calls did another thread run")
