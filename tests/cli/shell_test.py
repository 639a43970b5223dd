"""posenc completion and posenc man: scripts that the shells accept, with all words that there are."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import tool
from tool import posenc

USAGE = 2


def commands():
    """{command: flags}, from the pages of --help."""
    found = {}
    for name in re.findall(r"^  (\w+) {2,}", posenc("--help").out.split("Options:")[0], re.MULTILINE):
        page = posenc(name, "--help").out
        found[name] = set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", page, re.MULTILINE))
    return found


class Completion(tool.ToolTest):
    def complete(self, *words):
        """What bash offers for the last of the words."""
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(tool.TOOL, pathlib.Path(folder) / "posenc")
            script = pathlib.Path(folder) / "posenc.bash"
            script.write_text(posenc("completion", "bash").out)
            asked = " ".join(f"'{word}'" for word in words)
            run = subprocess.run(
                ["bash", "--norc", "-c", f"source {script}; COMP_WORDS=(posenc {asked}); COMP_CWORD={len(words)}; _posenc; "
                 'printf "%s\\n" "${COMPREPLY[@]}"'],
                cwd=folder, capture_output=True, text=True, check=True, env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
            self.assertEqual(run.stderr, "")
            return run.stdout.split()

    def test_bash_offers_commands_flags_kinds_and_presets(self):
        self.assertEqual(self.complete("ins"), ["inspect"])
        self.assertEqual(self.complete("inspect", "--st"), ["--stack", "--strict"])
        self.assertEqual(self.complete("bench", "ro"), ["rotate"])
        self.assertIn("--isa", self.complete("bench", "attend", "--i"))
        self.assertIn("gemma-3-4b", self.complete("inspect", "gemma-3"))
        self.assertIn("posenc.bash", self.complete("inspect", "posenc.b"))

    def test_every_word_of_every_command_is_in_each_script(self):
        for shell in ("bash", "zsh", "fish"):
            text = posenc("completion", shell).out
            for command, flags in commands().items():
                self.assertRegex(text, rf"\b{command}\b")
                for flag in flags - {"--help", "--version"}:
                    wanted = f"-l {flag[2:]} " if shell == "fish" else flag
                    self.assertIn(wanted, text, f"{shell} {command}")

    def test_the_shells_accept_them(self):
        for shell, flag in (("bash", "-n"), ("zsh", "-n"), ("fish", "--no-execute")):
            if shutil.which(shell) is None:
                continue
            run = subprocess.run([shell, flag], input=posenc("completion", shell).out, capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stderr), (0, ""), shell)
        self.assert_fails(posenc("completion", "tcsh"), USAGE, "bash, zsh, fish")
        self.assert_fails(posenc("completion"), USAGE, "SHELL")


class Man(tool.ToolTest):
    def test_every_command_has_a_page(self):
        names = commands()
        main = posenc("man").out
        for name, flags in names.items():
            self.assertIn(f"posenc {name}", main)
            page = posenc("man", name)
            self.assertEqual((page.code, page.err), (0, ""))
            self.assertTrue(page.out.startswith(".TH POSENC\\-"))
            for flag in flags - {"--help", "--version"}:
                self.assertIn(flag.replace("-", "\\-"), page.out)
        self.assert_fails(posenc("man", "woman"), USAGE, "inspect")

    @unittest.skipUnless(shutil.which("groff"), "needs groff")
    def test_roff_is_sound(self):
        for name in ("", *commands()):
            page = posenc("man", *([name] if name else [])).out
            run = subprocess.run(["groff", "-man", "-Tascii", "-ww", "-z"], input=page, capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stderr), (0, ""), name)


tool.main()
