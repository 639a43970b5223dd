"""posenc.distributed.context_parallel: tiny models of transformers on two and four ranks of gloo, held to their own eager
attention in float64 on one: logits, the loss and the gradient of every parameter. Beside it, a model of posenc.nn of which
each rank has whole sequences."""

from __future__ import annotations

import math
import os

import pytest
import torch

import bounds
import posenc
from posenc.conformance import verdicts
from posenc.conformance.families import FAMILIES
from posenc.distributed import _context_parallel
from ranks import shared_tables
from ranks.models import alone
from ranks.pool import Pool


@pytest.fixture(scope="module")
def pool():
    ranks = Pool(4)
    yield ranks
    ranks.close()


def worst(kind, batch, ends, got) -> float:
    """The largest error by what eager attention in float32 is off, at least a rounding of the largest number."""
    true, own = (alone(kind, batch, ends, dtype) for dtype in (torch.float64, torch.float32))
    ratios = []
    for name, x in true.items():
        bound = max(float((own[name] - x).abs().max()), 2.0**-22 * float(x.abs().max()))
        off = float((got[name] - x).abs().max())
        ratios.append(off / bound if bound else math.inf if off else 0.0)  # of an expert that no token goes to
    return max(ratios)


# Ranks; and of two, of four or in packs what is not of ring and causal masks alone. Of llama4_text the query scale is that
# of an index, afmoe takes heads apart by a view.
CASES = [
    (2, "llama", "ring", 2, [0, 37], "zigzag"),
    (4, "llama", "ring", 1, [0, 13, 13, 37], "zigzag"),
    (2, "llama", "all_gather", 1, [0, 21, 40], "striped"),
    (2, "llama", "ulysses", 2, [0, 37], "contiguous"),
    (4, "llama", "ulysses", 2, [0, 37], "zigzag"),
    (2, "mistral", "ring", 1, [0, 13, 37], "balanced"),
    (2, "dynamic", "ring", 1, [0, 37], "contiguous"),
    (4, "gpt_oss", "ring", 2, [0, 11], "zigzag"),
    (2, "llama4_text", "ring", 1, [0, 5, 16], "striped"),
    (2, "afmoe", "ring", 2, [0, 11], "zigzag"),
    (4, "qwen2_vl", "ring", 1, [0, 16, 37], "zigzag"),
    (2, "bloom", "ulysses", 1, [0, 5, 11], "zigzag"),
    (4, "llama with alibi", "ring", 1, [0, 13, 37], "zigzag"),
    (4, "llama with alibi", "ulysses", 1, [0, 13, 37], "zigzag"),
    (2, "llama with t5", "ring", 2, [0, 37], "striped"),
    (4, "llama with cope", "ring", 1, [0, 13, 37], "contiguous"),
    (2, "roberta", "ring", 1, [0, 13, 37], "zigzag"),
]
# Rotations and attention of operations of torch, as where the model is on another device.
COMPOSED = [
    (2, "llama", "ring", 2, [0, 37], "zigzag"),
    (2, "llama", "ulysses", 1, [0, 13, 37], "contiguous"),
    (2, "gpt_oss", "ring", 2, [0, 11], "zigzag"),
    (2, "llama4_text", "ring", 1, [0, 5, 16], "striped"),
    (2, "qwen2_vl", "ring", 1, [0, 16, 37], "zigzag"),
    (2, "llama with cope", "ring", 1, [0, 13, 37], "contiguous"),
]
EACH = [(*one, "auto") for one in CASES] + [(*one, "composed") for one in COMPOSED]


@pytest.mark.parametrize("ranks, kind, mode, batch, ends, dealing, backend", EACH)
def test_ranks_are_one(pool, ranks, kind, mode, batch, ends, dealing, backend):
    said = pool.ask("model_over_ranks", ranks, kind, mode, batch, ends, dealing, "", backend, ranks=range(ranks))
    for one in said:
        assert one["same"] and one["left"] == [] and len(one["changed"]) == 2
        assert worst(kind, batch, ends, one["made"]) <= 4
    assert all(torch.equal(said[0]["made"][name], one["made"][name]) for one in said[1:] for name in one["made"])


