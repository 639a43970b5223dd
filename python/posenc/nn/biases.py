"""Score terms that know places alone: each gives its bias, [heads, queries, keys], to any attention.

ALiBi arXiv 2108.12409, T5 1910.10683, Swin 2103.14030, KERPLE 2205.09921, FIRE 2310.04418, Sandwich 2212.10356
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from .. import _posenc
from .._composed.layer import TERMS
from .._composed.part import Call, Part
from .._composed.rows import rows_of
from .scheme import SchemeModule, linear_of


class PlaceBias(SchemeModule):
    """forward(queries, keys): the bias as a matrix. Within posenc.nn.Attention there is none."""

    def forward(
        self, queries: int, keys: int | None = None, *, device: Any = None, dtype: Any = torch.float32
    ) -> Tensor:
        """[heads, queries, keys]; the last query stands with the last key. keys: as many as queries, if left out."""
        keys = queries if keys is None else keys
        parameter = next(iter(self.parameters()), None)
        own: Any = "cpu" if parameter is None else parameter.device
        return self._matrix(queries, keys, torch.device(own if device is None else device), dtype, 1, {})

    def _matrix(self, queries: int, keys: int, device: Any, dtype: Any, axes: int, given: dict[str, Any]) -> Tensor:
        names = ("q_positions", "k_positions", "q_order", "k_order", "cu_seqlens_q", "cu_seqlens_k")
        rows = rows_of(axes, 1, queries, keys, device, {**dict.fromkeys(names), **given})
        q = torch.zeros(1, self.heads, queries, 1, device=device, dtype=dtype)
        k = torch.zeros(1, self.heads, keys, 1, device=device, dtype=dtype)
        call = Call(q, k, rows, self.heads, self.heads, 1.0, {"k_order": None})
        plan = self.plan(1, 1, self.heads, 1.0, _posenc.Mask(kind="bidirectional"))
        term = TERMS[type(self.scheme)](self.scheme, plan)
        part = Part(call, q, k, 0, queries, 0, keys, rows.q, rows.k)
        bias = term.scores(term.begin(self.tables(), call), part)
        return bias.expand(1, self.heads, queries, keys)[0]


class ALiBi(PlaceBias):
    """-slope_h (i - j). learned: the slopes are parameters, and begin as the paper's."""

    def __init__(self, heads: int, *, learned: bool = False, **scheme: Any) -> None:
        super().__init__(_posenc.Alibi(heads=heads, **scheme), heads)
        self.slopes = nn.Parameter(torch.tensor(_posenc.alibi_slopes(self.scheme))) if learned else None

    def tables(self, **others: Any) -> dict[str, Any] | None:
        return None if self.slopes is None else {"slopes": self.slopes}


class T5RelativeBias(PlaceBias):
    """A learned number per head and bucket of i - j. table: [buckets, heads], T5's relative_attention_bias.weight, of which
    the state dict loads too."""

    def __init__(self, heads: int, **scheme: Any) -> None:
        super().__init__(_posenc.T5Bias(**scheme), heads)
        self.table = nn.Parameter(torch.randn(self.scheme.buckets, heads) / math.sqrt(heads))

    def _load_from_state_dict(self, state: dict[str, Tensor], prefix: str, *others: Any, **more: Any) -> None:
        if f"{prefix}weight" in state:
            state[f"{prefix}table"] = state.pop(f"{prefix}weight")
        super()._load_from_state_dict(state, prefix, *others, **more)

    def tables(self, **others: Any) -> dict[str, Any] | None:
        return {"table": self.table}


class ClippedRelativeBias(PlaceBias):
    """A learned number per head and distance, clipped to [-future, past]."""

    def __init__(self, heads: int, past: int, future: int = 0) -> None:
        super().__init__(_posenc.ClippedBias(past=past, future=future), heads)
        self.table = nn.Parameter(torch.zeros(past + future + 1, heads))

    def tables(self, **others: Any) -> dict[str, Any] | None:
        return {"table": self.table}


