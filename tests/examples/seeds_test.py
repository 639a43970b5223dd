"""examples/seeds: five texts on position encoding, each formula and number beside what posenc computes."""
import collections
import math
import os
import subprocess
import tempfile
import unittest

SEEDS = os.environ["POSENC_SEEDS"]

# Rows of each text: a formula, a listing, a figure or an experiment that is dropped is missed here.
ROWS = {"000": 9, "001": 43, "002": 7, "003": 30, "004": 20}

Row = collections.namedtuple("Row", "text item says posenc verdict")


def seeds(*arguments):
    """In an empty folder: it needs no file."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([SEEDS, *arguments], cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return run.returncode, run.stdout, run.stderr


def rows(*arguments):
    return [Row(*line.split("\t")) for line in seeds("--tsv", *arguments)[1].splitlines()]


def numbers(cell):
    """Those that a cell shows: "[4] 0.5403, 0.8415, 0.9999, ... (12)" has three."""
    return [float(part) for part in cell.split("] ")[-1].split(", ... ")[0].split(" [")[0].split(", ")]


class SeedsTest(unittest.TestCase):
    def test_all_texts_are_gone_through(self):
        code, out, err = seeds()
        self.assertEqual((code, err), (0, ""))
        for text in ROWS:
            self.assertIn(f"Text {text}: ", out)
        self.assertIn(f"\n{sum(ROWS.values())} rows: ", out)
        self.assertIn(" 0 differ\n", out)
        self.assertTrue(out.isascii())

    def test_rows_by_text(self):
        found = rows()
        self.assertEqual(collections.Counter(row.text for row in found), ROWS)
        places = [(row.text, row.item) for row in found]
        self.assertEqual(len(set(places)), len(places))
        self.assertLessEqual({row.verdict for row in found}, {"agrees", "agrees if", "errs"})

    def test_the_score_of_the_notebook(self):
        code, out, _ = seeds("004", "In [46]", "In [47]")
        self.assertEqual(code, 0)
        self.assertEqual(out.count("20.3460 "), 2)
        # q = (1, 2, 3, 4), k = (4, 3, 2, 1), halves paired, both pairs one degree apart: by hand.
        by_hand = 20 * (math.cos(math.radians(1)) + math.sin(math.radians(1)))
        for row in rows("004", "In [46]", "In [47]"):
            self.assertEqual((row.says, row.verdict), ("20.3460", "agrees"))
            self.assertAlmostEqual(float(row.posenc), by_hand, delta=0.5e-6)

    def test_numbers_computed_here_too(self):
        by_place = {(row.text, row.item): row for row in rows()}
        self.assertEqual(numbers(by_place["004", "In [13]"].says), [0.5403, 0.8415, 0.9999])
        self.assertEqual(by_place["001", "10000 x 512"].says, "5.12e+06")
        expected = {
            ("000", "figure 10000^-x"): [1, 0.1, 0.01],
            ("001", "(14)"): [math.cos(5), math.sin(5)],
            ("002", "p_(i,2j)"): [math.sin(3), math.sin(0.3), math.sin(0.03)],
            ("003", "2^d - 1"): [7],
            ("004", "In [13]"): [math.cos(1), math.sin(1), math.cos(0.01)],
            ("004", "In [21]"): [math.cos(2), math.sin(2)],
        }
        for place, values in expected.items():
            shown = numbers(by_place[place].posenc)
            self.assertEqual(len(shown), len(values), place)
            for got, value in zip(shown, values):
                self.assertAlmostEqual(got, value, delta=1e-6, msg=place)

    def test_errors_of_the_texts_are_named(self):
        errs = {(row.text, row.item) for row in rows() if row.verdict == "errs"}
        for place in [("000", "(4)"), ("001", "(2)"), ("001", "(20)"), ("001", "(25)"), ("001", "(27)"), ("003", "Attn(X)"),
                      ("003", "its matrix"), ("004", "f(|0-1|)")]:
            self.assertIn(place, errs)
        self.assertIn("errs: the last entry is cos m theta, not cos n theta", seeds("001", "(25)")[1])

    def test_every_comparison_can_fail(self):
        code, out, _ = seeds("--spoil")
        self.assertEqual(code, 1)
        self.assertIn(f" {sum(ROWS.values())} differ\n", out)
        self.assertEqual({row.verdict for row in rows("--spoil")}, {"DIFFERS"})
        self.assertEqual(seeds("--spoil", "004", "In [46]")[0], 1)

    def test_arguments(self):
        code, out, err = seeds("--help")
        self.assertEqual((code, err), (0, ""))
        self.assertIn("usage: seeds ", out)
        for wrong in (["005"], ["--tvs"], ["004", "In [99]"]):
            code, out, err = seeds(*wrong)
            self.assertEqual((code, out), (2, ""))
            self.assertIn(f"unknown argument {wrong[-1]}\n", err)


if __name__ == "__main__":
    unittest.main()
