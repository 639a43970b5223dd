"""transformers as the judge: whole models of its families, run by its own code and by posenc."""

import contextlib
import functools
import logging
import os
import pathlib
import sys
import warnings

import pytest
import torch
import transformers

import bounds
import posenc
import posenc.transformers
from posenc.conformance import roundings, table, verdicts
from posenc.conformance.families import BATCH, FAMILIES, TOKENS, VOCABULARY

PAGE = pathlib.Path(os.environ["POSENC_SOURCE_DIR"]) / "docs/conformance.md"
BY_TITLE = {family.title: family for family in FAMILIES}


@functools.cache
def judged(title):
    return verdicts.judge(BY_TITLE[title])


def test_there_are_sixty_families():
    assert len({family.model_type for family in FAMILIES}) >= 60
    assert len(BY_TITLE) == len(FAMILIES)


@pytest.mark.parametrize("title", BY_TITLE)
def test_logits_agree_and_spoiled_ones_do_not(title):
    verdict = judged(title)
    assert verdict.plan.known
    assert verdict.changed.attention or verdict.changed.rotary
    assert verdict.agreed, (verdict.difference, verdict.bound)
    assert verdict.least_mistake[1] > roundings.SPOILED_OVER_BOUND, verdict.spoiled


@pytest.mark.parametrize("title", BY_TITLE)
def test_the_page_has_the_row_that_is_printed(title):
    """On any processor, with any number of threads: what depends on them is not in it."""
    assert table.row(judged(title)) in PAGE.read_text().splitlines()


def test_a_bound_knows_no_order():
    """Moves follow from what is moved. Some models work through a set of strings, whose order is another each time."""
    x, y = (torch.arange(1.0, 7.0, dtype=torch.float64).view(2, 3) / n for n in (7, 11))
    orders = (lambda: torch.cat([x.sin(), y.sin()]), lambda: torch.cat([y.sin(), x.sin()]).roll(2, 0))
    first, second = (roundings.bound(run) for run in orders)
    assert first == second > 0
    moved = []
    for run in orders:
        with roundings.Moved(0):
            moved.append(run())
    assert torch.equal(*moved) and not torch.equal(moved[0], orders[0]())


def test_nothing_of_an_experiment_is_in_float32():
    with roundings.Doubles():
        x = torch.ones(2)
        made = [x, torch.arange(3, dtype=torch.float32), x.float(), x.softmax(0, torch.float32)]
    assert all(one.dtype == torch.float64 for one in made) and torch.ones(1).dtype == torch.float32


# ---- use() and the registry ----


def small_llama():
    return BY_TITLE["llama"].model(), BY_TITLE["llama"].inputs()


def test_use_is_undone_whatever_happens():
    model, inputs = small_llama()
    before = verdicts.logits(model, inputs)
    modules = dict(model.named_modules())
    with pytest.raises(KeyError):
        with posenc.transformers.use(model) as changed:
            assert changed.rotary == ("model.rotary_emb",)
            assert changed.attention == ("model.layers.0.self_attn", "model.layers.1.self_attn")
            assert "rotary: model.rotary_emb\n" in str(changed)
            assert type(model.model.rotary_emb) is not type(modules["model.rotary_emb"])
            raise KeyError
    assert dict(model.named_modules()) == modules and model.config._attn_implementation == "eager"
    assert torch.equal(verdicts.logits(model, inputs), before)


def other_base(base):
    return lambda rope: rope.replace(base=base)


@pytest.mark.parametrize("title", ["llama", "gptj", "t5"])
@pytest.mark.parametrize("models", ["one", "two"])
@pytest.mark.parametrize("first", ["the first", "the second"])
def test_uses_can_be_left_in_any_order(title, models, first):
    """Whichever is left, what the other one replaced stays, and at last all is as before."""
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    other = BY_TITLE[title].model() if models == "two" else model
    schemes = [None, None] if title == "t5" else [other_base(300.0), other_base(30.0)]
    before = verdicts.logits(model, inputs)
    files = {type(module).__module__ for module in model.modules()}
    functions = {file: dict(vars(sys.modules[file])) for file in files}
    alone = []
    for scheme in schemes:
        with posenc.transformers.use(model, scheme=scheme):
            alone.append(verdicts.logits(model, inputs))
        assert torch.equal(verdicts.logits(model, inputs), before)
    uses = [posenc.transformers.use(of, scheme=scheme) for of, scheme in zip((model, other), schemes)]
    for use in uses:
        use.__enter__()
    assert torch.equal(verdicts.logits(other, inputs), alone[1])
    if models == "two":
        assert torch.equal(verdicts.logits(model, inputs), alone[0])
    left, stays = (0, 1) if first == "the first" else (1, 0)
    uses[left].__exit__(None, None, None)
    assert torch.equal(verdicts.logits((model, other)[stays], inputs), alone[stays])
    uses[stays].__exit__(None, None, None)
    for of in (model, other):
        assert torch.equal(verdicts.logits(of, inputs), before) and of.config._attn_implementation == "eager"
    assert all(dict(vars(sys.modules[file])) == functions[file] for file in files)


