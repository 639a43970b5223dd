"""Word order: wo ai ni (I love you) and ni ai wo (you love me). Who loves?

    A V B     asked at the verb: A

All pairs of nouns and all verbs are drawn; every token sees all others. Both sentences are one set of tokens, so that
without positions both have one answer.
"""

import torch

from ..task import UNASKED, Batch, Claim, Task

NOUNS = 8  # wo, ni, ta, ...
VERBS = 4  # ai, ...


class WordOrder(Task):
    name = "word_order"
    title = "Word order"
    paper = "1706.03762"
    schemes = ("none", "integer", "binary", "sinusoidal", "learned", "rope", "alibi", "t5", "cope")
    vocabulary, classes = NOUNS + VERBS, NOUNS
    trained = 3
    bidirectional = True
    training = None
    tests = {"who loves": None}
    steps = 300
    batch = 64
    chance = 0.5  # of the two that are there
    claims = (
        Claim(
            "Without positions both sentences mean the same",
            "1706.03762, section 3.5",
            "none: within 0.03 of 0.5",
            lambda at: abs(at("none", "who loves") - 0.5) <= 0.03,
        ),
        Claim(
            "With positions they do not",
            "1706.03762, section 3.5",
            "sinusoidal, learned rows, RoPE, T5: >= 0.99",
            lambda at: min(at(s, "who loves") for s in ("sinusoidal", "learned", "rope", "t5")) >= 0.99,
        ),
        Claim(
            "A sentence and its reverse are one to a bias of the distance without its sign",
            "their formula",
            "ALiBi within 0.03 of 0.5",
            lambda at: abs(at("alibi", "who loves") - 0.5) <= 0.03,
        ),
    )

    def draw(self, generator: torch.Generator, batch: int, of: None) -> Batch:
        first = torch.randint(NOUNS, (batch,), generator=generator)
        second = (first + 1 + torch.randint(NOUNS - 1, (batch,), generator=generator)) % NOUNS
        verb = NOUNS + torch.randint(VERBS, (batch,), generator=generator)
        tokens = torch.stack([first, verb, second], dim=1)
        targets = torch.full_like(tokens, UNASKED)
        targets[:, 1] = first
        return Batch(tokens, targets)


TASK = WordOrder()
