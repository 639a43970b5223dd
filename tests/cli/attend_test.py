"""posenc attend: what comes out, against the formula in float64; and what is refused."""
import json
import math

import tensors
import tolerances
import tool
from attending import CHANNELS, HEADS, KEY_HEADS, KEYS, QUERIES, AttendingTest
from tensors import Rotation, Tensor, random_tensor, read_npy, read_safetensors, write_npy, write_numbers, write_safetensors
from tool import posenc

ROUNDINGS = tolerances.score_roundings(CHANNELS, terms=1)
PLAIN = Rotation(CHANNELS)
BLOOM = {"model_type": "bloom", "hidden_size": 64, "n_head": 4, "n_layer": 2}
T5 = {"model_type": "t5", "d_model": 64, "d_kv": 16, "num_heads": 4, "num_layers": 2, "d_ff": 64,
      "relative_attention_num_buckets": 8, "relative_attention_max_distance": 16}
SINKS = {"model_type": "gpt_oss", "hidden_size": 64, "head_dim": 16, "num_attention_heads": 4, "num_key_value_heads": 2,
         "num_hidden_layers": 2, "sliding_window": 2, "max_position_embeddings": 64,
         "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
         "layer_types": ["sliding_attention", "full_attention"]}


class AttendTest(AttendingTest):
    def expected(self, seen=lambda i, j: j <= i, q_at=lambda i: KEYS - QUERIES + i, k_at=lambda j: j, rotation=PLAIN,
                 bias=lambda h, i, j: 0.0, sinks=None, scale=1 / math.sqrt(CHANNELS)):
        """[QUERIES][HEADS][CHANNELS] of values and what they may be off; i and j by order, i of the first query KEYS -
        QUERIES."""
        def rotated(x, place):
            return rotation.head(x, place) if rotation else x

        def head(tensor, t, h):
            return [tensor.at(t, h, c) for c in range(CHANNELS)]

        out = []
        for n in range(QUERIES):
            i = KEYS - QUERIES + n
            row = []
            for h in range(HEADS):
                of = h * self.k.shape[1] // HEADS
                q = rotated(head(self.q, n, h), q_at(n))
                keys = [j for j in range(KEYS) if seen(i, j)]
                scores = [bias(h, i, j) + scale * sum(a * b for a, b in zip(q, rotated(head(self.k, j, of), k_at(j))))
                          for j in keys]
                weights = [math.exp(score) for score in scores]
                all_of_it = sum(weights) + (math.exp(sinks[h]) if sinks else 0.0)
                weights = [weight / all_of_it for weight in weights]
                sizes = [abs(bias(h, i, j)) + scale * math.hypot(*q) * math.hypot(*head(self.k, j, of)) for j in keys]
                row.append([])
                for c in range(CHANNELS):
                    values = [self.v.at(j, of, c) for j in keys]
                    value = sum(w * v for w, v in zip(weights, values))
                    row[-1].append((value, tolerances.attended(ROUNDINGS, sizes, weights, values, value)))
            out.append(row)
        return out

    def assert_near(self, out, expected):
        for t, row in enumerate(expected):
            for h, values in enumerate(row):
                for c, (value, bound) in enumerate(values):
                    self.assertAlmostEqual(out.at(t, h, c), value, delta=bound + tolerances.stored(out.dtype, value),
                                           msg=(t, h, c))


