"""What positions add to values, o_i = sum_j a_ij (v_j + r(i, j)): Shaw et al., arXiv 1803.02155, NEZHA 1909.00204.

Of Shaw's rows the weights of each distance are added up first, [queries, rows]; rotated values are the rotation's.
"""

from __future__ import annotations

from typing import Any

from torch import Tensor

from .. import _posenc
from .part import Part
from .terms_of_content import shaw_table


class PlainValues:
    rotates = False  # values by the rotations of their keys
    rotates_back = False  # and the output, by those of its query
    weights: str | None = None

    def __init__(self, scheme: Any = None) -> None:
        pass

    def added(self, learned: Any, weights: Tensor, part: Part, channels: int) -> Tensor | None:
        """weights: of the softmax, [batch, heads, queries, keys]."""
        return None


class OfRotatedValues(PlainValues):
    rotates = True

    def __init__(self, scheme: _posenc.RotatedValues) -> None:
        self.rotates_back = bool(scheme.inverse_on_output)


class OfShawValues(PlainValues):
    weights = "ShawWeights"

    def __init__(self, scheme: _posenc.ShawValues) -> None:
        self.left, self.right, self.sinusoidal = int(scheme.left), int(scheme.right), bool(scheme.sinusoidal)

    def added(self, learned: Any, weights: Tensor, part: Part, channels: int) -> Tensor | None:
        table = shaw_table(self, learned, channels, weights)
        row = part.whole().clamp(-self.right, self.left) + self.right
        sums = weights.new_zeros((*weights.shape[:-1], self.left + self.right + 1))
        sums = sums.scatter_add(-1, row[:, None].expand(weights.shape), weights)
        return sums @ table


VALUES: dict[type, type[PlainValues]] = {
    type(None): PlainValues,
    _posenc.ShawValues: OfShawValues,
    _posenc.RotatedValues: OfRotatedValues,
}
