"""The model of all experiments: blocks of attention and a perceptron, norms before each, a head over its classes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

import posenc
import posenc.nn

from .scheme import Scheme, Sizes


class Block(nn.Module):
    def __init__(self, scheme: Scheme, sizes: Sizes) -> None:
        super().__init__()
        terms = [] if scheme.terms is None else list(scheme.terms(sizes))
        plan = posenc.LayerPlan(
            heads=sizes.heads,
            kv_heads=sizes.heads,
            head_dim=sizes.head_dim,
            value_dim=sizes.head_dim,
            softmax_scale=sizes.head_dim**-0.5,
            mask=posenc.Mask(kind="bidirectional" if sizes.bidirectional else "causal"),
            rotate=scheme.rotations(sizes, sizes.trained),
            score=tuple(term.scheme for term in terms),
        )
        self.attention_norm, self.perceptron_norm = nn.LayerNorm(sizes.width), nn.LayerNorm(sizes.width)
        self.attention = posenc.nn.Attention(plan, sizes.width, terms=terms)
        self.perceptron = nn.Sequential(
            nn.Linear(sizes.width, 2 * sizes.width), nn.GELU(), nn.Linear(2 * sizes.width, sizes.width)
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x))
        out: Tensor = x + self.perceptron(self.perceptron_norm(x))
        return out


class Model(nn.Module):
    """forward(tokens [batch, tokens]): logits [batch, tokens, classes]."""

    def __init__(self, scheme: Scheme, sizes: Sizes) -> None:
        super().__init__()
        self.scheme, self.sizes = scheme, sizes
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.width)
        self.rows = None if scheme.rows is None else scheme.rows(sizes)
        self.blocks = nn.ModuleList(Block(scheme, sizes) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(sizes.width)
        self.head = nn.Linear(sizes.width, sizes.classes)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        x = x if self.rows is None else self.rows(x)
        for block in self.blocks:
            x = block(x)
        out: Tensor = self.head(self.norm(x))
        return out

    def rotating(self, rotate: Sequence[posenc.Rotate]) -> Model:
        """The same weights, with other rotations of q and k."""
        numbers = self.state_dict()
        with torch.random.fork_rng(devices=[]):
            other = Model(Scheme("", "", "", self.scheme.rows, lambda _: rotate, self.scheme.terms), self.sizes)
        other.load_state_dict(numbers)
        return other

    def for_length(self, length: int) -> Model:
        """The model that reads so many tokens: another one where its scheme rotates otherwise there."""
        rotate = self.scheme.rotations(self.sizes, length)
        return self if rotate == self.scheme.rotations(self.sizes, self.sizes.trained) else self.rotating(rotate)