class Values(AttendTest):
    def test_a_plain_layer(self):
        self.assert_near(self.attended(), self.expected())

    def test_every_dtype(self):
        for dtype in ("f16", "bf16"):
            with self.subTest(dtype):
                self.q = random_tensor(self.q.shape, dtype, 4)
                self.k = random_tensor(self.k.shape, dtype, 5)
                self.v = random_tensor(self.v.shape, dtype, 6)
                out = self.attended()
                self.assertEqual(out.dtype, dtype)
                self.assert_near(out, self.expected())

    def test_every_layout(self):
        for layout in ("htd", "bhtd", "bthd"):
            with self.subTest(layout):
                given = {}
                for flag in "qkv":
                    tensor = getattr(self, flag)
                    t, h, d = tensor.shape
                    sizes = {"b": 1, "t": t, "h": h, "d": d}
                    by_token = layout.index("t") < layout.index("h")
                    values = tensor.values if by_token else [tensor.at(n, m, c) for m in range(h) for n in range(t)
                                                             for c in range(d)]
                    given[flag] = Tensor("f32", tuple(sizes[axis] for axis in layout), values)
                out = self.attended("--layout", layout, **given)
                self.assertEqual(len(out.shape), len(layout))
                order = [out.at(*[{"b": 0, "t": n, "h": m, "d": c}[axis] for axis in layout])
                         for n in range(QUERIES) for m in range(HEADS) for c in range(CHANNELS)]
                self.assert_near(Tensor("f32", self.q.shape, order), self.expected())

    def test_positions(self):
        for words, q_at, k_at in [
            (["--positions", "100"], lambda i: 102 + i, lambda j: 100 + j),
            (["--positions", "9,7,5,3,1"], lambda i: 5 - 2 * i, lambda j: 9 - 2 * j),
            (["--positions", "0", "--q-positions", "50"], lambda i: 50 + i, lambda j: j),
        ]:
            with self.subTest(words):
                self.assert_near(self.attended(*words), self.expected(q_at=q_at, k_at=k_at))

    def test_keys_that_are_rotated(self):
        cached = Tensor("f32", self.k.shape, tensors.decoded("f32", tensors.encoded("f32", [
            x for j in range(KEYS) for h in range(KEY_HEADS)
            for x in PLAIN.head([self.k.at(j, h, c) for c in range(CHANNELS)], j)])))
        self.assert_near(self.attended("--k-rotated", k=cached), self.expected())

    def test_threads_and_instruction_sets(self):
        whole = self.attended().values
        for threads in (1, 3):
            self.assertEqual(self.attended("--threads", threads).values, whole)
        self.assert_near(self.attended("--isa", "scalar"), self.expected())

    def test_products_of_bfloat16(self):
        isas = json.loads(posenc("info", "--json").out)["kernels"]
        for isa in isas:
            with self.subTest(isa):
                # Of 64 queries: beside a few there are none.
                given = {flag: random_tensor((64, *getattr(self, flag).shape[1:]), seed=8) for flag in "qkv"}
                reports, outs = [], []
                for products in ("f32", "bf16"):
                    words = self.words("--products", products, "--isa", isa, "--json", "--check", "--force", **given)
                    got = posenc(*words)
                    self.assertEqual((got.code, got.err), (0, ""))
                    reports.append(json.loads(got.out))
                    outs.append(read_npy(self.folder / "out.npy").values)
                has_them = isa in ("avx512_bf16", "amx")
                self.assertEqual([report["products"] for report in reports], ["f32", "bf16" if has_them else "f32"])
                self.assertEqual(outs[0] != outs[1], has_them)
                page = posenc(*self.words("--products", "bf16", "--isa", isa, "--force", **given)).out
                self.assertRegex(page, r"products +bf16" if has_them else r"products +f32")

    def test_masks(self):
        self.assert_near(self.attended("--mask", "none"), self.expected(seen=lambda i, j: True))
        numbers = [int((i + j) % 2 == 0) for i in range(QUERIES) for j in range(KEYS)]
        for kind in "Bqi":
            mask = write_numbers(self.folder / f"mask_{kind}.npy", kind, (QUERIES, KEYS), numbers)
            self.assert_near(self.attended("--mask", mask),
                             self.expected(seen=lambda i, j: (i - (KEYS - QUERIES) + j) % 2 == 0))

    def test_a_query_that_sees_nothing(self):
        mask = write_numbers(self.folder / "mask.npy", "B", (QUERIES, KEYS), [0] * KEYS + [1] * KEYS * (QUERIES - 1))
        self.assertEqual(set(self.attended("--mask", mask).values[:HEADS * CHANNELS]), {0.0})

    def test_lse_stands_beside_the_output(self):
        got = posenc(*self.words("--lse", "--mask", "none", out="out.safetensors"))
        self.assertEqual((got.code, got.err), (0, ""))
        both = read_safetensors(self.folder / "out.safetensors")
        self.assertEqual(both["out"].shape, self.q.shape)
        self.assertEqual(both["lse"].shape, (QUERIES, HEADS))
        self.assertTrue(all(math.log(KEYS) - 10 < x < math.log(KEYS) + 10 for x in both["lse"].values))


