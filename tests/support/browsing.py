"""A headless Chromium for tests of pages; ends the test as skipped where it or its driver, packages of Debian, cannot be had."""
import shutil
import sys

try:
    from selenium import webdriver
    from selenium.common.exceptions import WebDriverException
    from selenium.webdriver.chrome.service import Service
except ImportError:
    webdriver = None

DRIVER, BROWSER = shutil.which("chromedriver"), shutil.which("chromium")
SKIPPED = 77  # CTest: SKIP_RETURN_CODE
if webdriver is None or DRIVER is None or BROWSER is None:
    print("skipped: needs chromium, chromium-driver and python3-selenium")
    sys.exit(SKIPPED)


def browser(*flags):
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1300,1000", *flags):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


try:
    browser().quit()
except WebDriverException as absent:
    print(f"skipped: Chromium does not start here: {absent}")
    sys.exit(SKIPPED)
