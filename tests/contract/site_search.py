"""The site in a headless Chromium, from disk and from a server: its search finds, in English and Chinese, and nothing is fetched elsewhere.

usage: site_search.py SITE      what scripts/build_site wrote
"""
import functools
import http.server
import json
import pathlib
import sys
import threading
import unittest

from browsing import SKIPPED, browser  # first: it ends what cannot be run

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

SITE = pathlib.Path(sys.argv.pop()).resolve()
if not (SITE / "index.html").exists():
    print("skipped: the site was not built")
    sys.exit(SKIPPED)
POSITION, ENCODING, INSTALL = "\u4f4d\u7f6e", "\u7f16\u7801", "\u5b89\u88c5"
# Words, and what the title of the first page says of them.
ASKED = {"contextual position": "(CoPE)", POSITION: POSITION, POSITION + ENCODING: POSITION + ENCODING,
         # On the way to a word, and with what lunr takes for a sign of its own.
         "ALiBi s": "ALiBi", "CoPE s": "CoPE", "half-": " ", "RoPE:": " ",
         # "How to install" stands nowhere; pages with its characters apart come after the one with "install".
         "\u600e\u4e48" + INSTALL: INSTALL,
         # "ALiBi" and "cost"; "contextual position encoding". Their characters stand on other pages too, one by one.
         "ALiBi \u6210\u672c": "ALiBi", "\u4e0a\u4e0b\u6587" + POSITION + ENCODING: "CoPE"}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class SearchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.driver = browser()
        cls.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=SITE))
        threading.Thread(target=cls.server.serve_forever, daemon=True).start()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        cls.server.shutdown()
        cls.server.server_close()

    def find(self, url, words, title):
        """Waits until the first page that is shown is of this title; returns where all that was asked for lay."""
        self.driver.get("about:blank")
        self.driver.get_log("performance")
        self.driver.get(url)
        box = self.driver.find_element(By.CSS_SELECTOR, ".md-search__input")
        box.click()
        box.send_keys(words)
        first = "return document.querySelector('.md-search-result__item h1')?.textContent ?? ''"
        WebDriverWait(self.driver, 60).until(lambda driver: title in driver.execute_script(first))  # it answers while one types
        asked = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [event["params"]["request"]["url"] for event in asked if event["method"] == "Network.requestWillBeSent"]

    def test_it_finds_and_fetches_nothing_from_elsewhere(self):
        address, port = self.server.server_address
        for start in (SITE.as_uri() + "/", f"http://{address}:{port}/"):
            for words, title in ASKED.items():
                with self.subTest(start=start, words=words):
                    urls = self.find(start + "index.html", words, title)
                    self.assertEqual([url for url in urls if not url.startswith((start, "about:", "data:", "blob:"))], [])
                    self.assertEqual(self.driver.get_log("browser"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
