"""Before anything else: do all ranks mean the same call? Each tells each what it was given, and what it refuses.

So what is wrong on one rank is an error on all, and none waits for what another never sends.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch

from ._exchange import AGREEMENT, Exchange

_BYTES = 4096  # of one rank's message
_SHOWN = 60  # characters of a value


def _message(facts: dict[str, str], problem: str | None) -> torch.Tensor:
    said: Any = (
        {"problem": problem[: _BYTES // 4]}
        if problem is not None
        else {
            name: [value[:_SHOWN], hashlib.blake2b(value.encode(), digest_size=8).hexdigest()]
            for name, value in facts.items()
        }
    )
    text = json.dumps(said).encode()
    assert len(text) <= _BYTES
    return torch.frombuffer(bytearray(text.ljust(_BYTES)), dtype=torch.uint8)


def agree(exchange: Exchange, facts: dict[str, str], problem: Exception | None) -> None:
    """ValueError on all ranks where one of them has a problem, or facts differ; RankError for one that does not answer."""
    own = _message(facts, None if problem is None else str(problem))
    others = [rank for rank in range(exchange.ranks) if rank != exchange.rank]
    coming = {rank: exchange.receive(own.shape, own.dtype, rank, AGREEMENT) for rank in others}
    for rank in others:
        exchange.send(own, rank, AGREEMENT)
    said = {rank: json.loads(bytes(one.wait().tolist())) for rank, one in coming.items()}
    exchange.finish()
    if problem is not None:
        raise problem
    for rank, one in said.items():
        if "problem" in one:
            raise ValueError(f"[{exchange.where}] rank {rank} refuses the call: {one['problem']}")
    said[exchange.rank] = json.loads(bytes(own.tolist()))
    for name, first in said[0].items():
        for rank in range(1, exchange.ranks):
            is_there = said[rank].get(name, ["missing", ""])
            if is_there[1] != first[1]:
                raise ValueError(
                    f"[{exchange.where}] {name} must be the same on all ranks, but is {is_there[0]} on rank {rank} and "
                    f"{first[0]} on rank 0"
                )
