"""What a call costs beside its work: posenc from Python on one token of one head, whose rotation takes some 50 ns.

So a time here is the overhead itself. An operator of torch is held against the least that torch asks for one: one
whose body does nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from rotation import ROPE
from taking_turns import Candidate, Case
from torch import Tensor

import posenc
import posenc.torch


@torch.library.custom_op("posenc_bench::nothing", mutates_args={"x"}, device_types="cpu")
def nothing(x: Tensor, positions: Tensor | None, start: int, table: int, direction: str) -> None:
    """The signature of posenc's rotate_."""


def _array(library: str, seed: int = 1) -> Any:
    x = torch.randn(1, 1, ROPE.head_dim, generator=torch.Generator().manual_seed(seed))
    return x.numpy() if library == "NumPy" else x


def _of(library: str) -> list[Candidate]:
    q, k, q_out, k_out = (_array(library, seed) for seed in (1, 2, 1, 2))
    # What is rotated in place is rotated again by every call, each candidate its own.
    alone, q_own, k_own = (_array(library, seed) for seed in (1, 1, 2))
    table = posenc.make_table(ROPE, count=64)
    return [
        Candidate(f"{library}, q in place", lambda: posenc.rotate_(alone, table=table, positions=3), is_ours=True),
        Candidate(f"{library}, q and k in place", lambda: posenc.rotate_(q_own, k_own, table=table, positions=3)[0]),
        Candidate(
            f"{library}, q and k into out",
            lambda: posenc.rotate(q, k, table=table, positions=3, out=(q_out, k_out))[0],
        ),
        Candidate(f"{library}, q and k, new arrays", lambda: posenc.rotate(q, k, table=table, positions=3)[0]),
    ]


def _operators() -> list[Candidate]:
    x, raw_x, own_x = (_array("torch") for _ in range(3))
    raw = posenc.make_table(ROPE, count=64)
    table = posenc.torch.Table(raw)
    compiled = torch.compile(lambda x: posenc.torch.rotate(x, table, positions=3), dynamic=False, fullgraph=True)
    return [
        Candidate("posenc.rotate_", lambda: posenc.rotate_(raw_x, table=raw, positions=3), is_ours=True),
        Candidate("posenc.torch.rotate_", lambda: posenc.torch.rotate_(own_x, table, positions=3)),
        Candidate("posenc.torch.rotate", lambda: posenc.torch.rotate(x, table, positions=3)),
        Candidate("posenc.torch.rotate, compiled", lambda: compiled(x), is_compiled=True),
        Candidate("an operator that does nothing", lambda: nothing(x, None, 3, table.number, "forward"), is_floor=True),
        Candidate("torch.neg", lambda: torch.neg(x), is_floor=True),
    ]


def _attend() -> list[Candidate]:
    sizes = {"heads": 1, "kv_heads": 1, "head_dim": 8, "value_dim": 8}
    layer = posenc.LayerPlan(**sizes, softmax_scale=0.5)
    x = np.ones((1, 1, 8), np.float32)
    tensor = torch.from_numpy(x)[None]
    in_graphs = posenc.torch.Layer(layer)
    return [
        Candidate("posenc.attend, NumPy", lambda: posenc.attend(layer, x, x, x, threads=1), is_ours=True),
        Candidate("posenc.attend, torch", lambda: posenc.attend(layer, tensor, tensor, tensor, threads=1)),
        Candidate("posenc.torch.attend", lambda: posenc.torch.attend(in_graphs, tensor, tensor, tensor)),
        Candidate(
            "SDPA", lambda: torch.nn.functional.scaled_dot_product_attention(tensor, tensor, tensor, is_causal=True)
        ),
    ]


def cases() -> list[Case]:
    return [
        Case("calls/rotate/NumPy", lambda: _of("NumPy")),
        Case("calls/rotate/torch", lambda: _of("torch")),
        Case("calls/operators", _operators),
        Case("calls/attend", _attend),
    ]
