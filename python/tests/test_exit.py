"""A process may end while objects of posenc live: that is nothing to tell its user."""

import os
import subprocess
import sys

# References that nobody gives back, as those of a library that keeps what it is given.
CODE = """
import ctypes, posenc
plan = posenc.read_plan("llama-3.1-8b")
table = posenc.make_table(plan.stacks[0].layers[0].rotate[0].rope, count=2)
for kept in (plan, table):
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(kept))
"""


def said_at_exit(**variables):
    environment = {key: value for key, value in os.environ.items() if key != "POSENC_LEAK_WARNINGS"} | variables
    result = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=True)
    return result.stdout + result.stderr


def test_nothing_is_said_of_what_lives():
    assert said_at_exit() == ""


def test_who_asks_is_told():
    assert "leaked" in said_at_exit(POSENC_LEAK_WARNINGS="1")
