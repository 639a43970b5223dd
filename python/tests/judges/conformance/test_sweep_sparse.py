"""What words of a sparse mask say of a short text, and that the sweep finds another one wrong."""

from __future__ import annotations

import types

import posenc
import pytest
import torch
from posenc.conformance import sweep_layer, sweep_sparse


def mask(words, **others):
    return posenc.Mask(kind="sparse", detail=words, **others)


def test_chunks():
    seen = sweep_sparse.visible(mask("own chunk of 2 and the one before"), 6, 6)
    assert seen[3].tolist() == [True] * 4 + [False] * 2
    seen = sweep_sparse.visible(mask("causal, own chunk of 2 and the 2 after"), 6, 6)
    assert seen[3].tolist() == [False, False, True, True, False, False]
    assert isinstance(sweep_sparse.visible(mask("own chunk of 2"), 6, 7), str)


def test_ranked_and_beside():
    seen = sweep_sparse.visible(mask("causal, the 8 keys that the indexer of layer 1 ranks highest"), 6, 6)
    assert torch.equal(seen, torch.ones(6, 6).tril().bool())
    assert isinstance(sweep_sparse.visible(mask("causal, the 5 keys that the indexer ranks highest"), 6, 6), str)
    words = "causal; and in the same softmax all of the encoder's tokens, whose keys do not rotate"
    seen = sweep_sparse.visible(mask(words, window=posenc.Window(past=1, future=0)), 3, 5)
    assert seen.tolist() == [
        [True, False, False, True, True],
        [True, True, False, True, True],
        [False, True, True, True, True],
    ]


@pytest.mark.parametrize(
    "words, columns, wrong",
    [
        ("windows of 2x3 patches", 6, False),
        ("windows of 2x2 patches", 6, True),
        ("own chunk of 3", 6, False),
        ("own chunk of 2", 6, True),
    ],
)
def test_another_mask_is_wrong(words, columns, wrong):
    """The class's windows have six patches; its chunks three tokens."""
    own = torch.zeros(1, 1, columns, columns)
    if "chunk" in words:
        own[..., :3, 3:] = own[..., 3:, :3] = -1e9
    event = types.SimpleNamespace(scores=own)
    layer = types.SimpleNamespace(mask=mask(words))
    assert bool(list(sweep_layer._masks(layer, event))) == wrong


def test_what_is_not_compared_is_named():
    event = types.SimpleNamespace(scores=torch.zeros(1, 1, 4, 4))
    for words, reason in (
        ("windows of 7 x 7 patches", "4 keys at once"),
        ("LSH buckets by length, 1 hash", "made of contents"),
        ("words of tomorrow", "no rule"),
    ):
        assert reason in sweep_layer.not_compared(types.SimpleNamespace(mask=mask(words)), event)
    assert sweep_layer.not_compared(types.SimpleNamespace(mask=posenc.Mask()), event) is None
