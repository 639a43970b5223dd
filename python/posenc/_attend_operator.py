"""attend on the CPU as an operator of torch, with all that a call may give: posenc::attend_call.

Inputs that are tensors come in one list, and their names in one text; numbers as they are. It gives the log-sum-exp too,
which its backward pass (_attend_backward.py) takes.
"""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import torch
from torch import Tensor

from . import _attend_backward, _posenc
from ._forward_mode import refuse_duals
from ._graph_arguments import call_of
from ._strides import adjacent


@torch.library.custom_op("posenc::attend_call", mutates_args=(), device_types="cpu")
def attend_call(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    inputs: List[Tensor],
    names: str,
    prefix: int,
    length: Optional[int],
    q_rotated: bool,
    k_rotated: bool,
    weights: List[Tensor],
    layer: str,
    value_dim: int,
) -> Tuple[Tensor, Tensor]:
    refuse_duals("attend", "say backend='composed'")
    plan, keywords = call_of(layer, weights)
    given = _attend_backward.inputs_of(names, inputs)
    numbers = {"prefix": prefix, "length": length, "q_rotated": q_rotated, "k_rotated": k_rotated}
    out = q.new_empty((*q.shape[:-1], value_dim))
    lse = q.new_empty(q.shape[:-1], dtype=torch.float32)
    of = (adjacent(x.detach()) for x in (q, k, v))
    _posenc.attend(plan, *of, out=out, lse=lse, **given, **numbers, **keywords)
    return out, lse


@attend_call.register_fake
def _(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    inputs: List[Tensor],
    names: str,
    prefix: int,
    length: Optional[int],
    q_rotated: bool,
    k_rotated: bool,
    weights: List[Tensor],
    layer: str,
    value_dim: int,
) -> Tuple[Tensor, Tensor]:
    return q.new_empty((*q.shape[:-1], value_dim)), q.new_empty(q.shape[:-1], dtype=torch.float32)


attend_call.register_autograd(_attend_backward.backward_of_call, setup_context=_attend_backward.keep_call)
