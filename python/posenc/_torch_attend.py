"""posenc.torch.attend: which backend computes a call, and the call. backend_of() tells which, and why.

kernel     posenc.attend and its backward pass, operators of torch: the CPU, float32, float16, bfloat16
flex       FlexAttention, made from the plan (_flex_backend.py): CUDA; layers whose scores depend on places alone
composed   operations of torch (_composed): any device, any floating point, every layer, gradients of everything
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from . import _attend_operator
from ._composed import attend as composed
from ._composed.check import OPTIONAL, check
from ._flex_backend import flex_attend, flex_lacks
from ._forward_mode import has_duals
from ._graph_arguments import Layer

Backend = Literal["auto", "kernel", "flex", "composed"]
BACKENDS = ("auto", "kernel", "flex", "composed")
_SHORT = (torch.float32, torch.float16, torch.bfloat16)


class Chosen(NamedTuple):
    backend: str
    reason: str


def _refuse(field: str, must: str, given: Any) -> None:
    raise ValueError(f"[attend] {field} must {must} but is {given}")


def _tensors(of: Any) -> list[Tensor]:
    return [x for x in of if isinstance(x, Tensor)]


def _asks_for_gradient(tensors: Sequence[Tensor]) -> bool:
    return torch.is_grad_enabled() and any(x.requires_grad for x in tensors)


def _kernel_lacks(layer: Layer, q: Tensor, k: Tensor, v: Tensor, given: dict[str, Any]) -> str:
    """Why the kernel does not compute it; empty where it does."""
    if q.device.type != "cpu":
        return f"the tensors are on {q.device}"
    if any(x.dtype not in _SHORT for x in (q, k, v)):
        return "the kernels take float32, float16 and bfloat16"
    if layer.numbers.lacks(given):
        return f"the kernels take no {layer.numbers.lacks(given)}"
    if torch._C._are_functorch_transforms_active():
        return "a transform of torch.func looks into what is computed"
    return "a forward-mode derivative is asked for" if has_duals() else ""


def _choose(layer: Layer, backend: str, q: Tensor, k: Tensor, v: Tensor, given: dict[str, Any], tables: Any) -> Chosen:
    device = q.device
    if backend != "auto":
        return Chosen(backend, "asked for")
    lacks = _kernel_lacks(layer, q, k, v, given)
    if not lacks:
        return Chosen("kernel", "it is on the CPU")
    if device.type == "cuda":
        flex = flex_lacks(layer, q, k, v, given)
        if not flex:
            return Chosen("flex", lacks)
        lacks = f"{lacks}; FlexAttention: {flex}"
    return Chosen("composed", lacks)


def _one_device(q: Tensor, others: dict[str, Any], tables: Sequence[Tensor], names: Sequence[str]) -> None:
    """All are where q is; small inputs of whole numbers may be on the CPU."""
    for name, x in [*others.items(), *zip(names, tables)]:
        if isinstance(x, Tensor) and x.device != q.device:
            _refuse(name, f"be on {q.device}, as q is,", f"on {x.device}")


def _require_types(layer: Any, attn_mask: Any, bias: Any) -> None:
    if not isinstance(layer, Layer):
        taken = type(layer).__name__
        raise TypeError(f"[posenc.torch] layer must be a posenc.torch.Layer, as Layer(layer) makes, but is a {taken}")
    if attn_mask is not None and attn_mask.dtype != torch.bool:
        raise ValueError(
            f"[attend] attn_mask must be of bool, True where a key is seen, but is of {attn_mask.dtype}: pass what is added "
            "to scores (0 and -inf) as bias="
        )
    if bias is not None and bias.dtype == torch.bool:
        raise ValueError(
            "[attend] bias must be of numbers, which are added to scores, but is of torch.bool: pass which keys are seen as "
            "attn_mask="
        )


def _given(arguments: dict[str, Any], device: torch.device) -> dict[str, Any]:
    """Arguments by name, all of them; what has no tensor yet becomes one."""
    given: dict[str, Any] = {name: arguments.get(name) for name in OPTIONAL}
    for name in (
        "q_positions",
        "k_positions",
        "q_order",
        "k_order",
        "cu_seqlens_q",
        "cu_seqlens_k",
        "q_segments",
        "k_segments",
    ):
        x = given[name]
        if (
            x is not None
            and not isinstance(x, (int, Tensor))
            and not (hasattr(x, "__index__") and not hasattr(x, "__len__"))
        ):
            given[name] = torch.as_tensor(x, device=device)
    for name, default in (("prefix", 0), ("q_rotated", False), ("k_rotated", False)):
        given[name] = arguments.get(name, default)
    return given


def _by_kernel(
    layer: Layer, q: Tensor, k: Tensor, v: Tensor, given: dict[str, Any], tables: list[Tensor], lse: bool
) -> tuple[Tensor, Tensor | None]:
    for name, x in (("q", q), ("k", k), ("v", v), *given.items()):
        if isinstance(x, Tensor) and x.device.type not in ("cpu", "meta"):
            raise ValueError(
                f"[attend] {name} must be on the CPU but is on {x.device}: its kernels compute there, .cpu() moves it"
            )
    lacks = layer.numbers.lacks(given)
    if lacks:
        _refuse("backend", f"be 'composed' for {lacks}", "'kernel'")
    text = layer.text
    if layer.kernel_lacks:
        queries, keys = (x.shape[0 if x.dim() == 3 else 2] for x in (q, k))
        q, k, given = layer.numbers.rotated(q, k, given, tables)
        tables, text = layer.numbers.tables(queries, keys, tables), layer.kernel_text(queries, keys)
    asked = [name for name in OPTIONAL if given[name] is not None and name not in ("attn_mask", "bias")]
    is_plain = not asked and not given["prefix"] and not given["q_rotated"] and not given["k_rotated"] and not lse
    # The backward pass takes the log-sum-exp, which the other operator keeps.
    is_plain = is_plain and not _asks_for_gradient([q, k, v, *_tensors(given.values()), *tables])
    if is_plain:
        out: Tensor = torch.ops.posenc.attend(
            q, k, v, given["attn_mask"], given["bias"], tables, text, layer.value_dim
        )
        return out, None
    names, inputs = [], []
    for name in OPTIONAL:
        x = given[name]
        if x is not None and name != "length":
            names.append(name)
            inputs.append(x if isinstance(x, Tensor) else torch.tensor(int(x)))
    out, sums = _attend_operator.attend_call(
        q,
        k,
        v,
        inputs,
        " ".join(names),
        given["prefix"],
        given["length"],
        given["q_rotated"],
        given["k_rotated"],
        tables,
        text,
        layer.value_dim,
    )
    return out, sums if lse else None


def _by_composed(
    layer: Layer, q: Tensor, k: Tensor, v: Tensor, given: dict[str, Any], tables: list[Tensor]
) -> tuple[Tensor, Tensor]:
    if layer.problem is not None:
        raise ValueError(layer.problem)
    if layer.needs_length is not None and given["length"] is None:
        raise ValueError(layer.needs_length)
    assert layer.composed is not None
    learned = layer.learned(tables)
    check(layer.composed, learned, q, k, v, given)
    out, sums = composed.attend(layer.composed, learned, q, k, v, given)
    return out, sums


def call(
    layer: Layer, q: Tensor, k: Tensor, v: Tensor, arguments: dict[str, Any], tables: Any, backend: str, lse: bool
) -> Any:
    if backend not in BACKENDS:
        _refuse("backend", f"be one of {', '.join(BACKENDS)}", repr(backend))
    _require_types(layer, arguments.get("attn_mask"), arguments.get("bias"))
    given = _given(arguments, q.device)
    all_tables = layer.weights if tables is None else list(tables)
    if len(all_tables) != len(layer.names):
        _refuse("tables", f"be as many as layer.names, {len(layer.names)},", f"{len(all_tables)} long")
    chosen = _choose(layer, backend, q, k, v, given, all_tables).backend
    if chosen == "kernel":
        out, sums = _by_kernel(layer, q, k, v, given, all_tables, lse)
        return (out, sums) if lse else out
    _one_device(q, {"k": k, "v": v, **given}, all_tables, layer.names)
    if chosen == "flex":
        lacks = flex_lacks(layer, q, k, v, given)
        if lacks:
            _refuse("backend", "be 'composed' or 'auto'", f"'flex', which does not compute this call: {lacks}")
        out, sums = flex_attend(layer, q, k, v, given, all_tables)
    else:
        out, sums = _by_composed(layer, q, k, v, given, all_tables)
    return (out, sums) if lse else out


def choice(
    layer: Layer, q: Tensor, k: Tensor, v: Tensor, arguments: dict[str, Any], tables: Any, backend: str
) -> Chosen:
    _require_types(layer, arguments.get("attn_mask"), arguments.get("bias"))
    all_tables = layer.weights if tables is None else list(tables)
    return _choose(layer, backend, q, k, v, _given(arguments, q.device), all_tables)
