"""Rows of a fixed encoding, added to embeddings, for encodings of which posenc.nn has no module."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import posenc

from .scheme import Sizes


class FixedRows(nn.Module):
    def __init__(self, scheme: Any, sizes: Sizes) -> None:
        super().__init__()
        rows = [posenc.input_row(scheme, sizes.width, place) for place in range(sizes.longest)]
        self.table: Tensor
        self.register_buffer("table", torch.tensor(rows, dtype=torch.float32))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table[: x.shape[1]]
