"""posenc compare: files, presets and pipes against each other."""
import json
import pathlib
import sys
import tempfile

import tool
from tool import posenc, small

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "support"))
from gguf_file import Gguf  # noqa: E402

SAME, DIFFER, USAGE, UNREADABLE, MALFORMED, ROW_ORDER = 0, 1, 2, 3, 4, 6


def swapped(difference):
    """What A says of B, as B says it of A."""
    return {"kind": difference["kind"], "where_a": difference["where_b"], "where_b": difference["where_a"],
            "a": difference["b"], "b": difference["a"]}


class CompareTest(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, **changes):
        path = self.folder / name
        path.write_bytes(small(**changes))
        return path

    def write_pairings(self):
        """Two models that differ in the pairing alone: interleaved and half."""
        gptj = {"model_type": "gptj", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 2048, "rotary_dim": 16}
        neox = {"model_type": "gpt_neox", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4,
                "max_position_embeddings": 2048, "rotary_pct": 1.0, "rotary_emb_base": 10000}
        paths = []
        for name, config in (("gptj.json", gptj), ("neox.json", neox)):
            paths.append(self.folder / name)
            paths[-1].write_text(json.dumps(config))
        return paths

    def compare(self, *arguments, stdin=b"", code=None):
        """The JSON, which is valid and agrees with the exit code: that of the verdict, where `code` is left out."""
        got = posenc("compare", *arguments, "--json", stdin=stdin)
        self.assertEqual(got.err, "")
        found = json.loads(got.out)
        tool.schema_validator("compare").validate(found)
        by_verdict = SAME if found["verdict"] == "same" else DIFFER
        self.assertEqual(got.code, by_verdict if code is None else code)
        page = posenc("compare", *arguments, stdin=stdin)
        self.assertEqual((page.code, page.err), (got.code, ""))
        self.assert_page(page.out)
        return found


class Warnings(CompareTest):
    def test_those_of_either_side_are_shown(self):
        a, b = self.write("a.json"), self.write("b.json", rope_scaling={"type": "linear", "factor": 2.0, "facter": 3})
        said = json.loads(posenc("inspect", b, "--json").out)["warnings"]
        self.assertEqual(len(said), 1)
        for words in ((a, b), (b, a)):
            page = " ".join(posenc("compare", *words).out.split())
            self.assertIn(f"{said[0]['code']}: {said[0]['message']}", page)