class GridRelativeBias(PlaceBias):
    """Swin: a learned number per head and difference of row and column, within windows of rows x columns tokens. table:
    [(2 rows - 1) (2 columns - 1), heads], Swin's relative_position_bias_table. Attention takes positions [2, tokens]."""

    def __init__(self, heads: int, rows: int, columns: int) -> None:
        super().__init__(_posenc.GridBias(rows=rows, columns=columns), heads)
        self.table = nn.Parameter(torch.randn((2 * rows - 1) * (2 * columns - 1), heads) * 0.02)
        self.sides = (rows, columns)

    def positions(self, *, device: Any = None) -> Tensor:
        """[2, rows * columns]: row and column of each token of a window."""
        lines = [torch.arange(side, device=device) for side in self.sides]
        return torch.stack(torch.meshgrid(*lines, indexing="ij")).flatten(1)

    def tables(self, **others: Any) -> dict[str, Any] | None:
        return {"table": self.table}

    def forward(  # type: ignore[override]  # the window says how many
        self, *, device: Any = None, dtype: Any = torch.float32
    ) -> Tensor:
        """[heads, tokens, tokens] of a window."""
        at = self.positions(device=self.table.device if device is None else device)
        return self._matrix(at.shape[1], at.shape[1], at.device, dtype, 2, {"q_positions": at, "k_positions": at})


class Kerple(PlaceBias):
    """-r1 ln(1 + r2 |i - j|), or with form="power" -r1 |i - j|^r2. Parameters are clamped above 0 as they are read."""

    least = 0.01  # of r1 and r2, as the paper's program clamps them

    def __init__(self, heads: int, **scheme: Any) -> None:
        super().__init__(_posenc.Kerple(**scheme), heads)
        self.r1 = nn.Parameter(torch.rand(heads) * 2)
        self.r2 = nn.Parameter(torch.rand(heads))

    def tables(self, **others: Any) -> dict[str, Any] | None:
        return {"r1": self.r1.clamp(min=self.least), "r2": self.r2.clamp(min=self.least)}


class Fire(PlaceBias):
    """A perceptron of psi(i - j) / psi(max(L, i)), psi(x) = ln(c x + 1). c and L are learned, as the paper's program has
    them: |c|, and L a multiplier of `length`."""

    def __init__(self, heads: int, *, width: int = 32, length: float = 512.0, c: float = 0.1) -> None:
        super().__init__(_posenc.Fire(), heads)
        self.hidden, self.out = nn.Linear(1, width), nn.Linear(width, heads)
        self.c, self.multiplier = nn.Parameter(torch.tensor(c)), nn.Parameter(torch.tensor(1.0))
        self.length = length
        self.least = 1e-6  # of c and L, which divide and are divided by

    def tables(self, **others: Any) -> dict[str, Any] | None:
        c, threshold = self.c.abs(), (self.multiplier * self.length).abs()
        numbers = {"c": c.clamp(min=self.least), "threshold": threshold.clamp(min=self.least)}
        return {**numbers, "hidden": linear_of(self.hidden), "out": linear_of(self.out)}


class Sandwich(PlaceBias):
    """What the product of two sinusoids leaves of a distance. Nothing is learned."""

    def __init__(self, heads: int, channels: int = 128) -> None:
        super().__init__(_posenc.Sandwich(heads=heads, channels=channels), heads)


class MlpRelativeBias(PlaceBias):
    """A learned perceptron of the distance, SiLU between `depth` hidden layers and the last."""

    def __init__(self, heads: int, *, width: int = 32, depth: int = 1, logarithmic: bool = False) -> None:
        super().__init__(_posenc.MlpBias(logarithmic=logarithmic), heads)
        widths = [1] + [width] * depth + [heads]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:]))

    def tables(self, **others: Any) -> dict[str, Any] | None:
        return {"layers": [linear_of(layer) for layer in self.layers]}  # type: ignore[arg-type]
