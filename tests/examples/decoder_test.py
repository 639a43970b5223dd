"""examples/decoder: a model that this test makes, and models that others published beside what they say."""
import json
import math
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

import tensors
import tolerances
from tiny_llama import HIDDEN, LENGTH, VOCAB, TinyLlama

DECODER = os.environ["POSENC_DECODER"]
# Where tests/support/test_data.h looks, too.
DATA = pathlib.Path(os.environ.get("POSENC_TEST_DATA")
                    or pathlib.Path(os.environ["POSENC_SOURCE_DIR"]) / "../shared/data") / "weights"
STORIES = DATA / "llama2c"
TINY = DATA / "tiny_safetensors"

TOKENS = [3, 7, 19, 4, 4, 11, 0, 8, 15, 6, 2, 13]


def decoder(*arguments):
    run = subprocess.run([DECODER, *map(str, arguments)], capture_output=True, timeout=300, check=False)
    return run.returncode, run.stdout.decode(), run.stderr.decode()


def text_of(tokens):
    return " ".join(map(str, tokens))


def deviation(got, expected):
    """The largest, in units of the largest logit."""
    most = max(abs(x) for row in expected for x in row)
    return max(abs(x - y) for a, b in zip(got, expected) for x, y in zip(a, b)) / most


def bound_of(folder):
    config = json.loads((folder / "config.json").read_text())
    width = max(config["hidden_size"], config["intermediate_size"])
    return tolerances.logits(config["num_hidden_layers"], width, config["max_position_embeddings"])


class DecoderTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    if not hasattr(unittest.TestCase, "enterContext"):  # before Python 3.11
        def enterContext(self, context):
            self.addCleanup(context.__exit__, None, None, None)
            return context.__enter__()

    def said(self, *arguments):
        code, out, err = decoder(*arguments)
        self.assertEqual((code, err), (0, ""))
        return out

    def logits_behind(self, prompt, model, *options):
        path = self.folder / "logits.npy"
        self.said(model, "--prompt", prompt, "--logits", path, *options)
        flat = tensors.read_npy(path)
        path.unlink()
        return [flat.values[at:at + flat.shape[1]] for at in range(0, len(flat.values), flat.shape[1])]

    def logits(self, model, tokens, *options):
        rows = self.logits_behind(text_of(tokens), model, *options)
        self.assertEqual(len(rows), len(tokens))
        return rows

    def losses(self, *arguments):
        return [float(line.split(": ")[1]) for line in self.said(*arguments).splitlines()]


