"""The code in docs/python.md and in the README's section does what it says."""

import os
import pathlib
import re

import pytest

ROOT = pathlib.Path(os.environ.get("POSENC_SOURCE_DIR", pathlib.Path(__file__).parents[2]))


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


@pytest.mark.parametrize("page, least", [("README.md", 1), ("docs/python.md", 8)])
def test_code_runs(page, least, tmp_path, monkeypatch, capsys):
    code = blocks(page)
    assert len(code) >= least
    monkeypatch.chdir(tmp_path)
    # One after another, as a reader types them. What a line prints stands behind it: "print(x)  # 3".
    names = {}
    for block in code:
        exec(block, names)
        expected = re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE)
        printed = capsys.readouterr().out.splitlines()
        assert printed[: len(expected)] == expected
