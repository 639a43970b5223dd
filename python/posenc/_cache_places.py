"""Where the queries of one call stand among its keys, as the KV cache that the module is given counts them.

Keys of a DynamicCache end with the queries' own, which is what attend takes for granted. Those of a StaticCache go on
to its end, and a sliding one has forgotten the first. A layer that shares the keys of one before it shares their places.
"""

from __future__ import annotations

import inspect
import threading
from collections import UserDict
from typing import Any

import torch
from torch import Tensor, nn
from transformers.cache_utils import Cache, EncoderDecoderCache

_CACHES = ("past_key_values", "layer_past", "past_key_value")
_OTHER_SEQUENCE = ("key_value_states", "encoder_hidden_states")
_OF_SHARED = "_posenc_places"  # an attribute of what layers share their keys by: places by the type of layer


class CachePlaces(threading.local):
    """Of the call that this thread makes. first: the key that the first query stands with; None: as attend has it.
    gone: how many keys the cache has forgotten, before those that it hands over. layer: the module's index in the cache."""

    first: int | None = None
    gone: int = 0
    layer: int | None = None

    def of_call(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A forward pre-hook."""
        if torch.compiler.is_compiling():
            return
        given = inspect.signature(type(module).forward).bind_partial(module, *args, **kwargs).arguments
        given = {**given, **given.get("kwargs", {})}
        cache = next((given[name] for name in _CACHES if isinstance(given.get(name), Cache)), None)
        self.first, self.gone = None, 0
        if cache is None or any(isinstance(given.get(name), Tensor) for name in _OTHER_SEQUENCE):
            return
        if isinstance(cache, EncoderDecoderCache):
            cache = cache.self_attention_cache
        self.layer = next((getattr(module, name) for name in ("layer_idx", "layer_id") if hasattr(module, name)), None)
        shared, kind = given.get("shared_kv_states"), getattr(module, "layer_type", None)
        if getattr(module, "is_kv_shared_layer", False):
            self.first, self.gone = getattr(shared, _OF_SHARED, {}).get(kind, (None, 0))
        elif self.layer is not None:
            queries = next(x for x in (*args, *kwargs.values()) if isinstance(x, Tensor)).shape[1]
            self.gone = int(cache.get_mask_sizes(queries, self.layer)[1])
            self.first = int(cache.get_query_offset(self.layer)) - self.gone
            if isinstance(shared, UserDict):  # of this forward pass
                vars(shared).setdefault(_OF_SHARED, {})[kind] = self.first, self.gone
