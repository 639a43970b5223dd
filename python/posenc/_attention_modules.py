"""Which modules of a model of transformers attend, by which layer of its plan; and those that know no registry.

Most modules look their attention up by name; _replaced_methods.py has those that do not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Tuple

import torch
from torch import Tensor, nn

from . import _posenc
from ._handed.own_functions import code_of
from ._replaced_methods import METHODS
from ._trained import tables_by_name

ATTENDING = ("attention", "cross_attention")  # kinds of layers


Place = Tuple[str, int]  # of an attention layer: its stack's name, and its number among those


def attending(stack: _posenc.Stack) -> list[_posenc.LayerPlan]:
    return [layer for layer in stack.layers if layer.kind in ATTENDING]


def attention_layers(
    named_modules: Iterable[tuple[str, nn.Module]], plan: _posenc.Plan
) -> Iterator[tuple[str, nn.Module, Place, _posenc.LayerPlan]]:
    """Modules that can be replaced, in their order, beside the plan's layers in theirs, stack by stack; none where their
    numbers differ."""
    modules = [(name, module) for name, module in named_modules if attends(module)]
    for stack in plan.stacks:
        of_stack = modules if len(plan.stacks) == 1 else [at for at in modules if f"{stack.name}." in at[0]]
        layers = attending(stack)
        if len(of_stack) == len(layers):
            for number, ((name, module), layer) in enumerate(zip(of_stack, layers)):
                if can_be_replaced(module):
                    yield name, module, (stack.name, number), layer


def require_cpu(tensor: Tensor, call: str, name: str) -> None:
    if tensor.device.type != "cpu":
        raise NotImplementedError(
            f"[{call}] {name} must be on the CPU, where posenc computes, but is on {tensor.device}: move it there first, "
            "or load the model without a device_map"
        )


def attends(module: nn.Module) -> bool:
    of = type(module).__name__
    return of in _OTHER_NAMES or (of.endswith("Attention") and not any(attends(child) for child in module.children()))


def can_be_replaced(module: nn.Module) -> bool:
    """Whether it looks attention up by name, or has a method that is replaced; LongT5's local attention does neither."""
    return type(module).__name__ in METHODS or _knows_the_registry(module)


def _knows_the_registry(module: nn.Module) -> bool:
    code = code_of(module.forward)  # of a module whose own was replaced: by what is
    return code is not None and "ALL_ATTENTION_FUNCTIONS" in code.co_names


def looks_attention_up(modules: Iterable[nn.Module]) -> bool:
    """Whether any module finds attention by its name, beside the plan's layers or not."""
    return any(_knows_the_registry(module) for module in modules)


_OTHER_NAMES = ("EsmSelfAttention",)
_LEFT_TO_ROTATE = ("RoFormerSelfAttention",)


def rotates_itself(module: nn.Module) -> bool:
    """Whether queries and keys come to attention rotated."""
    return type(module).__name__ not in _LEFT_TO_ROTATE


def as_called(module: nn.Module, layer: _posenc.LayerPlan) -> _posenc.LayerPlan:
    """The layer of queries as the module gives them: with a query scale, and rotated, if it does not leave that to
    attention."""
    return layer.replace(rotate=() if rotates_itself(module) else layer.rotate, query_scale=None)


def scales_by_index(module: nn.Module) -> bool:
    """Whether its query scale is that of a query's index in a call, or after a KV cache, and not of its position."""
    return type(module).__name__ == "Llama4TextAttention"


def masks_itself(module: nn.Module) -> bool:
    """Whether the module adds a window of its own to the mask that it is given."""
    return type(module).__name__ == "GPTNeoSelfAttention"


# ---- learned tables ----


@torch.no_grad()
def _fingerprint(table: Tensor) -> tuple[Any, ...]:
    """Of what the table holds, since torch counts no writes through `parameter.data`, as averages of weights are put in
    place. The hash of all bits does not see two signs turned, which the sum does; a read of DeBERTa's projections, which
    take as many products as it has rows of distances."""
    of_bits = torch.hash_tensor(table).view(torch.int64).item() if hasattr(torch, "hash_tensor") else float(table.norm()).hex()
    return of_bits, float(table.sum()).hex()


