"""What the roundings of float32 do to the logits of a model, by experiment.

The model runs in float64, also where its code asks for float32, and the result of every operation is moved by up to
half a unit in the last place of float32, at random: by u 2^-24 |y|, u even in [-1, 1]. What is drawn follows from the
operation and from how large its result is, not from what came before it, so that the bound is the same in whatever
order a model works, on any processor and with any number of threads. A product of matrices rounds each of its n
partial sums. Of terms of any sign and of size t, the k-th is about sqrt(k) t, so that their roundings add up to
sqrt(sum k) t 2^-24 / sqrt(3) = n t 2^-24 / sqrt(6): of the size of u 2^-24 |a| |b|, for n t is the product of the
lengths of row and column. Sums in another order round less. What only moves numbers, picks them, or makes float32 of
what is float32, rounds nothing.

The bound is on the root mean square of the difference of two runs in float32, the model's own and posenc's. Each is one
draw of such roundings, so that their difference is sqrt(2) times the root of the mean square that the experiment gives.
The mean square of logits that hang on k roundings of about equal weight goes as chi^2_k / k; of a model of two layers
hundreds are felt, and were it 10, more than 3 times the expected square would come once in 2000, more than 4 times once
in 10^5. Hence twice the root:

    bound = 2 sqrt(2) rms(moved - exact)

No bound was fitted to a difference.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map

DRAWS = 4
OVER_ROUNDINGS = 2 * math.sqrt(2)
SPOILED_OVER_BOUND = 100
HALF_UNIT = 2.0**-24
WHOLE = 2.0**24  # whole numbers below are floats, and floors of them are not to jump
MASKED = 1e30  # what a mask adds is larger: moved, it would overflow

_MOVES = {
    "arange", "as_strided", "cat", "clone", "copy_", "embedding", "empty", "empty_like", "expand", "fill_", "full",
    "full_like", "gather", "index", "index_put_", "index_select", "masked_fill", "masked_fill_", "max", "min",
    "maximum", "minimum", "neg", "new_empty", "new_zeros", "ones", "ones_like", "relu", "repeat", "scalar_tensor",
    "scatter", "select", "slice", "sort", "stack", "topk", "tril", "triu", "where", "zero_", "zeros", "zeros_like",
    "lift_fresh", "abs", "clamp", "clamp_min", "clamp_max", "floor", "roll", "flip", "constant_pad_nd", "split",
    "_to_copy",
}  # fmt: skip


def _lengths(name: str, args: tuple[Any, ...]) -> Tensor | None:
    """Of row and column, multiplied: what the roundings of a product of matrices are of the size of."""
    factors = {"mm": args[:2], "bmm": args[:2], "addmm": args[1:3], "baddbmm": args[1:3]}.get(name)
    if factors is None:
        return None
    return factors[0].norm(dim=-1, keepdim=True) * factors[1].norm(dim=-2, keepdim=True)


class Doubles(TorchDispatchMode):
    """Within it, what asks for float32, as norms and softmaxes do, or for no type, is given float64."""

    def __enter__(self) -> Any:
        self._before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        return super().__enter__()

    def __exit__(self, *what: Any) -> None:
        super().__exit__(*what)
        torch.set_default_dtype(self._before)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = tree_map(lambda x: torch.float64 if x is torch.float32 else x, (args, kwargs or {}))
        return func(*args, **kwargs)


class Moved(Doubles):
    """Within it, every result is moved."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed

    def _drawn(self, name: str, y: Tensor) -> Tensor:
        """u: of five digits of a sum without cancellation, which roundings of float64 leave alone."""
        what = f"{self._seed} {name} {tuple(y.shape)} {float(y.abs().sum()):.4e}"
        generator = torch.Generator().manual_seed(zlib.crc32(what.encode()))
        return 2 * torch.rand(y.shape, generator=generator, dtype=torch.float64) - 1

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = super().__torch_dispatch__(func, types, args, kwargs)
        name = func.overloadpacket.__name__
        if name in _MOVES or func.is_view:
            return result
        for y in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(y, Tensor) and y.dtype in (torch.float64, torch.float32):
                size = _lengths(name, args)
                moved = y + self._drawn(name, y) * HALF_UNIT * (y.abs() if size is None else size)
                is_exact = (y == y.round()) & (y.abs() < WHOLE)
                y.copy_(torch.where((y.abs() < MASKED) & ~is_exact, moved, y))
        return result


def rms(x: Tensor) -> float:
    return float(x.double().square().mean().sqrt())


def bound(run: Callable[[], Tensor]) -> float:
    """Of a difference of two runs in float32, of which `run` gives the logits in float64."""
    with Doubles():
        exact = run()
    squares = 0.0
    for seed in range(DRAWS):
        with Moved(seed):
            squares += rms(run() - exact) ** 2
    return OVER_ROUNDINGS * math.sqrt(squares / DRAWS)
