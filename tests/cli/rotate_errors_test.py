"""posenc rotate: what cannot be rotated, and that nothing is left of it."""
import json
import os
import pathlib
import tempfile

import tensors
import tool
from tensors import random_tensor, write_npy, write_numbers, write_safetensors
from tool import posenc, small

USAGE, FILE, MALFORMED = 2, 3, 4


class Refused(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "config.json").write_bytes(small())
        write_npy(self.folder / "q.npy", random_tensor((6, 4, 16)))
        write_npy(self.folder / "k.npy", random_tensor((6, 2, 16)))

    def words(self, *more, model="config.json", q="q.npy", out="out.npy"):
        return ["rotate", "--model", model, *(["--q", q] if q else []),
                *(["-o", out] if out is not None else []), *more]

    def assert_refused(self, code, *fragments, more=(), environment=None, **words):
        """And the folder is as it was."""
        before = {path: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        got = posenc(*self.words(*more, **words), cwd=self.folder, environment=environment)
        self.assert_fails(got, code, *fragments)
        self.assertEqual({path: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}, before)


class CommandLines(Refused):
    def test_what_is_needed(self):
        self.assert_refused(USAGE, "--q or --k", q=None)
        self.assert_refused(USAGE, "--output", "required", out=None)
        self.assert_fails(posenc("rotate", "--q", "q.npy", "-o", "out.npy", cwd=self.folder), USAGE, "--model")

    def test_names_of_outputs(self):
        for out in ("out", "out.txt", "-", ""):
            self.assert_refused(USAGE, "-o", ".npy or .safetensors", out=out)
        self.assert_refused(USAGE, "q and k are two", ".safetensors", more=["--k", "k.npy"])

    def test_choices(self):
        self.assert_refused(USAGE, "--layout", "thd, htd, bhtd, bthd", "'hdt'", more=["--layout", "hdt"])
        self.assert_refused(USAGE, "--angles", "did you mean float32?", more=["--angles", "float23"])
        self.assert_refused(USAGE, "unknown flag '--posiions'", "did you mean --positions?", more=["--posiions", "3"])

    def test_numbers(self):
        for flag in ("--layer", "--rotation", "--length"):
            for text in ("-1", "1e3", "", "x"):
                self.assert_refused(USAGE, flag, more=[flag, text])

    def test_positions(self):
        for text in ("", "1,", ",", "1,,2", "1e999,2", "1-2", "--", "1.2.3", "9007199254740993", "-9007199254740993",
                     "9007199254740990", "0,1,2,3,4,9007199254740993", "99999999999999999999"):
            with self.subTest(text=text):
                self.assert_refused(USAGE, "--positions", more=[f"--positions={text}"])
        self.assert_refused(USAGE, "expected positions of the shape [6], got [3]", more=["--positions", "5,6,7"])
        for text in ("9999999999999999999", "-9999999999999999999", "1e30", "0,1,2,3,4,1e19"):
            self.assert_refused(USAGE, "--positions: expected a start", "from -2^53 to 2^53", text.split(",")[-1],
                                more=[f"--positions={text}"])
        self.assert_refused(USAGE, "got [1]; a start is a whole number", more=["--positions", "5.0"])

    def test_an_environment_that_cannot_be(self):
        self.assert_refused(USAGE, "POSENC_ISA", environment={"POSENC_ISA": "sse9"})
        self.assert_refused(USAGE, "POSENC_THREADS", environment={"POSENC_THREADS": "many"})


class Models(Refused):
    def test_no_model(self):
        self.assert_refused(FILE, "no such file", "did you mean the preset llama-3.1-8b?", model="llama-3.1-8")
        (self.folder / "bad.json").write_text("{")
        self.assert_refused(MALFORMED, "bad.json:1", model="bad.json")

    def test_layers_and_stacks(self):
        self.assert_refused(USAGE, "--layer 3", "decoder 0-2", more=["--layer", "3"])
        self.assert_refused(USAGE, "--stack vision", "decoder", more=["--stack", "vision"])
        self.assert_refused(USAGE, "--rotation 1", "1 rotation", more=["--rotation", "1"])
        self.assert_refused(USAGE, "--layer is needed", "0-4, 6-10", "5, 11", model="gemma-3-4b")

    def test_stacks_that_differ_must_be_named(self):
        (self.folder / "both.json").write_text(json.dumps(
            {"model_type": "wrapper9", "text_config": json.loads(small()),
             "vision_config": {"model_type": "qwen2_vl_vision", "depth": 2, "embed_dim": 64, "num_heads": 4}}))
        self.assert_refused(USAGE, "--stack is needed", "decoder, vision", model="both.json")
        # Patches do not stand on the diagonal.
        self.assert_refused(USAGE, "--positions", "h and w", "[2, 6]", model="both.json", more=["--stack", "vision"])

    def test_rotations_that_follow_each_other_must_be_named(self):
        (self.folder / "both.json").write_text(json.dumps(
            {"model_type": "wrapper9", "text_config": json.loads(small()),
             "vision_config": {"model_type": "gemma4_vision", "head_dim": 16, "hidden_size": 64,
                               "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 1,
                               "position_embedding_size": 64,
                               "rope_parameters": {"rope_theta": 50.0, "rope_type": "default"}}}))
        self.assert_refused(USAGE, "--rotation is needed", "0: channels 0-7 by w; 1: channels 8-15 by h",
                            model="both.json", more=["--stack", "vision"])

    def test_what_rotates_nothing(self):
        self.assert_refused(MALFORMED, "has no RoPE", model="gpt2")
        self.assert_refused(MALFORMED, "layer 3 has no RoPE", "0-2", model="smollm3-3b", more=["--layer", "3"])

    def test_a_stack_that_could_not_be_read(self):
        (self.folder / "odd.json").write_text(json.dumps(
            {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
             "rope_scaling": {"rope_type": "wobble", "factor": 2.0}}))
        for layer in ([], ["--layer", "0"]):
            self.assert_refused(MALFORMED, "the stack decoder is not known", 'got "wobble"', model="odd.json", more=layer)

    def test_xpos(self):
        (self.folder / "xpos.json").write_text(json.dumps(
            {"model_type": "nomic_bert", "auto_map": {}, "n_embd": 64, "n_head": 4, "n_layer": 1,
             "n_positions": 512, "rotary_emb_base": 2000, "rotary_emb_fraction": 0.5, "rotary_emb_interleaved": True,
             "rotary_emb_scale_base": 256, "causal": False}))
        self.assert_refused(MALFORMED, "xPos", model="xpos.json")

    def test_keys_of_another_layer(self):
        (self.folder / "shared.json").write_text(json.dumps(
            {"model_type": "gemma3n_text", "hidden_size": 64, "head_dim": 16, "num_attention_heads": 4,
             "num_key_value_heads": 2, "num_hidden_layers": 4, "num_kv_shared_layers": 2,
             "layer_types": ["sliding_attention", "full_attention"] * 2, "sliding_window": 32,
             "max_position_embeddings": 2048, "rope_theta": 10000.0, "rope_local_base_freq": 500.0}))
        self.assert_refused(MALFORMED, "--k", "no keys of its own", "layer 1", model="shared.json", q=None,
                            more=["--k", "k.npy", "--layer", "3"])


class Tensors(Refused):
    def test_unreadable(self):
        self.assert_refused(FILE, "--q", "absent.npy", q="absent.npy")
        self.assert_refused(FILE, "--q", "absent.safetensors: ", q="absent.safetensors:name")
        os.mkfifo(self.folder / "pipe")
        self.assert_refused(FILE, "--q", "pipe", q="pipe")
        self.assert_refused(FILE, "--q", q=".")

    def test_sizes(self):
        self.assert_refused(MALFORMED, "expected 4 query heads of 16 channels (decoder layers 0-2)",
                            "got 2 heads of 16 channels", "[6, 2, 16] as thd", q="k.npy")
        self.assert_refused(MALFORMED, "expected 2 KV heads", "got 4 heads", q=None, more=["--k", "q.npy"])
        write_npy(self.folder / "x.npy", random_tensor((6, 4, 8)))
        self.assert_refused(MALFORMED, "of 16 channels", "of 8 channels", q="x.npy")
        write_npy(self.folder / "x.npy", random_tensor((4, 6, 16)))
        self.assert_refused(MALFORMED, "got 6 heads", "--layout htd fits", q="x.npy")
        write_npy(self.folder / "x.npy", random_tensor((2, 6, 4, 16)))
        self.assert_refused(MALFORMED, "[2, 6, 4, 16] as bhtd", "--layout bthd fits", q="x.npy")

    def test_axes(self):
        for shape in ((), (64,), (6, 64), (1, 1, 6, 4, 16)):
            write_npy(self.folder / "x.npy", random_tensor(shape))
            self.assert_refused(MALFORMED, "expected 3 axes", f"{list(shape)}", q="x.npy")
        self.assert_refused(MALFORMED, "expected 4 axes (--layout bhtd)", "[6, 4, 16]", more=["--layout", "bhtd"])

    def test_queries_and_keys_apart(self):
        write_npy(self.folder / "k.npy", random_tensor((5, 2, 16)))
        self.assert_refused(MALFORMED, "--q and --k", "[6, 4, 16]", "[5, 2, 16]", more=["--k", "k.npy"],
                            out="o.safetensors")
        write_npy(self.folder / "k.npy", random_tensor((1, 2, 6, 16)))
        self.assert_refused(MALFORMED, "--q and --k", more=["--k", "k.npy"], out="o.safetensors")

    def test_types(self):
        for kind, name in (("q", "i64"), ("B", "u8")):
            write_numbers(self.folder / "x.npy", kind, (1, 4, 16), [1] * 64)
            self.assert_refused(MALFORMED, "x.npy", "expected f32, f16, bf16 or f64", f"got {name}", q="x.npy")
        bits = random_tensor((6, 4, 16), "bf16")
        write_npy(self.folder / "x.npy", bits, "<u2")
        self.assert_refused(MALFORMED, "got u16; if these are bf16, give --bf16", q="x.npy")
        write_npy(self.folder / "x.npy", bits, "<V2")
        self.assert_refused(MALFORMED, "raw bytes", "if these are bf16, give --bf16", q="x.npy")
        tensors.write_npy_bytes(self.folder / "x.npy", "|O", (6, 4, 16), b"")
        self.assert_refused(MALFORMED, "never loaded", q="x.npy")

    def test_malformed(self):
        whole = (self.folder / "q.npy").read_bytes()
        for content in (b"", b"\x93NUMPY", whole[:-1], whole[:60], b"PK\x03\x04" + whole):
            (self.folder / "x.npy").write_bytes(content)
            self.assert_refused(MALFORMED, "--q: x.npy", q="x.npy")

    def test_names(self):
        two = {"layer.0.q": random_tensor((6, 4, 16)), "layer.0.k": random_tensor((6, 2, 16))}
        write_safetensors(self.folder / "two.safetensors", two)
        self.assert_refused(MALFORMED, "2 tensors in the file; name one, as two.safetensors:layer.0.", q="two.safetensors")
        self.assert_refused(MALFORMED, "'layer.0.v'", "did you mean layer.0.q or layer.0.k?",
                            q="two.safetensors:layer.0.v")
        self.assert_refused(MALFORMED, "\\x1b[31m", q="two.safetensors:\x1b[31m")
        write_safetensors(self.folder / "none.safetensors", {})
        self.assert_refused(MALFORMED, "no tensors in the file", q="none.safetensors")
        self.assert_refused(MALFORMED, "a .npy file holds one tensor without a name, got 'q'", q="q.npy:q")

    def test_position_files(self):
        self.assert_refused(FILE, "--positions", "absent.npy", more=["--positions", "absent.npy"])
        for kind, shape, values, fragments in (
                ("q", (5,), [0] * 5, ("of the shape [6], got [5]",)),
                ("q", (6, 1), [0] * 6, ("got [6, 1]",)),
                ("q", (2, 6), [0] * 12, ("got [2, 6]",)),
                ("q", (), [0], ("got []",)),
                ("e", (6,), [0] * 6, ("f16", "i64")),
                ("q", (6,), [0, 0, 0, 0, 0, 2**53 + 1], ("9007199254740993",)),
                ("Q", (6,), [0, 0, 0, 0, 0, 2**64 - 1], ("-2^53 to 2^53",)),
                ("d", (6,), [0, 0, float("nan"), 0, 0, 0], ("nan",)),
                ("d", (6,), [0, 0, 0, float("inf"), 0, 0], ("inf",))):
            with self.subTest(kind=kind, shape=shape, values=values):
                write_numbers(self.folder / "p.npy", kind, shape, values)
                self.assert_refused(MALFORMED, "--positions: p.npy: ", *fragments, more=["--positions", "p.npy"])

    def test_axes_of_positions_in_the_wrong_order(self):
        (self.folder / "mrope.json").write_text(json.dumps(
            {"model_type": "qwen2_vl_text", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
             "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000.0,
             "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}))
        write_numbers(self.folder / "p.npy", "q", (6, 3), list(range(18)))
        self.assert_refused(MALFORMED, "of the shape [3, 6], got [6, 3]", model="mrope.json",
                            more=["--positions", "p.npy"])


class Outputs(Refused):
    def test_what_is_there_stays(self):
        (self.folder / "out.npy").write_text("old")
        self.assert_refused(FILE, "out.npy", "file exists", "--force")
        (self.folder / "folder.npy").mkdir()
        (self.folder / "link.npy").symlink_to("nowhere")
        os.mkfifo(self.folder / "pipe.npy")
        for name in ("folder", "link", "pipe"):
            self.assert_refused(FILE, f"{name}.npy", "file exists", out=f"{name}.npy")
            self.assert_refused(FILE, f"{name}.npy", out=f"{name}.npy", more=["--force"])
        self.assertTrue((self.folder / "link.npy").is_symlink())

    def test_what_is_there_stays_after_an_error(self):
        (self.folder / "out.npy").write_text("old")
        self.assert_refused(MALFORMED, "got 2 heads", q="k.npy", more=["--force"])

    def test_no_folder(self):
        self.assert_refused(FILE, "absent/out.npy", "no such directory: absent", out="absent/out.npy")
        self.assert_refused(FILE, "no such directory: q.npy", out="q.npy/out.npy")

    def test_a_folder_that_cannot_be_written(self):
        (self.folder / "locked").mkdir(mode=0o500)
        if os.access(self.folder / "locked", os.W_OK):
            self.skipTest("this user may write everywhere")
        self.assert_refused(FILE, "locked/out.npy", out="locked/out.npy")


tool.main()
