"""What models do with positions, as one page to look at."""

from __future__ import annotations

from typing import Union

from . import _posenc
from ._posenc import Plan
from ._read_plan import Model, read_plan


def _plan(of: Union[Plan, Model], length: int | None) -> Plan:
    return of if isinstance(of, Plan) else read_plan(of, length=length)


def report_html(
    *models: Union[Plan, Model], length: int | None = None, against: Union[Plan, Model, None] = None
) -> str:
    """The page: one file of HTML that works from disk and asks nothing of a network.

    models: plans, or whatever read_plan takes. length: the sequence length in tokens that they are wanted for; omitted,
    the longest that each says it serves. against: what the first is held against; what differs then comes first.

    ValueError for no model, for a length below 1, and for what read_plan refuses.
    """
    plans = [_plan(of, length) for of in models]
    return _posenc._report(plans, length=length, against=None if against is None else _plan(against, length))


def report_json(
    *models: Union[Plan, Model], length: int | None = None, against: Union[Plan, Model, None] = None
) -> str:
    """The numbers of that page as JSON (docs/report.schema.json); arguments and errors are those of report_html."""
    plans = [_plan(of, length) for of in models]
    other = None if against is None else _plan(against, length)
    return _posenc._report(plans, length=length, against=other, page=False)
