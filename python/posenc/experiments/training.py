"""Training and testing of a model: AdamW, warmup and a cosine, accuracy of what is asked."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from .model import Model
from .task import UNASKED, Batch

LEARNING_RATE = 3e-3
WARMUP = 50  # steps
CLIP = 1.0  # of the gradient's norm


def _rate(step: int, steps: int) -> float:
    """Of the learning rate, in [0.02, 1]: a line up, then half a cosine."""
    if step < WARMUP:
        return (step + 1) / WARMUP
    done = (step - WARMUP) / max(1, steps - WARMUP)
    return 0.02 + 0.98 * (1 + math.cos(math.pi * done)) / 2


def loss_of(model: Model, batch: Batch) -> Tensor:
    return functional.cross_entropy(model(batch.tokens).flatten(0, 1), batch.targets.flatten(), ignore_index=UNASKED)


def train(model: Model, draw: Callable[[], Batch], steps: int, learning_rate: float = LEARNING_RATE) -> float:
    """Returns the mean loss of the last tenth of the steps."""
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _rate(step, steps))
    losses = []
    for _ in range(steps):
        loss = loss_of(model, draw())
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    last = losses[-max(1, steps // 10) :]
    return sum(last) / len(last) if last else math.nan


@torch.no_grad()
def accuracy(model: Model, batch: Batch, together: int) -> float:
    """Share of what is asked that is right; together: tokens of one forward pass."""
    model = model.eval()
    rows = max(1, together // batch.tokens.shape[1])
    right = asked = 0
    for tokens, targets in zip(torch.split(batch.tokens, rows), torch.split(batch.targets, rows)):
        is_asked = targets != UNASKED
        right += int((model(tokens).argmax(-1) == targets)[is_asked].sum())
        asked += int(is_asked.sum())
    return right / asked
