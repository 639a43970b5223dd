"""A Python without any package but posenc."""

import pathlib
import subprocess
import sys

import posenc

CODE = """
import sys
sys.path.insert(0, sys.argv[1])
import array, posenc
plan = posenc.read_plan("llama-3.1-8b")
rope = plan.stacks[0].layers[0].rotate[0].rope
x = memoryview(array.array("f", [1.0] * 128)).cast("B").cast("f", (1, 1, 128))
rotated = posenc.rotate(x, table=posenc.make_table(rope, count=1))
assert rotated.tolist() == x.tolist()
truth = posenc.reference.rotate(rope, x, positions=[1000])
assert truth.shape == (1, 1, 128)
assert not {"numpy", "torch"} & set(sys.modules)
"""


def test_no_library_is_needed():
    path = pathlib.Path(posenc.__file__).parent.parent
    # -I -S: no environment, no site-packages.
    subprocess.run([sys.executable, "-I", "-S", "-c", CODE, str(path)], check=True)
