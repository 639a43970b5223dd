"""Keyword arguments of attention: each that transformers' modules hand over is carried out, says nothing of it, or is refused."""

import ast
import pathlib

import pytest
import torch
import transformers

import posenc
import posenc.transformers
from posenc._handed import keywords
from posenc.transformers import use

SPARSE = ["deepseek_v32", "glm_moe_dsa", "axk2", "hy_v4", "dots3_note_text"]
SIZES = dict(hidden_size=32, intermediate_size=32, num_attention_heads=2, num_key_value_heads=2, num_hidden_layers=2)
LATENT = dict(q_lora_rank=8, kv_lora_rank=8, qk_nope_head_dim=8, qk_rope_head_dim=4, v_head_dim=8)
EXPERTS = dict(n_routed_experts=2, n_group=1, topk_group=1, num_experts_per_tok=1, moe_intermediate_size=8)
OTHERS = dict(n_shared_experts=1, first_k_dense_replace=2, vocab_size=32, max_position_embeddings=64, pad_token_id=0)
INDEXER = dict(index_topk=3, index_n_heads=2, index_head_dim=8)
TOKENS = torch.randint(1, 32, (2, 14), generator=torch.Generator().manual_seed(5))


def made(name, **more):
    torch.set_num_threads(1)
    torch.manual_seed(0)
    facts = SIZES | more if name == "llama" else SIZES | LATENT | EXPERTS | OTHERS | INDEXER | more
    model = transformers.AutoModel.from_config(transformers.CONFIG_MAPPING[name](**facts)).eval()
    with torch.no_grad():
        for of in model.parameters():
            if of.dim() > 1:
                of.normal_(0, (2.0 / of.shape[-1]) ** 0.5)
    return model


@torch.no_grad()
def steps(model):
    """A prompt, and two tokens by its KV cache."""
    out = model(TOKENS[:, :12], use_cache=True)
    states, cache = [out.last_hidden_state], out.past_key_values
    for at in (12, 13):
        states.append(model(TOKENS[:, at : at + 1], past_key_values=cache).last_hidden_state)
    return torch.cat(states, 1)


@pytest.mark.parametrize("name", SPARSE)
def test_keys_that_an_indexer_selects_are_the_only_ones_seen(name):
    """Modules hand them over for all names but 'eager' and 'sdpa': posenc saw every key, 1.2 away."""
    model = made(name)
    own = steps(model)
    with use(model):
        torch.testing.assert_close(steps(model), own, rtol=1e-4, atol=1e-4)
    model.set_attn_implementation("posenc")
    torch.testing.assert_close(steps(model), own, rtol=1e-4, atol=1e-4)


def handed_over():
    """By keyword: the files of the installed transformers whose modules hand it to what they have looked up."""
    found = {}
    root = pathlib.Path(transformers.__file__).parent
    for path in sorted(root.glob("models/*/modeling_*.py")):
        text = path.read_text()
        if "ALL_ATTENTION_FUNCTIONS" not in text:
            continue
        tree = ast.parse(text)
        names = {
            target.id
            for node in ast.walk(tree)
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and "ALL_ATTENTION_FUNCTIONS" in ast.dump(node)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                for of in node.keywords:
                    found.setdefault(of.arg, set()).add(path.stem)
    return found


def test_every_keyword_that_transformers_hands_over_is_known():
    found = handed_over()
    assert len(found["scaling"]) > 300 and "indices" in found  # the search finds them
    known = {*keywords.CARRIED_OUT, *keywords.OF_NO_CONSEQUENCE, *keywords.REFUSED, "query", "key", "value", None}
    assert {name: sorted(of) for name, of in found.items() if name not in known} == {}


@pytest.mark.parametrize("name", [*keywords.REFUSED, "of_tomorrow"])
@pytest.mark.parametrize("within", [True, False])
def test_a_keyword_that_is_not_carried_out_is_refused(name, within):
    """They ended nowhere."""
    model = made("llama", vocab_size=32)
    model.set_attn_implementation("sdpa" if within else "posenc")
    given = {name: torch.tensor([0, 5, 14], dtype=torch.int32)}
    with pytest.raises(NotImplementedError, match=rf"\[attention\] LlamaAttention must not hand over {name}: "):
        if within:
            with use(model):
                model(TOKENS, **given)
        else:
            model(TOKENS, **given)
    model(TOKENS, **{name: None})


def test_keywords_that_say_nothing_of_attention_pass():
    """Of a trainer and of callers, handed all the way down."""
    model = made("llama", vocab_size=32)
    with use(model):
        model(TOKENS, num_items_in_batch=torch.tensor(3), output_hidden_states=True, position_ids=torch.arange(14)[None])
        model(TOKENS, shift_labels=TOKENS, ignore_index=-1)
