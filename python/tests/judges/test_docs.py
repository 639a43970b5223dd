"""The code in pages that need torch or transformers does what they say."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import page_blocks  # noqa: E402

PAGES = {
    "docs/nn.md": 4,
    "docs/torch.md": 8,
    "docs/training.md": 1,
    "docs/coming-from/flash-attn.md": 4,
    "docs/coming-from/llama.cpp.md": 8,
    "docs/coming-from/rotary-embedding-torch.md": 4,
    "docs/coming-from/transformers.md": 5,
    "docs/coming-from/vllm.md": 6,
    "docs/tutorial-python.md": 7,
}


@pytest.mark.parametrize("page, blocks", PAGES.items())
def test_code_runs(page, blocks, tmp_path, monkeypatch):
    if page.endswith("rotary-embedding-torch.md"):
        pytest.importorskip("rotary_embedding_torch")
    monkeypatch.chdir(tmp_path)
    assert page_blocks.run_page(page) == blocks
