"""What attention within use() knows of a module: the plan's layer, its tables, and where queries stand in a call."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from . import _operators, _posenc
from ._attention_modules import Learned, as_called, looks_attention_up, masks_itself, scales_by_index
from ._cache_places import CachePlaces
from ._handed.bias import OwnBias
from ._handed.causal_flag import require_no_flag
from ._handed.places import HandedPlaces
from ._handed.facts import Projected, require_same_facts, require_same_sizes, scale_ratio
from ._handed.mask import require_hidden, require_own_window, require_same_mask
from ._held import NotCopied


def is_causal(module: nn.Module, said: bool | None, shape: tuple[int, ...]) -> bool:
    """Without a mask, as SDPA has it: a flag of the call, or else of the module."""
    *_, queries, keys = shape
    return queries > 1 and queries == keys and bool(getattr(module, "is_causal", False) if said is None else said)


class AttendedLayer(NotCopied):
    """The plan's layer of an attention module, its learned tables prepared once for all calls alike."""

    def __init__(
        self,
        module: nn.Module,
        layer: _posenc.LayerPlan,
        own: _posenc.LayerPlan,
        weights: Learned,
        masks: str,
        angles: str,
        own_bias: OwnBias | None,
        handed: HandedPlaces | None = None,
    ) -> None:
        self.layer = as_called(module, layer)
        self.own = own  # of the model's configuration
        self._own_bias = own_bias  # None: of a model whose plan is not known
        self.handed = handed  # of a module whose own code is handed a table by its encoder
        self.weights = weights
        self.masks = masks
        # Of eager attention the flag is_causal says nothing, nor of a module whose own code attends.
        name = getattr(getattr(module, "config", None), "_attn_implementation", None)
        before = getattr(module, "_posenc_layer", None)  # of a use() around this one
        self.reads_flag: bool = before.reads_flag if before is not None else name != "eager" and looks_attention_up([module])
        self.angles = angles  # of a rotation that is left to attention
        self.cache = CachePlaces()
        self.projected = Projected(module)
        self.ranks: Any = None  # of posenc.distributed.context_parallel, on which the tokens lie
        self._scale_by_index = own.query_scale if scales_by_index(module) else None
        self._scales: Any = None
        self._ratio: float | None = None  # of the scale that the module hands over, to its own plan's
        self._last: tuple[Any, ...] = (None, None)  # one object, as threads may call at the same time
        # For graphs, which do not look into plans.
        self._handed_scale = self.own.softmax_scale
        self._has_sinks = self.layer.sinks
        self._cap = 0.0 if self.own.soft_cap is None else self.own.soft_cap.cap
        self._keeps_mask = masks == "plan" or masks_itself(module)
        self._is_by_distance = bool(self.layer.score) or self.layer.value is not None or bool(self.layer.rotate)
        self._is_by_place = any(isinstance(term, _posenc.Fire) for term in self.layer.score)
        self._sees_all = self.own.mask == _posenc.Mask(kind="bidirectional")
        self._words = _operators.words_of_layer(self._of_handed_queries())

    def compare(
        self,
        module: nn.Module,
        query: Tensor,
        sizes: dict[str, int],
        scaling: Any,
        softcap: Any,
        sinks: Tensor | None,
        window: Any,
        keys: int,
    ) -> None:
        """ValueError where what the module hands over is not what its own plan has."""
        require_same_sizes(module, self.own, sizes)
        tokens = self.cache.gone + keys
        require_same_facts(module, self.own, softcap, sinks, window if self.masks == "plan" else None, tokens)
        handed = self.own.softmax_scale if scaling is None else float(scaling)
        if self._ratio is None:
            self._ratio = scale_ratio(module, self.own, handed, query, self.projected)
            if self._ratio == 1.0:
                self.projected.remove()
            self._handed_scale = handed
            self._words = _operators.words_of_layer(self._of_handed_queries())
        elif handed != self._handed_scale:
            raise ValueError(
                f"[use] {type(module).__name__} hands over a softmax scale of {handed:.9g}, but of {self._handed_scale:.9g} "
                "before: leave use(), and enter it again with a plan that has the other one"
            )
        elif self._ratio != 1.0 and self.projected.output is not None:  # what queries were multiplied by may have changed
            scale_ratio(module, self.own, handed, query, self.projected)
        self.projected.forget()

    def compare_places(
        self,
        module: nn.Module,
        mask: Tensor | None,
        bias: Tensor | None,
        shape: tuple[int, ...],
        key_places: Tensor | None,
    ) -> None:
        """ValueError where the bias, or a mask in place of which posenc takes the plan's, is not what its own plan has."""
        if self.ranks is not None:
            return
        *_, queries, keys = shape
        first, gone = self.cache.first, self.cache.gone
        if self._own_bias is None:
            if self.masks == "model" and mask is not None:
                require_hidden(module, self.own.mask, mask, shape, first, gone)
            return
        if masks_itself(module) and first in (None, keys - queries):
            require_own_window(module, self.own.mask, shape)
        elif self.masks == "plan" and mask is not None:
            require_same_mask(module, self.own.mask, mask, shape, first, gone)
        if not gone:
            last = keys - 1 if first is None else first + queries - 1
            shows = None
            if mask is not None and mask.shape[-1] == keys:
                row = mask.detach().reshape(-1, keys if mask.dim() < 2 else mask.shape[-2], keys)[0, -1]
                shows = row > torch.finfo(row.dtype).min / 2 if row.dtype.is_floating_point else row != 0
            places = None if key_places is None else key_places[0]
            self._own_bias.compare(module, bias, keys, last, shows, places)

    def over_ranks(self, q: Tensor, k: Tensor, v: Tensor, sizes: dict[str, int], sinks: Tensor | None) -> Tensor:
        """[batch, tokens, heads, value_dim], of tokens that lie on several ranks."""
        if self._scale_by_index is not None:
            q = q * self._scales_of_order(q)
        tables = ({"sinks": sinks} if self.layer.sinks and sinks is not None else {}) | self.weights.attached()
        out: Tensor = self.ranks.attend(self._of_handed_queries().replace(**sizes), tables, q, k, v)
        return out

    def _scales_of_order(self, q: Tensor) -> Tensor:
        """[tokens, 1]: the scale of each token's position by that of its index in the call, which the module counts by."""
        order = self.ranks.order
        if self._scales is None or self._scales[0] is not order:
            of = [_posenc.query_scale(self._scale_by_index, int(n)) for n in order]
            at = [_posenc.query_scale(self._scale_by_index, n) for n in range(len(order))]
            self._scales = (order, (torch.tensor(of) / torch.tensor(at)).unsqueeze(-1))
        scales: Tensor = self._scales[1]
        return scales.to(q)

    def kind_without_a_mask(self, module: nn.Module, said: bool | None, shape: tuple[int, ...]) -> str:
        """Of a call without a mask, whose queries see all keys, or with a flag for those before them.

        ValueError where the plan hides some of them, and nothing in the call does: to eager attention, which reads no flag, no
        mask means that all keys are seen. transformers gives "posenc" a mask even where SDPA has the flag alone.
        """
        *_, queries, keys = shape
        mask = self.own.mask
        hides = mask.chunk is not None and mask.chunk < keys
        if mask.window is not None:
            hides |= mask.window.past < keys - 1 or (mask.kind != "causal" and mask.window.future < keys - 1)
        if not hides and (mask.kind == "bidirectional" or queries == 1):
            if self.reads_flag:
                require_no_flag(module, said, queries)
            return "bidirectional"
        if not hides and mask.kind == "causal" and self.reads_flag and is_causal(module, said, shape):
            return "causal"
        raise ValueError(
            f"[use] {type(module).__name__} hands over no mask, by which its queries see all of {keys} keys, but the mask of the "
            f"model's plan is {mask.kind}, {mask!r}, and hides some"
        )

    def filled(self, module: nn.Module, queries: int, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Of a call without a mask, the keys and values up to the last query's own, which is where a StaticCache is filled.

        ValueError where the plan lets a query see keys that the cache has forgotten.
        """
        first, gone, mask = self.cache.first, self.cache.gone, self.layer.mask
        if first is None or self.layer.kind == "cross_attention":
            return key, value
        at = gone + first
        seen = 0 if mask.window is None else max(0, at - mask.window.past)
        seen = seen if mask.chunk is None else max(seen, at - at % mask.chunk)
        if seen < gone:
            wider = "none" if mask.window is None else f"one of {mask.window.past + 1}"
            wider += "" if mask.chunk is None else f", and chunks of {mask.chunk}"
            raise ValueError(
                f"[use] plan must have a window of at most {first + 1} tokens in {type(module).__name__} layer "
                f"{self.cache.layer}, as its sliding KV cache has, but has {wider}: query {at} sees key {seen}, and the "
                f"first {gone} keys are gone; pass a cache of full layers, as past_key_values=DynamicCache() is"
            )
        return key[:, :, : first + queries], value[:, :, : first + queries]

    def places(self, shape: tuple[int, ...], mask: Tensor | None, key_places: Tensor | None) -> dict[str, Tensor]:
        """Orders and positions of attend, where they are others than those that it takes for granted.

        key_places: positions of keys, [batch, keys], of a module that counts them in another way.
        """
        batch, _, queries, keys = shape
        layer = self.layer
        depends = bool(layer.score) or layer.value is not None or bool(layer.rotate)
        sees_all = layer.mask.kind == "bidirectional" and layer.mask.window is None and layer.mask.chunk is None
        if layer.kind == "cross_attention" and sees_all and not depends:
            return {}  # keys are of another text, which may be shorter
        first = keys - queries if self.cache.first is None else self.cache.first
        if not 0 <= first <= keys - queries:
            raise ValueError(f"[use] the KV cache must hold the keys of its {queries} queries, but has {keys} keys")
        if any(isinstance(term, _posenc.Fire) for term in layer.score) and mask is not None:
            key_places = self._unpadded(shape, mask)
        gone = self.cache.gone
        if gone and self._is_by_place and key_places is None:
            key_places = torch.arange(gone, gone + keys)[None]
        by_row: dict[str, Tensor] = {}
        is_counted = gone and self._keeps_mask and layer.mask.chunk is not None  # chunks are counted from the first key
        if is_counted or first != keys - queries and (depends or self.masks == "plan" or layer.mask.window is not None):
            by_row |= {"q_order": gone + torch.arange(first, first + queries), "k_order": gone + torch.arange(keys)}
            by_row = {name: of.repeat(batch) for name, of in by_row.items()}
        if key_places is not None and depends:
            every = key_places.expand(batch, -1)
            by_row |= {"q_positions": every[:, first : first + queries].flatten(), "k_positions": every.flatten()}
            by_row = {name: of.contiguous() for name, of in by_row.items()}
        return by_row

    def _unpadded(self, shape: tuple[int, ...], mask: Tensor) -> Tensor:
        """Positions of keys, counted from the first that is seen, for a scheme that knows where a text begins."""
        *_, keys = shape
        shown = (mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2)[:, 0, -1]
        if self.own.mask.window is not None or self.own.mask.chunk is not None:
            raise NotImplementedError("[use] FIRE must have no window beside padding: where a text begins is not seen")
        return (torch.arange(keys) - shown.int().argmax(-1, keepdim=True)).clamp(min=0)

    def of_call(
        self, sizes: dict[str, int], mask: str | None, sinks: Tensor | None
    ) -> tuple[_posenc.LayerPlan | _posenc.PreparedLayer, dict[str, Any]]:
        """layer and keywords of attend; again those of the last call, unless sizes, mask or parameters are others.

        mask: the kind of another mask than the plan's. sinks: of the module.
        """
        versions = self.weights.versions()
        like = (sizes, mask, versions)
        seen, made, *_ = self._last
        if versions is None or seen != like:
            made = self._made(sizes, mask, versions is not None)
            # What the parameters hold is kept, so that nothing else can come to lie where it does.
            self._last = (like, made, [of.detach() for of in self.weights.parameters])
        layer, weights = made
        weights = {**weights, "angles": self.angles}
        if self.layer.sinks and "sinks" not in weights:
            if sinks is None:
                raise ValueError("[use] weights must have the sinks of the plan, as the model has none")
            weights["sinks"] = sinks.detach()
        return layer, weights

    def _of_handed_queries(self) -> _posenc.LayerPlan:
        """The layer without what the module has multiplied its queries by. transformers caps scores before it adds a
        mask; without terms it is all one to a plan."""
        layer = self.layer.replace(softmax_scale=self.layer.softmax_scale * (self._ratio or 1.0))
        if layer.soft_cap is None or layer.score:
            return layer
        return layer.replace(soft_cap=layer.soft_cap.replace(order="before_bias"))

    def in_graph(
        self,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        scaling: float | None,
        softcap: float | None,
        sinks: Tensor | None,
        more: dict[str, Any],
    ) -> Tensor:
        """attention() while torch compiles or exports. NotImplementedError for what graphs cannot have."""
        if self.ranks is not None:
            raise NotImplementedError("[attention] tokens that lie on several ranks are not known in a graph")
        if scaling is not None and abs(float(scaling) - self._handed_scale) > 1e-4 * self._handed_scale:
            raise NotImplementedError(
                f"[attention] softmax_scale must be {self._handed_scale:.9g} but is {scaling:.9g}: call the model once "
                "before it is compiled, to see what its queries were multiplied by"
            )
        if self._is_by_distance and (query.shape[2] != key.shape[2] or more.get("key_places") is not None):
            raise NotImplementedError("[attention] biases by distance must have no KV cache and no padding in a graph")
        if self._keeps_mask and query.shape[2] != key.shape[2]:
            raise NotImplementedError("[attention] masks of the plan must have no KV cache in a graph")
        if softcap is not None and abs(softcap - self._cap) > 1e-4 * self._cap:
            raise NotImplementedError(f"[attention] softcap must be {self._cap:.9g} but is {softcap:.9g}")
        if self._is_by_place or (self._has_sinks and sinks is None and "sinks" not in (self.weights.named or {})):
            raise NotImplementedError("[attention] FIRE, and sinks that are not given, are not known in a graph")
        if self.weights.parameters and self.weights.named is None:
            raise NotImplementedError("[attention] tables of this class are not known in a graph")
        if self.masks == "plan":
            mask = None
        elif mask is None and query.shape[2] > 1 and not self._sees_all:
            raise NotImplementedError("[attention] a mask must be given in a graph")
        tables = dict(self.weights.named or {})
        if self._has_sinks and "sinks" not in tables and sinks is not None:
            tables["sinks"] = sinks
        return _operators.model_attend(
            query,
            key,
            value,
            mask,
            None,
            " ".join(tables),
            list(tables.values()),
            self._words,
            self._keeps_mask,
            False,
            self.angles,
        )

    def _made(self, sizes: dict[str, int], mask: str | None, is_counted: bool) -> tuple[Any, dict[str, Any]]:
        layer = self._of_handed_queries().replace(**sizes)
        if mask is not None:
            layer = layer.replace(mask=_posenc.Mask(kind=mask))
        weights = self.weights.make()
        # Sinks come with each call.
        if not self.weights.parameters or not is_counted or layer.sinks:
            return layer, weights
        return _posenc.prepare_layer(layer, **weights), {}
