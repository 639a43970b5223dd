"""GGUF models through the command line: by path, and through a pipe of which only the header is read."""
import json
import os
import struct
import subprocess
import tempfile

import tool

MALFORMED = 4


def text(value):
    return struct.pack("<Q", len(value)) + value.encode()


def entry(key, value):
    if isinstance(value, str):
        return text(key) + struct.pack("<I", 8) + text(value)
    if isinstance(value, float):
        return text(key) + struct.pack("<If", 6, value)
    return text(key) + struct.pack("<II", 4, value)


def model(**changes):
    """Header and weights of a small Llama model with one tensor of 8 numbers."""
    keys = {"general.architecture": "llama", "llama.block_count": 2, "llama.context_length": 4096,
            "llama.embedding_length": 64, "llama.attention.head_count": 4, "llama.rope.freq_base": 500000.0}
    keys.update({f"llama.{key}": value for key, value in changes.items()})
    header = b"GGUF" + struct.pack("<IQQ", 3, 1, len(keys)) + b"".join(entry(*item) for item in keys.items())
    header += text("output_norm.weight") + struct.pack("<IQIQ", 1, 8, 0, 0)
    return header, bytes(-len(header) % 32) + bytes(32)


class Gguf(tool.ToolTest):
    def test_a_path(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.gguf")
            with open(path, "wb") as file:
                file.write(b"".join(model()))
            shown = tool.posenc("inspect", path)
            self.assertEqual((shown.code, shown.err), (0, ""))
            self.assertIn("interleaved", shown.out)
            self.assertIn("llama.rope.freq_base", shown.out)
            plan = tool.posenc("inspect", "--json", path)
        tool.schema_validator().validate(json.loads(plan.out))
        self.assertEqual(json.loads(plan.out)["source"]["kind"], "gguf")

    def test_a_folder_with_nothing_else(self):
        with tempfile.TemporaryDirectory() as folder:
            def put(name):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(b"".join(model()))

            put("model-00001-of-00002.gguf")
            put("model-00002-of-00002.gguf")
            put("mmproj-model.gguf")
            shown = tool.posenc("inspect", folder, "--json")
            self.assertEqual((shown.code, shown.err), (0, ""))
            plan = json.loads(shown.out)
            self.assertTrue(plan["source"]["name"].endswith("model-00001-of-00002.gguf"), plan["source"])
            self.assertEqual(plan["warnings"], [])
            put("another.gguf")
            got = tool.posenc("inspect", folder)
            self.assertEqual(got.code, 3)
            self.assertIn("2 GGUF models", got.err)
            self.assertIn("another.gguf", got.err)

    def test_a_pipe_that_stays_open(self):
        header, _ = model()
        command = [tool.TOOL, "inspect", "--json", "-"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
            run.stdin.write(header)
            run.stdin.flush()
            out = run.stdout.read()  # up to its end, while the input is still open
            self.assertEqual(run.wait(timeout=60), 0)
        self.assertTrue(json.loads(out)["known"])

    def test_factors_that_no_table_takes(self):
        keys = {"general.architecture": "llama", "llama.block_count": 2, "llama.context_length": 4096,
                "llama.embedding_length": 64, "llama.attention.head_count": 4}
        header = b"GGUF" + struct.pack("<IQQ", 3, 1, len(keys)) + b"".join(entry(*item) for item in keys.items())
        header += text("rope_freqs.weight") + struct.pack("<IQIQ", 1, 8, 0, 0)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.gguf")
            for factor in (1e-20, -1.0, 0.0, float("inf")):
                with open(path, "wb") as file:
                    file.write(header + bytes(-len(header) % 32) + struct.pack("<8f", 1, factor, *[1] * 6))
                for more in ([], ["--json"], ["--layer", 0]):
                    self.assert_fails(tool.posenc("inspect", path, *more), MALFORMED, path, "rope_freqs.weight")

    def test_what_is_wrong_is_said_with_its_byte(self):
        header, weights = model(**{"rope.scaling.factor": -2.0})
        run = tool.posenc("inspect", "-", stdin=header + weights)
        self.assertEqual((run.code, run.out), (MALFORMED, ""))
        self.assertRegex(run.err, r"^posenc: <stdin>: byte \d+: llama.rope.scaling.factor: expected a number above 0, got")


tool.main()
