"""What a model computes with positions while it runs: the operands of QK^T and the scores before each softmax.

Every softmax over the output of a product of two tensors of rank 3 or more is attention, whichever class it stands in;
so is every call of scaled_dot_product_attention. A router's softmax follows a linear layer and is none.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from . import sweep_inputs, sweep_model

_PRODUCTS = {"matmul", "bmm", "baddbmm", "einsum", "__matmul__", "__rmatmul__"}
_SCALED = {
    "mul",
    "__mul__",
    "__rmul__",
    "mul_",
    "__imul__",
    "div",
    "__truediv__",
    "true_divide",
    "div_",
    "__itruediv__",
}
_REMEMBERED = 12  # products before a softmax


@dataclasses.dataclass
class Attended:
    """One layer's attention of one run."""

    path: str  # of the module
    module: nn.Module
    q: Tensor  # [batch, heads, n, d]
    k: Tensor  # [batch, heads or KV heads, m, d]
    scores: Tensor  # [batch, heads, n, m]: what the softmax is of
    sinks: bool  # whether the softmax has one column more than there are keys
    sources: list[Tensor]  # outputs of linear layers and norms of this module: of token 0, [channels]
    steady: bool  # whether all tokens had one hidden state
    factors: list[float]  # by which this module, or what it is in, multiplied tensors
    blocks: bool  # of tokens, each by itself: rows are not those of the whole text
    call: int  # of the module: differential attention has two softmaxes in one
    value_dim: int | None = None
    values_alike: bool | None = (
        None  # whether all tokens have one value: then they have one hidden state; None: not seen
    )


@dataclasses.dataclass
class Sampled:
    """A call of deformable attention: values at places that are made of the query."""

    path: str
    call: int


@dataclasses.dataclass
class _Product:
    q: Tensor
    k: Tensor
    out: Tensor
    call: int  # of the module that it was made in
    used: bool = False  # by a softmax; another of the same call may take it the other way round


@dataclasses.dataclass
class Looked:
    """An embedding's rows, asked for by a run."""

    path: str
    rows: int
    indices: Tensor


