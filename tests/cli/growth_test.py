"""What a file costs grows no faster than the file, whatever it is that is long in it.

Each text of growing_texts.py is given to the commands in two sizes, one four times the other. Processor time may grow
by 2.3 for each doubling; a quadratic part grows by 4. The short file is taken to cost FLOOR at least, so that what a
busy machine adds to a few milliseconds decides nothing: at these sizes a quadratic part takes seconds. Address space is
limited to BYTES for each byte of the files, PATCHED where patches of a config are made, which repeat its dictionary, and
to what the program takes without any.

`ctest -C slow -R growth` (growth_test.py --large) takes files of 4 and 16 MiB, then of 64, in minutes.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import growing_texts
import tool

IS_SANITIZED = b"__asan_init" in pathlib.Path(tool.TOOL).read_bytes()
MIB = 1 << 20
SIZES = (MIB // 16, MIB // 4) if IS_SANITIZED else (MIB // 4, MIB)  # bytes
LARGE = (4 * MIB, 16 * MIB)
LARGEST = 63 * MIB  # with the config around it, below the limit of 64 MiB
A_DOUBLING = 2.3
FLOOR = 0.05  # seconds
BYTES = 24
PATCHED = 40
PROGRAM = 22 * MIB  # with its libraries: 15 of address space, and what every command takes
SECONDS = 60

READ = (0, 1, 2, 4)  # done, differs, refused for what it says, malformed: the file was read


class Cost:
    """Of one run: seconds of processor time, and how it ended."""

    def __init__(self, arguments, length):
        space = PROGRAM + (PATCHED if arguments[0] == "extend" or "--patch" in arguments else BYTES) * length

        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            if not IS_SANITIZED:  # it reserves terabytes
                resource.setrlimit(resource.RLIMIT_AS, (space, space))
        with open(os.devnull, "wb") as nothing:
            run = subprocess.Popen([tool.TOOL, *map(str, arguments)], stdout=nothing, stderr=nothing, preexec_fn=limit)
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        self.code = run.returncode
        self.seconds = used.ru_utime + used.ru_stime


def commands(file, other, kind):
    if kind == "safetensors":
        return {"rotate": ["rotate", "--model", "llama-3.1-8b", "--q", file, "-o", file.parent / "out.npy"]}
    given = {"inspect": ["inspect", file], "inspect --json": ["inspect", "--json", file],
             "compare": ["compare", file, other]}
    if kind == "json":
        given |= {"inspect --patch": ["inspect", file, "--set", "base=7", "--patch"],
                  "extend": ["extend", file, "--to", "1e6"]}
    return given


def texts():
    for kind, all_of_kind in (("json", growing_texts.CONFIGS), ("json", growing_texts.plans()),
                              ("gguf", growing_texts.GGUFS), ("safetensors", growing_texts.TENSORS)):
        for name, text in all_of_kind.items():
            yield kind, name, text


def other_of(text, kind):
    """Another file of the same sort and size: keys and names differ, so that a comparison finds nothing twice."""
    changed = text.replace(b"unread_0", b"unread_9").replace(b"key_0", b"key_9").replace(b"mmm", b"mnm")
    return changed if kind == "json" else text


class Growth(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def costs(self, kind, text, sizes):
        """{command: [Cost of each size]}."""
        out = {}
        for size in sizes:
            content = text(size)
            file = self.folder / f"text.{kind}"
            other = self.folder / f"other.{kind}"
            file.write_bytes(content)
            other.write_bytes(other_of(content, kind))
            for command, arguments in commands(file, other, kind).items():
                files = sum(arguments.count(path) for path in (file, other))
                out.setdefault(command, []).append(Cost(arguments, files * len(content)))
        return out

    def least_costs(self, kind, text, sizes):
        """The same; what seems to grow too fast is run again, and the least processor time counts: others who run on the
        machine add to it, and take nothing away."""
        out = self.costs(kind, text, sizes)
        for _ in range(2):
            if all(long.seconds <= A_DOUBLING**2 * max(short.seconds, FLOOR) for short, long in out.values()):
                break
            for command, again in self.costs(kind, text, sizes).items():
                for cost, other in zip(out[command], again):
                    cost.seconds = min(cost.seconds, other.seconds)
        return out

    def check(self, sizes):
        for kind, name, text in texts():
            for command, (short, long) in self.least_costs(kind, text, sizes).items():
                with self.subTest(f"{command}, {kind}: {name}"):
                    self.assertIn(short.code, READ)
                    self.assertIn(long.code, READ)
                    self.assertLessEqual(long.seconds, A_DOUBLING**2 * max(short.seconds, FLOOR))

    def test_time_and_memory(self):
        self.check(SIZES)


class LargeGrowth(Growth):
    def test_time_and_memory(self):
        self.check(LARGE)

    def test_the_largest(self):
        for kind, name, text in texts():
            for command, (cost,) in self.costs(kind, text, [LARGEST]).items():
                with self.subTest(f"{command}, {kind}: {name}"):
                    self.assertIn(cost.code, READ)


if "--large" in sys.argv:
    sys.argv.remove("--large")
    SECONDS = 240
    del Growth
else:
    del LargeGrowth
tool.main()
