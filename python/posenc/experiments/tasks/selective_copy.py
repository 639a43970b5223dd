"""CoPE's selective copy: the tokens of a text that are not blank, in their order, after its end.

    . b . . a c . b . | b a c b

Beyond training the text has fewer blanks (dense) or more (sparse), as in the paper, which has 128 tokens to copy and
from 64 to 256 blanks; here they are 8, and 4 to 24.
"""

import torch

from ..task import UNASKED, Batch, Claim, Task

LETTERS = 8
COPIED = 8
BLANK, END = LETTERS, LETTERS + 1
BLANKS = 8


class SelectiveCopy(Task):
    name = "selective_copy"
    title = "Selective copy"
    paper = "2405.18719"
    schemes = ("none", "learned", "rope", "alibi", "cope", "fox")
    vocabulary, classes = LETTERS + 2, LETTERS
    trained, longest = BLANKS + 2 * COPIED, 3 * BLANKS + 2 * COPIED
    training = BLANKS
    tests = {"as trained": BLANKS, "dense": BLANKS // 2, "sparse": 3 * BLANKS}
    steps = 1000
    batch = 32
    chance = 1 / LETTERS
    claims = (
        Claim(
            "CoPE solves selective copy, and beyond training too",
            "2405.18719",
            "CoPE >= 0.95 in all three",
            lambda at: min(at("cope", test) for test in ("as trained", "dense", "sparse")) >= 0.95,
        ),
        Claim(
            "RoPE and learned rows fail beyond training",
            "2405.18719",
            "dense and sparse: CoPE above both",
            lambda at: all(
                at("cope", test) > max(at("rope", test), at("learned", test)) for test in ("dense", "sparse")
            ),
        ),
    )

    def draw(self, generator: torch.Generator, batch: int, of: int) -> Batch:
        """of: blanks."""
        letters = torch.randint(LETTERS, (batch, COPIED), generator=generator)
        places = torch.rand(batch, COPIED + of, generator=generator).argsort(1)[:, :COPIED].sort(1).values
        text = torch.full((batch, COPIED + of), BLANK).scatter(1, places, letters)
        tokens = torch.cat([text, torch.full((batch, 1), END), letters[:, :-1]], dim=1)
        targets = torch.full_like(tokens, UNASKED)
        targets[:, -COPIED:] = letters
        return Batch(tokens, targets)


TASK = SelectiveCopy()
