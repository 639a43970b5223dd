"""Small tensors of constants, and which type numbers are computed in."""

from __future__ import annotations

from typing import Sequence

import torch
from torch import Tensor

HALF, SINGLE, DOUBLE = (torch.float16, torch.bfloat16), torch.float32, torch.float64


def computing(*tensors: Tensor) -> torch.dtype:
    """float64 where one of them is, else float32: as the float64 reference and the kernels."""
    return DOUBLE if any(x.dtype == DOUBLE for x in tensors) else SINGLE


def exact(device: torch.device) -> torch.dtype:
    """For angles and positions: float64 where the device has it."""
    return SINGLE if device.type == "mps" else DOUBLE


def constant(values: Sequence[float], dtype: torch.dtype, device: torch.device) -> Tensor:
    return torch.tensor(list(values), dtype=dtype, device=device)


def by_head(x: Tensor) -> Tensor:
    """[..., heads] to [heads, ...]."""
    return torch.movedim(x, -1, 0)
