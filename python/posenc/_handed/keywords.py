"""The keyword arguments that modules of transformers hand to their attention function: which of them posenc carries out,
which change nothing of what is attended, and that every other one is refused.

transformers hands all that a model was called with down to attention, in `**kwargs`, so that most say nothing of it. A new
one may say which keys are seen, as `indices` did; nothing tells a model that it was not read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

# attention() reads them. A window is in the mask too, which posenc's own function makes.
CARRIED_OUT = (
    "attention_mask", "scaling", "dropout", "softcap", "s_aux", "position_bias", "is_causal", "sliding_window", "indices",
    "key_places", "output_attentions",
)  # fmt: skip

# Of the model's outputs, its loss and its caches, and what is done before attention: positions (which rotations and masks
# are made of), rows of state-space layers, angles, latents and indexers that a module reads itself.
OF_NO_CONSEQUENCE = (
    "position_ids", "position_embeddings", "use_cache", "past_key_values", "cache_position", "output_hidden_states",
    "output_router_logits", "return_dict", "num_items_in_batch", "labels", "shift_labels", "ignore_index", "logits_to_keep",
    "token_type_ids", "mm_token_type_ids", "is_first_iteration", "seq_idx", "layer_idx", "shared_kv_states", "deterministic",
)  # fmt: skip

# What changes which keys are seen, or what they weigh, and is not carried out: what to do instead.
REFUSED = {
    "cu_seq_lens_q": "say where packed texts begin by position_ids that begin again, and leave it out",
    "cu_seq_lens_k": "say where packed texts begin by position_ids that begin again, and leave it out",
    "max_length_q": "it comes with cu_seq_lens_q, for packed texts: say where they begin by position_ids, and leave it out",
    "max_length_k": "it comes with cu_seq_lens_k, for packed texts: say where they begin by position_ids, and leave it out",
    "block_indices": "the blocks of keys that an indexer selects are not known here: set 'eager' or 'sdpa' attention",
    "sinks": "values of a sink for each query are not known here: set 'eager' or 'sdpa' attention",
}


def refuse_unread(module: nn.Module, given: Mapping[str, Any]) -> None:
    """NotImplementedError for a keyword that says something which posenc would not do."""
    for name, value in given.items():
        if value is None or value is False or name in CARRIED_OUT or name in OF_NO_CONSEQUENCE:
            continue
        why = REFUSED.get(name, "posenc does not know whether it changes what is attended")
        raise NotImplementedError(f"[attention] {type(module).__name__} must not hand over {name}: {why}")


def with_selected_keys(mask: Tensor | None, indices: Tensor | None, keys: int) -> Tensor | None:
    """The mask, which hides besides the keys that an indexer has not selected.

    indices: [batch, queries, selected], the keys of each query, as DeepSeek-V3.2's modules hand them over for kernels of
    sparse attention; for 'eager' and 'sdpa', which they know by these names, they do this themselves.
    """
    if indices is None:
        return mask
    hidden = indices.new_ones((*indices.shape[:2], keys), dtype=torch.bool)
    hidden = hidden.scatter(-1, indices.long(), False).unsqueeze(1)
    if mask is None:
        return ~hidden
    return mask & ~hidden if mask.dtype == torch.bool else mask.masked_fill(hidden, torch.finfo(mask.dtype).min)
