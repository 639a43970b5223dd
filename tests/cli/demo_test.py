"""posenc demo: measured here and now."""
import json

import tool
from tool import posenc


class Demo(tool.ToolTest):
    def test_measurements(self):
        for preset in ("llama-3.1-8b", "gemma-3-4b"):
            with self.subTest(preset=preset):
                got = posenc("demo", preset, "--json")
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

    def test_page(self):
        got = posenc("demo")
        self.assertEqual((got.code, got.err), (0, ""))
        self.assert_page(got.out)
        self.assertEqual(got.out.splitlines()[0], "llama-3.1-8b")
        self.assertIn("ulp", got.out)

    def test_no_such_preset(self):
        self.assert_fails(posenc("demo", "gemma-3-4c"), 2, "did you mean gemma-3-4b")


tool.main()
