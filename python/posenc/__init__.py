"""posenc: the position encodings of transformers, read from the model's own files and computed exactly.

    import posenc

    plan = posenc.read_plan("model/config.json")     # or a GGUF file, a dict, a configuration of transformers, a preset
    print(plan.describe())
    rope = plan.stacks[0].layers[0].rotate[0].rope
    table = posenc.make_table(rope, count=4096)
    q, k = posenc.rotate(q, k, table=table)          # NumPy, torch, JAX, ml_dtypes: nothing is copied on the way in

The words are those of the C++ library. Schemes are values: frozen, compared with ==, hashable, pickled, and made with
keyword arguments. Whatever is wrong with an argument is a ValueError (a TypeError for a wrong type), and what is wrong
with a file a FileError, which is a ValueError too.
"""

from . import plot as plot
from . import properties as properties
from . import reference as reference
from ._arrays import ArrayLike as ArrayLike
from ._arrays import IndicesLike as IndicesLike
from ._arrays import PositionsLike as PositionsLike
from ._cache import reuse_verdict as reuse_verdict
from ._cache import study_cache as study_cache
from ._command import command as command
from ._compare import compare as compare
from ._convert import convert as convert
from ._diagnose import DiagnosedDump as DiagnosedDump
from ._diagnose import DiagnosedLayer as DiagnosedLayer
from ._diagnose import diagnose as diagnose
from ._diagnose import diagnose_both as diagnose_both
from ._dump import Dump as Dump
from ._dump import DumpedLayer as DumpedLayer
from ._emit import emit as emit
from ._errors import FileError as FileError
from ._extend import study_extension as study_extension
from ._override import override as override
from ._override import override_patches as override_patches
from ._posenc import *  # noqa: F403: all that is public there is public here
from ._posenc import info as info
from ._read_plan import read_plan as read_plan
from ._report import report_html as report_html
from ._report import report_json as report_json
from ._vectors import check_port as check_port
from ._vectors import read_vectors as read_vectors
from ._vectors import vectors as vectors
from ._vectors import write_vectors as write_vectors

__version__: str = info()["version"]
