"""A model of transformers whose tokens lie on several ranks: posenc.transformers.use, with attention over all of them."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .. import _posenc
from .._attention_modules import attending
from .._carried_out import main_rope
from .._graph_arguments import Layer
from .._held import replace
from ._agreement import agree
from ._arguments import BACKENDS, call_of, group_of, ulysses_ranks_of
from ._attend import Attention
from ._exchange import Exchange, RankError, Traffic
from ._schedule import as_tensor
from ._whole_model import Loss, require_tokens_alone

if TYPE_CHECKING:
    from ..transformers import Changed

_WHERE = "context_parallel"


@contextlib.contextmanager
def _heard_by_all(group: Any, timeout: float) -> Iterator[None]:
    """An error in it is one of all ranks: the others hear of it where they agree on what attention is given."""
    try:
        yield
    except Exception as problem:
        with contextlib.suppress(RankError):
            agree(Exchange(_WHERE, group, timeout, Traffic()), {}, problem)
        raise


@dataclass(eq=False)
class Ranks:
    """What attention of posenc.transformers asks where a model is in use over ranks."""

    sharding: _posenc.Sharding
    group: Any
    mode: str
    backend: str
    ulysses_ranks: int | None
    timeout: float
    traffic: Traffic | None
    start: int = 0  # of the model's positions

    @functools.cached_property
    def order(self) -> Tensor:
        """Of this rank's tokens, each in its document."""
        return as_tensor(self.sharding.ranks[dist.get_rank(self.group)].order, torch.int64)

    @functools.cached_property
    def position_ids(self) -> Tensor:
        """[1, tokens of this rank]; of a sharding with positions [axes, 1, tokens]."""
        if not self.sharding.axes:
            return self.order.unsqueeze(0) + self.start
        positions = as_tensor(self.sharding.ranks[dist.get_rank(self.group)].positions, torch.float64)
        return positions.to(torch.int64).unsqueeze(1)

    def attend(self, plan: _posenc.LayerPlan, tables: Mapping[str, Any], q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """[batch, tokens, heads, value_dim] of q, k, v, [batch, heads, tokens, channels]."""
        is_one = q.shape[0] == 1  # several documents come without a batch
        if is_one:
            q, k, v = (x[0].transpose(0, 1) for x in (q, k, v))
        numbers = {"prefix": 0, "length": None, "q_rotated": False, "k_rotated": False}
        given = dict.fromkeys(("attn_mask", "bias", "q_segments", "k_segments", "log_forget", "row_gate"))
        layer = Layer(plan, **{name: of for name, of in tables.items() if of is not None})
        call, tensors = call_of(
            q, k, v, layer, self.group, self.mode, self.sharding, None, self.ulysses_ranks, given, numbers, None, self.backend,
            self.timeout, self.traffic,
        )  # fmt: skip
        out: Tensor = Attention.apply(call, q, k, v, *tensors)[0]  # type: ignore[no-untyped-call]
        return out.unsqueeze(0) if is_one else out.transpose(1, 2).contiguous()

    def before_forward(self, model: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """given_to, or its error."""
        with _heard_by_all(self.group, self.timeout):
            return self.given_to(model, args, kwargs)

    def given_to(self, model: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Positions of this rank's tokens are given to the model; what only one rank would understand is refused."""
        order = self.order
        tokens = next((x for x in (*args[:1], kwargs.get("input_ids"), kwargs.get("inputs_embeds")) if x is not None), None)
        if tokens is None or tokens.shape[1] != len(order):
            there = "none" if tokens is None else f"{tokens.shape[1]} of them"
            raise ValueError(
                f"[{_WHERE}] input_ids must be the {len(order)} tokens that the sharding deals to this rank, but are {there}"
            )
        if self.start and not tokens.is_floating_point() and bool((tokens == self.start - 1).any()):
            raise ValueError(
                f"[{_WHERE}] input_ids must have no {self.start - 1}, the model's padding, behind which it counts positions in "
                "another way"
            )
        if len(args) > 1:
            raise ValueError(f"[{_WHERE}] the model must be given input_ids alone by place, and the rest by name")
        if kwargs.get("labels") is not None:
            self._check_loss(model, kwargs)
        if kwargs.get("past_key_values") is not None or kwargs.get("use_cache"):
            raise ValueError(f"[{_WHERE}] use_cache must be omitted: posenc.distributed.ShardedCache is for decode")
        mask = kwargs.pop("attention_mask", None)
        if mask is not None and not bool((mask == 1).all()):
            raise ValueError(f"[{_WHERE}] attention_mask must be omitted or of ones: documents need no padding")
        given, own = kwargs.pop("position_ids", None), self.position_ids.to(tokens.device)
        if given is not None and not torch.equal(given, own.expand(given.shape)):
            raise ValueError(f"[{_WHERE}] position_ids must be omitted, or those that the sharding gives to this rank")
        for name, x in kwargs.items():
            if isinstance(x, Tensor) and x.dim() and x.shape[1:2] != order.shape:
                raise ValueError(
                    f"[{_WHERE}] {name} must be of this rank's tokens, [batch, {len(order)}, ..], but is {list(x.shape)}: what "
                    "towers make of images or sound comes in inputs_embeds"
                )
        return args, kwargs | {"position_ids": own, "use_cache": False}

    @staticmethod
    def _check_loss(model: nn.Module, kwargs: dict[str, Any]) -> None:
        for name, what in (
            ("shift_labels", "this rank's part of the labels that follow: the token that follows may lie on another rank"),
            ("num_items_in_batch", "how many labels all ranks have: what a rank divides its sum by"),
        ):
            if kwargs.get(name) is None:
                raise ValueError(f"[{_WHERE}] labels must come with {name}, {what}")
        asked = kwargs.get("output_router_logits")
        if getattr(model.config, "output_router_logits", False) if asked is None else asked:
            raise ValueError(
                f"[{_WHERE}] output_router_logits must be False beside labels: the model would add to the loss how evenly "
                "this rank's tokens alone fall to experts"
            )

    def after_forward(self, model: Any, args: Any, kwargs: dict[str, Any], said: Any) -> None:
        if kwargs.get("labels") is not None and not model.loss_function.was_called:
            raise ValueError(
                f"[{_WHERE}] labels must be omitted: {type(model).__name__} makes a loss that knows nothing of shift_labels "
                "and num_items_in_batch; make it of the logits"
            )


def _check(model: nn.Module, plan: _posenc.Plan, sharding: Any, group: Any) -> None:
    if not isinstance(sharding, _posenc.Sharding):
        raise TypeError(f"[{_WHERE}] sharding must be a posenc.Sharding, of posenc.shard, but is a {type(sharding).__name__}")
    ranks = dist.get_world_size(group)
    if len(sharding.ranks) != ranks:
        raise ValueError(f"[{_WHERE}] sharding must deal to the {ranks} ranks of the group but deals to {len(sharding.ranks)}")
    axes = _axes(plan)
    if sharding.axes not in (0, axes):
        has = f"of {axes} axes, as the model has them" if axes else "omitted for a model that has one of each token, its order"
        raise ValueError(f"[{_WHERE}] positions of the sharding must be {has}, but are of {sharding.axes}")
    other = {str(layer.kind) for stack in plan.stacks for layer in stack.layers} - {"attention"}
    if len(plan.stacks) != 1 or other:
        what = f"has {' and '.join(sorted(other))} layers" if other else f"has {len(plan.stacks)} stacks"
        raise ValueError(
            f"[{_WHERE}] model must be a decoder in which attention alone goes from token to token, but "
            f"{type(model).__name__} {what}"
        )


def _backend_for(model: nn.Module, backend: str) -> str:
    """ValueError for one that cannot compute where the model is."""
    if backend not in ("auto", *BACKENDS):
        raise ValueError(f"[{_WHERE}] backend must be one of auto, {', '.join(BACKENDS)} but is {backend!r}")
    device = next((x.device for x in model.parameters()), torch.device("cpu"))
    others = {str(x.device) for x in (*model.parameters(), *model.buffers()) if x.device != device}
    if others or device.type == "meta":
        raise ValueError(f"[{_WHERE}] model must be on one device, but is on {', '.join(sorted(others | {str(device)}))}")
    if backend == "kernel" and device.type != "cpu":
        raise ValueError(f"[{_WHERE}] backend must be 'composed' for a model on {device} but is 'kernel'")
    return ("kernel" if device.type == "cpu" else "composed") if backend == "auto" else backend


def _axes(plan: _posenc.Plan) -> int:
    """Of the model's position_ids; 0 where they are a number for each token."""
    ropes = (main_rope(layer) for stack in plan.stacks for layer in stack.layers)
    axes = max((len(rope.axes.names) for rope in ropes if rope is not None and rope.axes is not None), default=0)
    return axes if axes > 1 else 0


def _offset(plan: _posenc.Plan) -> int:
    """Of the row of a table of positions that the first token takes; 0 where there is no table."""
    tables = (one for stack in plan.stacks for one in stack.input if isinstance(one, _posenc.LearnedInput))
    return next((int(one.offset) for one in tables), 0)


@contextlib.contextmanager
def context_parallel(
    model: Any,
    group: Any = None,
    *,
    sharding: _posenc.Sharding,
    mode: str = "ring",
    backend: str = "auto",
    ulysses_ranks: int | None = None,
    plan: _posenc.Plan | None = None,
    scheme: Any = None,
    weights: Mapping[str, Any] | Sequence[Mapping[str, Any] | None] | None = None,
    timeout: float = 300.0,
    traffic: Traffic | None = None,
) -> Iterator[Changed]:
    """Within it, a model of transformers attends over the ranks of a group: each calls it with its own tokens.

        sharding = posenc.shard(ranks, cu_seqlens=ends)
        own, following = (pd.take(x, sharding, rank, dim=1) for x in (input_ids, labels_that_follow))
        with pd.context_parallel(model, mesh["cp"], sharding=sharding):
            loss = model(own, labels=following, shift_labels=following, num_items_in_batch=count).loss
            loss.backward()  # and the sum of gradients over ranks

    model, plan, scheme, weights: as of posenc.transformers.use, with the plan's masks, but the model may be on another device:
    then rotations and attention are of operations of torch, as with backend="composed". group, mode, ulysses_ranks, backend,
    timeout, traffic: as of attend. Positions are given to the model: those of the sharding, [axes, tokens] for a model that has
    several (M-RoPE); without, in each document from 0. input_ids: [batch, tokens of this rank], of a batch of 1 where the
    sharding has several documents; or inputs_embeds, which have what towers make of images.

    ValueError on all ranks, when it is entered, for a model in which anything but attention goes from token to token, and for what
    use() refuses. What the plan does not say is tried, once a model: 8 tokens in two orders, without gradients. When the
    model is called, for labels without shift_labels (the next token may lie on another rank) and
    num_items_in_batch, masks with padding, KV caches, other positions, and tensors of other tokens of any of them; and for
    losses of its own.
    """
    from ..transformers import in_use
    from .._read_plan import read_plan
    from .._text_part import TextPart

    ulysses_ranks = ulysses_ranks_of(group, mode, ulysses_ranks)
    group = group_of(group, mode)
    with contextlib.ExitStack() as undo:
        with _heard_by_all(group, timeout):
            backend = _backend_for(model, backend)
            part = TextPart(model).stacks(read_plan(model.config) if plan is None else plan)
            _check(model, part, sharding, group)
            ranks = Ranks(sharding, group, mode, backend, ulysses_ranks, timeout, traffic)
            longest = max((max(one.order, default=0) for one in sharding.ranks), default=0) + 1
            how = {"plan": plan, "scheme": scheme, "weights": weights, "angles": "exact", "length": longest, "masks": "plan"}
            changed = undo.enter_context(in_use(model, composed=backend == "composed", **how))
            count = sum(len(attending(stack)) for stack in part.stacks)
            if len(changed.attention) != count:
                raise ValueError(
                    f"[{_WHERE}] attention of the model must be posenc's in all {count} layers, but it is in "
                    f"{len(changed.attention)} modules"
                )
            layers = [model.get_submodule(name)._posenc_layer for name in changed.attention]
            ranks.start = require_tokens_alone(model, layers, _axes(part), backend, _offset(part))
            for held in layers:
                held.ranks = ranks
            undo.callback(model.register_forward_pre_hook(ranks.before_forward, with_kwargs=True).remove)
            undo.callback(model.register_forward_hook(ranks.after_forward, with_kwargs=True).remove)
            replace(undo, model, "_loss_function", Loss(model.loss_function))
        yield changed