@dataclasses.dataclass(frozen=True)
class Learned:
    """What attend needs besides the layer: made of the parameters that the model's modules hold at each call, or of the
    caller's. They are asked anew, as torch.func.functional_call and load_state_dict(assign=True) put others in place."""

    read: Callable[[], tuple[Tensor, ...]]
    make: Callable[[], dict[str, Any]]  # keywords of attend, by what the parameters hold now
    read_named: Callable[[], Mapping[str, Tensor]] | None = None  # by the names of named_weights, where they are these
    # The same as make with gradients, as dicts of tensors: what trained() takes.
    attached: Callable[[], dict[str, Any]] = dict

    @property
    def parameters(self) -> tuple[Tensor, ...]:
        return self.read()

    @property
    def named(self) -> Mapping[str, Tensor] | None:
        return None if self.read_named is None else self.read_named()

    def versions(self) -> tuple[tuple[Any, ...], ...] | None:
        """What is another as soon as a parameter is, or is written into; None where torch does not count that."""
        parameters = self.read()
        if any(of.is_inference() for of in parameters):
            return None
        return tuple((of.data_ptr(), of._version, *_fingerprint(of)) for of in parameters)


def learned(model: nn.Module, name: str, module: nn.Module, layer: _posenc.LayerPlan) -> Learned:
    """Of the model's own tables. ValueError where it has none."""
    of_terms = [_learned(model, name, module, term) for term in layer.score]
    if isinstance(layer.value, _posenc.ShawValues):
        raise _no_table(name, layer.value)
    is_t5 = len(layer.score) == 1 and isinstance(layer.score[0], _posenc.T5Bias)
    return Learned(
        lambda: tuple(of for read, _ in of_terms for of in read()),
        lambda: {"score_weights": tuple(make() for _, make in of_terms)},
        (lambda: {"table": of_terms[0][0]()[0]}) if is_t5 else None,
        lambda: {"score_weights": [_attached(model, name, module, term) for term in layer.score]},
    )


def _attached(model: nn.Module, name: str, module: Any, term: Any) -> dict[str, Any] | None:
    """The tables that _learned() detaches."""
    if isinstance(term, _posenc.T5Bias):
        return {"table": _t5_table(model, name).weight}
    if isinstance(term, _posenc.XlNet):
        of_r = {"projection": module.r.flatten(1).T, "content_bias": module.r_w_bias, "position_bias": module.r_r_bias}
        return {"positions": of_r}
    if not isinstance(term, _posenc.Deberta):
        return None
    encoder, keys, queries = _deberta_holders(model, module, term)
    linear = lambda of: None if of is None else {"weight": of.weight, "bias": of.bias}
    return {"table": encoder.get_rel_embedding(), "keys": linear(keys), "queries": linear(queries)}


def needs_tables(layer: _posenc.LayerPlan) -> bool:
    """Whether a term of scores or values has learned tables."""
    try:
        _posenc.named_weights(layer.replace(sinks=False), {})
    except ValueError:
        return True
    return False


def given_tables(name: str, layer: _posenc.LayerPlan, tables: Mapping[str, Any], composed: bool = False) -> Learned:
    """Of tables that the caller has, by the names of named_weights. ValueError for what does not fit the layer. composed:
    operations of torch take them, wherever they are."""
    held = {key: torch.as_tensor(table) for key, table in tables.items()}
    held = {key: table[None] if table.dim() == 0 else table for key, table in held.items()}
    for key, table in () if composed else held.items():
        require_cpu(table, "use", f"weights[{key!r}]")
    of_names = layer if "sinks" in held else layer.replace(sinks=False)

    def make() -> dict[str, Any]:
        keywords = _posenc.named_weights(of_names, {key: table.detach() for key, table in held.items()})
        return {key: value for key, value in keywords.items() if value is not None}

    try:
        tables_by_name(of_names, held) if composed else make()
    except ValueError as error:
        raise ValueError(f"[use] weights must fit the plan's layer of {name}: {error}") from None
    return Learned(lambda: tuple(held.values()), make, lambda: held, lambda: tables_by_name(of_names, held))


