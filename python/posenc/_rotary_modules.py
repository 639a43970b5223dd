"""The rotary modules of a model of transformers, and the functions that apply RoPE with them, replaced by posenc.

A model has a module that makes cos and sin of positions once a forward pass, XRotaryEmbedding, and its attention gives
them with queries and keys to a function of its file, apply_rotary_pos_emb or the like. The arrangement of cos and sin
differs (a number a pair, both halves, each number twice, complex), and so does the pairing, which only the function
knows. Rotary gives posenc's numbers in the model's arrangement; they carry a Rotation, by which the function that stands
in for the model's rotates queries and keys by the plan's pairing, and which knows nothing of arrangements. What rotates
clockwise has negative sines, which nanochat's own function would negate again: it is not given them.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from . import _posenc
from .torch import adjacent

# What rotates; what makes the numbers is found by its class.
_APPLY = re.compile(r"apply_.*rotary")
_ANGLES = ("cos", "sin", "freqs_cis", "freqs_cos", "freqs_sin")
_QUERIES = ("q", "xq", "x", "tensor", "query")
_KEYS = ("k", "xk", "key")


class Rotation:
    """cos and sin of the tokens of one forward pass, and whatever rotates by them."""

    def __init__(self, rope: _posenc.Rope, cos: Tensor, sin: Tensor, batch: int) -> None:
        self.rope = rope
        self.cos = cos  # [batch * tokens, pairs], as sin
        self.sin = sin
        self.batch = batch
        self.tokens = cos.shape[0] // batch
        self._tables: dict[int, _posenc.RotaryTable] = {}

    def _table(self, width: int) -> _posenc.RotaryTable:
        """For heads of `width` channels: models with a part that is not rotated may give the other alone."""
        if width not in self._tables:
            first = 0 if width == self.rope.dim else self.rope.first_channel
            layout = _posenc.RotaryLayout(
                pairing=self.rope.pairing, head_dim=width, first_channel=first, dim=self.rope.dim
            )
            self._tables[width] = _posenc.table_from_cos_sin(layout, self.cos, self.sin)
        return self._tables[width]

    def queries(self, x: Tensor, token_axis: int | None) -> Tensor:
        """x: [batch, heads, tokens, channels] or [batch, tokens, heads, channels], as token_axis says, or sizes do."""
        if token_axis is None:
            token_axis = 2 if x.shape[2] == self.tokens else 1
        by_head = x if token_axis == 2 else x.transpose(1, 2)
        rows = torch.arange(self.cos.shape[0]).view(self.batch, -1)
        places = rows.expand(x.shape[0], -1).reshape(1, -1).contiguous()
        rotate = _Rotated.apply if has_gradient(by_head) else _rotated
        rotated = rotate(by_head, self._table(x.shape[-1]), places, "forward")
        return rotated if token_axis == 2 else rotated.transpose(1, 2)

    def keys(self, x: Tensor, token_axis: int | None) -> Tensor:
        return self.queries(x, token_axis)


def has_gradient(*read: Tensor | None) -> bool:
    """Whether torch wants to know what was read, for a backward pass."""
    return torch.is_grad_enabled() and any(of is not None and of.requires_grad for of in read)


def _rotated(x: Tensor, table: _posenc.RotaryTable, places: Tensor, direction: str) -> Tensor:
    return _posenc.rotate(x.detach(), table=table, positions=places, direction=direction)


class _Rotated(torch.autograd.Function):
    """_rotated with its backward pass, which rotates by the transpose."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, table: _posenc.RotaryTable, places: Tensor, direction: str) -> Tensor:
        ctx.by = (table, places, "transpose" if direction == "forward" else "forward")
        return _rotated(x, table, places, direction)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return _Rotated.apply(adjacent(grads[0]), *ctx.by), None, None, None


def _arranged(rows: Tensor, like: Tensor, probe: Tensor) -> Tensor:
    """rows, [.., pairs], as the model's module arranges them: `probe` is its answer for a token at position 1."""
    pairs, width = rows.shape[-1], like.shape[-1]
    if width == pairs:
        return rows
    halves = bool((probe[..., :pairs] == probe[..., pairs:]).all())
    return torch.cat((rows, rows), -1) if halves else rows.repeat_interleave(2, -1)


