"""Two dogs: "the dog chased another dog". Which of two equal words did it?

    the dog chased another dog             1 and 2: who did it, to whom it was done
    the dog was chased by another dog      2 and 1

The noun is the same twice; noun and verb are drawn; every token sees all others. Without positions both nouns have one
embedding, and so one answer: half of the answers are right, whatever is learned.
"""

import torch

from ..task import UNASKED, Batch, Claim, Task

NOUNS = 8
VERBS = 4
THE, WAS, BY, BEGIN = (NOUNS + VERBS + n for n in range(4))
DID_IT, DONE_TO = range(2)
# Words of a sentence: N is the noun, V the verb.
ACTIVE = (BEGIN, THE, "N", "V", THE, "N")
PASSIVE = (BEGIN, THE, "N", WAS, "V", BY, THE, "N")


class TwoDogs(Task):
    name = "two_dogs"
    title = "Two dogs"
    paper = "1706.03762"
    schemes = ("none", "integer", "binary", "sinusoidal", "learned", "rope", "alibi", "t5", "cope")
    vocabulary, classes = NOUNS + VERBS + 4, 2
    trained = len(PASSIVE)
    bidirectional = True
    training = "both"
    tests = {"active": "active", "passive": "passive"}
    steps = 300
    batch = 32
    chance = 0.5
    claims = (
        Claim(
            "Without positions attention cannot tell equal words apart",
            "1706.03762, section 3.5",
            "none: 0.5, to the answer",
            lambda at: at("none", "active") == at("none", "passive") == 0.5,
        ),
        Claim(
            "Any position encoding lets it",
            "1706.03762, section 3.5",
            "sinusoidal, learned rows, RoPE, T5: >= 0.99",
            lambda at: min(at(s, t) for s in ("sinusoidal", "learned", "rope", "t5") for t in ("active", "passive"))
            >= 0.99,
        ),
    )

    def draw(self, generator: torch.Generator, batch: int, of: str) -> Batch:
        """of: "active", "passive", or either of them: "both"."""
        nouns = torch.randint(NOUNS, (batch,), generator=generator)
        verbs = NOUNS + torch.randint(VERBS, (batch,), generator=generator)
        which = torch.randint(2, (1,), generator=generator).item()
        is_active = which == 0 if of == "both" else of == "active"
        words = ACTIVE if is_active else PASSIVE
        drawn = {"N": nouns, "V": verbs}
        tokens = torch.stack(
            [drawn[word] if isinstance(word, str) else torch.full((batch,), word) for word in words], dim=1
        )
        targets = torch.full_like(tokens, UNASKED)
        first, second = (place for place, word in enumerate(words) if word == "N")
        targets[:, first], targets[:, second] = (DID_IT, DONE_TO) if is_active else (DONE_TO, DID_IT)
        return Batch(tokens, targets)


TASK = TwoDogs()
