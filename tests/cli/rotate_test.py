"""posenc rotate: what comes out, against the formula in float64."""
import json
import math
import pathlib
import tempfile

import tensors
import tool
from tensors import Rotation, random_tensor, read_npy, read_safetensors, write_npy, write_numbers, write_safetensors
from tool import posenc, small

HEADS, KEY_HEADS, CHANNELS = 4, 2, 16  # of tool.SMALL
PLAIN = Rotation(CHANNELS)
GPTJ = {"model_type": "gptj", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 2048, "rotary_dim": 8}
MROPE = {"model_type": "qwen2_vl_text", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
         "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000.0,
         "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}


TEXT = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
        "max_position_embeddings": 128}
# Patches count from 1 here, and rotate by w and h.
WITH_VISION = {"model_type": "wrapper9", "text_config": TEXT,
               "vision_config": {"model_type": "llama4_vision_model", "hidden_size": 16, "num_attention_heads": 2,
                                 "num_hidden_layers": 1, "rope_theta": 100, "image_size": 28, "patch_size": 14}}


class RotateTest(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.write_model(small())
        self.count = 0

    def write_model(self, content, name="config.json"):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path

    def rotated(self, tensor, *words, flag="--q", model=None):
        """The tensor through a .npy file and back."""
        self.count += 1
        source, target = self.folder / f"{self.count}.npy", self.folder / f"{self.count}_out.npy"
        write_npy(source, tensor)
        raw = ["--bf16"] if tensor.dtype == "bf16" else []
        got = posenc("rotate", "--model", model or self.model, flag, source, "-o", target, *raw, *words)
        self.assertEqual((got.code, got.err), (0, ""))
        self.assert_page(got.out)
        out = read_npy(target)
        self.assertEqual((out.dtype, out.shape), (tensor.dtype, tensor.shape))
        return out

    def assert_rotated(self, out, tensor, positions, layout="thd", rotation=PLAIN, inverse=False):
        """positions(sequence, token)."""
        axes = dict(zip(layout, range(len(layout))))
        sizes = {axis: tensor.shape[place] for axis, place in axes.items()}
        largest = 0.0
        for b in range(sizes.get("b", 1)):
            for t in range(sizes["t"]):
                for h in range(sizes["h"]):
                    where = {"b": b, "t": t, "h": h}
                    index = [where[axis] for axis in layout[:-1]]
                    x = [tensor.at(*index, d) for d in range(sizes["d"])]
                    got = [out.at(*index, d) for d in range(sizes["d"])]
                    expected = rotation.head(x, positions(b, t), inverse)
                    for d, bound in enumerate(rotation.bound(x, expected, tensor.dtype)):
                        error = abs(got[d] - expected[d])
                        self.assertLessEqual(error, bound, (index, d))
                        largest = max(largest, error / bound if error else 0.0)
        self.assertGreater(largest, 0.01, "the bound is too loose to see a mistake")


class Values(RotateTest):
    SHAPES = {"thd": (6, HEADS, CHANNELS), "htd": (HEADS, 6, CHANNELS), "bhtd": (2, HEADS, 6, CHANNELS),
              "bthd": (2, 6, HEADS, CHANNELS)}

    def test_every_dtype_in_every_layout(self):
        for dtype in ("f32", "f16", "bf16"):
            for layout, shape in self.SHAPES.items():
                with self.subTest(dtype=dtype, layout=layout):
                    tensor = random_tensor(shape, dtype)
                    out = self.rotated(tensor, "--layout", layout, "--positions", "37")
                    self.assert_rotated(out, tensor, lambda b, t: 37 + t, layout)
                    self.assertNotEqual(out, tensor)

    def test_the_layout_is_told_by_the_number_of_axes(self):
        for layout in ("thd", "bhtd"):
            tensor = random_tensor(self.SHAPES[layout])
            self.assertEqual(self.rotated(tensor), self.rotated(tensor, "--layout", layout))

    def test_adjacent_channels_and_a_part_of_the_head(self):
        model = self.write_model(GPTJ, "gptj.json")
        tensor = random_tensor((5, 4, 16))
        self.assert_rotated(self.rotated(tensor, model=model), tensor, lambda b, t: t, rotation=Rotation(8, half=False))

    def test_keys_have_heads_of_their_own(self):
        tensor = random_tensor((6, KEY_HEADS, CHANNELS))
        self.assert_rotated(self.rotated(tensor, flag="--k"), tensor, lambda b, t: t)

    def test_backwards(self):
        tensor = random_tensor((6, HEADS, CHANNELS))
        self.assert_rotated(self.rotated(tensor, "--inverse"), tensor, lambda b, t: t, inverse=True)

    def test_threads_and_instruction_sets(self):
        tensor = random_tensor((6, HEADS, CHANNELS))
        whole = self.rotated(tensor).values
        for words in (["--threads", 1], ["--threads", 3], ["--isa", "scalar"]):
            with self.subTest(words):
                self.assertEqual(self.rotated(tensor, *words).values, whole)

    def test_there_and_back(self):
        """Each rotation adds its error; the first one's is rotated back, which makes it sqrt 2 as large at most."""
        for dtype in ("f32", "f16", "bf16"):
            with self.subTest(dtype=dtype):
                tensor = random_tensor((6, HEADS, CHANNELS), dtype)
                back = self.rotated(self.rotated(tensor, "--positions", "100"), "--positions", "100", "--inverse")
                for i in range(0, len(tensor.values), CHANNELS):
                    x = tensor.values[i:i + CHANNELS]
                    largest = max(PLAIN.bound([1.5 * max(map(abs, x))] * CHANNELS, [1.5 * max(map(abs, x))] * CHANNELS,
                                              dtype))
                    for was, now in zip(x, back.values[i:i + CHANNELS]):
                        self.assertLessEqual(abs(was - now), (1 + math.sqrt(2)) * largest)
                self.assertNotEqual(back, tensor)

    def test_in_pieces_as_at_once(self):
        """The rows of 20 MiB are rotated in pieces; the last ones alone are the same to the bit."""
        row = random_tensor((32, 64))
        data = tensors.encoded("f32", row.values) * 2600
        tensors.write_npy_bytes(self.folder / "all.npy", "<f4", (2600, 32, 64), data)
        tensors.write_npy_bytes(self.folder / "last.npy", "<f4", (100, 32, 64), data[-100 * 32 * 64 * 4:])
        for name, start in (("all", 0), ("last", 2500)):
            got = posenc("rotate", "--model", "llama-3.2-1b", "--q", self.folder / f"{name}.npy", "--positions", start,
                         "-o", self.folder / f"{name}_out.npy")
            self.assertEqual(got.code, 0, got)
        last = (self.folder / "last_out.npy").read_bytes()[-100 * 32 * 64 * 4:]
        self.assertEqual((self.folder / "all_out.npy").read_bytes()[-len(last):], last)

    def test_fortran_order(self):
        tensor = random_tensor((6, HEADS, CHANNELS))
        columns = [tensor.at(t, h, d) for d in range(CHANNELS) for h in range(HEADS) for t in range(6)]
        tensors.write_npy_bytes(self.folder / "f.npy", "<f4", tensor.shape, tensors.encoded("f32", columns), True)
        posenc("rotate", "--model", self.model, "--q", self.folder / "f.npy", "-o", self.folder / "f_out.npy")
        self.assertEqual(read_npy(self.folder / "f_out.npy"), self.rotated(tensor))

    def test_no_tokens(self):
        self.assertEqual(self.rotated(random_tensor((0, HEADS, CHANNELS)), "--check").values, [])


class Where(RotateTest):
    TENSOR = random_tensor((4, HEADS, CHANNELS))

    def test_one_start_four_ways(self):
        expected = self.rotated(self.TENSOR, "--positions", "-2")
        self.assert_rotated(expected, self.TENSOR, lambda b, t: t - 2)
        self.assertEqual(self.rotated(self.TENSOR, "--positions=-2,-1,0,1"), expected)
        for kind in "qidf":
            path = write_numbers(self.folder / f"{kind}.npy", kind, (4,), [-2, -1, 0, 1])
            self.assertEqual(self.rotated(self.TENSOR, "--positions", path), expected, kind)

    def test_any_order_and_far(self):
        places = [2**31, 5, 5, 16777217]
        out = self.rotated(self.TENSOR, "--positions", ",".join(map(str, places)), "--check")
        for t, place in enumerate(places):
            alone = tensors.Tensor("f32", (1, HEADS, CHANNELS), self.TENSOR.values[t * 64:(t + 1) * 64])
            self.assertEqual(self.rotated(alone, "--positions", place).values, out.values[t * 64:(t + 1) * 64])

    def test_between_whole_numbers(self):
        self.assert_rotated(self.rotated(self.TENSOR, "--positions", "0.5,1.25,-3,7"), self.TENSOR,
                           lambda b, t: [0.5, 1.25, -3, 7][t])

    def test_batches(self):
        tensor = random_tensor((2, HEADS, 3, CHANNELS))
        path = write_numbers(self.folder / "p.npy", "q", (2, 3), [5, 6, 7, 900, 30, 1])
        self.assert_rotated(self.rotated(tensor, "--positions", path), tensor,
                           lambda b, t: [[5, 6, 7], [900, 30, 1]][b][t], "bhtd")
        self.assert_rotated(self.rotated(tensor, "--positions", "5,9,2"), tensor, lambda b, t: [5, 9, 2][t], "bhtd")

    def test_three_axes(self):
        model = self.write_model(MROPE, "mrope.json")
        places = {"t": [0, 1, 1, 1], "h": [0, 1, 2, 3], "w": [0, 9, 8, 7]}
        path = write_numbers(self.folder / "thw.npy", "q", (3, 4), [*places["t"], *places["h"], *places["w"]])
        by_pair = [[places["tthhhwww"[p]][t] for p in range(8)] for t in range(4)]
        out = self.rotated(self.TENSOR, "--positions", path, "--check", model=model)
        self.assert_rotated(out, self.TENSOR, lambda b, t: by_pair[t])
        # Text stands at one time on every axis.
        self.assert_rotated(self.rotated(self.TENSOR, model=model), self.TENSOR, lambda b, t: t)
        self.assertEqual(self.rotated(self.TENSOR, "--positions", "0,1,1,1,0,1,2,3,0,9,8,7", model=model), out)

    def test_rules_that_depend_on_the_length(self):
        model = self.write_model(small(max_position_embeddings=8, rope_scaling={"type": "dynamic", "factor": 2.0}),
                                 "dynamic.json")
        tensor = random_tensor((20, HEADS, CHANNELS))
        out = {}
        for length in (8, 20, 40):
            base = 10000.0 * (2 * length / 8 - 1) ** (16 / 14)
            out[length] = self.rotated(tensor, "--length", length, model=model)
            self.assert_rotated(out[length], tensor, lambda b, t: t, rotation=Rotation(CHANNELS, base))
        self.assertEqual(self.rotated(tensor, model=model), out[20])  # the last position + 1

    def test_arithmetics(self):
        place = ["--positions", "100000"]
        exact = self.rotated(self.TENSOR, *place, "--check")
        self.assertEqual(self.rotated(self.TENSOR, *place, "--angles", "exact"), exact)
        for angles, least, most in (("float32", 1e-5, 2e-2), ("bfloat16", 1e-4, 5e-2)):
            out = self.rotated(self.TENSOR, *place, "--angles", angles, "--check")
            difference = max(abs(a - b) for a, b in zip(out.values, exact.values))
            self.assertTrue(least < difference < most, (angles, difference))


class Choices(RotateTest):
    def test_layers_that_differ_must_be_named(self):
        tensor = random_tensor((2, 8, 256))
        outs = [self.rotated(tensor, "--layer", layer, "--positions", "9", model="gemma-3-4b") for layer in (0, 4, 5)]
        self.assertEqual(outs[0], outs[1])
        self.assertNotEqual(outs[1], outs[2])

    def test_stacks(self):
        model = self.write_model(WITH_VISION, "both.json")
        tensor = random_tensor((3, 4, 16))
        self.assert_rotated(self.rotated(tensor, "--stack", "decoder", model=model), tensor, lambda b, t: t)
        patches = random_tensor((4, 2, 8))
        out = self.rotated(patches, "--stack", "vision", "--positions", "0,1,0,1,0,0,1,1", "--check", model=model)
        self.assertEqual(self.rotated(patches, "--stack", "vision", "--positions", "0,1,0,1,0,0,1,1", "--inverse",
                                      model=model).shape, out.shape)
        # The first patch stands at (1, 1), and so is rotated.
        self.assertNotEqual(out.values[:16], patches.values[:16])

    def test_an_indexer(self):
        tensor = random_tensor((2, 64, 128))
        self.rotated(tensor, "--rotation", "1", "--check", model="deepseek-v3.2")
        self.rotated(random_tensor((2, 1, 128)), "--rotation", "1", "--check", flag="--k", model="deepseek-v3.2")

    def test_the_last_channels(self):
        tensor = random_tensor((2, 128, 192))
        out = self.rotated(tensor, "--positions", "7", "--check", model="deepseek-v3")
        for i in range(0, len(tensor.values), 192):
            self.assertEqual(out.values[i:i + 128], tensor.values[i:i + 128])
            self.assertNotEqual(out.values[i + 128:i + 192], tensor.values[i + 128:i + 192])


class Files(RotateTest):
    def setUp(self):
        super().setUp()
        self.q, self.k = random_tensor((6, HEADS, CHANNELS), seed=2), random_tensor((6, KEY_HEADS, CHANNELS), "f16", 3)

    def run_in_folder(self, *words):
        got = posenc("rotate", "--model", "config.json", *words, cwd=self.folder)
        self.assertEqual((got.code, got.err), (0, ""))
        return got.out

    def test_both_in_one_file(self):
        write_safetensors(self.folder / "in.safetensors", {"other": self.k, "q": self.q, "k": self.k})
        self.run_in_folder("--q", "in.safetensors", "--k", "in.safetensors", "-o", "out.safetensors", "--check")
        out = read_safetensors(self.folder / "out.safetensors")
        self.assertEqual(out, {"q": self.rotated(self.q), "k": self.rotated(self.k, flag="--k")})

    def test_a_named_tensor(self):
        write_safetensors(self.folder / "in.safetensors", {"a:b": self.q, "k": self.k})
        write_safetensors(self.folder / "in", {"q": self.k})
        self.run_in_folder("--q", "in.safetensors:a:b", "-o", "out.npy")
        self.assertEqual(read_npy(self.folder / "out.npy"), self.rotated(self.q))

    def test_a_file_whose_name_has_a_colon(self):
        write_npy(self.folder / "a:b.npy", self.q)
        self.run_in_folder("--q", "a:b.npy", "-o", "out:q.npy")
        write_safetensors(self.folder / "c:d", {"x": self.q, "y": self.k})
        self.run_in_folder("--q", "c:d:x", "-o", "out2.npy")
        self.assertEqual((self.folder / "out2.npy").read_bytes(), (self.folder / "out:q.npy").read_bytes())

    def test_one_tensor_in_a_safetensors_file(self):
        write_npy(self.folder / "k.npy", self.k)
        self.run_in_folder("--k", "k.npy", "-o", "out.safetensors")
        self.assertEqual(read_safetensors(self.folder / "out.safetensors"), {"k": self.rotated(self.k, flag="--k")})

    def test_replaced_when_asked_even_the_input(self):
        path = write_npy(self.folder / "q.npy", self.q)
        self.run_in_folder("--q", "q.npy", "-o", "q.npy", "--force")
        self.assertEqual(read_npy(path), self.rotated(self.q))

    def test_raw_bits_as_bfloat16(self):
        tensor = random_tensor((6, HEADS, CHANNELS), "bf16")
        write_npy(self.folder / "raw.npy", tensor, "<u2")
        self.run_in_folder("--q", "raw.npy", "--bf16", "-o", "out.npy")
        self.assertEqual(read_npy(self.folder / "out.npy"), self.rotated(tensor))


class Words(RotateTest):
    def setUp(self):
        super().setUp()
        write_npy(self.folder / "q.npy", random_tensor((6, HEADS, CHANNELS)))
        write_npy(self.folder / "k.npy", random_tensor((6, KEY_HEADS, CHANNELS)))
        self.words = ["rotate", "--model", "config.json", "--q", "q.npy", "--k", "k.npy", "-o", "out.safetensors"]

    def test_the_page(self):
        got = posenc(*self.words, "--check", cwd=self.folder)
        self.assert_page(got.out)
        self.assertEqual(got.out.splitlines()[0].split(":")[0], "out.safetensors")
        for fact in ("q [6, 4, 16] f32, k [6, 2, 16] f32", "config.json, decoder layers 0-2", "base 10000", "0 to 5",
                     "exact angles, forward", "6 of 6 tokens", "of its bound"):
            self.assertIn(fact, got.out)

    def test_json(self):
        got = posenc(*self.words, "--check", "--json", "--layer", "1", "--positions", "40", "--inverse", cwd=self.folder)
        self.assertEqual((got.code, got.err), (0, ""))
        data = json.loads(got.out)
        facts = {"schema_version": 1, "out": "out.safetensors", "model": "config.json", "stack": "decoder", "layer": 1,
                 "rotation": 0, "direction": "inverse", "angles": "exact", "length": None,
                 "positions": {"least": 40, "most": 45}, "tokens": 6, "checked_tokens": 6, "warnings": []}
        self.assertEqual({key: data[key] for key in facts}, facts)
        self.assertEqual(data["bytes"], (self.folder / "out.safetensors").stat().st_size)
        self.assertEqual([(t["name"], t["dtype"], t["shape"], t["layout"]) for t in data["tensors"]],
                         [("q", "f32", [6, 4, 16], "thd"), ("k", "f32", [6, 2, 16], "thd")])
        for tensor in data["tensors"]:
            check = tensor["check"]
            self.assertEqual((check["values"], check["pairs_not_finite"]), (math.prod(tensor["shape"]), 0))
            self.assertTrue(0.1 < check["over_bound"] <= 1, check)
            self.assertTrue(0.1 < check["ulp"] < 2, check)

    def test_without_a_check(self):
        data = json.loads(posenc(*self.words, "--json", cwd=self.folder).out)
        self.assertEqual((data["checked_tokens"], [t["check"] for t in data["tensors"]]), (0, [None, None]))

    def test_a_sample_of_many_rows(self):
        write_npy(self.folder / "q.npy", random_tensor((3000, HEADS, CHANNELS)))
        got = posenc("rotate", "--model", "config.json", "--q", "q.npy", "-o", "o.npy", "--check", cwd=self.folder)
        self.assertIn("1024 of 3000 tokens", " ".join(got.out.split()))

    def test_what_is_not_finite_is_counted(self):
        tensor = random_tensor((6, HEADS, CHANNELS))
        tensor.values[3], tensor.values[70] = math.inf, math.nan
        write_npy(self.folder / "q.npy", tensor)
        got = posenc("rotate", "--model", "config.json", "--q", "q.npy", "-o", "o.npy", "--check", cwd=self.folder)
        self.assertEqual((got.code, got.err), (0, ""))
        self.assertIn("2 pairs with NaN or Inf not checked", " ".join(got.out.split()))

    def test_bytes_behind_the_last_element_are_a_warning(self):
        path = self.folder / "q.npy"
        path.write_bytes(path.read_bytes() + b"...")
        got = posenc(*self.words, cwd=self.folder)
        self.assertEqual(got.code, 0)
        self.assertIn("3 bytes follow", got.out)


tool.main()
