"""What a model of torch computes in its attention while it runs, whoever wrote it: posenc.torch.capture.

Attention is found by what it does: a call of scaled_dot_product_attention, or a softmax over the product of two tensors
of rank 3 or more, whose product with a third one follows. The module that runs then gives it its name. Rotations are
found by their names: a function of a module's own file, or of one that this file has imported it from, that is called
after rotation (`apply_rotary_pos_emb`, `rope`), and submodules that are; of what they are given, what comes out again
in the same shape is rotated, and whether it is q or k is seen by which of the two it becomes. Where nobody is called so,
q and k before the rotation are the outputs of the projections, or of the norms behind them.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, Union

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ._dump import ARRAYS, Dump, DumpedLayer

_ROTATES = re.compile(r"(?i)(rotary|rope|rotate)")
# These make cos and sin, or exchange halves, which is no rotation.
_DOES_NOT = re.compile(
    r"(?i)(half|every_two|init|freq|angle|cache|update|get|precompute|compute|class|config|permute|index)"
)
_QUERIES = re.compile(r"(?i)^(q|wq|query|linear_q|to_q)")
_KEYS = re.compile(r"(?i)^(k|wk|key|linear_k|to_k)")
_PRODUCTS = {"matmul", "bmm", "baddbmm", "einsum", "__matmul__", "__rmatmul__"}
_MAKES_SCORES = {"softmax", "_softmax"}
_DEEPEST = 3  # modules between a product and its softmax


class _Call:
    """Of one module, while it runs."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rotated: list[tuple[str, Tensor, Tensor]] = []  # the argument's name, before, after
        self.projected: dict[str, Tensor] = {}  # the last output of what is named as queries, and keys
        self.products: list[tuple[Tensor, Tensor, Tensor]] = []
        self.softmax: tuple[Tensor, Tensor, tuple[Tensor, Tensor] | None] | None = None


