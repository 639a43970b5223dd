"""posenc vectors and posenc check: files, exit codes, messages; and the tests that are written beside the numbers, run
with a port that is right, one that is wrong and none. The arithmetic is judged by tests/vectors."""
import importlib.util
import json
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import tool
from tool import posenc

FAILS, USAGE, UNREADABLE, MALFORMED = 1, 2, 3, 4
# Half-split pairs over 16 of 64 channels, base 10000, causal, as many KV heads as heads.
MODEL = "pythia-410m"

C_PORT = """#include <math.h>
#include <stdlib.h>

#include "port.h"

int port_rotate(const float *x, int64_t tokens, int64_t heads, int64_t head_dim, const int64_t *positions, float *out) {
  for (int64_t t = 0; t < tokens; ++t) {
    for (int64_t h = 0; h < heads; ++h) {
      const float *from = x + (t * heads + h) * head_dim;
      float *to = out + (t * heads + h) * head_dim;
      for (int64_t c = 0; c < head_dim; ++c) to[c] = from[c];
      for (int64_t p = 0; p < 8; ++p) {
        const float angle = (float)positions[t] * powf(10000.0f, -2.0f * (float)p / 16.0f);
        to[p] = from[p] * cosf(angle) - from[p + 8] * sinf(angle);
        to[p + 8] = from[p + 8] * cosf(angle) + from[p] * sinf(angle);
      }
    }
  }
  return PORT_DONE;
}

int port_attend(const float *q, const float *k, const float *v, const int64_t *positions, float *scores, float *out) {
  const int64_t n = VECTORS_TOKENS, heads = VECTORS_HEADS, d = VECTORS_HEAD_DIM;
  float *qr = (float *)malloc(sizeof(float) * (size_t)(n * heads * d));
  float *kr = (float *)malloc(sizeof(float) * (size_t)(n * heads * d));
  port_rotate(q, n, heads, d, positions, qr);
  port_rotate(k, n, heads, d, positions, kr);
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t i = 0; i < n; ++i) {
      float *row = scores + (h * n + i) * n, sum = 0;
      for (int64_t j = 0; j < n; ++j) {
        float dot = 0;
        for (int64_t c = 0; c < d; ++c) dot += qr[(i * heads + h) * d + c] * kr[(j * heads + h) * d + c];
        row[j] = j <= i ? dot * 0.125f : -INFINITY;
        sum += expf(row[j]);
      }
      for (int64_t c = 0; c < d; ++c) {
        float all = 0;
        for (int64_t j = 0; j < n; ++j) all += expf(row[j]) / sum * v[(j * heads + h) * d + c];
        out[(i * heads + h) * d + c] = all;
      }
    }
  }
  free(qr);
  free(kr);
  return PORT_DONE;
}
"""

PYTHON_PORT = """import numpy as np

DTYPE = "float32"


def port_rotate(x, inputs):
    angle = np.asarray(inputs["positions"], np.float32)[:, None] * np.float32(10000.0) ** (-np.arange(8, dtype=np.float32) / 8)
    cos, sin = np.cos(angle)[:, None], np.sin(angle)[:, None]
    a, b = x[..., :8], x[..., 8:16]
    return np.concatenate([a * cos - b * sin, b * cos + a * sin, x[..., 16:]], -1)


def port_attend(q, k, v, inputs):
    scores = np.einsum("ihd,jhd->hij", port_rotate(q, inputs), port_rotate(k, inputs)) * np.float32(0.125)
    scores = np.where(np.tri(len(q), dtype=bool), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return {"scores": scores, "out": np.einsum("hij,jhd->ihd", weights / weights.sum(-1, keepdims=True), v)}
"""

RUST_PORT = """use vectors::{Tensor, HEADS, HEAD_DIM, TOKENS};

pub const DTYPE: &str = "float32";

pub fn port_rotate(x: &[f32], heads: usize, positions: &Tensor) -> Result<Vec<f32>, String> {
    let mut out = x.to_vec();
    for t in 0..TOKENS {
        for h in 0..heads {
            let at = (t * heads + h) * HEAD_DIM;
            for p in 0..8 {
                let angle = positions.values[t] as f32 * 10000f32.powf(-2.0 * p as f32 / 16.0);
                let (a, b) = (x[at + p], x[at + p + 8]);
                out[at + p] = a * angle.cos() - b * angle.sin();
                out[at + p + 8] = b * angle.cos() + a * angle.sin();
            }
        }
    }
    Ok(out)
}

pub struct Attended {
    pub scores: Option<Vec<f32>>,
    pub out: Vec<f32>,
}

pub fn port_attend(q: &[f32], k: &[f32], v: &[f32], positions: &Tensor) -> Result<Attended, String> {
    let (q, k) = (port_rotate(q, HEADS, positions)?, port_rotate(k, HEADS, positions)?);
    let mut out = vec![0f32; TOKENS * HEADS * HEAD_DIM];
    let mut scores = Vec::new();
    for h in 0..HEADS {
        for i in 0..TOKENS {
            let row: Vec<f32> = (0..TOKENS)
                .map(|j| {
                    let dot: f32 = (0..HEAD_DIM).map(|c| q[(i * HEADS + h) * HEAD_DIM + c] * k[(j * HEADS + h) * HEAD_DIM + c]).sum();
                    if j <= i { dot * 0.125 } else { f32::NEG_INFINITY }
                })
                .collect();
            let sum: f32 = row.iter().map(|x| x.exp()).sum();
            for c in 0..HEAD_DIM {
                out[(i * HEADS + h) * HEAD_DIM + c] = (0..TOKENS).map(|j| row[j].exp() / sum * v[(j * HEADS + h) * HEAD_DIM + c]).sum();
            }
            scores.extend(row);
        }
    }
    Ok(Attended { scores: Some(scores), out })
}
"""


