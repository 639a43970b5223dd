"""posenc rotate: what its outputs say of themselves, and that a rotated tensor is not rotated again unasked."""
import json
import pathlib
import tempfile

import tool
from tensors import random_tensor, read_metadata, read_npy, read_safetensors, write_npy, write_safetensors
from tool import posenc, small

MALFORMED = 4


class Record(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "config.json").write_bytes(small())
        self.q, self.k = random_tensor((6, 4, 16), seed=2), random_tensor((6, 2, 16), seed=3)
        write_npy(self.folder / "q.npy", self.q)
        write_npy(self.folder / "k.npy", self.k)

    def rotate(self, *words):
        return posenc("rotate", "--model", "config.json", *words, cwd=self.folder)

    def done(self, *words):
        got = self.rotate(*words)
        self.assertEqual((got.code, got.err), (0, ""))
        return got.out

    def steps(self, file, tensor="q"):
        return json.loads(read_metadata(self.folder / file)[f"posenc.rotate.{tensor}"])


class Outputs(Record):
    def test_what_was_done(self):
        said = self.done("--q", "q.npy", "--k", "k.npy", "-o", "qk.safetensors", "--positions", "40", "--layer", "1")
        self.assertIn("posenc.rotate.k, posenc.rotate.q in its metadata", " ".join(said.split()))
        for tensor in "qk":
            [step] = self.steps("qk.safetensors", tensor)
            self.assertEqual((step["direction"], step["model"], step["layer"], step["angles"], step["length"]),
                             ("forward", "config.json", "decoder layer 1", "exact", None))
            self.assertEqual(step["positions"], {"least": 40, "most": 45})
            self.assertEqual(f"posenc {step['posenc']}\n", posenc("--version").out)
            for fact in ("16 channels", "base 10000", "half-split"):
                self.assertIn(fact, step["rope"])

    def test_npy_has_no_place_for_it_and_that_is_said(self):
        self.assertIn("record none: .npy has no place for it", " ".join(self.done("--q", "q.npy", "-o", "o.npy").split()))
        self.assertFalse(json.loads(self.done("--q", "q.npy", "-o", "p.npy", "--json"))["recorded"])
        self.assertTrue(json.loads(self.done("--q", "q.npy", "-o", "p.safetensors", "--json"))["recorded"])

    def test_names_that_json_must_escape(self):
        odd = 'a "direction": "inverse" \\ \t.json'
        (self.folder / odd).write_bytes(small())
        got = posenc("rotate", "--model", odd, "--q", "q.npy", "-o", "q.safetensors", cwd=self.folder)
        self.assertEqual(got.code, 0, got)
        self.assertEqual(self.steps("q.safetensors")[0]["model"], odd)
        self.assert_fails(self.rotate("--q", "q.safetensors", "-o", "r.npy"), MALFORMED, "already rotated")


