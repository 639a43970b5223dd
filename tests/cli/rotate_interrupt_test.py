"""posenc rotate interrupted: the output is absent or whole, and nothing is beside it. And what a terminal sees."""
import os
import pathlib
import random
import signal
import subprocess
import tempfile
import time

import tensors
import tool
from tensors import random_tensor

TOKENS = 1024  # of 8 KiB: 8 MiB, written for milliseconds and then forced to the disk
SECONDS = 60  # of an unoptimised build on a busy machine


class LongTest(tool.ToolTest):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.kept.cleanup)
        cls.source = pathlib.Path(cls.kept.name) / "q.npy"
        row = tensors.encoded("f32", random_tensor((32, 64)).values)
        tensors.write_npy_bytes(cls.source, "<f4", (TOKENS, 32, 64), row * TOKENS)
        cls.whole = cls.source.stat().st_size

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out.npy"

    def started(self, **more):
        command = [tool.TOOL, "rotate", "--model", "llama-3.2-1b", "--q", self.source, "-o", self.out]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


class Interrupted(LongTest):
    def assert_nothing_half_done(self, run):
        """None: it was done before it was interrupted. Else the signal that ended it."""
        out, err = run.communicate(timeout=SECONDS)
        self.assertEqual(err, "")
        here = [path.name for path in self.folder.iterdir()]
        if self.out.exists():
            self.assertEqual(here, ["out.npy"])
            self.assertEqual(self.out.stat().st_size, self.whole)
            self.out.unlink()
        else:
            self.assertEqual((here, out), ([], ""))
            self.assertLess(run.returncode, 0)
        return -run.returncode or None

    def stopped_while_writing(self, **more):
        """Stands still with its temporary file on the disk; or nothing, when it was too quick."""
        run = self.started(**more)
        end = time.monotonic() + SECONDS
        while run.poll() is None and time.monotonic() < end:
            if any(path.name.startswith(".posenc-") for path in self.folder.iterdir()):
                run.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, run.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                if any(path.name.startswith(".posenc-") for path in self.folder.iterdir()) and not self.out.exists():
                    return run
                run.send_signal(signal.SIGCONT)
                break
        self.assert_nothing_half_done(run)
        return None

    def interrupted_while_writing(self, number, **more):
        for _ in range(20):
            run = self.stopped_while_writing(**more)
            if run is None:
                continue
            run.send_signal(number)
            run.send_signal(signal.SIGCONT)
            return self.assert_nothing_half_done(run)
        self.fail("it always was too quick")

    def test_while_it_writes(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGALRM, signal.SIGUSR1):
            with self.subTest(signal=number):
                self.assertEqual(self.interrupted_while_writing(number), number)

    def test_a_hangup_that_is_ignored(self):
        self.assertIsNone(self.interrupted_while_writing(
            signal.SIGHUP, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)))

    def test_at_any_time(self):
        start = time.monotonic()
        run = self.started()
        self.assertIsNone(self.assert_nothing_half_done(run))
        seconds = time.monotonic() - start
        source = random.Random(5)
        for _ in range(12):
            run = self.started()
            time.sleep(source.uniform(0, seconds))
            run.send_signal(signal.SIGINT)
            self.assertIn(self.assert_nothing_half_done(run), (None, signal.SIGINT))

    def test_what_a_shell_says(self):
        named = 'sh -c \'echo $$ >&2; exec "$0" "$@"\' "$0" rotate --model llama-3.2-1b --q "$1" -o "$2"'
        with subprocess.Popen(["sh", "-c", named + "; echo $?", tool.TOOL, self.source, self.out],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as run:
            os.kill(int(run.stderr.readline()), signal.SIGINT)
            out, err = run.communicate(timeout=SECONDS)
        self.assertEqual((out, err, list(self.folder.iterdir())), ("130\n", "", []))

    def test_a_file_that_grows_too_large(self):
        import resource  # pylint: disable=import-outside-toplevel

        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))

        run = self.started(preexec_fn=limit)
        out, err = run.communicate(timeout=SECONDS)
        self.assertEqual((run.returncode, out, list(self.folder.iterdir())), (3, "", []))
        self.assertIn("File too large", err)


class Progress(LongTest):
    def on_a_terminal(self, **environment):
        terminal, other_end = tool.pseudo_terminal()
        env = {**os.environ, "TERM": "xterm", **environment}
        command = [tool.TOOL, "rotate", "--model", "llama-3.2-1b", "--q", self.source, "-o", self.out, "--check"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=other_end, env=env) as run:
            os.close(other_end)
            shown = b""
            while True:
                try:
                    part = os.read(terminal, 65536)
                except OSError:
                    break
                if not part:
                    break
                shown += part
            self.assertEqual(run.wait(SECONDS), 0)
        os.close(terminal)
        self.out.unlink()
        return shown.decode()

    def test_a_terminal_is_left_as_it_was(self):
        """Whatever was shown (nothing, where all is done within a second) was wiped."""
        shown = self.on_a_terminal()
        self.assertNotIn("\n", shown)
        self.assertTrue(shown == "" or shown.endswith("\r"), repr(shown))
        self.assertNotIn("nan", shown)
        self.assertEqual(self.on_a_terminal(TERM="dumb"), "")

    def test_nothing_in_a_pipe(self):
        got = tool.posenc("rotate", "--model", "llama-3.2-1b", "--q", self.source, "-o", self.out, "--check")
        self.assertEqual((got.code, got.err), (0, ""))


tool.main()
