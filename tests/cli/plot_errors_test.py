"""posenc plot: what cannot be drawn, what is said of it, and that no file is left of it."""
import json
import os
import pathlib
import tempfile

import tool
from tensors import random_tensor, write_npy
from tool import posenc, small

USAGE, FILE, MALFORMED = 2, 3, 4


class Refused(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "config.json").write_bytes(small())
        write_npy(self.folder / "table.npy", random_tensor((6, 4)))
        write_npy(self.folder / "cube.npy", random_tensor((6, 4, 2)))

    def contents(self):
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}

    def assert_refused(self, code, words, *fragments, out="new.svg"):
        """And the folder is as it was."""
        before = self.contents()
        got = posenc("plot", *words.split(), *(["-o", out] if out else []), cwd=self.folder)
        self.assert_fails(got, code, *fragments)
        self.assertEqual(self.contents(), before)


class Names(Refused):
    def test_svg_is_written_into_nothing_else(self):
        for name in ("x.png", "x.pdf", "picture.svg.jpg", "x.json"):
            self.assert_refused(USAGE, "decay", "-o", "SVG", "ends in .svg", f"'{name}'", out=name)
        for name, command in (("x.png", "write x.svg, then rsvg-convert -o x.png x.svg"),
                              ("a/b.pdf", "write a/b.svg, then rsvg-convert -f pdf -o a/b.pdf a/b.svg"),
                              ("$(x).png", "rsvg-convert -o picture.png picture.svg")):
            self.assert_refused(USAGE, "decay", command, out=name)
        self.assert_refused(USAGE, "decay --json", "ends in .json", "'x.svg'", out="x.svg")
        for words in (["-o", "x.svg"], ["-o", "picture"], ["-o", "x.json", "--json"], ["-o", "a.b/x", "--force"]):
            (self.folder / "a.b").mkdir(exist_ok=True)
            self.assertEqual(posenc("plot", "decay", *words, cwd=self.folder).code, 0, words)


class Words(Refused):
    def test_kinds(self):
        self.assert_fails(posenc("plot"), USAGE, "a kind is needed: encoding, bias")
        self.assert_fails(posenc("plot", "baias"), USAGE, "unknown kind 'baias'; did you mean bias?")

    def test_schemes(self):
        for words, *fragments in (
            ("encoding --scheme sinus", "--scheme", "expected one of sinusoidal, integer, binary, learned"),
            ("encoding --scheme sinusoidal,convention=maria", "convention", "did you mean marian?"),
            ("encoding --scheme learned,x=1", "learned has no 'x'"),
            ("encoding --scheme binary,ofset=1", "binary has no 'ofset'; did you mean offset?"),
            ("bias --scheme alib", "'alib'", "did you mean alibi?"),
            ("bias --scheme t5,bucket=3", "t5 has no 'bucket'; did you mean buckets?"),
            ("bias --scheme alibi,heads=0", "heads", "from 1 to 512", "'0' (too small)"),
            ("bias --scheme alibi,heads=8,heads=8", "heads stands twice"),
            ("bias --scheme alibi,,", "a scheme's name and its numbers"),
            ("bias --scheme alibi,symmetric=no", "symmetric is on when named, and takes no value"),
            ("encoding --scheme integer,normalised=no", "normalised is on when named, and takes no value"),
            ("bias --curves --scheme grid", "--curves: a grid has two distances"),
            ("bias --scheme kerple,r1=x", "r1", "'x'"),
            ("bias --scheme fire,c=0", "c: expected a number above 0"),
            ("distance --scheme selfextend", "did you mean self_extend?"),
            ("distance --scheme dual_chunk,chunk=8,local=9", "local", "from 0 to 8"),
            ("distance --scheme none,x=1", "none has no 'x'"),
            ("attention --scheme t5", "expected one of alibi, kerple, sandwich, sinusoidal"),
            ("attention --scheme soft_cap,cap=0", "cap: expected a number above 0"),
            ("rotation --scheme rop", "did you mean rope?"),
            ("wavelengths --scheme rope,base=1e400", "base", "finite number"),
            ("wavelengths --scheme rope,base=0.5", "base must be", "at least 1"),
            ("wavelengths --scheme rope,dim=3", "dim must be even"),
            ("scaling --rules ntk,yran", "'yran'; did you mean yarn?"),
            ("scaling --rules linear,,yarn", "got ''"),
            ("scaling --factor 0", "factor must be", "above 0"),
            ("coordinates --rule qwen2", "--rule", "did you mean qwen2_vl?"),
            ("coordinates --items image=4", "expected 2 sizes of 'image=4'"),
            ("coordinates --items sound=4", "text=N, image=HxW or video=FxHxW", "'sound=4'"),
            ("coordinates --items text=0", "from 1 to"),
            ("coordinates --items image=3x4", "spatial_merge_size"),
            ("coordinates --items text=4096,text=1", "more tokens than the 4096"),
            ("coordinates --items video=4096x4096x4096", "more tokens than the 4096"),
        ):
            with self.subTest(words=words):
                self.assert_refused(USAGE, words, *fragments)

    def test_numbers(self):
        for words, *fragments in (
            ("encoding --positions 0", "--positions", "from 1 to 512"),
            ("encoding --channels 513", "--channels", "too large"),
            ("encoding --start -1", "--start", "too small"),
            ("encoding --scheme binary --channels 3 --positions 9", "the last of 3 bits"),
            ("bias --tokens 513", "--tokens", "from 2 to 512"),
            ("bias --curves --tokens 4097", "from 2 to 4096"),
            ("bias --head 8", "--head 8: there are 8 heads"),
            ("bias --scheme grid --curves", "--curves: a grid has two distances"),
            ("rotation --pairs 17", "--pairs", "from 1 to 16"),
            ("rotation --step 0", "--step", "too small"),
            ("decay --channels 7", "dim must be even"),
            ("query-scale --tokens 1", "--tokens", "too small"),
            ("attention --words one", "--words: expected 2 to 20 words"),
        ):
            with self.subTest(words=words):
                self.assert_refused(USAGE, words, *fragments)

    def test_what_excludes_what(self):
        for words, *fragments in (
            ("encoding --scheme binary --table table.npy", "exclude each other"),
            ("bias --scheme t5 --model t5-base", "--scheme, --model exclude each other"),
            ("wavelengths --trained 5 --model gpt-oss-20b", "exclude each other"),
            ("scaling --model gpt-oss-20b --factor 2", "exclude each other"),
            ("bias --layer 3", "--layer: there is no --model"),
            ("rotation --rotation 1", "--rotation: there is no --model"),
            ("query-scale --stack decoder", "--stack: there is no --model"),
        ):
            with self.subTest(words=words):
                self.assert_refused(USAGE, words, *fragments)
        self.assert_refused(USAGE, "bias --force", "--force: there is no -o", out=None)


