"""posenc convert: folders and files, a kill in the middle, exit codes and messages. Which rows move is judged by
tests/convert."""
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import tempfile
import time

import tool
from tool import posenc

USAGE, UNREADABLE, MALFORMED = 2, 3, 4
LAYERS, HEADS, KV_HEADS, CHANNELS, WIDTH = 8, 4, 2, 16, 2048
MODEL = {"model_type": "llama", "num_hidden_layers": LAYERS, "hidden_size": HEADS * CHANNELS, "head_dim": CHANNELS,
         "num_attention_heads": HEADS, "num_key_value_heads": KV_HEADS, "max_position_embeddings": 2048}
SECONDS = 60  # of an unoptimised build on a busy machine


def safetensors(tensors):
    """{name: (rows, bytes)}: bf16 of [rows, ...]."""
    header, data = {}, b""
    for name, (rows, part) in tensors.items():
        header[name] = {"dtype": "BF16", "shape": [rows, len(part) // rows // 2],
                        "data_offsets": [len(data), len(data) + len(part)]}
        data += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def permuted(part, rows, heads):
    row, half = len(part) // rows, rows // heads // 2
    order = [head * 2 * half + of_two * half + p for head in range(heads) for p in range(half) for of_two in (0, 1)]
    return b"".join(part[r * row:(r + 1) * row] for r in order)


def without_mark(file):
    """The file with a header that has no __metadata__, which must hold the mark alone."""
    (length,) = struct.unpack("<Q", file[:8])
    header = json.loads(file[8:8 + length])
    assert header.pop("__metadata__") == {"format": "pt", "posenc.pairing.decoder": "interleaved"}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + file[8 + length:]


class ConvertTest(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.folder / "model"
        self.out = self.folder / "out"
        self.model.mkdir()
        (self.model / "config.json").write_text(json.dumps(MODEL))
        source = random.Random(1)
        self.shards, weight_map = {}, {}
        for layer in range(LAYERS):
            name = f"model-{layer + 1:05}-of-{LAYERS:05}.safetensors"
            self.shards[name] = {f"model.layers.{layer}.self_attn.{kind}_proj.weight":
                                 (heads * CHANNELS, source.randbytes(heads * CHANNELS * WIDTH * 2))
                                 for kind, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS))}
            (self.model / name).write_bytes(safetensors(self.shards[name]))
            weight_map.update(dict.fromkeys(self.shards[name], name))
        (self.model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}))

    def expected(self, name):
        heads = {"q": HEADS, "k": KV_HEADS}
        return safetensors({tensor: (rows, permuted(part, rows, heads[tensor.split(".")[4][0]])
                                     if tensor.split(".")[4][0] in heads else part)
                            for tensor, (rows, part) in self.shards[name].items()})

    def test_inspect_and_diagnose_say_what_was_moved(self):
        model = self.folder / "small"
        model.mkdir()
        (model / "config.json").write_text(json.dumps({**MODEL, "num_hidden_layers": 1}))
        (model / "model.safetensors").write_bytes(safetensors({
            f"model.layers.0.self_attn.{kind}_proj.weight": (heads * CHANNELS, bytes(heads * CHANNELS * 64 * 2))
            for kind, heads in (("q", HEADS), ("k", KV_HEADS), ("v", KV_HEADS))}))
        self.assertEqual(posenc("convert", model, "--to", "interleaved", "-o", self.out, timeout=SECONDS).code, 0)
        moved = "posenc convert has moved the rows of q and k of the decoder: they pair as interleaved now."
        for folder, marks in ((model, []), (self.out, [moved])):
            found = json.loads(posenc("inspect", folder, "--json").out)["warnings"]
            self.assertEqual([of["message"] for of in found if of["code"] == "converted-rows"], marks)
            self.assertEqual("converted-rows" in posenc("inspect", folder / "config.json").out, bool(marks))
            weights = folder / "model.safetensors"
            self.assertEqual(json.loads(posenc("diagnose", "--weights", weights, "--json").out)["marks"], marks)
            self.assertEqual("  mark: posenc convert has moved" in posenc("diagnose", "--weights", weights).out, bool(marks))

    def assert_converted(self):
        self.assertEqual(sorted(path.name for path in self.out.iterdir()),
                         sorted([*self.shards, "config.json", "model.safetensors.index.json"]))
        for name in self.shards:
            self.assertTrue(without_mark((self.out / name).read_bytes()) == self.expected(name), name)


