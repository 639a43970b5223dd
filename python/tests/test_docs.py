"""The code in pages that need NumPy at most, and in the README's section, does what it says."""

import page_blocks
import pytest


PAGES = [
    ("README.md", 1),
    ("docs/python.md", 8),
    ("docs/quantised-cache.md", 2),
    ("docs/schemes/contextual-position.md", 1),
]


@pytest.mark.parametrize("page, least", PAGES)
def test_code_runs(page, least, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert page_blocks.run_page(page) >= least


SAID = "```python\nprint(2)  # {}\n```\n"
SHOWN = "```python\nfor i in range(2):\n    print(i)\n```\n\n```text\n{}\n```\n"


@pytest.mark.parametrize("page", [SAID.format("2"), SHOWN.format("0\n1"), SAID.format("2") + SHOWN.format("0\n1")])
def test_what_is_printed_passes(page):
    assert page_blocks.run_text(page) == page.count("```python")


@pytest.mark.parametrize(
    "page",
    [
        SAID.format("3"),
        SHOWN.format("0\n2"),
        SHOWN.format("0"),
        "```python\nprint(2)\n```\n",  # printed, and not said
        "```python\nprint(2)  # 2\n",  # no end
    ],
)
def test_what_is_not_printed_fails(page):
    with pytest.raises(AssertionError):
        page_blocks.run_text(page)
