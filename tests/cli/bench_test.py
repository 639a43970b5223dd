"""posenc bench: measured here and now, so of the numbers only what must hold on any machine."""
import json
import pathlib
import tempfile

import tool
from tool import posenc, small

TOKENS = [1, 16, 512, 4096]
DTYPES = {"f32": 4, "f16": 2, "bf16": 2}


class BenchRotate(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = pathlib.Path(folder.name) / "config.json"
        self.model.write_bytes(small())

    def test_measurements(self):
        got = posenc("bench", "rotate", "--model", self.model, "--json", environment={"POSENC_THREADS": "2"})
        self.assertEqual((got.code, got.err), (0, ""))
        data = json.loads(got.out)
        facts = {"schema_version": 1, "model": str(self.model), "stack": "decoder", "layer": 0, "heads": 4,
                 "kv_heads": 2, "head_dim": 16, "rotated_channels": 16, "pairing": "half"}
        self.assertEqual({key: data[key] for key in facts}, facts)
        self.assertGreaterEqual(data["rounds"], 9)
        self.assertEqual([(c["threads"], c["clock"], c["tokens"], c["dtype"]) for c in data["cases"]],
                         [(1, "thread", tokens, dtype) for tokens in TOKENS for dtype in DTYPES] +
                         [(2, "wall", tokens, dtype) for tokens in TOKENS[2:] for dtype in DTYPES])
        for case in data["cases"]:
            bytes_of_both = case["tokens"] * (4 + 2) * 16 * DTYPES[case["dtype"]]
            self.assertTrue(bytes_of_both <= case["bytes"] < bytes_of_both + 1024, case)
            for spread in (*case["seconds"].values(), case["time_over_rmw"], case["time_over_memcpy"]):
                self.assertTrue(0 < spread["min"] <= spread["median"] <= spread["max"], case)
            # A ratio of a round lies between those of the extremes.
            rotate, rmw = case["seconds"]["rotate"], case["seconds"]["rmw"]
            self.assertLessEqual(case["time_over_rmw"]["max"], 1.001 * rotate["max"] / rmw["min"])
            self.assertGreaterEqual(case["time_over_rmw"]["min"], 0.999 * rotate["min"] / rmw["max"])

    def test_page(self):
        got = posenc("bench", "rotate", "--model", self.model, environment={"POSENC_THREADS": "1"})
        self.assertEqual((got.code, got.err), (0, ""))
        self.assert_page(got.out)
        for part in ("config.json, decoder layers 0-2", "q [tokens, 4, 16] and k [tokens, 2, 16]", "one thread", "RMW",
                     "memcpy", "time over RMW"):
            self.assertIn(part, got.out)
        self.assertNotIn("threads:", got.out)
        self.assertEqual(sum(line.split()[:1] == [str(tokens)] for line in got.out.splitlines() for tokens in TOKENS),
                         len(TOKENS) * len(DTYPES))

    def test_what_cannot_be_measured(self):
        self.assert_fails(posenc("bench", "rotate", "--model", "gpt2"), 4, "has no RoPE")
        self.assert_fails(posenc("bench", "rotate", "--model", "absent.json"), 3, "absent.json")
        self.assert_fails(posenc("bench", "rotate", "--layer", "99"), 2, "--layer 99", "decoder 0-31")
        self.assert_fails(posenc("bench", "rotate", environment={"POSENC_THREADS": "x"}), 2, "POSENC_THREADS")


T5 = {"model_type": "t5", "d_model": 64, "d_kv": 16, "num_heads": 4, "num_layers": 2,
      "relative_attention_num_buckets": 8, "relative_attention_max_distance": 32}


class BenchAttend(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.folder / "config.json"
        self.model.write_bytes(small())

    def measured(self, *words):
        got = posenc("bench", "attend", "--model", self.model, "--json", *words)
        self.assertEqual((got.code, got.err), (0, ""))
        return json.loads(got.out)

    def test_measurements(self):
        data = self.measured("--tokens", "24")
        facts = {"schema_version": 1, "model": str(self.model), "stack": "decoder", "threads": 1, "clock": "thread"}
        self.assertEqual({key: data[key] for key in facts}, facts)
        self.assertGreaterEqual(data["rounds"], 9)
        [kind] = data["kinds"]
        facts = {"layers": "decoder layers 0-2", "layer": 0, "heads": 4, "kv_heads": 2, "head_dim": 16, "value_dim": 16}
        self.assertEqual({key: kind[key] for key in facts}, facts)
        self.assertEqual([(c["queries"], c["keys"], c["dtype"]) for c in kind["cases"]],
                         [(24, 24, "f32"), (24, 24, "bf16"), (1, 24, "f32"), (1, 24, "bf16")])
        for case in kind["cases"]:
            pairs = 24 * 25 / 2 if case["queries"] > 1 else 24
            self.assertEqual(case["operations"], pairs * 4 * 2 * (16 + 16))
            keys_and_values = 24 * 2 * (16 + 16) * DTYPES[case["dtype"]]
            self.assertTrue(keys_and_values <= case["bytes"] < keys_and_values + 1024, case)
            for spread in (case["seconds"], case["of_multiply_adds"], case["of_reading"], case["over_no_positions"]):
                self.assertTrue(0 < spread["min"] <= spread["median"] <= spread["max"], case)

    def test_threads_and_an_instruction_set(self):
        data = self.measured("--tokens", "24", "--dtype", "f16", "--threads", "2", "--isa", "scalar")
        self.assertEqual((data["threads"], data["clock"], data["kernel"]), (2, "wall", "scalar"))
        self.assertEqual({case["dtype"] for case in data["kinds"][0]["cases"]}, {"f16"})
        self.assertEqual(data["products"], "f32")

    def test_products_of_bfloat16(self):
        words = ("--tokens", "24", "--dtype", "bf16", "--products", "bf16")
        data = self.measured(*words)
        self.assertEqual(data["products"], "bf16" if data["kernel"] in ("avx512_bf16", "amx") else "f32")
        self.assertEqual(self.measured(*words, "--isa", "scalar")["products"], "f32")

    def test_a_window_counts(self):
        self.model.write_bytes(small(model_type="mistral", sliding_window=8))
        case = self.measured("--tokens", "24", "--dtype", "f32")["kinds"][0]["cases"][0]
        self.assertEqual(case["operations"], (8 * 9 / 2 + 16 * 8) * 4 * 2 * (16 + 16))

    def test_learned_tables_are_drawn(self):
        self.model.write_text(json.dumps(T5), encoding="utf-8")
        data = self.measured("--tokens", "24", "--stack", "encoder", "--dtype", "f32")
        [case] = data["kinds"][0]["cases"]  # an encoder does not decode
        self.assertEqual(case["operations"], 24 * 24 * 4 * 2 * (16 + 16))

    def test_backward(self):
        for case in self.measured("--tokens", "24")["kinds"][0]["cases"]:
            self.assertIsNone(case["backward"])
        self.model.write_text(json.dumps(T5), encoding="utf-8")  # whose table is learned
        cases = self.measured("--tokens", "24", "--stack", "decoder", "--backward")["kinds"][0]["cases"]
        self.assertEqual([(c["queries"], c["keys"], c["dtype"]) for c in cases], [(24, 24, "f32"), (24, 24, "bf16")])
        for case in cases:
            backward = case["backward"]
            self.assertEqual(backward["operations"], 24 * 25 / 2 * 4 * 2 * (3 * 16 + 2 * 16))
            for spread in (backward["seconds"], backward["of_multiply_adds"], backward["over_attend"]):
                self.assertTrue(0 < spread["min"] <= spread["median"] <= spread["max"], case)
            self.assertGreater(backward["over_attend"]["max"], 1)
            self.assertLess(backward["of_multiply_adds"]["min"], 1)

    def test_page(self):
        got = posenc("bench", "attend", "--model", self.model, "--tokens", "24")
        self.assertEqual((got.code, got.err), (0, ""))
        self.assert_page(got.out)
        for part in ("config.json", "decoder layers 0-2", "q [queries, 4, 16]", "one thread", "over no positions"):
            self.assertIn(part, got.out)
        self.assertEqual(sum(line.split()[:2] in (["24", "24"], ["1", "24"]) for line in got.out.splitlines()), 4)
        got = posenc("bench", "attend", "--model", self.model, "--tokens", "24", "--backward")
        self.assert_page(got.out)
        self.assertEqual(sum(line.split()[:2] == ["24", "24"] for line in got.out.splitlines()), 4)
        self.assertIn("over attend", got.out)

    def test_what_cannot_be_measured(self):
        self.assert_fails(posenc("bench", "attend", "--layer", "99"), 2, "--layer 99", "decoder 0-31")
        self.assert_fails(posenc("bench", "attend", "--isa", "sse9"), 2, "--isa", "sse9")
        self.assert_fails(posenc("bench", "attend", "--threads", "0"), 2, "--threads")
        self.assert_fails(posenc("bench", "attend", "--products", "f64"), 2, "--products", "f32, bf16", "f64")
        self.assert_fails(posenc("bench", "attend", "--tokens", "none"), 2, "--tokens")


tool.main()
