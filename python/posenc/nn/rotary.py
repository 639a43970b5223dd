"""RoPE as modules: fixed or learned frequencies, any scaling rule, several axes.

RoFormer, arXiv 2104.09864; axial: a block of pairs for each coordinate; pixel: frequencies linear in pi, of coordinates
from -1 to 1 (rotary-embedding-torch, arXiv 2309.00071's predecessors in vision have no paper of their own).
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from .. import _posenc
from .._composed.rotation import Rotation


class RotaryEmbedding(nn.Module):
    """x rotated by its positions. rope: a Rope, or XPos without its decay; learned: inv_freq is a parameter [pairs]."""

    def __init__(self, rope: Any, *, learned: bool = False, length: int | None = None) -> None:
        super().__init__()
        self.rope = rope.rope if isinstance(rope, _posenc.XPos) else rope
        problem = _posenc.check(self.rope)
        if problem is not None:
            raise ValueError(f"[RotaryEmbedding] {problem}")
        self.length = length
        self._rotation = Rotation(_posenc.Rotate(scheme=self.rope))
        made = _posenc.frequencies(self.rope, length=length)
        self.attention_factor = float(made.attention_factor)
        inv_freq = torch.tensor(made.inv_freq, dtype=torch.float64)
        self.inv_freq = nn.Parameter(inv_freq.float()) if learned else None

    def frequencies(self, device: torch.device) -> tuple[Tensor, float]:
        return self._rotation.frequencies(self.length, self.inv_freq, device)

    def cos_sin(self, positions: Any, *, device: Any = None, inverse: bool = False) -> tuple[Tensor, Tensor]:
        """float64 [1 or batch, tokens, pairs], with the attention factor a, or 1 / a; of positions [tokens], [batch, tokens]
        or [axes, batch, tokens]."""
        at = torch.as_tensor(positions, device=device)
        axes = self._rotation.axes
        if at.dim() < 3:
            at = (
                at.reshape(axes, 1, -1)
                if axes > 1
                else at.reshape(1, -1 if at.dim() == 1 else at.shape[0], at.shape[-1])
            )
        return self._rotation.angles(list(at), self.frequencies(at.device), inverse)

    def forward(self, x: Tensor, positions: Any = 0, direction: str = "forward") -> Tensor:
        """x: [batch, heads, tokens, head_dim]. positions: of the first token, or [tokens], [batch, tokens], or of
        several axes [axes, tokens] or [axes, batch, tokens]. direction: as posenc.rotate has it."""
        if isinstance(positions, int):
            positions = torch.arange(positions, positions + x.shape[-2], device=x.device)
            if self._rotation.axes > 1:
                positions = positions.expand(self._rotation.axes, -1)
        cos, sin = self.cos_sin(positions, device=x.device, inverse=direction == "inverse")
        wide = x if x.dtype == torch.float64 else x.float()
        return self._rotation.pairs.rotate(wide, cos, sin, direction).to(x.dtype)

    def extra_repr(self) -> str:
        learned = "" if self.inv_freq is None else ", learned=True"
        return f"{self.rope!r}{learned}"

    def __deepcopy__(self, memo: Any) -> "RotaryEmbedding":
        made = RotaryEmbedding(self.rope, learned=self.inv_freq is not None, length=self.length)
        made.train(self.training)
        if self.inv_freq is not None:
            made.inv_freq = nn.Parameter(self.inv_freq.detach().clone(), self.inv_freq.requires_grad)
        memo[id(self)] = made
        return made


def AxialRotary(
    head_dim: int, axes: tuple[str, ...] = ("h", "w"), *, pairing: str = "half", learned: bool = False, **rope: Any
) -> RotaryEmbedding:
    """A block of pairs for each coordinate, each with frequencies of its own: positions are [axes, tokens]."""
    made = _posenc.Rope(
        **{
            "pairing": pairing,
            "head_dim": head_dim,
            "dim": head_dim,
            "axes": _posenc.axial_axes(list(axes), head_dim // 2),
            "axis_frequencies": "per_axis",
            **rope,
        }
    )
    return RotaryEmbedding(made, learned=learned)


class PixelRotary(RotaryEmbedding):
    """Coordinates of pixels from -1 to 1, one axis a block; inv_freq from pi to pi max_freq / 2, evenly."""

    def __init__(
        self, head_dim: int, axes: tuple[str, ...] = ("h", "w"), *, max_freq: float = 10.0, learned: bool = False
    ) -> None:
        pairs = head_dim // 2
        rope = _posenc.Rope(
            pairing="interleaved", head_dim=head_dim, dim=head_dim, axes=_posenc.axial_axes(list(axes), pairs)
        )
        super().__init__(rope, learned=True)
        each = torch.linspace(1.0, max_freq / 2, pairs // len(axes), dtype=torch.float64) * math.pi
        self.max_freq = max_freq
        self.inv_freq = nn.Parameter(each.repeat(len(axes)).float(), requires_grad=learned)

    @staticmethod
    def coordinates(*sizes: int, device: Any = None) -> Tensor:
        """[axes, rows * columns ..]: of a picture of these sizes, each axis from -1 to 1."""
        lines = [torch.linspace(-1.0, 1.0, size, dtype=torch.float64, device=device) for size in sizes]
        return torch.stack([grid.flatten() for grid in torch.meshgrid(*lines, indexing="ij")])

    def extra_repr(self) -> str:
        return f"head_dim={self.rope.head_dim}, axes={self.rope.axes.names}, max_freq={self.max_freq:g}"

    def __deepcopy__(self, memo: Any) -> "PixelRotary":
        assert self.inv_freq is not None
        made = PixelRotary(self.rope.head_dim, tuple(self.rope.axes.names), max_freq=self.max_freq)
        made.inv_freq = nn.Parameter(self.inv_freq.detach().clone(), self.inv_freq.requires_grad)
        memo[id(self)] = made
        return made.train(self.training)
