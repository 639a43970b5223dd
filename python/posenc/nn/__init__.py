"""Position encodings as modules of torch, by the field's names: made from numbers, from a plan, or from a model's module.

    import posenc, posenc.nn

    attention = posenc.nn.Attention(layer, width=512)                  # layer: a LayerPlan; projections, cache, GQA
    out = attention(hidden)                                            # [batch, tokens, width]
    attention = posenc.nn.from_plan(plan, 0, width=4096)
    attention = posenc.nn.from_transformers(model.encoder.block[0].layer[0].SelfAttention)
    rotary = posenc.nn.RotaryEmbedding(rope, learned=True)             # rotary(q, positions=100)
    bias = posenc.nn.T5RelativeBias(heads=8)(queries=10, keys=10)      # [heads, queries, keys]

All is computed by posenc.torch (attend, rotate), which is differentiable in every parameter.
"""

from .attention import Attention, KVCache
from .biases import (
    ALiBi,
    ClippedRelativeBias,
    Fire,
    GridRelativeBias,
    Kerple,
    MlpRelativeBias,
    Sandwich,
    T5RelativeBias,
)
from .contents import (
    CoPE,
    DecomposedRelative,
    DisentangledAttention,
    ForgetGate,
    ShawRelative,
    ShawRelativeValues,
    TransformerXLRelative,
    XLNetRelative,
)
from .plans import from_plan, from_transformers, module_of
from .positions import LearnedPositions, SinusoidalPositions
from .rotary import AxialRotary, PixelRotary, RotaryEmbedding
from .scheme import SchemeModule

__all__ = [
    "ALiBi",
    "Attention",
    "AxialRotary",
    "ClippedRelativeBias",
    "CoPE",
    "DecomposedRelative",
    "DisentangledAttention",
    "Fire",
    "ForgetGate",
    "GridRelativeBias",
    "KVCache",
    "Kerple",
    "LearnedPositions",
    "MlpRelativeBias",
    "PixelRotary",
    "RotaryEmbedding",
    "Sandwich",
    "SchemeModule",
    "ShawRelative",
    "ShawRelativeValues",
    "SinusoidalPositions",
    "T5RelativeBias",
    "TransformerXLRelative",
    "XLNetRelative",
    "from_plan",
    "from_transformers",
    "module_of",
]
