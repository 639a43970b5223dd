"""Ctrl-C ends a long call."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import posenc


@pytest.fixture(autouse=True)
def _heard():
    """A job in the background of a shell ignores the signal, and so would what it starts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt_ends_attention():
    plan = posenc.LayerPlan(heads=8, kv_heads=8, head_dim=64, value_dim=64, mask=posenc.Mask(kind="bidirectional"))
    x = np.zeros((16384, 8, 64), np.float32)  # some seconds at least on one thread of any machine
    out = np.full_like(x, np.nan)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        posenc.attend(plan, x, x, x, threads=1, out=out)
    assert np.isnan(out).any()  # some rows were not begun


TOKENS = 4096
TABLE = posenc.make_table(posenc.Rope(pairing="half", head_dim=256, dim=256), count=TOKENS + 1)
HOW = {"threads": 1}
CALLS = {
    "rotate": lambda x, out: posenc.rotate(x, table=TABLE, positions=1, out=out, **HOW),
    "rotate_": lambda x, out: posenc.rotate_(out, table=TABLE, positions=1, **HOW),
    "rerotate": lambda x, out: posenc.rerotate(
        out, from_table=TABLE, from_positions=0, to_table=TABLE, to_positions=1, out=out, **HOW
    ),
    "rotate_into_cache": lambda x, out: posenc.rotate_into_cache(
        x, k_cache=out, slots=range(TOKENS), table=TABLE, positions=1, **HOW
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_interrupt_ends_rotations(name):
    def interrupt(*_):
        raise KeyboardInterrupt

    out = np.ones((TOKENS, 32, 256), np.float32)  # 128 MiB, which no core turns within two milliseconds
    x = out.copy()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.002)
            CALLS[name](x, out)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert (out[-1] == 1).all()  # the last rows were not begun


SIZES = {"heads": 8, "kv_heads": 8, "head_dim": 64, "value_dim": 64}
REFERENCE = {
    "attend": lambda x: posenc.reference.attend(posenc.LayerPlan(**SIZES), x, x, x),
    "attend_linear": lambda x: posenc.reference.attend_linear(posenc.LayerPlan(**SIZES), x, x, x),
    "rotate": lambda x: posenc.reference.rotate(posenc.Rope(pairing="half", head_dim=64, dim=64), x),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_interrupt_ends_the_reference(name):
    x = np.zeros((262144 if name == "rotate" else 4096, 8, 64), np.float16)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    before = time.process_time()
    with pytest.raises(KeyboardInterrupt):
        REFERENCE[name](x)
    assert time.process_time() - before < 1  # the whole call takes several seconds, or minutes
