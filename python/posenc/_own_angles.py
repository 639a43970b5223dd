"""Angles of a model's rotary modules, compared with those of the plan of its configuration: they say the same of one
model, so that a difference is a mistake of one of them, or somebody has changed the module after it was made.

Looked at is position 1, where the angle of a pair is its frequency, and which grows no table of a rule of length.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from . import _posenc
from ._rotary_modules import KEEP_ANGLES

# Of frequencies in float32: a power, a quotient and a rule's mixture, whose share is off by 16 roundings of the larger
# frequency, 40 times the mixed one (src/vectors/rotation_bound.cpp): 40 * 16 * 2^-24.
_OFF_BY = 40 * 16 * 2.0**-24
_ROUNDED_OFF_BY = 2.0**-7  # where they were cast to 16 bits, with the model


def require_own_angles(
    name: str, module: nn.Module, ropes: Mapping[str | None, _posenc.Rope], of_layers: Iterable[_posenc.Rope]
) -> None:
    """ValueError for a rotary module whose angles are not those of the model's own plan; what cannot be asked is not.

    ropes: by type of layer, for a module that is told one; of_layers: all of the plan, for one that is not.
    """
    takes_type = "layer_type" in inspect.signature(module.forward).parameters
    kinds = [kind for kind in ropes if kind is not None] if takes_type else [None]
    for kind in kinds or [None]:
        among = [ropes[kind]] if kind in ropes and takes_type else list(of_layers)
        made = _at_one(module, among, {"layer_type": kind} if takes_type and kind is not None else {})
        if made is not None and not any(_agrees(made, rope, _off_by(module)) for rope in among):
            raise ValueError(
                f"[use] the angles of {name} must be those of the model's configuration, but are others{_factors(made, among)}: "
                f"{type(module).__name__} does not read a key of the configuration that the plan is made from (read_plan names "
                "them), or it was changed after the model was made. Take the key out of model.config where the class is right"
            )


def agrees(module: nn.Module, rope: _posenc.Rope) -> bool:
    """Whether a rotary module that is told no type of layer makes the angles of this rope, as far as it can be asked."""
    made = _at_one(module, [rope], {})
    return made is not None and _agrees(made, rope, _off_by(module))


def require_own_tables(named_modules: Iterable[tuple[str, nn.Module]], rope: _posenc.Rope | None) -> None:
    """The same of tables of sin and cos side by side, which GPT-J, CodeGen and RoFormer keep."""
    for name, module in named_modules:
        table: Any = None
        if type(module).__name__ in KEEP_ANGLES:
            table = getattr(module, "embed_positions", None)
        elif type(module).__name__ == "RoFormerSinusoidalPositionalEmbedding":
            table = module.weight
        if rope is None or table is None or table.dim() != 2 or table.shape[0] < 2:
            continue
        sin, cos = table.detach()[1].double().cpu().chunk(2)
        off_by = _ROUNDED_OFF_BY if table.dtype.itemsize < 4 else _OFF_BY
        if not _agrees((cos, sin), rope, off_by):
            raise ValueError(
                f"[use] the table of angles of {name} must be that of the model's configuration, but is another: "
                f"{type(module).__name__} does not read a key of it that the plan is made from, or the table was changed after "
                "the model was made, or loaded from other weights"
            )


def _factors(made: tuple[Tensor, Tensor], ropes: Iterable[_posenc.Rope]) -> str:
    """What cos and sin are multiplied by, where the plan has another factor."""
    has = float((made[0] ** 2 + made[1] ** 2).max().sqrt())
    planned = [_posenc.frequencies(rope, length=2).attention_factor for rope in ropes]
    if any(abs(has - factor) <= 1e-3 * factor for factor in planned):
        return ""
    return f", with an attention factor of {has:.6g} where the plan has {' or '.join(f'{factor:.6g}' for factor in planned)}"


def _at_one(module: Any, ropes: Iterable[_posenc.Rope], named: dict[str, Any]) -> tuple[Tensor, Tensor] | None:
    axes = max(len(rope.axes.names) for rope in ropes)
    device = next((of.device for of in module.buffers()), None)
    ones = torch.ones((axes, 1, 1) if axes > 1 else (1, 1), dtype=torch.int64, device=device)
    try:
        made = module(torch.zeros(1, device=device), ones, **named)
    except Exception:  # it takes other arguments
        return None
    cos, sin = (made.real, made.imag) if isinstance(made, Tensor) else made
    rows = (of.detach().double().flatten().cpu() for of in (cos, sin))
    return next(rows), next(rows)


def _off_by(module: nn.Module) -> float:
    held = [of for of in module.buffers() if of.dtype.is_floating_point]
    return _ROUNDED_OFF_BY if any(of.dtype.itemsize < 4 for of in held) else _OFF_BY


def _agrees(made: tuple[Tensor, Tensor], rope: _posenc.Rope, off_by: float) -> bool:
    """In any arrangement of pairs, and whichever sign the model's own function adds."""
    places = torch.ones((max(1, len(rope.axes.names)), 1), dtype=torch.int64)
    cos, sin = (torch.as_tensor(rows)[0].double() for rows in _posenc.cos_sin(rope, places, length=2))
    for arranged in (lambda x: x, lambda x: torch.cat((x, x)), lambda x: x.repeat_interleave(2)):
        rows = [arranged(x) for x in (cos, sin)]
        if rows[0].shape != made[0].shape:
            continue
        is_cos = torch.allclose(made[0], rows[0], rtol=off_by, atol=off_by)
        if is_cos and torch.allclose(made[1].abs(), rows[1].abs(), rtol=off_by, atol=1e-9):
            return True
    return False
