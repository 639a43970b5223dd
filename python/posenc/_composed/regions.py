"""Regions: where query and key stand to the rotation depends on how far they are apart.

  SelfExtend, arXiv 2401.01325, (3); ReRoPE and leaky ReRoPE, kexue.fm/archives/9708; dual chunk, arXiv 2402.17463, 3

A region is a list of variants: a place for each query, one for each key, and which of their pairs it is for. The first
is for what no other takes. Scores are made of each, whole, and picked.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .. import _posenc
from .numbers import exact


@dataclass
class Variant:
    q: Tensor  # [1 or batch, queries]
    k: Tensor  # [1 or batch, keys]


class AsTheyAre:
    """No regions."""

    def variants(self, q: Tensor, k: Tensor) -> list[Variant]:
        return [Variant(q, k)]

    def picks(self, i: Tensor, j: Tensor) -> list[Tensor]:
        """For each variant but the first its pairs, of i [.., queries, 1] and j [.., 1, keys]."""
        return []


def _floor(x: Tensor, by: int) -> Tensor:
    return torch.div(x, by, rounding_mode="floor")


class SelfExtended(AsTheyAre):
    def __init__(self, regions: _posenc.SelfExtend) -> None:
        self.group, self.window = int(regions.group), int(regions.window)

    def variants(self, q: Tensor, k: Tensor) -> list[Variant]:
        shift = self.window - self.window // self.group
        return [Variant(q, k), Variant(_floor(q, self.group) + shift, _floor(k, self.group))]

    def picks(self, i: Tensor, j: Tensor) -> list[Tensor]:
        return [i - j >= self.window]


class ReRotated(AsTheyAre):
    def __init__(self, regions: _posenc.ReRope) -> None:
        self.window = int(regions.window)
        self.step = None if regions.step is None else float(regions.step)

    def variants(self, q: Tensor, k: Tensor) -> list[Variant]:
        if self.step is None:
            return [Variant(q, k), Variant(torch.full_like(q, self.window), torch.zeros_like(k))]
        shift = self.window - self.window / self.step
        wide = exact(q.device)
        return [Variant(q, k), Variant(q.to(wide) / self.step + shift, k.to(wide) / self.step)]

    def picks(self, i: Tensor, j: Tensor) -> list[Tensor]:
        return [i - j >= self.window]


class DualChunked(AsTheyAre):
    def __init__(self, regions: _posenc.DualChunk) -> None:
        self.chunk, self.local, self.trained = int(regions.chunk), int(regions.local), int(regions.trained)

    def variants(self, q: Tensor, k: Tensor) -> list[Variant]:
        in_chunk, key = torch.remainder(q, self.chunk), torch.remainder(k, self.chunk)
        last = torch.full_like(q, self.trained - 1)
        return [Variant(q, k), Variant(in_chunk, key), Variant(in_chunk + self.chunk, key), Variant(last, key)]

    def picks(self, i: Tensor, j: Tensor) -> list[Tensor]:
        between = _floor(i, self.chunk) - _floor(j, self.chunk)
        is_next = (between == 1) & (torch.remainder(i, self.chunk) < self.local)
        return [between == 0, is_next, (between >= 1) & ~is_next]


REGIONS: dict[type, type] = {
    _posenc.SelfExtend: SelfExtended,
    _posenc.ReRope: ReRotated,
    _posenc.DualChunk: DualChunked,
}


def region_of(regions: object) -> AsTheyAre:
    if regions is None:
        return AsTheyAre()
    made: AsTheyAre = REGIONS[type(regions)](regions)
    return made
