"""What a file costs grows no faster than the file, whatever it is that is long in it.

Each text of growing_texts.py is given to commands of growing_commands.py in two sizes, one four times the other: to those
of each(), and to one of the rest, another for each text. Processor time may grow by 2.3 for each doubling; a quadratic
part grows by 4. The short file is taken to cost FLOOR at least, so that what a busy machine adds to a few milliseconds
decides nothing: at these sizes a quadratic part takes seconds. Address space is limited to 24 bytes for each byte of the
files, more where growing_commands.py says so, and to what the program takes without any.

`ctest -C slow -R growth` (growth_test.py --large) gives each text to all commands, in files of 4 and 16 MiB, then of 64,
in an hour; growth_test.py --large NAME does so for those commands whose names have NAME in them.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import growing_commands
import growing_texts
import tool

IS_SANITIZED = b"__asan_init" in pathlib.Path(tool.TOOL).read_bytes()
MIB = 1 << 20
SIZES = (MIB // 16, MIB // 4) if IS_SANITIZED else (MIB // 4, MIB)  # bytes
LARGE = (4 * MIB, 16 * MIB)
LARGEST = 63 * MIB  # with the config around it, below the limit of 64 MiB
A_DOUBLING = 2.3
FLOOR = 0.05  # seconds
STACK = MIB  # of a thread
PROGRAM = 22 * MIB  # with its libraries: 15 of address space, and what every command takes
SECONDS = 60

READ = (0, 1, 2, 3, 4, 6, 7)  # not without memory, and not by a signal: the file was read


class Cost:
    """Of one run: seconds of processor time, and how it ended."""

    def __init__(self, command, length):
        space = PROGRAM + command.space * command.files * length

        def limit():
            resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
            resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))
            if not IS_SANITIZED:  # it reserves terabytes
                resource.setrlimit(resource.RLIMIT_AS, (space, space))
        with open(os.devnull, "wb") as nothing, open(command.stdin or os.devnull, "rb") as given:
            run = subprocess.Popen([tool.TOOL, *command.arguments], stdin=given, stdout=nothing, stderr=nothing,
                                   preexec_fn=limit, env={**os.environ, "POSENC_THREADS": "1", "MALLOC_ARENA_MAX": "1"})
            _, status, used = os.wait4(run.pid, 0)
            run.returncode = os.waitstatus_to_exitcode(status)
        self.code = run.returncode
        self.seconds = used.ru_utime + used.ru_stime


def texts():
    for kind, all_of_kind in (("json", growing_texts.CONFIGS), ("json", growing_texts.plans()),
                              ("gguf", growing_texts.GGUFS), ("safetensors", growing_texts.TENSORS),
                              ("index", growing_texts.INDICES), ("list", growing_texts.LISTS)):
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
        self.beside = growing_commands.Beside(self.folder)

    def commands(self, kind, file, other, place):
        """Of the text at that place of all."""
        given = growing_commands.each(kind, file, other, self.beside) if kind in ("json", "gguf", "safetensors") else {}
        rest = list(growing_commands.rest(kind, file, other, self.beside).items())
        name, command = rest[place % len(rest)]
        return given | {name: command}

    def costs(self, kind, text, place, sizes):
        """{command: [Cost of each size]}."""
        out = {}
        for size in sizes:
            content = text(size)
            file = self.folder / f"text.{kind}"
            other = self.folder / f"other.{kind}"
            for path, bytes_of in ((file, content), (other, other_of(content, kind))):
                path.unlink(missing_ok=True)  # folders of models have links to it
                path.write_bytes(bytes_of)
            for name, command in self.commands(kind, file, other, place).items():
                out.setdefault(name, []).append(Cost(command, len(content)))
                self.beside.clean()
        return out

    def least_costs(self, kind, text, place, sizes):
        """The same; what seems to grow too fast is run again, and the least processor time counts: others who run on the
        machine add to it, and take nothing away."""
        out = self.costs(kind, text, place, sizes)
        for _ in range(2):
            if all(long.seconds <= A_DOUBLING**2 * max(short.seconds, FLOOR) for short, long in out.values()):
                break
            for command, again in self.costs(kind, text, place, sizes).items():
                for cost, other in zip(out[command], again):
                    cost.seconds = min(cost.seconds, other.seconds)
        return out

    def check(self, sizes):
        for place, (kind, name, text) in enumerate(texts()):
            for command, (short, long) in self.least_costs(kind, text, place, sizes).items():
                with self.subTest(f"{command}, {kind}: {name}"):
                    self.assertIn(short.code, READ)
                    self.assertIn(long.code, READ)
                    self.assertLessEqual(long.seconds, A_DOUBLING**2 * max(short.seconds, FLOOR))

    def test_time_and_memory(self):
        self.check(SIZES)


class LargeGrowth(Growth):
    def commands(self, kind, file, other, place):
        given = growing_commands.each(kind, file, other, self.beside) if kind in ("json", "gguf", "safetensors") else {}
        given |= growing_commands.rest(kind, file, other, self.beside)
        return {name: command for name, command in given.items() if ONLY in name}

    def test_time_and_memory(self):
        self.check(LARGE)

    def test_the_largest(self):
        for place, (kind, name, text) in enumerate(texts()):
            for command, (cost,) in self.costs(kind, text, place, [LARGEST]).items():
                with self.subTest(f"{command}, {kind}: {name}"):
                    self.assertIn(cost.code, READ)


if "--large" in sys.argv:
    at = sys.argv.index("--large")
    ONLY = "".join(sys.argv[at + 1:at + 2])
    del sys.argv[at:at + 2]
    SECONDS = 240
    del Growth
else:
    del LargeGrowth
tool.main()
