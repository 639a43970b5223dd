"""What a model does with tokens besides attention: over ranks, that must not depend on where in a call they stand.

The plan says it of layers, not of what is around them: an embedding of neighbouring words, a head that takes the last token.
So a few tokens are computed twice, as they come and in another order, with their positions and with attention by these: what
a token gives must be the same. Where a table of positions is read from another row than the first, as of RoBERTa, the model
may add that itself, or count positions from there: which, the trial says too.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .. import _posenc
from .._graph_arguments import Layer
from ..torch import attend

_WHERE = "context_parallel"
# Each has another before it and another behind it than it has in order.
ORDER = torch.tensor([5, 2, 7, 0, 3, 6, 1, 4])
_tried: weakref.WeakKeyDictionary[nn.Module, int] = weakref.WeakKeyDictionary()


class OneRank:
    """In the place of Ranks, where all tokens are here, in some order."""

    def __init__(self, order: Tensor, backend: str) -> None:
        self.order = order
        self.backend: Any = "composed" if backend == "composed" else "auto"

    def attend(self, plan: _posenc.LayerPlan, tables: Mapping[str, Any], q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """[batch, tokens, heads, value_dim] of q, k, v, [batch, heads, tokens, channels]."""
        layer = Layer(plan, **{name: of for name, of in tables.items() if of is not None})
        order = self.order.to(q.device)
        q, k, v = (x.index_select(2, order.argsort()) for x in (q, k, v))
        out: Tensor = attend(layer, q, k, v, backend=self.backend)
        return out.index_select(2, order).transpose(1, 2).contiguous()


def require_tokens_alone(model: Any, layers: list[Any], axes: int, backend: str, offset: int) -> int:
    """The position of a text's first token, 0 or the offset. ValueError where the model itself knows in which order tokens
    come in a call. layers: AttendedLayer of its modules; axes: of position_ids, 0 where they have none. A model is tried
    once."""
    if model in _tried:
        return _tried[model]
    table = model.get_input_embeddings().weight
    words = ((torch.arange(1, len(ORDER) + 1) * max(table.shape[0] // 10, 1)) % table.shape[0]).to(table.device)
    before = [held.ranks for held in layers]
    try:
        with torch.no_grad(), _evaluating(model):
            wanted = _outputs(model, layers, words, torch.arange(len(ORDER)), None, backend)[ORDER]
            off_from = {}
            for start in {0, offset}:
                places = (ORDER.expand(axes, 1, -1) if axes else ORDER[None]) + start
                other = _outputs(model, layers, words[ORDER], ORDER, places.to(table.device), backend)
                # Of most tokens: rounding may send one to another expert.
                off_from[start] = float(((other - wanted).norm(dim=-1) / wanted.norm(dim=-1)).median())
    finally:
        for held, was in zip(layers, before):
            held.ranks = was
    start = min(off_from, key=lambda one: off_from[one])
    if not off_from[start] <= torch.finfo(model.dtype).eps ** 0.5:
        raise ValueError(
            f"[{_WHERE}] model must take each token by itself but for attention and position_ids, but what "
            f"{type(model).__name__} gives for {len(ORDER)} tokens in another order differs by {off_from[start]:.2g} of it"
        )
    _tried[model] = start
    return start


def _outputs(
    model: Any, layers: list[Any], words: Tensor, order: Tensor, places: Tensor | None, backend: str
) -> Tensor:
    """[tokens, channels] in double."""
    for held in layers:
        held.ranks = OneRank(order, backend)
    given = {} if places is None else {"position_ids": places}
    said = model(input_ids=words[None], use_cache=False, return_dict=True, **given)
    out = said.get("logits", said.get("last_hidden_state"))
    if not isinstance(out, Tensor) or out.shape[:-1] != (1, len(order)) or said.get("pooler_output") is not None:
        raise ValueError(
            f"[{_WHERE}] model must give logits or hidden states of each token, but {type(model).__name__} makes one result "
            "of several tokens, which lie on several ranks"
        )
    return out[0].double().cpu()


@contextlib.contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout."""
    training = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, was in training:
            module.training = was


class Loss:
    """In the place of a model's loss_function, which must be given shift_labels, and is asked whether it was."""

    def __init__(self, own: Any) -> None:
        self.own, self.was_called = own, False

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.was_called = kwargs.get("shift_labels") is not None and kwargs.get("num_items_in_batch") is not None
        return self.own(*args, **kwargs)
