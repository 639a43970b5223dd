"""Before anything else: do all ranks mean the same call? Each tells each what it was given, and what it refuses.

So what is wrong on one rank is an error on all, and none waits for what another never sends.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ._exchange import AGREEMENT, Exchange

_BYTES = 4096  # of one rank's message
_SHOWN = 60  # characters of a value
_PIECE = _BYTES // 4  # characters of a long one in one message, which JSON may write as two each


def checksum_of_bits(x: torch.Tensor, before: int = 0) -> int:
    """What ranks compare of numbers that all must have; after those that `before` is of."""
    return zlib.crc32(x.detach().contiguous().flatten().view(torch.uint8).numpy(), before)


def checksums(names: Iterable[str], tables: Iterable[torch.Tensor]) -> str | None:
    """Of a layer's learned tables, each bit. None of what is on another device than the CPU, for which this would wait."""
    of = dict(zip(names, tables))
    if any(x.device.type != "cpu" for x in of.values()):
        return None
    return ", ".join(f"{name} {checksum_of_bits(x)}" for name, x in of.items())


def _message(facts: Mapping[str, str | None], problem: str | None) -> torch.Tensor:
    said: Any = (
        {"problem": problem[: _BYTES // 4]}
        if problem is not None
        else {
            name: None if value is None else [value[:_SHOWN], hashlib.blake2b(value.encode(), digest_size=8).hexdigest()]
            for name, value in facts.items()
        }
    )
    return _packed(said)


def _packed(said: Any) -> torch.Tensor:
    text = json.dumps(said).encode()
    assert len(text) <= _BYTES
    return torch.frombuffer(bytearray(text.ljust(_BYTES)), dtype=torch.uint8)


def agree(exchange: Exchange, facts: Mapping[str, str | None], problem: Exception | None) -> dict[str, str]:
    """What all say of each fact, its first characters. A rank that says None of one has nothing against another's; where all
    do, it is missing. ValueError on all ranks where one of them has a problem, or facts differ; RankError for one that does not
    answer."""
    said = _told(exchange, _message(facts, None if problem is None else str(problem)), problem)
    for rank, one in said.items():
        if "problem" in one:
            raise ValueError(f"[{exchange.where}] rank {rank} refuses the call: {one['problem']}")
    agreed = {}
    for name in said[0]:
        told = {rank: said[rank].get(name, ["missing", ""]) for rank in range(exchange.ranks)}
        told = {rank: one for rank, one in told.items() if one is not None}
        if not told:
            continue
        first = min(told)
        agreed[name] = told[first][0]
        for rank, is_there in told.items():
            if is_there[1] == told[first][1]:
                continue
            shown = is_there[0], told[first][0]
            if all(len(value) == _SHOWN for value in shown):  # what differs may be behind
                shown = _differing(exchange, (facts.get(name) or "").replace('\\"', '"'), rank, first)
            raise ValueError(
                f"[{exchange.where}] {name} must be the same on all ranks, but is {shown[0]} on rank {rank} and "
                f"{shown[1]} on rank {first}"
            )
    return agreed


def problems(exchange: Exchange, own: str, seconds: float) -> list[tuple[int, str]]:
    """Of what all ranks tried together, and this one in so many seconds: who failed and why, the first to fail before those that
    waited for it. own: why this one did, or nothing."""
    said = _told(exchange, _packed({"problem": own[: _BYTES // 8], "after": seconds}), None)
    failed = [(one["after"], rank, one["problem"]) for rank, one in said.items() if one["problem"]]
    return [(rank, why) for _, rank, why in sorted(failed)]


def _told(exchange: Exchange, own: torch.Tensor, problem: Exception | None) -> dict[int, Any]:
    """What each rank says, by rank. Raises this rank's problem when all have heard of it."""
    others = [rank for rank in range(exchange.ranks) if rank != exchange.rank]
    coming = {rank: exchange.receive(own.shape, own.dtype, rank, AGREEMENT) for rank in others}
    for rank in others:
        exchange.send(own, rank, AGREEMENT)
    said = {rank: json.loads(bytes(one.wait().tolist())) for rank, one in coming.items()}
    exchange.finish()
    if problem is not None:
        raise problem
    said[exchange.rank] = json.loads(bytes(own.tolist()))
    return said


def _differing(exchange: Exchange, own: str, rank: int, first: int) -> tuple[str, str]:
    """Rank's text and that of the first from the member on that differs: '"Mask":{"kind":"causal", ...' of two layers."""
    texts = ["", ""]
    for begin in itertools.count(0, _PIECE):  # all ranks end it together, as all see the same
        pieces = _told(exchange, _packed({"piece": own[begin : begin + _PIECE]}), None)
        now = [pieces[rank]["piece"], pieces[first]["piece"]]
        texts = [text + piece for text, piece in zip(texts, now)]
        if now[0] != now[1] or not now[0]:
            break
    at = next((n for n, (a, b) in enumerate(zip(*texts)) if a != b), min(map(len, texts)))
    begin = _member(texts[0], at)
    if texts[0][begin - 1 : begin] == "{":  # with the name of what it is a member of
        begin = _member(texts[0], begin - 1)
    one, other = (f"...{text[begin : begin + _SHOWN]}" for text in texts)
    return one, other


def _member(text: str, at: int) -> int:
    """Where the member begins that `at` lies in."""
    return max(text.rfind(end, 0, at) for end in ",[{") + 1