class ModelOfThisTest(DecoderTest):
    def setUp(self):
        super().setUp()
        self.model = TinyLlama()
        self.file = self.model.write_llama2c(self.folder / "tiny.bin")
        self.expected = self.model.logits(TOKENS)
        self.bound = tolerances.logits(self.model.layers, HIDDEN, LENGTH)

    def test_logits_of_a_checkpoint(self):
        self.assertLess(deviation(self.logits(self.file, TOKENS), self.expected), self.bound)

    def test_logits_of_a_folder(self):
        whole = self.logits(self.model.write_folder(self.folder / "whole"), TOKENS)
        self.assertLess(deviation(whole, self.expected), self.bound)
        self.assertEqual(self.logits(self.model.write_folder(self.folder / "shards", shards=3), TOKENS), whole)

    def test_generates_the_likeliest_tokens(self):
        tokens = TOKENS[:4]
        while len(tokens) < 10:
            row = self.model.logits(tokens)[-1]
            tokens.append(row.index(max(row)))
            if tokens[-1] in (1, 2):  # the text ends
                tokens.pop()
                break
        self.assertGreater(len(tokens), 5)
        out = self.said(self.file, "--prompt", text_of(TOKENS[:4]), "--steps", 6)
        self.assertEqual([int(token) for token in out.split()], tokens)

    def generated(self, prompt, steps):
        """The likeliest tokens, whatever they are."""
        tokens = list(prompt)
        for _ in range(steps):
            row = self.model.logits(tokens)[-1]
            tokens.append(row.index(max(row)))
        return tokens

    def said_tokens(self, folder, prompt, steps):
        return [int(token) for token in self.said(folder, "--prompt", text_of(prompt), "--steps", steps).split()]

    def test_a_folder_ends_a_text_where_its_own_files_say(self):
        """1 and 2 mean nothing there, unless they are named; generation_config.json comes before config.json."""
        prompt, tokens = next((prompt, tokens) for last in range(VOCAB) for prompt in [TOKENS[:3] + [last]]
                              for tokens in [self.generated(prompt, 5)] if {1, 2} & set(tokens[4:8]))
        folder = self.model.write_folder(self.folder / "none")
        self.assertEqual(self.said_tokens(folder, prompt, 5), tokens)
        end = tokens[6]
        first = tokens.index(end, 4)
        for name, value in (("one", end), ("list", [VOCAB + 5, end])):
            folder = self.model.write_folder(self.folder / name, eos_token_id=value)
            self.assertEqual(self.said_tokens(folder, prompt, 5), tokens[:first])
        (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [VOCAB + 5]}))
        self.assertEqual(self.said_tokens(folder, prompt, 5), tokens)
        (folder / "generation_config.json").write_text(json.dumps({"bos_token_id": 1}))
        self.assertEqual(self.said_tokens(folder, prompt, 5), tokens[:first])

    def test_help_is_help(self):
        for word in ("--help", "-h"):
            self.assertIn("usage: decoder MODEL", self.said(word))

    def test_another_rule(self):
        got = self.logits(self.file, TOKENS, "--rope", "linear:factor=2")
        self.assertLess(deviation(got, self.model.logits(TOKENS, factor=2.0)), self.bound)

    def test_spoilt_positions_are_seen(self):
        for what in ("pairing", "keys"):
            with self.subTest(what):
                got = self.logits(self.file, TOKENS, "--spoil", what)
                self.assertGreater(deviation(got, self.expected), tolerances.SPOILT_OVER_BOUND * self.bound)

    def test_loss_is_that_of_the_logits(self):
        tokens = (TOKENS * 6)[:65]
        (self.folder / "text").write_text(text_of(tokens))
        logits = self.model.logits(tokens)
        losses = [math.log(sum(map(math.exp, row))) - row[token] for row, token in zip(logits, tokens[1:])]
        off = 2 * self.bound * max(abs(x) for row in logits for x in row)  # two logits
        got = self.losses(self.file, "--loss", self.folder / "text")
        self.assertEqual(len(got), 2)
        for mean, at in zip(got, (0, 32)):
            self.assertAlmostEqual(mean, sum(losses[at:at + 32]) / 32, delta=off + tolerances.printed_digits(mean, 6))

    def test_a_shifted_cache_is_one_that_never_held_more(self):
        """In a model of one layer keys and values depend on their token alone."""
        model = TinyLlama(layers=1)
        file = model.write_llama2c(self.folder / "one.bin")
        tokens = TOKENS + TOKENS[:5]
        got = self.logits(file, tokens, "--cache", 12)
        # 12 tokens, of which 6 behind the first are forgotten; then 5 more
        self.assertLess(deviation(got[:12], model.logits(tokens[:12])), self.bound)
        self.assertLess(deviation(got[12:], model.logits(tokens[:1] + tokens[7:])[6:]), self.bound)

    def test_refuses(self):
        other = self.model.write_folder(self.folder / "other", model_type="gpt_neox")
        cut, short, header = (self.folder / name for name in ("cut", "short.bin", "header.bin"))
        cut.write_bytes(struct.pack("<ifi", 1, 0.0, 5) + b"abc")
        short.write_bytes(self.file.read_bytes()[:-1000])
        header.write_bytes(self.file.read_bytes()[:20])
        without_config = self.model.write_folder(self.folder / "without_config")
        (without_config / "config.json").unlink()
        without_weights = self.model.write_folder(self.folder / "without_weights")
        (without_weights / "model.safetensors").unlink()
        other_heads = self.model.write_folder(self.folder / "other_heads", num_key_value_heads=2)
        broken = TinyLlama()
        for name in broken.weights:
            if name.endswith("gate_proj"):
                broken.weights[name] = [row[:-3] for row in broken.weights[name]]
        narrow = broken.write_folder(self.folder / "narrow")
        norm = self.model.write_folder(self.folder / "norm")
        wide = {"model.layers.0.input_layernorm.weight": tensors.Tensor("f32", (5,), [1.0] * 5)}
        tensors.write_safetensors(norm / "odd.safetensors", wide)
        files = {f"model.{name}.weight": "model.safetensors" for name in self.model.weights}
        files |= dict.fromkeys(wide, "odd.safetensors")
        (norm / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
        broken = TinyLlama()
        del broken.weights["layers.1.mlp.down_proj"]
        lacking = broken.write_folder(self.folder / "lacking")
        for arguments, complaint in [
            ([], "usage"),
            ([self.file, "--promt", "1"], "no option --promt"),
            ([self.file, "--prompt"], "usage"),
            ([self.file, "--loss", self.folder / "none"], "usage"),
            ([self.file, "--prompt", "1", "--steps", "many"], "usage"),
            ([self.file, "--prompt", "1", "--spoil", "kyes"], "usage"),
            ([self.folder / "none"], "none"),
            ([self.file, "--tokenizer", self.folder / "none"], "none: cannot be read"),
            ([self.file, "--tokenizer", cut], "cut: ends within a token"),
            ([short, "--prompt", "1"], "short.bin"),
            ([header, "--prompt", "1"], "header.bin"),
            ([without_config, "--prompt", "1"], "config.json"),
            ([without_weights, "--prompt", "1"], "model.safetensors"),
            ([other_heads, "--prompt", "1"], "do not have the heads that the plan has"),
            ([narrow, "--prompt", "1"], "no fitting layers.0.mlp.gate_proj"),
            ([norm, "--prompt", "1"], "no fitting layers.0.input_layernorm"),
            ([lacking, "--prompt", "1"], "no fitting layers.1.mlp.down_proj"),
            ([other, "--prompt", "1"], "not of the Llama family"),
            ([self.file, "--prompt", VOCAB], f"no token {VOCAB}"),
            ([self.file, "--prompt", "-1"], "no token -1"),
            ([self.file, "--prompt", "1", "--rope", "yarm:factor=4"], "rope_type"),
            ([self.file, "--prompt", "1", "--rope", "yarn:factor=-4"], "factor"),
        ]:
            with self.subTest(complaint, arguments=arguments[1:]):
                code, out, err = decoder(*arguments)
                self.assertEqual((code, out), (1, ""))
                self.assertIn(complaint, err)


class Texts(DecoderTest):
    def test_the_best_merge_comes_first(self):
        """"ab" is worth more than "bc", and "abc" is a piece: a b c -> ab c -> abc; of "xbc" is left: x bc."""
        pieces = ["<unk>", "\n<s>\n", "\n</s>\n", *(f"<0x{byte:02X}>" for byte in range(256)),
                  " ", "a", "b", "c", "x", "\u00e9", "ab", "bc", "abc"]
        scores = {"ab": -1.0, "bc": -2.0, "abc": -3.0}
        data = struct.pack("<i", 7)
        for piece in pieces:
            text = piece.encode()
            data += struct.pack("<fi", scores.get(piece, -1e9 if piece in ("a", "b", "c") else 0.0), len(text)) + text
        (self.folder / "tokenizer.bin").write_bytes(data)
        model = TinyLlama(vocab=len(pieces)).write_llama2c(self.folder / "tiny.bin")
        tokenizer = ["--tokenizer", self.folder / "tokenizer.bin"]
        for text, parts in [("abc", [" ", "abc"]), ("xbc", [" ", "x", "bc"]), ("\u00e9a", [" ", "\u00e9", "a"]),
                            ("~", [" ", "<0x7E>"]), ("", [])]:
            with self.subTest(text):
                self.assertEqual(len(self.logits_behind(text, model, *tokenizer)), 1 + len(parts))
                self.assertEqual(self.said(model, *tokenizer, "--prompt", text, "--steps", 0), text + "\n")


@unittest.skipUnless(STORIES.is_dir(), f"needs {STORIES}")
class Stories(DecoderTest):
    MODEL = [STORIES / "stories260K.bin", "--tokenizer", STORIES / "tok512.bin"]

    def published(self):
        """The first block of the page that holds a command with temperature 0 and what it printed."""
        return (STORIES / "stories260K.md").read_text().split("-t 0.0\n")[1].split("```")[0]

    def test_the_published_story(self):
        self.assertEqual(self.said(*self.MODEL), self.published())

    def test_loss_is_worse_with_wrong_positions(self):
        (self.folder / "story").write_text(self.published())
        right = self.losses(*self.MODEL, "--loss", self.folder / "story")
        for what in ("pairing", "keys"):
            wrong = self.losses(*self.MODEL, "--loss", self.folder / "story", "--spoil", what)
            for stretch, (a, b) in enumerate(zip(right, wrong)):
                self.assertGreater(b, a + 0.1, (what, stretch))

    def test_goes_on_with_a_full_cache(self):
        """A third of the story fits; it forgets the beginning, but not the language."""
        (self.folder / "story").write_text(self.published())
        right = self.losses(*self.MODEL, "--loss", self.folder / "story")
        short = self.losses(*self.MODEL, "--loss", self.folder / "story", "--cache", 96)
        self.assertEqual(short[:3], right[:3])
        self.assertLess(sum(short) / len(short), 2 * sum(right) / len(right))

    def test_a_cache_of_int8(self):
        """By itself, and where it is full: the loss of each stretch stays within what one text tells of it."""
        (self.folder / "story").write_text(self.published())
        for cache in (256, 96):
            whole = self.losses(*self.MODEL, "--loss", self.folder / "story", "--cache", cache)
            codes = self.losses(*self.MODEL, "--loss", self.folder / "story", "--cache", cache, "--store", "int8")
            for a, b in zip(whole, codes):
                self.assertLess(abs(b - a), 0.02)
            self.assertNotEqual(codes, whole)

    def test_a_prefix_serves_at_another_offset(self):
        """Cached behind the rest of the story; what follows it loses next to nothing, and wrong positions would show."""
        (self.folder / "story").write_text(self.published())
        right = self.losses(*self.MODEL, "--loss", self.folder / "story")
        reused = self.losses(*self.MODEL, "--loss", self.folder / "story", "--cache", 300, "--reuse", 64)
        for a, b in zip(right[2:], reused[2:]):
            self.assertLess(abs(b - a), 0.02)
        self.assertNotEqual(reused[2:], right[2:])
        code, _, err = decoder(*self.MODEL, "--loss", self.folder / "story", "--reuse", 64)
        self.assertEqual(code, 1)
        self.assertIn("--reuse needs", err)


@unittest.skipUnless(TINY.is_dir(), f"needs {TINY}")
class Published(DecoderTest):
    def test_logits_of_families(self):
        for name in ("llama", "smollm2", "mistral", "qwen2", "qwen3"):
            files = TINY / "neural_api"
            answers = json.loads((files / f"tiny_{name}_logits.json").read_text())
            folder = self.folder / name
            folder.mkdir()
            shutil.copy(files / f"tiny_{name}_config.json", folder / "config.json")
            shutil.copy(files / f"tiny_{name}.safetensors", folder / "model.safetensors")
            bound = bound_of(folder)
            for tokens, expected in zip(answers["sequences"], answers["logits"]):
                with self.subTest(name, tokens=tokens):
                    self.assertLess(deviation(self.logits(folder, tokens), expected), bound)

    def test_logits_of_transformers(self):
        for name in ("tiny_llama", "tiny_qwen3"):
            model = TINY / "ferrl" / name
            bound = bound_of(model)
            for case in json.loads((model / "golden.json").read_text())["cases"].values():
                width = case["shape"][-1]
                rows = [case["logits"][at:at + width] for at in range(0, len(case["logits"]), width)]
                for i, tokens in enumerate(case["input_ids"]):
                    expected = rows[i * len(tokens):(i + 1) * len(tokens)]
                    with self.subTest(name, tokens=tokens):
                        self.assertLess(deviation(self.logits(model, tokens), expected), bound)
                        for what in ("pairing", "keys"):
                            wrong = self.logits(model, tokens, "--spoil", what)
                            self.assertGreater(deviation(wrong, expected), tolerances.SPOILT_OVER_BOUND * bound)


if __name__ == "__main__":
    unittest.main(verbosity=2)
