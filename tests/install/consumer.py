"""What a wheel of posenc must have, in an environment with nothing else."""
import array
import importlib.util
import pathlib

import posenc

assert importlib.util.find_spec("numpy") is None and importlib.util.find_spec("torch") is None
package = pathlib.Path(posenc.__file__).parent
assert (package / "py.typed").is_file() and (package / "_posenc.pyi").is_file()
assert pathlib.Path(posenc.command()).is_file()

rope = posenc.read_plan("llama-3.1-8b").stacks[0].layers[0].rotate[0].rope
x = memoryview(array.array("f", range(128))).cast("B").cast("f", (1, 1, 128))
rotated = posenc.rotate(x, table=posenc.make_table(rope, count=1))
assert rotated.tolist() == x.tolist()
print(posenc.__version__, rotated.shape)
