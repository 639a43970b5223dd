"""RoPE, RoFormer, arXiv 2104.09864, and xPos, arXiv 2212.10554.

  (a, b) -> factor (a cos t - b sin t, a sin t + b cos t),  t = position inv_freq[p]     for the p-th pair of channels

Angles are products in float64. At position n they are off by n inv_freq 2^-53, which is nothing beside a rounding of cos
to float32 up to n = 2^28. Frequencies may be tensors, learned, and then have gradients.

xPos: the product of pair p decays by zeta_p^((i - j) / scale_base), zeta_p = (2p + 0.4 dim) / (1.4 dim). It is split
between q and k about the first query of a chunk, of each sequence.
"""

from __future__ import annotations

import math
from typing import Any, Sequence

import torch
from torch import Tensor

from .. import _posenc
from .._tables import value_of, value_text
from .numbers import constant, exact

# By how much a decay may grow, as a power of e: it does for keys in the future, and a float32 ends at e^88.
_LARGEST = {torch.float32: 80.0, torch.float64: 700.0}


def _frequencies(text: str, length: int | None) -> list[float]:
    """inv_freq, and behind it the attention factor."""
    made = _posenc.frequencies(value_of(text), length=length)
    return [*made.inv_freq, made.attention_factor]


# What torch.compiler.assume_constant_result does, which imports the compiler: two seconds, for all who never compile.
_frequencies._dynamo_marked_constant = True  # type: ignore[attr-defined]


class Pairs:
    """Which channels rotate, by which coordinate."""

    def __init__(self, pairing: str, first: int, dim: int, of_pair: Sequence[int]) -> None:
        self.pairing, self.first, self.dim = str(pairing), int(first), int(dim)
        self.of_pair = [int(axis) for axis in of_pair]

    def cos_sin(self, at: list[Tensor], inv_freq: Tensor, factor: float | Tensor) -> tuple[Tensor, Tensor]:
        """float64 [1 or batch, tokens, pairs]."""
        angle = self.positions(at).to(inv_freq.dtype) * inv_freq
        return torch.cos(angle) * factor, torch.sin(angle) * factor

    def positions(self, at: list[Tensor]) -> Tensor:
        """[1 or batch, tokens, pairs], or 1 for all pairs."""
        if self.of_pair and len(at) > 1:
            return torch.stack([at[axis] for axis in self.of_pair], dim=-1)
        return at[0][..., None]

    def channels(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The first and the second channel of each pair, [..., pairs]."""
        part = x[..., self.first : self.first + self.dim]
        if self.pairing == "half":
            return part[..., : self.dim // 2], part[..., self.dim // 2 :]
        return part[..., 0::2], part[..., 1::2]

    def rotate(self, x: Tensor, cos: Tensor, sin: Tensor, direction: str = "forward") -> Tensor:
        """x: [batch, heads, tokens, channels]; cos, sin: [1 or batch, tokens, pairs], with their factor. inverse: of a
        factor a the transpose over a^2, for which cos and sin have 1 / a."""
        cos, sin = cos.to(x.dtype)[:, None], sin.to(x.dtype)[:, None]
        if direction != "forward":
            sin = -sin
        a, b = self.channels(x)
        first, second = a * cos - b * sin, a * sin + b * cos
        if self.pairing == "half":
            rotated = torch.cat([first, second], dim=-1)
        else:
            rotated = torch.stack([first, second], dim=-1).flatten(-2)
        if self.dim == x.shape[-1]:
            return rotated
        return torch.cat([x[..., : self.first], rotated, x[..., self.first + self.dim :]], dim=-1)


class Rotation:
    """One rotation of a layer. Its numbers are those of `length` None; another length asks the library again."""

    def __init__(self, one: _posenc.Rotate) -> None:
        rope = one.rope
        self.pairs = Pairs(rope.pairing, rope.first_channel, rope.dim, rope.axes.of_pair)
        self.axes = len(rope.axes.names)
        self.offset = int(one.offset)
        self.heads, self.head_dim = int(one.heads), int(rope.head_dim)
        self.text = value_text(rope)
        self.scale_base: float | None = None
        if isinstance(one.scheme, _posenc.XPos):
            self.scale_base = float(one.scheme.scale_base)
        try:
            made = _posenc.frequencies(rope)
            self.inv_freq: list[float] | None = [float(f) for f in made.inv_freq]
            self.factor = float(made.attention_factor)
        except ValueError:  # said by the call, with its length
            self.inv_freq, self.factor = None, 1.0

    def frequencies(self, length: int | None, learned: Tensor | None, device: torch.device) -> tuple[Tensor, float]:
        """inv_freq [pairs] and the attention factor."""
        inv_freq, factor = self.inv_freq, self.factor
        if length is not None or inv_freq is None:
            *inv_freq, factor = _frequencies(self.text, length)
        if learned is not None:
            return learned.to(exact(device)), factor
        return constant(inv_freq, exact(device), device), factor

    def angles(
        self, at: list[Tensor], frequencies: tuple[Tensor, float], inverse: bool = False
    ) -> tuple[Tensor, Tensor]:
        inv_freq, factor = frequencies
        places = [x + self.offset for x in at] if self.offset else at
        return self.pairs.cos_sin(places, inv_freq, 1.0 / factor if inverse else factor)

    def log_zeta(self, dtype: torch.dtype, device: torch.device) -> Tensor:
        """ln(zeta_p) / scale_base, [pairs]."""
        assert self.scale_base is not None
        dim = float(self.pairs.dim)
        zeta = [(2.0 * p + 0.4 * dim) / (1.4 * dim) for p in range(self.pairs.dim // 2)]
        return constant([math.log(z) / self.scale_base for z in zeta], dtype, device)

    def decayed(self, x: Tensor, distance: Tensor) -> Tensor:
        """x times zeta^(distance / scale_base); distance [1 or batch, tokens], of queries from the origin, of keys to it."""
        limit = _LARGEST[x.dtype]
        wide = exact(x.device)
        power = (distance.to(wide)[..., None] * self.log_zeta(wide, x.device)).clamp(-limit, limit)
        decay = torch.exp(power)
        return self.pairs.rotate(x, decay, torch.zeros_like(decay))


def rotated(
    rotations: list[Rotation], x: Tensor, at: list[Tensor], frequencies: list[Any], direction: str = "forward"
) -> Tensor:
    """x [batch, heads, tokens, channels] by all of them; inverse undoes them, the last first."""
    pairs = list(zip(rotations, frequencies))
    for rotation, of in pairs[::-1] if direction == "inverse" else pairs:
        cos, sin = rotation.angles(at, of, direction == "inverse")
        x = rotation.pairs.rotate(x, cos, sin, direction)
    return x


def origins(q_at: Tensor, k_at: Tensor, q_sequence: Tensor | None, k_sequence: Tensor | None) -> tuple[Tensor, Tensor]:
    """Of each query and each key, where the chunk's first query of its sequence stands."""
    if q_sequence is None or k_sequence is None:
        first = q_at[:, :1]
        return first, first
    of = q_sequence[0].contiguous()
    last = of.shape[0] - 1
    q_first = torch.searchsorted(of, of)
    k_first = torch.searchsorted(of, k_sequence[0].contiguous()).clamp(max=last)
    return q_at[:, q_first], q_at[:, k_first]
