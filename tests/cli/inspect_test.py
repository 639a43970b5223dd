"""posenc inspect on built-in models and on small configs."""
import json
import re
import pathlib
import subprocess
import tempfile

import tensors
import tool
from tool import posenc, small


class Presets(tool.ToolTest):
    def test_pages(self):
        for name in tool.presets():
            for more in ([], ["--length", "200000"], ["--layer", "0"]):
                with self.subTest(preset=name, more=more):
                    got = posenc("inspect", name, *more)
                    self.assertEqual((got.code, got.err), (0, ""))
                    self.assert_page(got.out)
                    self.assertEqual(got.out.splitlines()[0], name)

    def test_json(self):
        validator = tool.schema_validator()
        for name in tool.presets():
            with self.subTest(preset=name):
                got = posenc("inspect", name, "--json")
                self.assertEqual((got.code, got.err), (0, ""))
                plan = json.loads(got.out)
                validator.validate(plan)
                self.assertEqual(plan["source"], {"kind": "preset", "name": name})

    def test_facts_that_everybody_can_check(self):
        page = posenc("inspect", "llama-3.1-8b").out
        for fact in ("131072 tokens", "32/8", "0-127", "half", "500000", "llama3 x8", "1/sqrt(d)",
                     "(NeoX, rotate_half): channel p"):
            self.assertIn(fact, page)
        page = posenc("inspect", "deepseek-v3").out
        for fact in ("128-191", "interleaved (GPT-J)", "yarn x40", "192/128", "0.135234"):
            self.assertIn(fact, page)
        page = posenc("inspect", "gemma-3-4b").out
        for fact in ("linear x8", "window 1024", "AAAAABAAAA ABAAAAABAA"):
            self.assertIn(fact, page)

    def test_a_locale_changes_nothing(self):
        plain = posenc("inspect", "llama-3.1-8b", environment={"LC_ALL": "C"})
        for locale in ("de_DE.UTF-8", "de_DE", "tr_TR.UTF-8"):
            self.assertEqual(posenc("inspect", "llama-3.1-8b", environment={"LC_ALL": locale}), plain)