def test_a_plan_of_other_sizes_is_refused():
    model, _ = small_llama()
    own = posenc.read_plan(model.config)
    layer = own.stacks[0].layers[0]

    def refused(plan, words):
        before = dict(model.named_modules())
        with pytest.raises(ValueError, match=words), posenc.transformers.use(model, plan=plan):
            pass
        assert dict(model.named_modules()) == before

    refused(posenc.read_plan("llama-3.1-8b"), "plan must have as many attention layers as the model, 2, but has 32")
    wider = verdicts.with_layers(own, lambda layer: layer.replace(head_dim=2 * layer.head_dim, rotate=()))
    refused(wider, f"must have head_dim {layer.head_dim} in attention layer 0, as the model, but has {2 * layer.head_dim}")
    vision = own.replace(stacks=tuple(stack.replace(name="vision") for stack in own.stacks))
    refused(vision, "must have a stack of the model's, decoder, but has vision")


@pytest.mark.parametrize("title", ["t5", "bloom"])
def test_a_scheme_is_refused_where_nothing_rotates(title):
    model = BY_TITLE[title].model()
    with pytest.raises(ValueError, match="scheme must be omitted where the plan has no RoPE"):
        with posenc.transformers.use(model, scheme=other_base(300.0)):
            pass
    assert model.config._attn_implementation == "eager"


@pytest.mark.parametrize("title", ["llama", "gptj", "bloom", "t5"])
def test_weights_of_attention_do_not_come_and_this_is_said(title):
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    with posenc.transformers.use(model):
        with pytest.warns(UserWarning, match="gives no weights for `output_attentions=True`"):
            model(**inputs, output_attentions=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model(**inputs)
    model.set_attn_implementation("posenc")
    if title == "llama":
        with pytest.warns(UserWarning, match="gives no weights for `output_attentions=True`"):
            model(**inputs, output_attentions=True)


@pytest.mark.parametrize("title", ["deberta", "deberta-v2", "gptj", "llama"])
def test_use_says_nothing_of_modules_that_it_replaced(title):
    model, seen = BY_TITLE[title].model(), []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())
    before = transformers.logging.get_verbosity()
    transformers.logging.set_verbosity_warning()
    transformers.logging.add_handler(handler)
    try:
        with posenc.transformers.use(model) as changed:
            assert changed.attention
        transformers.logging.get_logger("transformers.modeling_utils").warning("still heard")
    finally:
        transformers.logging.remove_handler(handler)
        transformers.logging.set_verbosity(before)
    assert seen == ["still heard"]


def test_another_scheme_is_that_models():
    """The experiment of two lines: YaRN in use is the model whose configuration says YaRN."""
    model, inputs = small_llama()
    extended = BY_TITLE["llama, yarn"].model()
    scaling = posenc.YarnScaling(factor=4.0, original_max_position_embeddings=16)

    def yarn(rope):
        return rope.replace(base=1000.0, scaling=scaling)

    with posenc.transformers.use(model, scheme=yarn, angles="float32"):
        given = verdicts.logits(model, inputs)
    assert roundings.rms(given - verdicts.logits(extended, inputs)) <= judged("llama, yarn").bound


@pytest.mark.parametrize(
    "title, table", [("t5", "relative_attention_bias"), ("deberta-v2", "rel_embeddings"), ("xlnet", "r_w_bias")]
)
@pytest.mark.parametrize("change", ["in place", "another"])
def test_learned_tables_are_worked_on_once_until_they_change(monkeypatch, title, table, change):
    """As often as it is seen by the calls of prepare_layer, and by what a model computes after its own table changed."""
    prepare, made = posenc.prepare_layer, []
    monkeypatch.setattr(
        posenc._posenc, "prepare_layer", lambda layer, **given: made.append(layer) or prepare(layer, **given)
    )
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    with posenc.transformers.use(model, angles="float32"):
        before = verdicts.logits(model, inputs)
        assert len(made) == sum(bool(layer.score) for stack in judged(title).plan.stacks for layer in stack.layers)
        first = len(made)
        assert torch.equal(verdicts.logits(model, inputs), before) and len(made) == first
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if table in name and change == "in place":
                    parameter.copy_(parameter.flip(0))
                elif table in name:
                    parameter.data = parameter.flip(0)
        after = verdicts.logits(model, inputs)
        assert len(made) > first
    own = verdicts.logits(model, inputs)
    assert roundings.rms(after - own) <= judged(title).bound
    assert roundings.rms(before - own) > roundings.SPOILED_OVER_BOUND * judged(title).bound


