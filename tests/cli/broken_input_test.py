"""Inputs that are no config: each gives one clear message and the right exit code, quickly."""
import json
import os
import pathlib
import resource
import struct
import subprocess
import tempfile

import tool
from tool import posenc, small

FILE, MALFORMED, NO_MEMORY = 3, 4, 5


class Unreadable(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_neither_file_nor_preset(self):
        got = posenc("inspect", "llama-3.1-8", cwd=self.folder)
        self.assert_fails(got, FILE, "no such file or directory", "no preset of that name", "llama-3.1-8b")
        got = posenc("inspect", "nothing-like-any-of-them", cwd=self.folder)
        self.assert_fails(got, FILE, "no such file or directory", "no preset", "see posenc presets")

    def test_missing(self):
        self.assert_fails(posenc("inspect", self.folder / "absent.json"), FILE, "absent.json")

    def test_a_folder_without_a_config(self):
        self.assert_fails(posenc("inspect", self.folder), FILE, "config.json")

    def test_an_empty_name(self):
        self.assert_fails(posenc("inspect", ""), FILE)

    def test_a_pipe_in_the_file_system_is_not_waited_for(self):
        os.mkfifo(self.folder / "pipe")
        self.assert_fails(posenc("inspect", self.folder / "pipe"), FILE, "a regular file, got a pipe",
                          "give - as the model")

    def test_devices(self):
        for device in ("/dev/zero", "/dev/null"):
            self.assert_fails(posenc("inspect", device), FILE, device)

    def test_a_link_to_nothing_and_a_loop(self):
        (self.folder / "nothing").symlink_to("absent")
        (self.folder / "loop").symlink_to("loop")
        for name in ("nothing", "loop"):
            self.assert_fails(posenc("inspect", self.folder / name), FILE, name)

    def test_a_name_that_is_too_long(self):
        self.assert_fails(posenc("inspect", "x" * 5000), FILE)

    def test_no_permission(self):
        path = self.folder / "secret.json"
        path.write_bytes(small())
        path.chmod(0)
        if os.access(path, os.R_OK):
            self.skipTest("this user may read everything")
        self.assert_fails(posenc("inspect", path), FILE, "secret.json")


class Malformed(tool.ToolTest):
    CASES = {
        "empty": (b"", "no bytes"),
        "spaces": (b" \n\n", "the end of the text"),
        "truncated": (small()[:-20], ":8:"),
        "two documents": (small() + small(), ":9:2: expected the end of the text"),
        "a list": (b"[]", "object"),
        "a word": (b"hello", ":1:1: expected a value, got hello"),
        "not UTF-8": (b'{"model_type": "\xff"}', "UTF-8"),
        "UTF-16": (small().decode().encode("utf-16"), "UTF-16"),
        "deep": (b'{"a":' * 100_000, "at most 128"),
        "a huge number": (small(rope_theta=None)[:-2] + b', "rope_theta": 1e400}', "/rope_theta"),
        "a huge integer": (small(num_hidden_layers=10**30), "/num_hidden_layers"),
        "NaN": (small(rope_theta=float("nan")), "/rope_theta"),
        "a text for a number": (small(rope_theta="10000"), "/rope_theta"),
        "a negative factor": (small(rope_scaling={"rope_type": "linear", "factor": -2}), "/rope_scaling/factor"),
        "a scale beyond float": (small(model_type="granite", attention_multiplier=1e300),
                                 "/attention_multiplier: expected a number that float holds"),
        "a scale below float": (small(model_type="gemma2", head_dim=16, query_pre_attn_scalar=1e-320),
                                "/query_pre_attn_scalar: expected a number that float holds"),
        "an attention factor beyond float": (
            small(rope_scaling={"rope_type": "yarn", "factor": 4.0, "attention_factor": 1e300}),
            "/rope_scaling/attention_factor: expected a number that float holds"),
        "a scale that YaRN takes beyond float": (
            small(model_type="deepseek_v3", qk_nope_head_dim=16, qk_rope_head_dim=16, v_head_dim=16, kv_lora_rank=16,
                  q_lora_rank=16,
                  rope_scaling={"rope_type": "yarn", "factor": 4.0, "mscale": 1.0, "mscale_all_dim": 1e38}),
            "/rope_scaling/mscale_all_dim: expected a softmax scale that is a number that float holds"),
        "a frequency beyond all angles": (
            small(rope_scaling={"rope_type": "linear", "factor": 1e-20}),
            "/rope_scaling/factor: expected inv_freq[0] to come out above 0 and at most 2^53"),
        "a key twice": (small()[:-2] + b', "rope_theta": 5}', "rope_theta"),
        "an empty GGUF": (b"GGUF\x03\x00\x00\x00" + bytes(64), "general.architecture"),
        "a zip": (b"PK\x03\x04" + bytes(64), "zip"),
        "gzip": (b"\x1f\x8b\x08" + bytes(64), "gzip"),
        "llama2.c's first version": (struct.pack("<7i", 64, 172, 5, 8, 4, 512, 512) + bytes(64), "a llama2.c checkpoint"),
        "llama2.c's second version": (b"24ka" + struct.pack("<i", 1) + bytes(256), "a llama2.c checkpoint"),
        "a web page": (b"<!DOCTYPE html><html></html>", "HTML"),
        "zeros": (bytes(4096), "expected a value, got \\x00"),
        "too large": (b" " * ((64 << 20) + 1), "at most 67108864 bytes"),
    }

    # What a stack cannot be read without, in a file that is a model's.
    UNKNOWN = {
        "an unknown rule": (small(rope_scaling={"rope_type": "yarm", "factor": 2}), 'got "yarm" (did you mean yarn?)'),
        "a rule with more to its name": (small(rope_scaling={"type": "dynamic_ntk"}), "(did you mean dynamic?)"),
        "a rule like none": (small(rope_scaling={"type": "xyz"}), 'proportional, su or mrope, got "xyz".'),
    }

    def test_a_stack_that_cannot_be_read_is_not_known(self):
        for what, (content, fragment) in self.UNKNOWN.items():
            with self.subTest(what=what):
                got = posenc("inspect", "--json", "-", stdin=content)
                plan = json.loads(got.out)
                (stack,) = plan["stacks"]
                self.assertEqual((got.code, plan["known"], stack["known"], stack["layers"]), (0, False, False, []))
                self.assertIn(fragment, stack["unknown"][0])
                self.assertEqual(posenc("inspect", "--strict", "-", stdin=content).code, 1)

    def test_from_a_pipe(self):
        for what, (content, fragment) in self.CASES.items():
            with self.subTest(what=what):
                self.assert_fails(posenc("inspect", "-", stdin=content), MALFORMED, "<stdin>", fragment)

    def test_from_a_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            for what, (content, fragment) in self.CASES.items():
                with self.subTest(what=what):
                    path.write_bytes(content)
                    self.assert_fails(posenc("inspect", "--json", path), MALFORMED, str(path), fragment)

    def test_every_command_says_the_same(self):
        """An error of a file is one wherever it is met: with its name and code, never that of the command line."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            for what, (content, fragment) in self.CASES.items():
                if "beyond" not in what and "below" not in what:
                    continue
                path.write_bytes(content)
                for command in (["inspect", path], ["inspect", path, "--layer", 0], ["compare", path, "llama-2-7b"],
                                ["plot", "wavelengths", "--model", path], ["bench", "rotate", "--model", path],
                                ["rotate", "--model", path, "--q", "absent.npy", "-o", "out.npy"]):
                    with self.subTest(what=what, command=command[0]):
                        self.assert_fails(posenc(*command, cwd=folder), MALFORMED, str(path), fragment)

    def test_a_length_at_which_a_rule_breaks_down(self):
        content = small(rope_theta=3e38, rope_scaling={"rope_type": "dynamic", "factor": 1e30})
        self.assertEqual(posenc("inspect", "-", "--json", stdin=content).code, 0)
        for more in ([], ["--json"], ["--layer", 0]):
            self.assert_fails(posenc("inspect", "-", "--length", 1 << 50, *more, stdin=content), MALFORMED, "<stdin>",
                              "expected a rotation for 1125899906842624 tokens")

    def test_weights_larger_than_any_config(self):
        with tempfile.TemporaryDirectory() as folder:
            for what, head in (("a llama2.c checkpoint", b"24ka" + struct.pack("<i", 1)), ("a zip", b"PK\x03\x04")):
                path = pathlib.Path(folder) / "weights.bin"
                path.write_bytes(head)
                os.truncate(path, 100 << 20)
                self.assert_fails(posenc("inspect", path), MALFORMED, f"expected a config.json, got {what}")


class Memory(tool.ToolTest):
    def test_a_limit_on_memory(self):
        if b"__asan_init" in pathlib.Path(tool.TOOL).read_bytes():
            self.skipTest("the address sanitizer reserves terabytes of address space")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            path.write_bytes(b'{"model_type": "' + b"a" * (60 << 20) + b'"}')
            limit = 64 << 20  # bytes of address space
            run = subprocess.run([tool.TOOL, "inspect", path], capture_output=True, check=False, timeout=60,
                                 preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual((run.returncode, run.stdout, run.stderr), (NO_MEMORY, b"", b"posenc: not enough memory\n"))


class Place(tool.ToolTest):
    def message(self, content):
        got = posenc("inspect", "-", stdin=content)
        self.assert_fails(got, MALFORMED, "<stdin>")
        return got.err.splitlines()

    def test_the_line_and_a_caret(self):
        head, source, caret = self.message(b'{\n  "model_type": "llama",\n\t"rope_theta": "x"\n}\n')
        self.assertTrue(head.startswith("posenc: <stdin>:3:16: /rope_theta: expected "), head)
        self.assertEqual(source, '    3 |   "rope_theta": "x"'.replace('|   "', '|  "'))
        self.assertEqual(caret.index("^"), source.index('"x"'))

    def test_one_long_line(self):
        content = b'{"model_type": "llama", "pad": "' + b"a" * 5000 + b'", "rope_theta": [], "end": "' + b"b" * 5000 + b'"}'
        _, source, caret = self.message(content)
        self.assertLessEqual(len(source), 80)
        self.assertIn("...", source)
        self.assertEqual(caret.index("^"), source.index("[]"))

    def test_wide_and_unsafe_text_before_the_caret(self):
        content = '{"model_type": "llama", "\u8bcd\x7f": 1, "rope_theta": []}'.encode()
        _, source, caret = self.message(content)
        # A wide character takes two columns, a control character is shown as \x7f.
        self.assertEqual(caret.index("^"), source.index("[]") + 1)
        self.assertIn("\\x7f", source)


tool.main()
