"""Where output goes: pipes that close, full disks, terminals."""
import fcntl
import os
import signal
import struct
import subprocess
import termios

import tool

COMMAND = [tool.TOOL, "inspect", "llama-3.1-8b"]
FILE = 3


class Streams(tool.ToolTest):
    def test_a_reader_that_went_away(self):
        for restored in (True, False):  # SIGPIPE as a shell leaves it, and ignored as some parents leave it
            with self.subTest(restored=restored):
                reader, writer = os.pipe()
                os.close(reader)
                run = subprocess.run(COMMAND, stdout=writer, stderr=subprocess.PIPE, restore_signals=restored,
                                     check=False, timeout=60)
                os.close(writer)
                self.assertEqual(run.stderr, b"")
                self.assertEqual(run.returncode, -signal.SIGPIPE if restored else FILE)

    def test_a_full_disk(self):
        with open("/dev/full", "wb") as full:
            run = subprocess.run(COMMAND, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
        self.assertEqual(run.returncode, FILE)
        self.assertTrue(run.stderr.startswith("posenc: cannot write to standard output: "), run.stderr)

    def test_closed(self):
        for arguments in (["inspect", "llama-3.1-8b"], ["info"], ["--help"]):
            run = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', tool.TOOL, *arguments], stderr=subprocess.PIPE,
                                 text=True, check=False, timeout=60)
            self.assertEqual(run.returncode, FILE, arguments)
            self.assertTrue(run.stderr.startswith("posenc: cannot write to standard output: "), run.stderr)

    def test_closed_input(self):
        run = subprocess.run(["sh", "-c", 'exec "$0" inspect - <&-', tool.TOOL], capture_output=True, text=True,
                             check=False, timeout=60)
        self.assertEqual((run.returncode, run.stdout), (FILE, ""))
        self.assertIn("<stdin>", run.stderr)


class Terminal(tool.ToolTest):
    def on_a_terminal(self, columns=80, more=(), **environment):
        env = {**os.environ, "TERM": "xterm", **environment}
        env = {name: value for name, value in env.items() if value is not None}
        terminal, other_end = tool.pseudo_terminal()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
        with subprocess.Popen([*COMMAND, *more], stdout=other_end, stderr=subprocess.PIPE, env=env) as run:
            os.close(other_end)
            out = b""
            while True:
                try:
                    part = os.read(terminal, 65536)
                except OSError:  # Linux says EIO when the last writer has closed
                    break
                if not part:
                    break
                out += part
            self.assertEqual((run.wait(60), run.stderr.read()), (0, b""))
        os.close(terminal)
        return out.decode().replace("\r\n", "\n")

    def setUp(self):
        self.piped = tool.posenc("inspect", "llama-3.1-8b").out

    def test_colour(self):
        shown = self.on_a_terminal(NO_COLOR=None)
        self.assertIn("\x1b[1m", shown)
        bare = shown
        for code in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m"):
            bare = bare.replace(code, "")
        self.assertEqual([line.rstrip() for line in bare.splitlines()], self.piped.splitlines())

    def test_colour_as_asked(self):
        shown = self.on_a_terminal(NO_COLOR=None)
        for environment in ({}, {"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertEqual(tool.posenc(*COMMAND[1:], "--color=always", environment=environment).out, shown)
        self.assertEqual(tool.posenc(*COMMAND[1:], "--color", "auto").out, self.piped)
        self.assertEqual(self.on_a_terminal(NO_COLOR=None, more=["--color=never"]), self.piped)
        self.assertEqual(tool.posenc("info", "--json", "--color=always").out, tool.posenc("info", "--json").out)
        self.assert_fails(tool.posenc("bench", "rotate", "--color=blue"), 2, "--color: expected one of auto, always, never")

    def test_a_narrow_terminal(self):
        for columns in (0, 20):
            shown = self.on_a_terminal(columns, NO_COLOR="1", COLUMNS=str(columns))
            self.assertEqual(shown, self.piped)

    def test_no_colour(self):
        self.assertEqual(self.on_a_terminal(NO_COLOR="1"), self.piped)
        self.assertEqual(self.on_a_terminal(NO_COLOR=None, TERM="dumb"), self.piped)
        self.assertEqual(self.on_a_terminal(NO_COLOR=None, TERM=None), self.piped)


tool.main()
