"""Attention of one of several ranks, forward and backward, with fake tensors of CUDA: whether all of it is where q is.

A torch without CUDA has no gradients of such tensors, and what fake ranks send is nothing: so ranks do not agree before, and
a part gives zeros for gradients, where they belong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch._subclasses.fake_tensor import FakeTensorMode, unset_fake_temporarily
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import fake_cuda
import posenc.torch
import scheme_cases
import posenc.distributed as pd
from posenc.distributed import _arguments, _attend, _context_parallel, _exchange, _schedule
from ranks import calls, models

INPUTS = ("attn_mask", "bias", "q_segments", "k_segments", "log_forget", "row_gate")
as_tensor = _schedule.as_tensor


def _by_the_cpu(call: Any) -> Any:
    def checked(x: torch.Tensor, **how: Any) -> Any:
        assert x.device.type == "cpu"
        return call(x, **how)

    return checked


@pytest.fixture
def fake_ranks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Rank 1 of four."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=1, world_size=4)
    monkeypatch.setattr(_arguments, "agree", lambda _, facts, problem: facts)
    monkeypatch.setattr(torch, "enable_grad", torch.no_grad)
    for name in ("isend", "irecv"):
        monkeypatch.setattr(dist, name, _by_the_cpu(getattr(dist, name)))
    yield
    dist.destroy_process_group()


def on_cuda(of: calls.Dealt, monkeypatch: pytest.MonkeyPatch) -> list[torch.Tensor]:
    """out, lse and gradients."""
    call = of.call()
    queries, keys = of.shardings(call)
    heads, given, _ = calls.tensors_of(of, call, queries, keys)
    numbers = {"prefix": of.prefix, "length": None, "q_rotated": False, "k_rotated": False}

    def there(x: Any) -> Any:
        return torch.empty(x.shape, dtype=x.dtype, device="cuda") if isinstance(x, torch.Tensor) else x

    with FakeTensorMode() as mode, fake_cuda.by_operators(), torch.no_grad():

        def fake(view: memoryview, dtype: torch.dtype) -> torch.Tensor:
            with unset_fake_temporarily():
                x = as_tensor(view, dtype)
            return mode.from_tensor(x)

        monkeypatch.setattr(_schedule, "as_tensor", fake)
        _schedule._kept.clear()
        layer = posenc.torch.Layer(call.plan, **scheme_cases.mapped(call.tables, there))
        made, tensors = _arguments.call_of(
            *map(there, heads), layer, None, of.mode, queries, keys, of.ulysses_ranks,
            {name: there(given.get(name)) for name in INPUTS}, numbers, None, "auto", 30.0, None,
        )  # fmt: skip
        count = len(made.names)
        inputs = dict(zip(made.names, tensors))
        out, lse, kept = _attend.forward(made, *map(there, heads), inputs, tensors[count:])
        of_all = _attend.backward(made, kept, there(out), there(lse))
        _schedule._kept.clear()
        return [out, lse, *(x for x in of_all.values() if isinstance(x, torch.Tensor)), *of_all["tables"]]


class Copies(TorchDispatchMode):
    """The operators that make a tensor of the CPU of one of CUDA, but for messages."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self.found: list[str] = []
        self.sent = 0
        self.sends = False
        as_message = _exchange.Exchange.as_message

        def marked(x: torch.Tensor) -> torch.Tensor:
            self.sends = True
            try:
                return as_message(x)
            finally:
                self.sends = False

        monkeypatch.setattr(_exchange.Exchange, "as_message", staticmethod(marked))

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        devices = [
            {x.device.type for x in tree_leaves(of) if isinstance(x, torch.Tensor)} for of in ((args, kwargs), made)
        ]
        if "cuda" in devices[0] and "cpu" in devices[1]:
            self.sent += self.sends
            if not self.sends:
                self.found.append(str(function))
        return made


def model_on_cuda(kind: str, mode: str, ends: list[int], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Copies]:
    """Logits of rank 1 of four by a model whose parameters are fake tensors of CUDA, and what was copied from there."""
    model = models.make(kind)
    plan, learned = models.scheme_of(kind, model)
    sharding = posenc.shard(4, cu_seqlens=ends)
    more: dict[str, Any] = {} if plan is None else {"plan": plan, "weights": learned or None}
    rows = len(sharding.ranks[dist.get_rank()].rows)
    with (
        pd.context_parallel(model, sharding=sharding, mode=mode, backend="composed", **more),
        FakeTensorMode() as fakes,
        fake_cuda.by_operators(),
        torch.no_grad(),
        Copies(monkeypatch) as copies,
    ):

        def fake(view: memoryview, dtype: torch.dtype) -> torch.Tensor:
            with unset_fake_temporarily():
                x = as_tensor(view, dtype)
            return fakes.from_tensor(x)

        for module in (_schedule, _context_parallel):
            monkeypatch.setattr(module, "as_tensor", fake)
        _schedule._kept.clear()
        there = {
            name: torch.empty(x.shape, dtype=x.dtype, device="cuda")
            for name, x in (*model.named_parameters(), *model.named_buffers())
        }
        words = torch.empty(1, rows, dtype=torch.int64, device="cuda")
        said = torch.func.functional_call(model, there, (words,), {"return_dict": True})
        _schedule._kept.clear()
    return said.logits, copies
