"""What a model has to do: sequences drawn from a generator, tests that may be longer, and what papers say of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .scheme import Scheme, Sizes

UNASKED = -100  # a target that counts for nothing: cross_entropy's ignore_index
TOGETHER = 8192  # tokens of one forward pass in tests


class Batch(NamedTuple):
    tokens: Tensor  # [batch, tokens] of int64
    targets: Tensor  # [batch, tokens] of int64, UNASKED where nothing is asked


Numbers = dict[str, float]  # by the name of a test


@dataclass(frozen=True)
class Claim:
    """What a paper says, as a condition on measured numbers. holds(at): at(scheme, test) is a number of one seed."""

    says: str
    paper: str
    when: str
    holds: Callable[[Callable[[str, str], float]], bool]


class Task:
    """Attributes say what is trained, draw() draws sequences; run() trains and tests by them, and may be another."""

    name: str
    title: str
    paper: str
    schemes: tuple[str, ...]  # those of the page, in its order
    vocabulary: int
    classes: int
    trained: int  # tokens of the longest sequence in training
    tests: dict[str, Any]  # name of a test: what draw() is given
    training: Any  # what draw() is given in training
    longest: int = 0
    bidirectional = False
    steps = 600
    batch = 16
    tested_tokens = 16384  # in each test
    measure = "accuracy"
    claims: tuple[Claim, ...] = ()
    chance = 0.0  # of guessing

    def draw(self, generator: torch.Generator, batch: int, of: Any) -> Batch:
        raise NotImplementedError

    def sizes(self) -> Sizes:
        longest = max(self.longest, self.trained)
        return Sizes(self.vocabulary, self.classes, self.trained, longest, self.bidirectional)

    def settings(self, steps: int | None) -> dict[str, Any]:
        """What a result depends on besides task, scheme and seed: another value is another result."""
        return {"steps": self.steps if steps is None else steps, "batch": self.batch}

    def run(self, scheme: Scheme, seed: int, steps: int) -> tuple[Numbers, float]:
        """Numbers by the name of a test, and the last loss of training."""
        from .training import train

        model, generator = self.begin(scheme, seed)
        loss = train(model, lambda: self.draw(generator, self.batch, self.training), steps)
        return self.test(model, self.tests), loss

    # ---- for runs of other shapes ----

    def begin(self, scheme: Scheme, seed: int) -> tuple[Any, torch.Generator]:
        """A new model and the generator of its training, both of the seed."""
        from .model import Model

        torch.manual_seed(seed)
        return Model(scheme, self.sizes()), torch.Generator().manual_seed(seed)

    def test(self, model: Any, tests: dict[str, Any]) -> Numbers:
        """Every model and seed is tested on the same sequences."""
        from .training import accuracy

        numbers = {}
        for name, of in tests.items():
            generator = torch.Generator().manual_seed(2**31 + sum(name.encode()))
            length = self.draw(generator, 1, of).tokens.shape[1]
            batch = self.draw(generator, math.ceil(self.tested_tokens / length), of)
            numbers[name] = accuracy(model.for_length(length), batch, TOGETHER)
        return numbers
