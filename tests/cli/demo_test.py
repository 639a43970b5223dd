"""posenc demo: measured here and now."""
import json

import tool
from tool import posenc


SECONDS = 600  # of an unoptimised build on a busy machine


class Demo(tool.ToolTest):
    def test_measurements(self):
        for preset in ("llama-3.1-8b", "gemma-3-4b"):
            with self.subTest(preset=preset):
                got = posenc("demo", preset, "--json", timeout=SECONDS)
                self.assertEqual((got.code, got.err), (0, ""))
                data = json.loads(got.out)
                kernels = json.loads(posenc("info", "--json").out)["kernels"]
                self.assertEqual([entry["kernel"] for entry in data["worst_error"]], kernels)
                self.assertEqual([entry["maker"] for entry in data["speed"]], ["libm", *kernels])
                self.assertGreater(data["angles"], 1_000_000)
                for entry in data["worst_error"]:
                    # Correct rounding alone costs up to half an ulp, and among a million values nearly that.
                    self.assertGreater(entry["ulp"], 0.49)
                    self.assertLessEqual(entry["ulp"], data["promised_ulp"])
                for entry in data["speed"]:
                    spread = entry["nanoseconds"]
                    self.assertTrue(0 < spread["min"] <= spread["median"] <= spread["max"], entry)
                self.assert_rotation(data["rotation"])
                self.assert_attention(data["attention"])

    def assert_rotation(self, rotation):
        self.assertEqual([entry["dtype"] for entry in rotation["dtypes"]], ["f32", "f16", "bf16"])
        self.assertGreaterEqual(rotation["judged_tokens"], 128)
        heads = rotation["heads"] + rotation["kv_heads"]
        for entry in rotation["dtypes"]:
            error = entry["error"]
            self.assertEqual(error["values"], rotation["judged_tokens"] * heads * rotation["head_dim"])
            self.assertEqual(error["pairs_not_finite"], 0)
            # Of a million values some come near to what one rounding may cost, and to the bound.
            self.assertTrue(0.49 < error["ulp"] < 2, entry)
            self.assertTrue(0.5 < error["over_bound"] <= 1, entry)
            for spread in (entry["seconds"], entry["time_over_rmw"]):
                self.assertTrue(0 < spread["min"] <= spread["median"] <= spread["max"], entry)

    def assert_attention(self, attention):
        self.assertEqual([entry["dtype"] for entry in attention["dtypes"]], ["f32", "f16", "bf16"])
        for entry in attention["dtypes"]:
            self.assertGreaterEqual(entry["judged_tokens"], 1)
            self.assertTrue(0 < entry["over_bound"] <= 1, entry)
            # Half a unit in the last place of values up to 2, and of sums in float.
            most = {"f32": 2.0**-17, "f16": 2.0**-11, "bf16": 2.0**-8}[entry["dtype"]]
            self.assertTrue(0 < entry["largest_deviation"] < most, entry)
            self.assertLess(entry["seconds_per_token"]["median"], entry["reference_seconds_per_token"])

    def test_page(self):
        got = posenc("demo", timeout=SECONDS)
        self.assertEqual((got.code, got.err), (0, ""))
        self.assert_page(got.out)
        self.assertEqual(got.out.splitlines()[0], "llama-3.1-8b")
        for part in ("exact tables", "speed", "RoPE: q [256, 32, 128] and k [256, 8, 128]", "time over RMW",
                     "attention: q [256, 32, 128], k [256, 8, 128], v [256, 8, 128]"):
            self.assertIn(part, got.out)

    def test_no_such_preset(self):
        self.assert_fails(posenc("demo", "gemma-3-4c"), 2, "presets of the gemma family: gemma-7b, gemma-2-9b, gemma-3-4b")


tool.main()
