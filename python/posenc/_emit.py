"""Code that does with positions what a layer does."""

from __future__ import annotations

from typing import Literal, Union

from . import _posenc
from ._posenc import EmittedCode, Plan
from ._read_plan import Model, read_plan


def emit(
    plan: Union[Plan, Model],
    as_: Literal["numpy", "torch", "c", "cpp", "cuda", "triton", "metal"] = "numpy",
    *,
    layer: int | None = None,
    stack: str | None = None,
    cross: bool = False,
) -> EmittedCode:
    """What a layer does with positions as a short, self-contained file: tables, rotation, mask, biases, attention.

    plan: a plan, or whatever read_plan takes. as_: the language. layer: counted from 0; may be omitted where all layers
    of the stack are alike. stack: by its name; the first when omitted. cross: the cross attention of the layer instead
    of its self attention. The text of the result is the caller's, under any licence.

    ValueError for a layer that the plan does not have or that must be named, and for what a language cannot express or
    emit does not write yet, by the scheme's name and with the reason.
    """
    of = plan if isinstance(plan, Plan) else read_plan(plan)
    return _posenc._emit(of, as_, layer=layer, stack=stack, cross=cross)
