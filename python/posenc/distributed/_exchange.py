"""Tensors from rank to rank, point to point, counted; and who did not answer.

Each pair of ranks takes the messages of one tag in the order in which they are sent. A send is posted before anything is
waited for: gloo moves it while this rank computes, and it keeps no copy, so the tensor must stay as it is. Messages lie in
the CPU's memory: what is on another device is copied there, and from there.

With a second set of connections (_connections.py) keys and gradients that go to a rank before go by these.
"""

from __future__ import annotations

import datetime
import time
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

# Of messages, so that those of a user's in the same group are not taken for ours.
AGREEMENT, KEYS, GRADIENTS, HEADS, TREE = range(7001, 7006)


class RankError(RuntimeError):
    """A rank did not answer in time, or is gone.

    Attributes:
        rank: Its number in the group.
    """

    def __init__(self, message: str, rank: int) -> None:
        super().__init__(message)
        self.rank = rank


class Traffic:
    """Bytes that this rank has sent, without those by which ranks agree.

    Attributes:
        forward_sent, backward_sent: As posenc.shard_cost says before.
    """

    def __init__(self) -> None:
        self.forward_sent = 0
        self.backward_sent = 0

    def __repr__(self) -> str:
        return f"Traffic(forward_sent={self.forward_sent}, backward_sent={self.backward_sent})"


# What a call that failed had not waited for. The other side may still read it, or write it.
_abandoned: list[Any] = []


class Pending:
    """A tensor that is on its way here."""

    def __init__(self, exchange: Exchange, work: Any, x: Tensor, rank: int, tag: int) -> None:
        self.exchange, self.work, self.x, self.rank, self.tag = exchange, work, x, rank, tag

    def wait(self) -> Tensor:
        if self.work is not None:
            self.exchange.wait(self.work, self.rank)
            self.exchange.posted.remove(self)
            self.work = None
            if self.tag != AGREEMENT:
                self.x = self.x.to(self.exchange.device)
        return self.x


class Exchange:
    """device: of the tensors that are sent and received."""

    def __init__(
        self, where: str, group: Any, timeout: float, traffic: Traffic, device: torch.device = torch.device("cpu")
    ) -> None:
        self.device = device
        self.where, self.group, self.traffic = where, group, traffic
        self.timeout = datetime.timedelta(seconds=timeout)
        self.until: float | None = None  # by time.monotonic(), what is waited for at most; None: for each `timeout`
        self.rank, self.ranks = dist.get_rank(group), dist.get_world_size(group)
        self.second: Any = None  # a ProcessGroupGloo of the same ranks
        self.posted: list[Any] = []
        self.is_backward = False
        if self.rank < 0:
            raise ValueError(f"[{where}] group must have this process among its ranks, but has others")
        backends = str(dist.get_backend_config(group))
        if "cpu:" not in backends:
            raise ValueError(
                f"[{where}] group must have a backend for the CPU, through whose memory messages go, as of "
                f"init_process_group('cpu:gloo,cuda:nccl'), but has {backends}"
            )

    def wait(self, work: Any, rank: int) -> None:
        left = self.timeout
        if self.until is not None:
            left = datetime.timedelta(seconds=max(self.until - time.monotonic(), 0.001))
        try:
            is_done = work.wait(left)
        except RuntimeError as problem:
            self.fail(rank, problem)
        if is_done is False:
            self.fail(rank, None)

    def fail(self, rank: int, problem: BaseException | None) -> None:
        _abandoned.append(self.posted)
        seconds = self.timeout.total_seconds()
        what = (
            "is gone" if problem is not None and "imed out" not in str(problem) else f"did not answer within {seconds:g} s"
        )
        raise RankError(f"[{self.where}] rank {rank} {what} (this is rank {self.rank} of {self.ranks})", rank) from problem

    @staticmethod
    def as_message(x: Tensor) -> Tensor:
        """What send() sends of it: x itself where it is dense and in the CPU's memory, else a copy."""
        return x.detach().cpu().contiguous()

    def _goes_apart(self, source: int, to: int, tag: int) -> bool:
        return self.second is not None and tag in (KEYS, GRADIENTS) and to < source

    def send(self, x: Tensor, to: int, tag: int) -> Pending:
        """Posts it. Nothing is sent of a tensor without elements, which the other side knows too."""
        sent = Pending(self, None, x, to, tag)
        if x.numel() == 0:
            return sent
        sent.x = self.as_message(x)
        if tag != AGREEMENT:
            count = sent.x.numel() * sent.x.element_size()
            if self.is_backward:
                self.traffic.backward_sent += count
            else:
                self.traffic.forward_sent += count
        try:
            if self._goes_apart(self.rank, to, tag):
                sent.work = self.second.send([sent.x], to, tag)
            else:
                sent.work = dist.isend(sent.x, group=self.group, group_dst=to, tag=tag)
        except RuntimeError as problem:
            self.fail(to, problem)
        self.posted.append(sent)
        return sent

    def receive(self, shape: Any, dtype: torch.dtype, source: int, tag: int) -> Pending:
        x = torch.empty(shape, dtype=dtype)
        coming = Pending(self, None, x, source, tag)
        if x.numel() == 0:
            coming.x = x.to(self.device)
            return coming
        try:
            if self._goes_apart(source, self.rank, tag):
                coming.work = self.second.recv([x], source, tag)
            else:
                coming.work = dist.irecv(x, group=self.group, group_src=source, tag=tag)
        except RuntimeError as problem:
            self.fail(source, problem)
        self.posted.append(coming)
        return coming

    def finish(self) -> None:
        """Waits for all that was posted."""
        for one in list(self.posted):
            one.wait()
