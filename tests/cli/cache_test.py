"""posenc cache: sizes worked out here, verdicts, simulated shifts, and its JSON against its schema."""
import json

import tool
from tool import posenc

USAGE, UNREADABLE, MALFORMED = 2, 3, 4
SCHEMA = json.loads((tool.SOURCE_DIR / "docs/cache.schema.json").read_text())
OPERATIONS = ["shift", "front_trim", "splice", "reorder", "merge", "evict", "sinks", "switch_rule", "share"]


def study(*arguments, **keywords):
    run = posenc("cache", *arguments, "--json", **keywords)
    assert (run.code, run.err) == (0, ""), run.err
    return json.loads(run.out)


def problems(value, schema, where="$"):
    """What of JSON Schema the file uses."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    kinds = schema.get("type", [])
    names = {bool: "boolean", int: "integer", float: "number", str: "string", list: "array", dict: "object", type(None): "null"}
    is_ = names[type(value)]
    if kinds and is_ not in ([kinds] if isinstance(kinds, str) else kinds) and not (is_ == "integer" and "number" in kinds):
        return [f"{where} is {is_}, not {kinds}"]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where} is {value}")
    if "minimum" in schema and is_ in ("integer", "number") and value < schema["minimum"]:
        found.append(f"{where} is {value}")
    if is_ == "object":
        found += [f"{where}.{key} is missing" for key in schema.get("required", []) if key not in value]
        for key, one in value.items():
            if key not in schema.get("properties", {}):
                found.append(f"{where}.{key} is not in the schema")
            else:
                found += problems(one, schema["properties"][key], f"{where}.{key}")
    if is_ == "array":
        for at, one in enumerate(value):
            found += problems(one, schema.get("items", {}), f"{where}[{at}]")
    return found


class Cache(tool.ToolTest):
    def test_json_is_as_the_schema_says(self):
        for words in (["llama-3.1-8b"], ["gemma-3-4b", "--simulate"], ["deepseek-v3"], ["gpt2"], ["t5-base"],
                      ["stablelm-3b-4e1t"], ["t5-base", "--stack", "encoder"]):
            with self.subTest(words=words):
                self.assertEqual(problems(study(*words), SCHEMA), [])
        self.assertTrue(problems({**study("gpt2"), "more": 1}, SCHEMA))
        self.assertTrue(problems({**study("gpt2"), "shift_by": 0}, SCHEMA))

    def test_bytes(self):
        found = study("llama-3.1-8b")["bytes"]
        numbers = 32 * 2 * 8 * 128
        self.assertEqual(found, {"f32": 4 * numbers, "f16": 2 * numbers, "bf16": 2 * numbers, "fp8_e4m3": numbers,
                                 "fp8_e5m2": numbers, "int8": numbers + 4 * 32 * 2 * 8, "q8_0": numbers * 34 / 32,
                                 "q5_1": numbers * 24 / 32, "q4_0": numbers * 18 / 32})
        self.assertIsNone(study("stablelm-3b-4e1t")["bytes"]["q4_0"])  # heads of 80
        self.assertEqual(study("llama-3.1-8b")["encoder_bytes"], {})

    def test_cross_attention_is_counted_by_the_encoders_tokens(self):
        found = study("t5-base")  # 12 blocks of 12 heads of 64, self and cross attention each
        self.assertEqual(found["bytes"]["f16"], 12 * 2 * 768 * 2)
        self.assertEqual(found["encoder_bytes"]["f16"], 12 * 2 * 768 * 2)
        self.assertIn("encoder token", posenc("cache", "t5-base").out)

    def test_verdicts_of_groups(self):
        found = study("gemma-3-4b")
        self.assertEqual(sorted(layer for group in found["groups"] for layer in group["layers"]), list(range(34)))
        for group in found["groups"]:
            said = [(one["operation"], one["keys"]) for one in group["verdicts"]]
            self.assertEqual(said, [(operation, keys) for operation in OPERATIONS for keys in ("unrotated", "rotated")])
            for one in group["verdicts"]:
                worst = {"exact": 0, "approximate": 1, "no": 2}
                self.assertEqual(worst[one["reuse"]], max(worst[reason["effect"]] for reason in one["reasons"]))
        trim = [next(one for one in group["verdicts"] if one["operation"] == "front_trim") for group in found["groups"]]
        self.assertEqual([one["reach"] for one in trim], [0, 4092, 5115, None, None])

    def test_settings_change_what_is_said(self):
        def switched(*words):
            group = study("llama-3.2-1b", *words)["groups"][0]
            return next(one["reuse"] for one in group["verdicts"] if (one["operation"], one["keys"]) == ("switch_rule", "rotated"))
        self.assertEqual(switched(), "exact")
        self.assertEqual(switched("--set", "rope_scaling=dynamic,factor=2"), "approximate")

    def test_shifts_are_simulated_where_they_are_asked_for(self):
        self.assertEqual(study("qwen2.5-0.5b")["shifts"], [])
        by_one, by_many = (study("qwen2.5-0.5b", "--simulate", "--shift-by", by)["groups"][0]["shifts"] for by in (1, 64))
        self.assertEqual([one["unrotated"] for one in by_one], [one["unrotated"] for one in by_many])
        self.assertNotEqual([one["rotated"] for one in by_one], [one["rotated"] for one in by_many])
        self.assertIn("no layer rotates", posenc("cache", "gpt2", "--simulate").out)

    def test_words(self):
        out = posenc("cache", "llama-3.1-8b").out
        self.assertIn("layers 1-31", out)
        self.assertIn("stored rotated", out)
        self.assertLessEqual(max(map(len, out.splitlines())), 80)
        self.assertIn("latent attention", posenc("cache", "deepseek-v3").out)

    def test_what_is_refused(self):
        self.assert_fails(posenc("cache"), USAGE, "MODEL")
        self.assert_fails(posenc("cache", "llama-3.1-8b", "--shift-by", "0"), USAGE, "--shift-by")
        self.assert_fails(posenc("cache", "llama-3.1-8b", "--stack", "vision"), USAGE, "--stack must be one of the plan's: decoder")
        self.assert_fails(posenc("cache", "no-such-model"), UNREADABLE, "no-such-model")


tool.main()