@pytest.mark.parametrize("title", ["llama", "mistral", "gemma2", "gpt_oss", "t5", "llama4_text"])
def test_the_name_alone_attends_under_padding(title):
    """attn_implementation='posenc', with no use(): masks arrive, and so do scales, caps, sinks and biases."""
    family = BY_TITLE[title]
    model, inputs = family.model(), family.inputs()
    padding = torch.ones(BATCH, TOKENS, dtype=torch.long)
    padding[0, :3] = 0
    inputs["attention_mask"] = padding
    real = padding.bool() if "decoder_input_ids" not in inputs else torch.ones_like(padding).bool()
    own = verdicts.logits(model, inputs)
    model.set_attn_implementation("posenc")
    given = verdicts.logits(model, inputs)
    assert roundings.rms((given - own)[real]) <= judged(title).bound


@pytest.mark.parametrize("title", ["bloom", "mpt", "codegen", "falcon, alibi", "gptj", "gpt_neo"])
def test_the_name_is_refused_where_it_would_be_of_no_use(title):
    """Their masks of floats were of bool (other logits), or a bare KeyError came. use() takes them."""
    model, config = BY_TITLE[title].model(), BY_TITLE[title].config()
    config._attn_implementation = "posenc"
    with pytest.raises(ValueError, match=f"another than 'posenc' for {type(model).__name__}, .*: make it with 'eager'"):
        type(model)(config)
    with posenc.transformers.use(model):
        verdicts.logits(model, BY_TITLE[title].inputs())


def added(kind, dtype=torch.float32):
    """A mask of floats, added to scores: [1, 1, TOKENS, TOKENS]."""
    causal = torch.ones(TOKENS, TOKENS).tril().bool()
    documents = causal.clone()
    documents[7:, :7] = False
    prefix = causal.clone()
    prefix[:, :5] = True
    nothing = causal.clone()
    nothing[4] = False
    lowest = torch.finfo(dtype).min
    steps = (torch.arange(TOKENS)[:, None] - torch.arange(TOKENS)).abs().to(dtype)
    of = {
        "lowest": torch.zeros(causal.shape).masked_fill(~documents, lowest),
        "infinite": torch.zeros(causal.shape).masked_fill(~prefix, -torch.inf),
        "-1e9": torch.zeros(causal.shape).masked_fill(~documents, -1e9),
        "both ways, -1e4": torch.zeros(causal.shape).masked_fill(~prefix, -1e4),
        "a bias": (-0.5 * steps).masked_fill(~causal, lowest),
        "a bias of what is not seen": -2.0 * steps,
        "a row that sees nothing": torch.zeros(causal.shape).masked_fill(~nothing, lowest),
    }
    return of[kind].to(dtype)[None, None]


MASKS = ["lowest", "infinite", "-1e9", "both ways, -1e4", "a bias", "a bias of what is not seen"]
MASKS += ["a row that sees nothing"]


@pytest.mark.parametrize("title", ["llama", "gemma2", "gptj", "mpnet", "gpt_oss"])
@pytest.mark.parametrize("kind", MASKS)
def test_a_mask_of_floats_is_added(title, kind):
    """As eager attention adds it, whatever it holds; and behind a cap."""
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    plain = verdicts.logits(model, inputs)
    inputs["attention_mask"] = added(kind)
    own = verdicts.logits(model, inputs)
    given = {}
    with posenc.transformers.use(model, angles="float32"):
        given["use"] = verdicts.logits(model, inputs)
    if title not in ("gptj", "mpnet"):  # they know no registry
        model.set_attn_implementation("posenc")
        given["name"] = verdicts.logits(model, inputs)
        model.set_attn_implementation("eager")
    model.double()
    limit = roundings.bound(lambda: verdicts.logits(model, inputs))
    assert roundings.rms(own - plain) > roundings.SPOILED_OVER_BOUND * limit
    for how, of in given.items():
        assert roundings.rms(of - own) <= limit, how


