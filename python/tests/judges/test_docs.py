"""The code in docs/torch.md does what it says."""

import os
import pathlib
import re


def test_code_runs(capsys):
    page = (pathlib.Path(os.environ["POSENC_SOURCE_DIR"]) / "docs/torch.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    names = {}
    for block in blocks:
        exec(block, names)
        # What a line prints stands behind it.
        expected = re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE)
        assert capsys.readouterr().out.splitlines() == expected