def npy_shape(path):
    data = path.read_bytes()
    header = data[10:10 + struct.unpack("<H", data[8:10])[0]].decode()
    return header, data[10 + len(header):]


class VectorsTest(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def vectors(self, name="golden", *arguments, model=MODEL):
        place = self.folder / name
        made = posenc("vectors", model, "-o", place, *arguments)
        self.assertEqual((made.code, made.err), (0, ""))
        self.assert_page(made.out)
        return place

    def check(self, golden, against, *arguments, code):
        """The JSON, which agrees with the exit code and with the page."""
        got = posenc("check", golden, "--against", against, *arguments, "--json")
        self.assertEqual((got.code, got.err), (code, ""))
        found = json.loads(got.out)
        self.assertEqual(found["passes"], code == 0)
        page = posenc("check", golden, "--against", against, *arguments)
        self.assertEqual((page.code, page.err), (code, ""))
        self.assert_page(page.out)
        self.assertTrue(page.out.startswith("passes" if code == 0 else "fails"))
        return found

    # ---- vectors ----

    def test_what_is_written(self):
        report = posenc("vectors", MODEL, "-o", self.folder / "golden", "--json")
        told = json.loads(report.out)
        files = sorted(path.name for path in (self.folder / "golden").iterdir())
        self.assertEqual(sorted(told["files"]), files)
        self.assertEqual(told["bytes"], sum((self.folder / "golden" / name).stat().st_size for name in files))
        manifest = json.loads((self.folder / "golden" / "vectors.json").read_text())
        self.assertEqual((manifest["schema_version"], manifest["model"], manifest["layer"]), (1, MODEL, 0))
        self.assertEqual(set(manifest["bounds"]), {"float32", "bfloat16", "float16"})
        tool.schema_validator("vectors").validate(manifest)
        for name, of in manifest["tensors"].items():
            header, data = npy_shape(self.folder / "golden" / of["file"])
            self.assertIn("'<i8'" if of["dtype"] == "i64" else "'<f8'", header, name)
            count = 1
            for size in of["shape"]:
                count *= size
            self.assertEqual(len(data), 8 * count, name)

    def test_every_format_fits_its_schema(self):
        for form in ("npy", "safetensors", "json", "c", "rust", "python"):
            golden = self.vectors(form, "--format", form, "--tokens", "3", "--start", "5")
            manifest = json.loads((golden / "vectors.json").read_text())
            tool.schema_validator("vectors").validate(manifest)
            self.assertEqual((manifest["format"], manifest["start"], manifest["length"]), (form, 5, 8))

    def test_nothing_is_written_over(self):
        golden = self.vectors()
        before = {path.name: path.read_bytes() for path in golden.iterdir()}
        self.assert_fails(posenc("vectors", MODEL, "-o", golden), UNREADABLE, "an empty directory")
        self.assertEqual({path.name: path.read_bytes() for path in golden.iterdir()}, before)
        self.assert_fails(posenc("vectors", MODEL, "-o", self.folder / "none" / "golden"), UNREADABLE, "golden")
        self.assertEqual([path.name for path in self.folder.iterdir()], ["golden"])

    def test_wrong_words(self):
        place = self.folder / "golden"
        for words, said in (
            (("--layer", "99"), "--layer must be one of the plan's"),
            (("--stack", "vision"), "--stack must be one of the plan's: decoder"),
            (("--tokens", "0"), "--tokens"),
            (("--format", "npz"), "--format"),
            (("--format", "c", "--test", "cargo"), "does not go with --format c"),
        ):
            self.assert_fails(posenc("vectors", MODEL, "-o", place, *words), USAGE, said)
        self.assert_fails(posenc("vectors", "gemma-2-9b", "-o", place), USAGE, "--layer must be given, since layers differ")
        self.assert_fails(posenc("vectors", "nothing", "-o", place), UNREADABLE, "nothing")
        self.assertFalse(place.exists())

    # ---- check ----

    def test_a_right_port(self):
        golden = self.vectors()
        port = self.folder / "port"
        port.mkdir()
        for name in ("q_rotated", "k_rotated", "scores", "out"):
            shutil.copy(golden / f"{name}.npy", port)
        (port / "notes.txt").write_text("no tensor")
        found = self.check(golden, port, code=0)
        self.assertEqual([one["name"] for one in found["tensors"]], ["q_rotated", "k_rotated", "scores", "out"])
        self.check(golden, golden / "out.npy", "--dtype", "bfloat16", code=0)

    def test_a_wrong_port(self):
        golden = self.vectors()
        found = self.check(golden, golden / "q.npy", "--as", "q_rotated", code=FAILS)
        self.assertEqual((found["first_failure"], found["diagnosed"]), ("q_rotated", "q"))
        self.assertEqual(found["diagnosis"]["verdict"], "differs")

    def test_every_format_can_be_checked(self):
        for form in ("npy", "safetensors", "json", "c", "rust", "python"):
            golden = self.vectors(form, "--format", form)
            self.check(golden, self.folder / "npy" / "out.npy", code=0)
        self.check(self.folder / "npy", self.folder / "safetensors" / "vectors.safetensors", code=0)

    def test_what_cannot_be_checked(self):
        golden = self.vectors()
        empty = self.folder / "empty"
        empty.mkdir()
        other = self.vectors("other", "--tokens", "3")
        self.assert_fails(posenc("check", golden, "--against", empty), MALFORMED, "got none")
        self.assert_fails(posenc("check", golden, "--against", golden / "q.npy"), MALFORMED, "--as says which")
        self.assert_fails(posenc("check", golden, "--against", other / "out.npy"), MALFORMED, "shape")
        self.assert_fails(posenc("check", golden, "--against", self.folder / "gone.npy"), UNREADABLE, "gone.npy")
        self.assert_fails(posenc("check", empty, "--against", golden), UNREADABLE, "vectors.json")
        (golden / "vectors.json").write_text("{}")
        self.assert_fails(posenc("check", golden, "--against", other), MALFORMED, "vectors.json")

    # ---- the tests beside ----

    def run_in(self, golden, *command):
        run = subprocess.run(command, cwd=golden, capture_output=True, text=True, check=False, timeout=300)
        return run.returncode, run.stdout + run.stderr

    def assert_judges(self, golden, file, right, wrong, command, unfilled="is not filled in"):
        """None of a port fails, and says so; the right one passes; each wrong one fails."""
        code, said = self.run_in(golden, *command)
        self.assertNotEqual(code, 0, said)
        self.assertIn(unfilled, said)
        (golden / file).write_text(right)
        code, said = self.run_in(golden, *command)
        self.assertEqual(code, 0, said)
        for before, after, part in wrong:
            self.assertIn(before, right)
            (golden / file).write_text(right.replace(before, after))
            code, said = self.run_in(golden, *command)
            self.assertNotEqual(code, 0, (before, after))
            self.assertIn(part, said)

    WRONG_C = (("10000.0f", "500000.0f", "q_rotated"), ("0.125f", "1.0f", "scores"), ("j <= i", "j <= i + 1", "out"))

    def test_plain_c(self):
        compiler = shutil.which("cc")
        if compiler is None:
            self.skipTest("needs a C compiler")
        golden = self.vectors("c", "--format", "c")
        build = f"{compiler} -std=c99 -Wall -Wextra -Werror test_port.c port.c vectors.c -lm -o test_port && ./test_port"
        self.assert_judges(golden, "port.c", C_PORT, self.WRONG_C, ("sh", "-c", build))

    def test_googletest(self):
        compiler = shutil.which("c++")
        probe = "#include <gtest/gtest.h>\n"
        found = compiler and subprocess.run([compiler, "-E", "-x", "c++", "-"], input=probe, text=True, capture_output=True,
                                            check=False).returncode == 0
        if not found:
            self.skipTest("needs a C++ compiler and GoogleTest")
        golden = self.vectors("cc", "--format", "c", "--test", "googletest")
        # The numbers, and the test itself, are compiled once.
        code, said = self.run_in(golden, "sh", "-c",
                                 f"{compiler} -std=c++17 -Wall -Wextra -Werror -c test_port.cc vectors.c")
        self.assertEqual(code, 0, said)
        build = f"{compiler} -std=c++17 port.cc test_port.o vectors.o -lgtest -lgtest_main -pthread -o test_port && ./test_port"
        self.assert_judges(golden, "port.cc", C_PORT, self.WRONG_C[:2], ("sh", "-c", build))

    def test_pytest(self):
        if importlib.util.find_spec("pytest") is None or importlib.util.find_spec("numpy") is None:
            self.skipTest("needs pytest and NumPy")
        wrong = (("10000.0", "500000.0", "q_rotated"), ("0.125", "1.0", "scores"), ("np.tri(len(q)", "np.tri(len(q), k=1", "out"))
        for form in ("npy", "python", "json"):
            golden = self.vectors("py_" + form, "--format", form)
            command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")
            self.assert_judges(golden, "port.py", PYTHON_PORT, wrong if form == "npy" else wrong[:1], command)

    def test_cargo(self):
        if shutil.which("cargo") is None:
            self.skipTest("needs cargo")
        golden = self.vectors("rust", "--format", "rust")
        wrong = (("10000f32", "500000f32", "q_rotated"),)
        self.assert_judges(golden, "port.rs", RUST_PORT, wrong, ("cargo", "test", "--offline", "--quiet"))


if __name__ == "__main__":
    unittest.main()
