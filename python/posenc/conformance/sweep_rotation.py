"""Which rotation queries or keys have undergone, from their rows alone: they were equal before it."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

import posenc

# Angles: positions times frequencies in float32 by the class, sines of them, and products: a few units each.
_ANGLE = 2e-5
_UNITS = 2.0**-22
# Coordinates that a class chooses are within so many of the first token's.
_FARTHEST = 512


def pair_channels(rope: posenc.Rope) -> tuple[list[int], list[int]]:
    """The first and the second channel of every pair."""
    first, pairs = rope.first_channel, rope.dim // 2
    if rope.pairing == "half":
        return list(range(first, first + pairs)), list(range(first + pairs, first + 2 * pairs))
    return list(range(first, first + 2 * pairs, 2)), list(range(first + 1, first + 2 * pairs, 2))


def axes_of(rope: posenc.Rope) -> Tensor:
    of_pair = rope.axes.of_pair
    return torch.tensor(of_pair if of_pair else [0] * (rope.dim // 2))


def still(ropes: list[posenc.Rope], width: int) -> list[int]:
    """Channels that none of these rotates."""
    moved = {c for rope in ropes for side in pair_channels(rope) for c in side}
    return [c for c in range(width) if c not in moved]


def _pairs(rope: posenc.Rope, x: Tensor) -> Tensor:
    """[heads, n, pairs], complex, each over its value for the first token."""
    first, second = pair_channels(rope)
    z = torch.complex(x[..., first].double(), x[..., second].double())
    return z / z[:, :1]


def _inv_freq(rope: posenc.Rope, length: int | None) -> Tensor:
    return torch.tensor(posenc.frequencies(rope, length=length).inv_freq, dtype=torch.float64)


def projected_order(x: Tensor, rope: posenc.Rope, sources: list[Tensor], factors: list[float]) -> Tensor | None:
    """Where each rotated channel stood when it was projected, [dim]; None where that cannot be seen.

    DeepSeek's classes put neighbours apart before they rotate halves, queries and keys alike. The first token is not
    rotated, so that its numbers are those of a linear layer's or a norm's output, some of the `sources`.
    """
    if rope.first_channel + rope.dim > x.shape[-1]:
        return None
    block = x[0, 0, rope.first_channel : rope.first_channel + rope.dim].double()
    for source in sources:
        if source.numel() < rope.dim:
            continue
        for of in factors:
            scaled = source.double() * of
            if float((scaled - block[0]).abs().amin()) > 4e-6 * float(block[0].abs()) + 1e-9:
                continue
            near, at = (scaled - block[:, None]).abs().min(-1)
            order = at - at.min()
            if bool((near <= 4e-6 * block.abs() + 1e-9).all()) and torch.equal(
                order.sort().values, torch.arange(rope.dim)
            ):
                return order
    return None


def halves_to_neighbours(rope: posenc.Rope) -> Tensor:
    """Where each channel stood before a checkpoint's pairs of neighbours were put apart."""
    return torch.arange(rope.dim).view(-1, 2).T.flatten()


def reordered(x: Tensor, rope: posenc.Rope, order: Tensor | None) -> Tensor:
    """x with its rotated channels where they were projected."""
    if order is None:
        return x
    moved = x.clone()
    moved[..., rope.first_channel + order] = x[..., rope.first_channel : rope.first_channel + rope.dim]
    return moved


