"""posenc attend --linear: what comes out, against the formula in float64; what is refused; the report."""
import json
import math

import tolerances
import tool
from attending import CHANNELS, HEADS, KEY_HEADS, KEYS, QUERIES, AttendingTest
from tensors import Rotation, random_tensor
from tool import posenc, small

MAPS = {"elu_plus_one": lambda x: math.exp(x) if x < 0 else x + 1, "relu": lambda x: max(x, 0.0), "identity": lambda x: x}
ENCODER = {"model_type": "bert", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
           "intermediate_size": 64, "max_position_embeddings": 64, "vocab_size": 100}
BLOOM = {"model_type": "bloom", "hidden_size": 64, "n_head": 4, "n_layer": 2}
HYBRID = {"model_type": "qwen3_next", "hidden_size": 64, "head_dim": 16, "num_attention_heads": 4,
          "num_key_value_heads": 2, "num_hidden_layers": 4, "max_position_embeddings": 64, "rope_theta": 10000.0}


class LinearTest(AttendingTest):
    def assert_by_formula(self, out, name, seen=lambda i, j: j <= i, rotation=None, q_at=lambda i: i, k_at=lambda j: j):
        """RoFormer (19): rotated features above, those before the rotation below."""
        def features(tensor, t, h):
            return [MAPS[name](tensor.at(t, h, c)) for c in range(CHANNELS)]

        def off(tensor, t, h):
            return math.hypot(*(tolerances.feature_roundings(name, tensor.at(t, h, c)) for c in range(CHANNELS)))

        def rotated(x, place):
            return rotation.head(x, place) if rotation else x

        def dot(a, b):
            return sum(x * y for x, y in zip(a, b))

        for n in range(QUERIES):
            i = KEYS - QUERIES + n
            for h in range(HEADS):
                of = h * self.k.shape[1] // HEADS
                q = features(self.q, n, h)
                keys = {j: features(self.k, j, of) for j in range(KEYS) if seen(i, j)}
                total = sum(dot(q, k) for k in keys.values())
                sizes = [math.hypot(*q) * math.hypot(*k) for k in keys.values()]
                moved = [off(self.q, n, h) * math.hypot(*k) + math.hypot(*q) * off(self.k, j, of)
                         for j, k in keys.items()]
                for c in range(CHANNELS):
                    value = sum(dot(rotated(q, q_at(i)), rotated(k, k_at(j))) * self.v.at(j, of, c)
                                for j, k in keys.items()) / total
                    values = [self.v.at(j, of, c) for j in keys]
                    bound = tolerances.linearly_attended(CHANNELS, sizes, moved, values, total, value)
                    self.assertAlmostEqual(out.at(n, h, c), value, delta=bound, msg=(n, h, c))


class Outputs(LinearTest):
    def test_every_feature_map(self):
        for name in MAPS:
            with self.subTest(name=name):
                self.assert_by_formula(self.attended("--linear", name), name, rotation=Rotation(CHANNELS))

    def test_positions(self):
        out = self.attended("--linear", "elu_plus_one", "--positions", "9,2,100,5,7")
        at = [9, 2, 100, 5, 7]
        self.assert_by_formula(out, "elu_plus_one", rotation=Rotation(CHANNELS), q_at=lambda i: at[i],
                               k_at=lambda j: at[j])

    def test_a_layer_of_both_ways(self):
        self.k, self.v = (random_tensor((KEYS, HEADS, CHANNELS), seed=seed) for seed in (7, 8))
        out = self.attended("--linear", "elu_plus_one", model=self.write_model(ENCODER, "bert.json"))
        self.assert_by_formula(out, "elu_plus_one", seen=lambda i, j: True)

    def test_threads_and_instruction_sets(self):
        whole = self.attended("--linear", "relu", "--threads", 1).values
        self.assertEqual(self.attended("--linear", "relu", "--threads", 3).values, whole)
        self.attended("--linear", "relu", "--isa", "scalar")

    def test_a_layer_of_linear_attention_whose_shape_its_plan_knows(self):
        """A config says only that it is linear attention; a plan in JSON may give it a shape and a rotation."""
        config = self.write_model(HYBRID, "hybrid.json")
        shapeless = posenc(*self.words("--linear", "identity", "--layer", 0, model=config))
        self.assert_fails(shapeless, 4, "--linear: decoder layer 0 is linear attention",
                          "heads, kv_heads, head_dim and value_dim are missing")
        self.assertFalse((self.folder / "out.npy").exists())
        plan = json.loads(posenc("inspect", config, "--json").out)
        layers = plan["stacks"][0]["layers"]
        attending = next(layer for layer in layers if layer["kind"] == "attention")
        layers[0] = {**attending, "index": 0, "kind": "linear_attention", "qk_norm": None}
        known = self.write_model(plan, "plan.json")
        rotation = Rotation(4)
        self.assert_by_formula(self.attended("--linear", "identity", "--layer", 0, model=known), "identity",
                               rotation=rotation)


class Refusals(LinearTest):
    def refused(self, code, complaint, *words, **given):
        got = posenc(*self.words("--linear", *words, **given))
        self.assert_fails(got, code, complaint)
        self.assertFalse((self.folder / given.get("out", "out.npy")).exists())

    def test_flags_that_a_softmax_has(self):
        for flag, *value in (["--mask", "none"], ["--lse"], ["--q-rotated"], ["--k-rotated"], ["--weights", "w.npz"]):
            self.refused(2, f"{flag} cannot be combined with --linear", "relu", flag, *value)
        self.refused(2, "--products bf16 cannot be combined with --linear", "relu", "--products", "bf16")
        self.attended("--linear", "relu", "--products", "f32")

    def test_layers_that_a_softmax_has(self):
        self.k, self.v = (random_tensor((KEYS, HEADS, CHANNELS), seed=seed) for seed in (7, 8))
        self.refused(4, "--linear: decoder layers 0-1: ", "relu", model=self.write_model(BLOOM, "bloom.json"))
        t5 = {"model_type": "t5", "d_model": 64, "d_kv": 16, "num_heads": 4, "num_layers": 2, "d_ff": 64}
        self.refused(4, "layer.score must be omitted in linear attention", "relu", "--stack", "encoder",
                     model=self.write_model(t5, "t5.json"))

    def test_windows(self):
        window = small(model_type="mistral", sliding_window=2)
        self.refused(4, "layer.mask.window must be omitted in linear attention", "relu",
                     model=self.write_model(window, "window.json"))

    def test_maps_that_are_none(self):
        self.refused(2, "--linear: expected one of elu_plus_one, identity, relu, got 'elu'", "elu")

    def test_tensors_that_do_not_fit(self):
        self.v = random_tensor((KEYS + 1, KEY_HEADS, CHANNELS))
        self.refused(4, "--v: decoder layers 0-2: ", "relu")


class Report(LinearTest):
    def test_text(self):
        got = posenc(*self.words("--linear", "elu_plus_one"))
        self.assertEqual((got.code, got.err), (0, ""))
        self.assertIn("  attention  linear attention (elu + 1)", got.out)
        for line in ("  scores ", "  work "):
            self.assertNotIn(line, got.out)

    def test_json(self):
        for words, linear in (((), None), (("--linear", "elu_plus_one"), "elu_plus_one")):
            got = posenc(*self.words("--json", "--check", "--force", *words))
            self.assertEqual((got.code, got.err), (0, ""))
            report = json.loads(got.out)
            self.assertEqual(report["linear"], linear)
            self.assertEqual(report["tiles"] is None, linear is not None)
            self.assertTrue(0 < report["check"]["over_bound"] < 1)


tool.main()
