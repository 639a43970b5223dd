"""python -m posenc.conformance where torch and transformers are not."""

import pathlib
import subprocess
import sys

import posenc


def test_what_is_missing_is_named():
    path = pathlib.Path(posenc.__file__).parent.parent
    # -I -S: no environment, no site-packages.
    code = "import runpy, sys; sys.path.append(sys.argv.pop()); runpy.run_module('posenc.conformance', None, '__main__')"
    result = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(path)], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "posenc.conformance: torch and transformers cannot be imported, but must be\n"
