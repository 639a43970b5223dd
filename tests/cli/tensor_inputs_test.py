"""Tensors as people have them: f64, .npz, projections with all heads on one axis, standard input."""
import io
import json
import pathlib
import struct
import tempfile
import zipfile

import tool
from tensors import Tensor, random_tensor, read_npy, read_safetensors, write_npy, write_npy_bytes, write_safetensors
from tool import posenc, small

USAGE, FILE, MALFORMED = 2, 3, 4
HEADS, KEY_HEADS, CHANNELS = 4, 2, 16


class Inputs(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "config.json").write_bytes(small())
        self.tensors = {"q": random_tensor((6, HEADS, CHANNELS), seed=2),
                        "k": random_tensor((6, KEY_HEADS, CHANNELS), seed=3),
                        "v": random_tensor((6, KEY_HEADS, CHANNELS), seed=4)}
        for name, tensor in self.tensors.items():
            write_npy(self.folder / f"{name}.npy", tensor)
        self.count = 0

    def run_here(self, *words, stdin=b""):
        return posenc(*words, cwd=self.folder, stdin=stdin)

    def rotated(self, *words, stdin=b"", flag="--q"):
        self.count += 1
        out = self.folder / f"{self.count}_out.npy"
        got = self.run_here("rotate", "--model", "config.json", flag, *words, "-o", out, stdin=stdin)
        self.assertEqual((got.code, got.err), (0, ""))
        self.assert_page(got.out)
        self.said = " ".join(got.out.split())
        return read_npy(out)

    def assert_refused(self, code, *fragments, words, stdin=b""):
        self.assert_fails(self.run_here("rotate", "--model", "config.json", *words, "-o", "no.npy", stdin=stdin), code,
                          *fragments)
        self.assertFalse((self.folder / "no.npy").exists())


class Doubles(Inputs):
    def write(self, values, shape=(6, HEADS, CHANNELS), fortran=False):
        write_npy_bytes(self.folder / "d.npy", "<f8", shape, struct.pack(f"<{len(values)}d", *values), fortran)

    def test_are_rotated_as_the_floats_next_to_them(self):
        self.write([x * (1 + 2**-40) for x in self.tensors["q"].values])
        self.assertEqual(self.rotated("d.npy", "--check"), self.rotated("q.npy"))
        self.rotated("d.npy")
        self.assertIn("q [6, 4, 16] f32 (f64 in the file)", self.said)
        data = json.loads(self.run_here("rotate", "--model", "config.json", "--q", "d.npy", "-o", "j.npy", "--json").out)
        self.assertEqual([(t["dtype"], t["file_dtype"]) for t in data["tensors"]], [("f32", "f64")])

    def test_columns(self):
        q = self.tensors["q"]
        self.write([q.at(t, h, d) for d in range(CHANNELS) for h in range(HEADS) for t in range(6)], fortran=True)
        self.assertEqual(self.rotated("d.npy"), self.rotated("q.npy"))

    def test_no_tokens(self):
        for fortran in (False, True):
            self.write([], (0, HEADS, CHANNELS), fortran)
            self.assertEqual(self.rotated("d.npy").shape, (0, HEADS, CHANNELS))
        write_npy(self.folder / "none.npy", Tensor("f32", (0, 64), []))
        self.assertEqual(self.rotated("none.npy", "--heads", HEADS).shape, (0, 64))

    def test_what_f32_cannot_hold_is_refused(self):
        for x, shown in ((1e39, "1e+39"), (-3.5e38, "-3.5e+38")):
            self.write([0.0] * 383 + [x])
            self.assert_refused(MALFORMED, "--q: d.npy: expected numbers that f32 can hold", shown, words=["--q", "d.npy"])
        self.write([0.0] * 383 + [float("inf")])
        self.rotated("d.npy")

    def test_attention_of_them(self):
        for name in "qkv":
            values = self.tensors[name].values
            write_npy_bytes(self.folder / f"{name}64.npy", "<f8", self.tensors[name].shape,
                            struct.pack(f"<{len(values)}d", *values))
        for wide in ("", "64"):
            got = self.run_here("attend", "--model", "config.json", *(word for name in "qkv" for word in
                                (f"--{name}", f"{name}{wide}.npy")), "-o", f"out{wide}.npy", "--check")
            self.assertEqual(got.code, 0, got)
        self.assertEqual(read_npy(self.folder / "out.npy"), read_npy(self.folder / "out64.npy"))


