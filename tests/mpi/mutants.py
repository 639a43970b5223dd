"""Mistakes in the code of posenc::mpi, one at a time, each of which its tests must see: ctest -C slow -R mpi.mutants.

usage: mutants.py SOURCE_DIR BUILD_DIR COMMAND...

Compiles a copy of mpi/src with the mistake, links mpi_test with it in place of the library, and has COMMAND run its tests.
Without a mistake they must pass. Needs a build by Ninja, in which mpi_test is up to date.
"""
from __future__ import annotations

import json
import pathlib
import re
import subprocess
import sys
import tempfile

NUMBERED = """static std::vector<std::int64_t> numbered(1 << 16);
  std::iota(numbered.begin(), numbered.end(), 0);
  """
LOCAL_KEYS = ("out.k_order = of_keys.order;", f"{NUMBERED}out.k_order = std::span(numbered).first(of_keys.order.size());")
LOCAL_QUERIES = (
    "out.q_order = of_queries.order;",
    "static std::vector<std::int64_t> own(1 << 16);\n  std::iota(own.begin(), own.end(), 0);\n"
    "  out.q_order = std::span(own).first(of_queries.order.size());",
)
OTHERS = (
    "out.k_order = of_keys.order;",
    """static std::vector<std::int64_t> others;
  others.assign(of_keys.order.begin(), of_keys.order.end());
  for (int r = 0; r < ranks; ++r) {
    const Shard& is = keys.ranks[index(r)];
    if (others.empty() || is.order.empty() || is.order.front() != others.front()) continue;
    const Shard& next = keys.ranks[index((r + 1) % ranks)];
    std::copy_n(next.order.begin(), std::min(next.order.size(), others.size()), others.begin());
    break;
  }
  out.k_order = others;""",
)
SINKS_IN_A_PART = ("part_layer_.sinks = false;", ""), ("call.weights.sinks = {};", "")
SINKS_IN_A_PART_OF_A_TREE = ("part_layer.sinks = false;", ""), SINKS_IN_A_PART[1]

# name, file, what is replaced by what, the tests that must see it
RING = "Mpi.RingAndTree*"
BACK = "MpiBackward.IsThe*"
MEMORY = "MpiMemory.*"
BLOCKS_WHOLE = ("kFewestParts = 3", "kFewestParts = 1"), ("kMostParts = 4", "kMostParts = 1")
KEYS_KEPT = ("min<std::int64_t>(schedule.parts, std::ssize(others_))", "max<std::int64_t>(0, std::ssize(others_))")
ALL_QUERIES = ("at_a_time_(ring.rows_at_a_time())", "at_a_time_(std::max<std::int64_t>(ring.q_rows(), 1))")
MUTANTS = [
    ("nothing", "ring.cpp", (), f"{RING}:{BACK}:{MEMORY}"),
    ("local ids", "ring_call.cpp", (LOCAL_QUERIES, LOCAL_KEYS), RING),
    ("local ids, backward", "ring_call.cpp", (LOCAL_QUERIES, LOCAL_KEYS), BACK),
    ("ids of another rank", "ring_call.cpp", (OTHERS,), RING),
    ("window by local index", "ring_call.cpp", (LOCAL_KEYS,), RING),
    ("carry out of order", "schedule.cpp", (("if (!is_backward) std::ranges", "if (is_backward) std::ranges"),), RING),
    ("carry of another run, backward", "ring_backward.cpp", (("(coming_.count() - 1 - piece) *", "piece *"),), BACK),
    ("sinks twice", "ring.cpp", SINKS_IN_A_PART, RING),
    ("sinks twice, tree", "tree.cpp", SINKS_IN_A_PART_OF_A_TREE, RING),
    ("sinks twice, backward", "ring_backward.cpp", (("continue;  // they count once", ""),), BACK),
    ("all gradients at once", "returning.h", (("kComing = 2", "kComing = 1000"),), MEMORY),
    ("keys kept", "ring_messages.cpp", (KEYS_KEPT,), MEMORY),
    ("blocks whole", "schedule.cpp", BLOCKS_WHOLE, MEMORY),
    ("all queries at a time", "ring.cpp", (ALL_QUERIES,), MEMORY),
    ("all queries at a time, backward", "ring_backward.cpp", (ALL_QUERIES,), MEMORY),
    ("an own sum of outputs", "ring.cpp", (("if (out_.dtype != DType::f32)", "if (true)"),), MEMORY),
    ("a message twice in the count", "ring_messages.cpp", (("sent += one.piece", "sent += 2 * one.piece"),), RING),
]


def main() -> str | None:
    source, build, *command = sys.argv[1:]
    root, tree = pathlib.Path(source) / "mpi/src", pathlib.Path(build)
    entries = json.loads((tree / "compile_commands.json").read_text())
    entry = next(one for one in entries if "/posenc_mpi.dir/" in one["command"])
    flags = re.sub(r" -o \S+", "", re.sub(r" -c \S+", "", entry["command"]))
    linked = subprocess.run(
        ["ninja", "-C", build, "-t", "commands", "-s", "tests/mpi/mpi_test"], capture_output=True, text=True, check=True
    ).stdout.splitlines()[-1]
    wrong = []
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        for name, file, changes, tests in MUTANTS:
            for one in root.iterdir():
                text = one.read_text()
                for old, new in changes if one.name == file else ():
                    if text.count(old) != 1:
                        sys.exit(f"{name}: {file} has {old!r} {text.count(old)} times, not once")
                    text = text.replace(old, new)
                (work / one.name).write_text(text)
            sources = "".join(f'#include "{one.name}"\n' for one in sorted(work.glob("*.cpp")) if one.name != "all.cpp")
            (work / "all.cpp").write_text("#include <algorithm>\n#include <numeric>\n" + sources)
            subprocess.run(
                f"{flags} -I{work} -w -c {work}/all.cpp -o {work}/all.o", shell=True, cwd=entry["directory"], check=True
            )
            link = re.sub(r"\S*libposenc_mpi\.\w+", f"{work}/all.o", linked)
            link = link.replace(" -o tests/mpi/mpi_test", f" -o {work}/mutant")
            subprocess.run(link, shell=True, cwd=tree, check=True)
            run = subprocess.run(
                [*command, str(work / "mutant"), f"--gtest_filter={tests}"], capture_output=True, text=True, timeout=600
            )
            seen = "[  FAILED  ]" in run.stdout
            print(f"{name}: {'seen' if seen else 'not seen'}", flush=True)
            if seen == (not changes) or (run.returncode != 0) != seen:
                wrong.append(f"{name}, status {run.returncode}:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
    return "\n".join(wrong) or None


if __name__ == "__main__":
    sys.exit(main())
