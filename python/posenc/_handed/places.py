"""Embeddings of relative positions, and the positions themselves, that an encoder hands to each of its layers (DeBERTa),
compared with those that it has: posenc reads the table where it lies, so that another one would be without effect."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .._composed.check import is_readable


class HandedPlaces:
    """Of one encoder, for all of its layers: what one was handed and the next is handed again is compared once."""

    def __init__(self, encoder: Any) -> None:
        self._own: Mapping[str, Callable[[Tensor], Tensor]] = {
            "rel_embeddings": lambda hidden: encoder.get_rel_embedding(),
            "relative_pos": encoder.get_rel_pos,
        }
        self._seen: dict[str, tuple[Any, int]] = {}

    def compare(self, module: nn.Module, given: Mapping[str, Any]) -> None:
        """ValueError where they differ."""
        for name, own_of in self._own.items():
            handed = given.get(name)
            if not isinstance(handed, Tensor) or not is_readable(handed):
                continue
            seen, version = self._seen.get(name, (lambda: None, 0))
            if seen() is handed and not handed.is_inference() and handed._version == version:
                continue
            with torch.no_grad():
                own = own_of(given["hidden_states"])
            if own.shape != handed.shape or not torch.equal(own, handed.detach().to(own.dtype)):
                raise ValueError(
                    f"[use] {type(module).__name__} is handed {name} that are not its encoder's: somebody has changed them on "
                    "the way; change the encoder's own, or the plan and the weights that use() is given"
                )
            self._seen[name] = (weakref.ref(handed), 0 if handed.is_inference() else handed._version)


def handed_places(modules: Iterable[nn.Module]) -> HandedPlaces | None:
    """Of the first encoder that has such embeddings; None where none has."""
    encoder = next((of for of in modules if hasattr(of, "get_rel_embedding") and hasattr(of, "get_rel_pos")), None)
    return None if encoder is None else HandedPlaces(encoder)
