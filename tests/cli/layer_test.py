"""posenc inspect --layer: every frequency, as in the JSON."""
import json
import math
import pathlib
import re
import tempfile

import tool
from tool import posenc

ROW = re.compile(r"(\d+) +(\d+),(\d+)(?: (\w+))? +([0-9.e+-]+) +([0-9.e+-]+|none)(?=  |$)")


def rows_of(page):
    """{pair: (channel, channel, inv_freq, wavelength)} of all the tables of frequencies on a page."""
    found = {}
    for line in page.splitlines():
        for pair, a, b, _axis, inv_freq, wavelength in ROW.findall(line):
            found[int(pair)] = (int(a), int(b), float(inv_freq), wavelength)
    return found


class Layer(tool.ToolTest):
    def check(self, preset, layer, *more):
        plan = json.loads(posenc("inspect", preset, "--json", *more).out)
        entry = next(e for e in plan["stacks"][0]["layers"] if e["index"] == layer)
        rotate = entry["rotate"][0]
        rows = rows_of(posenc("inspect", preset, "--layer", layer, *more).out)
        self.assertEqual(sorted(rows), list(range(rotate["dim"] // 2)))
        for pair, (a, b, inv_freq, wavelength) in rows.items():
            first = rotate["first_channel"]
            expected = ((first + pair, first + pair + rotate["dim"] // 2) if rotate["pairing"] == "half"
                        else (first + 2 * pair, first + 2 * pair + 1))
            self.assertEqual((a, b), expected)
            # Nine significant digits, and five.
            self.assertLessEqual(abs(inv_freq / rotate["inv_freq"][pair] - 1), 0.51e-8)
            self.assertLessEqual(abs(float(wavelength) * rotate["inv_freq"][pair] / (2 * math.pi) - 1), 0.51e-4)

    def test_half(self):
        self.check("llama-3.1-8b", 31)

    def test_interleaved_and_partial(self):
        self.check("deepseek-v3", 0)

    def test_a_rule_by_length(self):
        for more, what in (([], "by short_factor (up to 4096 tokens); others by --length"),
                           (["--length", 4096], "by short_factor (up to 4096 tokens)\n"),
                           (["--length", 131072], "by long_factor (beyond 4096 tokens)\n")):
            self.check("phi-3.5-mini", 0, *more)
            self.assertIn(f"frequencies {what}", posenc("inspect", "phi-3.5-mini", "--layer", 0, *more).out)

    def test_layers_differ(self):
        local, full = (posenc("inspect", "gemma-3-4b", "--layer", n).out for n in (4, 5))
        self.assertIn("base 10000;", local)
        self.assertIn("window 1024", local)
        self.assertIn("base 1000000;", full)
        self.assertNotIn("window", full)

    def page_of(self, **config):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            path.write_text(json.dumps({"num_attention_heads": 1, "num_key_value_heads": 1, "num_hidden_layers": 1,
                                        "max_position_embeddings": 128, **config}))
            page = posenc("inspect", path, "--layer", 0, "--stack", "decoder").out
        self.assert_page(page)
        self.assertEqual(sorted(rows_of(page)), list(range(config["head_dim"] // 2)))
        return page

    def test_wide_rows(self):
        """Channels of four digits and their axis leave no room for two columns of pairs."""
        self.page_of(model_type="qwen2_vl", head_dim=2048, hidden_size=2048,
                     rope_scaling={"type": "mrope", "mrope_section": [512, 256, 256]})

    def test_long_wavelengths(self):
        """Whole numbers of more than ten digits are not written in full."""
        page = self.page_of(model_type="llama", head_dim=128, hidden_size=128, rope_theta=2.0**53)
        self.assertIn(" 3.2296e+14\n", page)

    def test_stack(self):
        self.assertEqual(posenc("inspect", "llama-3.1-8b", "--layer", "3", "--stack", "decoder"),
                         posenc("inspect", "llama-3.1-8b", "--layer", "3"))


tool.main()