class Rotary(nn.Module):
    """In place of a rotary module: the same call, posenc's numbers."""

    def __init__(
        self, original: nn.Module, ropes: Mapping[str | None, _posenc.Rope], angles: str, length: int | None
    ) -> None:
        super().__init__()
        self.original = original
        self.ropes = ropes  # by layer type; None where the model has one kind
        self.angles = angles
        self.length = length

    def forward(self, x: Tensor, position_ids: Tensor, layer_type: str | None = None) -> Any:
        rope = self.ropes[layer_type] if layer_type in self.ropes else self.ropes[None]
        named = {} if layer_type is None else {"layer_type": layer_type}
        probe = self.original(x, torch.ones_like(position_ids[..., :1]), **named)
        axes = position_ids.reshape(-1, *position_ids.shape[-2:]).shape[0]
        length = self.length or int(position_ids.max()) + 1
        places = position_ids.reshape(axes, -1)[: len(rope.axes.names)].to(torch.int64).contiguous()
        cos, sin = _posenc.cos_sin(rope, places, length=length, angles=self.angles)
        cos, sin = torch.as_tensor(cos), torch.as_tensor(sin)
        batch = position_ids.shape[-2]
        rotation = Rotation(rope, cos, sin, batch)
        shaped = [rows.view(batch, -1, rows.shape[-1]) for rows in (cos, sin)]
        if isinstance(probe, Tensor):
            given = torch.complex(*shaped)
            given.posenc_rotation = rotation  # type: ignore[attr-defined]
            return given
        result = []
        for rows, seen in zip(shaped, probe):
            arranged = _arranged(rows, seen, probe[0]).to(seen.dtype)
            arranged.posenc_rotation = rotation  # type: ignore[attr-defined]
            result.append(arranged)
        return tuple(result)


def _given_rotation(given: dict[str, Any], ropes: Mapping[str | None, _posenc.Rope]) -> Rotation | None:
    """What cos carries; or cos and sin themselves, where the model keeps a table, a number a pair (GPT-J)."""
    for name in _ANGLES:
        if hasattr(given.get(name), "posenc_rotation"):
            return given[name].posenc_rotation
    cos, sin = given.get("cos"), given.get("sin")
    rope = ropes.get(None)
    if rope is None or not isinstance(cos, Tensor) or cos.shape[-1] != rope.pairs:
        return None
    rows = [x.reshape(-1, rope.pairs).float().contiguous() for x in (cos, sin)]
    return Rotation(rope, *rows, batch=cos.shape[0])


def _standing_in(original: Callable[..., Any], ropes: Mapping[str | None, _posenc.Rope]) -> Callable[..., Any]:
    """What a model's own function to apply RoPE is replaced by while posenc is in use."""
    signature = inspect.signature(original)

    def apply(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        rotation = _given_rotation(given, ropes)
        if rotation is None:
            return original(*args, **kwargs)
        # unsqueeze_dim is where cos gets an axis for the heads.
        unsqueezed = given.get("unsqueeze_dim")
        token_axis = None if unsqueezed is None else 3 - unsqueezed
        rotated = [rotation.queries(given[name], token_axis) for name in _QUERIES if given.get(name) is not None]
        rotated += [rotation.keys(given[name], token_axis) for name in _KEYS if given.get(name) is not None]
        return rotated[0] if len(rotated) == 1 else tuple(rotated)

    return apply


def rotary_modules(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Their names within the model, and they; also of those that a Rotary stands for.

    Those of vision and audio towers take other arguments, and are not among them.
    """
    replaced = {id(module.original): name for name, module in model.named_modules() if isinstance(module, Rotary)}
    for name, module in model.named_modules():
        name = replaced.get(id(module), name)
        if not type(module).__name__.endswith("RotaryEmbedding"):
            continue
        if list(inspect.signature(module.forward).parameters)[:2] == ["x", "position_ids"]:
            yield name, module


def angle_buffers(
    model: nn.Module, ropes: Mapping[str | None, _posenc.Rope], angles: str
) -> Iterator[tuple[str, nn.Module, str, Tensor]]:
    """Tables of sin and cos side by side that attention modules of GPT-J and CodeGen keep, as posenc has them."""
    for name, module in model.named_modules():
        if type(module).__name__ in ("GPTJAttention", "CodeGenAttention"):
            before = module.embed_positions
            cos, sin = _posenc.cos_sin(ropes[None], torch.arange(before.shape[0]), angles=angles)
            yield name, module, "embed_positions", torch.cat((sin, cos), -1).to(before.dtype)


def apply_functions(
    model: nn.Module, ropes: Mapping[str | None, _posenc.Rope]
) -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """Of the files that the model's modules are from: the file's module, the name, what stands in."""
    for file in sorted({type(module).__module__ for module in model.modules()}):
        if not file.startswith("transformers.models."):
            continue
        for name, value in list(vars(sys.modules[file]).items()):
            if callable(value) and _APPLY.match(name):
                yield sys.modules[file], name, _standing_in(value, ropes)
