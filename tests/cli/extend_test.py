"""posenc extend: what each way leaves of the trained range, by frequencies worked out here, and what it says of rules."""
import cmath
import json
import math
import pathlib
import random
import tempfile

import tensors
import tool
from tool import posenc

USAGE, UNREADABLE, MALFORMED = 2, 3, 4


def study(*arguments, **keywords):
    run = posenc("extend", *arguments, "--json", **keywords)
    assert (run.code, run.err) == (0, ""), run.err
    return json.loads(run.out)


def way(found, name):
    return next(one for one in found["ways"] if one["name"] == name)


class Extend(tool.ToolTest):
    def test_the_numbers_are_those_of_the_frequencies(self):
        for preset, to in (("qwen3-8b", 131072), ("pythia-410m", 8192), ("mistral-7b-v0.1", 100_000)):
            found = study(preset, "--to", to)
            plain = json.loads(posenc("inspect", preset, "--json").out)["stacks"][0]["layers"][0]
            before = plain["rotate"][0]["inv_freq"]
            for one in found["ways"]:
                with self.subTest(preset=preset, way=one["name"]):
                    self.assertIsNone(one["refused"])
                    words = [word for setting in one["settings"] for word in ("--set", setting)]
                    layer = json.loads(posenc("inspect", preset, "--json", "--length", to, *words).out)["stacks"][0]["layers"][0]
                    now = layer["rotate"][0]["inv_freq"]
                    window = layer["mask"]["window"]
                    span = min(to, window["past"] + 1) if window else to
                    if one["name"] == "self_extend":
                        group, neighbours = layer["regions"]["group"], layer["regions"]["window"]
                        # Of all distances, the largest that two grouped places are apart.
                        span = max(neighbours, *(i // group + neighbours - neighbours // group - j // group
                                                 for i in (to - 1,) for j in (0, to - 1 - neighbours)))
                        self.assertLessEqual(span, found["from"])
                        self.assertEqual(one["unseen"], 0)
                    elif one["name"] == "dual_chunk":
                        self.assertEqual(layer["regions"]["trained"], found["from"])
                        self.assertEqual(one["unseen"], 0)
                    else:
                        beyond = [p for p, (w, was) in enumerate(zip(now, before))
                                  if found["from"] * was < 2 * math.pi and span * w > found["from"] * was * (1 + 1e-9)]
                        self.assertEqual(one["unseen_pairs"], beyond)
                    self.assertEqual(one["unseen"], len(one["unseen_pairs"]))
                    self.assertEqual(one["kept"], sum(abs(was / w - 1) < 1e-3 for w, was in zip(now, before)))
                    self.assertAlmostEqual(one["fastest_slower"], before[0] / now[0], delta=1e-12)
                    factor = layer["rotate"][0]["attention_factor"]
                    rotated, rest = layer["rotate"][0]["dim"], layer["head_dim"] - layer["rotate"][0]["dim"]
                    variance = layer["softmax_scale"] ** 2 * (rotated * factor**4 + rest)
                    self.assertAlmostEqual(one["entropy"], math.log(to) - variance / 2, delta=1e-9)

    def test_every_way_but_those_that_grow_leaves_no_pair_beyond(self):
        found = study("qwen3-8b", "--to", 131072)
        self.assertEqual((found["from"], found["pairs"], way(found, "as it is")["unseen"]), (40960, 64, 23))
        self.assertEqual({one["name"]: one["unseen"] for one in found["ways"][1:]},
                         {"linear": 0, "ntk": way(found, "ntk")["unseen"], "dynamic": way(found, "dynamic")["unseen"], "yarn": 0, "by_parts": 0,
                          "temperature": 23,
                          "llama3": way(found, "llama3")["unseen"], "by_pair": 0, "self_extend": 0,
                          "dual_chunk": 0})
        self.assertEqual(way(found, "by_pair")["kept"], 64 - 23)
        self.assertEqual(found["recommended"], "yarn")
        patch = next(one for one in found["patches"] if one["form"] == "hugging_face_old")
        self.assertIn('"rope_type": "yarn"', patch["text"])

    def test_within_the_trained_length_nothing_is_needed(self):
        found = study("qwen3-8b", "--to", 4096)
        self.assertEqual((found["recommended"], len(found["ways"]), found["patches"]), ("as it is", 1, []))
        found = study("phi-3.5-mini", "--to", 131072)
        self.assertEqual((found["from"], found["recommended"]), (4096, "as it is"))

    def test_a_rule_is_explained_and_what_does_not_fit_is_named(self):
        config = {**tool.SMALL, "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048},
                  "max_position_embeddings": 4096}
        block = {one["key"]: one for one in study("-", "--to", 8192, stdin=json.dumps(config).encode())["block"]}
        self.assertEqual(block["factor"]["problem"], "times 2048 is 8192 tokens, and the trained length is 4096")
        self.assertEqual(study("deepseek-v3", "--to", 163840)["block"][0]["problem"], None)
        self.assertIn("But factor times 2048 is 8192 tokens, and the trained length is 4096.",
                      " ".join(posenc("extend", "-", "--to", 8192, stdin=json.dumps(config).encode()).out.split()))
        block = {one["key"]: one for one in study("phi-3.5-moe", "--to", 131072)["block"]}
        self.assertEqual(block["long_mscale"]["meaning"], "Multiplies cos and sin of longer sequences.")
        config["rope_scaling"] = {"rope_type": "llama3", "factor": 0.5, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                  "original_max_position_embeddings": 4096}
        block = {one["key"]: one for one in study("-", "--to", 8192, stdin=json.dumps(config).encode())["block"]}
        self.assertEqual(block["factor"]["problem"], "is below 1: sequences become shorter")
        self.assertEqual(study("qwen3-8b", "--to", 131072)["block"], [])

    def test_why_not_the_others(self):
        """Each way but the best is told with the reason that its own numbers give."""
        reasons = study("qwen3-8b", "--to", 131072)["reasons"]
        not_them = {whose: why for whose, why in (reason[4:-1].split(": ", 1) for reason in reasons if reason.startswith("Not "))}
        self.assertEqual(not_them, {
            "linear scaling": "it slows the fastest pair, which tells neighbours apart, 3.2 times", "NTK scaling": "it leaves 22 pairs beyond",
            "a temperature alone": "it leaves 23 pairs beyond",
            "dynamic NTK": "its base changes as a text grows, after keys were cached",
            "NTK by parts, Llama 3's rule, a factor for each pair": "the softmax stays wider", "SelfExtend, dual chunk attention": "an engine must have it"})
        self.assertNotIn("replaces the file's rule", " ".join(reasons))
        self.assertIn("It replaces the file's rule, Llama 3's rule, which the weights may have been trained with.",
                      study("llama-3.1-8b", "--to", 1 << 20)["reasons"])

    def test_yarns_two_parts(self):
        """NTK by parts has its frequencies, the temperature its attention factor, and neither both."""
        found = study("qwen3-8b", "--to", 131072)
        yarn, by_parts, temperature = (way(found, name) for name in ("yarn", "by_parts", "temperature"))
        same = ("unseen_pairs", "kept", "fastest_slower", "slowest_slower")
        self.assertEqual([by_parts[key] for key in same], [yarn[key] for key in same])
        self.assertEqual((by_parts["attention_factor"], by_parts["entropy"]), (1, way(found, "linear")["entropy"]))
        for key in same[:2]:
            self.assertEqual(temperature[key], found["ways"][0][key])
        self.assertAlmostEqual(temperature["slowest_slower"], 1, delta=1e-12)
        self.assertAlmostEqual(temperature["attention_factor"], 0.1 * math.log(131072 / 40960) + 1, delta=1e-12)
        self.assertAlmostEqual(temperature["entropy"], yarn["entropy"], delta=1e-12)

    def test_a_list_for_long_texts_grows_where_it_must(self):
        """Of LongRoPE the file's own factors stay where pairs complete a turn, and the patch is one that its class reads."""
        to, before = 262144, 4096
        found = study("phi-3.5-mini", "--to", to)
        self.assertEqual((found["recommended"], way(found, "by_pair")["unseen"]), ("by_pair", 0))
        rotate = lambda *words: json.loads(posenc("inspect", "phi-3.5-mini", "--json", "--length", to, *words).out)["stacks"][0]["layers"][0]["rotate"][0]
        own, now = rotate()["scaling"], rotate("--set", way(found, "by_pair")["settings"][0])["scaling"]
        plain = [10000 ** (-2 * p / 96) for p in range(48)]
        self.assertEqual(now["long_factor"], [known if before * w >= 2 * math.pi else max(known, to / before)
                                              for known, w in zip(own["long_factor"], plain)])
        self.assertEqual((now["short_factor"], now["original_max_position_embeddings"]), (own["short_factor"], before))
        patch = next(one for one in found["patches"] if one["form"] == "hugging_face_new")
        self.assertIn('"rope_type": "longrope"', patch["text"])
        self.assertEqual(patch["unsaid"], [])

    def test_dynamic_counts_from_the_length_before_the_rule(self):
        """The file of DeepSeek V3 gives 163840 tokens, which its own rule made of 4096."""
        dynamic = way(study("deepseek-v3", "--to", 163840), "dynamic")
        self.assertEqual(dynamic["settings"], ["rope_scaling=dynamic,factor=40,original=4096"])
        # base * (factor * n / max - (factor - 1))^(dim / (dim - 2)): the slowest of 32 pairs has base^(-62 / 64).
        self.assertAlmostEqual(dynamic["slowest_slower"], 40 * 40 - 39, delta=1e-6)

    def test_entropies_of_given_rows(self):
        """Of one query and one key of each head, at every distance; by formulas written here."""
        config = {**tool.SMALL, "max_position_embeddings": 256}
        heads, kv_heads, width, to = 4, 2, 16, 700
        q, k = (tensors.random_tensor((1, n, width), seed=n) for n in (heads, kv_heads))
        with tempfile.TemporaryDirectory() as folder:
            names = [pathlib.Path(folder) / f"{n}.npy" for n in "qk"]
            tensors.write_npy(names[0], q)
            tensors.write_npy(names[1], k)
            text = json.dumps(config).encode()
            found = study("-", "--to", to, "--q", names[0], "--k", names[1], stdin=text)
            self.assertIn("entropy    given\n", posenc("extend", "-", "--to", to, "--q", names[0], "--k", names[1], stdin=text).out)
            short = posenc("extend", "-", "--to", to, "--q", names[1], "--k", names[0], stdin=text)
            self.assertEqual((short.code, short.out), (USAGE, ""))
            self.assertIn("--q must have shape [tokens, 4, 16] but is [1, 2, 16]", short.err)
            self.assertEqual(posenc("extend", "-", "--to", to, "--q", names[0], stdin=text).code, USAGE)

        def entropy(layer, length):
            rotate, total = layer["rotate"][0], 0.0
            group, near = (layer["regions"]["group"], layer["regions"]["window"]) if layer["regions"] else (1, length)
            for head in range(heads):
                a = [complex(q.values[head * width + c], q.values[head * width + c + width // 2]) for c in range(width // 2)]
                at = head * kv_heads // heads * width
                b = [complex(k.values[at + c], k.values[at + c + width // 2]) for c in range(width // 2)]
                scores = []
                for distance in range(length):
                    i, j = length - 1, length - 1 - distance
                    apart = distance if distance < near else i // group + near - near // group - j // group
                    scores.append(layer["softmax_scale"] * rotate["attention_factor"] ** 2 * sum(
                        (x * y.conjugate() * cmath.exp(1j * w * apart)).real for x, y, w in zip(a, b, rotate["inv_freq"])))
                weights = [math.exp(score) for score in scores]
                total += math.log(sum(weights)) - sum(w * s for w, s in zip(weights, scores)) / sum(weights)
            return total / heads

        def layer(*words, length):
            return json.loads(posenc("inspect", "-", "--json", "--length", length, *words, stdin=text).out)["stacks"][0]["layers"][0]

        self.assertAlmostEqual(found["entropy_of_given_before"], entropy(layer(length=256), 256), delta=1e-6)
        for name in ("as it is", "linear", "yarn", "self_extend"):
            one = way(found, name)
            words = [word for setting in one["settings"] for word in ("--set", setting)]
            self.assertAlmostEqual(one["entropy_of_given"], entropy(layer(*words, length=to), to), delta=1e-6, msg=name)

    def test_entropies_of_weights(self):
        """Scores of normal inputs are normal: over n keys of variance v a softmax is ln n - v / 2 wide."""
        to, hidden, width = 512, 64, 16
        def entropy(folder, gain=1.0, spread=1.0, bias=0.0, norms=None, **changes):
            config = {**tool.SMALL, "max_position_embeddings": 256, **changes}
            (folder / "config.json").write_text(json.dumps(config))
            source = random.Random(3)
            rows = {"q": 4 * width, "k": 2 * width}
            parts = {f"model.layers.0.self_attn.{n}_proj.weight": tensors.Tensor(
                "f32", (size, hidden), [source.gauss(0, spread) / math.sqrt(hidden) for _ in range(size * hidden)])
                for n, size in rows.items()}
            for n, size in rows.items() if bias else ():
                parts[f"model.layers.0.self_attn.{n}_proj.bias"] = tensors.Tensor("f32", (size,), [bias] * size)
            for n in "qk" if norms is not None else "":
                parts[f"model.layers.0.self_attn.{n}_norm.weight"] = tensors.Tensor("f32", (width,), [norms] * width)
            parts["model.layers.0.input_layernorm.weight"] = tensors.Tensor("f32", (hidden,), [gain] * hidden)
            tensors.write_safetensors(folder / "model.safetensors", parts)
            return study(folder, "--to", to, "--weights", folder)["ways"][0]["entropy_of_given"]

        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for gain, variance in ((0.0, 0.0), (1.0, 1.0), (1.2, 1.2**4)):
                self.assertAlmostEqual(entropy(folder, gain), math.log(to) - variance / 2, delta=0.2 * variance + 1e-9)
            gemma = {"model_type": "gemma", "head_dim": width}
            self.assertAlmostEqual(entropy(folder, 0.25, **gemma), entropy(folder, 1.25), delta=1e-9)
            # Behind a norm the lengths of rows say nothing; its gains do.
            qwen3 = {"model_type": "qwen3", "head_dim": width}
            self.assertAlmostEqual(entropy(folder, spread=30.0, norms=1.0, **qwen3), entropy(folder, norms=1.0, **qwen3), delta=1e-4)
            self.assertLess(entropy(folder, norms=2.0, **qwen3), entropy(folder, norms=1.0, **qwen3) - 1)
            # Of nothing but a bias, all queries and keys are one.
            alone = entropy(folder, gain=0.0, bias=0.5)
            for n, heads in (("q", 4), ("k", 2)):
                tensors.write_npy(folder / f"{n}.npy", tensors.Tensor("f32", (1, heads, width), [0.5] * (heads * width)))
            given = study(folder, "--to", to, "--q", folder / "q.npy", "--k", folder / "k.npy")
            self.assertAlmostEqual(alone, given["ways"][0]["entropy_of_given"], delta=1e-9)
            self.assertEqual((given["stack"], given["layer"]), ("decoder", 0))

            words = ("extend", folder, "--to", to)
            self.assert_fails(posenc(*words, "--weights", folder, "--q", "q", "--k", "k"), USAGE, "--weights stands instead of")
            self.assert_fails(posenc(*words, "--weights", folder / "q.npy"), MALFORMED, "expected projections of the queries and keys of layer 0")
            self.assert_fails(posenc("extend", "qwen3-8b", "--to", to, "--weights", folder), MALFORMED, "4096 and 1024 rows")
            (folder / "model.safetensors").unlink()
            self.assert_fails(posenc(*words, "--weights", folder), UNREADABLE, "got neither")

    def test_weights_with_an_output_gate(self):
        """Of each head q_proj has rows of the query and as many of a gate: the same as a file without these rows."""
        hidden, width, heads, kv_heads = 32, 8, 4, 2
        source = random.Random(4)
        normal = lambda rows: [[source.gauss(0, 0.5) for _ in range(hidden)] for _ in range(rows)]
        queries, gates, keys = normal(heads * width), normal(heads * width), normal(kv_heads * width)
        both = [row for h in range(0, heads * width, width) for rows in (queries, gates) for row in rows[h:h + width]]
        config = {**tool.SMALL, "hidden_size": hidden, "num_attention_heads": heads, "num_key_value_heads": kv_heads, "head_dim": width,
                  "num_hidden_layers": 4, "max_position_embeddings": 256}

        def entropy(folder, model_type, layer, q, offset):
            (folder / "config.json").write_text(json.dumps({**config, "model_type": model_type, "partial_rotary_factor": 1.0}))
            named = {f"model.layers.{layer}.self_attn.{n}_proj.weight": tensors.Tensor("f32", (len(rows), hidden), sum(rows, []))
                     for n, rows in (("q", q), ("k", keys))}
            for n in "qk":
                named[f"model.layers.{layer}.self_attn.{n}_norm.weight"] = tensors.Tensor("f32", (width,), [x - offset for x in gains])
            tensors.write_safetensors(folder / "model.safetensors", named)
            return posenc("extend", folder, "--to", 512, "--weights", folder, "--json")

        gains = [source.randrange(32, 128) / 64 for _ in range(width)]  # less 1 they are floats, too
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            plain = entropy(folder, "qwen3", 0, queries, 0.0)
            self.assertEqual((plain.code, plain.err), (0, ""))
            plain = json.loads(plain.out)
            gated = entropy(folder, "qwen3_next", 3, both, 1.0)
            self.assertEqual((gated.code, gated.err), (0, ""))
            found = json.loads(gated.out)
            self.assertEqual(found["layer"], 3)
            self.assertAlmostEqual(way(found, "as it is")["entropy_of_given"], way(plain, "as it is")["entropy_of_given"], delta=1e-12)
            self.assert_fails(entropy(folder, "qwen3_next", 3, queries, 1.0), MALFORMED, "layer 3, 64 and 16 rows")
            self.assert_fails(entropy(folder, "qwen3", 0, both, 0.0), MALFORMED, "layer 0, 32 and 16 rows")

    def test_in_words(self):
        run = posenc("extend", "qwen3-8b", "--to", 131072)
        self.assertEqual((run.code, run.err), (0, ""))
        self.assert_page(run.out)
        self.assertIn("recommended: YaRN\n", run.out)
        self.assertIn("by YaRN it is 0", run.out)
        self.assertIn("fastest: as it is 41-63; ntk 41-62; temperature 41-63\n", run.out)
        self.assertNotIn("by yarn", run.out)
        self.assertIn("config.json, transformers 4 (JSON patch, RFC 6902): [{\"op\"", run.out)
        self.assertIn("--set rope_scaling=yarn,factor=3.2,original=40960", run.out)

    def test_what_cannot_be_asked(self):
        linear = json.dumps({**tool.SMALL, "rope_scaling": {"rope_type": "linear", "factor": 2.0}}).encode()
        for code, words, arguments, given in (
                (USAGE, "--to", ("qwen3-8b",), b""), (USAGE, "--to", ("qwen3-8b", "--to", "0"), b""),
                (USAGE, "--from must be given", ("-", "--to", "4096"), linear),
                (MALFORMED, "rotates by position", ("gpt2", "--to", "4096"), b""),
                (UNREADABLE, "no-such", ("no-such/config.json", "--to", "1"), b"")):
            run = posenc("extend", *arguments, stdin=given)
            self.assertEqual((run.code, run.out), (code, ""), run.err)
            self.assertIn(words, run.err)
        self.assertEqual(study("-", "--to", "4096", "--from", "1024", stdin=linear)["from"], 1024)


tool.main()
