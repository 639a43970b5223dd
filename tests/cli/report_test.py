"""posenc report: the page and its numbers. What a browser makes of it: report_page_test.py."""
import base64
import hashlib
import html.parser
import json
import math
import pathlib
import re
import tempfile

import tool
from tool import posenc

USAGE, UNREADABLE, MALFORMED = 2, 3, 4


def numbers(*arguments, **keywords):
    run = posenc("report", *arguments, "--json", **keywords)
    assert (run.code, run.err) == (0, ""), run.err
    return json.loads(run.out)


def findings(model, about):
    return [finding["text"] for finding in model["findings"] if finding["about"] == about]


class Elements(html.parser.HTMLParser):
    """Every element's name and attributes, and the texts of scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.inside = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.inside = dict(attrs).get("id") or tag

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside:
            self.texts[self.inside] = self.texts.get(self.inside, "") + data


class Numbers(tool.ToolTest):
    def test_every_preset_follows_the_schema(self):
        validator = tool.schema_validator("report")
        for preset in tool.presets():
            with self.subTest(preset):
                validator.validate(numbers(preset))
        validator.validate(numbers("qwen3-8b", "t5-base", "--against", "llama-3.1-8b", "--length", "1000"))

    def test_they_are_those_of_the_plan(self):
        for preset in ("gemma-3-4b", "phi-3.5-mini", "deepseek-v3", "olmo-3.1-32b"):
            with self.subTest(preset):
                model = numbers(preset)["models"][0]
                plan = json.loads(posenc("inspect", preset, "--json", "--length", model["length"]).out)
                for stack, planned in zip(model["stacks"], plan["stacks"]):
                    kinds = [kind for kind, count in stack["strip"] for _ in range(count)]
                    self.assertEqual(len(kinds), len(planned["layers"]))
                    for kind, layer in zip(kinds, planned["layers"]):
                        shown = stack["kinds"][kind]
                        self.assertEqual([r["inv_freq"] for r in shown["rotations"]], [r["inv_freq"] for r in layer["rotate"]])
                        facts = {fact["fact"]: fact["value"] for fact in shown["facts"]}
                        self.assertEqual((facts["heads"], facts["softmax_scale"]), (layer["heads"], layer["softmax_scale"]))
                        self.assertEqual(facts["rotate/0/base"], layer["rotate"][0]["base"])
                        window = layer["mask"]["window"]
                        self.assertEqual(shown["mask"]["past"], window and window["past"])

    def test_each_value_says_where_it_comes_from(self):
        model = numbers("-", stdin=json.dumps({**tool.SMALL, "sliding_window": 7}).encode())["models"][0]
        plan = json.loads(posenc("inspect", "-", "--json", stdin=json.dumps({**tool.SMALL, "sliding_window": 7}).encode()).out)
        came = {fact["fact"]: fact["from"] for fact in model["stacks"][0]["kinds"][0]["facts"]}
        for where, source in plan["sources"].items():
            found = re.fullmatch(r"/stacks/0/layers/0-2/(.*)", where)
            if found and found[1] in came:
                self.assertEqual(came[found[1]], source)
        self.assertEqual(came["rotate/0/base"], "/rope_theta")

    def test_wavelengths_and_what_was_never_seen(self):
        scaled = {**tool.SMALL, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}
        yarn = {**tool.SMALL, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}}
        for config in (tool.SMALL, scaled, yarn):
            rotation = numbers("-", "--length", "8192", stdin=json.dumps(config).encode())["models"][0]["stacks"][0]["kinds"][0]["rotations"][0]
            for frequency, wavelength in zip(rotation["inv_freq"], rotation["wavelength"]):
                self.assertAlmostEqual(wavelength * frequency, 2 * math.pi, delta=1e-12)
            plain = (rotation["unscaled"] or rotation)["inv_freq"]
            before = rotation["before_scaling"]
            expected = [] if before is None else [
                p for p, (now, was) in enumerate(zip(rotation["inv_freq"], plain))
                if before * was < 2 * math.pi and 8192 * now > before * was * (1 + 1e-9)]
            self.assertEqual(rotation["unseen"], expected)
        self.assertIsNone(numbers("-", stdin=json.dumps(scaled).encode())["models"][0]["stacks"][0]["kinds"][0]["rotations"][0]["before_scaling"])
        # Within four times 512 YaRN leaves no pair beyond; at four times that some are.
        self.assertEqual(numbers("-", "--length", "2048", stdin=json.dumps(yarn).encode())["models"][0]["stacks"][0]["kinds"][0]["rotations"][0]["unseen"], [])
        self.assertNotEqual(numbers("-", "--length", "8192", stdin=json.dumps(yarn).encode())["models"][0]["stacks"][0]["kinds"][0]["rotations"][0]["unseen"], [])

    def test_sentences_answer_what_readers_ask(self):
        gemma = numbers("gemma-3-4b")["models"][0]
        self.assertIn("Scaled: layers 5, 11, 17, 23, 29 (5 of 34: kind B), by linear scaling x8, base 1000000.", findings(gemma, "scaling")[0])
        phi = numbers("phi-3.5-mini")["models"][0]
        self.assertEqual(findings(phi, "switch")[0], "At 4096 tokens: texts of up to 4096 take short_factor, longer ones long_factor.")
        yarn = numbers("qwen3-8b", "--set", "rope_scaling=yarn,factor=4,original=8192", "--length", "32768")["models"][0]
        self.assertIn("0 of 64 pairs meet angles that they never had within 8192 tokens", findings(yarn, "length")[0])
        plain = numbers("qwen3-8b", "--length", "100000")["models"][0]
        self.assertTrue(findings(plain, "verdict")[0].startswith("Will 100000 tokens hurt? Yes: at 100000 tokens "), findings(plain, "verdict"))
        self.assertIn("no rule scales them", findings(plain, "verdict")[0])
        llama4 = {"model_type": "llama4_text", "num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2,
                  "hidden_size": 64, "head_dim": 16, "attention_chunk_size": 64, "max_position_embeddings": 1024,
                  "no_rope_layers": [1, 1, 1, 0, 1, 1, 1, 0]}
        positions = findings(numbers("-", stdin=json.dumps(llama4).encode())["models"][0], "positions")
        self.assertIn("Layers 3, 7 (2 of 8: kind B) do not rotate (NoPE: no position encoding), and see all tokens before them; those "
                      "that rotate see the tokens before them in their own chunk of 64. Why: those that rotate meet no distance beyond that in "
                      "training either, however long the texts; the layers that look back further have no angles to meet. "
                      "Which layers these are: /no_rope_layers.", positions)

    def test_memory_is_what_the_layers_keep(self):
        model = numbers("gemma-3-4b")["models"][0]
        for size in model["cache"]:
            expected = 2 * 4 * (256 + 256) * (29 * min(size["tokens"], 1024) + 5 * size["tokens"])
            self.assertEqual(size["bytes"], expected)
        # Of one layer of each kind, by the same lengths.
        lengths = [size["tokens"] for size in model["cache"]]
        self.assertEqual([kind["cache"]["bytes"] for kind in model["stacks"][0]["kinds"]],
                         [[2 * 4 * (256 + 256) * min(n, most) for n in lengths] for most in (1024, math.inf)])
        self.assertEqual(numbers("bert-base")["models"][0]["cache"], [])
        # Towers and encoders keep nothing for the next token, whatever their masks.
        text = {**tool.SMALL, "model_type": "qwen2_5_vl", "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]},
                "vision_config": {"depth": 4, "hidden_size": 64, "num_heads": 4, "window_size": 112, "fullatt_block_indexes": [3],
                                  "spatial_merge_size": 2, "patch_size": 14}}
        model = numbers("-", stdin=json.dumps(text).encode())["models"][0]
        self.assertEqual([kind["mask"]["kind"] for kind in model["stacks"][1]["kinds"]], ["sparse", "bidirectional"])
        kept = model["stacks"][0]["kinds"][0]
        self.assertEqual([size["bytes"] for size in model["cache"]],
                         [2 * size["tokens"] * kept["count"] * kept["cache"]["numbers_per_token"] for size in model["cache"]])

    def test_what_differs_is_what_compare_says(self):
        report = numbers("qwen3-8b", "--against", "qwen3-8b", "--set-against", "rope_scaling=yarn,factor=4", "--length", "65536")
        said = posenc("compare", "qwen3-8b", "qwen3-8b", "--set-b", "rope_scaling=yarn,factor=4", "--length", "65536")
        self.assertEqual(report["comparison"]["words"], said.out)
        self.assertEqual([model["name"] for model in report["models"]], ["qwen3-8b", "qwen3-8b"])

    def plainly(self, *arguments):
        return numbers(*arguments)["comparison"]["plainly"]

    def inv_freq(self, model, *arguments):
        rotate = json.loads(posenc("inspect", model, "--json", *arguments).out)["stacks"][0]["layers"][0]["rotate"][0]
        return rotate["inv_freq"], rotate["attention_factor"]

    def test_a_verdict_in_plain_words(self):
        yarn = "rope_scaling=yarn,factor=4,original=32768"
        found = self.plainly("qwen3-8b", "--against", "qwen3-8b", "--length", 131072, "--set-against", yarn)
        (before, _), (now, factor) = self.inv_freq("qwen3-8b"), self.inv_freq("qwen3-8b", "--set", yarn)
        ratios = [a / b for a, b in zip(before, now)]
        alike = sum(abs(ratio - 1) <= 1e-3 for ratio in ratios)
        self.assertEqual((found[0], len(found)), ("Not the same positions, from the first tokens on.", 2))
        self.assertTrue(found[1].startswith(
            f"In all 36 layers: {alike} of 64 pairs turn alike, others up to {max(ratios):.4g} times slower with YaRN; "
            f"its cos and sin are {factor:.4g} times as large; at 131072 tokens"), found)
        self.assertEqual(self.plainly("qwen3-8b", "--against", "qwen3-8b", "--set-against", "rope_scaling=linear,factor=4")[1],
                         "In all 36 layers: all 64 pairs turn otherwise, 4 times slower with linear scaling.")
        self.assertEqual(self.plainly("llama-2-7b", "--against", "llama-2-7b"),
                         ["The same positions: nothing differs that changes what is computed."])
        self.assertIn("another order", self.plainly("llama-2-7b", "--against", "llama-2-7b", "--set-against", "pairing=interleaved")[0])
        self.assertEqual(self.plainly("mistral-7b-v0.1", "--against", "mistral-7b-v0.1", "--set-against", "window=none")[0],
                         "The same positions up to 4096 tokens; longer sequences differ.")
        heads = json.dumps({**tool.SMALL, "num_key_value_heads": 4}).encode()
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            path.write_bytes(heads)
            self.assertEqual(numbers("-", "--against", path, stdin=json.dumps(tool.SMALL).encode())["comparison"]["plainly"],
                             ["The same positions: rotations, masks and what is added are alike.", "What differs: kv_heads."])

    def test_a_verdict_says_from_which_length_on(self):
        """Dynamic NTK leaves short sequences alone; the length is that at which an angle is apart by a thousandth."""
        for model, short in (("internlm3-8b", 32768), ("llama-2-7b", 4096)):
            dynamic = ("--set", f"rope_scaling=dynamic,factor=4,original={short}") if model == "llama-2-7b" else ()
            found = self.plainly(model, *dynamic, "--against", model, "--set-against", "rope_scaling=none")
            length = int(found[0].removeprefix("The same positions up to ").removesuffix(" tokens; longer sequences differ."))
            self.assertGreaterEqual(length, short)
            plain, _ = self.inv_freq(model, "--set", "rope_scaling=none")
            for at, differs in ((length, False), (length + 1, True)):
                now, _ = self.inv_freq(model, *dynamic, "--length", at)
                self.assertEqual(max(abs(a - b) for a, b in zip(now, plain)) * (at - 1) > 1e-3, differs, (model, at))

    def test_will_a_longer_text_hurt_and_why(self):
        """What a reader asks of 8 k to 32 k by YaRN, answered with its reasons, each of them the plan's numbers."""
        yarn = {**tool.SMALL, "max_position_embeddings": 8192,
                "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}}
        asked = "Will texts of 8192 to 32768 tokens, with YaRN, hurt? "
        for trained, words in ((8192, "A little, at every length, unless the model was trained with this rule; the file's own length is 8192 tokens."),
                               (16384, "A little, at every length, unless the model was trained with this rule; the file's own length is 16384 tokens."),
                               (32768, "No, as far as the file tells: it gives 32768 tokens as its own length, so the model should have been trained")):
            model = numbers("-", "--length", 32768, stdin=json.dumps({**yarn, "max_position_embeddings": trained}).encode())["models"][0]
            self.assertTrue(findings(model, "verdict")[0].startswith(asked + words), findings(model, "verdict"))
            self.assertIn(" in texts of 8192 and of 32768 tokens: a token's mean loss should be no higher in the longer.", findings(model, "verdict")[0])
            self.assertEqual(findings(model, "verdict")[0].endswith("Of the shorter ones measure it with the rule and without."), trained != 32768)
        rotation = model["stacks"][0]["kinds"][0]["rotations"][0]
        slower = sum(ratio > 1.001 for ratio in rotation["slower"])
        pairs, scores = len(rotation["slower"]), f"{rotation['attention_factor'] ** 2:.4g}"
        self.assertEqual(findings(model, "near tokens"), [
            f"{pairs - slower} of {pairs} pairs turn as before scaling, the other {slower} up to {max(rotation['slower']):.3g} times slower; "
            "the fastest pair, which tells neighbours apart, is as it was."])
        self.assertTrue(findings(model, "temperature")[0].startswith(f"Scores of what rotates are multiplied by {scores} "))
        self.assertTrue(findings(model, "short texts")[0].startswith(
            f"Texts of up to 8192 tokens are turned so as well, since YaRN is static here, the same whatever a text's length: {slower} of their {pairs} "
            f"pairs turn slower and their scores are multiplied by {scores}. The model should"), findings(model, "short texts"))
        model = numbers("qwen3-8b", "--length", 81920, "--set", "rope_scaling=yarn,factor=2")["models"][0]
        self.assertIn("the rule was set by hand, it is not the file's", findings(model, "verdict")[0])
        self.assertIn("tokens pay as well, since YaRN is static here", findings(model, "short texts")[0])
        self.assertIn("serve them without the rule", findings(model, "short texts")[0])
        # What leaves short texts alone says so; what slows the fastest pair, and what does not reach far enough, hurts.
        model = numbers("llama-2-7b", "--length", 8192, "--set", "rope_scaling=dynamic,factor=4")["models"][0]
        self.assertIn("A little, beyond 4096 tokens alone", findings(model, "verdict")[0])
        self.assertEqual(findings(model, "short texts"), ["Texts of up to 4096 tokens turn as without the rule: they lose nothing."])
        model = numbers("llama-2-7b", "--length", 8192, "--set", "rope_scaling=linear,factor=4")["models"][0]
        self.assertIn("hurt? Yes, at every length", findings(model, "verdict")[0])
        self.assertIn("neighbours turn 4 times less apart", findings(model, "verdict")[0])
        model = numbers("llama-2-7b", "--length", 65536, "--set", "rope_scaling=yarn,factor=4")["models"][0]
        unseen = model["stacks"][0]["kinds"][0]["rotations"][0]["unseen"]
        self.assertIn(f"hurt? Yes: {len(unseen)} of 64 pairs still meet angles", findings(model, "verdict")[0])
        # Within the length before scaling nobody asks.
        self.assertEqual(findings(numbers("qwen3-8b", "--length", 8192, "--set", "rope_scaling=yarn,factor=4")["models"][0], "verdict"), [])

    def test_the_answer_comes_first_and_bullets_of_one_kind_stand_together(self):
        order = ["verdict", "layers", "scaling", "positions", "window", "switch", "length", "near tokens", "short texts", "temperature", "tables", "memory"]
        for arguments in (("gemma-3-4b",), ("phi-3.5-mini",), ("gpt-oss-20b",), ("t5-base",), ("qwen3-8b", "--length", 100000)):
            found = [order.index(finding["about"]) for finding in numbers(*arguments)["models"][0]["findings"]]
            self.assertEqual(found, sorted(found), arguments)

    def test_a_model_trained_with_its_rule_has_one_answer(self):
        """Gemma 3: no length before scaling is told, its own length wins, and what slows neighbours says that it does not hurt."""
        model = numbers("gemma-3-4b")["models"][0]
        self.assertIn("Which length it had before linear scaling the file does not say, and that no longer matters.", findings(model, "verdict")[0])
        self.assertEqual(findings(model, "length"), [])
        self.assertTrue(findings(model, "near tokens")[0].startswith(
            "Every pair of kind B turns 8 times slower than before scaling, also the fastest, which tells neighbours apart. That would hurt"))
        self.assertTrue(findings(model, "near tokens")[0].endswith(" these should know it."))
        set_by_hand = numbers("gemma-3-4b", "--set", "full:rope_scaling=linear,factor=16")["models"][0]
        self.assertIn("cannot be told", findings(set_by_hand, "length")[0])
        self.assertNotIn("these should know it", findings(set_by_hand, "near tokens")[0])

    def test_within_its_window_a_rule_is_not_needed(self):
        model = numbers("-", "--length", 4096, stdin=json.dumps({
            **tool.SMALL, "model_type": "mistral", "sliding_window": 64,
            "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 512}}).encode())["models"][0]
        self.assertTrue(findings(model, "length")[0].endswith(": a query looks no further than that, so new angles are no reason for the rule."))
        self.assertEqual(findings(model, "verdict"), [
            "Will 4096 tokens hurt? Not by new angles: a query looks no further than 64 tokens, and the length before scaling is 512. "
            "Whether the loss holds so far, only the model can say."])

    def test_sentences_say_which_list_and_whose_query(self):
        phi = numbers("phi-3.5-mini")["models"][0]
        self.assertTrue(findings(phi, "near tokens")[0].startswith("By long_factor no pair turns as before scaling, but up to 64.8 times slower"))
        self.assertIn("a rotation of their own: by short_factor 47 of 48 pairs turn slower", findings(phi, "short texts")[0])
        self.assertNotIn("others", findings(phi, "scaling")[0])
        llama4 = numbers("-", stdin=json.dumps({
            "model_type": "llama4_text", "num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64, "head_dim": 16,
            "attention_chunk_size": 64, "max_position_embeddings": 4096, "no_rope_layers": [],
            "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                             "original_max_position_embeddings": 64}}).encode())["models"][0]
        self.assertTrue(findings(llama4, "verdict")[0].startswith("Will 4096 tokens hurt layers of kind A? Not by new angles: a query of kind A looks"))
        self.assertTrue(findings(llama4, "length")[0].startswith("At 4096 tokens, of which a query of kind A sees 64, "))
        # An empty list is read: it stands for the default, which the sentence names.
        self.assertNotIn("/no_rope_layers", llama4["ignored_keys"])
        self.assertRegex(findings(llama4, "positions")[0], r" Which layers these are: default: Llama4TextConfig, transformers [\d.]+\.$")

    def test_what_a_rule_takes_and_makes_stands_among_the_facts(self):
        found = numbers("qwen3-8b", "--length", 65536, "--set", "rope_scaling=yarn,factor=4")["models"][0]["stacks"][0]["kinds"][0]
        facts = {fact["fact"]: (fact["value"], fact["from"]) for fact in found["facts"]}
        for name, value in (("beta_fast", 32), ("beta_slow", 1), ("truncate", True)):
            self.assertEqual(facts[f"rotate/0/scaling/{name}"], (value, "default: of YaRN"))
        self.assertEqual(facts["rotate/0/attention_factor"][0], found["rotations"][0]["attention_factor"])
        self.assertAlmostEqual(facts["rotate/0/attention_factor"][0], 1 + 0.1 * math.log(4), delta=1e-12)
        given = numbers("qwen3-8b", "--set", "rope_scaling=yarn,factor=4,beta_fast=16")["models"][0]["stacks"][0]["kinds"][0]["facts"]
        self.assertEqual([(fact["value"], fact["from"]) for fact in given if fact["fact"].endswith("/beta_fast")], [(16, "set: beta_fast=16")])

    def test_a_key_that_another_object_has_is_not_lacking(self):
        text = {**tool.SMALL, "model_type": "gemma3_text", "head_dim": 16}
        lacking = numbers("-", stdin=json.dumps({"model_type": "gemma3", "text_config": text}).encode())["models"][0]["absent_keys"]
        for key in ("/head_dim", "/rope_theta", "/num_attention_heads", "/max_position_embeddings"):
            self.assertNotIn(key, lacking)
        self.assertIn("/text_config/partial_rotary_factor", lacking)

    def test_where_all_pairs_have_turned_no_angle_is_new(self):
        model = numbers("-", "--length", 4096, stdin=json.dumps({**tool.SMALL, "rope_theta": 2.0}).encode())["models"][0]
        self.assertEqual(findings(model, "verdict"), [
            f"Will 4096 tokens hurt? Not by its angles: within the trained {model['trained_length']} tokens all 8 pairs completed a turn, so none meets "
            "new ones. Whether the loss holds beyond, only the model can say."])

    def test_a_scale_of_queries_shows_its_steps(self):
        """Before and at each of the first steps; the numbers are the formula's: Llama 4 counts from 1, Ministral from 0."""
        llama4 = {"model_type": "llama4_text", "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64,
                  "head_dim": 16, "attention_chunk_size": 64, "max_position_embeddings": 1024, "no_rope_layers": [1, 1, 1, 0],
                  "floor_scale": 100, "attn_scale": 0.5, "attn_temperature_tuning": True}
        ministral = {**tool.SMALL, "model_type": "ministral3", "max_position_embeddings": 1024,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "llama_4_scaling_beta": 0.5, "original_max_position_embeddings": 100}}
        for config, less in ((llama4, 1), (ministral, 0)):
            kinds = numbers("-", stdin=json.dumps(config).encode())["models"][0]["stacks"][0]["kinds"]
            scale = next(kind["query_scale"] for kind in kinds if kind["query_scale"])
            by_position = dict(zip(scale["position"], scale["scale"]))
            self.assertEqual(scale["position"], sorted(by_position))
            for step in range(1, 11):
                at = 100 * step - less
                self.assertAlmostEqual(by_position[at - 1], 1 + 0.5 * math.log(step), delta=1e-12)
                self.assertAlmostEqual(by_position[at], 1 + 0.5 * math.log(1 + step), delta=1e-12)

    def test_what_rounding_costs_whom(self):
        """The three answers, of a chart's own numbers: nothing, little, much."""
        for length, answer in ((4096, "No harm: "), (131072, "Little harm: "), (2**24, "Much harm: ")):
            model = numbers("llama-2-7b", "--length", length)["models"][0]
            tables = model["stacks"][0]["kinds"][0]["rotations"][0]["tables"]
            off, said = tables["float32"][-1], findings(model, "tables")[0]
            self.assertTrue(said.startswith(f"{answer}float32 angles "), said)  # the worst comes first
            self.assertEqual(answer, "No harm: " if off <= 2**-9 else "Little harm: " if off <= 0.05 else "Much harm: ")
            self.assertIn(f"off by up to {off:.2g} at position {length}, tables kept in bfloat16 by up to {tables['bfloat16'][-1]:.2g}", said)
            if off > 2**-9:
                harmless = [position for position, error in zip(tables["position"], tables["float32"]) if error <= 2**-9]
                self.assertTrue(said.endswith(f" No harm in texts of up to {harmless[-1]} tokens."), said)

    def test_both_lists_of_longrope(self):
        config = {**tool.SMALL, "model_type": "phi3", "max_position_embeddings": 8192, "original_max_position_embeddings": 1024,
                  "rope_scaling": {"rope_type": "longrope", "short_factor": [1.0, 1.1, 1.2, 1.5, 2.0, 2.0, 2.0, 2.5],
                                   "long_factor": [1.0, 2.0, 3.0, 4.0, 8.0, 8.0, 9.0, 9.5]}}
        pairs = config["hidden_size"] // config["num_attention_heads"] // 2
        for key in ("short_factor", "long_factor"):
            config["rope_scaling"][key] = (config["rope_scaling"][key] * 8)[:pairs]
        for length in (512, 8192):
            rotation = numbers("-", "--length", length, stdin=json.dumps(config).encode())["models"][0]["stacks"][0]["kinds"][0]["rotations"][0]
            self.assertEqual(rotation["switch"]["at"], 1024)
            for found, wanted in (("slower_up_to", "short_factor"), ("slower_beyond", "long_factor")):
                for x, y in zip(rotation["switch"][found], config["rope_scaling"][wanted], strict=True):
                    self.assertAlmostEqual(x, y, delta=1e-12 * y)
        self.assertIsNone(numbers("llama-3.1-8b")["models"][0]["stacks"][0]["kinds"][0]["rotations"][0]["switch"])

    def test_what_is_said_of_several_kinds_holds_for_each(self):
        """Kinds of one rotation are judged by the one that looks furthest; a rule that leaves pairs out stretches nothing."""
        model = numbers("gpt-oss-20b")["models"][0]
        self.assertTrue(findings(model, "length")[0].startswith("At 131072 tokens 0 of 32 pairs"), findings(model, "length"))
        self.assertEqual([text.partition("kind ")[2] for text in findings(model, "window")],
                         ["A) see the last 128 tokens alone (themselves and 127 before).", "B) see all tokens before them."])
        gemma = {**tool.SMALL, "model_type": "gemma4_text", "sliding_window": 64, "num_hidden_layers": 2, "head_dim": 16, "global_head_dim": 32,
                 "layer_types": ["sliding_attention", "full_attention"],
                 "rope_parameters": {"full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6},
                                     "sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}}
        model = numbers("-", stdin=json.dumps(gemma).encode())["models"][0]
        self.assertTrue(findings(model, "scaling")[0].endswith("by base 1000000. No scaling rule."), findings(model, "scaling"))
        self.assertEqual((findings(model, "near tokens"), findings(model, "verdict")), ([], []))
        llama4 = {"model_type": "llama4_text", "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64,
                  "head_dim": 16, "attention_chunk_size": 64, "max_position_embeddings": 1024, "no_rope_layers": [1, 0, 1, 0],
                  "layer_types": ["chunked_attention", "full_attention", "full_attention", "chunked_attention"]}
        said = findings(numbers("-", stdin=json.dumps(llama4).encode())["models"][0], "positions")
        self.assertTrue(any(text.endswith("do not rotate (NoPE: no position encoding). Which layers these are: /no_rope_layers.") for text in said), said)
        # Beside its window such a mask shows what is as far as the text is long.
        v4 = {"model_type": "deepseek_v4", "hidden_size": 64, "num_attention_heads": 4, "head_dim": 32, "qk_rope_head_dim": 16, "num_hidden_layers": 4,
              "sliding_window": 16, "compress_ratios": [0, 0, 4, 128], "max_position_embeddings": 4096, "rope_theta": 1e4, "compress_rope_theta": 160000,
              "rope_scaling": {"type": "yarn", "factor": 8, "original_max_position_embeddings": 512}}
        model = numbers("-", stdin=json.dumps(v4).encode())["models"][0]
        self.assertTrue(any("(causal window, and every complete entry made of 128 tokens)" in text for text in findings(model, "window")), findings(model, "window"))
        self.assertTrue(findings(model, "length")[0].startswith("At 4096 tokens 0 of "), findings(model, "length"))
        t5 = numbers("t5-base")["models"][0]
        self.assertEqual(findings(t5, "layers")[0], "decoder: 24 layers in 12 blocks, counted from 0, of 2 kinds, A and B.")
        self.assertIn("decoder: Layers 0-11 (12 of 24: kind B) attend to what an encoder gives, and add no position of their own.", findings(t5, "positions"))

    def test_short_and_long_texts_of_two_rules(self):
        def said(*arguments):
            return {one["texts"]: one["words"] for one in numbers(*arguments)["comparison"]["by_length"]}
        yarn = "rope_scaling=yarn,factor=4,original=4096"
        found = numbers("llama-2-7b", "--length", 16384, "--against", "llama-2-7b", "--set-against", yarn)
        plain, stretched = (model["stacks"][0]["kinds"][0]["rotations"][0] for model in found["models"])
        slower = sum(ratio > 1.001 for ratio in stretched["slower"])
        short, long = found["comparison"]["by_length"]
        self.assertEqual((short["texts"], long["texts"]), ("Short texts (up to 4096 tokens)", "Long texts (4097 to 16384 tokens)"))
        self.assertTrue(short["words"].startswith(
            f"{slower} of 64 pairs turn otherwise with YaRN, up to 4 times slower, and scores are multiplied by "
            f"{stretched['attention_factor'] ** 2:.4g}. This hurts a little: "), short)
        self.assertTrue(long["words"].startswith(f"Without YaRN it hurts: {len(plain['unseen'])} of 64 pairs meet angles that they never had"), long)
        self.assertIn("With YaRN no pair meets new angles, so no steep rise is expected", long["words"])
        dynamic = said("llama-2-7b", "--length", 16384, "--against", "llama-2-7b", "--set-against", "rope_scaling=dynamic,factor=4")
        self.assertEqual(dynamic["Short texts (up to 4096 tokens)"], "nothing changes.")
        linear = said("llama-2-7b", "--length", 16384, "--against", "llama-2-7b", "--set-against", "rope_scaling=linear,factor=4")
        self.assertIn("This hurts: weights that were trained with the one see neighbours 4 times less apart", linear["Short texts (up to 4096 tokens)"])
        self.assertIn("With linear scaling, whether pairs meet angles that they never had cannot be told.", linear["Long texts (4097 to 16384 tokens)"])
        window = said("mistral-7b-v0.1", "--length", 8192, "--against", "mistral-7b-v0.1", "--set-against", "window=none")
        self.assertEqual(window["Short texts (up to 4096 tokens)"], "nothing changes.")
        self.assertIn("Queries see the last 4096 tokens alone (themselves and 4095 before) in the first, and see all tokens before them in the second",
                      window["Long texts (4097 to 8192 tokens)"])
        near = said("llama-2-7b", "--length", 2048, "--against", "llama-2-7b", "--set-against", yarn)
        self.assertEqual(near["Long texts"], "not looked at: 2048 tokens are not beyond 4096. A longer --length asks.")
        # What a file gives as its own length its weights should know; a rule beside another base is not what tells two apart.
        theirs = said("llama-3.1-8b", "--against", "llama-2-7b")["Long texts (4097 to 131072 tokens)"]
        self.assertTrue(theirs.startswith("In the first it should not hurt: the file gives 131072 tokens as its own length, so the weights "
                                          "should know these angles. In the second it hurts: 18 of 64 pairs"), theirs)
        both = said("llama-2-7b", "--length", 16384, "--set", "rope_scaling=linear,factor=2", "--against", "llama-2-7b",
                    "--set-against", "rope_scaling=linear,factor=4")
        self.assertEqual(both["Long texts (4097 to 16384 tokens)"], "whether pairs meet angles that they never had cannot be told of either.")
        # Other channels, other terms, the same positions: nothing to tell by length.
        for other in ("gemma-3-4b", "bert-base", "llama-2-7b"):
            self.assertEqual(said("llama-2-7b", "--against", other), {})

    def test_a_verdict_names_what_was_never_trained(self):
        yarn = "rope_scaling=yarn,factor=4"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "config.json"
            path.write_text(json.dumps(tool.SMALL))
            found = numbers(path, "--length", 8192, "--against", path, "--set-against", yarn)
        counts = [model["stacks"][0]["kinds"][0]["rotations"][0]["unseen"] for model in found["models"]]
        self.assertEqual((bool(counts[0]), counts[1]), (True, []))
        trained = found["models"][0]["trained_length"]
        self.assertIn(f"; at 8192 tokens {len(counts[0])} pairs meet angles that they never had within {trained} tokens without YaRN, 0 with YaRN.",
                      found["comparison"]["plainly"][1])

    def test_differences_name_the_kinds_of_layers(self):
        found = numbers("gemma-3-4b", "--against", "gemma-3-4b", "--set-against", "full:rope_scaling=none")["comparison"]
        self.assertEqual({(*d["kinds_a"], *d["kinds_b"]) for d in found["differences"] if d["kind"] == "substance"}, {("B", "B")})
        self.assertEqual(found["plainly"][1],
                         "In layers 5, 11, 17, 23, 29 (5 of 34): all 128 pairs turn otherwise, 8 times faster without linear scaling.")

    def test_a_model_of_many_layers_stays_small(self):
        config = {**tool.SMALL, "num_hidden_layers": 720}
        model = numbers("-", stdin=json.dumps(config).encode())["models"][0]
        self.assertEqual(model["stacks"][0]["strip"], [[0, 720]])
        self.assertLess(len(json.dumps(model)), 60_000)


class Page(tool.ToolTest):
    def test_it_has_the_numbers_and_its_policy_lets_its_script_run(self):
        run = posenc("report", "gemma-3-4b")
        self.assertEqual((run.code, run.err), (0, ""))
        page = Elements(run.out)
        self.assertEqual(json.loads(page.texts["numbers"]), numbers("gemma-3-4b"))
        policy = next(attributes["content"] for tag, attributes in page.elements
                      if attributes.get("http-equiv") == "Content-Security-Policy")
        self.assertIn("default-src 'none'", policy)
        for part in ("script", "style"):
            digest = base64.b64encode(hashlib.sha256(page.texts[part].encode()).digest()).decode()
            self.assertIn(f"{part}-src 'sha256-{digest}'", policy)

    def test_it_asks_nothing_of_a_network(self):
        page = Elements(posenc("report", "t5-base", "qwen3-8b").out)
        for tag, attributes in page.elements:
            self.assertFalse({"src", "srcset", "style", "onclick", "onload"} & set(attributes), (tag, attributes))
            self.assertTrue(attributes.get("href", "#").startswith("#"), (tag, attributes))
        for word in ("http:", "https:", "fetch(", "XMLHttpRequest", "import(", "eval("):
            self.assertNotIn(word, page.texts["script"].replace("http://www.w3.org/2000/svg", ""), word)

    def test_texts_of_a_file_cannot_end_the_script(self):
        config = {**tool.SMALL, "architectures": ["</script><script>alert(1)</script>"], "</script><!--": 1,
                  "rope_scaling": {"rope_type": "</script>"}}
        run = posenc("report", "-", stdin=json.dumps(config).encode())
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.out.count("<script"), 2)
        self.assertEqual(json.loads(Elements(run.out).texts["numbers"]), numbers("-", stdin=json.dumps(config).encode()))

    def test_it_goes_into_a_file_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.html"
            self.assertEqual(posenc("report", "gpt2", "-o", path), (0, "", ""))
            self.assertEqual(path.read_text(), posenc("report", "gpt2").out)
            run = posenc("report", "t5-base", "-o", path)
            self.assertEqual(run.code, UNREADABLE)
            self.assertIn("report.html: expected a name that is free", run.err)
            self.assertEqual(posenc("report", "t5-base", "-o", path, "--force").code, 0)
            self.assertEqual(path.read_text(), posenc("report", "t5-base").out)
            self.assertEqual([of.name for of in pathlib.Path(folder).iterdir()], ["report.html"])

    def test_it_does_not_go_over_a_model(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder, "config.json")
            model.write_bytes(tool.small())
            (link := pathlib.Path(folder, "link")).symlink_to(model)
            for models in ([model], ["gpt2", model], ["gpt2", "--against", model]):
                for out in (model, link):
                    got = posenc("report", *models, "-o", out, "--force")
                    self.assertEqual((got.code, got.out), (USAGE, ""))
                    self.assertIn("is what the command reads", got.err)
            self.assertEqual(model.read_bytes(), tool.small())

    def test_what_is_no_model_and_what_cannot_be_asked(self):
        for code, words, *arguments in (
                (UNREADABLE, "no-such", "no-such/config.json"), (MALFORMED, "<stdin>:1:3", "-"),
                (USAGE, "--length", "gpt2", "--length", "0"), (USAGE, "--force", "gpt2", "--force"),
                (USAGE, "--set-against", "gpt2", "--set-against", "base=1"), (USAGE, "standard input", "-", "-"),
                (USAGE, "standard input", "-", "--against", "-"), (USAGE, "MODEL")):
            run = posenc("report", *arguments, stdin=b"[1")
            self.assertEqual((run.code, run.out), (code, ""), run.err)
            self.assertIn(words, run.err)


tool.main()