class Runs(ConvertTest):
    def test_a_second_time_is_refused_and_the_way_back_is_not(self):
        self.assertEqual(posenc("convert", self.model, "-o", self.out, "--to", "interleaved").code, 0)
        twice, back = self.folder / "twice", self.folder / "back"
        run = posenc("convert", self.out, "-o", twice, "--from", "half", "--to", "interleaved")
        self.assertEqual(run.code, 4)
        self.assertIn("converted already (posenc.pairing.decoder)", run.err)
        self.assertFalse(twice.exists())
        run = posenc("convert", self.out, "-o", twice, "--from", "half", "--to", "interleaved", "--again")
        self.assertEqual((run.code, run.err), (0, ""))
        run = posenc("convert", self.out, "-o", back, "--to", "half")
        self.assertEqual((run.code, run.err), (0, ""))
        for name in self.shards:
            self.assertTrue((back / name).read_bytes() == (self.model / name).read_bytes(), name)

    def test_a_folder(self):
        run = posenc("convert", self.model, "-o", self.out, "--to", "interleaved")
        self.assertEqual((run.code, run.err), (0, ""))
        self.assert_page(run.out)
        self.assertTrue(run.out.startswith("half to interleaved: 16 tensors change their rows, 8 as they are; 8 files"))
        self.assert_converted()

    def test_a_dry_run_writes_nothing(self):
        run = posenc("convert", self.model, "--to", "interleaved", "--dry-run", "--json")
        report = json.loads(run.out)
        self.assertEqual((run.code, len(report["tensors"]), report["copied"], report["checked_heads"]), (0, 16, 8, 0))
        self.assertEqual(report["tensors"][0]["part"] in ("queries", "keys"), True)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["model"])

    def test_killed_at_any_moment_it_goes_on(self):
        command = [tool.TOOL, "convert", self.model, "-o", self.out, "--to", "interleaved", "--json"]
        kills = 0
        for step in range(100):  # the first is dead at once, each later one gets somewhat further
            run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(step * 0.006)
            run.send_signal(signal.SIGKILL)
            run.communicate(timeout=SECONDS)
            if self.out.exists():  # killed behind its last step, or done: then it is whole
                break
            kills += 1
        if not self.out.exists():
            last = posenc(*command[1:])
            self.assertEqual((last.code, last.err), (0, ""))
        self.assertGreater(kills, 0)
        self.assert_converted()
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["model", "out"])

    def test_what_was_finished_is_found(self):
        """Killed once the record names a shard: the next run finds its bytes."""
        command = [tool.TOOL, "convert", self.model, "-o", self.out, "--to", "interleaved", "--json"]
        record = self.folder / "out.posenc-partial" / ".posenc-work.json"
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        end = time.monotonic() + SECONDS
        while run.poll() is None and time.monotonic() < end:
            try:
                if json.loads(record.read_text())["finished"]:
                    break
            except (OSError, ValueError):
                pass
        run.send_signal(signal.SIGKILL)
        run.communicate(timeout=SECONDS)
        if run.returncode == 0:
            self.skipTest("it was done before it could be killed")
        report = json.loads(posenc(*command[1:]).out)
        self.assertGreaterEqual(report["found_bytes"], (self.model / "model-00001-of-00008.safetensors").stat().st_size)
        self.assert_converted()

    def test_a_terminal_sees_no_more_than_the_report(self):
        terminal, other = tool.pseudo_terminal()
        with os.fdopen(terminal, "rb"), os.fdopen(other, "wb") as err:
            run = subprocess.run([tool.TOOL, "convert", self.model, "-o", self.out, "--to", "interleaved"], stderr=err,
                                 stdout=subprocess.PIPE, timeout=SECONDS, check=False)
        self.assertEqual(run.returncode, 0)
        self.assert_converted()


class Refused(ConvertTest):
    def refused(self, code, *fragments, words=(), source=None):
        self.assert_fails(posenc("convert", source or self.model, "-o", self.out, "--to", "interleaved", *words), code,
                          *fragments)
        self.assertFalse(self.out.exists())
        self.assertFalse((self.folder / "out.posenc-partial").exists())

    def test_usage(self):
        self.assert_fails(posenc("convert", self.model, "--to", "interleaved"), USAGE, "-o")
        self.assert_fails(posenc("convert", self.model, "-o", self.out), USAGE, "--to")
        self.assert_fails(posenc("convert", self.model, "-o", self.out, "--to", "neox"), USAGE, "--to")
        self.assert_fails(posenc("convert", "-o", self.out, "--to", "half"), USAGE, "SOURCE")
        self.refused(USAGE, "same pairing", words=("--from", "interleaved"))

    def test_files(self):
        self.refused(UNREADABLE, "nowhere", source=self.folder / "nowhere")
        (self.folder / "pytorch_model.bin").write_bytes(b"PK\3\4")
        self.refused(MALFORMED, "safetensors.torch.save_file", source=self.folder / "pytorch_model.bin")
        name = "model-00003-of-00008.safetensors"
        whole = (self.model / name).read_bytes()
        (self.model / name).write_bytes(whole[:-1])
        self.refused(MALFORMED, name)
        (self.model / name).write_bytes(whole.replace(b"q_proj", b"z_proj"))
        self.refused(MALFORMED, "model.layers.2.self_attn.q_proj.weight")

    def test_plans(self):
        self.assert_fails(posenc("convert", self.model, "-o", self.out, "--to", "half"), MALFORMED, "what the plan has")
        self.refused(MALFORMED, "stack must be one of decoder", words=("--stack", "vision"))
        self.refused(MALFORMED, "expected 4096 rows", words=("--model", "llama-2-7b"))



tool.main()