class Configs(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, content, name="config.json"):
        path = self.folder / name
        path.write_bytes(content)
        return path

    def test_a_file_a_folder_and_a_pipe_are_one_plan(self):
        path = self.write(small())
        plans = [json.loads(posenc("inspect", "--json", path).out),
                 json.loads(posenc("inspect", "--json", self.folder).out),
                 json.loads(posenc("inspect", "--json", "-", stdin=small()).out)]
        names = [plan["source"].pop("name") for plan in plans]
        self.assertEqual(plans[0], plans[1])
        self.assertEqual(plans[0], plans[2])
        self.assertEqual(names[0], str(path))

    def test_rotates_and_tables(self):
        # Head dim 16: wavelengths 2 pi 10^(p/2) for p = 0 .. 7: 6.28 to 19869; those of p = 6 (6283) and 7 exceed 2048,
        # p = 5 (1987) does not.
        page = posenc("inspect", self.write(small())).out
        self.assertIn("######..\n", page)
        self.assertIn("2 of 8 pairs (.) do not complete a period within 2048 tokens", " ".join(page.split()))
        self.assertIn("critical dimension 12", " ".join(page.split()))
        self.assertIn("wavelengths 6.283 to 1.987e+04", " ".join(page.split()))

    def test_lists_of_factors_by_length(self):
        # The last wavelength is 19869, by the long list 4 times as much.
        scaling = {"rope_type": "longrope", "short_factor": [1.0] * 8, "long_factor": [4.0] * 8}
        path = self.write(small(model_type="phi3", rope_scaling=scaling, original_max_position_embeddings=1024))
        for more, longest, what in (([], "7.948e+04", "long_factor (beyond 1024 tokens)"),
                                    (["--length", 1025], "7.948e+04", "long_factor (beyond 1024 tokens)"),
                                    (["--length", 1024], "1.987e+04", "short_factor (up to 1024 tokens)")):
            with self.subTest(more=more):
                for layer in ([], ["--layer", 0]):
                    page = posenc("inspect", path, *layer, *more).out
                    self.assertIn(f"to {longest}; {what}", " ".join(page.split()))
        path = self.write(small(rope_scaling={"rope_type": "dynamic", "factor": 2.0}))
        for more, what in (([], "the unscaled base (up to 2048 tokens)"), (["--length", 4096], "the base scaled for 4096 tokens")):
            self.assertIn(what, " ".join(posenc("inspect", path, *more).out.split()))

    def test_numbers_beyond_float32(self):
        path = self.write(small(rope_theta=4e38))
        for more in ([], ["--layer", 0], ["--json"]):
            got = posenc("inspect", path, *more)
            self.assert_fails(got, 4, "/rope_theta: expected a number that float holds", "4e+38")
        # Dynamic NTK stretches it beyond: at this length, not in the file.
        path = self.write(small(rope_theta=3e38, rope_scaling={"rope_type": "dynamic", "factor": 2.0}))
        got = posenc("inspect", path, "--length", 8192)
        self.assertEqual((got.code, got.err), (0, ""))
        self.assertIn("none in float32", got.out)

    def test_clockwise(self):
        path = self.write(small(model_type="nanochat"))
        plan = json.loads(posenc("inspect", path, "--json").out)
        tool.schema_validator().validate(plan)
        usual = json.loads(posenc("inspect", self.write(small(), "usual.json"), "--json").out)
        rotate, other = (p["stacks"][0]["layers"][0]["rotate"][0] for p in (plan, usual))
        self.assertEqual((plan["known"], rotate["rotation_direction"]), (True, "clockwise"))
        self.assertNotIn("rotation_direction", other)
        self.assertEqual(rotate["inv_freq"], [-x for x in other["inv_freq"]])
        page = posenc("inspect", path).out
        self.assert_page(page)
        self.assertIn("half-split (NeoX, rotate_half): channel p with p+8, clockwise;", " ".join(page.split()))
        self.assertIn("wavelengths 6.283 to 1.987e+04", " ".join(page.split()))
        layer = posenc("inspect", path, "--layer", 0).out
        self.assert_page(layer)
        self.assertRegex(layer, r"\n  0 +0,8 -1\.00000000e\+00 +6\.2832\n  1 ")
        self.assertNotIn("clockwise", posenc("inspect", self.folder / "usual.json").out)

    def test_what_a_cache_has_to_know_of_other_tokens(self):
        def shown(config, *more):
            page = posenc("inspect", self.write(json.dumps(config).encode()), *more).out
            self.assert_page(page)
            return " ".join(page.split())

        falcon = {"model_type": "falcon_h1", "num_hidden_layers": 2}
        self.assertIn("state space beside attention, with a state of all tokens", shown(falcon))
        self.assertIn("state space beside attention", shown(falcon, "--layer", 1))
        self.assertIn("keys and values made of 2 tokens before theirs too", shown({"model_type": "zaya"}))
        self.assertIn("convolutions over tokens behind attention and the MLP", shown({"model_type": "inkling_text"}))
        self.assertIn("made of several tokens each", shown({"model_type": "timesfm2_5"}))
        plan = json.loads(posenc("inspect", self.write(json.dumps(falcon).encode()), "--json").out)
        tool.schema_validator().validate(plan)
        layer = plan["stacks"][0]["layers"][1]
        self.assertEqual(layer["mixing"], {"tokens_before": 0, "outputs": False, "beside": "state_space"})
        self.assertEqual(plan["stacks"][0]["fed_by"], "tokens")

    def test_a_length_is_used(self):
        dynamic = small(rope_scaling={"rope_type": "dynamic", "factor": 4.0})
        path = self.write(dynamic)
        within, beyond = (json.loads(posenc("inspect", "--json", path, "--length", n).out) for n in (2048, 8192))
        first = [plan["stacks"][0]["layers"][0]["rotate"][0]["inv_freq"] for plan in (within, beyond)]
        self.assertEqual(beyond["length"], 8192)
        # base * (4 * 8192 / 2048 - 3)^(16 / 14), so that inv_freq[1] = base^(-2 / 16).
        self.assertAlmostEqual(first[0][1], 10000 ** (-1 / 8), delta=1e-15)
        self.assertAlmostEqual(first[1][1], (10000 * 13 ** (8 / 7)) ** (-1 / 8), delta=1e-15)
        self.assertIn("8192 tokens (--length)", posenc("inspect", path, "--length", 8192).out)

    def test_strict(self):
        self.assertEqual(posenc("inspect", "--strict", self.write(small())).code, 0)
        odd = self.write(small(rope_scaling={"rope_type": "linear", "type": "dynamic", "factor": 2.0}), "odd.json")
        self.assertEqual(posenc("inspect", odd).code, 0)
        judged = posenc("inspect", "--strict", odd)
        self.assertEqual(judged.code, 1)
        self.assertEqual(judged.out, posenc("inspect", odd).out)
        self.assertIn("posenc: --strict: 1 warning\n", judged.err)

    def test_brief_has_a_line_for_each_model(self):
        odd = self.write(small(rope_scaling={"rope_type": "linear", "type": "dynamic", "factor": 2.0}), "odd.json")
        page = posenc("inspect", "--brief", "gemma-3-4b", "t5-base", odd)
        self.assertEqual((page.code, page.err), (0, ""))
        head, gemma, t5, last = page.out.splitlines()
        self.assertEqual(head.split(), ["model", "layers", "heads/kv", "positions", "mask", "trained", "notes"])
        # Its config.json: 34 layers of 8 heads and 4 KV heads of 256, local layers with base 1e4 and a window of 1024.
        self.assertEqual(re.split("  +", gemma), ["gemma-3-4b", "34", "8/4", "half 256/256 1e4; half 256/256 1e6 linear x8",
                                                  "window 1024; causal", "131072"])
        self.assertEqual(re.split("  +", t5), ["t5-base", "12+12", "12/12", "t5", "causal; bidirectional", "512"])
        self.assertEqual(re.split("  +", last), [str(odd), "3", "4/2", "half 16/16 1e4 linear x2", "causal", "2048", "1 warning"])
        self.assertNotIn("notes", posenc("inspect", "--brief", "t5-base").out)

    def test_brief_as_json_and_its_verdict(self):
        odd = self.write(small(rope_scaling={"rope_type": "linear", "type": "dynamic", "factor": 2.0}), "odd.json")
        got = posenc("inspect", "--brief", "--json", "--strict", "opt-125m", odd)
        self.assertEqual(got.code, 1)
        self.assertEqual(got.err, f"posenc: --strict: {odd}: 1 warning\n")
        opt, other = json.loads(got.out)["models"]
        self.assertEqual(opt["stacks"], [{"name": "decoder", "layers": 12, "heads": ["12/12"], "positions": ["learned"],
                                          "masks": ["causal"]}])
        self.assertEqual((other["name"], other["warnings"], other["known"]), (str(odd), 1, True))
        set_of_all = posenc("inspect", "--brief", "llama-2-7b", "qwen3-8b", "--set", "base=7e6").out
        self.assertEqual(set_of_all.count(" 7e6 "), 2)

    def test_brief_of_a_file_that_is_not_there_prints_nothing(self):
        self.assert_fails(posenc("inspect", "--brief", "gpt2", "no/such.json"), 3, "no/such.json")
        self.assert_fails(posenc("inspect", "--brief", "-", "-"), 2, "only one model can be standard input")
        for flag in (["--layer", "0"], ["--stack", "decoder"], ["--patch", "--set", "base=1"]):
            self.assert_fails(posenc("inspect", "--brief", "gpt2", *flag), 2, f"--brief and {flag[0]} exclude each other")

    def test_unknown_families_are_named_unknown(self):
        path = self.write(small(model_type="made_up_by_a_test", rope_theta=None))
        page = posenc("inspect", path)
        self.assertEqual(page.code, 0)
        self.assertIn("could not be decided", page.out)
        self.assertEqual(posenc("inspect", "--strict", path).code, 1)

    def test_text_of_a_file_cannot_reach_the_terminal(self):
        evil = "\x1b]0;x\x07\x9b31m\u202e\x00"
        path = self.write(small(**{"model_type": evil, evil: 1, "architectures": [evil]}))
        got = posenc("inspect", path)
        self.assertIn(got.code, (0, 4))
        self.assert_safe(got.out + got.err)
        self.assertNotIn("\u202e", got.out + got.err)
        self.assertIn("\\x1b", got.out + got.err)

    def test_a_file_comes_before_a_preset(self):
        self.write(small(), "llama-3.1-8b")
        plan = json.loads(posenc("inspect", "--json", "llama-3.1-8b", cwd=self.folder).out)
        self.assertEqual((plan["source"]["kind"], plan["trained_length"]), ("config.json", 2048))

    def test_long_names_stay_in_their_lines(self):
        long = self.folder / ("x" * 120)
        long.mkdir()
        (long / "config.json").write_bytes(small(**{"key_" + "y" * 300: 1}))
        got = posenc("inspect", long)
        self.assertEqual(got.code, 0, got.err)
        self.assert_page(got.out)



