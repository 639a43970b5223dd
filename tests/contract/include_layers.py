"""Includes point down the layer table, and within src/plan down the table of its rooms.

usage: include_layers.py SOURCE_DIR
"""
import pathlib
import re
import sys

import checkout

# What each folder may include: whole layers by name, and headers in angle brackets. "std" is every header of the C++
# library, "public" is include/posenc, a name with a dot is that header alone.
LAYERS = {
    "include/posenc": {"std", "public", "stddef.h", "stdint.h"},
    "src/base": {"std", "public", "base", "fmt", "fcntl.h", "pthread.h", "sched.h", "signal.h", "unistd.h"},
    "src/math": {"std", "public", "math", "base", "fmt"},
    "src/reference": {"std", "public", "reference", "math", "base", "fmt"},
    "src/research": {"std", "public", "research", "reference", "math", "base", "fmt"},
    "src/kernels": {"kernels", "cstddef", "cstdint", "immintrin.h", "arm_neon.h"},
    "src/cpu": {"std", "public", "cpu", "kernels", "math", "base", "fmt", "cpuid.h", "sys/auxv.h",
                "sys/syscall.h", "unistd.h"},
    "src/shard": {"std", "public", "shard", "cpu", "math", "base", "fmt"},
    "src/io": {"std", "public", "io", "base", "fmt", "rapidjson", "fcntl.h", "sys/file.h", "sys/mman.h", "sys/stat.h",
               "sys/statvfs.h", "unistd.h"},
    "src/plan": {"std", "public", "plan", "io", "math", "base", "fmt"},
    "src/diagnose": {"std", "public", "diagnose", "plan", "io", "reference", "math", "base", "fmt"},
    "src/convert": {"std", "public", "convert", "plan", "io", "math", "base", "fmt"},
    "src/vectors": {"std", "public", "vectors", "plan", "io", "reference", "math", "base", "fmt", "unistd.h"},
    "src/emit": {"std", "public", "emit", "io", "base", "fmt"},
    "src/report": {"std", "public", "report", "plan", "io", "base", "fmt"},
    "src/properties": {"std", "public", "properties", "cpu", "math", "base", "fmt"},
    "web": {"std", "public", "base", "cpu", "kernels"},
    "src/reuse": {"std", "public", "reuse", "plan", "io", "base", "fmt"},
    "src/extend": {"std", "public", "extend", "report", "plan", "io", "base", "fmt"},
    "src/c": {"std", "public", "c"},
    "tools/posenc": {"std", "public", "tools", "fmt", "CLI", "fcntl.h", "signal.h", "sys/stat.h", "unistd.h",
                     # of bench: what `posenc bench` measures with
                     "huge_memory.h", "multiply_add.h", "read_memory.h", "taking_turns.h", "xor_in_place.h",
                     # of the examples: the engine of `posenc extend --evaluate`
                     "decoder/decoder.h", "decoder/tokenizer.h"},
    "python": {"std", "public", "python", "nanobind", "sys/mman.h"},
    "mpi": {"std", "public", "mpi", "mpi.h", "agreement.h"},
    "examples": {"std", "public", "examples", "mpi.h"},
    "bench": None,  # everything
}
# The rooms of a layer, and what each may include of the others.
_CONFIG = {"facts", "keys", "families", "scope"}
ROOMS = {
    "src/plan": {
        "facts": set(),  # what is known of a stack, with its sources; limits
        "keys": set(),
        "json": set(),
        # A row may name a function for what its class alone does; scope asks the row for its names.
        "families": {"facts", "keys", "scope", "rope", "layers"},
        "scope": _CONFIG,  # what asks a config for keys
        "rope": _CONFIG,
        "layers": _CONFIG | {"rope"},
        "towers": _CONFIG | {"rope", "layers"},
        "assemble": {"facts"},  # facts -> plan
        "shapes": set(),  # what tensors' shapes say of a plan
        "gguf": {"facts", "keys", "assemble", "shapes"},
        "text": {"json"},
        "compare": {"json", "text"},
        "override": {"facts", "keys", "json", "families", "gguf", "assemble"},  # a plan -> a plan, as words say
        "read": _CONFIG | {"rope", "layers", "towers", "assemble", "gguf", "json", "shapes"},
    },
}
CODE = {".h", ".cpp", ".inc"}
MADE = {"report/page_text.h"}  # when posenc is built: in its own layer
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
STD = re.compile(r"[a-z_0-9]+")


def folder_of(path):
    return next((folder for folder in LAYERS if path.is_relative_to(folder)), None)


def quoted_layer(path, included, existing):
    """The layer of a file that `path` includes in quotes, or None when there is no such file."""
    if path.parent / included in existing:
        return path.parts[1] if path.parts[0] == "src" else "public" if path.parts[0] == "include" else path.parts[0]
    if included.is_relative_to("posenc") and "include" / included in existing:
        return "public"
    if "src" / included in existing:
        return included.parts[0]
    if "tools/posenc" / included in existing:
        return "tools"
    if "python/src" / included in existing:
        return "python"
    if "examples" / included in existing:
        return "examples"
    return "bench" if "bench" / included in existing else None


