"""python -m posenc.conformance where torch and transformers are not."""

import pathlib
import subprocess
import sys

import pytest

import posenc


@pytest.mark.parametrize("module", ["posenc.conformance", "posenc.conformance.sweep"])
def test_what_is_missing_is_named(module):
    path = pathlib.Path(posenc.__file__).parent.parent
    # -I -S: no environment, no site-packages.
    code = "import runpy, sys; sys.path.append(sys.argv.pop()); runpy.run_module(sys.argv.pop(), None, '__main__')"
    command = [sys.executable, "-I", "-S", "-c", code, module, str(path)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"{module}: torch and transformers cannot be imported, but must be\n"