class Lengths(tool.ToolTest):
    YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}

    def page(self, **changes):
        got = posenc("inspect", "-", stdin=small(**changes))
        self.assertEqual((got.code, got.err), (0, ""))
        self.assert_page(got.out)
        return " ".join(got.out.split())

    def test_scaled_wavelengths_are_judged_by_the_scaled_length(self):
        page = self.page(rope_scaling=self.YARN, head_dim=128)
        self.assertIn("trained 2048 tokens; scaled to 8192", page)
        self.assertIn("do not complete a period within 8192 tokens", page)
        self.assertIn("in the last 64 positions before 8192", page)

    def test_trained_and_original_are_told_apart(self):
        page = self.page(rope_scaling=self.YARN, max_position_embeddings=8192, head_dim=128)
        self.assertIn("trained 8192 tokens; 2048 before scaling", page)
        self.assertIn("within 8192 tokens", page)
        self.assertIn("trained 131072 tokens; 8192 before scaling", " ".join(posenc("inspect", "llama-3.1-8b").out.split()))
        self.assertIn("trained 2048 tokens source", self.page())


class MisspelledKeys(tool.ToolTest):
    def warnings(self, **changes):
        return json.loads(posenc("inspect", "-", "--json", stdin=small(**changes)).out)["warnings"]

    def test_the_original_length_gives_one_warning_with_its_cause(self):
        for rule in ({"rope_type": "yarn", "factor": 4.0}, {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                                            "high_freq_factor": 4.0}):
            [warning] = self.warnings(rope_scaling={**rule, "original_max_position_embedings": 512})
            self.assertEqual((warning["code"], warning["keys"]),
                             ("unknown-key", ["/rope_scaling/original_max_position_embedings"]))
            self.assertEqual(warning["message"],
                             "/rope_scaling/original_max_position_embedings is not a key that is known here; "
                             "original_max_position_embeddings is. original_max_position_embeddings is not given; the "
                             "trained length, 2048, stands for it.")

    def test_what_is_merely_absent_and_what_is_merely_unknown(self):
        self.assertEqual([w["code"] for w in self.warnings(rope_scaling={"rope_type": "yarn", "factor": 4.0})],
                         ["missing-original-length"])
        self.assertEqual([w["code"] for w in self.warnings(rope_scaling={"rope_type": "linear", "factor": 4.0, "zebra": 1})],
                         ["unknown-rope-key"])
        given = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}
        self.assertEqual([w["code"] for w in self.warnings(rope_scaling=given)], ["factor-mismatch"])
        self.assertEqual([w["code"] for w in self.warnings(rope_scaling=given, rope_thetta=5.0)],
                         ["unknown-key", "factor-mismatch"])


