"""Fake tensors of CUDA on a torch that was built without it: all works but indexing, which asks for the device first.

Within `by_operators()` an index becomes the operators that it stands for, and so do methods that ask likewise.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

ATEN = torch.ops.aten


def indexed(x: Any, index: Any) -> Any:
    parts = list(index) if isinstance(index, tuple) else [index]
    if not any(one is Ellipsis for one in parts):
        parts.append(Ellipsis)
    axis, tensors = 0, {}
    for place, one in enumerate(parts):
        if one is Ellipsis:
            axis = x.dim() - sum(1 for behind in parts[place + 1 :] if behind is not None)
        elif one is None:
            x, axis = ATEN.unsqueeze(x, axis), axis + 1
        elif isinstance(one, slice):
            x, axis = ATEN.slice(x, axis, one.start, one.stop, 1 if one.step is None else one.step), axis + 1
        elif isinstance(one, int):
            x = ATEN.select(x, axis, one)
        else:
            tensors[axis], axis = one, axis + 1
    if tensors:
        x = ATEN.index(x, [tensors.get(place) for place in range(max(tensors) + 1)])
    return x


def written(x: Any, index: Any, value: Any) -> None:
    """By slices and numbers, which are views."""
    ATEN.copy_(indexed(x, index), value)


METHODS = {
    torch.Tensor.__getitem__: indexed,
    torch.Tensor.__setitem__: written,
    torch.Tensor.__invert__: ATEN.bitwise_not,
    torch.Tensor.contiguous: ATEN.contiguous,
    torch.Tensor.copy_: ATEN.copy_,
}


class by_operators(TorchFunctionMode):
    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return METHODS.get(function, function)(*args, **(kwargs or {}))
