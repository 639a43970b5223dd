"""No memory: each call of malloc in a run of a command fails once, and all from one on.

Whichever it is, the command ends with exit code 5 and one line, and leaves nothing on the disk but an output that was
whole by then; or it does without. The calls are too many to fail each of them here: a fixed sample, the first ones
(those before main) among it.

`ctest -C slow -R memory` (memory_test.py --all) fails every call, in minutes.
"""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import growing_commands
import growing_texts
import tensors
import tool

FAILING_MALLOC = os.environ["POSENC_FAILING_MALLOC"]
IS_SANITIZED = b"__asan_init" in pathlib.Path(tool.TOOL).read_bytes()  # it must come before all that is preloaded
NO_MEMORY, MESSAGE = 5, "posenc: not enough memory\n"
PARTIAL = ".posenc-partial"
FIRST, SAMPLE = 20, 30
ALL = "--all" in sys.argv
if ALL:
    sys.argv.remove("--all")


class Memory(tool.ToolTest):
    def setUp(self):
        if IS_SANITIZED:
            self.skipTest("the address sanitizer has a malloc of its own")
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, heads in (("q", 32), ("k", 8)):
            tensors.write_npy(self.folder / f"{name}.npy", tensors.random_tensor((2, heads, 64)))
        (self.folder / "config.json").write_bytes(tool.small(unread=1, rope_thetta=2))
        (self.folder / "broken.json").write_bytes(tool.small(rope_theta=-1))
        (self.folder / "model.gguf").write_bytes(growing_texts.gguf(unread=1).bytes())
        beside = growing_commands.Beside(self.folder)
        for name in ("one", "other"):
            beside.model(name, config=beside.config, weights=beside.weights)

    def run_with(self, arguments, **environment):
        env = {**os.environ, "LD_PRELOAD": FAILING_MALLOC, "POSENC_THREADS": "1", **environment}
        return subprocess.run([tool.TOOL, *arguments], env=env, cwd=self.folder, capture_output=True, text=True,
                              check=False, timeout=60)

    def calls_of(self, arguments):
        count = self.folder / "count"
        usual = self.run_with(arguments, POSENC_COUNT_IN=str(count))
        calls = int(count.read_text())
        count.unlink()
        return usual, calls

    def check(self, *arguments, begin=0):
        """From call `begin` on: those before it are another command's too. Gives how many there are."""
        self.clean()
        before = self.files()
        usual, calls = self.calls_of(arguments)
        after = self.files()
        self.assertGreater(calls, 1000)
        self.assertIn(usual.returncode, (0, 1, 2, 3, 4, 7), usual)
        tries = list(range(begin + 1, calls + 1))
        if not ALL:
            tries = tries[:FIRST] + sorted(random.Random(calls).sample(tries[FIRST:], SAMPLE))
        failed = 0
        for all_after in (False, True):
            for call in tries:
                self.clean()
                got = self.run_with(arguments, POSENC_FAIL_AT=str(call), **({"POSENC_FAIL_ON": "1"} if all_after else {}))
                with self.subTest(arguments=arguments, call=call, all_after=all_after):
                    if (got.returncode, got.stdout, got.stderr) == (usual.returncode, usual.stdout, usual.stderr):
                        continue
                    failed += 1
                    self.assertEqual((got.returncode, got.stderr), (NO_MEMORY, MESSAGE))
                    if arguments[0] == "survey":  # lines of the models that were read by then
                        self.assertTrue(usual.stdout.startswith(got.stdout) and got.stdout[-1:] in ("", "\n"), got)
                    else:
                        self.assertEqual(got.stdout, "")
                    self.assertIn(self.files(), (before, after))
        self.assertGreater(failed, len(tries))  # or nothing was made to fail
        return calls

    def files(self):
        """But for what convert has done so far, from which the same call goes on."""
        names = (path for path in self.folder.rglob("*") if path.is_file() and PARTIAL not in str(path))
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in names}

    def clean(self):
        for name in ("out.npy", "out.svg", "out.html", "out.safetensors"):
            (self.folder / name).unlink(missing_ok=True)
        for path in (self.folder / "out", *self.folder.glob(f"*{PARTIAL}*")):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)

    def test_commands(self):
        parsing = self.check("--version") - 100
        attend = ("attend", "--model", "llama-3.2-1b", "--q", "q.npy", "--k", "k.npy", "--v", "k.npy", "-o", "out.npy")
        for arguments in (["inspect", "--strict", "config.json"], ["inspect", "--json", "model.gguf"],
                          ["inspect", "broken.json"], ["compare", "config.json", "model.gguf"],
                          ["rotate", "--model", "llama-3.2-1b", "--q", "q.npy", "-o", "out.npy", "--check"], attend,
                          ["plot", "bias", "--scheme", "alibi", "-o", "out.svg"], ["info"], ["presets"],
                          ["properties", "binary", "--json"]):
            self.check(*arguments, begin=parsing)

    def test_commands_that_study_a_model(self):
        parsing = self.check("--version") - 100
        (self.folder / "list.txt").write_text("config.json\nbroken.json\nllama-3.2-1b\n")
        for arguments in (["report", "config.json", "--against", "llama-3.2-1b", "-o", "out.html"],
                          ["survey", "list.txt"], ["cache", "config.json"], ["extend", "config.json", "--to", "8192"],
                          ["emit", "config.json", "--as", "torch", "-o", "out"],
                          ["vectors", "config.json", "-o", "out"],
                          ["diagnose", "--before", "k.npy", "--after", "k.npy", "--model", "config.json"],
                          ["inspect", "config.json", "--set", "base=7", "--patch"]):
            self.check(*arguments, begin=parsing)

    def test_commands_that_read_weights(self):
        parsing = self.check("--version") - 100
        for arguments in (["inspect", "one"], ["compare", "one", "other"],
                          ["convert", "one", "--to", "interleaved", "-o", "out"],
                          ["convert", "small.safetensors", "--model", "small.json", "--to", "interleaved", "-o",
                           "out.safetensors"],
                          ["extend", "small.json", "--to", "8192", "--weights", "small.safetensors"],
                          ["diagnose", "--weights", "small.safetensors", "--model", "small.json"],
                          ["check", "vectors", "--against", "vectors"]):
            self.check(*arguments, begin=parsing)


tool.main()