def test_a_mask_of_floats_of_another_dtype():
    model, inputs = BY_TITLE["llama"].model().bfloat16(), BY_TITLE["llama"].inputs()
    given = []
    for dtype in (torch.bfloat16, torch.float32):
        inputs["attention_mask"] = added("-1e9", dtype)
        with posenc.transformers.use(model):
            given.append(verdicts.logits(model, inputs))
    assert torch.equal(*given)


@pytest.mark.parametrize("title", ["bloom", "falcon, alibi"])
def test_alibi_under_padding_is_added_once(title):
    """Falcon puts it into the mask."""
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    padding = torch.ones(BATCH, TOKENS, dtype=torch.long)
    padding[0, :3] = 0
    inputs["attention_mask"] = padding
    own = verdicts.logits(model, inputs)
    with posenc.transformers.use(model, angles="float32"):
        given = verdicts.logits(model, inputs)
    assert roundings.rms((given - own)[padding.bool()]) <= judged(title).bound


@pytest.fixture
def visible(monkeypatch):
    """What calls of attend are told besides the layer's mask: kinds of that, and shapes of more."""
    seen, attend = [], posenc.attend

    def told(layer, q, k, v, **given):
        of = layer.layer if isinstance(layer, posenc.PreparedLayer) else layer
        more = given["bias"] if given.get("attn_mask") is None else given["attn_mask"]
        seen.append((of.mask.kind, None if more is None else tuple(more.shape)))
        return attend(layer, q, k, v, **given)

    monkeypatch.setattr(posenc._posenc, "attend", told)
    return seen


@pytest.mark.parametrize("title", ["llama", "bloom", "t5"])
def test_a_mask_without_padding_is_said_by_its_kind(title, visible):
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    own, limit = verdicts.logits(model, inputs), judged(title).bound
    visible.clear()
    with posenc.transformers.use(model, angles="float32"):
        assert roundings.rms(verdicts.logits(model, inputs) - own) <= limit
    assert visible and all(more is None for _, more in visible)
    assert ("causal", None) in visible and (("bidirectional", None) in visible) == (title == "t5")


def test_masks_that_are_not_whole_are_read(visible):
    """By query and key: with padding, or of other shapes; and anew after a change."""
    model, inputs = small_llama()
    causal = torch.ones(TOKENS, TOKENS).tril().bool()[None, None]
    last = torch.zeros(1, 1, TOKENS, 1, dtype=torch.bool)
    last[..., -1, :] = True  # tril of its own shape
    changed = causal.clone()
    masks = [causal, changed, last, torch.ones(1, 1, 1, TOKENS, dtype=torch.bool), causal.repeat(BATCH, 1, 1, 1)]
    said = ["causal", "causal", "bidirectional", "bidirectional", "causal"]
    masks[-1][1, 0, :, :2] = False
    said[-1] = "bidirectional"
    padded = causal.clone()
    padded[..., 3] = False
    with torch.no_grad():
        for at, mask in enumerate(masks):
            visible.clear()
            inputs["attention_mask"] = mask
            model.set_attn_implementation("sdpa")
            own = verdicts.logits(model, inputs)
            with posenc.transformers.use(model, angles="float32"):
                given = verdicts.logits(model, inputs)
            shape = None if said[at] == "causal" else tuple(mask.shape)
            assert visible == [(said[at], shape)] * 2, at
            assert roundings.rms(given - own) <= judged("llama").bound, at
        changed.copy_(padded)
        visible.clear()
        inputs["attention_mask"] = changed
        own = verdicts.logits(model, inputs)
        with posenc.transformers.use(model, angles="float32"):
            assert roundings.rms(verdicts.logits(model, inputs) - own) <= judged("llama").bound
        assert visible == [("bidirectional", tuple(changed.shape))] * 2
    with pytest.raises(ValueError), posenc.transformers.use(model):
        inputs["attention_mask"] = causal.repeat(BATCH + 1, 1, 1, 1)
        model(**inputs)


def test_a_mask_that_learns_is_not_lost():
    """Though it is no more than a kind of mask."""
    model, inputs = small_llama()
    for parameter in model.parameters():
        parameter.requires_grad = False
    mask = inputs["attention_mask"] = torch.zeros(1, 1, TOKENS, TOKENS, requires_grad=True)
    (own,) = torch.autograd.grad(model(**inputs)[0].square().sum(), mask)
    with posenc.transformers.use(model):
        (ours,) = torch.autograd.grad(model(**inputs)[0].square().sum(), mask)
    largest = float(own.abs().max())
    assert largest > 0 and float((ours - own).abs().max()) <= bounds.trained(largest, largest)


