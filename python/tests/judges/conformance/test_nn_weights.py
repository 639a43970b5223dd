"""posenc.nn.from_transformers: weights that a module has from elsewhere, or that are not those of its plan's layer."""

from __future__ import annotations

import pytest
import torch
import transformers as hf

import posenc.nn as pn

T5 = {"d_model": 32, "d_kv": 8, "num_heads": 4, "d_ff": 32, "num_layers": 2, "dropout_rate": 0.0, "vocab_size": 50}
LLAMA = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4, "num_hidden_layers": 1, "vocab_size": 50}


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_the_table_of_t5s_first_layer_is_the_others_too(stack):
    """They came with one of random numbers."""
    model = hf.T5Model(hf.T5Config(**T5)).eval()
    first, second = (of.layer[0].SelfAttention for of in getattr(model, stack).block[:2])
    torch.nn.init.normal_(first.relative_attention_bias.weight)
    with pytest.raises(ValueError, match="table must be given: T5Attention has none of its own"):
        pn.from_transformers(second, stack=stack, layer=1)
    table = first.relative_attention_bias.weight
    own = pn.from_transformers(second, stack=stack, layer=1, table=table)
    x = torch.randn(1, 7, second.q.weight.shape[1])
    bias = first.compute_bias(7, 7)
    if stack == "decoder":
        bias = bias + torch.full((7, 7), float("-inf")).triu(1)
    torch.testing.assert_close(own(x), second(x, position_bias=bias)[0])
    assert own.terms[0].table.data_ptr() != table.data_ptr()
    with pytest.raises(ValueError, match="table must be omitted: T5Attention has its own"):
        pn.from_transformers(first, stack=stack, table=table)


def test_what_does_not_fit_the_plans_layer_is_named():
    """It was a bare AttributeError, or torch's words alone."""
    config = hf.LlamaConfig(**LLAMA)
    module = hf.LlamaModel(config).layers[0].self_attn
    with pytest.raises(ValueError, match=r"(?s)the weights of LlamaAttention must be those of .* layer 0: .*size mismatch"):
        pn.from_transformers(module, config=hf.LlamaConfig(**LLAMA, num_key_value_heads=2))
    module.q_proj = torch.nn.Identity()
    with pytest.raises(ValueError, match="projections must have a weight, but a Identity has none"):
        pn.from_transformers(module)