class Models(Refused):
    def test_nothing_to_draw(self):
        for words, *fragments in (
            ("encoding --model config.json", "adds no position embeddings"),
            ("bias --model config.json", "nothing is added to the scores"),
            ("scaling --model config.json", "has no scaling rule"),
            ("query-scale --model config.json", "no query scale"),
        ):
            with self.subTest(words=words):
                self.assert_refused(MALFORMED, words, *fragments)
        self.assert_refused(USAGE, "encoding --model gpt2", "learned", "--table FILE:TENSOR")

    def test_no_such_model(self):
        for kind in ("encoding", "bias", "wavelengths", "scaling", "rotation", "query-scale"):
            self.assert_refused(FILE, f"{kind} --model nobody", "nobody", "no preset of that name")

    def test_a_broken_model(self):
        (self.folder / "config.json").write_text("{")
        self.assert_refused(MALFORMED, "wavelengths --model config.json", "config.json")

    def test_tables(self):
        self.assert_refused(FILE, "encoding --table nobody.npy", "nobody.npy")
        self.assert_refused(MALFORMED, "encoding --table table.npy --positions 7", "it has 6 rows")
        self.assert_refused(MALFORMED, "encoding --table cube.npy --positions 2", "[rows, channels], got [6, 4, 2]")
        (self.folder / "cut.npy").write_bytes((self.folder / "table.npy").read_bytes()[:-1])
        self.assert_refused(MALFORMED, "encoding --table cut.npy --positions 2", "cut.npy")


class Files(Refused):
    def test_what_stands_there_stays(self):
        (self.folder / "old.svg").write_text("old")
        self.assert_refused(FILE, "bias", "old.svg", out="old.svg")
        done = posenc("plot", "bias", "-o", "old.svg", "--force", cwd=self.folder)
        self.assertEqual(done, (0, "", ""))
        self.assertEqual((self.folder / "old.svg").read_text(), posenc("plot", "bias").out)

    def test_no_place(self):
        self.assert_refused(FILE, "bias", "missing/new.svg", out="missing/new.svg")
        self.assert_refused(FILE, "bias", "something else than a file", out="/dev/full")
        if os.geteuid() != 0:  # whom no mode keeps out
            self.folder.chmod(0o500)
            self.assert_refused(FILE, "bias", "new.svg")
            self.folder.chmod(0o700)

    def test_a_table_of_a_file(self):
        data = json.loads(posenc("plot", "encoding", "--table", "table.npy", "--positions", "6", "--json",
                                 cwd=self.folder).out)
        self.assertEqual([len(row) for row in data["maps"][0]["rows"]], [4] * 6)


tool.main()
