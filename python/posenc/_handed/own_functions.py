"""Whether what use() is about to replace is transformers' own: what somebody else has put in its place (a faster kernel, an
adapter, an experiment) would be lost silently."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import Any

import transformers

_OF_TRANSFORMERS = os.path.join(os.path.dirname(os.path.abspath(transformers.__file__)), "")
_OURS = "posenc_stands_in"


def stands_in(function: Any) -> Any:
    """The function, marked as posenc's: a second use() replaces it too."""
    setattr(function, _OURS, True)
    return function


def require_own(where: str, function: Any) -> None:
    """ValueError for a function or method whose code, or that of a wrapper around it, is not of transformers."""
    if hasattr(function, _OURS):
        return
    for one in _wrappers(function):
        code = getattr(one, "__code__", None)
        if code is not None and os.path.abspath(code.co_filename).startswith(_OF_TRANSFORMERS):
            continue
        of = type(one).__name__ if code is None else f"{code.co_name} of {code.co_filename}:{code.co_firstlineno}"
        raise ValueError(
            f"[use] {where} must be transformers' own, in place of which posenc's is put, but is {of}: put the model's own "
            "back before, or run that one without use()"
        )


def _wrappers(function: Any) -> Iterator[Any]:
    while function is not None:
        yield function
        function = getattr(function, "__wrapped__", None)


def code_of(method: Any) -> Any:
    """Of a method as it is called, behind all wrappers; None where there is none, as of what is written in C."""
    *_, last = _wrappers(method)
    last = last.func if isinstance(last, functools.partial) else last
    return getattr(last, "__code__", None)
