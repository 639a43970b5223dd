"""posenc.add_input against what models do to their embeddings: hidden + table[positions], and fairseq's sinusoids.

Embeddings are [8, tokens, 1024]. Every candidate makes a new array, but "in place", which is what an engine would call.
A copy into memory that is there is the least that a call which is not in place can take.
"""

from __future__ import annotations

import numpy as np
import torch
from taking_turns import Candidate, Case

import posenc

BATCH, CHANNELS = 8, 1024
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
SINES = posenc.SinusoidalInput(convention="tensor2tensor", offset=2)


def embeddings(tokens: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(BATCH, tokens, CHANNELS, generator=torch.Generator().manual_seed(3)).to(dtype)


def _common(x: torch.Tensor, prepared: posenc.PreparedInput, threads: int) -> list[Candidate]:
    own, to = x.clone(), torch.empty_like(x)
    return [
        Candidate("posenc", lambda: posenc.add_input(prepared, x, threads=threads), is_ours=True),
        Candidate("posenc in place", lambda: posenc.add_input(prepared, own, out=own, threads=threads), is_ours=True),
        Candidate("a copy", lambda: to.copy_(x), is_floor=True),
    ]


def _learned(dtype: torch.dtype, tokens: int, threads: int) -> list[Candidate]:
    x = embeddings(tokens, dtype)
    table = torch.randn(tokens + 2, CHANNELS, generator=torch.Generator().manual_seed(4)).to(dtype)
    ids = torch.arange(2, tokens + 2)
    prepared = posenc.prepare_input(posenc.LearnedInput(offset=2), weights=posenc.LearnedInputWeights(positions=table))
    candidates = _common(x, prepared, threads)
    candidates.append(Candidate("torch, x + embedding", lambda: x + torch.nn.functional.embedding(ids, table)))
    if dtype == torch.float32:
        a, rows, numbers = x.numpy(), table.numpy(), ids.numpy()
        candidates.append(Candidate("NumPy, x + table[ids]", lambda: a + rows[numbers]))
    return candidates


def _sinusoidal(dtype: torch.dtype, tokens: int, threads: int) -> list[Candidate]:
    x = embeddings(tokens, dtype)
    prepared = posenc.prepare_input(SINES, channels=CHANNELS, count=tokens)
    unheld = posenc.prepare_input(SINES, channels=CHANNELS)
    rows = torch.from_numpy(
        np.array([posenc.input_row(SINES, CHANNELS, place) for place in range(tokens)], np.float32)
    ).to(dtype)
    half = CHANNELS // 2
    inv_freq = torch.exp(torch.arange(half, dtype=torch.float32) * -(np.log(10000.0) / (half - 1)))

    def made() -> torch.Tensor:
        angles = torch.arange(2, tokens + 2, dtype=torch.float32)[:, None] * inv_freq
        return x + torch.cat((angles.sin(), angles.cos()), -1).to(dtype)

    return [
        *_common(x, prepared, threads),
        Candidate("posenc, rows made", lambda: posenc.add_input(unheld, x, threads=threads), is_ours=True),
        Candidate("torch, rows held", lambda: x + rows),
        Candidate("torch, rows made", made),
    ]


def cases(lengths: list[int], threads: int) -> list[Case]:
    makers = {"learned": _learned, "sinusoidal": _sinusoidal}
    return [
        Case(
            f"input/{scheme}/{name}/{tokens}",
            lambda make=make, dtype=dtype, tokens=tokens: make(dtype, tokens, threads),
        )
        for scheme, make in makers.items()
        for name, dtype in DTYPES.items()
        for tokens in lengths
    ]
