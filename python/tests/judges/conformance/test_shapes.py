"""python -m posenc.conformance.shapes: the weights that a class makes contradict no plan of its configuration, and those
of another configuration do."""

import re

import pytest
from posenc.conformance import shapes

# Norms of q and k, sinks, latents, one tensor for q, k and v, gates, T5's tables, learned tables, several stacks.
TYPES = [
    *("qwen3", "gpt_oss", "deepseek_v3", "phi3", "qwen3_next", "t5", "gpt2", "bart", "mllama_text_model", "led"),
    "roformer",
]


@pytest.mark.parametrize("model_type", TYPES)
def test_own_weights_agree_and_others_are_named(model_type):
    verdict = shapes.judge(model_type)
    assert (verdict.verdict, verdict.facts) == ("agrees", [])
    assert verdict.named and not verdict.missed, verdict


@pytest.mark.parametrize(
    ("model_type", "named"),
    [
        ("mobilebert", {"max_position_embeddings"}),  # words narrower than the table
        ("neomme", {"head_dim"}),  # its norms of q and k have no weights
        ("zaya", {"num_key_value_heads"}),  # norms beside the module that projects
        ("decision_transformer", {"n_layer"}),  # a second table, whose first row every token has
        ("qwen3_5_moe", set()),  # the text's class takes a part of the configuration
        *((name, set()) for name in ("pp_formulanet", "deepseek_ocr2_vision", "rag", "hiera", "sam2_hiera_det_model")),
        *((name, set()) for name in ("nemotron3_5_transcribe_audio", "musicgen")),
    ],
)
def test_each_tensor_is_compared_with_its_own_stack(model_type, named):
    verdict = shapes.judge(model_type)
    assert (verdict.verdict, verdict.facts) == ("agrees", [])
    assert named <= set(verdict.named), verdict


@pytest.mark.parametrize("model_type", ["pvt", "sam2_video", "maskformer", "video_llava", "phi4_multimodal"])
def test_modules_that_are_of_no_stack_contradict_none(model_type):
    assert shapes.judge(model_type).facts == []


def test_what_the_configuration_itself_refuses_to_write_is_not_made():
    # sweep_keys gives it small images; its validator wants them as large as its patches, and runs where it is written.
    verdict = shapes.judge("depth_pro")
    assert verdict.verdict == "not made"
    assert re.match("Strict.*Error: .*image_size=112", verdict.facts[0])


def test_a_contradiction_is_a_status(capsys, monkeypatch):
    own = shapes.weights

    def with_fewer_keys(config):
        return {
            name: (shape[0] // 2, *shape[1:]) if name.endswith("k_proj.weight") else shape
            for name, shape in own(config).items()
        }

    assert shapes.main(["--type", "llama"]) == 0
    assert "| `llama` | agrees |" in capsys.readouterr().out
    monkeypatch.setattr(shapes, "weights", with_fewer_keys)
    assert shapes.main(["--type", "llama"]) == 1
    assert "| `llama` | contradicts | model.layers.0.self_attn.k_proj.weight is [" in capsys.readouterr().out
