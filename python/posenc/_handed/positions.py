"""Positions that a model hands to its rotary module, as posenc counts them: whole numbers.

transformers multiplies whatever it is given by frequencies, fractions too, which posenc has no angles for: cut off they
would be other positions.
"""

from __future__ import annotations

import torch
from torch import Tensor

_LIMIT = 2.0**53  # beyond it float64 has no odd numbers


def whole(position_ids: Tensor) -> Tensor:
    """position_ids in int64, of any shape. Of floats, those that are whole numbers; ValueError for others, NaN and Inf."""
    if position_ids.is_complex():
        raise TypeError(f"[use] position_ids must be whole numbers, but are of {position_ids.dtype}")
    if position_ids.is_floating_point():
        is_whole = (position_ids == position_ids.round()) & (position_ids.abs() <= _LIMIT)  # not of NaN and Inf
        if not bool(is_whole.all()):
            first = float(position_ids[~is_whole][0])
            raise ValueError(
                f"[use] position_ids must be whole numbers, but one is {first:g}: posenc has no angles of fractions; scale "
                "frequencies instead (scheme=), as linear scaling does"
            )
    return position_ids.to(torch.int64)
