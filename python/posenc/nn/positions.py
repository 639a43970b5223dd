"""Rows that are added to embeddings: learned (BERT, GPT-2, OPT) and sinusoidal (arXiv 1706.03762, in six conventions)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .. import _add_input, _posenc
from .._composed.numbers import exact
from .._composed.sinusoids import Sinusoid
from .._tables import value_text


class LearnedPositions(nn.Module):
    """Token i takes row i + offset. weight: [positions + offset, width], as BERT's position_embeddings, GPT-2's wpe and
    OPT's embed_positions have it."""

    def __init__(self, positions: int, width: int, *, offset: int = 0) -> None:
        super().__init__()
        self.scheme = _posenc.LearnedInput(positions=positions + offset, offset=offset)
        self.offset = offset
        self.weight = nn.Parameter(torch.randn(positions + offset, width) * 0.02)

    def rows(self, positions: Any) -> Tensor:
        at = torch.as_tensor(positions, device=self.weight.device)
        return nn.functional.embedding(at.to(torch.int64) + self.offset, self.weight)

    def forward(self, x: Tensor, positions: Any = 0) -> Tensor:
        """x [batch, tokens, width] with its rows. positions: of the first token, or [tokens] or [batch, tokens].

        On the CPU by add_input, and its gradients by add_input_backward, where weight has the dtype of x and it is not
        float64.
        """
        places = _add_input.places_of(positions, x, self.weight)
        if places is not None:
            return _add_input.add_learned(x, self.weight, *places, self.offset)
        return x + self.rows(_counted(positions, x)).to(x.dtype)

    def extra_repr(self) -> str:
        return f"positions={self.weight.shape[0] - self.scheme.offset}, width={self.weight.shape[1]}, offset={self.scheme.offset}"


def _counted(positions: Any, x: Tensor) -> Any:
    if isinstance(positions, int):
        return torch.arange(positions, positions + x.shape[-2], device=x.device)
    return positions


class SinusoidalPositions(nn.Module):
    """A fixed table of sines and cosines, of any length; computed in float64 where it is asked for."""

    def __init__(self, width: int, **scheme: Any) -> None:
        super().__init__()
        self.scheme = _posenc.SinusoidalInput(**scheme)
        self.width = width
        self.scale = nn.Parameter(torch.ones(())) if self.scheme.learned_scale else None
        _posenc.input_row(
            self.scheme.replace(positions=None), width, 0
        )  # ValueError for a width that it has no rows of
        self._sinusoid = Sinusoid(str(self.scheme.convention), width)
        self.offset, self.multiplier = int(self.scheme.offset), float(self.scheme.embedding_multiplier)
        self.multiplies = self.scheme.combine == "multiply"
        self._text = value_text(self.scheme)

    def rows(self, positions: Any, *, device: Any = None) -> Tensor:
        at = torch.as_tensor(positions, device=device)
        rows = self._sinusoid.rows(at.to(exact(at.device)) + self.offset)
        return rows if self.scale is None else rows * self.scale

    def forward(self, x: Tensor, positions: Any = 0) -> Tensor:
        """m x + rows, or with combine="multiply" their product; x [batch, tokens, width].

        Sums without a learned scale are add_input's on the CPU, where x is not float64.
        """
        places = None if self.multiplies or self.scale is not None else _add_input.places_of(positions, x)
        if places is not None:
            return _add_input.add_sinusoids(x, *places, self._text, self.multiplier)
        rows = self.rows(_counted(positions, x), device=x.device).to(x.dtype)
        x = x * self.multiplier
        return x * rows if self.multiplies else x + rows

    def extra_repr(self) -> str:
        return f"{self.width}, {self.scheme!r}"
