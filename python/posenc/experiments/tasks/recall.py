"""Length generalisation: a map from keys to values that is shown pair by pair, and is another one every 32 tokens.

    k3 v1 k7 v4 k3 [v1] ...      asked: the value of a key that was seen since the map changed

It takes a head that finds the token before, and one that finds what followed the last such token (an induction head,
2209.11895), not an older one. A longer sequence is no harder, since what is asked was said at most 32 tokens before:
what breaks in it is the positions. Asked are the last pairs.
"""

import torch

from ..task import UNASKED, Batch, Claim, Task

KEYS = VALUES = 8
STAYS = 16  # pairs that a map stays
ASKED = 32  # tokens at the end of a sequence
LENGTHS = (64, 128, 256, 512, 1024)


class Recall(Task):
    name = "recall"
    title = "Length generalisation: recall of pairs"
    paper = "2108.12409"
    schemes = ("none", "sinusoidal", "learned", "rope", "yarn", "alibi", "t5", "kerple", "fire", "cope", "fox")
    vocabulary, classes = KEYS + VALUES, VALUES
    trained, longest = LENGTHS[0], LENGTHS[-1]
    training = LENGTHS[0]
    tests = {str(length): length for length in LENGTHS}
    steps = 1500
    chance = 1 / VALUES
    claims = (
        Claim(
            "Sinusoidal positions do not extrapolate",
            "2108.12409",
            "at 1024 less than half of the accuracy at 64",
            lambda at: at("sinusoidal", "1024") < 0.5 * at("sinusoidal", "64"),
        ),
        Claim(
            "ALiBi extrapolates",
            "2108.12409",
            "at 1024 at least 0.95 of the accuracy at 64",
            lambda at: at("alibi", "1024") >= 0.95 * at("alibi", "64"),
        ),
        Claim(
            "T5's bias extrapolates better than rotary, and rotary better than sinusoidal",
            "2108.12409",
            "at 256: T5 > RoPE > sinusoidal",
            lambda at: at("t5", "256") > at("rope", "256") > at("sinusoidal", "256"),
        ),
        Claim(
            "RoPE alone does not extrapolate",
            "2306.15595",
            "at 1024 less than half of the accuracy at 64",
            lambda at: at("rope", "1024") < 0.5 * at("rope", "64"),
        ),
        Claim(
            "YaRN carries RoPE to longer texts without training",
            "2309.00071",
            "at 256 more than RoPE, and at least 0.8 of the accuracy at 64",
            lambda at: at("yarn", "256") > at("rope", "256") and at("yarn", "256") >= 0.8 * at("yarn", "64"),
        ),
        Claim(
            "KERPLE extrapolates",
            "2205.09921",
            "at 1024 at least 0.95 of the accuracy at 64",
            lambda at: at("kerple", "1024") >= 0.95 * at("kerple", "64"),
        ),
        Claim(
            "FIRE extrapolates, better than RoPE",
            "2310.04418",
            "at 1024 more than RoPE, and at least 0.95 of the accuracy at 64",
            lambda at: at("fire", "1024") > at("rope", "1024") and at("fire", "1024") >= 0.95 * at("fire", "64"),
        ),
        Claim(
            "Without positions a decoder generalises better than with learned rows, RoPE and ALiBi",
            "2305.19466",
            "at 1024: none above each of them",
            lambda at: all(at("none", "1024") > at(other, "1024") for other in ("learned", "rope", "alibi")),
        ),
        Claim(
            "FoX extrapolates",
            "2503.02130",
            "at 1024 at least 0.95 of the accuracy at 64",
            lambda at: at("fox", "1024") >= 0.95 * at("fox", "64"),
        ),
    )

    def draw(self, generator: torch.Generator, batch: int, of: int) -> Batch:
        """of: tokens."""
        pairs = of // 2
        phase = torch.randint(STAYS, (batch, 1), generator=generator)
        which = (torch.arange(pairs) + phase) // STAYS  # of the maps, [batch, pairs]
        maps = torch.randint(VALUES, (batch, pairs // STAYS + 1, KEYS), generator=generator)
        keys = torch.randint(KEYS, (batch, pairs), generator=generator)
        values = maps[torch.arange(batch)[:, None], which, keys]
        tokens = torch.stack([keys, KEYS + values], dim=2).flatten(1)
        is_same = (keys[:, :, None] == keys[:, None, :]) & (which[:, :, None] == which[:, None, :])
        is_asked = torch.tril(is_same, diagonal=-1).any(2)
        targets = torch.full_like(tokens, UNASKED)
        targets[:, 0::2] = torch.where(is_asked, values, UNASKED)
        if of > self.trained:
            targets[:, :-ASKED] = UNASKED
        return Batch(tokens, targets)


TASK = Recall()