class Capture(TorchFunctionMode):
    """A context in which a model's attention is recorded; entering gives the Dump that fills."""

    def __init__(self, model: nn.Module, layers: Iterable[int] | None, modules: str | None, most_calls: int) -> None:
        super().__init__()
        self.dump = Dump()
        self._names = {module: name for name, module in model.named_modules()}
        self._model = model
        self._layers = None if layers is None else frozenset(layers)
        self._modules = None if modules is None else re.compile(modules)
        self._most_calls = most_calls
        self._stack: list[_Call] = []
        self._calls: dict[str, int] = {}
        self._hooks: list[Any] = []
        self._functions: list[tuple[Any, str, Any]] = []
        self._inside = False

    # ---- entering and leaving ----

    def __enter__(self) -> Dump:  # type: ignore[override]
        self._hooks = [
            nn.modules.module.register_module_forward_pre_hook(self._before),
            nn.modules.module.register_module_forward_hook(self._after, always_call=True),
        ]
        for file in sorted({type(module).__module__ for module in self._model.modules()}):
            of = sys.modules.get(file)
            if of is None or file.split(".")[0] == "torch":
                continue
            for name, value in list(vars(of).items()):
                if callable(value) and not isinstance(value, type) and _rotates(name):
                    self._functions.append((of, name, value))
                    setattr(of, name, self._watched(value))
        super().__enter__()
        return self.dump

    def __exit__(self, *raised: Any) -> None:
        super().__exit__(*raised)
        for hook in self._hooks:
            hook.remove()
        for of, name, value in reversed(self._functions):
            setattr(of, name, value)
        self._functions = []

    # ---- modules ----

    def _before(self, module: nn.Module, args: Any) -> None:
        self._stack.append(_Call(self._names.get(module, type(module).__name__)))

    def _after(self, module: nn.Module, args: Any, out: Any) -> None:
        of = self._stack.pop()
        if not self._stack or not isinstance(out, Tensor):
            return
        name = of.name.rsplit(".", 1)[-1]
        holder = self._stack[-1]
        for kind, pattern in (("q", _QUERIES), ("k", _KEYS)):
            if pattern.match(name):
                holder.projected[kind] = out.detach().clone()
        given = [x for x in args if isinstance(x, Tensor)]
        if _rotates(type(module).__name__) and given and given[0].shape == out.shape:
            holder.rotated.append(("", given[0].detach().clone(), out.detach().clone()))

    # ---- functions ----

    def _watched(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if self._inside or not self._stack:
                return function(*args, **kwargs)
            given = [("", x) for x in args] + list(kwargs.items())
            # A function may rotate in place.
            before = [(name, x.detach().clone()) for name, x in given if isinstance(x, Tensor) and x.dim() >= 3]
            self._inside = True
            try:
                out = function(*args, **kwargs)
            finally:
                self._inside = False
            after = [x for x in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(x, Tensor)]
            for made in after:
                at = next((i for i, (_, x) in enumerate(before) if x.shape == made.shape), None)
                if at is not None and torch.is_floating_point(made):
                    name, x = before.pop(at)
                    self._stack[-1].rotated.append((name, x, made.detach().clone()))
            return out

        return watched

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        out = function(*args, **kwargs)
        if not self._stack or not isinstance(out, Tensor):
            return out
        if name == "scaled_dot_product_attention":
            self._attended(*_sdpa_operands(args, kwargs), out)
        elif name in _PRODUCTS:
            self._multiplied(name, [x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)], out)
        elif name in _MAKES_SCORES and args and isinstance(args[0], Tensor) and args[0].dim() >= 3:
            self._softmaxed(args[0], out)
        return out

    def _multiplied(self, name: str, given: list[Tensor], out: Tensor) -> None:
        if name == "baddbmm":
            given = given[1:]
        if len(given) != 2 or out.dim() < 3 or min(x.dim() for x in given) < 3:
            return
        of = self._stack[-1]
        if of.softmax is not None and given[0].shape[-1] in _columns(of.softmax[1]):
            scores, weights, operands = of.softmax
            of.softmax = None
            q, k = (None, None) if operands is None else operands
            self._attended(q, None if k is None else k.transpose(-1, -2), given[1], out, scores, weights)
            return
        of.products = [*of.products[-3:], (given[0], given[1], out)]

    def _softmaxed(self, scores: Tensor, weights: Tensor) -> None:
        # The softmax may be a module of its own.
        for of in self._stack[: -1 - _DEEPEST : -1]:
            for a, b, made in reversed(of.products):
                # A sink may stand beside the keys.
                if made.shape[-2] == scores.shape[-2] and scores.shape[-1] - made.shape[-1] in (0, 1):
                    of.softmax = (scores.detach().clone(), weights.detach().clone(), (a, b))
                    of.products = []
                    return

    def _attended(
        self, q: Tensor | None, k: Tensor | None, v: Tensor, out: Tensor, scores: Any = None, weights: Any = None
    ) -> None:
        of = self._stack[-1]
        call = self._calls.get(of.name, 0)
        self._calls[of.name] = call + 1
        rotated, of.rotated = of.rotated, []
        projected, of.projected = of.projected, {}
        layer = DumpedLayer(name=of.name, call=call)
        unwanted = self._layers is not None and layer.block not in self._layers
        if unwanted or call >= self._most_calls or (self._modules is not None and not self._modules.search(of.name)):
            return
        parts: dict[str, Any] = {"q": q, "k": k, "v": v, "out": out, "scores": scores, "weights": weights}
        is_turned = k is not None and k.shape[:-1] != v.shape[:-1] and k.mT.shape[:-1] == v.shape[:-1]
        if k is not None and is_turned:
            parts["k"] = k.transpose(-1, -2)
        parts = {name: _four(x) for name, x in parts.items() if x is not None}
        parts |= _before_and_after(rotated, projected, parts.get("q"), parts.get("k"))
        self.dump.layers.append(
            DumpedLayer(name=of.name, call=call, **{name: x.detach().clone() for name, x in parts.items()})
        )


def _rotates(name: str) -> bool:
    return bool(_ROTATES.search(name)) and not _DOES_NOT.search(name)


def _columns(weights: Tensor) -> tuple[int, int]:
    return weights.shape[-1], weights.shape[-1] - 1


def _sdpa_operands(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, Tensor, Tensor]:
    named = dict(zip(("query", "key", "value"), args)) | kwargs
    return named["query"], named["key"], named["value"]


def _four(x: Tensor) -> Tensor:
    """[batch, heads, tokens, channels], of bmm's [batch * heads, ..] too: as one sequence."""
    return x[None] if x.dim() == 3 else x


def _by_heads(x: Tensor, like: Tensor | None) -> list[Tensor]:
    """What x may be as [batch, heads, tokens, channels], by the shape of what it becomes."""
    if x.dim() == 3 and like is not None and x.shape[-1] % like.shape[-1] == 0 and x.shape[-1] != like.shape[-1]:
        x = x.unflatten(-1, (-1, like.shape[-1]))
    if x.dim() == 3:
        return [x[None], x.transpose(0, 1)[None]]
    return [x, x.transpose(1, 2)] if x.dim() == 4 else []