def _no_table(name: str, term: Any) -> ValueError:
    return ValueError(
        f"[use] weights must have the tables of {type(term).__name__} in the plan: {name} of the model has none"
    )


Reads = Callable[[], Sequence[Tensor]]


def _learned(model: nn.Module, name: str, module: Any, term: Any) -> tuple[Reads, Callable[[], Any]]:
    if isinstance(term, _posenc.T5Bias):
        holder = _t5_table(model, name)
        if holder is None or term.gated:
            raise _no_table(name, term)
        _require_plain(name, holder, nn.Embedding)
        return lambda: [holder.weight], lambda: _posenc.T5Weights(table=holder.weight.detach())
    if isinstance(term, _posenc.Deberta):
        return _deberta_weights(model, name, module, term)
    if isinstance(term, _posenc.XlNet):
        if not hasattr(module, "r_w_bias"):
            raise _no_table(name, term)
        return lambda: [module.r, module.r_w_bias, module.r_r_bias], lambda: _xlnet_weights(module)
    if not isinstance(term, (_posenc.Alibi, _posenc.Sandwich)):
        raise _no_table(name, term)
    return list, lambda: None


def _require_plain(name: str, holder: nn.Module, kind: type[nn.Module]) -> None:
    """NotImplementedError for a table that is more than its weight says: an adapter's, or a parametrized one."""
    if type(holder) is not kind or holder._forward_pre_hooks or holder._forward_hooks:
        raise NotImplementedError(
            f"[use] tables of {name} must be of a plain {kind.__name__}, whose weight is all of it, but are of a "
            f"{type(holder).__name__}, or one with hooks: merge adapters into the weights before"
        )


def _deberta_holders(model: nn.Module, module: Any, term: Any) -> tuple[Any, Any, Any]:
    """Who has the rows, and the projections of keys and queries."""
    encoder: Any = next((m for m in model.modules() if hasattr(m, "get_rel_embedding")), None)
    shared = term.shared_projection
    keys = module.key_proj if shared else _either(module, "pos_key_proj", "pos_proj")
    return encoder, keys, module.query_proj if shared else _either(module, "pos_query_proj", "pos_q_proj")


def _deberta_weights(model: nn.Module, name: str, module: Any, term: Any) -> tuple[Reads, Callable[[], Any]]:
    encoder, keys, queries = _deberta_holders(model, module, term)
    if encoder is None:
        raise _no_table(name, term)
    holders = [of for of in (encoder.rel_embeddings, _either(encoder, "LayerNorm"), keys, queries) if of is not None]
    for of in holders:
        _require_plain(name, of, next((kind for kind in (nn.Embedding, nn.LayerNorm) if isinstance(of, kind)), nn.Linear))
    return lambda: [of for holder in holders for of in holder.parameters()], lambda: _posenc.DebertaWeights(
        table=encoder.get_rel_embedding().detach().contiguous(), keys=_linear(keys), queries=_linear(queries)
    )


def _xlnet_weights(module: Any) -> Any:
    positions = _posenc.TransformerXlWeights(
        projection=module.r.detach().flatten(1).T.contiguous(),
        content_bias=module.r_w_bias.detach(),
        position_bias=module.r_r_bias.detach(),
    )
    return _posenc.XlNetWeights(positions=positions)


def _either(module: nn.Module, *names: str) -> nn.Module | None:
    """What DeBERTa v2 calls by the first name, and DeBERTa by the second; None where there is neither."""
    return next((getattr(module, name) for name in names if hasattr(module, name)), None)


def _linear(module: nn.Module | None) -> Any:
    if module is None:
        return _posenc.Linear()
    return _posenc.Linear(weight=module.weight.detach(), bias=None if module.bias is None else module.bias.detach())


def _t5_table(model: nn.Module, name: str) -> Any:
    """A layer's own, or the one of its stack: T5's first layer has it, or the stack itself (MPNet). None: there is none."""
    own: Any = getattr(model.get_submodule(name), "relative_attention_bias", None)
    while own is None and name:
        name = name.rpartition(".")[0]
        holders = (m for m in model.get_submodule(name).modules() if hasattr(m, "relative_attention_bias"))
        own = next((holder.relative_attention_bias for holder in holders), None)
    return own
