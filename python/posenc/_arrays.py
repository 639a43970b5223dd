"""What an array is to a type checker. At run time, arrays are whatever has `__dlpack__` or a buffer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, SupportsFloat, SupportsIndex, TypeVar, Union

if TYPE_CHECKING:
    from typing_extensions import Buffer  # of Python from 3.12 on; type checkers know it under this name always
else:
    Buffer = Union[bytes, bytearray, memoryview]


class SupportsDLPack(Protocol):
    """An array of NumPy, torch, JAX, or of any other library of the array API."""

    def __dlpack__(self) -> Any: ...


ArrayLike = Union[SupportsDLPack, Buffer]
"""An array that is read, or written, where it lies: on the CPU, with `__dlpack__` or a buffer."""

IndicesLike = Union[ArrayLike, Iterable[SupportsIndex]]
"""Whole numbers: an array of the type that a function names, or any iterable of numbers."""

PositionsLike = Union[ArrayLike, SupportsIndex, Iterable[SupportsIndex], Iterable[SupportsFloat]]
"""Where counting starts; or an array of int64, int32, float64, or of a narrower type; or any iterable of numbers."""

# What comes in goes out. Other buffers than a memoryview come back as one, and are not told apart.
ArrayT = TypeVar("ArrayT", bound=Union[SupportsDLPack, memoryview])
OtherT = TypeVar("OtherT", bound=Union[SupportsDLPack, memoryview])
