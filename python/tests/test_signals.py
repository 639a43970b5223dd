"""Ctrl-C ends a long call."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import posenc


def test_interrupt_ends_attention():
    plan = posenc.LayerPlan(heads=16, kv_heads=16, head_dim=64, value_dim=64, mask=posenc.Mask(kind="bidirectional"))
    x = np.zeros((16384, 16, 64), np.float32)  # some seconds at least, on any machine
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        posenc.attend(plan, x, x, x, threads=1)
    assert time.monotonic() - began < 2.0
