"""What a module of transformers hands to attention, compared with the plan of the model's own configuration.

They say the same of one computation, so that a difference is a mistake of one of them, and refused; but for a softmax
scale that the module multiplied its queries by before (OPT, Whisper, ESM, LongCat): it is looked for there.
"""

from __future__ import annotations

import math
import re
from typing import Any

import torch
from torch import Tensor, nn

from .. import _posenc
from .._held import NotCopied

_QUERIES = re.compile(r"(q|query|wq|q_proj|query_proj|linear_q|q_lin|q_b_proj)$")
_SAME = 1e-4  # of scales: a configuration's decimals differ from what a module makes of them
_SCALED = 0.02  # of what queries were multiplied by, in the numbers of bfloat16: 2^-8, of both


class Projected(NotCopied):
    """The last output of a module's projection of queries, until it was compared."""

    def __init__(self, module: nn.Module) -> None:
        self.output: Tensor | None = None
        name = next((name for name, child in module.named_children() if _QUERIES.match(name)), None)
        self._handle = None if name is None else getattr(module, name).register_forward_hook(self._keep)

    def _keep(self, module: nn.Module, args: Any, output: Any) -> None:
        if not torch.compiler.is_compiling():
            self.output = output if isinstance(output, Tensor) else None

    def remark(self) -> str:
        """Of a projection that ran where nobody sees it: in a graph."""
        unseen = self._handle is not None and self.output is None
        return ", as far as is seen: call the model once before it is compiled" if unseen else ""

    def forget(self) -> None:
        self.output = None

    def remove(self) -> None:
        self.output = None
        if self._handle is not None:
            self._handle.remove()
            self._handle = None


def scale_ratio(module: nn.Module, own: _posenc.LayerPlan, scaling: float, query: Tensor, projected: Projected) -> float:
    """What the module hands over as its softmax scale, over the plan's: 1, or what the queries lack.

    ValueError where they differ, and the queries do not have the rest.
    """
    if math.isclose(scaling, own.softmax_scale, rel_tol=_SAME):
        return 1.0
    rest = own.softmax_scale / scaling
    if projected.output is not None:
        before, now = (float(x.detach().double().norm()) for x in (projected.output, query))
        if before and math.isclose(now / before, rest, rel_tol=_SCALED):
            return scaling / own.softmax_scale
    raise ValueError(
        f"[use] {type(module).__name__} hands over a softmax scale of {scaling:.9g}, but the model's plan has "
        f"{own.softmax_scale:.9g}, and its queries are not multiplied by the rest{projected.remark()}"
    )


def require_same_sizes(module: nn.Module, own: _posenc.LayerPlan, sizes: dict[str, int]) -> None:
    """ValueError where queries, keys or values are of other sizes than the plan has."""
    for name, came in sizes.items():
        expected = getattr(own, name)
        is_repeated = name == "kv_heads" and came == own.heads  # some repeat keys and values first
        if came != expected and not is_repeated:
            raise ValueError(f"[use] plan must have {name} {came}, as {type(module).__name__} hands over, but has {expected}")


def require_same_facts(
    module: nn.Module, own: _posenc.LayerPlan, softcap: float | None, sinks: Tensor | None, window: Any, tokens: int
) -> None:
    """ValueError where a cap, sinks or a window are handed over that the plan does not have, or no cap where it has one.

    tokens: in the KV cache and the call. A plan has no window that is as long as the trained length; what is handed over
    of such a one hides nothing before there are more tokens than that.
    """
    name = type(module).__name__
    cap = None if own.soft_cap is None else own.soft_cap.cap
    is_same_cap = softcap is cap if softcap is None or cap is None else math.isclose(softcap, cap, rel_tol=_SAME)
    if not is_same_cap:
        raise ValueError(f"[use] {name} hands over a soft cap of {softcap}, but the model's plan has {cap}")
    if sinks is not None and not own.sinks:
        raise ValueError(f"[use] {name} hands over sinks, but the model's plan has none")
    past = None if own.mask.window is None else own.mask.window.past + 1
    if isinstance(window, int) and past != window and (past is not None or window < tokens):
        remark = "" if past is not None else f", and it hides some of {tokens} tokens: say masks='model'"
        raise ValueError(f"[use] {name} hands over a sliding window of {window}, but the model's plan has {past}{remark}")
