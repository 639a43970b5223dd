"""Inputs that never end, or are no files, wherever a command takes one: /dev/zero, a pipe that nobody writes to, a
directory, a link to itself; and outputs that are none: /dev/full, a pipe that nobody reads, a directory. Each command
ends with one message that says so, in bounded memory. A pipe without a writer is not waited for: it has no bytes.

The table below has each option that takes a file once: @ stands for what is odd.
"""
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

import growing_commands
import tool

sys.path.insert(0, str(tool.SOURCE_DIR / "tests/examples"))
import tiny_llama

IS_SANITIZED = b"__asan_init" in pathlib.Path(tool.TOOL).read_bytes()
MEMORY = 1 << 30  # bytes: a text of 256 MiB is read into a buffer that doubles
SECONDS = 60

INPUTS = """
inspect @
inspect @/config.json
compare @ small.json
compare small.json @
survey @
report @
report small.json --against @
cache @
extend @ --to 8192
extend small.json --to 8192 --q @ --k rows.npy
extend small.json --to 8192 --q rows.npy --k @
extend small.json --to 8192 --weights @
extend tiny --to 128 --evaluate @ --text ids.txt
extend tiny --to 128 --evaluate tiny --text @
extend tiny --to 128 --evaluate tiny --text ids.txt --tokenizer @
extend tiny --to 128 --evaluate tiny --text ids.txt --results @
emit @ --as numpy
vectors @ -o out.out
check @ --against vectors
check vectors --against @
rotate --model small.json --q @ -o q.out.npy
rotate --model @ --q rows.npy -o q.out.npy
rotate --model small.json --q rows.npy --positions @ -o q.out.npy
rotate --model small.json --q rows.npy --expect @ -o q.out.npy
attend --model small.json --q rows.npy --k keys.npy --v @ -o a.out.npy
attend --model small.json --q rows.npy --k keys.npy --v keys.npy --weights @ -o a.out.npy
attend --model small.json --q rows.npy --k keys.npy --v keys.npy --q-positions @ -o a.out.npy
attend --model small.json --q rows.npy --k keys.npy --v keys.npy --mask @ -o a.out.npy
attend --model small.json --q rows.npy --k keys.npy --v keys.npy --expect @ -o a.out.npy
diagnose --before @ --after rows.npy
diagnose --before rows.npy --after rows.npy --start @
diagnose --model small.json --q rows.npy --k keys.npy --scores @
diagnose --model small.json --q rows.npy --k keys.npy --v keys.npy --out rows.npy --tables @
diagnose --weights @ --model small.json
convert @ --to half -o out.out
convert small.safetensors --model @ --to interleaved -o one.out.safetensors
plot encoding --table @ -o x.out.svg
plot wavelengths --model @ -o x.out.svg
bench attend --model small.json --weights @
"""
OUTPUTS = """
survey one-line.txt -o @
report small.json -o @ --force
report small.json -o @
rotate --model small.json --q rows.npy -o @
attend --model small.json --q rows.npy --k keys.npy --v keys.npy -o @
convert small.safetensors --model small.json --to interleaved -o @
convert small.safetensors --model small.json --to interleaved -o @ --force
plot wavelengths --model small.json -o @
extend tiny --to 128 --evaluate tiny --text ids.txt --results @
"""
FOLDERS = """
vectors small.json -o @
emit small.json --as numpy -o @
"""
STANDARD_INPUTS = """
inspect -
inspect - --set base=7 --patch
compare - small.json
survey -
report -
cache -
extend - --to 8192
emit - --as numpy
vectors - -o out.out
rotate --model small.json --q - -o q.out.npy
rotate --model - --q rows.npy -o q.out.npy
attend --model small.json --q rows.npy --k keys.npy --v - -o a.out.npy
diagnose --before - --after rows.npy
"""


def lines(text):
    return [line.split() for line in text.strip().splitlines()]


class Endless(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.beside = growing_commands.Beside(self.folder)
        (self.folder / "one-line.txt").write_text(f"{self.beside.config}\n")
        (self.folder / "ids.txt").write_text("3 4 5 6 7 8 9 10 " * 40)
        self.tiny = tiny_llama.TinyLlama()
        self.tiny.write_folder(self.folder / "tiny")

    def odd(self):
        """{what it is: path}, made anew."""
        for name in ("pipe", "folder.npy", "loop"):
            path = self.folder / name
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        os.mkfifo(self.folder / "pipe")
        (self.folder / "folder.npy").mkdir()
        (self.folder / "folder.npy/file").touch()
        (self.folder / "loop").symlink_to("loop")
        return {"endless": "/dev/zero", "a pipe": "pipe", "a folder": "folder.npy", "a loop": "loop"}

    def run_of(self, words, stdin=subprocess.DEVNULL):
        def limit():
            if not IS_SANITIZED:  # it reserves terabytes
                resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        run = subprocess.run([tool.TOOL, *words], cwd=self.folder, stdin=stdin, capture_output=True, check=False,
                             preexec_fn=limit, timeout=SECONDS, env={**os.environ, "POSENC_THREADS": "1"})
        self.beside.clean()
        return tool.Outcome(run.returncode, run.stdout.decode(), run.stderr.decode())

    def assert_refused(self, outcome, path):
        self.assertIn(outcome.code, (2, 3, 4), outcome)
        self.assertIn(path, outcome.err)  # it is not refused for something else
        self.assertEqual(outcome.out, "")
        self.assertTrue(outcome.err.startswith("posenc: "), outcome.err)
        self.assertLessEqual(len(outcome.err), 2000)
        self.assert_safe(outcome.err)

    def test_inputs(self):
        for words in lines(INPUTS):
            for what, path in self.odd().items():
                with self.subTest(" ".join(words), what=what):
                    outcome = self.run_of([word.replace("@", path) for word in words])
                    if words[0] == "survey" and what == "a pipe":  # an empty list
                        self.assertEqual(outcome, (0, "", ""))
                    else:
                        self.assert_refused(outcome, path)

    def test_outputs(self):
        for words in lines(OUTPUTS):
            for what, path in {**self.odd(), "endless": "/dev/full"}.items():
                with self.subTest(" ".join(words), what=what):
                    self.assert_refused(self.run_of([word.replace("@", path) for word in words]), path)
        for words in lines(FOLDERS):
            for path in ("/dev/full", "pipe", "loop"):
                with self.subTest(" ".join(words), path=path):
                    self.odd()
                    self.assert_refused(self.run_of([word.replace("@", path) for word in words]), path)

    def test_standard_input(self):
        for words in lines(STANDARD_INPUTS):
            with self.subTest(" ".join(words)), open("/dev/zero", "rb") as zeros:
                self.assert_refused(self.run_of(words, zeros), "<stdin>")


tool.main()
