"""Can this model go to a longer context?"""

from __future__ import annotations

from typing import Union

from . import _posenc
from ._posenc import Plan
from ._read_plan import Model, read_plan


def study_extension(plan: Union[Plan, Model], to: int, *, from_: int | None = None) -> str:
    """Every way of stretching a model's rotation, side by side, as JSON (docs/extend.md).

    plan: a plan, or whatever read_plan takes. to: the length in tokens. from_: the length that the model was trained for
    before any rule; by default what the rule's own numbers or the trained length say.

    ValueError for a length below 1, for a plan in which nothing rotates by position, and where from_ is neither given
    nor said by the plan.
    """
    of = plan if isinstance(plan, Plan) else read_plan(plan)
    return _posenc._study_extension(of, to, from_=from_)
