"""The layers whose emitted code is run: at least one for each scheme that posenc.emit writes."""

from __future__ import annotations

from dataclasses import dataclass, field

import posenc


@dataclass
class Case:
    name: str
    plan: posenc.Plan
    layer: int | None = None
    stack: str | None = None
    cross: bool = False
    length: int | None = None
    inputs: dict = field(default_factory=dict)  # beside q, k, v, positions and order

    def layer_plan(self):
        stacks = [of for of in self.plan.stacks if self.stack in (None, of.name)]
        kind = "cross_attention" if self.cross else "attention"
        return next(of for of in stacks[0].layers if self.layer in (None, of.index) and of.kind == kind)

    def emit(self, language):
        return posenc.emit(self.plan, language, layer=self.layer, stack=self.stack, cross=self.cross)


def changed(plan, **changes):
    """A plan of the first layer alone, with other facts."""
    layer = plan.stacks[0].layers[0].replace(**changes)
    return plan.replace(stacks=(plan.stacks[0].replace(layers=(layer,)),))


LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
}
BLOOM = {"model_type": "bloom", "n_layer": 2, "n_head": 12, "hidden_size": 96, "seq_length": 2048}
MPT = {
    "model_type": "mpt",
    "n_layers": 2,
    "n_heads": 8,
    "d_model": 64,
    "max_seq_len": 2048,
    "attn_config": {"alibi": True},
}
FALCON = {
    "model_type": "falcon",
    "num_hidden_layers": 2,
    "num_attention_heads": 8,
    "hidden_size": 64,
    "alibi": True,
    "multi_query": False,
    "new_decoder_architecture": False,
}
QWEN2_VL = {
    "model_type": "qwen2_vl",
    "hidden_size": 512,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "num_hidden_layers": 2,
    "rope_theta": 1000000.0,
    "max_position_embeddings": 32768,
    "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
}
LLAMA4 = {
    "model_type": "llama4_text",
    "hidden_size": 64,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "num_hidden_layers": 4,
    "head_dim": 8,
    "attention_chunk_size": 512,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "no_rope_layers": [1, 1, 1, 0],
    "attn_temperature_tuning": True,
    "floor_scale": 128,
    "attn_scale": 0.1,
    "use_qk_norm": False,
}


def with_rope(**changes):
    """A small Llama whose rotation is another."""
    plan = posenc.read_plan(LLAMA)
    rotate = plan.stacks[0].layers[0].rotate[0]
    return changed(plan, rotate=(rotate.replace(scheme=rotate.rope.replace(**changes)),))


def cases():
    small = posenc.read_plan(LLAMA)
    yield Case("llama 3.1", posenc.read_plan("llama-3.1-8b"))
    yield Case("gpt-oss, window", posenc.read_plan("gpt-oss-20b"), layer=0)
    yield Case("olmo 3.1, yarn", posenc.read_plan("olmo-3.1-32b"), layer=3)
    yield Case("longrope, short", posenc.read_plan("phi-3.5-mini"), length=4096)
    yield Case("longrope, long", posenc.read_plan("phi-3.5-moe"), length=40001)
    yield Case("dynamic ntk", posenc.read_plan("internlm3-8b"), length=40001)
    yield Case("glm, partial and interleaved", posenc.read_plan("glm-4-9b"))
    yield Case("gemma 3, sliding", posenc.read_plan("gemma-3-4b"), layer=0)
    yield Case("gemma 3, full", posenc.read_plan("gemma-3-4b"), layer=5)
    yield Case("gemma 2, soft cap", posenc.read_plan("gemma-2-9b"), layer=1)
    yield Case("gpt-j", posenc.read_plan("gpt-j-6b"))
    yield Case("deepseek, mla", posenc.read_plan("deepseek-v2-lite"))
    yield Case("deepseek 3.2, sparse", posenc.read_plan("deepseek-v3.2"))
    yield Case("bloom, alibi by column", posenc.read_plan(BLOOM))
    yield Case("mpt, alibi", posenc.read_plan(MPT))
    yield Case("falcon, alibi in bfloat16", posenc.read_plan(FALCON))
    yield Case("t5, encoder", posenc.read_plan("t5-base"), stack="encoder")
    yield Case("t5, decoder", posenc.read_plan("flan-t5-large"), stack="decoder")
    yield Case("t5, cross", posenc.read_plan("t5-base"), stack="decoder", cross=True)
    yield Case("qwen2-vl, m-rope", posenc.read_plan(QWEN2_VL), stack="decoder")
    yield Case("llama 4, chunks", posenc.read_plan(LLAMA4), layer=0)
    yield Case("llama 4, nope", posenc.read_plan(LLAMA4), layer=3)
    yield Case("no positions", posenc.read_plan("gpt2"))
    yield Case("p-rope", with_rope(scaling=posenc.ProportionalScaling(partial_rotary_factor=0.5, factor=2.0)))
    yield Case("static ntk", with_rope(scaling=posenc.NtkScaling(alpha=4.0)))
    yield Case("factors", with_rope(scaling=posenc.FactorListScaling(factors=(1.0, 1.5, 2.0, 8.0))))
    yield Case("clockwise", with_rope(rotation_direction="clockwise"))
    yield Case("qwen 1", with_rope(scaling=posenc.QwenNtkScaling(seq_length=8192)).replace(length=40001), length=40001)
    axes = posenc.AxisMap(names=("h", "w"), of_pair=(0, 0, 1, 1))
    yield Case("axes of their own frequencies", with_rope(axes=axes, axis_frequencies="per_axis"))
    yield Case("axes that share a ladder", with_rope(axes=axes, axis_frequencies="strided"))
    axes = posenc.AxisMap(names=("h", "w"), of_pair=(0, 1, 0, 1))
    yield Case("axes in turn", with_rope(axes=axes, axis_frequencies="per_axis"))
    yield Case("prefix", changed(small, mask=posenc.Mask(kind="prefix")), inputs={"prefix": 6})
    yield Case(
        "window both ways",
        changed(small, mask=posenc.Mask(kind="bidirectional", window=posenc.Window(past=3, future=128))),
    )
    yield Case(
        "cap before the bias",
        changed(
            small, soft_cap=posenc.SoftCap(cap=5.0, order="before_bias"), score=(posenc.Alibi(heads=8, symmetric=True),)
        ),
    )
    yield Case("kerple", changed(small, rotate=(), score=(posenc.Kerple(form="logarithmic"),)))
    yield Case("kerple, power", changed(small, rotate=(), score=(posenc.Kerple(form="power"),)))
    yield Case(
        "clipped", changed(small, score=(posenc.ClippedBias(past=5, future=2),), mask=posenc.Mask(kind="bidirectional"))
    )
    yield Case(
        "swin",
        changed(small, rotate=(), score=(posenc.GridBias(rows=7, columns=5),), mask=posenc.Mask(kind="bidirectional")),
    )
    yield Case("values rotated", changed(small, value=posenc.RotatedValues(inverse_on_output=True)))
    yield Case(
        "ministral",
        changed(small, query_scale=posenc.MinistralTemperature(beta=0.1, original_max_position_embeddings=512)),
    )
    yield Case("log n", changed(small, query_scale=posenc.LogNScale(seq_length=512)))
    yield Case("beam", changed(small, rotate=(), query_scale=posenc.BeamTemperature(exponent=0.1, length=2048.0)))
    yield Case("inkling", changed(small, query_scale=posenc.InklingTemperature(alpha=0.1, floor=512.0)))


CASES = list(cases())
