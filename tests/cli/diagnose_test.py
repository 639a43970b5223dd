"""posenc diagnose: what a port did, told from its tensors. The arithmetic is judged by tests/diagnose; here are files,
axes, exit codes and messages."""
import json
import math
import pathlib
import struct
import tempfile

import tool
from tool import posenc

AS_THE_PLAN, DIFFERS, USAGE, UNREADABLE, MALFORMED, CANNOT_TELL = 0, 1, 2, 3, 4, 7
TOKENS, HEADS, CHANNELS = 12, 4, 16
MODEL = {"model_type": "gpt_neox", "num_hidden_layers": 2, "hidden_size": HEADS * CHANNELS, "num_attention_heads": HEADS,
         "max_position_embeddings": 2048, "rotary_pct": 1.0, "rotary_emb_base": 10000}


def npy(shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({', '.join(map(str, shape))},), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values)


def queries():
    """[tokens][heads][channels], the same at each call."""
    state, out = 1, []
    for _ in range(TOKENS * HEADS * CHANNELS):
        state = state * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
        out.append((state >> 40) / 2**23 - 1)
    return [[out[(t * HEADS + h) * CHANNELS:][:CHANNELS] for h in range(HEADS)] for t in range(TOKENS)]


def rotated(x, base=10000.0, first=0, interleaved=False):
    half = CHANNELS // 2
    out = [[list(head) for head in token] for token in x]
    for t, token in enumerate(x):
        for h, head in enumerate(token):
            for p in range(half):
                angle = (t + first) * base ** (-2 * p / CHANNELS)
                a, b = (2 * p, 2 * p + 1) if interleaved else (p, p + half)
                out[t][h][a] = head[a] * math.cos(angle) - head[b] * math.sin(angle)
                out[t][h][b] = head[a] * math.sin(angle) + head[b] * math.cos(angle)
    return out


def flat(x):
    return [c for token in x for head in token for c in head]


