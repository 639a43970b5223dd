"""What a command prints as text and as JSON is the same: each number of the text stands in the JSON, rounded as the text
has it, or follows from what stands there."""
import json
import math
import os
import pathlib
import re
import unittest

import tool
from tool import posenc

DATA = pathlib.Path(os.environ.get("POSENC_TEST_DATA") or tool.SOURCE_DIR / "../shared/data")
# A row of a layer's frequencies: the pair, its two channels, the axis, inv_freq, the wavelength.
ROW = re.compile(r"(\d+)\s+(\d+),(\d+)(?: \S+)?\s+(-?\d\.\d{8}e[+-]\d+)\s+(none|[\d.]+(?:e[+-]\d+)?)")
NUMBER = re.compile(r"(?<![\w.+-])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")


def numbers_in(value):
    """Every number of the JSON, and how long each list is."""
    if isinstance(value, dict):
        for item in value.values():
            yield from numbers_in(item)
    elif isinstance(value, list):
        yield len(value)
        for item in value:
            yield from numbers_in(item)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield value
    elif isinstance(value, str):
        yield from (float(token) for token in NUMBER.findall(value))


def is_rounded(token, numbers):
    """Whether one of the numbers is the token, as far as the token says it: half a unit of its last digit."""
    mantissa, _, exponent = token.lstrip("-").partition("e")
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    shown = abs(float(token))
    return any(abs(abs(number) - shown) <= 0.5000001 * unit for number in numbers if math.isfinite(number))


class Inspect(tool.ToolTest):
    def layers(self, plan):
        """The index of the first layer of each kind."""
        seen = {}
        for stack in plan["stacks"]:
            for layer in stack["layers"]:
                if layer.get("rotate"):
                    seen.setdefault((stack["name"], json.dumps(layer["rotate"])), layer["index"])
        return [(stack, index) for (stack, _), index in seen.items()]

    def assert_frequencies_agree(self, *words):
        plan = json.loads(posenc("inspect", *words, "--json").out)
        for stack, index in self.layers(plan)[:4]:
            with self.subTest(words=[str(word) for word in words], stack=stack, layer=index):
                page = posenc("inspect", *words, "--stack", stack, "--layer", index).out
                tables = [layer["rotate"] for s in plan["stacks"] if s["name"] == stack
                          for layer in s["layers"] if layer["index"] == index and layer.get("rotate")]
                expected = [rotate for table in tables for rotate in table]
                # Tables follow one another; each begins with its first row.
                found = [[] for _ in expected]
                at = -1
                for line in page.splitlines():
                    for pair, _, _, inv_freq, wavelength in ROW.findall(line):
                        at += pair == "0"
                        found[at].append((int(pair), float(inv_freq), wavelength))
                for rotate, rows in zip(expected, found):
                    self.assertEqual([row[1] for row in sorted(rows)],
                                     [float(f"{value:.8e}") for value in rotate["inv_freq"]])
                    for pair, _, wavelength in rows:
                        value = rotate["inv_freq"][pair]
                        self.assertTrue(wavelength == "none" if value == 0 else
                                        is_rounded(wavelength, [2 * math.pi / value]), (pair, wavelength, value))

    def test_frequencies_of_presets(self):
        for name in tool.presets():
            self.assert_frequencies_agree(name)

    def test_frequencies_at_lengths(self):
        for name in ("phi-3.5-mini", "llama-3.1-8b"):
            for length in (4096, 4097, 131072):
                self.assert_frequencies_agree(name, "--length", length)

    @unittest.skipUnless((DATA / "configs").is_dir(), f"needs {DATA / 'configs'}")
    def test_frequencies_of_real_rules(self):
        for path in sorted((DATA / "configs").glob("*")):
            if re.search(rb'"(longrope|su|dynamic|alpha)"', path.read_bytes()):
                self.assert_frequencies_agree(path)


class Pages(tool.ToolTest):
    def assert_agree(self, page, found, but=()):
        """Lines with a word of `but` are prose, or made of what stands elsewhere."""
        numbers = list(numbers_in(found))
        numbers += [number - 1 for number in numbers if number == int(number)]  # the last position of a length
        for line in page.splitlines():
            if any(word in line for word in but):
                continue
            for token in NUMBER.findall(line):
                self.assertTrue(is_rounded(token, numbers), (token, line))

    def both(self, *words):
        return posenc(*words).out, json.loads(posenc(*words, "--json").out)

    def test_comparisons(self):
        for a, b in (("llama-2-7b", "llama-3.1-8b"), ("phi-3.5-mini", "qwen3-8b"), ("gemma-3-4b", "gemma-2-9b")):
            with self.subTest(a=a, b=b):
                page, found = self.both("compare", a, b)
                plans = [json.loads(posenc("inspect", name, "--json").out) for name in (a, b)]
                self.assert_agree(page, [found, plans], but=("layers ", "turns"))

    def test_presets(self):
        page, found = self.both("presets")
        rows = {line.split()[0]: line for line in page.splitlines() if line}
        for preset in found["presets"]:
            with self.subTest(preset=preset["name"]):
                # What a preset is stands in its plan.
                plan = json.loads(posenc("inspect", preset["name"], "--json").out)
                line = rows[preset["name"]].replace(preset["name"], "")
                self.assert_agree(line, [preset, plan])

    def test_properties(self):
        self.assert_agree(*self.both("properties", "--noise"), but=("Over ",))
        self.assert_agree(*self.both("properties", "--order"))

    def test_facts_of_a_layer(self):
        for name in tool.presets():
            with self.subTest(preset=name):
                plan = json.loads(posenc("inspect", name, "--json").out)
                layer = plan["stacks"][0]["layers"][0]
                page = posenc("inspect", name, "--stack", plan["stacks"][0]["name"], "--layer", layer["index"]).out
                lines = page.splitlines()
                first = next(n for n, line in enumerate(lines) if line.startswith("  heads"))
                last = next((n for n, line in enumerate(lines) if n > first and not line), len(lines))
                window = (layer["mask"]["window"] or {"past": 0})["past"] + 1  # the token itself, too
                ends = [rotate["first_channel"] + rotate["dim"] - 1 for rotate in layer["rotate"]]
                halves = [rotate["dim"] // 2 for rotate in layer["rotate"]]
                self.assert_agree("\n".join(lines[first:last]), [layer, window, ends, halves], but=("sqrt",))


tool.main()