class Verdicts(CompareTest):
    def test_a_model_and_itself(self):
        found = self.compare(self.write("a.json"), "-", stdin=small())
        self.assertEqual(found["verdict"], "same")
        self.assertEqual({d["where_a"] for d in found["differences"]}, {"/source/name"})
        self.assertEqual([keys["use"] for keys in found["cached_keys"]], ["as_they_are"])
        self.assertEqual(found["angles"], [])

    def test_a_base(self):
        # Head dim 16: pair p rotates by base^(-p/8), p = 0 .. 7. Between 10000 and 50000 pair 1 is apart the most.
        apart = [10000 ** (-p / 8) - 50000 ** (-p / 8) for p in range(8)]
        found = self.compare(self.write("a.json"), self.write("b.json", rope_theta=50000.0), "--tolerance", "1")
        self.assertEqual(found["verdict"], "differ")
        base, = (d for d in found["differences"] if d["kind"] == "substance")
        self.assertEqual(base, {"kind": "substance", "where_a": "/stacks/0/layers/0-2/rotate/0/base",
                                "where_b": "/stacks/0/layers/0-2/rotate/0/base", "a": 10000, "b": 50000})
        angles, = found["angles"]
        self.assertEqual((angles["layers_a"], angles["pairs"], angles["pair"]), ("0-2", 8, apart.index(max(apart))))
        self.assertAlmostEqual(angles["inv_freq_difference"], max(apart), delta=1e-15)
        first = next(n for n in range(2048) if n * max(apart) > 1)
        self.assertEqual(angles["first_position"], first)
        self.assertAlmostEqual(angles["end_difference"], 2047 * max(apart), delta=1e-11)
        keys, = found["cached_keys"]
        self.assertEqual((keys["use"], keys["because"]), ("rotated", ["frequencies"]))

    def test_layers_and_heads(self):
        found = self.compare(self.write("a.json"), self.write("b.json", num_hidden_layers=2, num_key_value_heads=4))
        facts = {(d["where_a"], d["where_b"]): (d["a"], d["b"])
                 for d in found["differences"] if d["kind"] == "substance"}
        self.assertEqual(facts, {("/stacks/0/layers/0-1/kv_heads",) * 2: (2, 4),
                                 ("/stacks/0/layers/2/kind", None): ("attention", None)})
        self.assertEqual([(k["layers_a"], k["layers_b"], k["because"]) for k in found["cached_keys"]],
                         [("0-1", "0-1", ["kv_heads"]), ("2", None, ["absent"])])

    def test_the_pairing_alone(self):
        paths = self.write_pairings()
        found = self.compare(*paths)
        self.assertEqual(found["verdict"], "same_but_pairing")
        pairing, = found["pairings"]
        self.assertEqual((pairing["a"], pairing["b"]), ("interleaved", "half"))
        self.assertEqual(pairing["rows"], [*range(0, 16, 2), *range(1, 16, 2)])
        self.assertEqual(found["cached_keys"][0]["use"], "reordered")

    def test_the_row_order_of_ggufs_own_conversion(self):
        keys = {"general.architecture": "llama", "llama.block_count": 3, "llama.context_length": 2048,
                "llama.embedding_length": 64, "llama.attention.head_count": 4, "llama.attention.head_count_kv": 2,
                "llama.rope.freq_base": 10000.0}

        def gguf(name, **changes):
            file = Gguf()
            for key, value in {**keys, **changes}.items():
                file.key(key, value)
            path = self.folder / name
            path.write_bytes(file.tensor("output_norm.weight", [4]).bytes())
            return path

        config, right = self.write("config.json"), gguf("right.gguf")
        for pair in ((config, right), (right, config)):
            self.assertEqual(self.compare(*pair, code=ROW_ORDER)["verdict"], "same_but_pairing")
            self.compare(*pair, "--ignore", "row-order", code=SAME)
        self.compare(right, right)
        # Anything besides is a difference, whatever is ignored.
        wrong = gguf("wrong.gguf", **{"llama.rope.freq_base": 500000.0})
        for more in ([], ["--ignore", "row-order"]):
            self.compare(config, wrong, *more, code=DIFFER)
        # Of two configs no conversion made it.
        gptj, neox = self.write_pairings()
        self.compare(gptj, neox, "--ignore", "row-order", code=DIFFER)
        self.assert_fails(posenc("compare", config, right, "--ignore", "rows"), USAGE, "--ignore: expected one of row-order")

    def test_a_learned_table_of_another_context(self):
        config = {"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 128}
        path = self.folder / "gpt2.json"
        path.write_text(json.dumps(config))
        for context, code in ((128, SAME), (256, DIFFER)):
            file = Gguf()
            for key, value in {"general.architecture": "gpt2", "gpt2.block_count": 2, "gpt2.context_length": context,
                               "gpt2.embedding_length": 64, "gpt2.attention.head_count": 4}.items():
                file.key(key, value)
            model = self.folder / "gpt2.gguf"
            model.write_bytes(file.tensor("position_embd.weight", [64, 128]).bytes())
            found = self.compare(path, model, code=code)
            facts = {d["where_a"] for d in found["differences"] if d["kind"] == "substance"}
            self.assertEqual(facts, set() if code == SAME else {"/trained_length"})

    def test_a_length_is_used(self):
        dynamic = self.write("dynamic.json", rope_scaling={"rope_type": "dynamic", "factor": 4.0})
        plain = self.write("plain.json")
        self.assertEqual(self.compare(plain, dynamic, "--length", 2048)["angles"], [])
        beyond = self.compare(plain, dynamic, "--length", 8192)
        self.assertEqual((beyond["length"], len(beyond["angles"])), (8192, 1))

    def test_a_tolerance_decides(self):
        # The base (1 + t): pair 1 turns by t/8 10000^(-1/8) less, 80.9 t at position 2047.
        near = self.write("near.json", rope_theta=10000.0 * (1 + 1e-5))
        plain = self.write("plain.json")
        self.assertEqual(self.compare(plain, near)["verdict"], "same")
        self.assertEqual(self.compare(plain, near, "--tolerance", "7e-4")["verdict"], "differ")

    def test_facts_left_open(self):
        found = posenc("compare", self.write("a.json", model_type="made_up_by_a_test", rope_theta=None), "llama-3.1-8b")
        self.assertEqual(found.code, DIFFER)
        self.assertIn("not known in full", " ".join(found.out.split()))


class Models(CompareTest):
    def test_every_preset_with_itself_and_the_next(self):
        names = tool.presets()
        for a, b in zip(names, names[1:] + names[:1]):
            with self.subTest(a=a, b=b):
                there, back = self.compare(a, b), self.compare(b, a)
                self.assertEqual(there["verdict"], back["verdict"])
                self.assertEqual(sorted(map(json.dumps, there["differences"])),
                                 sorted(map(json.dumps, map(swapped, back["differences"]))))
                self.assertEqual({k["use"] for k in there["cached_keys"]}, {k["use"] for k in back["cached_keys"]})
        self.assertEqual(self.compare(names[0], names[0])["differences"], [])

    def test_facts_that_everybody_can_check(self):
        found = self.compare("llama-3.1-8b", "llama-3.1-70b")
        facts = {d["where_a"]: (d["a"], d["b"]) for d in found["differences"]}
        self.assertEqual(facts["/stacks/0/layers/0-31/heads"], (32, 64))
        self.assertEqual([k["use"] for k in found["cached_keys"]], ["as_they_are", "not_at_all"])
        page = posenc("compare", "llama-2-7b", "llama-3.1-8b").out
        self.assertTrue(page.startswith("differ in substance: kv_heads, rotate.base, rotate.scaling"), page)


class Errors(CompareTest):
    def test_which_of_the_two(self):
        good, bad = self.write("good.json"), self.write("bad.json", rope_theta=-1)
        self.assert_fails(posenc("compare", good, bad), MALFORMED, f"posenc: B: {bad}:", "/rope_theta")
        self.assert_fails(posenc("compare", bad, good), MALFORMED, f"posenc: A: {bad}:")
        self.assert_fails(posenc("compare", good, self.folder / "none.json"), UNREADABLE, "posenc: B: ")
        self.assert_fails(posenc("compare", "llama-3.1-8", good), UNREADABLE, "posenc: A: ", "did you mean")
        self.assert_fails(posenc("compare", "-", good, stdin=b"{"), MALFORMED, "posenc: A: <stdin>")

    def test_both(self):
        bad = self.write("bad.json", rope_theta=-1)
        both = posenc("compare", bad, self.folder / "none.json")
        self.assert_fails(both, MALFORMED, "posenc: A: ")
        self.assertEqual([line[:10] for line in both.err.splitlines() if line.startswith("posenc")],
                         ["posenc: A:", "posenc: B:"])


tool.main()