class Pieces(AttendTest):
    def test_many_queries_as_the_last_of_them(self):
        """Queries are attended in pieces of 1024: the last ones alone are the same but for rounding."""
        many = {flag: random_tensor((1030, heads, CHANNELS), seed=11)
                for flag, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS))}
        whole = self.attended(**many)
        width = HEADS * CHANNELS
        last = self.attended(**{**many, "q": Tensor("f32", (10, HEADS, CHANNELS), many["q"].values[-10 * width:])})
        longest = {flag: max(math.hypot(*x.values[at:at + CHANNELS]) for at in range(0, len(x.values), CHANNELS))
                   for flag, x in many.items()}
        bound = tolerances.attended_anywhere(ROUNDINGS, longest["q"] * longest["k"] / math.sqrt(CHANNELS), 1030,
                                             max(map(abs, many["v"].values)))
        for a, b in zip(whole.values[-10 * width:], last.values):
            self.assertAlmostEqual(a, b, delta=2 * bound)


class Schemes(AttendTest):
    def test_alibi(self):
        self.k, self.v = (random_tensor((KEYS, HEADS, CHANNELS), seed=seed) for seed in (7, 8))
        out = self.attended(model=self.write_model(BLOOM, "bloom.json"))
        self.assert_near(out, self.expected(rotation=None, bias=lambda h, i, j: -2.0**(-2 * (h + 1)) * (i - j)))

    def test_a_window_and_sinks(self):
        model = self.write_model(SINKS, "sinks.json")
        sinks = random_tensor((HEADS,), seed=9)
        tables = write_safetensors(self.folder / "tables.safetensors", {"sinks": sinks})
        words = ["--weights", tables, "--layer"]
        self.assert_near(self.attended(*words, 0, model=model),
                         self.expected(seen=lambda i, j: i - 2 < j <= i, sinks=sinks.values))
        self.assert_near(self.attended(*words, 1, model=model), self.expected(sinks=sinks.values))

    def test_a_learned_table(self):
        """T5's buckets of the nearest distances are the distances; as many more are for keys ahead."""
        self.k, self.v = (random_tensor((KEYS, HEADS, CHANNELS), seed=seed) for seed in (7, 8))
        first = KEYS - QUERIES
        table = random_tensor((8, HEADS), seed=10)
        tables = write_safetensors(self.folder / "tables.safetensors", {"table": table})
        band = write_numbers(self.folder / "band.npy", "B", (QUERIES, KEYS),
                             [int(abs(first + n - j) < 2) for n in range(QUERIES) for j in range(KEYS)])
        out = self.attended("--stack", "encoder", "--weights", tables, "--mask", band,
                            model=self.write_model(T5, "t5.json"))
        self.assert_near(out, self.expected(rotation=None, scale=1.0, seen=lambda i, j: abs(i - j) < 2,
                                            bias=lambda h, i, j: table.at(abs(i - j) + (4 if j > i else 0), h)))


