"""posenc survey: a line for each model of a list, in its order; errors as lines; resumed after an end at any byte."""
import json
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time

import tool
from tool import posenc

USAGE, UNREADABLE, MALFORMED = 2, 3, 4


class Survey(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.list, self.out = self.folder / "list.txt", self.folder / "out.jsonl"

    def models(self, count):
        """So many folders, of which one has half a config and one none; and a preset, and a path that nobody can show."""
        words = []
        for n in range(count):
            folder = self.folder / f"model {n}"
            folder.mkdir()
            config = tool.small(num_hidden_layers=1, rope_theta=10000.0 + n)
            if n % 20 != 3:
                (folder / "config.json").write_bytes(config[: len(config) // 2] if n % 20 == 7 else config)
            words.append(str(folder))
        words += ["llama-3.1-8b", "-", f"{self.folder}/\x1b[31m\"\u00fc"]
        self.list.write_text("\n\n".join(words) + "\n")
        return words

    def survey(self, *arguments):
        got = posenc("survey", self.list, *arguments)
        self.assertEqual(got.code, 0, got)
        return got

    def test_each_line_is_what_inspect_says(self):
        words = self.models(20)
        got = self.survey()
        self.assertEqual(got.err, "posenc: 4 of 23 models gave an error\n")
        self.assert_safe(got.out)
        lines = [json.loads(line) for line in got.out.splitlines()]
        self.assertEqual([line["model"] for line in lines], words)
        for line in lines:
            if line["model"] == "-":
                self.assertEqual((line["exit_code"], line["error"]), (USAGE, "-: standard input is no model of a list"))
                continue
            alone = posenc("inspect", "--json", line["model"])
            if alone.code == 0:
                self.assertEqual(line, {"model": line["model"], "plan": json.loads(alone.out)})
            else:
                said = alone.err.splitlines()[0].removeprefix("posenc: ")
                self.assertEqual(line, {"model": line["model"], "error": said, "exit_code": alone.code})
        self.assertEqual([line["exit_code"] for line in lines if "error" in line], [UNREADABLE, MALFORMED, USAGE, UNREADABLE])

    def test_jobs_change_nothing(self):
        self.models(40)
        one = self.survey("--jobs", "1").out
        self.assertEqual(one, self.survey("--jobs", "7").out)
        self.assertEqual(one, posenc("survey", "-", stdin=self.list.read_bytes()).out)
        self.assertEqual(one, posenc("survey", "-", stdin=self.list.read_bytes().rstrip(b"\n")).out)

    def test_settings_are_of_every_model(self):
        self.list.write_text("llama-3.1-8b\ngpt2\n")
        one, other = (json.loads(line) for line in self.survey("--set", "base=1e6", "--length", "99").out.splitlines())
        alone = posenc("inspect", "--json", "llama-3.1-8b", "--set", "base=1e6", "--length", "99")
        self.assertEqual(one["plan"], json.loads(alone.out))
        self.assertEqual(other["exit_code"], USAGE)
        self.assertEqual("posenc: " + other["error"] + "\n", posenc("inspect", "gpt2", "--set", "base=1e6").err)

    def test_it_goes_on_after_an_end_at_any_byte(self):
        self.models(5)
        whole = self.survey().out.encode()
        ends = [n + 1 for n, byte in enumerate(whole) if byte == ord("\n")]
        for end in {0, 1, *range(7, len(whole), len(whole) // 25), *(n + d for n in ends for d in (-1, 0, 1)), len(whole)}:
            self.out.write_bytes(whole[:end])
            self.survey("-o", self.out, "--resume", "--jobs", "2")
            self.assertEqual(self.out.read_bytes(), whole, end)
        self.out.unlink()
        self.survey("-o", self.out, "--resume")  # what is not there is begun
        self.assertEqual(self.out.read_bytes(), whole)

    def test_it_goes_on_after_a_kill(self):
        self.list.write_text("llama-3.1-8b\n" * 400)
        whole = self.survey().out.encode()
        kills = 0
        for wait in (0.02, 0.05, 0.1):
            running = subprocess.Popen([tool.TOOL, "survey", self.list, "-o", self.out, "--resume"])
            time.sleep(wait)
            running.kill()
            kills += running.wait() == -signal.SIGKILL
        self.survey("-o", self.out, "--resume")
        self.assertEqual(self.out.read_bytes(), whole)
        self.assertGreater(kills, 0)

    def test_an_output_that_is_there_or_of_another_list(self):
        self.list.write_text("gpt2\nllama-3.1-8b\n")
        self.survey("-o", self.out)
        made = self.out.read_bytes()
        self.assert_fails(posenc("survey", self.list, "-o", self.out), UNREADABLE, "file exists (--resume goes on")
        self.list.write_text("gpt2\ngemma-3-4b\n")
        self.assert_fails(posenc("survey", self.list, "-o", self.out, "--resume"), MALFORMED,
                          'out.jsonl:2: expected the model of the list, a line that starts with {"model": "gemma-3-4b", ')
        self.list.write_text("gpt2\n")
        self.assert_fails(posenc("survey", self.list, "-o", self.out, "--resume"), MALFORMED, "out.jsonl:2: the list has only 1")
        self.assertEqual(self.out.read_bytes(), made)
        self.survey("-o", self.out, "--force")
        self.assertEqual(len(self.out.read_bytes().splitlines()), 1)

    def test_the_list_is_not_its_own_output(self):
        self.models(2)
        before = self.list.read_bytes()
        (self.folder / "other").symlink_to(self.list)
        for out in (self.list, self.folder / "other"):
            for how in ("--force", "--resume"):
                got = posenc("survey", self.list, "-o", out, how)
                self.assertEqual((got.code, got.out), (USAGE, ""))
                self.assertIn("is what the command reads", got.err)
        self.assertEqual(self.list.read_bytes(), before)

    def test_a_list_that_cannot_be_read(self):
        got = posenc("survey", "/proc/self/mem")
        self.assertEqual((got.code, got.out), (UNREADABLE, ""))
        self.assertIn("/proc/self/mem: cannot read: Input/output error", got.err)
        for redirection, why in (("<&-", "Bad file descriptor"), ("< /", "Is a directory")):
            run = subprocess.run(["sh", "-c", f'"$0" survey - {redirection}', tool.TOOL], capture_output=True, text=True,
                                 check=False)
            self.assertEqual((run.returncode, run.stdout, run.stderr),
                             (UNREADABLE, "", f"posenc: <stdin>: cannot read: {why}\n"))

    def test_two_do_not_write_one_file(self):
        self.list.write_text("gpt2\n")
        self.out.write_text("")
        hold = ("import fcntl, sys; file = open(sys.argv[1], 'r+'); fcntl.lockf(file, fcntl.LOCK_EX); "
                "print('held', flush=True); sys.stdin.read()")
        with subprocess.Popen([sys.executable, "-c", hold, self.out], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            self.assertEqual(holder.stdout.readline(), b"held\n")
            got = posenc("survey", self.list, "-o", self.out, "--resume")
            holder.stdin.close()
        self.assert_fails(got, UNREADABLE, "another process is writing it")

    def test_refusals(self):
        self.assert_fails(posenc("survey", self.folder / "none"), UNREADABLE, "cannot open: No such file")
        self.assert_fails(posenc("survey", self.folder), UNREADABLE, "cannot open: Is a directory")
        self.list.write_text("gpt2\n")
        self.assert_fails(posenc("survey", self.list, "-o", "/dev/null", "--resume"), UNREADABLE, "expected a regular file")
        self.assert_fails(posenc("survey", self.list, "-o", self.folder / "none" / "out"), UNREADABLE, "cannot open")
        for words in (["--resume"], ["--force"], ["-o", "x", "--resume", "--force"], ["--jobs", "0"], ["--jobs", "1025"]):
            self.assert_fails(posenc("survey", self.list, *words), USAGE, words[-1] if words[-1].startswith("-") else "--jobs")
        self.list.write_text("gpt2\n" + "x" * 4097 + "\n")
        got = posenc("survey", self.list)
        self.assertEqual(got.code, MALFORMED)
        self.assertIn("list.txt:2: expected a model of at most 4096 bytes", got.err)
        full = subprocess.run([tool.TOOL, "survey", "-", "-o", self.out], input=b"llama-3.1-8b\n" * 9, capture_output=True,
                              preexec_fn=lambda: (signal.signal(signal.SIGXFSZ, signal.SIG_IGN),
                                                  resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))))
        self.assertEqual(full.returncode, UNREADABLE)
        self.assertIn(b"cannot write: File too large", full.stderr)

    def test_memory_does_not_grow_with_the_list(self):
        """The peak of 30 models and of 600: what it is to read one is all that it takes."""
        if b"__asan_init" in pathlib.Path(tool.TOOL).read_bytes():
            self.skipTest("the address sanitizer keeps what was freed")
        peaks = []
        for count in (30, 600):
            self.list.write_text("llama-3.1-8b\n" * count)
            script = ("import resource, subprocess, sys; "
                      "subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, check=True); "
                      "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
            run = subprocess.run(["python3", "-c", script, tool.TOOL, "survey", self.list, "--jobs", "2"], capture_output=True,
                                 check=True)
            peaks.append(int(run.stdout))
        self.assertLess(peaks[1], 1.25 * peaks[0], peaks)


if __name__ == "__main__":
    tool.main()