class Names(tool.ToolTest):
    """Of a plan that was changed by hand, or of the command line."""

    def test_axes_are_escaped_wherever_they_are_printed(self):
        evil = "t\x1b[31m"
        plan = json.loads(posenc("inspect", "-", "--json", stdin=json.dumps(
            {"model_type": "gemma4_vision", "head_dim": 16, "hidden_size": 64, "num_attention_heads": 4,
             "num_key_value_heads": 2, "num_hidden_layers": 1, "position_embedding_size": 64,
             "rope_parameters": {"rope_theta": 50.0, "rope_type": "default"}}).encode()).out)
        text = json.dumps(plan)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "plan.json"
            for name in ("w", "h", "t"):
                path.write_text(text.replace(f'"{name}"', json.dumps(name + "\x1b[31m")))
                tensors.write_npy(path.with_name("q.npy"), tensors.random_tensor((3, 4, 16)))
                for words in (["inspect", path], ["inspect", path, "--layer", "0"], ["compare", path, "gpt2"],
                              ["rotate", "--model", path, "--q", path.with_name("q.npy"), "-o", path.with_name("o.npy")],
                              ["rotate", "--model", path, "--q", path.with_name("q.npy"), "-o", path.with_name("o.npy"),
                               "--rotation", "0"], ["plot", "rotation", "--model", path, "--rotation", "0"]):
                    got = posenc(*words)
                    self.assert_safe(got.out)
                    self.assert_safe(got.err)
        sinusoids = json.loads(posenc("inspect", "whisper-medium", "--json").out)
        for stack in sinusoids["stacks"]:
            for one in stack["input"]:
                if "axis" in one:
                    one["axis"] = evil
        got = posenc("inspect", "-", stdin=json.dumps(sinusoids).encode())
        self.assert_safe(got.out)

    def test_json_of_a_name_that_is_not_utf8_is_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            tensors.write_npy(path / "q.npy", tensors.random_tensor((3, 4, 16)))
            (path / "config.json").write_bytes(small())
            for raw in (b"o\xff.npy", b"o\xc2\x9b.npy", b"o\xe2\x80\xae.npy"):
                run = subprocess.run([tool.TOOL, "rotate", "--model", "config.json", "--q", "q.npy", "-o", raw, "--json"],
                                     cwd=path, capture_output=True, check=False, timeout=60)
                self.assertEqual((run.returncode, run.stderr), (0, b""))
                text = run.stdout.decode("utf-8")
                self.assert_safe(text)
                self.assertEqual(json.loads(text)["out"], raw.decode("utf-8", "replace"))


tool.main()