@pytest.mark.parametrize("implementation", ["use", "name"])
def test_a_token_that_is_generated_sees_all(implementation, visible):
    model, inputs = small_llama()
    step = {"input_ids": inputs["input_ids"][:1], "do_sample": False, "min_new_tokens": 3, "max_new_tokens": 3}
    step["use_cache"] = True
    own = model.generate(**step)
    if implementation == "name":
        model.set_attn_implementation("posenc")
    with posenc.transformers.use(model) if implementation == "use" else contextlib.nullcontext():
        assert torch.equal(model.generate(**step), own)
    assert visible == [("causal", None)] * 2 + [("bidirectional", None)] * 4


def test_a_mask_of_whole_numbers_is_refused():
    model, inputs = small_llama()
    for mask in (torch.ones(1, 1, TOKENS, TOKENS), torch.ones(1, 1, TOKENS, TOKENS).triu(1)):
        inputs["attention_mask"] = mask.to(torch.int64)
        words = "of bool, or of floats to add, but is of torch.int64"
        with posenc.transformers.use(model), pytest.raises(TypeError, match=words):
            model(**inputs)


@pytest.mark.parametrize("title", ["llama", "gemma3_text", "qwen2"])
def test_generation_uses_the_cache(title):
    family = BY_TITLE[title]
    model = family.model()
    prompt = {"input_ids": torch.arange(3, 10)[None], "do_sample": False, "use_cache": True}
    prompt |= {"min_new_tokens": 6, "max_new_tokens": 6}
    own = model.generate(**prompt)
    with posenc.transformers.use(model):
        assert torch.equal(model.generate(**prompt), own)
    assert own.shape == (1, 13) and int(own.max()) < VOCABULARY


def test_dropout_is_refused():
    model, inputs = small_llama()
    model.set_attn_implementation("posenc")
    model.config.attention_dropout = 0.1
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = 0.1
    with pytest.raises(NotImplementedError, match="dropout"):
        model.train()(**inputs)


def gradients(model, inputs, of=""):
    model.zero_grad()
    model(**inputs)[0].square().sum().backward()
    return [p.grad.clone().flatten() for name, p in model.named_parameters() if of in name and p.grad is not None]


@pytest.mark.parametrize("title", ["llama", "bloom", "t5"])
@pytest.mark.parametrize("frozen", [False, True])
def test_gradients_are_the_model_s_own(title, frozen):
    """Where a gradient is wanted of learned tables alone, too. Where none is, the kernels compute."""
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    if frozen:
        for name, parameter in model.named_parameters():
            parameter.requires_grad = "bias" in name or "layernorm" in name
    own = gradients(model, inputs)
    with posenc.transformers.use(model):
        ours = gradients(model, inputs)
        with torch.no_grad():
            served = model(**inputs)[0]
        trained = model(**inputs)[0]
    assert served.grad_fn is None and trained.grad_fn is not None
    largest = float(served.abs().max())
    assert float((served - trained).detach().abs().max()) <= bounds.trained(largest, largest)
    same_gradients(own, ours)


def same_gradients(own, ours):
    assert len(own) == len(ours) > 0
    largest = max(float(of.abs().max()) for of in own)
    for one, other in zip(own, ours):
        assert float((one - other).abs().max()) <= bounds.trained(float(one.abs().max()), largest)


def test_gradients_by_the_name_alone():
    model, inputs = small_llama()
    own = gradients(model, inputs)
    model.set_attn_implementation("posenc")
    same_gradients(own, gradients(model, inputs))


@pytest.mark.parametrize("title", ["llama", "gptj", "phi", "cohere", "llama4_text"])
def test_gradients_go_through_what_rotates(monkeypatch, title):
    """With the model's own attention behind posenc's rotation."""
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()

    def of_queries_and_keys():
        both = [gradients(model, inputs, name) for name in ("q_proj.weight", "k_proj.weight")]
        assert [len(of) for of in both] == [2, 2]
        return torch.cat(both[0] + both[1])

    own = of_queries_and_keys()
    with monkeypatch.context() as patch:
        patch.setattr(posenc.transformers, "attention_layers", lambda model, plan: [])
        patch.setattr(posenc.transformers, "_look_attention_up_by", lambda model, name: None)
        with posenc.transformers.use(model, angles="float32") as changed:
            assert changed.functions and not changed.attention
            given = of_queries_and_keys()
    model.double()
    assert 0 < roundings.rms(given - own) <= roundings.bound(of_queries_and_keys)


def test_versions_are_those_that_were_judged():
    assert transformers.__version__.split(".")[0] == "5"
