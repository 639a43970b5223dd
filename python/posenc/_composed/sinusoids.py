"""Rows of sines and cosines, arXiv 1706.03762, 3.5, in the conventions that terms of the score use.

paper   sin(t w_p), cos(t w_p) in turn      xlnet, marian   all sines, then all cosines      w_p = 10000^(-2p/d)
tensor2tensor, musicgen, whisper            w_p = 10000^(-p / (d/2 - 1)); sines first, of musicgen cosines first
"""

from __future__ import annotations

import torch
from torch import Tensor

from .numbers import constant, exact


class Sinusoid:
    """Which channel is the sine and which the cosine of each frequency; of an odd width one has no partner."""

    def __init__(self, convention: str, channels: int) -> None:
        self.channels = channels
        ends_at_base = convention in ("tensor2tensor", "musicgen", "whisper")
        half = channels // 2 if ends_at_base else (channels + 1) // 2
        if ends_at_base:
            last = max(channels // 2 - 1, 1)
            self.inv_freq = [10000.0 ** (-p / last) for p in range(half)]
        else:
            self.inv_freq = [10000.0 ** (-2.0 * p / channels) for p in range(half)]
        if convention == "paper":
            sines, cosines = list(range(0, channels, 2)), list(range(1, channels, 2))
        elif convention == "musicgen":
            sines, cosines = list(range(half, 2 * half)), list(range(half))
        else:
            sines, cosines = list(range(half)), list(range(half, channels if not ends_at_base else 2 * half))
        self.sines, self.cosines = sines, cosines

    def of(self, t: Tensor) -> tuple[Tensor, Tensor]:
        """sin and cos of t w, [.., frequencies], float64."""
        wide = exact(t.device)
        angle = t.to(wide)[..., None] * constant(self.inv_freq, wide, t.device)
        return torch.sin(angle), torch.cos(angle)

    def rows(self, t: Tensor) -> Tensor:
        """[.., channels], float64."""
        sin, cos = self.of(t)
        columns = [torch.zeros_like(sin[..., 0])] * self.channels
        for place, channel in enumerate(self.sines):
            columns[channel] = sin[..., place]
        for place, channel in enumerate(self.cosines):
            columns[channel] = cos[..., place]
        return torch.stack(columns, dim=-1)

    def apart(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The channels of x that meet sines, and those that meet cosines, [.., frequencies] each."""
        pieces = []
        for channels in (self.sines, self.cosines):
            piece = x[..., torch.tensor(channels, dtype=torch.int64, device=x.device)]
            missing = len(self.inv_freq) - len(channels)
            pieces.append(torch.nn.functional.pad(piece, (0, missing)) if missing else piece)
        return pieces[0], pieces[1]
