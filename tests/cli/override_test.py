"""--set, wherever a command takes a model, and inspect --patch."""
import json
import pathlib
import shlex
import tempfile

import numpy as np

import tool
from tool import posenc, small

OK, DIFFER, USAGE, UNREADABLE = 0, 1, 2, 3
PRESET = "llama-2-7b"


class Set(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def base_of(self, *arguments, stdin=b""):
        got = posenc("inspect", *arguments, "--json", stdin=stdin)
        self.assertEqual((got.code, got.err), (OK, ""))
        plan = json.loads(got.out)
        tool.schema_validator("plan").validate(plan)
        return plan["stacks"][0]["layers"][0]["rotate"][0]["base"]

    def test_a_preset_a_file_a_pipe_and_a_saved_plan(self):
        config = self.folder / "config.json"
        config.write_bytes(small(rope_theta=10000.0))
        saved = self.folder / "plan.json"
        saved.write_text(posenc("inspect", str(config), "--json").out)
        for model in (PRESET, str(config), str(self.folder), str(saved)):
            with self.subTest(model=model):
                self.assertEqual(self.base_of(model), 10000)
                self.assertEqual(self.base_of(model, "--set", "base=77"), 77)
        self.assertEqual(self.base_of("-", "--set", "base=77", stdin=config.read_bytes()), 77)
        # In their order, and as one word too.
        self.assertEqual(self.base_of(PRESET, "--set", "base=77", "--set", "base=78"), 78)
        self.assertEqual(self.base_of("--set=base=77,kv_heads=8", PRESET), 77)

    def test_the_page_says_what_was_set(self):
        page = posenc("inspect", PRESET, "--set", "base=77").out
        self.assertIn(", 1 set; no warnings", page)
        self.assertRegex(page, r"set: base=77 +rotate\.base\n")
        self.assert_page(page)

    def test_every_command_that_takes_a_model(self):
        file = self.folder / "q.npy"
        np.save(file, np.random.default_rng(0).standard_normal((4, 32, 128)).astype(np.float32))
        plain, turned = self.folder / "plain.npy", self.folder / "turned.npy"
        self.assertEqual(posenc("rotate", "--model", PRESET, "--q", str(file), "-o", str(plain)).code, OK)
        self.assertEqual(posenc("rotate", "--model", PRESET, "--set", "base=77", "--q", str(file), "-o", str(turned),
                                "--check").code, OK)
        self.assertFalse(np.array_equal(np.load(plain), np.load(turned)))
        diagnose = ("diagnose", "--before", str(file), "--after", str(turned), "--start", "0", "--model", PRESET)
        self.assertEqual(posenc(*diagnose).code, DIFFER)
        self.assertEqual(posenc(*diagnose, "--set", "base=77").code, OK)
        scale = [str(self.folder / name) for name in ("a.npy", "b.npy")]
        attend = ("attend", "--model", PRESET, "--q", str(file), "--k", str(file), "--v", str(file))
        self.assertEqual(posenc(*attend, "-o", scale[0]).code, OK)
        self.assertEqual(posenc(*attend, "-o", scale[1], "--set", "scale=0.5").code, OK)
        self.assertFalse(np.array_equal(*map(np.load, scale)))
        self.assertEqual(posenc("compare", PRESET, PRESET).code, OK)
        self.assertEqual(posenc("compare", PRESET, PRESET, "--set-b", "base=77").code, DIFFER)
        self.assertEqual(posenc("compare", PRESET, PRESET, "--set-b", "base=77", "--set-a", "base=77").code, OK)
        pictures = [posenc("plot", "wavelengths", "--model", PRESET, *more).out for more in ([], ["--set", "base=77"])]
        self.assertNotEqual(*pictures)
        for command in (["bench", "rotate", "--model"], ["bench", "attend", "--model"], ["demo"]):
            with self.subTest(command=command):
                self.assert_fails(posenc(*command, PRESET, "--set", "bsae=77"), USAGE, "did you mean base?")

    def test_what_it_refuses(self):
        for words, told in {"base": "WORD=VALUE", "base=nan": "finite", "window=none": "without effect", "": "WORD=VALUE",
                            "vision:base=1": "a stack that is there (decoder)", "base=1e400": "finite",
                            "rope_scaling=yarn,factor=0": "factor", "x" * 99999: "WORD=VALUE"}.items():
            with self.subTest(words=words[:30]):
                self.assert_fails(posenc("inspect", PRESET, "--set", words), USAGE, told)
        self.assert_fails(posenc("compare", PRESET, PRESET, "--set-a", "bsae=1"), USAGE, "--set-a: ")
        self.assert_fails(posenc("compare", PRESET, PRESET, "--set", "base=1"), USAGE, "did you mean --set-")
        self.assert_fails(posenc("plot", "wavelengths", "--set", "base=1"), USAGE, "there is no --model")
        # The file is told of before what would be set of it.
        self.assert_fails(posenc("inspect", "nowhere.json", "--set", "bsae=1"), UNREADABLE, "nowhere.json")
        self.assert_fails(posenc("inspect", PRESET, "--set"), USAGE, "--set")


class Patch(tool.ToolTest):
    def forms(self, *arguments, stdin=b""):
        got = posenc("inspect", *arguments, "--patch", "--json", stdin=stdin)
        self.assertEqual((got.code, got.err), (OK, ""))
        found = json.loads(got.out)
        tool.schema_validator("patches").validate(found)
        page = posenc("inspect", *arguments, "--patch", stdin=stdin)
        self.assertEqual((page.code, page.err), (OK, ""))
        for form in found["forms"]:
            if form["flags"]:
                self.assertIn(form["flags"], page.out)
        return {form["form"]: form for form in found["forms"]}

    def test_four_forms(self):
        forms = self.forms("gemma-3-4b", "--set", "base=5e5", "--set", "window=512")
        self.assertEqual(forms["hugging_face_old"]["patch"], [{"op": "add", "path": "/rope_theta", "value": 500000},
                                                              {"op": "add", "path": "/sliding_window", "value": 512}])
        self.assertEqual(forms["llama_cpp"]["flags"],
                         "--rope-freq-base 500000 --override-kv gemma3.attention.sliding_window=int:512")
        flag, text = shlex.split(forms["vllm"]["flags"])
        self.assertEqual(flag, "--hf-overrides")
        overrides = json.loads(text)
        self.assertEqual(overrides["rope_parameters"]["full_attention"],
                         {"rope_theta": 500000, "rope_type": "linear", "factor": 8})
        self.assertEqual(overrides["sliding_window"], 512)
        self.assertEqual([form["unsaid"] for form in forms.values()], [[]] * 4)

    def test_what_a_form_cannot_say(self):
        forms = self.forms("llama-3.1-8b", "--set", "pairing=interleaved,factor=4")
        self.assertIn("pairing", " ".join(forms["hugging_face_old"]["unsaid"]))
        self.assertIn("tensor", " ".join(forms["llama_cpp"]["unsaid"]))
        self.assertIn("pairing", " ".join(forms["vllm"]["unsaid"]))

    def test_standard_input_and_what_is_no_config(self):
        config = small(rope_theta=10000.0)
        self.assertEqual(self.forms("-", "--set", "base=7", stdin=config)["hugging_face_old"]["unsaid"], [])
        saved = posenc("inspect", "-", "--json", stdin=config).out.encode()
        self.assertIn("not tried", self.forms("-", "--set", "base=7", stdin=saved)["hugging_face_old"]["unsaid"][0])

    def test_what_it_refuses(self):
        self.assert_fails(posenc("inspect", PRESET, "--patch"), USAGE, "there is no --set")
        for flag in (["--layer", "0"], ["--stack", "decoder"], ["--strict"]):
            self.assert_fails(posenc("inspect", PRESET, "--set", "base=7", "--patch", *flag), USAGE, "exclude each other")
        self.assert_fails(posenc("inspect", PRESET, "--set", "bsae=7", "--patch"), USAGE, "did you mean base?")


if __name__ == "__main__":
    tool.main()
