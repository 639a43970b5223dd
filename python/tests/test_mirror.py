"""Whatever the C++ headers declare, Python has by the same name, or a line here says why not."""

import inspect
import os
import pathlib
import re

import posenc

ROOT = pathlib.Path(os.environ.get("POSENC_SOURCE_DIR", pathlib.Path(__file__).parents[2]))

# Headers of other readers: engines in C, compilers.
OTHER_HEADERS = ("c.h", "c_porting.h", "c_quantised.h", "export.h", "version.h", "posenc.h")

ARGUMENTS = "its members are keyword arguments"
ARRAYS = "arrays of Python are views, with shapes and strides of their own"
ENGINES = "for engines, which have threads and memory of their own"
EXCEPTIONS = {
    # Structs that Python has as something more usual.
    **dict.fromkeys(
        (
            "AddInputArgs AddInputBackwardArgs AttendArgs AttendBackwardArgs AttendLinearArgs AttendLinearBackwardArgs AttendPages AttendPart AttentionDumpArgs CacheArgs CacheBackwardArgs"
            " CheckPortOptions CompareOptions ConvertArgs CostSizes DecayOptions DiagnoseArgs EmitOptions ExtendOptions Fope GrapeBias GrapePlane"
            " GridSettings InputArgs KeyNorm LayerInputs LayerWeights MergeArgs NamedGradient NamedTensor NamedWeight NormaliseBackwardArgs Pages PermuteArgs Pope"
            " PrepareInputOptions PrepareOptions QueryKeyRows ReadOptions ReuseOptions RelativeLogits ReportOptions RerotateArgs RotateArgs RowPlaces ShardArgs ShardCostArgs TableGrid"
            " TableOptions TensorFileOptions VectorFileOptions VectorInputs WriteOptions"
        ).split(),
        ARGUMENTS,
    ),
    **dict.fromkeys("BasicTensorView BasicQuantisedView quantised tensor transposed element dtype_of bits_of gradient_shape".split(), ARRAYS),
    **dict.fromkeys(
        "AttendWork Executor Parallel ThreadPool ThreadPoolOptions attend_scratch_bytes cos_sin_into".split(), ENGINES
    ),
    "CosSin": "cos_sin gives a pair",
    "Standing": "standing gives a pair",
    "Info": "info gives a dict",
    "LineAllocator": "where the rows of a table lie is its own affair",
    "HeadRange": "heads_of_rank gives a pair",
    "ShardRun": "list_runs gives three numbers of each",
    "ShardRuns": "runs_of gives a pair",
    "PositionRange": "a whole number",
    "are_weights": "posenc diagnose has it",
    **dict.fromkeys("Extension ExplainedKey ExtensionStudy".split(), "members of the JSON of study_extension"),
    **dict.fromkeys(
        "CacheGroup CacheStudy KvFormatBytes OperationVerdict SimulatedShifts".split(), "members of the JSON of study_cache"
    ),
    "CacheStudyOptions": ARGUMENTS,
    "ViewRows": "view_rows gives a dict of arrays",
    "override_plan": "override",
    "cache_format": "formats are words",
    "Preset": "presets gives their names, and preset_plan what is in one",
    "Problem": "the words of a ValueError",
    "Required": "a keyword argument without a default",
    "Error": "a ValueError",
    "VectorCall": "attend takes the arrays of Vectors by name",
    "VectorFile": "vector_files gives a dict of bytes by name",
    "make_vectors": "vectors, which reads a model too",
    "name": "enumerators are words",
    "title": "of patches: as pages of the command name them",
    "rope": "Rotate.rope",
}


def without_comments(text):
    return re.sub(r"//[^\n]*", "", text)


def declared():
    """The names of public functions, structs, classes: (name, header). Enumerations are words in Python."""
    found = []
    for header in sorted((ROOT / "include" / "posenc").rglob("*.h")):
        if header.name in OTHER_HEADERS:
            continue
        text = without_comments(header.read_text())
        # At the start of a line: members of a struct are indented.
        names = re.findall(r"^(?:struct|class)(?: POSENC_API)? (\w+)(?= final)?\s*[:{]", text, re.MULTILINE)
        names += re.findall(r"^(?:\[\[nodiscard\]\] )?POSENC_API [^;(]*?\b(\w+)\(", text, re.MULTILINE)
        found += [(name, header.name) for name in dict.fromkeys(names)]
    return found


def mirrored():
    names = {*dir(posenc), *dir(posenc.reference), *dir(posenc.properties)}
    for kind in vars(posenc).values():
        if inspect.isclass(kind):
            names.update(dir(kind))
    return names


def test_the_headers_are_read():
    found = {name for name, _ in declared()}
    assert {"Rope", "RotaryTable", "LayerPlan", "rotate", "attend_linear", "measure_property", "grow_table"} <= found
    assert {"TensorFile", "pope_score", "FileError", "wavelengths"} <= found
    assert len(found) > 200


def test_all_of_the_library_is_there():
    have = mirrored()
    missing = [f"{name} ({header})" for name, header in declared() if name not in have and name not in EXCEPTIONS]
    assert not missing, missing


def test_exceptions_are_needed():
    found, have = {name for name, _ in declared()}, mirrored()
    assert not [name for name in EXCEPTIONS if name not in found]
    # These are members of classes; the rest must not be there.
    assert not [name for name in EXCEPTIONS if name in have and name not in ("name", "rope", "tensor")]