class DiagnoseTest(tool.ToolTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = self.folder / "config.json"
        self.model.write_text(json.dumps(MODEL))
        self.before = self.write("before.npy", queries())

    def write(self, name, x, shape=(TOKENS, HEADS, CHANNELS)):
        path = self.folder / name
        path.write_bytes(npy(shape, flat(x)))
        return path

    def diagnose(self, after, *arguments, before=None, model=True):
        """The JSON, which agrees with the exit code and with the page."""
        words = ["diagnose", "--before", before or self.before, "--after", after, *arguments]
        if model:
            words += ["--model", self.model]
        got = posenc(*words, "--json")
        self.assertEqual(got.err, "")
        found = json.loads(got.out)
        codes = {"as the plan": AS_THE_PLAN, "recovered": AS_THE_PLAN, "differs": DIFFERS, "cannot tell": CANNOT_TELL}
        self.assertEqual(got.code, codes[found["verdict"]])
        page = posenc(*words)
        self.assertEqual((page.code, page.err), (got.code, ""))
        self.assert_page(page.out)
        self.assertTrue(page.out.startswith(found["verdict"]))
        for finding in found["findings"] + found["confirmed"]:
            self.assertTrue(0 <= finding["confidence"] <= 1)
            self.assertTrue(0 <= finding["unexplained"])
        return found

    def facts(self, found):
        return [(f["fact"], f["found"], f["expected"]) for f in found["findings"]]

    def test_a_right_port_is_as_the_plan(self):
        found = self.diagnose(self.write("after.npy", rotated(queries())), "--start", 0)
        self.assertEqual((found["verdict"], found["findings"]), ("as the plan", []))
        self.assertEqual((found["tokens"], found["heads"], found["channels"]), (TOKENS, HEADS, CHANNELS))

    def test_what_differs_is_named_with_what_mends_it(self):
        for changes, fact in (({"base": 500000.0}, ("base", "500000", "10000")),
                              ({"interleaved": True}, ("pairing", "interleaved", "half")),
                              ({"first": 1}, ("offset", "1", "0"))):
            found = self.diagnose(self.write("after.npy", rotated(queries(), **changes)), "--start", 0)
            self.assertEqual((found["verdict"], self.facts(found)), ("differs", [fact]))
            self.assertTrue(found["findings"][0]["mend"])

    def test_an_unknown_start_is_said(self):
        found = self.diagnose(self.write("after.npy", rotated(queries(), first=5)))
        self.assertEqual(found["verdict"], "cannot tell")
        self.assertIn("position 5", found["undecided"][0])
        self.assertIn("start", found["dump"])

    def test_positions_may_be_a_list(self):
        after = self.write("after.npy", rotated(queries(), first=5))
        self.assertEqual(self.diagnose(after, "--start", 5)["verdict"], "as the plan")
        self.assertEqual(self.diagnose(after, "--start", ",".join(str(5 + t) for t in range(TOKENS)))["verdict"],
                         "as the plan")

    def test_one_token_at_0_tells_nothing(self):
        one = self.write("one.npy", queries()[:1], (1, HEADS, CHANNELS))
        found = self.diagnose(one, "--start", 0, before=one)
        self.assertEqual((found["verdict"], found["findings"]), ("cannot tell", []))
        self.assertTrue(found["dump"])

    def test_without_a_model_it_is_recovered(self):
        found = self.diagnose(self.write("after.npy", rotated(queries(), 26000.0)), model=False)
        self.assertEqual(found["verdict"], "recovered")
        self.assertIn(("base", "26000", None), self.facts(found))
        self.assertIn(("pairing", "half", None), self.facts(found))

    def test_axes_in_any_order(self):
        after = rotated(queries())
        joined = (TOKENS, HEADS * CHANNELS)
        found = self.diagnose(self.write("b.npy", after, joined), "--start", 0,
                              before=self.write("a.npy", queries(), joined))
        self.assertEqual(found["verdict"], "as the plan")
        found = self.diagnose(self.write("b.npy", after, joined), "--start", 0, "--heads", HEADS, model=False,
                              before=self.write("a.npy", queries(), joined))
        self.assertEqual(found["verdict"], "recovered")
        by_heads = [[[token[h] for token in x] for h in range(HEADS)] for x in (queries(), after)]
        paths = [self.write(name, x, (HEADS, TOKENS, CHANNELS)) for name, x in zip(("a.npy", "b.npy"), by_heads)]
        for how in ((), ("--layout", "htd")):
            found = self.diagnose(paths[1], "--start", 0, *how, before=paths[0])
            self.assertEqual((found["verdict"], found["tokens"]), ("as the plan", TOKENS))

    def test_queries_that_come_out_as_keys(self):
        other = [token[::-1] for token in queries()[::-1]]
        keys, keys_after = self.write("k.npy", other), self.write("k-after.npy", rotated(queries()))
        words = ("--before-k", keys, "--after-k", keys_after, "--start", 0, "--model", self.model)
        got = posenc("diagnose", "--before", self.before, "--after", self.write("after.npy", rotated(other)), *words, "--json")
        found = json.loads(got.out)
        self.assertEqual((got.code, found["verdict"]), (DIFFERS, "differs"))
        self.assertEqual([f["fact"] for f in found["findings"]], ["exchanged"])
        self.assertEqual(found["queries"]["verdict"], "as the plan")

    def test_attention(self):
        scale = CHANNELS**-0.5
        q = rotated(queries())

        def attended(factor):
            scores, out = [], [[None] * HEADS for _ in q]
            for h in range(HEADS):
                for i, token in enumerate(q):
                    row = [factor * sum(a * b for a, b in zip(token[h], key[h])) for key in q[:i + 1]]
                    weights = [math.exp(x - max(row)) for x in row]
                    scores += row + [-math.inf] * (TOKENS - len(row))
                    out[i][h] = [sum(w * v[h][c] for w, v in zip(weights, queries())) / sum(weights) for c in range(CHANNELS)]
            return scores, out

        q_path = self.write("q.npy", q)
        words = ("--q", q_path, "--k", q_path, "--v", self.before, "--model", self.model, "--layer", 1)
        for factor, code, named in ((scale, AS_THE_PLAN, []), (1.0, DIFFERS, ["scale"])):
            scores, out = attended(factor)
            path = self.folder / "scores.npy"
            path.write_bytes(npy((HEADS, TOKENS, TOKENS), scores))
            for given in (("--out", self.write("out.npy", out)), ("--scores", path)):
                got = posenc("diagnose", *words, *given, "--json")
                found = json.loads(got.out)
                self.assertEqual((got.code, [f["fact"] for f in found["findings"]]), (code, named), got.out)
                self.assert_page(posenc("diagnose", *words, *given).out)
        got = posenc("diagnose", "--q", q_path, "--k", q_path, "--model", self.model)
        self.assertEqual((got.code, got.out), (USAGE, ""))
        self.assertIn("--scores or --out", got.err)
        got = posenc("diagnose", *words, "--scores", q_path)
        self.assertEqual((got.code, got.out), (MALFORMED, ""))

    def test_weights_that_were_not_trained_cannot_tell(self):
        header = {}
        data = b""
        values = struct.pack(f"<{64 * 64}f", *(((i * 2654435761) % 4096) / 2048 - 1 for i in range(64 * 64)))
        for name in ("q_proj", "k_proj"):
            header[f"model.layers.0.self_attn.{name}.weight"] = {
                "dtype": "F32", "shape": [64, 64], "data_offsets": [len(data), len(data) + len(values)]}
            data += values
        text = json.dumps(header).encode()
        path = self.folder / "model.safetensors"
        path.write_bytes(struct.pack("<Q", len(text)) + text + data)
        got = posenc("diagnose", "--weights", path)
        self.assertEqual((got.code, got.err), (CANNOT_TELL, ""))
        self.assertTrue(got.out.startswith("cannot tell\n"), got.out)
        path.unlink()
        self.assertEqual(posenc("diagnose", "--weights", path).code, UNREADABLE)
        self.assertEqual(posenc("diagnose", "--weights", path, "--before", self.before).code, USAGE)

    def test_what_is_not_finite_is_named(self):
        values = flat(queries())
        values[(3 * HEADS + 2) * CHANNELS + 5] = math.nan
        path = self.folder / "nan.npy"
        path.write_bytes(npy((TOKENS, HEADS, CHANNELS), values))
        self.assert_fails(posenc("diagnose", "--before", self.before, "--after", path, "--model", self.model), MALFORMED,
                          "after must be finite", "token 3, head 2, channel 5")

    def test_what_does_not_fit_is_refused(self):
        short = self.write("short.npy", queries()[:2], (2, HEADS, CHANNELS))
        self.assert_fails(posenc("diagnose", "--before", self.before, "--after", short), MALFORMED, "after.shape")
        self.assert_fails(posenc("diagnose", "--before", self.before, "--after", self.folder / "none.npy"), UNREADABLE,
                          "none.npy")
        narrow = self.write("narrow.npy", queries(), (TOKENS, HEADS * 2, CHANNELS // 2))
        self.assert_fails(posenc("diagnose", "--before", narrow, "--after", narrow, "--model", self.model), MALFORMED,
                          "head_dim, 16")
        wide = self.write("wide.npy", queries(), (TOKENS, HEADS * CHANNELS))
        self.assert_fails(posenc("diagnose", "--before", wide, "--after", wide), MALFORMED, "--heads")
        self.assert_fails(posenc("diagnose", "--before", wide, "--after", wide, "--heads", 3), MALFORMED, "--heads")

    def test_the_command_line_is_checked(self):
        two = ["diagnose", "--before", self.before, "--after", self.before]
        self.assert_fails(posenc("diagnose", "--before", self.before), USAGE, "--after")
        self.assert_fails(posenc(*two, "--layer", 0), USAGE, "--model")
        self.assert_fails(posenc(*two, "--layout", "thd", "--heads", 4), USAGE, "exclude")
        self.assert_fails(posenc(*two, "--model", self.model, "--layer", 9), USAGE, "9")
        self.assert_fails(posenc(*two, "--start", "x"), UNREADABLE, "x")
        self.assert_fails(posenc(*two, "--start", "1,2"), MALFORMED, "positions")



tool.main()
