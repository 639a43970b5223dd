"""A way to tell a model where its tokens are: what is added to embeddings, what rotates, what is added to scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import posenc


@dataclass(frozen=True)
class Sizes:
    """Of a model, and of what it is trained on."""

    vocabulary: int
    classes: int
    trained: int  # tokens of the longest sequence in training
    longest: int  # tokens of the longest sequence that it will ever read
    bidirectional: bool = False
    width: int = 64
    heads: int = 4
    layers: int = 2

    @property
    def head_dim(self) -> int:
        return self.width // self.heads

    def rope(self, **changes: Any) -> posenc.Rope:
        return posenc.Rope(pairing="half", head_dim=self.head_dim, dim=self.head_dim, **changes)


@dataclass(frozen=True)
class Scheme:
    """name: in results and on the command line; title: on the page; paper: where it is from.

    rows: a module that is called with embeddings [batch, tokens, width] and adds to them. rotate: rotations of q and k.
    terms: modules of posenc.nn for the scores of one layer. longer: rotations for a test of that many tokens, more than
    were trained on; else they stay.
    """

    name: str
    title: str
    paper: str
    rows: Callable[[Sizes], Any] | None = None
    rotate: Callable[[Sizes], Sequence[posenc.Rotate]] | None = None
    terms: Callable[[Sizes], Sequence[Any]] | None = None
    longer: Callable[[Sizes, int], Sequence[posenc.Rotate]] | None = None

    def rotations(self, sizes: Sizes, length: int) -> tuple[posenc.Rotate, ...]:
        if self.longer is not None and length > sizes.trained:
            return tuple(self.longer(sizes, length))
        return () if self.rotate is None else tuple(self.rotate(sizes))
