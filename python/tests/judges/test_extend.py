"""posenc extend --weights of projections that make a gate beside the query, against the classes' own queries and keys."""
import json
import os
import subprocess

import numpy
import pytest
import torch
import transformers
from safetensors.torch import save_file

LAYER, LENGTH = 3, 256  # every fourth layer attends
HEADS, KV_HEADS, WIDTH, HIDDEN = 4, 2, 16, 32
SIZES = dict(hidden_size=HIDDEN, num_hidden_layers=4, num_attention_heads=HEADS, num_key_value_heads=KV_HEADS, head_dim=WIDTH,
             vocab_size=64, intermediate_size=32, max_position_embeddings=LENGTH, attention_bias=True)


def entropies(folder, *arguments):
    run = subprocess.run([os.environ["POSENC_COMMAND"], "extend", folder, "--to", "1000", "--json", *arguments],
                         capture_output=True, text=True, check=True)
    return {way["name"]: way["entropy_of_given"] for way in json.loads(run.stdout)["ways"]}


@pytest.mark.parametrize("name", ["Qwen3Next", "Qwen3_5Text"])
def test_queries_are_the_class(name, tmp_path):
    """Behind a norm of gain 0 queries and keys are their biases, so that both sides see the same ones."""
    config = getattr(transformers, f"{name}Config")(**SIZES)
    model = getattr(transformers, f"{name.removesuffix('Text')}ForCausalLM")(config).eval()
    layer = model.model.layers[LAYER]
    torch.manual_seed(1)
    seen = {}
    with torch.no_grad():
        for part in (layer.self_attn.q_proj, layer.self_attn.k_proj):
            part.bias.normal_(std=3.0)
        for part in (layer.self_attn.q_norm, layer.self_attn.k_norm):
            part.weight.normal_(std=0.5)
        layer.input_layernorm.weight.fill_(-1.0)  # 1 plus it is 0
        for part in "qk":
            getattr(layer.self_attn, f"{part}_norm").register_forward_hook(
                lambda module, inputs, output, part=part: seen.setdefault(part, output.detach()))
        model(torch.arange(4)[None])
    save_file({name: value.contiguous() for name, value in model.state_dict().items() if f"layers.{LAYER}." in name},
              tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()))
    given = []
    for part, heads in (("q", HEADS), ("k", KV_HEADS)):
        rows = seen[part].reshape(-1, heads, WIDTH)[:1]
        assert rows.shape == (1, heads, WIDTH)
        numpy.save(tmp_path / f"{part}.npy", rows.numpy())
        given += [f"--{part}", tmp_path / f"{part}.npy"]
    ours, theirs = entropies(tmp_path, "--weights", tmp_path), entropies(tmp_path, *given)
    assert ours.keys() == theirs.keys() and "yarn" in ours
    for way, entropy in theirs.items():
        assert ours[way] == pytest.approx(entropy, abs=1e-4), way