class Twice(Record):
    def setUp(self):
        super().setUp()
        self.done("--q", "q.npy", "--k", "k.npy", "-o", "qk.safetensors")

    def test_refused(self):
        for words in (["--q", "qk.safetensors"], ["--k", "qk.safetensors"], ["--k", "qk.safetensors:k"]):
            self.assert_fails(self.rotate(*words, "-o", "again.npy"), MALFORMED, f"{words[0]}: qk.safetensors:",
                              "already rotated", "posenc.rotate.", "--inverse", "--again")
        self.assertFalse((self.folder / "again.npy").exists())

    def test_again(self):
        self.done("--q", "qk.safetensors", "-o", "again.safetensors", "--again")
        self.assertEqual([step["direction"] for step in self.steps("again.safetensors")], ["forward"] * 2)
        self.done("--q", "qk.safetensors", "-o", "once.npy", "--inverse")
        self.done("--q", "again.safetensors", "-o", "back.safetensors", "--inverse")
        self.assertEqual([step["direction"] for step in self.steps("back.safetensors")], ["forward"] * 2 + ["inverse"])
        self.assert_fails(self.rotate("--q", "back.safetensors", "-o", "n.npy"), MALFORMED, "already rotated")

    def test_there_and_back_and_there(self):
        said = self.done("--q", "qk.safetensors", "-o", "back.safetensors", "--inverse")
        self.assertNotIn("warning", said)
        for was, now in zip(self.q.values, read_safetensors(self.folder / "back.safetensors")["q"].values):
            self.assertAlmostEqual(was, now, delta=1e-6)
        self.done("--q", "back.safetensors", "-o", "there.npy")
        self.assertEqual(len(read_npy(self.folder / "there.npy").values), len(self.q.values))

    def test_back_twice(self):
        self.done("--q", "q.npy", "-o", "back.safetensors", "--inverse")
        self.assert_fails(self.rotate("--q", "back.safetensors", "-o", "n.npy", "--inverse"), MALFORMED,
                          "already rotated back")

    def test_back_in_another_way_is_a_warning(self):
        for words in (["--positions", "1"], ["--angles", "float32"]):
            said = json.loads(self.done("--q", "qk.safetensors", "-o", "o.npy", "--force", "--inverse", "--json", *words))
            self.assertEqual([w["code"] for w in said["warnings"]], ["rotated-otherwise"])
            self.assertIn("qk.safetensors", said["warnings"][0]["message"])

    def test_attention_takes_them_as_rotated_only(self):
        write_npy(self.folder / "v.npy", self.k)
        words = ["attend", "--model", "config.json", "--q", "qk.safetensors", "--k", "qk.safetensors", "--v", "v.npy"]
        for given, flag in (([], "--q-rotated"), (["--q-rotated"], "--k-rotated")):
            got = posenc(*words, *given, "-o", "n.npy", cwd=self.folder)
            self.assert_fails(got, MALFORMED, "already rotated", f"give {flag}")
        self.assertEqual(posenc(*words, "--q-rotated", "--k-rotated", "-o", "a.npy", cwd=self.folder).code, 0)
        plain = ["attend", "--model", "config.json", "--q", "q.npy", "--k", "k.npy", "--v", "v.npy"]
        self.assertEqual(posenc(*plain, "-o", "b.npy", cwd=self.folder).code, 0)
        for a, b in zip(*(read_npy(self.folder / name).values for name in ("a.npy", "b.npy"))):
            self.assertAlmostEqual(a, b, delta=1e-6)

    def test_of_tensors_of_other_names_and_programs(self):
        """Spaces that another program writes; metadata that is none of posenc's."""
        path = self.folder / "other.safetensors"
        for text, times in (('[ { "direction"\t:\n"forward" } ]', 1), ('[{"direction":"inverse"}]', -1), ("", 0),
                            ('[{"note":"\\"direction\\": \\"forward\\""}]', 0)):
            write_safetensors(path, {"x": self.q}, {"posenc.rotate.x": text})
            for direction, sign in ((["--inverse"], -1), ([], 1)):
                got = self.rotate("--q", "other.safetensors:x", "-o", "o.safetensors", "--force", *direction)
                self.assertEqual(got.code, MALFORMED if times == sign else 0, (text, got))
                if got.code == 0:
                    self.assertEqual(self.steps("o.safetensors")[-1]["posenc"],
                                     posenc("--version").out.split()[1])


class Layouts(Record):
    def test_which_was_taken_where_two_fit(self):
        for shape, taken, other in (((1, 4, 4, 16), "bhtd", "bthd"), ((4, 4, 16), "thd", "htd")):
            write_npy(self.folder / "q.npy", random_tensor(shape))
            said = " ".join(self.done("--q", "q.npy", "-o", "o.npy", "--force").split())
            self.assertIn(f"f32 as {taken} (--layout {other} fits too)", said)
            [tensor] = json.loads(self.done("--q", "q.npy", "-o", "o.npy", "--force", "--json"))["tensors"]
            self.assertEqual((tensor["layout"], tensor["other_layout"]), (taken, other))
            # Who has said it is not told.
            self.assertNotIn("fits too", self.done("--q", "q.npy", "-o", "o.npy", "--force", "--layout", other))

    def test_where_one_fits_there_is_nothing_to_say(self):
        self.assertNotIn(" as thd", self.done("--q", "q.npy", "-o", "o.npy"))

    def test_attend_says_it_too(self):
        for name, heads in (("q", 4), ("k", 2), ("v", 2)):
            write_npy(self.folder / f"{name}.npy", random_tensor((4, heads, 16)))
        got = posenc("attend", "--model", "config.json", "--q", "q.npy", "--k", "k.npy", "--v", "v.npy", "-o", "o.npy",
                     cwd=self.folder)
        self.assertIn("q [4, 4, 16] f32 as thd (--layout htd fits too)", " ".join(got.out.split()))


tool.main()
