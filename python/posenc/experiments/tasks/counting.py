"""CoPE's counting: how many times a variable was incremented since it was last set to zero.

    set a, pass, a++, pass, pass, a++, print a [2]

The paper's operations, a token each, with one variable; beyond training there are more that do nothing.
"""

import torch

from ..task import UNASKED, Batch, Claim, Task

SET, INCREMENT, PASS, PRINT = range(4)
MOST = 10  # counted
TRAINED, LONGER = 48, 192  # operations


class Counting(Task):
    name = "counting"
    title = "Counting"
    paper = "2405.18719"
    schemes = ("none", "learned", "rope", "alibi", "cope", "fox")
    vocabulary, classes = 4, MOST + 1
    trained, longest = TRAINED + 1, LONGER + 1
    training = (TRAINED, 0.5)
    tests = {"as trained": (TRAINED, 0.5), "more that pass": (TRAINED, 0.8), "longer": (LONGER, 0.875)}
    steps = 1000
    tested_tokens = 65536
    chance = 1 / (MOST + 1)
    claims = (
        Claim(
            "CoPE counts, where RoPE and learned rows do worse",
            "2405.18719",
            "as trained: CoPE >= 0.95, and above both",
            lambda at: at("cope", "as trained") >= 0.95
            and at("cope", "as trained") > max(at("rope", "as trained"), at("learned", "as trained")),
        ),
        Claim(
            "CoPE counts among more operations that do nothing",
            "2405.18719",
            "longer: CoPE above RoPE and learned rows",
            lambda at: at("cope", "longer") > max(at("rope", "longer"), at("learned", "longer")),
        ),
    )

    def draw(self, generator: torch.Generator, batch: int, of: tuple[int, float]) -> Batch:
        """of: operations, and the share of them that pass."""
        operations, passing = of
        count = torch.randint(MOST + 1, (batch, 1), generator=generator)  # of the last stretch, as the paper draws it
        order = torch.rand(batch, operations, generator=generator)
        is_passing = torch.rand(batch, operations, generator=generator) < passing
        is_passing[:, 0] = False
        # From the last operation on: increments up to the count, and then a set; before it anything.
        acts = ~is_passing
        after = acts.flip(1).cumsum(1).flip(1)  # operations that act, from here on
        tokens = torch.where(acts, INCREMENT, PASS)
        earlier = acts & (after > count + 1)
        tokens = torch.where(earlier & (order < 0.15), SET, tokens)
        tokens = torch.where(acts & (after == count + 1), SET, tokens)
        tokens[:, 0] = SET
        tokens = torch.cat([tokens, torch.full((batch, 1), PRINT)], dim=1)
        targets = torch.full_like(tokens, UNASKED)
        targets[:, -1] = counted(tokens)
        return Batch(tokens, targets)


def counted(tokens: torch.Tensor) -> torch.Tensor:
    """[batch]: increments after the last set."""
    places = torch.arange(tokens.shape[1])
    last = torch.where(tokens == SET, places, -1).amax(1, keepdim=True)
    return ((tokens == INCREMENT) & (places > last)).sum(1)


TASK = Counting()
