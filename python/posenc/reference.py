"""The slow truth, in double: the rotation and attention by their formulas, one number at a time."""

from ._posenc import _reference_attend as attend
from ._posenc import _reference_rotate as rotate

__all__ = ["attend", "rotate"]