def bracketed_layer(included):
    """What an include in angle brackets is in the table: a library's folder, "std", or itself."""
    first = included.parts[0]
    if first == "posenc":  # as users write it
        return "public"
    if len(included.parts) > 1 and first in {"fmt", "rapidjson", "CLI", "nanobind"}:
        return first
    return "std" if STD.fullmatch(str(included)) else str(included)


def room_complaint(folder, path, included):
    """What is wrong with a file of `folder` that includes another one of the same layer; None where nothing is."""
    rooms = ROOMS.get(folder)
    if rooms is None:
        return None
    room = path.relative_to(folder).parts[0]
    if room not in rooms:
        return f"{room} is no room of {folder} (ROOMS)"
    other = included.parts[1] if len(included.parts) > 1 else ""
    return None if other == room or other in rooms[room] else f"{folder}/{room} may not include {included}"


def contract(texts):
    """texts: {path: content}."""
    complaints = []
    for path, text in texts.items():
        folder = folder_of(path)
        if folder is None:
            complaints.append(f"{path}: this folder is not in the layer table")
        if folder is None or LAYERS[folder] is None:
            continue
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            included = pathlib.PurePosixPath(match[1] or match[2])
            if str(included) in MADE and path.is_relative_to(pathlib.PurePosixPath("src") / included.parent):
                continue
            layer = quoted_layer(path, included, texts) if match[1] else bracketed_layer(included)
            if layer is None:
                complaints.append(f"{path}:{line}: no such file: {included} (write the path from src/ or include/)")
            elif layer not in LAYERS[folder] and str(included) not in LAYERS[folder]:
                complaints.append(f"{path}:{line}: {folder} may not include {included}")
            elif match[1] and layer == pathlib.PurePosixPath(folder).name:
                wrong = room_complaint(folder, path, included)
                if wrong:
                    complaints.append(f"{path}:{line}: {wrong}")
    return complaints


def sample(path, text):
    return {pathlib.PurePosixPath(path): text,
            pathlib.PurePosixPath("include/posenc/rope.h"): "#include <vector>\n",
            pathlib.PurePosixPath("src/plan/facts/a.h"): "",
            pathlib.PurePosixPath("src/plan/scope/a.h"): "",
            pathlib.PurePosixPath("src/plan/layers/a.h"): "",
            pathlib.PurePosixPath("src/plan/read/a.h"): "",
            pathlib.PurePosixPath("src/base/escape.h"): "",
            pathlib.PurePosixPath("bench/taking_turns.h"): "",
            pathlib.PurePosixPath("bench/other.h"): ""}


checkout.must_complain({
    "a lower layer that includes a higher one": sample("src/math/a.cpp", '#include "plan/facts/a.h"'),
    "a public header with a dependency": sample("include/posenc/a.h", "#include <fmt/format.h>"),
    "a public header that includes a layer": sample("include/posenc/a.h", '#include "base/escape.h"'),
    "a kernel that uses the C++ library": sample("src/kernels/a.cpp", "#include <vector>"),
    "a kernel that includes a public header": sample("src/kernels/a.h", '  #  include "posenc/rope.h"'),
    "a tool that looks inside": sample("tools/posenc/a.cpp", '#include "base/escape.h"'),
    "a tool that uses any file of the benchmarks": sample("tools/posenc/a.cpp", '#include "other.h"'),
    "a layer that uses the benchmarks": sample("src/cpu/a.cpp", '#include "taking_turns.h"'),
    "a JSON library outside of io": sample("src/plan/json/a.cpp", "#include <rapidjson/reader.h>"),
    "a file that does not exist": sample("src/plan/facts/b.h", '#include "plan/facts/absent.h"'),
    "a folder outside the table": sample("src/extra/a.cpp", ""),
    "facts that include what fills them": sample("src/plan/facts/b.h", '#include "plan/layers/a.h"'),
    "a room that includes the way to the plan": sample("src/plan/layers/b.cpp", '#include "plan/read/a.h"'),
    "GGUF that asks a config": sample("src/plan/gguf/b.cpp", '#include "plan/scope/a.h"'),
    "a text of a plan that reads files": sample("src/plan/text/b.cpp", '#include "plan/read/a.h"'),
    "a room outside the table": sample("src/plan/extra/b.cpp", '#include "plan/facts/a.h"'),
    "a file of a layer with rooms that stands in none": sample("src/plan/b.cpp", '#include "plan/facts/a.h"'),
}, contract)
checkout.must_accept(sample("tools/posenc/a.cpp", "#include <posenc/rope.h>\n#include <CLI/CLI.hpp>\n#include \"taking_turns.h\""), contract)
checkout.must_accept(sample("src/plan/layers/b.cpp", '#include "plan/layers/a.h"\n#include "plan/scope/a.h"\n'
                            '#include "base/escape.h"\n#include <map>'), contract)
checkout.must_accept(sample("src/plan/read/b.cpp", '#include "plan/read/a.h"\n#include "plan/facts/a.h"'), contract)

root = pathlib.Path(sys.argv[1])
sources = [path for path in checkout.files(root)
           if path.suffix in CODE and path.parts[0] in {"src", "include", "tools", "python", "examples", "bench"}]
checkout.report(contract({path: (root / path).read_text(encoding="utf-8") for path in sources}))
