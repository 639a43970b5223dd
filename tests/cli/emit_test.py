"""posenc emit: files, exit codes and messages. What the code computes is judged by python/tests/judges/test_emit.py."""
import array
import ast
import json
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import unittest

import tool
from tool import posenc

USAGE, UNREADABLE, MALFORMED = 2, 3, 4
# Reads q, k, v and positions of the golden vectors as they lie in memory, and writes what the emitted functions make.
MAIN = """
#include <stdio.h>

void cos_sin(int tokens, const int *positions, float *cosines, float *sines);
void rotate(int tokens, int heads, float *x, const float *cosines, const float *sines);
void attention(int queries, int keys, const float *q, const float *k, const float *v, const int *q_order,
               const int *k_order, float *out);

enum { TOKENS = %(tokens)d, HEADS = %(heads)d, KV_HEADS = %(kv_heads)d, DIM = %(dim)d, VALUE_DIM = %(value_dim)d };
static int positions[TOKENS];
static float cosines[TOKENS * DIM], sines[TOKENS * DIM];
static float q[TOKENS * HEADS * DIM], k[TOKENS * KV_HEADS * DIM], v[TOKENS * KV_HEADS * VALUE_DIM];
static float out[TOKENS * HEADS * VALUE_DIM];

static void move(const char *name, void *data, size_t bytes, int is_written) {
  FILE *file = fopen(name, is_written ? "wb" : "rb");
  if (file == NULL) return;
  if (is_written) fwrite(data, 1, bytes, file);
  if (!is_written && fread(data, 1, bytes, file) != bytes) perror(name);
  fclose(file);
}

int main(void) {
  move("q.raw", q, sizeof q, 0);
  move("k.raw", k, sizeof k, 0);
  move("v.raw", v, sizeof v, 0);
  move("positions.raw", positions, sizeof positions, 0);
  cos_sin(TOKENS, positions, cosines, sines);
  rotate(TOKENS, HEADS, q, cosines, sines);
  rotate(TOKENS, KV_HEADS, k, cosines, sines);
  attention(TOKENS, TOKENS, q, k, v, positions, positions, out);
  move("q_rotated.raw", q, sizeof q, 1);
  move("k_rotated.raw", k, sizeof k, 1);
  move("out.raw", out, sizeof out, 1);
  return 0;
}
"""


def shape_and_numbers(path):
    """Of a .npy file of version 1 in C order, as posenc writes it: float64 or int64."""
    data = path.read_bytes()
    end = 10 + int.from_bytes(data[8:10], "little")
    header = ast.literal_eval(data[10:end].decode())
    return header["shape"], array.array("d" if header["descr"] == "<f8" else "q", data[end:])


FILES = {"numpy": "attention_numpy.py", "torch": "attention_torch.py", "c": "attention.c", "cpp": "attention.hpp",
         "cuda": "attention.cu", "triton": "attention_triton.py", "metal": "attention.metal"}