def test_axes_of_positions_are_those_of_the_rotation():
    """A number for each token has none."""
    plan = posenc.read_plan(next(of for of in FAMILIES if of.title == "llama").model().config)

    def along(*names):
        of_pair = lambda rope: posenc.axial_axes(names, rope.dim // 2)
        return _context_parallel._axes(verdicts._with_ropes(plan, lambda rope: rope.replace(axes=of_pair(rope))))

    assert [_context_parallel._axes(plan), along("one"), along("h", "w")] == [0, 0, 2]


# Decoders of posenc.conformance, each of which gives the same on ranks or says why not. What one rounding is to their loss is
# chance in so few numbers, so the bound is wide; positions that were wrong came to 20,000.
TITLES = [one.title for one in FAMILIES if one.head == "AutoModelForCausalLM" and one.is_known()]


@pytest.mark.skipif(
    not os.environ.get("POSENC_WHOLE"), reason="all families: ctest --preset dev -C slow -R distributed.whole"
)
def test_families_are_one_or_refused(pool):
    refused = {}
    for title in TITLES:
        said = pool.ask("model_or_refusal", 4, title, "ring", 1, [0, 5, 11], "zigzag")
        if isinstance(said[0], str):
            assert all(one == said[0] for one in said), said
            refused[title] = said[0]
        else:
            assert worst(title, 1, [0, 5, 11], said[0]["made"]) <= 64, title
    assert set(refused) == {"longcat_flash", "xlnet"}, refused  # attention of its own; a loss of its own


def test_local_ids_are_caught(pool):
    made = pool.ask("model_over_ranks", 2, "llama", "ring", 2, [0, 37], "zigzag", "local ids", ranks=range(2))[0]["made"]
    assert worst("llama", 2, [0, 37], made) > 1000


REFUSED = {
    "labels": "labels must come with shift_labels",
    "count": "labels must come with num_items_in_batch",
    "router": "output_router_logits must be False beside labels",
    "loss": "labels must be omitted: LlamaForCausalLM makes a loss that knows nothing of shift_labels",
    "use_cache": "use_cache must be omitted: posenc.distributed.ShardedCache is for decode",
    "padding": "attention_mask must be omitted or of ones",
    "positions": "position_ids must be omitted, or those that the sharding gives",
    "tokens": "input_ids must be the 8 tokens that the sharding deals to this rank, but are 7 of them",
    "ranks": "sharding must deal to the 2 ranks of the group but deals to 3",
    "axes": "positions of the sharding must be omitted for a model that has one of each token",
    "mamba": "model must be a decoder in which attention alone goes from token to token, but MambaForCausalLM has",
    "t5": "model must be a decoder in which attention alone goes from token to token, but T5ForConditionalGeneration has",
    "roberta of padding": "input_ids must have no 1, the model's padding, behind which it counts positions in another way",
    "mobilebert": "model must take each token by itself but for attention and position_ids",
    "bert": "BertModel makes one result of several tokens",
    "llama of sequences": "LlamaForSequenceClassification makes one result of several tokens",
    "qwen2_vl": "pixel_values must be of this rank's tokens, [batch, 8, ..], but is [4, 1176]",
    "use": "[use] model must not be in use over ranks",
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_ranks_would_not_share_is_refused(pool, what):
    for text in pool.ask("refused_by_model", 2, what, ranks=range(2)):
        assert REFUSED[what] in text and text.startswith("ValueError"), text


def test_what_one_rank_is_given_is_an_error_of_all(pool):
    texts = pool.ask("refused_by_model", 4, "of one rank")
    said = "[context_parallel] use_cache must be omitted"
    assert texts[1].startswith(f"ValueError: {said}"), texts
    assert all(f"rank 1 refuses the call: {said}" in text for text in texts[:1] + texts[2:]), texts


def test_data_parallel_ranks_have_the_gradients_of_one(pool):
    alone = shared_tables.gradients(shared_tables.Shared(), shared_tables.words_of(0, shared_tables.BATCH))
    first, second = pool.ask("shared_tables", 2, True, ranks=range(2))
    by_itself, _ = pool.ask("shared_tables", 2, False, ranks=range(2))
    largest = max(float(x.abs().max()) for x in alone.values())
    for name, x in alone.items():
        bound = bounds.trained(float(x.abs().max()), largest)
        assert torch.equal(first[name], second[name])
        assert float((first[name] - x).abs().max()) <= bound, name
        assert float((by_itself[name] - x).abs().max()) > 100 * bound, name  # one rank's sequences alone are others