class Probe(TorchFunctionMode):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.names = {module: name for name, module in model.named_modules()}
        self.attended: list[Attended] = []
        self.looked: list[Looked] = []
        self.sampled: list[Sampled] = []
        self._stack: list[nn.Module] = []
        self._calls: list[int] = []
        self._called = 0
        self._factors: dict[nn.Module, list[float]] = {}
        self._products: list[_Product] = []
        self._waiting: Attended | None = None
        self._sources: dict[nn.Module, list[Tensor]] = {}
        self._steady: dict[nn.Module, bool] = {}
        self._hooks: list[Any] = []

    def __enter__(self) -> Probe:
        self._hooks = [
            nn.modules.module.register_module_forward_pre_hook(self._before),
            nn.modules.module.register_module_forward_hook(self._after, always_call=True),
        ]
        return super().__enter__()  # type: ignore[no-any-return]

    def __exit__(self, *raised: Any) -> None:
        for hook in self._hooks:
            hook.remove()
        super().__exit__(*raised)

    # ---- modules ----

    def _before(self, module: nn.Module, args: Any) -> None:
        self._called += 1
        if _samples(module) and not any(_samples(of) for of in self._stack):
            self.sampled.append(Sampled(self.names.get(module, ""), self._called))
        self._stack.append(module)
        self._calls.append(self._called)
        self._sources[module] = []
        self._factors[module] = []
        self._steady.pop(module, None)

    def _after(self, module: nn.Module, args: Any, out: Any) -> None:
        self._stack.pop()
        self._calls.pop()
        if self._stack and isinstance(out, Tensor) and "Norm" in type(module).__name__:
            self._note(self._stack[-1], out)

    def _note(self, module: nn.Module, out: Tensor) -> None:
        """Of its first token: of heads that stand before or behind the tokens, too."""
        if out.dim() < 2 or not out.numel() or not torch.is_floating_point(out):
            return
        rows = [out.reshape(-1, out.shape[-1])[0]]
        if out.dim() == 3:
            rows.append(out[:, 0].reshape(-1))
        if out.dim() == 4:
            rows += [out[0, 0].reshape(-1), out[0, :, 0].reshape(-1)]
        for at in self._stack[-3:]:
            self._sources.setdefault(at, []).extend(row.clone() for row in rows)  # heads may be rotated where they are

    def _call(self) -> int:
        return self._calls[-1] if self._calls else 0

    def _is_steady(self) -> bool:
        return all(self._steady.get(module, True) for module in self._stack[-3:])

    def path(self) -> str:
        return next((self.names[module] for module in reversed(self._stack) if module in self.names), "")

    # ---- functions ----

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if func is F.linear:
            return self._linear(*args, **kwargs)
        if func is F.conv2d and args[1].shape[-2:] == (1, 1):  # a projection of each token by itself
            self._see(args[0].flatten(2).transpose(1, 2))
        if name == "addmm" and (out := sweep_model.product(args[1], args[2])) is not None:
            self._note(self._stack[-1], out)
            return out + args[0]
        if name in _SCALED and self._stack:
            self._scaled(name, args)
        if name in _PRODUCTS:
            return self._product(func, name, args, kwargs)
        if name == "softmax":
            return self._softmax(func, args, kwargs)
        if name == "scaled_dot_product_attention":
            return self._sdpa(func, args, kwargs)
        if name == "multi_head_attention_forward":
            self._multi_head(*args, **kwargs)
        if func is F.embedding:
            self._embedding(*args[:2], **{key: kwargs[key] for key in ("input", "weight") if key in kwargs})
        return func(*args, **kwargs)

    def _scaled(self, name: str, args: Any) -> None:
        for of in args[:2]:
            if isinstance(of, float) and of > 0:
                self._factors.setdefault(self._stack[-1], []).append(of if "mul" in name else 1 / of)

    def _embedding(self, input: Tensor, weight: Tensor) -> None:
        self.looked.append(Looked(self.path(), weight.shape[0], input))

    def _linear(self, input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        out = sweep_model.product(input, weight.t()) if weight.dim() == 2 else None
        out = F.linear(input, weight, bias) if out is None else out if bias is None else out + bias
        if self._stack:
            self._note(self._stack[-1], out)
            self._see(input)
        return out

    def _see(self, input: Tensor) -> None:
        """Whether all tokens have one hidden state, before they are projected."""
        tokens = input.reshape(-1, input.shape[-1])
        some = torch.cat((tokens[:: max(1, len(tokens) // 4)], tokens[-1:]))  # the last stands at a border of an image
        steady = bool((some - some[:1]).abs().amax() <= 1e-5 + 1e-3 * some[:1].abs().amax()) if len(tokens) else True
        for at in self._stack[-3:-1]:
            self._steady[at] = self._steady.get(at, True) and steady

    def _product(self, func: Any, name: str, args: Any, kwargs: Any) -> Any:
        if name == "einsum":
            out = func(*args, **kwargs)
            operands = _of_einsum(args, out)
        else:
            left, right = _operands(name, args, kwargs)
            out = sweep_model.product(left, right) if name in ("matmul", "__matmul__", "bmm") else None
            if out is not None:
                return out
            out = func(*args, **kwargs)
            operands = (left, right.transpose(-1, -2)) if left.dim() >= 3 and right.dim() >= 3 else None
        if operands is None:
            return out
        if self._waiting is not None and operands[0].shape[-1] == self._waiting.scores.shape[-1]:
            weights_first = operands[0].shape[-2] == self._waiting.scores.shape[-2]
            values = operands[1 if weights_first else 0]  # [.., d, m]
            self._waiting.value_dim = values.shape[-2]
            self._waiting.values_alike = alike(values.transpose(-1, -2))
            self._waiting = None
        if isinstance(out, Tensor) and out.dim() >= 3:
            self._products = [*self._products[1 - _REMEMBERED :], _Product(*operands, out, self._call())]
        return out

    def _softmax(self, func: Any, args: Any, kwargs: Any) -> Any:
        scores = args[0] if args else kwargs["input"]
        dim = kwargs.get("dim", args[1] if len(args) > 1 else -1)
        if scores.dim() >= 3 and dim in (-1, scores.dim() - 1):
            for product in reversed(self._products):
                q, k, out = product.q, product.k, product.out
                if not _fits(out, scores) and _fits(out.transpose(-1, -2), scores):
                    q, k, out = k, q, out.transpose(-1, -2)
                if _fits(out, scores) and not (product.used and product.call != self._call()):
                    self._event(q, k, scores, scores.shape[-1] > out.shape[-1])
                    product.used = True
                    self._products = [product]
                    break
        return func(*args, **kwargs)

    def _event(self, q: Tensor, k: Tensor, scores: Tensor, sinks: bool) -> None:
        rows, columns = scores.shape[-2], scores.shape[-1] - sinks
        blocks = q.dim() == k.dim() == 5 and q.shape[2] == k.shape[2] > 1
        if blocks:  # [batch, heads, blocks, n, d]: the first block stands for all
            q, k, scores = q[:, :, 0], k[:, :, 0], scores[:, :, 0]
        if q.dim() == 3:  # heads are the batch: [heads, n, d]
            q, k, scores = q[None], k[None], scores.reshape(1, -1, *scores.shape[-2:])
        q, k = (x.reshape(x.shape[0], -1, length, x.shape[-1]) for x, length in ((q, rows), (k, columns)))
        scores = scores.reshape(q.shape[0], -1, rows, columns + sinks)[..., :columns]
        module = self._stack[-1] if self._stack else nn.Identity()
        sinks = sinks or any("sink" in name for name, _ in module.named_parameters(recurse=False))
        sources = list(self._sources.get(module, []))
        call = self._call()
        factors = list(self._factors.get(module, []))
        event = Attended(self.path(), module, q, k, scores, sinks, sources, self._is_steady(), factors, blocks, call)
        self._products.clear()
        self.attended.append(event)
        self._waiting = event

    def _multi_head(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        width: int,
        heads: int,
        weight: Tensor,
        bias: Tensor,
        *_: Any,
        **given: Any,
    ) -> None:
        """torch's own module, whose inside is not seen: one weight for all three projections, or three; tokens first."""
        own = [given.get(f"{name}_proj_weight") for name in "qkv"]
        weights = own if given.get("use_separate_proj_weight") else weight.chunk(3) if weight is not None else ()
        if query.dim() != 3 or not len(weights):
            return
        rows = zip((query, key, value), weights, bias.chunk(3) if bias is not None else (None,) * 3)
        q, k, v = (
            self._linear(x, of, add).unflatten(-1, (heads, width // heads)).permute(1, 2, 0, 3) for x, of, add in rows
        )
        mask = given.get("attn_mask")
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        if mask is not None:
            mask = mask.unflatten(0, (-1, heads)) if mask.dim() == 3 else mask
            scores = scores.masked_fill(mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
        padding = given.get("key_padding_mask")
        if padding is not None and padding.dtype == torch.bool:
            scores = scores.masked_fill(padding[:, None, None], -torch.inf)
        self._event(q, k, scores, False)
        self.attended[-1].value_dim = v.shape[-1]
        self.attended[-1].values_alike = alike(v)
        self._waiting = None

    def _sdpa(self, func: Any, args: Any, kwargs: Any) -> Any:
        q, k, v = (args[at] if len(args) > at else kwargs[name] for at, name in enumerate(("query", "key", "value")))
        mask = kwargs.get("attn_mask", args[3] if len(args) > 3 else None)
        scale = kwargs.get("scale") or q.shape[-1] ** -0.5
        if q.dim() >= 3:
            wide = k.repeat_interleave(q.shape[-3] // k.shape[-3], -3) if q.shape[-3] != k.shape[-3] else k
            scores = q @ wide.transpose(-1, -2) * scale
            if kwargs.get("is_causal", args[5] if len(args) > 5 else False):
                seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
                scores = scores.masked_fill(~seen, -torch.inf)
            if mask is not None:
                scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
            self._event(q, wide, scores, False)
            self.attended[-1].value_dim = v.shape[-1]
            self.attended[-1].values_alike = alike(v)
            self._waiting = None
        return func(*args, **kwargs)


def alike(x: Tensor, bound: float = 1e-3) -> bool:
    """Whether all tokens [.., n, d] have one row, but for that part of the largest number."""
    return not x.numel() or bool((x - x[..., :1, :]).abs().amax() <= 1e-2 * bound + bound * x.abs().amax())


def _samples(module: nn.Module) -> bool:
    return type(module).__name__.endswith("DeformableAttention")


def _fits(out: Tensor, scores: Tensor) -> bool:
    if out.shape[-2] != scores.shape[-2] or scores.shape[-1] - out.shape[-1] not in (0, 1):
        return False
    return out[..., 0, 0].numel() == scores[..., 0, 0].numel()


def _operands(name: str, args: Any, kwargs: Any) -> tuple[Tensor, Tensor]:
    named = ("batch1", "batch2") if name == "baddbmm" else ("input", "mat2" if name == "bmm" else "other")
    places = (1, 2) if name == "baddbmm" else (0, 1)
    left, right = (args[at] if len(args) > at else kwargs[of] for at, of in zip(places, named))
    return left, right


def _of_einsum(args: Any, out: Tensor) -> tuple[Tensor, Tensor] | None:
    """q as [.., n, d] and k as [.., m, d], of "bqhd,bkhd->bhqk" and its like."""
    if len(args) == 2 and isinstance(args[1], (list, tuple)):
        args = (args[0], *args[1])
    if len(args) != 3 or not isinstance(args[0], str) or "->" not in args[0] or "." in args[0]:
        return None
    of_inputs, of_out = args[0].replace(" ", "").split("->")
    left, right = of_inputs.split(",")
    summed = [letter for letter in left if letter in right and letter not in of_out]
    if len(summed) != 1 or len(of_out) < 3 or args[1].dim() != len(left) or args[2].dim() != len(right):
        return None
    row, column, batch = of_out[-2], of_out[-1], of_out[:-2]
    if row not in left:
        left, right, args = right, left, (args[0], args[2], args[1])
    if row not in left or column not in right or row in right or column in left:
        return None
    operands = []
    for x, letters, own in ((args[1], left, row), (args[2], right, column)):
        if any(letter not in letters for letter in batch) or len(letters) != len(batch) + 2:
            return None
        operands.append(x.permute([letters.index(letter) for letter in (*batch, own, summed[0])]))
    return operands[0], operands[1]


def kv_heads_of(event: Attended) -> int:
    """Heads of k that differ: those of a group are copies of one."""
    return len(torch.unique(event.k[0, :, 0], dim=0))


def events(model: nn.Module, inputs: dict[str, Any], probe: Probe) -> None:
    torch.manual_seed(1)  # some classes draw keys (Informer)
    with torch.no_grad(), probe:
        if sweep_inputs.entry(model) == "forward":
            model(**inputs)
            return
        tokenizer: Any = model
        tokens = getattr(tokenizer.encode(**inputs), "image_tokens", None)
        if hasattr(tokenizer, "decode") and tokens is not None:
            tokenizer.decode(torch.stack(list(tokens)))
