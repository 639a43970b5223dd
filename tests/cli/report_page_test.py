"""The page of posenc report in a headless Chromium: what it shows is what --json says, by pointer, keyboard and link.

Needs Debian's chromium, chromium-driver and python3-selenium; skipped where they are not.
"""
import json
import pathlib
import tempfile
import unittest

from browsing import browser  # first: it ends what cannot be run
import tool
from tool import posenc

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait


def rows(figure):
    """The table below a chart, a list of texts a row; it is read without being opened."""
    return [[cell.get_attribute("textContent") for cell in row.find_elements(By.TAG_NAME, "td")]
            for row in figure.find_elements(By.CSS_SELECTOR, "tbody tr")]


def printed(number):
    """As JavaScript writes a number of the JSON."""
    return "never" if number is None else number


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.driver = browser()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.folder.cleanup()

    def open(self, *arguments, change=None, stdin=b"", hash=""):
        """Opens the page of a run; returns its numbers. change: of the numbers, before they go into the page."""
        run = posenc("report", *arguments, stdin=stdin)
        self.assertEqual(run.code, 0, run.err)
        begin = run.out.index('id="numbers">') + len('id="numbers">')
        end = run.out.index("</script>", begin)
        numbers = json.loads(run.out[begin:end])
        page = run.out
        if change:
            change(numbers)
            page = run.out[:begin] + json.dumps(numbers).replace("<", "\\u003c") + run.out[end:]
        path = pathlib.Path(self.folder.name) / "page.html"
        path.write_text(page)
        self.driver.get("about:blank")
        self.driver.get_log("performance")
        self.driver.get(f"{path.as_uri()}{hash}")
        return numbers

    def assert_quiet(self):
        self.assertEqual(self.driver.get_log("browser"), [])
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.assertTrue(url.startswith(("file:", "about:", "data:", "chrome:")), url)

    def chart(self, name, place=0):
        return self.driver.find_elements(By.CSS_SELECTOR, f'figure[data-chart="{name}"]')[place]

    def assert_shows(self, figure, *columns):
        shown = rows(figure)
        self.assertEqual(len(shown), len(columns[0]))
        for row, *wanted in zip(shown, *columns):
            self.assertEqual([text if text == "never" else float(text) for text in row], [printed(x) for x in wanted])

    def open_kind(self, stack):
        """The kind of the stack that is shown."""
        name = self.driver.find_element(By.CSS_SELECTOR, '.kinds button[aria-pressed="true"]').get_attribute("data-kind")
        return next(kind for kind in stack["kinds"] if kind["name"] == name)

    def tip(self):
        return self.driver.find_element(By.ID, "tip").get_attribute("textContent")

    def test_every_number_is_that_of_the_json(self):
        for arguments in (("phi-3.5-mini",), ("gemma-3-4b",), ("falcon-40b", "--set", "rope_scaling=linear,factor=2")):
            with self.subTest(arguments):
                model = self.open(*arguments)["models"][0]
                kind = self.open_kind(model["stacks"][0])
                rotation = kind["rotations"][0]
                pairs = range(len(rotation["inv_freq"]))
                if rotation["unscaled"]:
                    self.assert_shows(self.chart("wavelengths"), pairs, rotation["wavelength"], rotation["unscaled"]["wavelength"])
                    lists = rotation["switch"]
                    ratios = [lists["slower_up_to"], lists["slower_beyond"]] if lists else [rotation["slower"]]
                    if len(set(ratios[0])) == 1:  # linear scaling: a sentence tells it
                        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, 'p[data-chart="ratio"]').text,
                                         f"What the rule does: every pair turns exactly {ratios[0][0]:g} times slower than without it.")
                        self.assertEqual(self.driver.find_elements(By.CSS_SELECTOR, 'figure[data-chart="ratio"]'), [])
                    else:
                        self.assert_shows(self.chart("ratio"), pairs, *ratios)
                else:
                    self.assert_shows(self.chart("wavelengths"), pairs, rotation["wavelength"])
                tables = rotation["tables"]
                self.assert_shows(self.chart("tables"), tables["position"], tables["float32"], tables["bfloat16"])
                self.assert_shows(self.chart("cache"), [c["tokens"] for c in model["cache"]], [c["bytes"] for c in model["cache"]],
                                  *(kind["cache"]["bytes"] for kind in model["stacks"][0]["kinds"]))
                facts = [[cell.get_attribute("textContent") for cell in row.find_elements(By.TAG_NAME, "td")]
                         for row in self.driver.find_elements(By.CSS_SELECTOR, "table.facts tbody tr")]
                wanted = [[f["fact"], f["words"], f["from"] or ""] for f in kind["facts"]]
                self.assertEqual(facts, [f for f in wanted if f[1] != "none"] + [f for f in wanted if f[1] == "none"])
                tips = [row.get_attribute("title") for row in self.driver.find_elements(By.CSS_SELECTOR, "table.facts tbody tr")]
                self.assertIn(f"heads: /num_attention_heads of {arguments[0]}", tips)
                folded = self.driver.find_element(By.XPATH, "//summary[contains(., 'facts that are none')]/..")
                self.assertEqual((folded.get_attribute("open"), len(folded.find_elements(By.CSS_SELECTOR, "tbody tr"))),
                                 (None, sum(f[1] == "none" for f in wanted)))
                self.assertEqual([item.text for item in self.driver.find_elements(By.CSS_SELECTOR, "ul.findings li")],
                                 [f"{f['about']}: {f['text']}" for f in model["findings"]])
                self.assert_quiet()

    def test_biases_by_head(self):
        kind = self.open("-", stdin=json.dumps({"model_type": "bloom", "n_head": 4, "n_layer": 2, "hidden_size": 64,
                                                "seq_length": 128}).encode())["models"][0]["stacks"][0]["kinds"][0]
        bias = kind["biases"][0]
        self.assert_shows(self.chart("bias"), bias["distance"], *bias["heads"])
        self.assertEqual(len(bias["heads"]), 4)
        self.assertEqual(self.chart("bias").find_element(By.TAG_NAME, "h4").text, "ALiBi, by distance")
        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, ".kinds button").text, "A: 2 \u00d7 ALiBi, causal")
        # Cell by cell of the matrix, from its last: a query and the key before it.
        matrix = self.driver.find_element(By.CSS_SELECTOR, "svg.matrix")
        matrix.send_keys(Keys.ARROW_LEFT)
        self.assertEqual(self.tip(), "query 47, key 47\n0")
        matrix.send_keys(Keys.ARROW_LEFT)
        self.assertEqual(self.tip(), f"query 47, key 46\n{bias['heads'][0][1]:.4g}")
        matrix.send_keys(Keys.ARROW_UP, Keys.ARROW_UP)
        self.assertEqual(self.tip(), "query 45, key 46\nnot seen")
        self.assert_quiet()

    def test_pointer_and_keyboard_tell_values(self):
        rotation = self.open("gemma-3-4b", hash="#m0s0=0")["models"][0]["stacks"][0]["kinds"][0]["rotations"][0]
        svg = self.chart("wavelengths").find_element(By.TAG_NAME, "svg")
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", svg)
        svg.send_keys(Keys.END)
        self.assertIn("pair of channels: 127", self.tip())
        svg.send_keys(Keys.HOME)
        self.assertEqual(self.tip(), f"pair of channels: 0\nwavelength: {rotation['wavelength'][0]:.4g}")
        svg.send_keys(Keys.ARROW_RIGHT)
        self.assertIn("pair of channels: 1\n", self.tip())
        ActionChains(self.driver).move_to_element(svg).perform()
        self.assertRegex(self.tip(), r"pair of channels: (5|6)\d\n")
        self.assert_quiet()

    def test_layers_are_chosen_and_a_link_restores_them(self):
        self.open("gemma-3-4b")
        strip = self.driver.find_element(By.CSS_SELECTOR, "svg.strip")
        self.assertIn("layer 5: kind B", strip.get_attribute("aria-valuetext"))
        strip.send_keys(Keys.HOME)
        self.assertIn("layer 0: kind A", strip.get_attribute("aria-valuetext"))
        for _ in range(11):
            strip.send_keys(Keys.ARROW_RIGHT)
        self.assertIn("layer 11: kind B", strip.get_attribute("aria-valuetext"))
        self.assertIn("B: layers 5, 11", self.driver.find_element(By.CSS_SELECTOR, "h3:not(:first-of-type), section section h3").text)
        self.driver.find_element(By.CSS_SELECTOR, '.kinds button[data-kind="A"]').click()
        self.assertIn("layer 0: kind A", strip.get_attribute("aria-valuetext"))
        link = self.driver.execute_script("return location.hash")
        stack = self.open("gemma-3-4b", hash=link)["models"][0]["stacks"][0]
        self.assertEqual(self.open_kind(stack)["name"], "A")
        # In the address of the open page, too.
        self.driver.execute_script("location.hash = '#m0s0=1'")
        WebDriverWait(self.driver, 5).until(lambda driver: self.open_kind(stack)["name"] == "B")
        self.assert_quiet()

    def test_the_odd_layers_are_open_at_first_and_what_is_odd_of_them_stands_above(self):
        stack = self.open("gemma-3-4b")["models"][0]["stacks"][0]
        self.assertEqual(self.open_kind(stack), min(stack["kinds"], key=lambda kind: kind["count"]))
        hint = self.driver.find_element(By.CSS_SELECTOR, ".hint").text
        self.assertIn("click a kind, or a layer of the strip, to see all of it. At first it is B, the rarest that attends.", hint)
        contrast = {path: of for path, *of in rows(self.driver.find_element(By.CSS_SELECTOR, ".contrast"))}
        facts = [{fact["fact"]: fact["words"] for fact in kind["facts"]} for kind in stack["kinds"]]
        for path, of in contrast.items():
            self.assertNotEqual(*of)
            for shown, kind in zip(of, facts):
                self.assertEqual(shown, kind.get(path, "none"), path)
        # What both have, and is not the same, is all there.
        self.assertEqual({path for path in facts[0] if path in facts[1] and facts[0][path] != facts[1][path]} - set(contrast), set())
        self.assertEqual(contrast["rotate/0/scaling/factor"], ["none", "8"])
        # Where none is rarer no word says so, and where all are alike there is nothing to click.
        self.open("t5-base")
        self.assertTrue(self.driver.find_element(By.CSS_SELECTOR, ".hint").text.endswith("At first it is A."))
        self.open("gpt2")
        self.assertEqual(self.driver.find_element(By.CSS_SELECTOR, ".hint").text, "12 layers, the first on the left.")
        self.assertEqual(self.driver.find_elements(By.CSS_SELECTOR, ".contrast"), [])
        self.assert_quiet()

    def test_names_of_lines_do_not_touch(self):
        yarn = ("qwen3-8b", "--set", "rope_scaling=yarn,factor={},original=32768", "--length")
        for factor, length in ((1.2, 39000), (4, 131072), (64, 2**21)):
            self.open(*(part.format(factor) for part in yarn), length)
            boxes = sorted(self.driver.execute_script(
                "return [...arguments[0].querySelectorAll('text.limit-name')].map((text) => { const b = text.getBBox(); return [b.y, b.height]; })",
                self.chart("wavelengths")))
            self.assertEqual(len(boxes), 2)
            self.assertLessEqual(boxes[0][0] + boxes[0][1], boxes[1][0] + 2, factor)

    def test_the_name_of_a_line_at_the_top_does_not_touch_the_axis_name(self):
        """Where all wavelengths are shorter than the length looked at, its line is the highest."""
        self.open("-", stdin=json.dumps({**tool.SMALL, "rope_theta": 10.0}).encode())
        boxes = [self.driver.execute_script("const b = arguments[0].getBBox(); return [b.y, b.y + b.height]", text)
                 for text in self.chart("wavelengths").find_elements(By.XPATH, ".//*[text()='tokens a turn' or starts-with(text(), 'looked at')]")]
        self.assertEqual(len(boxes), 2)
        self.assertLessEqual(sorted(boxes)[0][1], sorted(boxes)[1][0] + 2)

    def test_of_pictures_no_length_of_text_is_told(self):
        model = {"model_type": "qwen2_vl", "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64,
                 "max_position_embeddings": 32768, "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]},
                 "vision_config": {"depth": 2, "embed_dim": 64, "num_heads": 4, "spatial_merge_size": 2, "patch_size": 14}}
        self.assertEqual(self.open("-", stdin=json.dumps(model).encode())["models"][0]["stacks"][1]["name"], "vision")
        vision = self.driver.find_element(By.CSS_SELECTOR, 'section[aria-label="vision"]').text
        self.assertIn("A query sees all tokens", vision)
        self.assertNotIn("32768", vision)
        self.assert_quiet()

    def test_a_link_restores_what_is_folded_and_which_head_is_shown(self):
        bloom = json.dumps({"model_type": "bloom", "n_head": 4, "n_layer": 2, "hidden_size": 64, "seq_length": 128}).encode()
        folds = ("return [...document.querySelectorAll('details')].map((d) => [d.getAttribute('data-link'), d.open])")
        head = "return [document.querySelector('select').value, document.querySelector('svg.matrix').innerHTML]"
        self.open("-", stdin=bloom)
        usual, first = self.driver.execute_script(folds), self.driver.execute_script(head)
        self.assertEqual(len({name for name, _ in usual}), len(usual))
        self.assertEqual(self.driver.execute_script("return location.hash"), "")
        for summary in self.driver.find_elements(By.TAG_NAME, "summary"):
            self.driver.execute_script("arguments[0].click()", summary)
        self.driver.execute_script("const s = document.querySelector('select'); s.value = 2; s.dispatchEvent(new Event('change'))")
        changed, second = self.driver.execute_script(folds), self.driver.execute_script(head)
        self.assertEqual(changed, [[name, not is_open] for name, is_open in usual])
        self.assertNotEqual(first, second)
        WebDriverWait(self.driver, 5).until(lambda driver: driver.execute_script("return location.hash").count("=") == len(usual) + 1)
        link = self.driver.execute_script("return location.hash")
        self.open("-", stdin=bloom, hash=link)
        self.assertEqual((self.driver.execute_script(folds), self.driver.execute_script(head)), (changed, second))
        self.assert_quiet()

    def test_a_query_sees_what_the_mask_says(self):
        mask = {"past": 1023, "future": 0}
        model = self.open("gemma-3-4b", hash="#m0s0=0")["models"][0]
        for query in (0, 5, 1023, 1024, 131071):
            words = self.driver.execute_script(
                "const i = document.querySelector('input[type=range]'); i.value = arguments[0];"
                "i.dispatchEvent(new Event('input')); return document.querySelector('.visible').textContent", query)
            low = max(0, query - mask["past"])
            self.assertEqual(words, f"Query {query} (orange) sees {query - low + 1} of {model['length']} keys (blue): {low} to {query}.")
        # On the bar itself the query is dragged.
        bar = self.driver.find_element(By.CSS_SELECTOR, "svg.see")
        self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", bar)
        drag = ActionChains(self.driver)
        drag.move_to_element(bar).click_and_hold().move_by_offset(-bar.rect["width"] // 4, 0).release().move_by_offset(20, 0).perform()
        query = int(self.driver.find_element(By.CSS_SELECTOR, ".visible").text.split()[1])
        self.assertAlmostEqual(query / model["length"], 0.25, delta=0.01)
        self.assertIn(f"m0s0q={query}", self.driver.execute_script("return location.hash"))
        self.open("gemma-3-4b", hash="#m0s0q=77")
        self.assertIn("Query 77 ", self.driver.find_element(By.CSS_SELECTOR, ".visible").text)
        for hash in ("#m0s0=99&m0s0q=-1", "#m0s0=x&%%%", "#m0s0q=1e999"):
            self.open("gemma-3-4b", hash=hash)
            self.assertTrue(self.driver.find_elements(By.CSS_SELECTOR, "figure"))
        self.assert_quiet()

    def test_two_models_stand_beside_each_other(self):
        self.open("qwen3-8b", "--against", "gemma-3-4b")
        articles = self.driver.find_elements(By.TAG_NAME, "article")
        self.assertEqual(len(articles), 2)
        self.assertLess(articles[0].rect["x"] + articles[0].rect["width"], articles[1].rect["x"] + 1)
        differences = self.driver.find_element(By.ID, "differences")
        self.assertLess(differences.rect["y"], articles[0].rect["y"])
        self.assertIn("rotate/0/base", differences.text)
        self.assert_quiet()

    def test_the_verdict_comes_first_and_the_kind_that_differs_is_open(self):
        arguments = ("gemma-3-4b", "--against", "gemma-3-4b", "--set-against", "full:rope_scaling=none")
        numbers = self.open(*arguments)["comparison"]
        verdict = numbers["plainly"]
        shown = self.driver.find_element(By.CSS_SELECTOR, "#differences p.verdict")
        self.assertEqual(shown.text, " ".join(verdict))
        self.assertEqual([shown.text for shown in self.driver.find_elements(By.CSS_SELECTOR, "p.by-length")],
                         [f"{one['texts']}: {one['words']}" for one in numbers["by_length"]])
        self.assertEqual(len(numbers["by_length"]), 2)
        pressed = self.driver.find_elements(By.CSS_SELECTOR, '.kinds button[aria-pressed="true"]')
        self.assertEqual([button.get_attribute("data-kind") for button in pressed], ["B", "B"])
        self.assertTrue(all(button.text.endswith(" (differs)") for button in pressed))
        self.open(*arguments, hash="#m1s0=0")
        pressed = self.driver.find_elements(By.CSS_SELECTOR, '.kinds button[aria-pressed="true"]')
        self.assertEqual([button.get_attribute("data-kind") for button in pressed], ["B", "A"])
        self.assert_quiet()

    def test_charts_of_two_models_face_each_other_on_one_scale(self):
        numbers = self.open("qwen3-8b", "--against", "qwen3-8b", "--length", 131072, "--set-against", "rope_scaling=yarn,factor=4")
        first, second = (self.chart("wavelengths", place) for place in (0, 1))
        self.assertEqual(first.rect["y"], second.rect["y"])
        heights = [self.driver.execute_script("return [...arguments[0].querySelectorAll('circle.k0')].map((dot) => +dot.getAttribute('cy'))", figure)
                   for figure in (first, second)]
        values = [model["stacks"][0]["kinds"][0]["rotations"][0]["wavelength"] for model in numbers["models"]]
        for n in range(20):  # what turns alike stands at one height
            self.assertAlmostEqual(values[0][n], values[1][n], delta=1e-12 * values[0][n])
            self.assertAlmostEqual(heights[0][n], heights[1][n], delta=1e-6)
        self.assertLess(heights[1][-1], heights[0][-1])
        alone = self.open("qwen3-8b", "--length", 131072)
        self.assertEqual(len(alone["models"]), 1)
        dots = self.driver.execute_script("return [...arguments[0].querySelectorAll('circle.k0')].map((dot) => +dot.getAttribute('cy'))", self.chart("wavelengths"))
        self.assertGreater(abs(dots[10] - heights[0][10]), 1)
        self.assert_quiet()

    def test_the_most_that_a_rule_slows_is_named_on_the_axis(self):
        for factor in (3, 4, 7.5):
            self.open("qwen3-8b", "--set", f"rope_scaling=yarn,factor={factor},original=8192")
            names = [text.text for text in self.chart("ratio").find_elements(By.TAG_NAME, "text")]
            self.assertIn(f"{factor:g}", names)

    def test_layers_have_numbers_and_axes_lines_of_their_own(self):
        vision = {"model_type": "qwen2_vl", "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_size": 64,
                  "max_position_embeddings": 32768, "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]},
                  "vision_config": {"depth": 2, "embed_dim": 64, "num_heads": 4, "spatial_merge_size": 2, "patch_size": 14}}
        model = self.open("-", stdin=json.dumps(vision).encode())["models"][0]
        self.assertEqual([ends.text.split() for ends in self.driver.find_elements(By.CSS_SELECTOR, "p.ends")], [["0", "2"], ["0", "1"]])
        for place, stack in enumerate(model["stacks"]):
            axes = set(stack["kinds"][0]["rotations"][0]["axis"])
            line = self.chart("wavelengths", place).find_element(By.CSS_SELECTOR, "path.curve").get_attribute("d")
            self.assertEqual((line.count("M"), len(axes)), (len(axes), 3 - place))
        self.assert_quiet()

    def test_a_file_is_called_by_its_name_and_a_config_by_its_folder(self):
        for path, name in (("some-model/config.json", "some-model"), ("folder/other.json", "other")):
            file = pathlib.Path(self.folder.name) / path
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(tool.SMALL))
            self.open(str(file))
            self.assertEqual(self.driver.find_element(By.ID, "title").text, f"Positions in {name}")

    def test_a_million_layers(self):
        def many(numbers):
            stack = numbers["models"][0]["stacks"][0]
            stack["strip"] = [[n % 2, 1] for n in range(100_000)] + [[0, 900_000]]
            stack["layers"] = 1_000_000
        self.open("gemma-3-4b", change=many)
        strip = self.driver.find_element(By.CSS_SELECTOR, "svg.strip")
        strip.send_keys(Keys.END)
        self.assertIn("layer 999999: kind A", strip.get_attribute("aria-valuetext"))
        self.assertLess(int(self.driver.execute_script("return document.querySelectorAll('*').length")), 20_000)
        self.assert_quiet()

    def test_hostile_texts_stay_texts(self):
        config = {**tool.SMALL, "</script><img src=x onerror=alert(1)>": 1, "model_type": "<b>llama</b>"}
        self.open("-", stdin=json.dumps(config).encode())
        self.assertEqual(self.driver.find_elements(By.CSS_SELECTOR, "img, b.llama"), [])
        self.assertIn("<b>llama</b>", self.driver.find_element(By.TAG_NAME, "main").text)
        self.assert_quiet()

    def test_every_control_has_a_name_and_every_page_a_language(self):
        self.open("t5-base", "deepseek-v3")
        for element in self.driver.find_elements(By.CSS_SELECTOR, "svg[tabindex], input, select, button"):
            name = element.get_attribute("aria-label") or element.get_attribute("textContent")
            self.assertTrue(name.strip(), element.get_attribute("outerHTML")[:200])
        self.assertEqual(self.driver.find_element(By.TAG_NAME, "html").get_attribute("lang"), "en")
        self.assert_quiet()

    def test_dark_pages_are_dark_and_print_on_white(self):
        self.open("gpt2")
        colours = []
        for media, scheme in (("screen", "light"), ("screen", "dark"), ("print", "dark")):
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia",
                                        {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]})
            colours.append(self.driver.execute_script("return getComputedStyle(document.body).backgroundColor"))
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        self.assertEqual(colours, ["rgb(255, 255, 255)", "rgb(13, 17, 23)", "rgb(255, 255, 255)"])


unittest.main(verbosity=2)