class Refusals(AttendTest):
    def refused(self, code, complaint, *words, **given):
        got = posenc(*self.words(*words, **given))
        self.assertEqual(got.code, code, got)
        self.assertEqual(got.out, "")
        self.assertIn(complaint, got.err)
        self.assertFalse((self.folder / given.get("out", "out.npy")).exists())

    def test_tensors_that_do_not_fit(self):
        self.refused(4, f"--q: {self.folder}/q.npy: expected 4 query heads of 16 channels", q=self.k)
        self.refused(4, f"--v: {self.folder}/v.npy: expected 2 KV heads of 16 channels", v=self.q)
        self.refused(4, "--v: decoder layers 0-2: [attend] v.shape must have the tokens of k", v=random_tensor((KEYS + 1, KEY_HEADS, CHANNELS)))
        self.refused(2, "--q-positions is needed", "--positions", "0", q=random_tensor((KEYS + 1, HEADS, CHANNELS)))

    def test_errors_name_the_flag(self):
        none = self.folder / "none.npy"
        for flag in ("--q", "--k", "--v", "--positions", "--q-positions", "--mask", "--weights"):
            got = posenc(*self.words(), flag, none)
            if flag in ("--q", "--k", "--v"):
                line = self.words()
                line[line.index(flag) + 1] = none
                got = posenc(*line)
            self.assertEqual(got.code, 3, got)
            self.assertIn(f"posenc: {flag}: {none}: ", got.err)
        for flag in ("--positions", "--q-positions"):
            self.refused(2, f"posenc: {flag}: expected a start", flag, "1,,2")
            self.refused(2, f"posenc: {flag}: ", flag, "1,2")  # as many as there are tokens
            floats = write_npy(self.folder / "halves.npy", random_tensor((KEYS,), "f16"))
            self.refused(4, f"posenc: {flag}: {floats}: expected positions as i64, i32, f64 or f32, got f16", flag, floats)
        self.refused(3, f"posenc: -o: {self.folder}/none/out.npy: no such directory", out="none/out.npy")

    def test_masks_that_do_not_fit(self):
        floats = write_numbers(self.folder / "floats.npy", "f", (QUERIES, KEYS), [0.0] * QUERIES * KEYS)
        self.refused(4, "expected booleans or integers", "--mask", floats)
        other = write_numbers(self.folder / "other.npy", "B", (KEYS, QUERIES), [1] * QUERIES * KEYS)
        self.refused(4, f"expected [{QUERIES}, {KEYS}]", "--mask", other)
        self.refused(3, "--mask", "--mask", self.folder / "none.npy")

    def test_tables_that_are_missing(self):
        model = self.write_model(SINKS, "sinks.json")
        self.refused(4, "with sinks", "--layer", 0, model=model)
        tables = write_safetensors(self.folder / "t.safetensors", {"sink": random_tensor((HEADS,))})
        self.refused(4, "did you mean sink?", "--layer", 0, "--weights", tables, model=model)
        self.refused(2, "has no learned tables", "--weights", tables)

    def test_layers_that_differ(self):
        self.refused(2, "--layer is needed", model=self.write_model(SINKS, "sinks.json"))
        self.refused(2, "--layer 7", "--layer", 7)
        self.refused(4, "no cross-attention", "--cross")

    def test_what_the_machine_has_not(self):
        self.refused(2, "--isa: expected one of", "--isa", "sse9")
        self.refused(2, "--threads: expected a whole number from 1 to 1024", "--threads", "0")

    def test_outputs(self):
        self.refused(2, "out and lse are two", "--lse")
        self.refused(3, "no such directory", out="none/out.npy")
        (self.folder / "there.npy").write_bytes(b"")
        got = posenc(*self.words(out="there.npy"))
        self.assertEqual(got.code, 3)
        self.assertIn("--force", got.err)


class Report(AttendTest):
    def test_json(self):
        got = posenc(*self.words("--json", "--check"))
        self.assertEqual((got.code, got.err), (0, ""))
        report = json.loads(got.out)
        self.assertEqual([t["name"] for t in report["tensors"]], ["q", "k", "v"])
        self.assertEqual(report["check"]["tokens"], QUERIES)
        self.assertTrue(0 < report["check"]["over_bound"] < 1)
        self.assertEqual((report["stack"], report["layer"]), ("decoder", 0))

    def test_many_queries_are_judged_by_some(self):
        many = {flag: random_tensor((1100, heads, CHANNELS), seed=11)
                for flag, heads in (("q", HEADS), ("k", KEY_HEADS), ("v", KEY_HEADS))}
        got = posenc(*self.words("--json", "--check", **many))
        self.assertEqual((got.code, got.err), (0, ""))
        self.assertTrue(1 < json.loads(got.out)["check"]["tokens"] < 1100)


tool.main()
