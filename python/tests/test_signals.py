"""Ctrl-C ends a long call."""

import os
import signal
import threading

import numpy as np
import pytest

import posenc


def test_interrupt_ends_attention():
    plan = posenc.LayerPlan(heads=8, kv_heads=8, head_dim=64, value_dim=64, mask=posenc.Mask(kind="bidirectional"))
    x = np.zeros((16384, 8, 64), np.float32)  # some seconds at least on one thread of any machine
    out = np.full_like(x, np.nan)
    threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        posenc.attend(plan, x, x, x, threads=1, out=out)
    assert np.isnan(out).any()  # some rows were not begun