def _is_part(made: Tensor, of: Tensor) -> bool:
    """Whether `made` is the first or the last channels of all heads, of some of them repeated."""
    if made.shape[0] != of.shape[0] or made.shape[2] != of.shape[2] or made.shape[3] > of.shape[3]:
        return False
    if made.shape[1] == 0 or of.shape[1] % made.shape[1] != 0:
        return False
    times = of.shape[1] // made.shape[1]
    width = made.shape[3]
    made = made.to(of.dtype)
    for part in (of[..., :width], of[..., -width:]):
        if torch.equal(made, part[:, ::times]) or torch.equal(made, part[:, : made.shape[1]]):
            return True
    return False


def _before_and_after(
    rotated: list[tuple[str, Tensor, Tensor]], projected: dict[str, Tensor], q: Tensor | None, k: Tensor | None
) -> dict[str, Tensor]:
    """The rotations of a call as those of q and of k: by which they become, else by their order."""
    out: dict[str, Tensor] = {}
    left: list[tuple[str, Tensor, Tensor]] = []
    for name, x, y in rotated:
        for kind, of in (("q", q), ("k", k)):
            if of is None or f"{kind}_after" in out:
                continue
            at = next((i for i, made in enumerate(_by_heads(y, of)) if _is_part(made, of)), None)
            if at is not None:
                out[f"{kind}_before"], out[f"{kind}_after"] = _by_heads(x, of)[at], _by_heads(y, of)[at]
                break
        else:
            left.append((name, x, y))
    for kind, of in (("q", q), ("k", k)):
        if f"{kind}_after" in out or of is None:
            continue
        named = next((at for at in left if at[0][:1] == kind), None)
        of_kind = named or (left[0] if left and len(rotated) == 2 else None)
        if of_kind is not None:
            left = [at for at in left if at is not of_kind]
            tokens = of.shape[2]
            for x, y in zip(_by_heads(of_kind[1], of), _by_heads(of_kind[2], of)):
                if x.shape[2] == tokens and f"{kind}_after" not in out:
                    out[f"{kind}_before"], out[f"{kind}_after"] = x, y
        elif kind in projected and not rotated:
            x = projected[kind]
            for by_head in _by_heads(x, of):
                if by_head.shape == of.shape and f"{kind}_after" not in out:
                    out[f"{kind}_before"], out[f"{kind}_after"] = by_head, of
    return out


def capture(
    model: nn.Module, layers: Iterable[int] | None = None, *, modules: str | None = None, calls: int = 1
) -> Capture:
    """Records what the attention of a model does: q and k before and after their rotation, v, scores, output.

        with posenc.torch.capture(model, layers=[0, 5]) as dump:
            model(input_ids)
        print(posenc.diagnose(dump, plan))

    layers: the blocks to record, by the number in a module's name ("model.layers.5.self_attn" is 5); omitted: all.
    modules: a regular expression that a module's name must contain. calls: of each module, the first so many; a prefill
    is one, a token of decoding one more. The model may be anybody's: attention is found by what it computes, rotations by
    what functions and modules are called (docs/diagnose.md). Tensors are copied. ValueError for no calls.
    """
    if calls < 1:
        raise ValueError(f"[capture] calls must be at least 1 but is {calls}")
    return Capture(model, layers, modules, calls)


def save_dump(dump: Dump, path: Union[str, os.PathLike[str]]) -> None:
    """Writes a dump as torch.save does, a tensor under "module/call/array" each; load_dump reads it."""
    torch.save({name: torch.as_tensor(value) for name, value in dump.tensors().items()}, path)


def load_dump(path: Union[str, os.PathLike[str]]) -> Dump:
    """A dump from a .pt file of tensors by name, loaded without running any code of it (weights_only).

    The names are those of save_dump, or for one layer those of DumpedLayer alone: q_before, q_after, ... ValueError for
    a file that holds something else.
    """
    found = torch.load(path, map_location="cpu", weights_only=True)
    is_named = isinstance(found, dict) and all(isinstance(name, str) for name in found)
    if not is_named or not all(isinstance(x, Tensor) for x in found.values()):
        kind = type(found).__name__
        raise ValueError(f"[load_dump] {os.fspath(path)} must hold a dict of tensors by name but holds {kind}")
    if found and all(name in ARRAYS for name in found):
        return Dump([DumpedLayer(name="", **found)])
    return Dump.of_tensors(found)
