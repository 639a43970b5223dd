"""A small model whose layers share a table of positions and T5's biases, and whose embeddings are its output weights:
its gradients on one rank, and as DistributedDataParallel has them, each rank with sequences of its own."""

from __future__ import annotations

import copy
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

import posenc
import posenc.nn

WORDS, WIDTH, HEADS, TOKENS, BATCH = 20, 32, 4, 12, 4
LAYER = posenc.LayerPlan(
    heads=HEADS, kv_heads=2, head_dim=8, value_dim=8, softmax_scale=8**-0.5, score=(posenc.T5Bias(buckets=8, max_distance=16),)
)


# The two uses of each tensor that is shared.
PAIRS = {
    "words.weight": "out.weight",
    "places.0.weight": "places.1.weight",
    "layers.0.terms.0.table": "layers.1.terms.0.table",
}


class Shared(nn.Module):
    """is_shared: or each use has a tensor of its own, with the same numbers."""

    def __init__(self, is_shared: bool = True) -> None:
        super().__init__()
        torch.manual_seed(2)
        again = (lambda x: x) if is_shared else copy.deepcopy
        self.words = nn.Embedding(WORDS, WIDTH)
        places = posenc.nn.LearnedPositions(TOKENS, WIDTH)
        biases = posenc.nn.T5RelativeBias(HEADS, buckets=8, max_distance=16)
        self.places = nn.ModuleList([places, again(places)])
        self.layers = nn.ModuleList([posenc.nn.Attention(LAYER, WIDTH, terms=[of]) for of in (biases, again(biases))])
        self.out = nn.Linear(WIDTH, WORDS, bias=False)
        self.out.weight = again(self.words.weight)

    def forward(self, words: Tensor) -> Tensor:
        x = self.words(words)
        for place, layer in zip(self.places, self.layers):
            x = x + layer(place(x))
        return self.out(x)


def words_of(first: int, end: int) -> Tensor:
    return torch.randint(WORDS, (BATCH, TOKENS), generator=torch.Generator().manual_seed(4))[first:end]


def gradients(model: Any, words: Tensor) -> dict[str, Tensor]:
    """By name, each tensor once, of the mean loss of the next words."""
    logits = model(words)
    nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), words[:, 1:].flatten()).backward()
    plain = getattr(model, "module", model)
    return {name: x.grad.clone() for name, x in plain.named_parameters()}


def over_ranks(ranks: int, group: Any, is_averaged: bool) -> dict[str, Tensor]:
    """Of all sequences, which are dealt to ranks, as this rank has them after its backward pass."""
    model: nn.Module = Shared()
    if is_averaged:
        model = nn.parallel.DistributedDataParallel(model, process_group=group)
    own, rank = BATCH // ranks, dist.get_rank()
    return gradients(model, words_of(rank * own, (rank + 1) * own))
