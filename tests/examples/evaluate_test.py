"""posenc extend --evaluate: losses and recall of a model that this test makes, by its forward pass in double; results
that go on where they were cut off."""
import json
import math
import pathlib
import tempfile

import tool
from tiny_llama import VOCAB, TinyLlama
from tool import posenc

USAGE, MALFORMED = 2, 4
TO, RANGES = 128, 8


def text_of(tokens):
    return " ".join(map(str, tokens)).encode()


class Evaluate(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = TinyLlama()
        self.whole = self.model.write_folder(self.folder / "whole")
        self.tokens = [(7 * n * n + 3 * n) % VOCAB for n in range(2 * TO)]

    def command(self, tokens, *arguments, checkpoint=None):
        (self.folder / "text").write_bytes(text_of(tokens))
        return ("extend", self.whole, "--to", TO, "--evaluate", checkpoint or self.whole, "--text", self.folder / "text",
                *arguments)

    def measured(self, tokens, *arguments, **keywords):
        run = posenc(*self.command(tokens, *arguments, "--json", **keywords))
        self.assertEqual((run.code, run.err), (0, ""))
        found = json.loads(run.out)["evaluation"]
        return {way["name"]: way for way in found["ways"]}, found

    def losses(self, tokens, *factors):
        """The mean surprise of each range of positions."""
        sums = [[] for _ in range(RANGES)]
        rows = self.model.logits(tokens, *factors)
        for n in range(1, len(tokens)):
            total = math.log(sum(math.exp(x) for x in rows[n - 1]))
            sums[n * RANGES // TO].append(total - rows[n - 1][tokens[n]])
        return [sum(one) / len(one) for one in sums]

    def test_losses_are_the_models(self):
        ways, found = self.measured(self.tokens)
        self.assertEqual((found["windows"], found["length"], found["vocab"]), (2, TO, VOCAB))
        self.assertEqual(found["ranges_from"], list(range(0, TO, TO // RANGES)))
        for name, factor in (("as it is", 1.0), ("linear", 2.0)):
            of_windows = [self.losses(self.tokens[at:at + TO], factor) for at in (0, TO)]
            for is_, wanted in zip(ways[name]["loss"], [sum(pair) / 2 for pair in zip(*of_windows)]):
                self.assertAlmostEqual(is_, wanted, delta=1e-4)
        # Up to half the trained length SelfExtend changes nothing; what is farther it does.
        self.assertEqual(ways["self_extend"]["loss"][:2], ways["as it is"]["loss"][:2])
        self.assertNotEqual(ways["self_extend"]["loss"][7], ways["as it is"]["loss"][7])
        # Of neighbours in turn and of halves: the same model.
        interleaved, _ = self.measured(self.tokens, checkpoint=self.model.write_llama2c(self.folder / "tiny.bin"))
        for name, way in ways.items():
            for a, b in zip(way["loss"], interleaved[name]["loss"]):
                self.assertAlmostEqual(a, b, delta=1e-4)

    def test_a_key_is_recalled_where_it_is_the_likeliest(self):
        """Of a text of one token the key is that token, too."""
        seen = set()
        for token in range(VOCAB):
            row = self.model.logits([token] * 4)[-1]
            wanted = float(max(row) == row[token])
            if wanted in seen or sorted(row)[-1] - sorted(row)[-2] < 0.1:
                continue
            ways, _ = self.measured([token] * TO, "--windows", 1)
            seen.add(wanted)
            for part in ways["as it is"]["recalled"]:
                self.assertEqual(part, wanted, token)
        self.assertEqual(seen, {0.0, 1.0})

    def test_results_go_on(self):
        results = self.folder / "results.jsonl"
        command = self.command(self.tokens, "--results", results)
        whole = posenc(*command)
        self.assertEqual((whole.code, whole.err), (0, ""))
        self.assert_page(whole.out)
        self.assertIn("least loss beyond 64 tokens: ", whole.out)
        lines = results.read_bytes().splitlines(keepends=True)
        self.assertEqual(len(lines), 1 + 11 * 6 * 2)
        # What stands there is not measured again; what was cut off is.
        spoilt = lines[1].replace(lines[1].split(b"[")[1].split(b",")[0], b"77.5")
        for cut in (lines[:1], lines[:40], [*lines[:40], lines[40][:25]]):
            results.write_bytes(b"".join(cut))
            self.assertEqual(posenc(*command), whole)
            self.assertEqual(results.read_bytes().splitlines(keepends=True), lines)
        results.write_bytes(b"".join([lines[0], spoilt, *lines[2:]]))
        self.assertNotEqual(posenc(*command).out, whole.out)

    def test_results_of_something_else(self):
        results = self.folder / "results.jsonl"
        for text in (b"[1, 2]\n", b'{"schema_version": 1}\n'):
            results.write_bytes(text)
            self.assert_fails(posenc(*self.command(self.tokens, "--results", results)), USAGE, "is of another call")
            self.assertEqual(results.read_bytes(), text)
        results.unlink()
        self.assertEqual(posenc(*self.command(self.tokens, "--results", results)).code, 0)
        kept = results.read_bytes()
        self.assert_fails(posenc(*self.command(self.tokens[1:] + [0], "--results", results)), USAGE, "is of another call")
        self.assert_fails(posenc(*self.command(self.tokens, "--windows", 1, "--results", results)), USAGE, "another call")
        self.assert_fails(posenc(*self.command(self.tokens, "--set", "scale=0.5", "--results", results)), USAGE, "another call")
        self.assertEqual(results.read_bytes(), kept)
        results.write_bytes(kept.replace(b'"numbers"', b'"number"', 1))
        self.assert_fails(posenc(*self.command(self.tokens, "--results", results)), USAGE, "line 2 is no result")

    def searched(self, tries, *arguments):
        """What --search found by the second half of the text, and the ways judged by the first."""
        ways, found = self.measured(self.tokens, "--windows", 1, "--search", tries, *arguments)
        return found["search"], ways

    def test_a_search_finds_what_loses_less(self):
        few, _ = self.searched(7)
        starts = {start["name"]: start["loss"] for start in few["starts"]}
        self.assertEqual(list(starts), ["as it is", "linear", "ntk", "dynamic", "yarn", "llama3", "by_pair"])
        self.assertEqual((few["windows"], few["first_token"], few["loss"]), (1, TO, min(starts.values())))
        many, ways = self.searched(30, "--seed", 1)
        self.assertEqual(many["tried"], 30)
        self.assertEqual(many["starts"], few["starts"])
        self.assertLess(many["loss"], few["loss"] - 1e-4)
        factors, of_table = many["factors"], many["attention_factor"]
        self.assertEqual(factors, sorted(factors))
        self.assertTrue(all(factor >= 1 and abs(100 * factor - round(100 * factor)) < 1e-9 for factor in factors))
        # Held to the forward pass in double: chosen on the second half, judged on the first.
        self.assertAlmostEqual(many["loss"], sum(self.losses(self.tokens[TO:], factors, of_table)) / RANGES, delta=1e-4)
        self.assertAlmostEqual(starts["linear"], sum(self.losses(self.tokens[TO:], 2.0)) / RANGES, delta=1e-4)
        for is_, wanted in zip(ways["searched"]["loss"], self.losses(self.tokens[:TO], factors, of_table)):
            self.assertAlmostEqual(is_, wanted, delta=1e-4)
        # Written down and read again it is the same rotation.
        layer = json.loads(posenc("inspect", self.whole, "--json", "--length", TO, "--set", many["set"]).out)["stacks"][0]["layers"][0]
        for factor, frequency, p in zip(factors, layer["rotate"][0]["inv_freq"], range(len(factors))):
            self.assertAlmostEqual(frequency * factor, 10000.0 ** (-p / len(factors)), delta=1e-9)
        self.assertEqual(layer["rotate"][0]["attention_factor"], of_table)
        self.assertEqual([one["form"] for one in many["patches"]], ["hugging_face_old", "hugging_face_new", "llama_cpp", "vllm"])
        self.assertIn("longrope", json.dumps(many["patches"][0]))

    def test_a_search_goes_on_and_is_the_same(self):
        results = self.folder / "results.jsonl"
        words = ("--windows", 1, "--results", results)
        whole = posenc(*self.command(self.tokens, *words, "--search", 12))
        self.assertEqual((whole.code, whole.err), (0, ""))
        self.assert_safe(whole.out)
        self.assertIn("\nsearched: 12 lists of a factor a pair, on 1 window from token 128 on:\n", whole.out)
        table = [line for line in whole.out.splitlines() if line.startswith("searched ")]
        self.assertEqual(len(table), 4)  # by numbers, by loss, by recall, and what it was chosen by
        lines = results.read_bytes().splitlines(keepends=True)
        # Half a search, without one, and with a longer one the same lines are kept.
        results.write_bytes(b"".join(lines[:9]))
        self.assertEqual(posenc(*self.command(self.tokens, *words, "--search", 12)), whole)
        self.assertEqual(results.read_bytes().splitlines(keepends=True), lines)
        self.assertEqual(posenc(*self.command(self.tokens, *words)).code, 0)
        self.assertEqual(results.read_bytes().splitlines(keepends=True), lines)
        self.assertEqual(posenc(*self.command(self.tokens, *words, "--search", 14)).code, 0)
        longer = results.read_bytes().splitlines(keepends=True)
        self.assertEqual(longer[:len(lines)], lines)
        self.assertGreaterEqual(len(longer), len(lines) + 2)
        other = posenc(*self.command(self.tokens, *words, "--search", 12, "--seed", 1))
        self.assertEqual(other.code, 0)
        self.assertNotEqual(results.read_bytes().splitlines(keepends=True), longer)

    def test_what_a_search_needs(self):
        self.assert_fails(posenc(*self.command(self.tokens, "--search", 8)), USAGE, "for --search twice --windows times --to tokens, 512")
        self.assert_fails(posenc(*self.command(self.tokens, "--seed", 8)), USAGE, "--seed is for --search")
        self.assert_fails(posenc("extend", self.whole, "--to", TO, "--search", 8), USAGE, "--search is for --evaluate")
        self.assert_fails(posenc(*self.command(self.tokens, "--search", 0)), USAGE, "--search")
        self.assert_fails(posenc(*self.command(self.tokens, "--windows", 1, "--search", 8, "--from", TO)), USAGE,
                          "--search is for lengths beyond the trained one, 128, but --to is 128")

    def test_what_does_not_fit(self):
        tokens = self.tokens
        self.assert_fails(posenc(*self.command(tokens[:-1])), USAGE, "--text must have --windows times --to tokens, 256")
        self.assert_fails(posenc(*self.command(tokens[:-1] + [VOCAB])), USAGE, f"has token {VOCAB}")
        self.assert_fails(posenc("extend", self.whole, "--to", 127, *self.command(tokens)[4:]), USAGE, "--to must be at least")
        other = TinyLlama(layers=3).write_folder(self.folder / "other")
        self.assert_fails(posenc(*self.command(tokens, checkpoint=other)), USAGE, "it has 3 layers, and the model has 2 layers")
        based = self.model.write_folder(self.folder / "based", rope_theta=500.0)
        self.assert_fails(posenc(*self.command(tokens, checkpoint=based)), USAGE, "base 500")
        self.assert_fails(posenc(*self.command(tokens, checkpoint=self.folder / "none")), MALFORMED, "none")
        (self.folder / "broken.bin").write_bytes(b"12345678")
        self.assert_fails(posenc(*self.command(tokens, checkpoint=self.folder / "broken.bin")), MALFORMED, "broken.bin")
        self.assert_fails(posenc("extend", self.whole, "--to", TO, "--text", "x"), USAGE, "--text is for --evaluate")
        self.assert_fails(posenc("extend", self.whole, "--to", TO, "--evaluate", self.whole), USAGE, "needs a --text")
        self.assert_fails(posenc("extend", self.whole, "--to", TO, "--evaluate", self.whole, "--text", "no-such"), 3, "no-such")


tool.main()
