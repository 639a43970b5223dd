"""Passkey retrieval: a key said once among words that say nothing, asked for at the end of a window.

    3 1 SAID 5 2 2 7 1 SAID [5]

The key is a word as any other: what makes it one is the token before it. In training it is said several times, and each
time but the first is asked; a test says it once and asks at the end.

RoPE is trained at 64 tokens and tested at 256: as it is, and extended by linear interpolation (PI), NTK-aware, YaRN;
each as it is and after a short training at 256.
"""

from functools import partial
from typing import Any

import torch

import posenc

from ..model import Model
from ..scheme import Scheme, Sizes
from ..task import UNASKED, Batch, Claim, Numbers, Task
from ..training import train

WORDS = 16
SAID = WORDS
TIMES = 8  # said in training
SHORT, LONG = 64, 256
FACTOR = LONG / SHORT
TUNING = 0.2  # of the steps, as a second training
TUNING_RATE = 1e-3  # a third of the first's


def _ntk_base(sizes: Sizes) -> float:
    """The base of NTK-aware interpolation: b s^(d / (d - 2)), so that the lowest frequency is divided by s."""
    return float(10000.0 * FACTOR ** (sizes.head_dim / (sizes.head_dim - 2)))


def rules(sizes: Sizes) -> dict[str, posenc.Rope]:
    yarn = posenc.YarnScaling(factor=FACTOR, original_max_position_embeddings=SHORT)
    return {
        "RoPE": sizes.rope(),
        "PI": sizes.rope(scaling=posenc.LinearScaling(factor=FACTOR)),
        "NTK": sizes.rope(base=_ntk_base(sizes)),
        "YaRN": sizes.rope(scaling=yarn),
    }


class Passkey(Task):
    name = "passkey"
    title = "Passkey retrieval, before and after a longer window"
    paper = "2306.15595"
    schemes = ("rope",)
    vocabulary, classes = WORDS + 1, WORDS
    trained, longest = SHORT, LONG
    training = (SHORT, TIMES)
    tests = {"64": (SHORT, 1), "256": (LONG, 1)}
    tested_tokens = 65536
    chance = 1 / WORDS
    claims = (
        Claim(
            "RoPE fails beyond the window that it was trained with",
            "2306.15595",
            "at 256 less than half of the accuracy at 64",
            lambda at: at("rope", "RoPE, 256") < 0.5 * at("rope", "RoPE, 64"),
        ),
        Claim(
            "Interpolated positions work after a short training",
            "2306.15595",
            "PI, trained at 256: >= 0.95 there",
            lambda at: at("rope", "PI, 256, trained") >= 0.95,
        ),
        Claim(
            "Interpolation needs less training than extrapolation",
            "2306.15595",
            "trained at 256: PI above RoPE",
            lambda at: at("rope", "PI, 256, trained") > at("rope", "RoPE, 256, trained"),
        ),
        Claim(
            "NTK-aware interpolation is better than PI without training",
            "2309.00071",
            "at 256: NTK above PI",
            lambda at: at("rope", "NTK, 256") > at("rope", "PI, 256"),
        ),
        Claim(
            "YaRN is better than PI and NTK-aware without training",
            "2309.00071",
            "at 256: YaRN at or above both",
            lambda at: at("rope", "YaRN, 256") >= max(at("rope", "PI, 256"), at("rope", "NTK, 256")),
        ),
    )

    def draw(self, generator: torch.Generator, batch: int, of: tuple[int, int]) -> Batch:
        """of: tokens, and how many times the key is said before it is asked at the end."""
        length, times = of
        tokens = torch.randint(WORDS, (batch, length), generator=generator)
        keys = torch.randint(WORDS, (batch, 1), generator=generator)
        pairs = torch.rand(batch, length // 2 - 1, generator=generator).argsort(1)[:, :times].sort(1).values
        places = 2 * pairs + torch.randint(2, (batch, 1), generator=generator)
        tokens.scatter_(1, places, SAID).scatter_(1, places + 1, keys.expand(batch, times))
        tokens[:, -1] = SAID
        targets = torch.full_like(tokens, UNASKED)
        targets[:, -1:] = keys
        targets.scatter_(1, places[:, 1:], keys.expand(batch, times - 1))
        return Batch(tokens, targets)

    def settings(self, steps: int | None) -> dict[str, Any]:
        of = super().settings(steps)
        return {**of, "second training": int(TUNING * of["steps"])}

    def run(self, scheme: Scheme, seed: int, steps: int) -> tuple[Numbers, float]:
        model, generator = self.begin(scheme, seed)
        loss = train(model, lambda: self.draw(generator, self.batch, self.training), steps)
        numbers: Numbers = {}
        for rule, rope in rules(self.sizes()).items():
            extended: Model = model.rotating((posenc.Rotate(scheme=rope),))
            numbers |= {f"{rule}, {name}": x for name, x in self.test(extended, self.tests).items()}
            longer = partial(self.draw, torch.Generator().manual_seed(seed + 1), self.batch, (LONG, TIMES))
            train(extended, longer, int(TUNING * steps), learning_rate=TUNING_RATE)
            numbers |= {f"{rule}, {name}, trained": x for name, x in self.test(extended, self.tests).items()}
        return numbers, loss


TASK = Passkey()
