"""Command lines that cannot be followed, and help."""
import subprocess

import tool
from tool import posenc

PRESET = "llama-3.1-8b"
PLOTS = [["plot", kind] for kind in ("encoding", "bias", "distance", "attention", "wavelengths", "scaling", "rotation",
                                           "decay", "coordinates", "query-scale")]
USAGE = 2


class Help(tool.ToolTest):
    def test_every_command_explains_itself(self):
        for command in ([], ["inspect"], ["compare"], ["rotate"], ["attend"], ["bench"], ["bench", "rotate"],
                        ["bench", "attend"], ["plot"], *PLOTS, ["properties"], ["info"], ["presets"], ["demo"]):
            with self.subTest(command=command):
                got = posenc(*command, "--help")
                self.assertEqual((got.code, got.err), (0, ""))
                self.assert_page(got.out)
                self.assertTrue(got.out.startswith("Usage: posenc"), got.out)
                for part in ("Options:", "Examples:", "Exit codes:"):
                    self.assertIn(part, got.out)

    def test_other_ways_to_ask(self):
        for command in ([], ["inspect"], ["bench", "rotate"], ["plot", "bias"]):
            with self.subTest(command=command):
                expected = posenc(*command, "--help")
                self.assertEqual(posenc(*command, "-h"), expected)
                self.assertEqual(posenc("help", *command), expected)
        self.assert_fails(posenc("help", "inspcet"), USAGE, "unknown command 'inspcet'; did you mean inspect?")
        self.assert_fails(posenc("frobnicate", "--help"), USAGE, "unknown command 'frobnicate'")

    def test_without_an_environment(self):
        for words in (["--help"], ["--version"], ["inspect", PRESET]):
            bare = subprocess.run([tool.TOOL, *words], env={}, capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual((bare.returncode, bare.stdout, bare.stderr), posenc(*words))

    def test_inspect_lists_its_flags(self):
        got = posenc("inspect", "--help").out
        for flag in ("--layer N", "--stack NAME", "--length N", "--json", "--strict", "MODEL"):
            self.assertIn(flag, got)

    def test_rotate_lists_its_flags(self):
        got = posenc("rotate", "--help").out
        for flag in ("--model MODEL", "--layer N", "--q FILE", "--k FILE", "-o, --output OUT", "--layout L",
                     "--positions P", "--inverse", "--angles A", "--length N", "--stack NAME", "--rotation N", "--bf16",
                     "--force", "--check", "--json"):
            self.assertIn(flag, got)

    def test_demo_says_all_that_it_measures(self):
        for words in (["demo", "--help"], ["--help"]):
            self.assertIn("its angle tables, its RoPE and its attention", " ".join(posenc(*words).out.split()))
        self.assertIn("one of RoPE or attention above its bound", " ".join(posenc("demo", "--help").out.split()))

    def test_version(self):
        header = (tool.SOURCE_DIR / "include/posenc/version.h").read_text()
        parts = [line.split()[-1] for line in header.splitlines() if "define POSENC_VERSION_" in line]
        said = (0, f"posenc {'.'.join(parts)}\n", "")
        for words in ([], ["inspect"], ["inspect", PRESET], ["rotate"], ["bench"], ["bench", "rotate"], *PLOTS, ["info"]):
            with self.subTest(words=words):
                self.assertEqual(posenc(*words, "--version"), said)


class WrongWords(tool.ToolTest):
    def test_no_command(self):
        self.assert_fails(posenc(), USAGE,
                          "inspect, survey, compare, rotate, attend, diagnose, convert, vectors, check, emit, report, extend, cache, plot, bench, properties, "
                          "info, presets, demo, completion or man")

    def test_who_says_nothing_is_shown_what_there_is(self):
        for command, names in (([], ["inspect", "demo"]), (["bench"], ["rotate", "attend"]), (["plot"], ["encoding"])):
            first, *rest = posenc(*command).err.splitlines()
            self.assertIn("is needed", first)
            help_lines = posenc(*command, "--help").out.splitlines()
            self.assertTrue(rest[1].startswith(f"Usage: {' '.join(['posenc', *command])} "), rest)
            for name in names:
                described, = (line for line in rest if line.startswith(f"  {name} "))
                self.assertIn(described, help_lines)
            self.assertLess(len(rest), 40)
        # Who says something wrong is told that alone.
        self.assertEqual(len(posenc("inspcet").err.splitlines()), 1)

    def test_kinds_are_called_so_everywhere(self):
        self.assertIn("Usage: posenc plot KIND", posenc("plot", "--help").out)
        self.assertIn("`posenc plot KIND`", (tool.SOURCE_DIR / "docs/cli.md").read_text())
        for words in (["--help"], ["plot", "--help"], ["bench", "--help"], ["plot"], ["bench"], ["bench", "x"]):
            said = posenc(*words)
            self.assertNotIn("subject", (said.out + said.err).lower(), words)

    def test_unknown_command(self):
        self.assert_fails(posenc("inspcet"), USAGE, "unknown command 'inspcet'", "did you mean inspect?")
        self.assert_fails(posenc("frobnicate"), USAGE, "unknown command 'frobnicate' (see")

    def test_subjects(self):
        self.assert_fails(posenc("bench"), USAGE,
                          "bench: a kind is needed: rotate or attend (see posenc bench --help)")
        self.assert_fails(posenc("bench", "rotat"), USAGE, "unknown kind 'rotat'; did you mean rotate?")
        self.assert_fails(posenc("bench", "--json"), USAGE, "unknown flag '--json'", "posenc bench --help")
        self.assert_fails(posenc("bench", "rotate", "--jsn"), USAGE, "did you mean --json? (see posenc bench rotate")
        self.assert_fails(posenc("bench", "rotate", PRESET), USAGE, f"unexpected argument '{PRESET}'")

    def test_unknown_flag(self):
        for flag in ("--lenght", "--lenght=5", "-length"):
            with self.subTest(flag=flag):
                self.assert_fails(posenc("inspect", PRESET, flag), USAGE, f"unknown flag '{flag}'", "--length")
        self.assert_fails(posenc("info", "--layer", "3"), USAGE, "unknown flag '--layer'")
        self.assert_fails(posenc("inspect", PRESET, "--strcit"), USAGE, "did you mean --strict?")

    def test_too_many_words(self):
        self.assert_fails(posenc("inspect", PRESET, "another"), USAGE, "2 models: several are told by --brief alone")

    def test_no_model(self):
        self.assert_fails(posenc("inspect"), USAGE, "MODEL")
        self.assert_fails(posenc("inspect", "--json"), USAGE, "MODEL")

    def test_unsafe_words_are_shown_escaped(self):
        self.assert_fails(posenc("inspect", PRESET, "--\x1b[31m"), USAGE, "\\x1b[31m")


class WrongValues(tool.ToolTest):
    def test_length(self):
        for text, reason in {
            "1e9": "digits only",
            "1.5": "digits only",
            "+5": "digits only",
            " 5": "digits only",
            "5 ": "digits only",
            "4k": "digits only",
            "0x10": "digits only",
            "nan": "digits only",
            "": "empty",
            "-1": "too small",
            "0": "too small",
            "9007199254740993": "too large",
            "9223372036854775808": "beyond 64 bits",
            "99999999999999999999999999": "beyond 64 bits",
        }.items():
            with self.subTest(text=text):
                for arguments in (["--length", text], [f"--length={text}"]):
                    if arguments != ["--length="]:
                        self.assert_fails(posenc("inspect", PRESET, *arguments), USAGE, "--length", f"'{text}'", reason)

    def test_layer(self):
        for text in ("-1", "1e1", "x", "9223372036854775808"):
            with self.subTest(text=text):
                self.assert_fails(posenc("inspect", PRESET, "--layer", text), USAGE, "--layer", f"'{text}'")
        self.assert_fails(posenc("inspect", PRESET, "--layer", "32"), USAGE, "--layer 32", "decoder 0-31")

    def test_stack(self):
        self.assert_fails(posenc("inspect", PRESET, "--stack", "vision"), USAGE, "--stack vision", "decoder")

    def test_a_value_is_missing(self):
        self.assert_fails(posenc("inspect", PRESET, "--length"), USAGE, "--length takes one value")

    def test_tolerance(self):
        for text in ("", "-1", "1e400", "nan", "inf", "0.1 ", "0x1p-3", "1e-3rad", "+1"):
            with self.subTest(text=text):
                self.assert_fails(posenc("compare", PRESET, PRESET, "--tolerance", text), USAGE, "--tolerance",
                                  f"'{text}'", "finite number of at least 0")

    def test_compare_takes_two_models(self):
        self.assert_fails(posenc("compare"), USAGE, "A")
        self.assert_fails(posenc("compare", PRESET), USAGE, "B")
        self.assert_fails(posenc("compare", PRESET, PRESET, PRESET), USAGE, "unexpected argument")
        self.assert_fails(posenc("compare", "-", "-"), USAGE, "A and B", "standard input")

    def test_twice(self):
        self.assert_fails(posenc("inspect", PRESET, "--length", "5", "--length", "6"), USAGE, "--length takes one value")
        self.assert_fails(posenc("inspect", PRESET, "--layer", "5", "--layer", "5"), USAGE, "--layer takes one value")
        once = posenc("inspect", PRESET, "--json")
        self.assertEqual(posenc("inspect", PRESET, "--json", "--json"), once)

    def test_flags_that_exclude_each_other(self):
        for flag, value in (("--layer", "0"), ("--stack", "decoder")):
            self.assert_fails(posenc("inspect", PRESET, "--json", flag, value), USAGE, "--json", flag, "exclude")

    def test_an_instruction_set_that_is_none(self):
        self.assert_fails(posenc("info", environment={"POSENC_ISA": "sse9"}), USAGE, "POSENC_ISA", "sse9")


tool.main()
