"""posenc plot: every picture is sound SVG, legible at its own size on light and on dark pages, and the same each time."""
import json
import re
import xml.etree.ElementTree as xml

import tool
from tool import posenc

SVG = "{http://www.w3.org/2000/svg}"
WIDTH = 600.0
FONT = 12.0
ADVANCE = 0.58  # of the font's size, for a wide sans serif: what the tool reckons with too

# A call for each kind, and for each way in which one of them draws.
PICTURES = (
    "encoding",
    "encoding --scheme binary --channels 7 --start 3",
    "encoding --scheme integer,normalised",
    "encoding --products --positions 40",
    "bias",
    "bias --scheme t5 --both-ways --tokens 30",
    "bias --scheme alibi,heads=12 --curves",
    "bias --scheme grid,rows=3,columns=4",
    "bias --model t5-base --curves --both-ways",
    "bias --model xlnet-base --both-ways --head 11",
    "distance",
    "distance --scheme dual_chunk",
    "attention",
    "attention --scheme linear --both-ways",
    "wavelengths --model llama-3.1-8b",
    "wavelengths --scheme rope,dim=64",
    "wavelengths --model gemma-3-4b",
    "wavelengths --scheme rope,base=1.7e308 --trained 4096",  # its axis ends where numbers do
    "scaling",
    "scaling --model phi-3.5-mini",
    "rotation",
    "rotation --model gemma-3-4b --layer 5 --step 1000 --pairs 16 --positions 16",
    "decay --channels 16",
    "coordinates",
    "coordinates --items text=1,image=2x2,image=2x2,text=1,video=2x2x4",
    "coordinates --items text=40,image=16x16,text=20",
    "query-scale",
)


def picture(words):
    return posenc("plot", *words.split())


def span(text):
    """Left and right end of a text that is not rotated."""
    width = ADVANCE * FONT * len(text.text)
    x = float(text.get("x"))
    before = {None: 0.0, "middle": width / 2, "end": width}[text.get("text-anchor")]
    return x - before, x - before + width


class Pictures(tool.ToolTest):
    @classmethod
    def setUpClass(cls):
        cls.drawn = {words: picture(words) for words in PICTURES}

    def roots(self):
        for words, got in self.drawn.items():
            self.assertEqual((got.code, got.err), (0, ""), words)
            yield words, xml.fromstring(got.out)

    def test_well_formed_and_600_wide(self):
        for words, root in self.roots():
            self.assertEqual(root.tag, SVG + "svg")
            left, top, width, height = map(float, root.get("viewBox").split())
            self.assertEqual((left, top, width), (0.0, 0.0, WIDTH))
            self.assertEqual((root.get("width"), float(root.get("height"))), ("600", height))
            text = self.drawn[words].out
            self.assertTrue(text.isascii() and text.endswith("</svg>\n"))

    def test_nothing_from_outside(self):
        for words, root in self.roots():
            self.assertEqual(self.drawn[words].out.count("://"), 1)  # the name of the language
            self.assertLessEqual({element.tag.removeprefix(SVG) for element in root.iter()},
                                 {"svg", "title", "desc", "style", "rect", "path", "g", "text", "circle", "pattern"})

    def test_said_in_words(self):
        for words, root in self.roots():
            self.assertEqual(root.get("role"), "img")
            for part in root.get("aria-labelledby").split():
                (named,) = [element for element in root if element.get("id") == part]
                self.assertGreater(len(named.text), 20)

    def test_words_lie_inside(self):
        for words, root in self.roots():
            height = float(root.get("height"))
            texts = [text for text in root.iter(SVG + "text") if text.get("x")]
            self.assertGreater(len(texts), 5)
            for text in texts:
                left, right = span(text)
                self.assertTrue(0.0 <= left and right <= WIDTH, (words, text.text))
                self.assertTrue(FONT <= float(text.get("y")) <= height - 2.0, (words, text.text))

    def test_words_do_not_lie_on_each_other(self):
        for words, root in self.roots():
            level = [text for text in root.iter(SVG + "text") if text.get("x") and not text.get("transform")]
            boxes = [(*span(text), float(text.get("y")), text.text) for text in level]
            for n, (left, right, y, text) in enumerate(boxes):
                for other_left, other_right, other_y, other in boxes[:n]:
                    apart = right <= other_left or other_right <= left or abs(y - other_y) >= 0.75 * FONT
                    self.assertTrue(apart, (words, text, other))

    def test_no_mark_goes_through_words(self):
        for words, root in self.roots():
            for path in root.iter(SVG + "path"):
                if "mark" not in path.get("class", ""):
                    continue
                x, top, x2, bottom = map(float, re.fullmatch(r"M(\S+) (\S+)L(\S+) (\S+)", path.get("d")).groups())
                for text in root.iter(SVG + "text"):
                    if x == x2 and text.get("x") and not text.get("transform"):
                        left, right = span(text)
                        middle = float(text.get("y")) - 4.0
                        self.assertFalse(left < x < right and top < middle < bottom, (words, text.text))

    def test_light_and_dark_style_the_same_things(self):
        for words, root in self.roots():
            style = root.find(SVG + "style").text
            self.assertGreaterEqual(min(float(size) for size in re.findall(r"(\d+)px", style)), FONT)
            light, dark = style.split("@media(prefers-color-scheme:dark)")
            rules = [re.findall(r"\.(\w+)\{(fill|stroke):(#\w+)\}", part) for part in (light, dark)]
            self.assertEqual(*([(name, what) for name, what, _ in part] for part in rules))
            styled = set(re.findall(r"\.(\w+)\{", style))
            used = {name for element in root.iter() for name in element.get("class", "").split()}
            self.assertLessEqual(used, styled)

    def test_axes_are_named(self):
        for words, root in self.roots():
            shown = {text.text for text in root.iter(SVG + "text")}
            data = json.loads(picture(words + " --json").out)
            for axis in ("row", "column", "x", "y"):
                if axis in data:
                    self.assertIn(data[axis]["label"], shown)
            if "value" in data:
                self.assertIn(data["value"], shown)

    def test_the_same_bytes(self):
        for words, got in self.drawn.items():
            elsewhere = {"LC_ALL": "de_DE.UTF-8", "POSENC_ISA": "scalar", "POSENC_THREADS": "3"}
            self.assertEqual(posenc("plot", *words.split(), environment=elsewhere, cwd="/"), got)

    def test_small(self):
        for words, got in self.drawn.items():
            self.assertLess(len(got.out), 60_000, words)

    def test_any_words(self):
        names = ["a<b", "&amp;", '"', "\x1b[31m", "b\u00e4r", "\u6211", "]]>", "o" * 40]
        got = posenc("plot", "attention", "--words", " ".join(names))
        self.assertEqual((got.code, got.err), (0, ""))
        shown = [text.text for text in xml.fromstring(got.out).iter(SVG + "text")]
        for name in ("a<b", "&amp;", '"', "\\x1b[31m", "b\u00e4r", "\u6211", "]]>", "ooooooooo..."):
            self.assertEqual(shown.count(name), 3, name)  # a row, and a column of either map

    def test_json(self):
        for words in PICTURES:
            data = json.loads(picture(words + " --json").out)
            self.assertEqual((data["schema_version"], data["kind"]), (1, words.split()[0]))
            self.assertTrue(data["title"])


tool.main()
