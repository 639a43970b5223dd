"""Two models side by side."""

from __future__ import annotations

from typing import Union

from . import _posenc
from ._posenc import Comparison, Plan
from ._read_plan import Model, read_plan


def compare(a: Union[Plan, Model], b: Union[Plan, Model], *, tolerance: float | None = None) -> Comparison:
    """Which position facts differ, layer by layer, and what follows for cached keys, weights and angles.

    a, b: plans, or whatever read_plan takes. tolerance: radians by which an angle may differ and count as the same;
    0.001 by default. ValueError for one that is not a finite number of at least 0, for a plan with a rotation
    that does not pass check(), and for what cannot be read.
    """
    plans = (of if isinstance(of, Plan) else read_plan(of) for of in (a, b))
    return _posenc._compare(*plans, **({} if tolerance is None else {"tolerance": tolerance}))
