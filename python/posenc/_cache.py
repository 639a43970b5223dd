"""What may be done with a model's KV cache."""

from __future__ import annotations

from typing import Union

from . import _posenc
from ._posenc import Plan, ReuseVerdict
from ._read_plan import Model, read_plan


def reuse_verdict(
    plan: Union[Plan, Model],
    layer: int,
    operation: str,
    *,
    keys: str = "unrotated",
    stack: str | None = None,
    reader: Union[Plan, Model, None] = None,
) -> ReuseVerdict:
    """May a layer's cache be used so: exactly, approximately, or not, and why.

    plan: a plan, or whatever read_plan takes. layer: its place in the stack. operation: 'shift', 'front_trim', 'splice',
    'reorder', 'merge', 'evict', 'sinks', 'switch_rule' or 'share' (docs/cache.md). keys: 'unrotated', stored before RoPE,
    or 'rotated'. stack: its name; omitted: the first that decodes, else that caches. reader: of 'share', the other model;
    omitted: this one with every base doubled.

    ValueError for a layer that is not there or caches nothing, and for a stack that is not known.
    """
    of = plan if isinstance(plan, Plan) else read_plan(plan)
    other = reader if reader is None or isinstance(reader, Plan) else read_plan(reader)
    return _posenc._reuse_verdict(of, layer, operation, keys=keys, stack=stack, reader=other)


def study_cache(
    plan: Union[Plan, Model], *, stack: str | None = None, simulate: bool = False, shift_by: int = 1
) -> str:
    """How large a model's KV cache is in each format and what may be done with it, as JSON (docs/cache.schema.json).

    plan: a plan, or whatever read_plan takes. stack: as for reuse_verdict. simulate: what up to a thousand shifts, of
    shift_by positions each, leave of its keys in each format.

    ValueError as for reuse_verdict, and for a shift_by that is not from 1 to 2^20.
    """
    of = plan if isinstance(plan, Plan) else read_plan(plan)
    return _posenc._study_cache(of, stack=stack, simulate=simulate, shift_by=shift_by)
