"""--expect of rotate and attend: a port's output held to the reference by its dtype's bound, and what it did instead."""
import json
import pathlib
import tempfile

import tool
from tensors import Tensor, random_tensor, read_npy, read_safetensors, write_npy, write_safetensors
from tool import posenc, small

FAILS, USAGE, UNREADABLE, MALFORMED = 1, 2, 3, 4
HEADS, KEY_HEADS, CHANNELS = 4, 2, 16  # of tool.SMALL
TOKENS = 12


class ExpectTest(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.write("model.json", small())
        self.q = write_npy(self.folder / "q.npy", random_tensor((TOKENS, HEADS, CHANNELS), seed=1))
        self.k = write_npy(self.folder / "k.npy", random_tensor((TOKENS, KEY_HEADS, CHANNELS), seed=2))
        self.v = write_npy(self.folder / "v.npy", random_tensor((TOKENS, KEY_HEADS, CHANNELS), seed=3))

    def write(self, name, config):
        path = self.folder / name
        path.write_bytes(config if isinstance(config, bytes) else json.dumps(config).encode())
        return path

    def other(self, **keys):
        """The model with another fact, for a port that has it wrong."""
        return self.write("other.json", {**json.loads(small()), **keys})

    def rotate(self, model, out, *words, q=None):
        return posenc("rotate", "--model", model, "--q", q or self.q, "-o", self.folder / out, "--force", *words)

    def attend(self, model, out, *words, q=None):
        inputs = ["--q", q or self.q, "--k", self.k, "--v", self.v]
        return posenc("attend", "--model", model, *inputs, "-o", self.folder / out, "--force", *words)

    def port(self, call, model, *words, **more):
        """The output of a port that does what another model says: posenc itself."""
        got = call(model, "port.npy", *words, **more)
        self.assertEqual((got.code, got.err), (0, ""))
        return self.folder / "port.npy"

    def held(self, call, port, *words, code=0, **more):
        got = call(self.model, "out.npy", "--expect", port, *words, **more)
        self.assertEqual((got.code, got.err), (code, ""))
        return got.out

    def assert_says(self, out, pattern):
        self.assertRegex(" ".join(out.split()), pattern)

    def test_a_right_port_passes(self):
        for call in (self.rotate, self.attend):
            out = self.held(call, self.port(call, self.model))
            self.assert_page(out)
            self.assert_says(out, r"expect \S+port\.npy passes: largest error \S+, at most 0\.\d+ of its bound")
            report = json.loads(self.held(call, self.folder / "port.npy", "--json"))["expect"]
            self.assertEqual((report["passes"], report["sequence"]), (True, 0))
            (tensor,) = report["check"]["tensors"]
            self.assertEqual(tensor["name"], "q_rotated" if call == self.rotate else "out")
            self.assertGreater(tensor["over_bound"], 0.001)
            plain = json.loads(call(self.model, "out.npy", "--json").out)
            self.assertIsNone(plain["expect"])

    def test_the_output_is_written_all_the_same(self):
        port = self.port(self.rotate, self.other(rope_theta=500.0))
        right = self.port(self.rotate, self.model)
        expected = read_npy(right)
        self.port(self.rotate, self.other(rope_theta=500.0))
        self.held(self.rotate, port, code=FAILS)
        self.assertEqual(read_npy(self.folder / "out.npy"), expected)

    def test_a_wrong_rotation_is_named(self):
        port = self.port(self.rotate, self.other(rope_theta=500.0))
        out = self.held(self.rotate, port, code=FAILS)
        self.assert_page(out)
        self.assertRegex(out, r"expect +\S+port\.npy fails: largest error")
        self.assertRegex(out, r"base.*500")
        report = json.loads(self.held(self.rotate, port, "--json", code=FAILS))["expect"]
        self.assertFalse(report["passes"])
        self.assertEqual(report["check"]["first_failure"], "q_rotated")
        (finding,) = report["check"]["diagnosis"]["findings"]
        self.assertEqual((finding["fact"], finding["found"]), ("base", "500"))

    def test_positions_are_those_of_the_call(self):
        port = self.port(self.rotate, self.model, "--positions", "7")
        self.held(self.rotate, port, "--positions", "7")
        out = self.held(self.rotate, port, "--positions", "6", code=FAILS)
        self.assertRegex(out, "offset|position")
        listed = ",".join(str(3 * i + 2) for i in range(TOKENS))
        self.held(self.rotate, self.port(self.rotate, self.model, "--positions", listed), "--positions", listed)

    def test_a_wrong_scale_is_named(self):
        config = {**json.loads(small()), "query_pre_attn_scalar": 64, "model_type": "gemma2", "head_dim": CHANNELS}
        self.model = self.write("scaled.json", config)
        port = self.port(self.attend, self.other(**{**config, "query_pre_attn_scalar": 16}))
        out = self.held(self.attend, port, code=FAILS)
        self.assertRegex(out, r"expect +\S+port\.npy fails")
        report = json.loads(self.held(self.attend, port, "--json", code=FAILS))["expect"]["check"]
        self.assertIn("scale", [finding["fact"] for finding in report["findings"]])

    def test_attention_of_another_rotation_fails(self):
        port = self.port(self.attend, self.other(rope_theta=500.0))
        self.assertRegex(self.held(self.attend, port, code=FAILS), r"expect +\S+port\.npy fails")

    def test_a_port_of_16_bits_has_their_bound(self):
        for dtype in ("f16", "bf16"):
            q = write_npy(self.folder / "q16.npy", random_tensor((TOKENS, HEADS, CHANNELS), dtype, seed=1))
            raw = ["--bf16"] if dtype == "bf16" else []
            port = self.port(self.rotate, self.model, *raw, q=q)
            self.held(self.rotate, port, *raw, q=q)
            # The same numbers of a port that says that it computes in f32 are too far off.
            if dtype == "f16":
                given = read_npy(port)
                wide = write_npy(self.folder / "wide.npy", Tensor("f32", given.shape, given.values))
                self.held(self.rotate, wide, code=FAILS, q=q)

    def test_layouts_of_a_port(self):
        right = read_npy(self.port(self.rotate, self.model))
        joined = write_npy(self.folder / "joined.npy", Tensor("f32", (TOKENS, HEADS * CHANNELS), right.values))
        batch = write_npy(self.folder / "batch.npy", Tensor("f32", (1, TOKENS, HEADS, CHANNELS), right.values))
        for port in (joined, batch):
            self.held(self.rotate, port)

    def test_each_sequence_of_a_batch(self):
        shape = (3, HEADS, TOKENS, CHANNELS)
        q = write_npy(self.folder / "batch.npy", random_tensor(shape, seed=4))
        words = ["--layout", "bhtd"]
        port = self.port(self.rotate, self.model, *words, q=q)
        self.assert_says(self.held(self.rotate, port, *words, q=q), "of its bound; 3 sequences")
        right, spoilt = read_npy(port), list(read_npy(port).values)
        at = 2 * HEADS * TOKENS * CHANNELS + 5
        spoilt[at] += 0.5
        write_npy(port, Tensor("f32", right.shape, spoilt))
        self.assert_says(self.held(self.rotate, port, *words, code=FAILS, q=q), "fails: .*; in sequence 2")

    def test_both_tensors_by_name(self):
        both = ["--k", self.k]
        got = self.rotate(self.model, "both.safetensors", *both)
        self.assertEqual(got.code, 0)
        port = self.folder / "both.safetensors"
        out = posenc("rotate", "--model", self.model, "--q", self.q, *both, "-o", self.folder / "o.safetensors", "--force",
                     "--expect", port, "--json")
        self.assertEqual(out.code, 0, out.err)
        names = [tensor["name"] for tensor in json.loads(out.out)["expect"]["check"]["tensors"]]
        self.assertEqual(names, ["q_rotated", "k_rotated"])
        tensors = read_safetensors(port)
        renamed = {"q_rotated": tensors["q"], "k_rotated": tensors["q"]}  # of other heads
        write_safetensors(self.folder / "renamed.safetensors", renamed)
        bad = posenc("rotate", "--model", self.model, "--q", self.q, *both, "-o", self.folder / "o.safetensors", "--force",
                     "--expect", self.folder / "renamed.safetensors")
        self.assertEqual(bad.code, MALFORMED)
        self.assertIn("k_rotated", bad.err)
        single = self.held(self.rotate, f"{port}:q")
        self.assertIn("passes", single)

    def test_nothing_is_compared_that_cannot_be(self):
        port = self.port(self.rotate, self.model)
        cases = [
            (self.rotate, [port, "--inverse"], USAGE, "--inverse cannot be combined with --expect"),
            (self.rotate, [port, "--angles", "float32"], USAGE, "--angles cannot be combined with --expect"),
            (self.attend, [port, "--mask", "none"], USAGE, "--mask cannot be combined with --expect"),
            (self.attend, [port, "--q-rotated"], USAGE, "--q-rotated cannot be combined with --expect"),
            (self.attend, [port, "--linear", "relu"], USAGE, "--linear cannot be combined with --expect"),
            (self.rotate, [self.folder / "absent.npy"], UNREADABLE, "--expect: .*absent.npy"),
            (self.rotate, [self.k], MALFORMED, "--expect: .*have shape"),
            (self.rotate, [self.model], MALFORMED, "--expect: "),
        ]
        for call, words, code, message in cases:
            got = call(self.model, "out.npy", "--expect", *words)
            self.assertEqual(got.code, code, got.err)
            self.assertRegex(got.err, message)
            self.assertEqual(got.out, "")

    def test_a_port_with_nan_fails(self):
        right = read_npy(self.port(self.rotate, self.model))
        values = list(right.values)
        values[3] = float("nan")
        port = write_npy(self.folder / "nan.npy", Tensor("f32", right.shape, values))
        out = self.held(self.rotate, port, "--json", code=FAILS)
        self.assertFalse(json.loads(out)["expect"]["passes"])



tool.main()
