"""What is replaced in a model, and put back: where several hold one name, in any order."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any

from torch import nn

_ABSENT = object()

# By owner and name: what was there before, and what has taken its place since, each in a box of its own. The last holds.
_held: dict[tuple[int, str], list[list[Any]]] = {}
_thread_of: dict[tuple[int, str], int] = {}  # that holds it, of which there is one
_one_at_a_time = threading.RLock()


class NotCopied:
    """What belongs to the model that it was put into: a copy of the model would run by it and be left so."""

    def __deepcopy__(self, memo: Any) -> Any:
        raise NotImplementedError(f"[use] {_OUTSIDE}")

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise NotImplementedError(f"[use] {_OUTSIDE}")


_OUTSIDE = (
    "a model must be copied or pickled outside of use(), for what is in it belongs to this one: state_dict() may be saved "
    "within"
)


def hold(
    undo: contextlib.ExitStack, owner: Any, name: str, before: Any, value: Any, put: Callable[[Any], None]
) -> None:
    """put(value), until undone; where several hold, in any order. ValueError where another thread holds the same."""
    key, box = (id(owner), name), [value]

    def leave() -> None:
        with _one_at_a_time:
            boxes = _held[key]
            was_last = boxes[-1] is box
            boxes[:] = (of for of in boxes if of is not box)
            if len(boxes) == 1:
                del _held[key], _thread_of[key]
            if was_last:
                put(boxes[-1][0])

    with _one_at_a_time:
        if _thread_of.setdefault(key, threading.get_ident()) != threading.get_ident():
            raise ValueError(
                f"[use] {name} of {_named(owner)} is in use by another thread, and would be replaced under it: enter use() for "
                "all models of one file in one thread, from which others may call them"
            )
        _held.setdefault(key, [[before, owner]]).append(box)
        undo.callback(leave)
        put(value)


def _named(owner: Any) -> str:
    return getattr(owner, "__name__", type(owner).__name__)


def replace(undo: contextlib.ExitStack, owner: Any, name: str, value: Any) -> None:
    """setattr, until undone."""
    before = vars(owner).get(name, _ABSENT)
    for kept in (owner._modules, owner._buffers) if isinstance(owner, nn.Module) else ():
        before = kept.get(name, before)

    def put(value: Any) -> None:
        delattr(owner, name) if value is _ABSENT else setattr(owner, name, value)

    hold(undo, owner, name, before, value, put)
