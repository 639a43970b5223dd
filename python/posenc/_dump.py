"""What a port's layers were given and made: queries and keys before and after the rotation, values, scores, output.

A plain value that needs no torch, so that a dump can come from anywhere: posenc.torch.capture makes one of a model.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any, Iterator, Union

from ._arrays import ArrayLike

# What a layer's arrays are called, here and in files.
ARRAYS = ("q_before", "q_after", "k_before", "k_after", "q", "k", "v", "scores", "weights", "out")


@dataclasses.dataclass(frozen=True)
class DumpedLayer:
    """One call of one attention module. Axes are batch, heads, tokens, channels; of scores batch, heads, queries, keys.

    q_before and q_after are what the rotation was given and made, which may be a part of a head's channels; q and k are
    what scores were made of. What was not seen is None.
    """

    name: str  # of the module
    call: int = 0  # of the module, counted from 0
    q_before: Union[ArrayLike, None] = None
    q_after: Union[ArrayLike, None] = None
    k_before: Union[ArrayLike, None] = None
    k_after: Union[ArrayLike, None] = None
    q: Union[ArrayLike, None] = None
    k: Union[ArrayLike, None] = None
    v: Union[ArrayLike, None] = None
    scores: Union[ArrayLike, None] = None  # what the softmax is of
    weights: Union[ArrayLike, None] = None  # what the softmax makes
    out: Union[ArrayLike, None] = None

    @property
    def block(self) -> int | None:
        """The number of the block in the module's name, "model.layers.3.self_attn": 3; None without a number."""
        numbers = re.findall(r"(?:^|[.])(\d+)(?=[.]|$)", self.name)
        return int(numbers[0]) if numbers else None

    def arrays(self) -> dict[str, ArrayLike]:
        """What was seen, by its name in ARRAYS."""
        return {name: getattr(self, name) for name in ARRAYS if getattr(self, name) is not None}


class Dump:
    """The layers of a run, in the order in which they attended."""

    def __init__(self, layers: Any = ()) -> None:
        self.layers: list[DumpedLayer] = list(layers)

    def __iter__(self) -> Iterator[DumpedLayer]:
        return iter(self.layers)

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, name: str) -> DumpedLayer:
        """The first call of a module, by its name. KeyError where it did not attend."""
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise KeyError(name)

    def tensors(self) -> dict[str, Any]:
        """All arrays under "module/call/array", as a file of tensors holds them."""
        return {f"{at.name}/{at.call}/{name}": value for at in self.layers for name, value in at.arrays().items()}

    @staticmethod
    def of_tensors(tensors: Mapping[str, Any]) -> Dump:
        """What tensors() made. ValueError for another name."""
        found: dict[tuple[str, int], dict[str, Any]] = {}
        for key, value in tensors.items():
            name, call, array = (*key.rsplit("/", 2), "", "")[:3]
            if not call.isdecimal() or array not in ARRAYS:
                raise ValueError(
                    f"[Dump] tensors must be called MODULE/CALL/ARRAY, as Dump.tensors names them, but one is {key}"
                )
            found.setdefault((name, int(call)), {})[array] = value
        return Dump(DumpedLayer(name=name, call=call, **arrays) for (name, call), arrays in found.items())