class EmitTest(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_each_language_as_text_and_as_json(self):
        for language, file in FILES.items():
            with self.subTest(language):
                run = posenc("emit", "llama-3.1-8b", "--as", language)
                self.assertEqual((run.code, run.err), (0, ""))
                self.assertTrue(run.out.isascii() and run.out.endswith("\n"))
                self.assertIn("under any licence", run.out)
                for source in ("/rope_theta", "/num_key_value_heads", "default: 1 / sqrt(head_dim)", "arXiv 2407.21783"):
                    self.assertIn(source, run.out)
                self.assertEqual(posenc("emit", "llama-3.1-8b", "--as", language).out, run.out)
                found = json.loads(posenc("emit", "llama-3.1-8b", "--as", language, "--json").out)
                self.assertEqual((found["as"], found["file_name"], found["text"]), (language, file, run.out))
                self.assertEqual([of["name"] for of in found["functions"]][:3], ["cos_sin", "rotate", "attention"])
                self.assertEqual(found["port"] is not None, file.endswith((".py", ".c", ".hpp")))

    def test_a_folder_that_leads_nowhere(self):
        (loop := self.folder / "loop").symlink_to(loop)
        self.assert_fails(posenc("emit", "llama-3.1-8b", "--as", "c", "-o", loop), UNREADABLE, "cannot make the folder")

    def test_a_model_from_standard_input(self):
        run = posenc("emit", "-", "--as", "c", stdin=json.dumps(tool.SMALL).encode())
        self.assertEqual(run.code, 0, run.err)
        self.assertIn("  HEADS = 4,  // of queries: /num_attention_heads", run.out)

    @unittest.skipUnless(shutil.which("gcc"), "needs gcc")
    def test_the_c_file_compiles_strictly(self):
        posenc("emit", "gpt-oss-20b", "--layer", "0", "--as", "c", "-o", self.folder)
        compiled = subprocess.run(["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-c", "attention.c"], cwd=self.folder,
                                  capture_output=True, text=True, check=False)
        self.assertEqual((compiled.returncode, compiled.stderr), (0, ""))

    def port_of(self, folder, spoil=lambda code: code):
        """attention.c, compiled as C99 and run on its golden vectors: what it makes, as .npy files in a folder."""
        golden, port = folder / "vectors_c", folder / "port"
        port.mkdir(exist_ok=True)
        shapes = {}
        for name, kind in (("q", "f"), ("k", "f"), ("v", "f"), ("positions", "i")):
            shapes[name], numbers = shape_and_numbers(golden / f"{name}.npy")
            (folder / f"{name}.raw").write_bytes(array.array(kind, numbers).tobytes())
        tokens, heads, dim = shapes["q"]
        sizes = {"tokens": tokens, "heads": heads, "kv_heads": shapes["k"][1], "dim": dim, "value_dim": shapes["v"][2]}
        (folder / "main.c").write_text(MAIN % sizes)
        # Golden vectors may have fewer heads than the model (docs/emit.md).
        code = (folder / "attention.c").read_text()
        for size in ("heads", "kv_heads"):
            code, found = re.subn(rf"^  {size.upper()} = \d+,", f"  {size.upper()} = {sizes[size]},", code, flags=re.M)
            self.assertEqual(found, 1)
        (folder / "spoiled.c").write_text(spoil(code))
        for command in (["cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "spoiled.c", "main.c", "-lm", "-o", "port.exe"],
                        ["./port.exe"]):
            run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stderr), (0, ""))
        for name, shape in (("q_rotated", shapes["q"]), ("k_rotated", shapes["k"]),
                            ("out", (tokens, heads, sizes["value_dim"]))):
            header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}".ljust(117) + "\n"
            (port / f"{name}.npy").write_bytes(b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header.encode()
                                               + (folder / f"{name}.raw").read_bytes())
        return golden, port

    @unittest.skipUnless(shutil.which("cc"), "needs a C compiler")
    def test_the_c_file_is_c99_and_passes_its_golden_vectors(self):
        for number, model in enumerate((["llama-3.1-8b"], ["gemma-3-4b", "--layer", "0"], ["glm-4-9b"],
                                        ["qwen3-8b", "--set", "rope_scaling=yarn,factor=4,original=32768"])):
            with self.subTest(model):
                folder = self.folder / str(number)
                self.assertEqual(posenc("emit", *model, "--as", "c", "-o", folder).code, 0)
                golden, port = self.port_of(folder)
                run = posenc("check", golden, "--against", port)
                self.assertEqual(run.code, 0, run.out + run.err)
                for name in ("q_rotated", "k_rotated", "out"):
                    self.assertIn(name, run.out)

    @unittest.skipUnless(shutil.which("cc"), "needs a C compiler")
    def test_a_slip_in_the_c_file_does_not_pass(self):
        folder = self.folder / "slip"
        posenc("emit", "llama-3.1-8b", "--as", "c", "-o", folder)
        for was, then in (("a * s + b * c", "a * s - b * c"), ("h / GROUP", "h % KV_HEADS")):
            with self.subTest(then):
                self.assertIn(was, (folder / "attention.c").read_text())
                golden, port = self.port_of(folder, lambda code, was=was, then=then: code.replace(was, then))
                self.assertEqual(posenc("check", golden, "--against", port).code, 1)

    def held(self, folder, language):
        """Exit code and text of the test that stands beside the code, as it was written."""
        golden = folder / f"vectors_{language}"
        compiler = {"c": ["cc", "-std=c99", "test_port.c", "port.c", "vectors.c", "-lm"],
                    "cpp": ["c++", "-std=c++20", "test_port.c", "port.cc", "vectors.c"]}[language]
        for command in (compiler + ["-Wall", "-Wextra", "-Werror", "-o", "held.exe"], ["./held.exe"]):
            run = subprocess.run(command, cwd=golden, capture_output=True, text=True, check=False)
            if command[0] != "./held.exe":
                self.assertEqual((run.returncode, run.stderr), (0, ""))
        return run.returncode, run.stdout

    @unittest.skipUnless(shutil.which("cc") and shutil.which("c++"), "needs a C and a C++ compiler")
    def test_the_test_beside_c_is_of_the_code_with_all_its_heads(self):
        mrope = self.folder / "mrope.json"
        mrope.write_text(json.dumps({
            "model_type": "qwen2_vl_text", "hidden_size": 512, "num_attention_heads": 32, "num_key_value_heads": 8,
            "num_hidden_layers": 2, "max_position_embeddings": 4096, "rope_theta": 10000.0,
            "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]}}))
        # Sinks; a learned table for each head; an argument for the length; positions with axes.
        for number, model in enumerate((["gpt-oss-20b", "--layer", "0"], ["t5-base", "--stack", "encoder"],
                                        ["phi-3-mini-128k"], [mrope])):
            for language in ("c", "cpp") if number < 2 else ("c",):
                with self.subTest(model, language=language):
                    folder = self.folder / f"held_{language}_{number}"
                    made = posenc("emit", *model, "--as", language, "-o", folder)
                    self.assertEqual(made.code, 0, made.err)
                    self.assertIn("in that folder holds the code to them", made.out)
                    vectors = json.loads((folder / f"vectors_{language}" / "vectors.json").read_text())
                    heads = re.search(r"HEADS = (\d+)|kHeads = (\d+)", (folder / FILES[language]).read_text())
                    self.assertEqual(int(heads[1] or heads[2]), vectors["model_heads"])
                    self.assertLess(vectors["heads"], vectors["model_heads"])
                    code, out = self.held(folder, language)
                    self.assertEqual((code, out.splitlines()[-1]), (0, "passes"), out)
                    self.assertIn("ok    out", out)
        spoiled = self.folder / "held_c_0" / "attention.c"
        spoiled.write_text(spoiled.read_text().replace("h / GROUP", "h % KV_HEADS"))
        code, out = self.held(self.folder / "held_c_0", "c")
        self.assertEqual(code, 1)
        self.assertIn("FAIL  out", out)

    def test_a_folder_has_code_and_golden_vectors(self):
        port = self.folder / "port"
        run = posenc("emit", "t5-base", "--stack", "encoder", "--as", "numpy", "-o", port)
        self.assertEqual(run.code, 0, run.err)
        self.assertEqual(run.out, f"{port}/attention_numpy.py: {(port / 'attention_numpy.py').stat().st_size} bytes\n"
                                  f"{port}/vectors_numpy: golden vectors; pytest in that folder holds the code to them\n")
        golden = port / "vectors_numpy"
        self.assertIn("import attention_numpy", (golden / "port.py").read_text())
        self.assertTrue({"vectors.json", "q.npy", "out.npy", "test_port.py"} <= {of.name for of in golden.iterdir()})

        again = posenc("emit", "t5-base", "--stack", "encoder", "--as", "numpy", "-o", port)
        self.assert_fails(again, UNREADABLE, "file exists; --force overwrites it")
        (port / "attention_numpy.py").write_text("mine")
        (golden / "port.py").write_text("mine too")
        forced = posenc("emit", "t5-base", "--stack", "encoder", "--as", "numpy", "-o", port, "--force")
        self.assertEqual(forced.code, 0, forced.err)
        self.assertIn("kept as they were", forced.out)
        self.assertIn("def attention(", (port / "attention_numpy.py").read_text())
        self.assertEqual((golden / "port.py").read_text(), "mine too")

    def test_a_folder_that_cannot_be(self):
        (self.folder / "file").write_text("")
        run = posenc("emit", "llama-3.1-8b", "--as", "c", "-o", self.folder / "file")
        self.assert_fails(run, UNREADABLE, "cannot make the folder")
        run = posenc("emit", "llama-3.1-8b", "--as", "c", "-o", self.folder / "none" / "none")
        self.assert_fails(run, UNREADABLE, "No such file or directory")
        self.assertEqual(sorted(of.name for of in self.folder.iterdir()), ["file"])

    @staticmethod
    def emit_within(size, port, *options):
        """Files of at most `size` bytes, as on a disk that is full then."""
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

        return subprocess.run([tool.TOOL, "emit", "t5-base", "--stack", "encoder", "--as", "c", "-o", port, *options],
                              capture_output=True, preexec_fn=limit, restore_signals=False, check=False).returncode

    def test_nothing_is_left_of_what_was_not_written_whole(self):
        """A folder without files, or with golden vectors alone."""
        whole = self.folder / "whole"
        self.assertEqual(posenc("emit", "t5-base", "--stack", "encoder", "--as", "c", "-o", whole).code, 0)
        vectors = max(of.stat().st_size for of in (whole / "vectors_c").iterdir())
        code = (whole / "attention.c").stat().st_size
        port = self.folder / "port"
        for size in {0, vectors - 1, min(vectors, code - 1), code - 1}:
            with self.subTest(size):
                self.assertEqual(self.emit_within(size, port), UNREADABLE)
                self.assertEqual([of.name for of in self.folder.iterdir()], ["whole"])
        port.mkdir()
        (port / "mine").write_text("")
        self.assertEqual(self.emit_within(0, port), UNREADABLE)
        self.assertEqual([of.name for of in port.iterdir()], ["mine"])
        (whole / "attention.c").write_text("mine")
        self.assertEqual(self.emit_within(0, whole, "--force"), UNREADABLE)
        self.assertEqual((whole / "attention.c").read_text(), "mine")
        self.assertTrue(any((whole / "vectors_c").iterdir()))

    def test_what_is_refused(self):
        self.assert_fails(posenc("emit", "gemma-3-4b", "--as", "c"), USAGE,
                          "--layer must be given, since layers of decoder differ (0-4, 6-10")
        self.assert_fails(posenc("emit", "gemma-3-4b", "--as", "c", "--layer", "99"), USAGE, "but is 99")
        self.assert_fails(posenc("emit", "gemma-3-4b", "--as", "c", "--stack", "vision"), USAGE, "decoder but is vision")
        self.assert_fails(posenc("emit", "xlnet-base", "--as", "c"), USAGE, "XLNet's scores, which cannot: products of")
        self.assert_fails(posenc("emit", "phi-3.5-mini", "--as", "metal"), USAGE, "give the plan a length (--length N)")
        self.assert_fails(posenc("emit", "llama-3.1-8b", "--as", "fortran"), USAGE, "numpy, torch, c, cpp, cuda")
        self.assert_fails(posenc("emit", "llama-3.1-8b"), USAGE, "--as")
        self.assert_fails(posenc("emit", "llama-3.1-8b", "--as", "c", "--force"), USAGE, "--force: there is no -o")
        self.assertEqual(posenc("emit", "phi-3.5-mini", "--as", "metal", "--length", "8192").code, 0)

    def test_learned_tables_of_the_vectors_are_float32_to_torch(self):
        code = json.loads(posenc("emit", "t5-base", "--as", "torch", "--stack", "encoder", "--layer", "0", "--json").out)
        self.assertIn('x.astype(np.float32) if x.dtype.kind == "f" else x', code["port"])  # q, k and v are float32 too

    def test_a_stack_that_could_not_be_read_is_refused_with_its_reason(self):
        config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
                  "rope_scaling": {"rope_type": "wobble", "factor": 2.0}}
        (self.folder / "config.json").write_text(json.dumps(config))
        for layer in ([], ["--layer", "0"]):
            with self.subTest(layer):
                run = posenc("emit", self.folder / "config.json", "--as", "c", *layer)
                self.assert_fails(run, USAGE, "mrope, got _wobble_")
                run = posenc("vectors", self.folder / "config.json", "-o", self.folder / "golden", *layer)
                self.assert_fails(run, USAGE, 'mrope, got "wobble"')


tool.main()
