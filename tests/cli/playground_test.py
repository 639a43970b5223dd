"""The playground in a headless Chromium: its plans are the tool's, byte for byte, and it reads what is dropped on it.

Needs what report_page_test.py needs, and the page: scripts/build_playground makes build/playground/playground.html.
"""
import base64
import gzip
import json
import os
import pathlib
import sys
import tempfile
import unittest

from browsing import browser  # first: it ends what cannot be run
import tool
from tool import posenc

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

PAGE = pathlib.Path(os.environ.get("POSENC_PLAYGROUND", tool.SOURCE_DIR / "build/playground/playground.html"))
DATA = pathlib.Path(os.environ.get("POSENC_TEST_DATA", tool.SOURCE_DIR / "../shared/data"))
if not PAGE.exists():
    print(f"skipped: needs {PAGE.name}, which scripts/build_playground makes")
    sys.exit(tool.SKIPPED)

MOST_COMPRESSED = 600_000  # bytes
# [status, answer] of the library: a file's bytes in base64, its name, --set's words, a length; its plan.
CALL = """
const [bytes, name, set, length] = arguments;
return library.call("read", Uint8Array.from(atob(bytes), (c) => c.charCodeAt(0)), encode(name), encode(set), length, 1, NONE);
"""


class PlaygroundTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.driver = browser()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.folder.cleanup()

    def setUp(self):
        self.open()

    def open(self, hash=""):
        self.driver.get("about:blank")
        self.driver.get_log("performance")
        self.driver.get(PAGE.resolve().as_uri() + hash)
        WebDriverWait(self.driver, 60).until(lambda driver: driver.execute_script("return document.body.dataset.ready === 'yes'"))

    def tearDown(self):
        self.assertEqual(self.driver.get_log("browser"), [])
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                url = message["params"]["request"]["url"]
                self.assertTrue(url.startswith(("file:", "about:", "data:", "blob:", "chrome:")), url)

    def plan_of(self, content, name, words="", length=0):
        return self.driver.execute_script(CALL, base64.b64encode(content).decode(), name, words, length)

    def by_id(self, name):
        return self.driver.find_element(By.ID, name)

    def give(self, path):
        self.by_id("file").send_keys(str(path))

    def texts(self, selector):
        """What is shown, by one call: the page may be drawn anew between finding an element and reading it."""
        return self.driver.execute_script("return Array.from(document.querySelectorAll(arguments[0]), found => found.innerText)", selector)

    def findings(self):
        return "\n".join(self.texts("ul.findings"))

    def titles(self, count=1):
        WebDriverWait(self.driver, 60).until(lambda driver: len(self.texts("h2.model")) == count)
        return self.texts("h2.model")

    def refusal(self):
        WebDriverWait(self.driver, 60).until(lambda driver: self.by_id("refused").text)
        return self.by_id("refused").text

    def test_it_is_small(self):
        self.assertLess(len(gzip.compress(PAGE.read_bytes(), 9)), MOST_COMPRESSED)

    def test_plans_are_those_of_the_tool(self):
        for preset in tool.presets():
            _, config = self.driver.execute_script("return library.call('preset', encode(arguments[0]))", preset)
            status, plan = self.plan_of(config.encode(), "<stdin>")
            self.assertEqual((status, plan), (0, posenc("inspect", "-", "--json", stdin=config.encode()).out), preset)

    @unittest.skipUnless((DATA / "configs").is_dir(), "needs the configs of POSENC_TEST_DATA")
    def test_plans_of_real_configs_are_those_of_the_tool(self):
        for path in sorted((DATA / "configs").glob("*.json")):
            status, answer = self.plan_of(path.read_bytes(), path.name)
            said = posenc("inspect", path.name, "--json", cwd=path.parent)
            self.assertEqual(status == 0, said.code == 0, path.name)
            if status == 0:
                self.assertEqual(answer, said.out, path.name)

    def test_what_is_set_is_what_the_tool_sets(self):
        config = json.dumps(tool.SMALL).encode()
        words = "rope_scaling=yarn,factor=4,original=512\nbase=1e6"
        status, plan = self.plan_of(config, "<stdin>", words, 4096)
        said = posenc("inspect", "-", "--json", "--length", "4096", *(word for line in words.split("\n") for word in ("--set", line)), stdin=config)
        self.assertEqual((status, plan), (0, said.out))

    def test_a_config_is_opened_and_edited(self):
        path = pathlib.Path(self.folder.name) / "config.json"
        path.write_text(json.dumps(tool.SMALL))
        self.give(path)
        WebDriverWait(self.driver, 60).until(lambda driver: self.titles() == ["config.json"])
        self.assertIn("base 10000", self.findings())
        self.driver.execute_script(
            "const t = document.getElementById('text'); t.value = t.value.replace('10000.0', '777.0');"
            "t.dispatchEvent(new Event('input'))")
        WebDriverWait(self.driver, 60).until(lambda driver: "base 777" in self.findings())
        self.driver.execute_script("const a = document.getElementById('against'); a.checked = true; a.dispatchEvent(new Event('input'))")
        self.assertEqual(len(self.titles(2)), 2)
        self.assertIn("rotate/0/base", self.texts("#differences")[0])

    def test_sliders_set_words_and_a_link_restores_them(self):
        self.driver.execute_script(
            "const r = document.getElementById('rule'); r.value = 'linear'; r.dispatchEvent(new Event('input'));"
            "const b = document.getElementById('base'); b.value = '6'; b.dispatchEvent(new Event('input'))")
        self.assertEqual(self.by_id("set").get_property("value"), "rope_scaling=linear,factor=4\nbase=1000000")
        WebDriverWait(self.driver, 60).until(
            lambda driver: "linear scaling x4" in self.findings())
        link = self.driver.execute_script("return location.hash")
        self.open(link)
        self.assertIn("linear scaling x4", self.findings())
        self.assertIn("base 1000000", self.findings())

        self.assertEqual((self.by_id("rule").get_property("value"), self.by_id("factor-shown").text, self.by_id("base-shown").text),
                         ("linear", "4", "1000000"))
        self.assertEqual((self.by_id("factor").get_property("value"), self.by_id("base").get_property("value")), ("2", "6"))

    def test_a_link_has_the_file_or_says_which_it_was(self):
        def link_of(config):
            self.driver.execute_script(
                "const data = new DataTransfer(); data.items.add(new File([arguments[0]], 'dropped.json'));"
                "dispatchEvent(new DragEvent('drop', { dataTransfer: data }))", json.dumps(config))
            WebDriverWait(self.driver, 60).until(lambda driver: f"base {config['rope_theta']}" in self.findings())
            return self.driver.execute_script("return location.hash")
        self.open(link_of({**tool.SMALL, "rope_theta": 4321}))
        self.assertIn("base 4321", self.findings())
        # Of a text that grew too long for a link no older one is kept.
        self.open(link_of({**tool.SMALL, "rope_theta": 5432, "more": "x" * 6000}))
        self.assertIn("The link is of dropped.json, which no link can hold", self.refusal())

    def test_what_could_not_be_read_leaves_a_page_that_says_so(self):
        shown = "return [getComputedStyle(document.getElementById('models')).opacity, !document.getElementById('stale').hidden]"
        self.assertEqual(self.driver.execute_script(shown), ["1", False])
        self.driver.execute_script("const t = document.getElementById('text'); t.value = '{'; t.dispatchEvent(new Event('input'))")
        self.refusal()
        self.assertEqual(self.driver.execute_script(shown), ["0.45", True])

    def test_of_a_large_gguf_file_the_header_is_read(self):
        path = pathlib.Path(self.folder.name) / "model.gguf"
        def text(value):
            return len(value).to_bytes(8, "little") + value
        def number(key, value):
            return text(key) + (4).to_bytes(4, "little") + value.to_bytes(4, "little")
        keys = [text(b"general.architecture") + (8).to_bytes(4, "little") + text(b"llama"),
                number(b"llama.block_count", 3), number(b"llama.context_length", 2048), number(b"llama.embedding_length", 64),
                number(b"llama.attention.head_count", 4)]
        with path.open("wb") as file:
            file.write(b"GGUF" + (3).to_bytes(4, "little") + (0).to_bytes(8, "little") + len(keys).to_bytes(8, "little") + b"".join(keys))
            file.truncate(40 << 30)  # a hole
        self.give(path)
        WebDriverWait(self.driver, 60).until(lambda driver: self.titles() == ["model.gguf"])
        self.assertIn("3 layers, all alike", self.findings())

    def test_a_file_is_dropped(self):
        self.driver.execute_script(
            "const data = new DataTransfer(); data.items.add(new File([arguments[0]], 'dropped.json'));"
            "dispatchEvent(new DragEvent('drop', { dataTransfer: data }))", json.dumps(tool.SMALL))
        WebDriverWait(self.driver, 60).until(lambda driver: self.titles() == ["dropped.json"])

    def test_hostile_files_are_refused_in_words(self):
        for name, content in (("a.json", b"[1"), ("b.json", b"\xff\xfe{}"), ("c.json", b""), ("d.json", b"[" * 100_000),
                              ("e.gguf", b"GGUF" + b"\xff" * 60), ("f.json", json.dumps({**tool.SMALL, "rope_theta": 1e308}).encode()),
                              ("g.json", json.dumps({**tool.SMALL, "rope_scaling": {"rope_type": "no such rule"}}).encode())):
            path = pathlib.Path(self.folder.name) / name
            path.write_bytes(content)
            said = posenc("inspect", name, cwd=self.folder.name)
            self.give(path)
            if said.code == 0:
                WebDriverWait(self.driver, 60).until(lambda driver: self.titles() == [name])
                continue
            words = self.refusal()
            self.assertIn(said.err.split(": ", 2)[2].split("\n")[0][:30], words, name)
        # And goes on.
        self.driver.execute_script("document.getElementById('preset').value = 'gpt2'; document.getElementById('preset').dispatchEvent(new Event('change'))")
        WebDriverWait(self.driver, 60).until(lambda driver: self.titles() == ["gpt2"])

    def test_a_word_that_is_not_known_is_refused_and_the_next_is_read(self):
        self.driver.execute_script("const s = document.getElementById('set'); s.value = 'bass=3'; s.dispatchEvent(new Event('input'))")
        self.assertIn("bass", self.refusal())
        self.driver.execute_script("const s = document.getElementById('set'); s.value = 'base=3'; s.dispatchEvent(new Event('input'))")
        WebDriverWait(self.driver, 60).until(lambda driver: not self.by_id("refused").text)
        self.assertIn("base 3", self.findings())


unittest.main(verbosity=2)