@dataclasses.dataclass(frozen=True)
class Rotated:
    """x: [heads, n, d] of one run; coordinates [axes, n] where the caller gave them, None where the class chose."""

    x: Tensor
    coordinates: Tensor | None

    def difference(self, ropes: list[posenc.Rope], length: int | None) -> str | None:
        """What the rows say against these rotations, of some channels each; None where they agree."""
        x = self.x.double()
        if any(rope.first_channel + rope.dim > x.shape[-1] for rope in ropes):
            return f"heads have {x.shape[-1]} channels"
        rest = still(ropes, x.shape[-1])
        moved = (x[..., rest] - x[:, :1, rest]).abs().amax((0, 1)) > 1e-4 * x.abs().amax()
        if bool(moved.any()):
            return f"channel {rest[int(moved.int().argmax())]} is rotated too"
        return next((what for rope in ropes if (what := self._difference(x, rope, length)) is not None), None)

    def _difference(self, x: Tensor, rope: posenc.Rope, length: int | None) -> str | None:
        z = _pairs(rope, x)
        if bool(((z.abs() - 1).abs() > 1e-3).any()):
            return f"channels do not rotate in pairs that are {rope.pairing}"
        inv_freq, axes = _inv_freq(rope, length), axes_of(rope)
        coordinates = self.coordinates
        if coordinates is None or len(coordinates) <= int(axes.max()):
            coordinates = _solved(z[0], inv_freq, axes)
        places = coordinates[axes].T  # [n, pairs]
        angles = (places - places[:1]) * inv_freq
        error = _turn(z.angle() - angles)
        off = (error.abs() > _ANGLE + _UNITS * (places * inv_freq).abs()).any(0).any(0)
        if not bool(off.any()):
            return None
        wrong = [p for p, o in enumerate(off.tolist()) if o]
        measured = self._measured(z[0], inv_freq, wrong)
        return f"pairs {ranges(wrong)} of {len(inv_freq)} rotate by other angles{measured}"

    def _measured(self, z: Tensor, inv_freq: Tensor, wrong: list[int]) -> str:
        if self.coordinates is None or len(self.coordinates) != 1 or z.shape[0] < 2:
            return ""
        by = float(self.coordinates[0, 1] - self.coordinates[0, 0])
        if by != 1:
            return ""
        pair = wrong[min(1, len(wrong) - 1)]
        return f" (pair {pair}: {float(z[1, pair].angle()):.5f}, plan {float(inv_freq[pair]):.5f})"


def _solved(z: Tensor, inv_freq: Tensor, axes: Tensor) -> Tensor:
    """Coordinates that explain the angles, [axes, n]: from an axis's slowest pair, made finer by each faster one. Of the
    slowest's whole turns those are taken that leave least."""
    result = torch.zeros(int(axes.max()) + 1, z.shape[0], dtype=torch.float64)
    angles = z.angle()
    for axis in range(len(result)):
        of_axis = (axes == axis).nonzero().flatten()
        order = [pair for pair in of_axis[inv_freq[of_axis].abs().argsort()].tolist() if inv_freq[pair] != 0]
        if not order:
            continue
        turns = int(_FARTHEST * float(inv_freq[order[0]].abs()) / (2 * torch.pi)) + 1
        place = (2 * torch.pi / inv_freq[order[0]]) * torch.arange(-turns, turns + 1)[:, None]
        place = place.repeat(1, z.shape[0]).double()
        for pair in order:
            place = place + _turn(angles[:, pair] - place * inv_freq[pair]) / inv_freq[pair]
        left = _turn(angles[:, order] - place[..., None] * inv_freq[order]).abs().amax(-1)
        result[axis] = place.gather(0, left.argmin(0, keepdim=True))[0]
    return result


def _turn(angle: Tensor) -> Tensor:
    return torch.remainder(angle + torch.pi, 2 * torch.pi) - torch.pi


def seen(x: Tensor, sources: list[Tensor], factors: list[float]) -> str:
    """What the rows look like, in words, for whoever writes the family's row; positions 0, 1, 2, ..."""
    x = x.double()
    d, size = x.shape[-1], x.abs().amax()
    moved = ((x - x[:, :1]).abs().amax((0, 1)) > 1e-4 * size).tolist()
    if not any(moved):
        return "no rotation"
    start, end = moved.index(True), d - moved[::-1].index(True)
    for dim in dict.fromkeys((d - start, *range(end - start + (end - start) % 2, d - start, 2))):
        for pairing in ("half", "interleaved"):
            rope = posenc.Rope(pairing=pairing, head_dim=d, first_channel=start, dim=dim - dim % 2)
            if any(moved[start + rope.dim :]):
                continue
            z = _pairs(rope, x)
            if bool(((z.abs() - 1).abs() < 1e-3).all()):
                order = projected_order(x, rope, sources, factors)
                if order is not None and torch.equal(order, halves_to_neighbours(rope)):
                    pairing = "interleaved (the class puts neighbours apart)"
                angles = ", ".join(f"{round(angle, 4) + 0.0:.4f}" for angle in z[0, 1].angle()[:4].tolist())
                return f"{pairing}, channels {start}-{start + rope.dim - 1}, pairs rotate by {angles}, ..."
    return f"channels {ranges([c for c, m in enumerate(moved) if m])} rotate"


def ranges(numbers: list[int]) -> str:
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    texts = [str(low) if low == high else f"{low}-{high}" for low, high in parts]
    return ", ".join(texts[:4] + ["..."] * (len(texts) > 4))
