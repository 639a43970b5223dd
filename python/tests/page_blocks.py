"""The Python of a page of docs, run as a reader types it, one block after another, and what it prints compared with
what the page says: behind a print ("print(x)  # 3"), or in a text block that follows."""

import contextlib
import io
import os
import pathlib
import re

ROOT = pathlib.Path(os.environ.get("POSENC_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
_BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?", re.DOTALL | re.MULTILINE)


def run_text(text):
    """Returns how many blocks there were. AssertionError for a block that prints something else."""
    names = {}
    blocks = list(_BLOCK.finditer(text))
    assert len(blocks) == text.count("```python"), "a block of Python that does not end"
    for block in blocks:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(block["code"], names)
        behind = re.findall(r"^ *print\(.*\)  # (.*)$", block["code"], re.MULTILINE)
        expected = behind if block["printed"] is None else block["printed"].splitlines()
        assert out.getvalue().splitlines() == expected, block["code"]
    return len(blocks)


def run_page(page):
    return run_text((ROOT / page).read_text())
