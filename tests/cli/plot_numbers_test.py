"""posenc plot --json: the numbers behind the pictures, against the formulas, written again here."""
import cmath
import json
import math
import pathlib
import tempfile

import tool
from tool import posenc

# An angle of at most 2^10 radians is off by its rounding and that of its frequency: 2^10 * 2^-51 or so.
ANGLE = 1e-12
NEAR = 1e-14  # of a number made in a few roundings, times its size


def drawn(words, **options):
    got = posenc("plot", *words.split(), *options.pop("more", ()), "--json")
    assert (got.code, got.err) == (0, ""), got
    return json.loads(got.out)


def only_map(words):
    (one,) = drawn(words)["maps"]
    return one["rows"]


def curves(words):
    return {curve["name"]: curve["points"] for curve in drawn(words)["curves"]}


class Numbers(tool.ToolTest):
    def assert_near(self, got, want, bound=NEAR):
        self.assertLessEqual(abs(got - want), bound * max(1.0, abs(want)), (got, want))


class Encodings(Numbers):
    def test_sines(self):
        rows = only_map("encoding --positions 20 --channels 8 --start 700")
        for i, row in enumerate(rows):
            for c, value in enumerate(row):
                angle = (700 + i) / 10000 ** (2 * (c // 2) / 8)
                self.assert_near(value, math.cos(angle) if c % 2 else math.sin(angle), ANGLE)

    def test_products_of_sines_depend_on_the_distance(self):
        rows = only_map("encoding --products --positions 16 --channels 8")
        for i, row in enumerate(rows):
            for j, value in enumerate(row):
                self.assert_near(value, sum(math.cos((i - j) / 10000 ** (p / 4)) for p in range(4)), ANGLE)

    def test_whole_numbers(self):
        rows = only_map("encoding --scheme integer,offset=1 --positions 3 --channels 2")
        self.assertEqual(rows, [[1, 1], [2, 2], [3, 3]])
        rows = only_map("encoding --scheme binary --positions 8 --channels 3")
        self.assertEqual(sorted(rows), sorted([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]))

    def test_a_table_before_training(self):
        rows = only_map("encoding --scheme learned --positions 64 --channels 64")
        values = [value for row in rows for value in row]
        self.assertLess(abs(sum(values) / len(values)), 4 * 0.02 / 64)  # four standard errors
        self.assertEqual(only_map("encoding --scheme learned --start 60 --positions 4"), rows[60:])


class Biases(Numbers):
    def test_alibi(self):
        for head, slope in ((0, 0.5), (7, 2.0**-8)):
            for i, row in enumerate(only_map(f"bias --scheme alibi,heads=8 --head {head} --tokens 12")):
                self.assertEqual(row, [-slope * (i - j) if j <= i else None for j in range(12)])

    def test_alibi_by_distance(self):
        for name, points in curves("bias --scheme alibi,heads=4 --curves --tokens 5").items():
            slope = 2.0 ** (-2 * (int(name.split()[1]) + 1))
            self.assertEqual(points, [[d, -slope * d] for d in range(5)])

    def test_t5_buckets(self):
        (points,) = curves("bias --scheme t5 --curves --tokens 300").values()
        for distance, bucket in points:
            far = 16 + int(math.log(max(distance, 1) / 16) / math.log(128 / 16) * 16) if distance >= 16 else 0
            self.assertEqual(bucket, distance if distance < 16 else min(far, 31), distance)

    def test_kerple_and_fire(self):
        for i, row in enumerate(only_map("bias --scheme kerple,r1=2,r2=3 --tokens 9")):
            for j in range(i + 1):
                self.assert_near(row[j], -2 * math.log(1 + 3 * (i - j)))
        for i, row in enumerate(only_map("bias --scheme fire,c=0.5,threshold=4 --tokens 9")):
            for j in range(i + 1):
                self.assert_near(row[j], math.log1p(0.5 * (i - j)) / math.log1p(0.5 * max(4, i)))

    def test_rows_of_tables(self):
        for i, row in enumerate(only_map("bias --scheme shaw,left=3,right=2 --both-ways --tokens 9")):
            self.assertEqual(row, [min(max(i - j, -2), 3) + 2 for j in range(9)])
        for i, row in enumerate(only_map("bias --scheme grid,rows=2,columns=3")):
            self.assertEqual(row, [5 * (i // 3 - j // 3 + 1) + (i % 3 - j % 3 + 2) for j in range(6)])

    def test_counted_and_forgotten(self):
        last = only_map("bias --scheme contextual,every=4 --tokens 12")[-1]
        self.assertEqual([round(value, 9) for value in last], [3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1])
        last = only_map("bias --scheme forget,every=4 --tokens 9")[-1]
        for j, value in enumerate(last):
            self.assert_near(value, sum(math.log(0.2 if l % 4 == 0 else 0.99) for l in range(j + 1, 9)))

    def test_asked_for_a_distance(self):
        for scheme in ("transformer_xl", "xlnet"):
            row = only_map(f"bias --scheme {scheme},asks=5 --tokens 40")[-1]
            near = row[20:] if scheme == "xlnet" else row  # of one segment
            self.assertEqual(near.index(max(near)), len(near) - 1 - 5)

    def test_a_model(self):
        model = curves("bias --model t5-base --stack encoder --curves --both-ways --tokens 200")
        scheme = curves("bias --scheme t5,bidirectional --curves --both-ways --tokens 200")
        self.assertEqual(model["head 0"], scheme[""])


class Distances(Numbers):
    def test_self_extend(self):
        for i, row in enumerate(only_map("distance --scheme self_extend,group=4,window=8 --tokens 40")):
            far = [i // 4 + 8 - 8 // 4 - j // 4 for j in range(i + 1)]
            self.assertEqual(row[: i + 1], [i - j if i - j < 8 else far[j] for j in range(i + 1)])
            self.assertEqual(set(row[i + 1:]), {None} if i < 39 else set())

    def test_rerope(self):
        for i, row in enumerate(only_map("distance --scheme rerope,window=8 --tokens 20")):
            self.assertEqual(row[: i + 1], [min(i - j, 8) for j in range(i + 1)])


class Attention(Numbers):
    WORDS = ("--words", "the dog saw the man")

    def maps(self, words):
        maps = drawn("attention " + words, more=self.WORDS)["maps"]
        return [one["rows"] for one in maps]

    def test_without_a_position_the_same_word_is_the_same(self):
        for scheme in ("rope", "alibi", "sinusoidal", "linear"):
            without, placed = self.maps(f"--scheme {scheme} --both-ways")
            self.assertEqual(without[0], without[3])
            for row in without:
                self.assertEqual(row[0], row[3])
            self.assertNotEqual(placed[0], placed[3])

    def test_shares_of_each_row(self):
        for scheme in ("rope", "xpos", "kerple", "sandwich", "soft_cap"):
            for rows in self.maps(f"--scheme {scheme}"):
                for i, row in enumerate(rows):
                    self.assert_near(sum(row[: i + 1]), 1.0)
                    self.assertEqual(row[i + 1:], [None] * (4 - i))
        for row in self.maps("--scheme sink")[1]:
            self.assertLess(sum(value or 0 for value in row), 0.9)

    def test_alibi_takes_its_slope(self):
        without, placed = self.maps("--scheme alibi")
        for i in range(5):
            for j in range(i):
                taken = math.log(placed[i][j] / placed[i][i]) - math.log(without[i][j] / without[i][i])
                self.assert_near(taken, -0.5 * (i - j))

    def test_rotations_take_their_distance(self):
        # Scores of a word with itself, log of weights but for a constant: 4 at distance 0, the same for one distance.
        rows = drawn("attention --scheme rope --both-ways", more=("--words", "a a a a a a"))["maps"][1]["rows"]
        for i in range(1, 5):
            self.assert_near(rows[i][i] / rows[i][i - 1], rows[i][i] / rows[i][i + 1])
            self.assertGreater(rows[i][i], rows[i][i - 1])


class BiasHelp(Numbers):
    def test_numbers_are_those_that_hold_when_left_out(self):
        lines = posenc("plot", "bias", "--help").out.split("with their defaults:\n")[1].splitlines()
        rows = [line.split() for line in lines[:[line.startswith("  ") for line in lines].index(False)]]
        error = posenc("plot", "bias", "--scheme", "none-of-them").err
        self.assertEqual(sorted(row[0] for row in rows), error.split("one of ")[1].split(", got")[0].split(", "))
        for name, *numbers in rows:
            plain = drawn(f"bias --scheme {name} --tokens 12 --both-ways")
            for number in numbers:
                with self.subTest(scheme=name, number=number):
                    named = f"{number}=5" if number == "clamp_length" else number
                    got = drawn(f"bias --scheme {name},{named} --tokens 12 --both-ways")
                    (self.assertEqual if "=" in number else self.assertNotEqual)(got, plain)
            # None is left out of the list.
            got = posenc("plot", "bias", "--scheme", f"{name},zzzzzzzzzzzzzzzz=1").err
            known = got.split("; it has ")[1].split(" (see")[0].split(", ") if "; it has " in got else []
            self.assertEqual(sorted(number.split("=")[0] for number in numbers), sorted(w.strip() for w in known), got)


class Curves(Numbers):
    def test_wavelengths(self):
        found = curves("wavelengths --scheme rope,base=500000,dim=64 --trained 8192")
        every = sorted(found["complete a period"] + found["do not"])
        for p, (x, wavelength) in enumerate(every):
            self.assertEqual(x, p)
            self.assert_near(wavelength, 2 * math.pi * 500000 ** (2 * p / 64))
        self.assertLessEqual(max(y for _, y in found["complete a period"]), 8192)
        self.assertGreater(min(y for _, y in found["do not"]), 8192)

    def test_scaling(self):
        found = curves("scaling --scheme rope,dim=64 --rules linear,ntk,llama3 --factor 4 --original-length 2048")
        for p in range(32):
            wavelength = 2 * math.pi * 10000 ** (2 * p / 64)
            self.assert_near(found["linear"][p][1], 1 / 4)
            self.assert_near(found["ntk"][p][1], 4 ** (-2 * p / 62))
            turns = 2048 / wavelength
            smooth = (turns - 1) / (4 - 1)
            self.assert_near(found["llama3"][p][1],
                             1 / 4 if turns < 1 else 1 if turns > 4 else (1 - smooth) / 4 + smooth)

    def test_a_model_as_inspect_has_it(self):
        (points,) = curves("scaling --model llama-3.1-8b").values()
        self.assert_near(points[-1][1], 1 / 8)
        self.assertEqual(points[0][1], 1)

    def test_a_model_at_its_trained_length(self):
        # As inspect says: 17 of 48 pairs by the long list, 1 by the short one.
        found, by_short = (curves(f"wavelengths --model phi-3.5-mini {more}") for more in ("", "--length 4096"))
        self.assertEqual(found, curves("wavelengths --model phi-3.5-mini --length 131072"))
        self.assertEqual((len(found["do not"]), len(by_short["do not"])), (17, 1))
        for length, what in ((4096, "short_factor (up to 4096 tokens)"), (4097, "long_factor (beyond 4096 tokens)")):
            for kind in ("wavelengths", "rotation"):
                self.assertIn(what, drawn(f"{kind} --model phi-3.5-mini --length {length}")["detail"])
        dials, long_dials = (drawn(f"rotation --model phi-3.5-mini {more}")["dials"] for more in ("", "--length 4097"))
        self.assertEqual(dials, long_dials)

    def test_decay(self):
        found = curves("decay --channels 32 --tokens 100")
        for distance, score in found["q = k"]:
            self.assert_near(score, sum(math.cos(distance * 10000 ** (-p / 16)) for p in range(16)) / 16, ANGLE)
        for distance, bound in found["bound"][::20]:
            turned = [cmath.exp(1j * distance * 10000 ** (-p / 16)) for p in range(16)]
            of_all = sum(abs(sum(turned[:p])) for p in range(1, 17))
            self.assert_near(bound, of_all / sum(range(1, 17)), ANGLE)
        self.assertEqual(found["table: mean"][0][0], 1)

    def test_coordinates(self):
        self.assertIn("the text that follows begins at 8", drawn("coordinates")["detail"])
        found = curves("coordinates")  # of docs/schemes/grid-positions.md; the last holds to the sequence's end
        at = {axis: [y for _, y in points] for axis, points in found.items()}
        self.assertEqual(at["t"], [0, 1, 2, 3, 3, 3, 3, 3, 3, 6, 7, 7])
        self.assertEqual(at["h"], [0, 1, 2, 3, 3, 3, 4, 4, 4, 6, 7, 7])
        self.assertEqual(at["w"], [0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7, 7])

    def test_query_scales(self):
        found = curves("query-scale --tokens 100000")
        for i, factor in found["Llama 4"]:
            self.assert_near(factor, 1 + 0.1 * math.log(1 + math.floor((i + 1) / 8192)))
        for i, factor in found["Ministral 3"]:
            self.assert_near(factor, 1 + 0.1 * math.log(1 + math.floor(i / 16384)))
        for i, factor in found["Qwen 1"]:
            self.assert_near(factor, max(1, math.log(i + 1) / math.log(8192)))


class Rotations(Numbers):
    def test_hands(self):
        dials = drawn("rotation --scheme rope,dim=32 --pairs 16 --positions 5 --start 100 --step 200")["dials"]
        for p, dial in enumerate(dials):
            self.assertEqual(dial["name"], f"pair {p}")
            for n, hand in enumerate(dial["hands"]):
                angle = (100 + 200 * n) * 10000 ** (-2 * p / 32)
                self.assert_near(hand["a"], math.cos(angle), 2**-23)  # tables are in f32
                self.assert_near(hand["b"], math.sin(angle), 2**-23)
            amount, unit = dial["note"].split()
            degrees = math.degrees(800 * 10000 ** (-2 * p / 32))
            self.assertEqual(unit, "degrees" if degrees < 720 else "turns")
            self.assert_near(float(amount) * (1 if degrees < 720 else 360) / degrees, 1.0, 0.005)  # three digits



class Models(Numbers):
    """Of models' own files: what one kind of layer, or one form of a scheme, is not enough for."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, config):
        (self.folder / name).write_text(json.dumps(config))
        return str(self.folder / name)

    def test_every_kind_of_layer_has_its_wavelengths(self):
        found = curves("wavelengths --model gemma-3-4b")
        self.assertEqual(sorted(found), ["base 10000", "base 1000000, linear x8"])
        for name, base, factor in (("base 10000", 1e4, 1), ("base 1000000, linear x8", 1e6, 8)):
            for p, wavelength in found[name]:
                self.assert_near(wavelength, 2 * math.pi * factor * base ** (2 * p / 256), ANGLE)
        keys = [curve["key"] for curve in drawn("wavelengths --model gemma-3-4b")["curves"]]
        self.assertEqual(keys, [
            "base 10000: decoder layers 0-4, 6-10, ..., 24-28, 30-33; all 128 pairs complete a period within 131072 "
            "tokens",
            "base 1000000, linear x8: decoder layers 5, 11, ..., 29 (every 6th); 55 of 128 pairs do not complete a period "
            "within 131072 tokens"])
        one = [curve["key"] for curve in drawn("wavelengths --model gemma-3-4b --layer 5")["curves"]]
        self.assertEqual(one, ["73 of 128 pairs complete a period within 131072 tokens", "55 of 128 do not"])
        self.assertEqual(list(curves("wavelengths --model gemma-3-4b --layer 0")), ["complete a period"])

    def test_scaled_wavelengths_are_judged_by_the_scaled_length(self):
        model = self.write("yarn.json", {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
                                         "num_hidden_layers": 1, "max_position_embeddings": 4096, "rope_scaling":
                                         {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}})
        found = drawn(f"wavelengths --model {model}")
        self.assertEqual([mark["y"] for mark in found["marks"]], [4096, 16384])
        by_name = {curve["name"]: curve["points"] for curve in found["curves"]}
        self.assertLessEqual(max(y for _, y in by_name["complete a period"]), 16384)
        self.assertGreater(min(y for _, y in by_name["do not"]), 16384)

    def test_rotations_by_several_axes(self):
        """A token of text, or a patch of the diagonal, stands at one position on all axes."""
        mrope = self.write("mrope.json", {
            "model_type": "qwen2_vl_text", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
            "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000.0,
            "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}})
        patches = self.write("patches.json", {"model_type": "qwen2_vl_vision", "depth": 2, "embed_dim": 64,
                                              "num_heads": 4})
        plain = drawn("rotation --scheme rope,dim=16 --pairs 8 --start 5")["dials"]
        self.assertEqual(drawn(f"rotation --model {mrope} --pairs 8 --start 5")["dials"], plain)
        for dial in drawn(f"rotation --model {patches} --pairs 8 --start 5")["dials"]:
            for hand in dial["hands"]:
                self.assert_near(math.hypot(hand["a"], hand["b"]), 1.0, 1e-6)

    def test_terms_over_content_of_every_head(self):
        """What a head is asked for is the same in all, so that a model's picture is that of one head of the scheme."""
        xlnet = only_map("bias --model xlnet-base --both-ways --head 11 --tokens 24")
        self.assertEqual(xlnet, only_map("bias --scheme xlnet --both-ways --tokens 24"))
        deberta = {"model_type": "deberta-v2", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 1,
                   "max_position_embeddings": 64, "max_relative_positions": 64, "relative_attention": True,
                   "position_buckets": 16, "position_biased_input": False}
        wanted = only_map("bias --scheme deberta,buckets=16,max_distance=64 --both-ways --tokens 24")
        for kinds in (["p2c", "c2p"], ["c2p"], ["p2c"], ["p2c", "c2p", "p2p"]):
            model = self.write("deberta.json", {**deberta, "pos_att_type": kinds})
            self.assertEqual(only_map(f"bias --model {model} --both-ways --head 3 --tokens 24"), wanted, kinds)

    def test_of_plans_that_no_config_gives(self):
        """A plan's JSON has any scheme, in as many heads as the layer has."""
        plan = json.loads(posenc("inspect", "t5-base", "--json").out)
        plan["stacks"] = [stack for stack in plan["stacks"] if stack["name"] == "encoder"]
        xl = {"kind": "transformer_xl", "clamp_length": -1, "sinusoid": "xlnet", "distances": None}
        for scheme, term in (("contextual,positions=16", {"kind": "contextual", "positions": 16}),
                             ("transformer_xl", {**xl, "content_bias": True, "position_bias": True}),
                             ("transformer_xl", {**xl, "content_bias": False, "position_bias": False})):
            for layer in plan["stacks"][0]["layers"]:
                layer["score"] = [term]
            path = self.write("plan.json", plan)
            got = only_map(f"bias --model {path} --both-ways --head 7 --tokens 24")
            self.assertEqual(got, only_map(f"bias --scheme {scheme} --both-ways --tokens 24"), scheme)

    def test_a_grid_of_as_many_patches_as_tokens(self):
        for tokens in (12, 13):
            found = drawn(f"bias --scheme grid,rows=3,columns=4 --tokens {tokens}")
            self.assertIn("patches", found["row"]["label"])
        got = posenc("plot", "bias", "--scheme", "grid,rows=3,columns=4", "--curves", "--tokens", "12")
        self.assertEqual(got.code, 2)
        self.assertIn("a grid has two distances", got.err)

    def test_items_are_marked_where_they_begin(self):
        found = drawn("coordinates --items text=3,image=4x6,text=2")
        self.assertEqual([(mark["name"], mark["x"]) for mark in found["marks"]],
                         [("text=3", 0), ("image=4x6", 3), ("text=2", 9)])


tool.main()
