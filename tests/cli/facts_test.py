"""posenc info and posenc presets."""
import json

import tool
from tool import posenc


class Info(tool.ToolTest):
    def test_page_and_json_agree(self):
        page, data = posenc("info"), json.loads(posenc("info", "--json").out)
        self.assertEqual(page.code, 0)
        self.assert_page(page.out)
        for fact in (data["version"], data["compiler"].split()[0], data["selected"], *data["kernels"]):
            self.assertIn(fact, page.out)
        self.assertEqual(data["schema_version"], 1)
        self.assertIn("scalar", data["kernels"])
        self.assertEqual(data["limits"]["exact_position"], 2**31)

    def test_what_the_environment_asks_for(self):
        data = json.loads(posenc("info", "--json", environment={"POSENC_ISA": "scalar"}).out)
        self.assertEqual((data["selected"], data["selected_because"]), ("scalar", "set by POSENC_ISA"))


class Presets(tool.ToolTest):
    def test_a_line_each(self):
        names = tool.presets()
        page = posenc("presets")
        self.assertEqual(page.code, 0)
        self.assert_page(page.out)
        table = page.out.split("\n\n")[0]
        self.assertEqual([line.split()[0] for line in table.splitlines()[1:]], names)
        self.assertGreaterEqual(len(names), 25)
        for name in ("llama-3.1-8b", "qwen3-8b", "gemma-3-4b", "phi-3.5-mini", "deepseek-v3", "gpt-oss-20b"):
            self.assertIn(name, names)

    def test_layers_as_a_models_card_counts_them(self):
        data = {preset["name"]: preset for preset in json.loads(posenc("presets", "--json").out)["presets"]}
        rows = {line.split("  ")[0]: line for line in posenc("presets").out.splitlines()}
        for name, counts in {"t5-base": {"decoder": 12, "encoder": 12}, "flan-t5-large": {"decoder": 24, "encoder": 24},
                             "whisper-medium": {"decoder": 24, "encoder": 24}, "bert-base": {"encoder": 12},
                             "llama-3.1-8b": {"decoder": 32}}.items():
            with self.subTest(preset=name):
                self.assertEqual({s["name"]: s["layers"] for s in data[name]["stacks"]}, counts)
                self.assertEqual(data[name]["layers"], sum(counts.values()))
                self.assertIn("  " + "+".join(map(str, counts.values())) + "  ", rows[name])

    def test_numbers_have_one_form(self):
        rows = [line.split() for line in posenc("presets").out.split("\n\n")[0].splitlines()[1:]]
        bases = [word for row in rows for word in row[4:-1] if word[0].isdigit()]
        for base in ("1e4", "5e5", "1.5e5", "1e7"):
            self.assertIn(base, bases)
        for base in bases:
            self.assertRegex(base, r"^[1-9](\.\d+)?e\d$")

    def test_what_was_not_checked_is_said(self):
        unchecked = [preset["name"] for preset in json.loads(posenc("presets", "--json").out)["presets"]
                     if not preset["checked"]]
        self.assertIn("gemma-3-4b", unchecked)
        last = " ".join(posenc("presets").out.split("\n\n")[1].split("GPT-J\n")[1].split())
        self.assertEqual(last, "not checked against the model's own file: " + ", ".join(unchecked))


tool.main()
