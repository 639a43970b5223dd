"""posenc.distributed.context_parallel: tiny models of transformers on two ranks of gloo, held to their own eager attention in
float64 on one: logits, the loss and the gradient of every parameter."""

from __future__ import annotations

import pytest
import torch

from ranks.models import alone
from ranks.pool import Pool


@pytest.fixture(scope="module")
def pool():
    ranks = Pool(2)
    yield ranks
    ranks.close()


def worst(kind, batch, ends, got) -> float:
    """The largest error by what eager attention in float32 is off, at least a rounding of the largest number."""
    true, own = (alone(kind, batch, ends, dtype) for dtype in (torch.float64, torch.float32))
    ratios = []
    for name, x in true.items():
        bound = max(float((own[name] - x).abs().max()), 2.0**-22 * float(x.abs().max()))
        ratios.append(float((got[name] - x).abs().max()) / bound)
    return max(ratios)


CASES = [
    ("llama", "ring", 2, [0, 37], "zigzag"),
    ("llama", "ring", 1, [0, 13, 13, 37], "zigzag"),
    ("llama", "all_gather", 1, [0, 21, 40], "striped"),
    ("llama", "ulysses", 2, [0, 37], "contiguous"),
    ("mistral", "ring", 1, [0, 13, 37], "balanced"),
    ("dynamic", "ring", 1, [0, 37], "contiguous"),
]


@pytest.mark.parametrize("kind, mode, batch, ends, dealing", CASES)
def test_two_ranks_are_one(pool, kind, mode, batch, ends, dealing):
    said = pool.ask("model_over_ranks", kind, mode, batch, ends, dealing)
    for one in said:
        assert one["same"] and one["left"] == [] and len(one["changed"]) == 2
        assert worst(kind, batch, ends, one["made"]) <= 4
    assert all(torch.equal(said[0]["made"][name], said[1]["made"][name]) for name in said[0]["made"])


def test_local_ids_are_caught(pool):
    made = pool.ask("model_over_ranks", "llama", "ring", 2, [0, 37], "zigzag", "local ids")[0]["made"]
    assert worst("llama", 2, [0, 37], made) > 1000


REFUSED = {
    "labels": "labels must come with shift_labels",
    "use_cache": "use_cache must be omitted: posenc.distributed.ShardedCache is for decode",
    "padding": "attention_mask must be omitted or of ones",
    "positions": "position_ids must be omitted, or the order",
    "tokens": "input_ids must be the 8 tokens that the sharding deals to this rank, but are 7 of them",
    "ranks": "sharding must deal to the 2 ranks of the group but deals to 3",
    "axes": "sharding must have no positions of its own",
    "mamba": "model must be a decoder in which attention alone goes from token to token, but MambaForCausalLM has",
    "t5": "model must be a decoder in which attention alone goes from token to token, but T5ForConditionalGeneration has",
    "use": "[use] model must not be in use over ranks",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_ranks_would_not_share_is_refused(pool, what):
    for text in pool.ask("refused_by_model", what):
        assert REFUSED[what] in text and text.startswith("ValueError"), text
