"""What a module adds to scores by places, compared with the terms of its own plan, which posenc adds instead: a class
that does not read a key of its configuration adds what the plan does not have.

Looked at is the last query of a call, whose keys are at the most distances; as softmax does, up to what a row has in
common. Looked at again is what has twice as many keys: buckets of T5 begin to differ where its distances are large.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .. import _posenc
from .._score_tables import bare, reference_bias

_BY_PLACE = (_posenc.Alibi, _posenc.T5Bias)
_SAME = 1e-4  # of the largest: products and logarithms in float32 differ by less
_ROUNDED = 2.0**-6  # where they were computed in 16 bits, twice


class OwnBias:
    """own: the layer of the model's configuration. tables: what the model's own parameters are now, for its terms."""

    def __init__(self, own: _posenc.LayerPlan, tables: Callable[[], Mapping[str, Any]]) -> None:
        self._layer = own
        self._tables = tables
        self._compared = 0  # keys

    def compare(
        self, module: nn.Module, handed: Tensor | None, keys: int, last: int, shows: Tensor | None, places: Tensor | None
    ) -> None:
        """ValueError where they differ.

        handed: [..., heads, 1 or queries, keys or more of which the last count]; None: nothing is added. last: the key
        that the last query stands with. shows: [keys], those it sees. places: [keys], of a module that counts in
        another way.
        """
        terms = self._layer.score
        by_place = all(isinstance(term, _BY_PLACE) and not getattr(term, "gated", False) for term in terms)
        if not by_place or keys < 2 * self._compared or keys < 2:
            return
        if not terms and (handed is None or not bool(handed.any())):
            self._compared = keys
            return
        name = type(module).__name__
        has = ", ".join(type(term).__name__ for term in terms) or "none"
        if handed is None:
            raise ValueError(f"[use] {name} hands over no bias, but the model's plan has {has}")
        given = handed.detach().reshape(-1, *handed.shape[-3:])[0, :, -1, -keys:].double()
        seen = torch.arange(keys) <= last if self._layer.mask.kind == "causal" else torch.ones(keys, dtype=torch.bool)
        if shows is not None:
            seen &= shows
        if given.shape[-1] != keys or int(seen.sum()) < 2:
            return
        expected = self._expected(keys, last, places)
        rows = [of[:, seen] - of[:, seen][:, -1:] for of in (given, expected)]
        most = max(float(of.abs().max()) for of in rows)
        off_by = _SAME if handed.dtype.itemsize >= 4 else _ROUNDED
        far = float((rows[0] - rows[1]).abs().max())
        if not far <= off_by * most:
            raise ValueError(
                f"[use] {name} hands over a bias that differs by up to {far:.3g} from the one of the model's plan, {has}: "
                "the class does not do what its configuration says, or somebody has changed the model"
            )
        self._compared = keys

    def _expected(self, keys: int, last: int, places: Tensor | None) -> Tensor:
        """[heads, keys], of the last query."""
        layer = bare(self._layer, *self._layer.score)
        if not self._layer.score:
            return torch.zeros(self._layer.heads, keys, dtype=torch.float64)
        count = keys if places is None else int(places.max()) + 1
        of_query = last if places is None else int(places[last])
        weights = self._tables().get("score_weights", (None,) * len(self._layer.score))
        row = reference_bias(layer, weights, range(of_query, of_query + 1), range(count))[:, 0].double()
        return row if places is None else row[:, places]