class Npz(Inputs):
    def archive(self, method=zipfile.ZIP_STORED, **files):
        with zipfile.ZipFile(self.folder / "all.npz", "w", method) as archive:
            for name, content in files.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:  # as numpy.savez does
                    member.write(content)

    def test_as_numpy_writes_it(self):
        self.archive(**{name: (self.folder / f"{name}.npy").read_bytes() for name in "qk"})
        got = self.run_here("rotate", "--model", "config.json", "--q", "all.npz", "--k", "all.npz:k", "-o", "o.safetensors")
        self.assertEqual((got.code, got.err), (0, ""))
        out = read_safetensors(self.folder / "o.safetensors")
        self.assertEqual(out, {"q": self.rotated("q.npy"), "k": self.rotated("k.npy", flag="--k")})

    def test_compressed_is_refused_with_what_would_do(self):
        self.archive(zipfile.ZIP_DEFLATED, q=(self.folder / "q.npy").read_bytes())
        self.assert_refused(MALFORMED, "--q: all.npz", "compressed", "numpy.savez writes", words=["--q", "all.npz"])

    def test_names(self):
        self.archive(query=(self.folder / "q.npy").read_bytes(), key=b"")
        self.assert_refused(MALFORMED, "key.npy", words=["--q", "all.npz"])
        self.archive(query=(self.folder / "q.npy").read_bytes())
        self.assertEqual(self.rotated("all.npz"), self.rotated("q.npy"))
        self.assert_refused(MALFORMED, "no tensor named 'q'", words=["--q", "all.npz:q"])

    def test_a_checkpoint_of_torch_is_none(self):
        with zipfile.ZipFile(self.folder / "all.npz", "w") as archive:
            archive.writestr("model/data.pkl", b"x" * 200)
        self.assert_refused(MALFORMED, "PyTorch checkpoint", words=["--q", "all.npz"])


class Projections(Inputs):
    def joined(self, name, shape):
        write_npy(self.folder / f"{name}_joined.npy", Tensor("f32", shape, self.tensors[name].values))
        return f"{name}_joined.npy"

    def test_of_one_sequence_and_of_several(self):
        expected = self.rotated("q.npy")
        for shape in ((6, 64), (1, 6, 64)):
            out = self.rotated(self.joined("q", shape), "--heads", HEADS, "--check")
            self.assertEqual((out.shape, out.values), (shape, expected.values))
        out = self.rotated(self.joined("q", (2, 3, 64)), "--heads", HEADS, "--positions", "5")
        write_npy(self.folder / "b.npy", Tensor("f32", (2, 3, HEADS, CHANNELS), self.tensors["q"].values))
        self.assertEqual(out.values, self.rotated("b.npy", "--layout", "bthd", "--positions", "5").values)

    def test_keys_have_the_number_of_the_layer(self):
        got = self.run_here("rotate", "--model", "config.json", "--q", self.joined("q", (1, 6, 64)), "--k",
                            self.joined("k", (1, 6, 32)), "--heads", HEADS, "-o", "o.safetensors", "--json")
        self.assertEqual((got.code, got.err), (0, ""))
        self.assertEqual([(t["shape"], t["joined_heads"]) for t in json.loads(got.out)["tensors"]],
                         [([1, 6, 64], True), ([1, 6, 32], True)])
        self.assertEqual(self.rotated("k_joined.npy", "--heads", KEY_HEADS, flag="--k").values,
                         self.rotated("k.npy", flag="--k").values)
        self.assertEqual(read_safetensors(self.folder / "o.safetensors")["k"].values,
                         self.rotated("k.npy", flag="--k").values)

    def test_attention(self):
        got = self.run_here("attend", "--model", "config.json", "--q", "q.npy", "--k", "k.npy", "--v", "v.npy", "-o",
                            "a.safetensors", "--lse")
        self.assertEqual(got.code, 0, got)
        for lead in ((), (1,)):
            words = [word for name, width in (("q", 64), ("k", 32), ("v", 32))
                     for word in (f"--{name}", self.joined(name, (*lead, 6, width)))]
            got = self.run_here("attend", "--model", "config.json", *words, "--heads", HEADS, "-o", "b.safetensors",
                                "--lse", "--check", "--force")
            self.assertEqual(got.code, 0, got)
            a, b = (read_safetensors(self.folder / f"{name}.safetensors") for name in "ab")
            self.assertEqual((b["out"].shape, b["lse"].shape), ((*lead, 6, 64), (*lead, 6, HEADS)))
            self.assertEqual((a["out"].values, a["lse"].values), (b["out"].values, b["lse"].values))

    def test_the_message_without_it_proposes_it(self):
        for shape in ((6, 64), (1, 6, 64)):
            self.assert_refused(MALFORMED, f"{list(shape)}", "--heads 4 fits", words=["--q", self.joined("q", shape)])

    def test_what_does_not_fit(self):
        name = self.joined("q", (6, 64))
        self.assert_refused(USAGE, "--heads: expected 4, the query heads of decoder layers 0-2, got 8",
                            words=["--q", name, "--heads", "8"])
        self.assert_refused(USAGE, "--heads and --layout exclude", words=["--q", name, "--heads", "4", "--layout", "thd"])
        self.assert_refused(MALFORMED, "expected 2 axes (--heads)", "[1, 1, 6, 64]",
                            words=["--q", self.joined("q", (1, 1, 6, 64)), "--heads", "4"])
        self.assert_refused(MALFORMED, "expected 4 query heads times 16 channels", "got 32 ([12, 32])",
                            words=["--q", self.joined("q", (12, 32)), "--heads", "4"])
        self.assert_refused(USAGE, "--heads", words=["--q", name, "--heads", "0"])


