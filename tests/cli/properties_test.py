"""posenc properties: tables whose numbers the library's own tests hold; here their shape, and that they say one thing."""
import json
import math

import tool
from tool import posenc

USAGE = 2
INPUTS = ["learned", "sinusoidal", "integer", "integer-normalised", "binary"]
SEVERAL = ["sinusoidal", "nope", "rope", "alibi", "t5", "shaw-values"]
BOUNDS = {"above": lambda number, threshold: number > threshold,
          "at_most": lambda number, threshold: number <= threshold,
          "at_least": lambda number, threshold: number >= threshold}


class Properties(tool.ToolTest):
    def json_of(self, *arguments):
        got = posenc("properties", *arguments, "--json")
        self.assertEqual((got.code, got.err), (0, ""))
        return json.loads(got.out)

    def page_of(self, *arguments):
        got = posenc("properties", *arguments)
        self.assertEqual((got.code, got.err), (0, ""))
        self.assert_page(got.out)
        return got.out

    def test_verdicts_follow_from_numbers(self):
        data = self.json_of(*SEVERAL)
        rules = data["properties"]
        self.assertEqual([scheme["name"] for scheme in data["schemes"]], SEVERAL)
        for scheme in data["schemes"]:
            self.assertEqual([result["property"] for result in scheme["results"]], [rule["name"] for rule in rules])
            for rule, result in zip(rules, scheme["results"]):
                if result["verdict"] == "does_not_apply":
                    self.assertIsNone(result["number"])
                    continue
                number = math.inf if result["number"] is None else result["number"]
                passes = BOUNDS[rule["bound"]](number, rule["threshold"])
                self.assertEqual(result["verdict"], "passes" if passes else "fails", (scheme["name"], result))

    def test_page_of_named_schemes(self):
        page = self.page_of("binary", "alibi")
        rows = [line.split() for line in page.splitlines()]
        self.assertIn(["affine", "0.572", "<=", "1e-06", "fail"], rows)
        self.assertIn(["isometry", "-", "<=", "1e-06", "-"], rows)
        self.assertIn("from place 255 to 256", page)
        self.assertNotIn("nope", page)
        self.assertEqual(self.page_of("alibi", "binary", "alibi"), page)

    def test_page_of_all_schemes(self):
        """What docs/properties.md captures, which takes seconds."""
        page = (tool.SOURCE_DIR / "docs/properties.md").read_text().split("```console\n$ posenc properties\n")[1]
        table = page.split("```")[0]
        self.assert_page(table)
        names = {scheme["name"] for scheme in self.json_of("--list")["schemes"]}
        judged = {}
        for block in table.split("\nscheme ")[1:]:
            lines = block.splitlines()
            properties = lines[0].split()
            rows = [line.split() for line in lines[2:2 + len(names)]]
            self.assertEqual({row[0] for row in rows}, names)
            for row in rows:
                cells = iter(row[1:])
                for name in properties:
                    number = next(cells)
                    if number != "-":
                        judged.setdefault(name, []).append((float(number), next(cells)))
        self.assertEqual(len(judged), 10)
        for name, results in judged.items():
            self.assertEqual({verdict for _, verdict in results}, {"pass", "fail"}, name)
        # Thresholds that tell rounding, printed as 0, from a scheme leave nothing near them.
        for name in ("affine", "relative", "isometry"):
            self.assertFalse([number for number, _ in judged[name] if 0 < number < 1e-3], name)

    def test_list(self):
        names = [scheme["name"] for scheme in self.json_of("--list")["schemes"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual([line.split()[0] for line in self.page_of("--list").splitlines()[1:]], names)
        self.assertLessEqual(set(SEVERAL + INPUTS), set(names))

    def test_cost(self):
        few, many = self.json_of("--cost", "rope", "alibi"), self.json_of("--cost", "rope", "alibi", "--tokens", "1024")
        self.assertEqual((few["sizes"]["tokens"], many["sizes"]["tokens"]), (512, 1024))
        for scheme, before, after in zip(("rope", "alibi"), few["schemes"], many["schemes"]):
            grows = {"rope": 2, "alibi": 4}[scheme]
            self.assertEqual(after["cost"]["products"], grows * before["cost"]["products"])
        # 512 queries and keys, 4 heads, 32 pairs, 4 products each: 2^19.
        self.assertEqual(few["schemes"][0]["cost"]["products"], 2**19)
        self.assertIn("0.524", self.page_of("--cost", "rope"))

    def test_order(self):
        schemes = {scheme["name"]: scheme for scheme in self.json_of("--order", "nope", "rope")["schemes"]}
        self.assertEqual(schemes["nope"]["all_see_all"]["dogs"], 0)
        for seen in (schemes["nope"]["causal"], schemes["rope"]["all_see_all"], schemes["rope"]["causal"]):
            self.assertGreater(min(seen["dogs"], seen["sentences"]), 0.01)
        rows = [line.split() for line in self.page_of("--order", "nope").splitlines()]
        self.assertIn(["nope", "0", "0", "0", "0"], rows)
        self.assertIn("nope has no positions at all", self.page_of("--order", "nope"))
        self.assertNotIn("nope", self.page_of("--order", "rope"))

    def test_experiments_on_the_input_stage(self):
        for view in ("--four-terms", "--noise"):
            with self.subTest(view=view):
                self.assertEqual([scheme["name"] for scheme in self.json_of(view)["schemes"]], INPUTS)
                rows = [line.split()[:1] for line in self.page_of(view).splitlines()]
                for name in INPUTS:
                    self.assertIn([name], rows)
        ratios = [point["ratio"] for point in self.json_of("--noise", "integer")["schemes"][0]["layer"]]
        self.assertEqual(ratios, [None] * len(ratios))

    def test_decay(self):
        data = self.json_of("--decay")
        curves = ("bound", "equal", "random_mean", "random_spread", "table_mean", "table_spread")
        self.assertEqual({len(data[curve]) for curve in curves}, {len(data["distances"])})
        self.assertEqual(data["bound"][0], (data["dim"] / 2 + 1) / 2)
        shown = [line.split()[0] for line in self.page_of("--decay").splitlines() if line[:1].isdigit()]
        self.assertEqual(shown, ["0"] + [str(2**n) for n in range(11)])

    def test_documents_follow_the_schema(self):
        validator = tool.schema_validator("properties")
        for words in (["--list"], ["rope", "learned", "nope"], ["--cost", "t5"], ["--order", "nope"], ["--four-terms"],
                      ["--decay"], ["--noise"]):
            with self.subTest(words=words):
                validator.validate(self.json_of(*words))


class WrongWords(tool.ToolTest):
    def test_schemes(self):
        self.assert_fails(posenc("properties", "roep"), USAGE, "SCHEME", "'roep'", "did you mean rope")
        self.assert_fails(posenc("properties", "rope", "frobnicate"), USAGE, "'frobnicate'", "posenc properties --list")
        self.assert_fails(posenc("properties", "a\x1b[31m"), USAGE, "\\x1b[31m")

    def test_views(self):
        self.assert_fails(posenc("properties", "--cost", "--order"), USAGE, "--cost and --order exclude each other")
        self.assert_fails(posenc("properties", "--noise", "rope"), USAGE, "--noise", "'rope' is of the rotate stage")
        self.assert_fails(posenc("properties", "--four-terms", "t5"), USAGE, "--four-terms", "score stage")
        self.assert_fails(posenc("properties", "--decay", "rope"), USAGE, "--decay", "takes none")
        self.assert_fails(posenc("properties", "--coost"), USAGE, "did you mean --cost?")

    def test_tokens(self):
        self.assert_fails(posenc("properties", "--tokens", "8"), USAGE, "--tokens goes with --cost")
        for text in ("0", "-1", "4097", "many"):
            self.assert_fails(posenc("properties", "--cost", "--tokens", text), USAGE, "--tokens", f"'{text}'")


tool.main()
