"""use(plan=) of models whose own plan is not known: what the plan says runs as where it is known, or is refused."""

import pytest
import torch
import transformers

import posenc
from posenc.transformers import use

FACTS = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 2, "num_key_value_heads": 2, "num_hidden_layers": 2}
FACTS |= {"vocab_size": 50, "max_position_embeddings": 64, "pad_token_id": 0}
IDS = torch.randint(3, 50, (2, 20), generator=torch.Generator().manual_seed(1))
WINDOW = posenc.Mask(window=posenc.Window(past=3))
UNTURNED = {"rotate": (), "score": (posenc.Alibi(heads=2),)}


def made(**more):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = transformers.AutoModelForCausalLM.from_config(transformers.LlamaConfig(**FACTS, **more)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return model


def logits(model, **given):
    with torch.no_grad():
        return model(IDS, **given).logits


def plan_with(which=(1,), **changes):
    plan = posenc.read_plan(made().config)
    stack = plan.stacks[0]
    layers = tuple(layer.replace(**changes) if layer.index in which else layer for layer in stack.layers)
    return plan.replace(stacks=(stack.replace(layers=layers),))


def unread():
    """Its class does not read the key."""
    model = made(attention_chunk_size=3)
    assert not posenc.read_plan(model.config).known
    return model


PLANS = {
    "no rotation in a layer": ({"rotate": ()}, {}),
    "no rotation": ({"which": (0, 1), "rotate": ()}, {}),
    "ALiBi for RoPE in a layer": (UNTURNED, {}),
    "ALiBi for RoPE": ({"which": (0, 1), **UNTURNED}, {}),
    "a window": ({"mask": WINDOW}, {"masks": "plan"}),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_runs_as_where_the_models_own_is_known(name):
    """Layers went on to rotate."""
    changes, how = PLANS[name]
    sides = []
    for model in (made(), unread()):
        with use(model, plan=plan_with(**changes), **how):
            sides.append(logits(model))
    torch.testing.assert_close(*sides)
    assert not torch.allclose(sides[0], logits(made()), atol=1e-3)


@pytest.mark.parametrize("mask", [WINDOW, posenc.Mask(kind="bidirectional")])
def test_a_mask_of_the_plan_is_compared_with_the_models(mask):
    """It was without effect."""
    with use(model := unread(), plan=plan_with(mask=mask)), pytest.raises(ValueError, match="say masks='plan'"):
        logits(model)


def test_padding_is_no_difference():
    padded = torch.ones_like(IDS).index_fill_(1, torch.tensor([0, 1]), 0)
    own = logits(model := unread(), attention_mask=padded)
    with use(model, plan=plan_with()):
        torch.testing.assert_close(logits(model, attention_mask=padded)[:, 2:], own[:, 2:])


def test_a_layer_that_does_not_rotate_is_seen():
    """A rotation of the plan was without effect there."""
    config = transformers.SmolLM3Config(**FACTS, no_rope_layers=[1, 0] * 3)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    with pytest.raises(ValueError, match="no_rope_layers"):
        posenc.read_plan(config)
    own = logits(model)
    plans = [posenc.read_plan(transformers.SmolLM3Config(**FACTS, no_rope_layers=[1, rotates])) for rotates in (0, 1)]
    with use(model, plan=plans[0]):
        torch.testing.assert_close(logits(model), own)
    with use(model, plan=plans[1]), pytest.raises(ValueError, match="layers.1.self_attn, which rotates nothing by the angles"):
        logits(model)


def test_a_layer_that_makes_its_angles_itself_must_rotate():
    model = made(attention_chunk_size=3)
    for layer in model.model.layers:
        layer.self_attn.rotary_emb = model.model.rotary_emb
    with pytest.raises(ValueError, match="must have a rotation in model.layers.1.self_attn, which makes its angles itself"):
        with use(model, plan=plan_with(rotate=())):
            pass