class StandardInput(Inputs):
    def test_every_format(self):
        expected = self.rotated("q.npy")
        write_safetensors(self.folder / "all.safetensors", {"x": self.tensors["q"], "q": self.tensors["q"]})
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.write(self.folder / "q.npy", "x.npy")
        for word, content in (("-", (self.folder / "q.npy").read_bytes()),
                              ("-:x", (self.folder / "all.safetensors").read_bytes()),
                              ("-", (self.folder / "all.safetensors").read_bytes()), ("-", packed.getvalue())):
            self.assertEqual(self.rotated(word, stdin=content), expected, word)

    def test_larger_than_a_pipe(self):
        tensor = random_tensor((700, HEADS, CHANNELS))
        path = write_npy(self.folder / "large.npy", tensor)
        self.assertEqual(self.rotated("-", stdin=path.read_bytes()), self.rotated("large.npy"))

    def test_attention_and_its_weights(self):
        got = [self.run_here("attend", "--model", "config.json", "--q", "q.npy", "--k", k, "--v", "v.npy", "-o", "o.npy",
                             "--force", stdin=(self.folder / "k.npy").read_bytes()) for k in ("k.npy", "-")]
        self.assertEqual(got[0], got[1])
        (self.folder / "t5.json").write_text(json.dumps(
            {"model_type": "t5", "d_model": 64, "d_kv": 16, "num_heads": 4, "num_layers": 1, "is_encoder_decoder": False,
             "is_decoder": False, "use_cache": False}))
        write_npy(self.folder / "v.npy", random_tensor((6, 4, 16)))
        write_safetensors(self.folder / "w.safetensors", {"table": random_tensor((32, 4))})
        words = ["attend", "--model", "t5.json", "--stack", "encoder", "--q", "v.npy", "--k", "v.npy", "--v", "v.npy",
                 "-o", "o.npy", "--force"]
        stdin = (self.folder / "w.safetensors").read_bytes()
        a, b = (self.run_here(*words, "--weights", name, stdin=stdin) for name in ("w.safetensors", "-"))
        self.assertEqual((a.code, a), (0, b))

    def test_once_only(self):
        got = self.run_here("rotate", "--model", "config.json", "--q", "-", "--k", "-:k", "-o", "no.safetensors")
        self.assert_fails(got, USAGE, "--q and --k", "standard input")
        got = self.run_here("rotate", "--model", "-", "--q", "-", "-o", "no.npy", stdin=small())
        self.assert_fails(got, USAGE, "--model and --q", "standard input")
        got = self.run_here("attend", "--model", "config.json", "--q", "q.npy", "--k", "-", "--v", "v.npy", "--mask", "-",
                            "-o", "no.npy")
        self.assert_fails(got, USAGE, "--k and --mask")

    def test_what_is_wrong_with_it(self):
        self.assert_refused(MALFORMED, "--q: <stdin>", "no bytes", words=["--q", "-"])
        self.assert_refused(MALFORMED, "--q: <stdin>", words=["--q", "-"], stdin=(self.folder / "q.npy").read_bytes()[:-1])
        self.assert_refused(MALFORMED, "'y'", words=["--q", "-:y"], stdin=(self.folder / "q.npy").read_bytes())


tool.main()
