"""use() in a process that trains: other parameters put in place, checkpointing, graphs made twice, adapters."""

import functools
import io

import bounds
import pytest
import torch

import posenc
import posenc.transformers
from posenc.conformance import roundings, verdicts
from posenc.conformance.composites import COMPOSITES
from posenc.conformance.families import FAMILIES, WITHOUT_SCHEMES
from posenc.transformers import use

BY_TITLE = {family.title: family for family in (*FAMILIES, *WITHOUT_SCHEMES, *COMPOSITES)}
# By where their tables are, and what is replaced.
TITLES = ["llama", "t5", "mpnet", "deberta", "deberta-v2", "xlnet", "bloom", "gpt_oss", "opt", "qwen2_vl"]


def agree(one, other):
    return roundings.rms(one - other) <= 1e-5 * roundings.rms(other)


@functools.cache
def others(title):
    """Other parameters, those that are tied alike; what the model's own code makes of its own, and of these."""
    torch.set_num_threads(1)
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    torch.manual_seed(7)
    moved = {}
    for tensor in model.state_dict().values():
        made = tensor + 0.3 * torch.randn_like(tensor) if tensor.is_floating_point() else tensor
        moved.setdefault(tensor.data_ptr(), made)
    state = {name: moved[tensor.data_ptr()] for name, tensor in model.state_dict().items()}
    own, other = verdicts.logits(model, inputs), called(model, state, inputs)
    assert roundings.rms(own - other) > 0.1 * roundings.rms(own)
    return state, own, other


def called(model, state, inputs):
    with torch.no_grad():
        return torch.func.functional_call(model, state, (), inputs, tie_weights=False)[0]


@pytest.mark.parametrize("title", TITLES)
def test_functional_call_is_of_the_parameters_that_it_is_given(title):
    """Tables of scores were those of the model (off by 0.07 to 0.5)."""
    state, own, other = others(title)
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    with use(model, angles="float32"):
        assert agree(verdicts.logits(model, inputs), own)
        assert agree(called(model, state, inputs), other)
        assert agree(verdicts.logits(model, inputs), own)


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize("assign", [True, False])
def test_parameters_that_are_loaded_are_those_that_run(title, assign):
    state, own, other = others(title)
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    with use(model, angles="float32"):
        assert agree(verdicts.logits(model, inputs), own)
        model.load_state_dict(state, assign=assign)
        assert agree(verdicts.logits(model, inputs), other)
        model.to(torch.float64).to(torch.float32)
        assert agree(verdicts.logits(model, inputs), other)
        written = io.BytesIO()
        torch.save(model.state_dict(), written)
    written.seek(0)
    assert torch.load(written).keys() == state.keys()


@pytest.mark.parametrize("title", ["t5", "deberta-v2", "xlnet"])
def test_parameters_written_through_data_are_those_that_run(title):
    """As averages of weights are put in place; torch counts no such write, and what was prepared was kept."""
    state, own, other = others(title)
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    with use(model, angles="float32"):
        assert agree(verdicts.logits(model, inputs), own)
        for name, parameter in model.named_parameters():
            parameter.data.copy_(state[name])
        assert agree(verdicts.logits(model, inputs), other)


@pytest.mark.parametrize("title", TITLES)
def test_checkpointing_in_train_runs_and_gives_the_models_own_gradients(title):
    model, inputs = BY_TITLE[title].model().train(), BY_TITLE[title].inputs()
    for part in (model, *model.modules()):
        for name, value in list(vars(part).items()):
            if "dropout" in name and isinstance(value, float):
                setattr(part, name, 0.0)
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    if model.supports_gradient_checkpointing:
        model.gradient_checkpointing_enable({"use_reentrant": True})
    _, own, _ = others(title)
    with use(model, angles="float32"):
        logits = model(**inputs)[0]
        assert agree(logits.detach(), own)
        logits.sum().backward()
    given = {name: of.grad.clone() for name, of in model.named_parameters() if of.grad is not None}
    model.zero_grad()
    if model.supports_gradient_checkpointing:
        model.gradient_checkpointing_disable()  # T5's own backward pass fails with it
    model(**inputs)[0].sum().backward()
    own_gradients = {name: of.grad for name, of in model.named_parameters() if of.grad is not None}
    assert given.keys() == own_gradients.keys() and given
    largest_of_all = max(float(of.abs().max()) for of in own_gradients.values())
    for name, gradient in own_gradients.items():
        bound = bounds.trained(float(gradient.abs().max()), largest_of_all)
        assert float((given[name] - gradient).abs().max()) <= bound, name


@pytest.mark.parametrize("title", ["llama", "gpt_oss", "qwen2_vl", "t5"])
def test_one_graph_is_of_each_use_in_its_turn(title):
    """Of the scheme that is in use when it is called, and of the model's own afterwards."""
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()
    _, own, _ = others(title)
    bases = (30.0, 300.0) if title != "t5" else (None,)
    schemes = [None if base is None else lambda rope, base=base: rope.replace(base=base) for base in bases]
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="eager")
    plain = []
    for scheme in schemes:
        with use(model, scheme=scheme, angles="float32"):
            plain.append(verdicts.logits(model, inputs))
    assert len(plain) == 1 or not agree(*plain)
    for _ in range(2):
        for scheme, logits in zip(schemes, plain):
            with use(model, scheme=scheme, angles="float32"):
                assert agree(verdicts.logits(compiled, inputs), logits)
            assert agree(verdicts.logits(compiled, inputs), own)


class Adapter(torch.nn.Module):
    """As peft's LoRA stands for a layer: what it has, with its weight, and something more."""

    def __init__(self, base):
        super().__init__()
        self.base_layer = base
        self.a, self.b = (torch.nn.Parameter(0.3 * torch.randn(base.weight.shape[1 - at], 2)) for at in (0, 1))

    @property
    def weight(self):
        return self.base_layer.weight

    @property
    def bias(self):
        return getattr(self.base_layer, "bias", None)

    def forward(self, x):
        more = (self.a @ self.b.T).T
        base = self.base_layer
        if isinstance(base, torch.nn.Embedding):
            return base(x) + torch.nn.functional.embedding(x, more)
        return base(x) + x @ more.T


def with_adapters(model, pattern):
    torch.manual_seed(3)
    for name, module in list(model.named_modules()):
        parent, _, last = name.rpartition(".")
        if last in pattern and isinstance(module, (torch.nn.Linear, torch.nn.Embedding)):
            setattr(model.get_submodule(parent), last, Adapter(module))
    return model


@pytest.mark.parametrize(
    "title, names",
    [
        ("llama", ("q_proj", "v_proj")),
        ("opt", ("q_proj", "v_proj")),
        ("bloom", ("query_key_value",)),
        ("gptj", ("q_proj", "k_proj")),
        ("mpnet", ("q", "v")),
        ("deberta-v2", ("value_proj",)),
        ("t5", ("q", "v")),
        ("qwen2_vl", ("q_proj", "qkv")),
    ],
)
def test_adapters_of_projections_run(title, names):
    model, inputs = with_adapters(BY_TITLE[title].model(), names), BY_TITLE[title].inputs()
    own = verdicts.logits(model, inputs)
    assert not agree(own, verdicts.logits(BY_TITLE[title].model(), inputs))
    with use(model, angles="float32"):
        assert agree(verdicts.logits(model, inputs), own)


@pytest.mark.parametrize("title, name", [("t5", "relative_attention_bias"), ("deberta-v2", "key_proj")])
def test_adapters_of_what_tables_are_made_of_are_refused(title, name):
    """They were left out, silently."""
    model = with_adapters(BY_TITLE[title].model(), (name,))
    with pytest.raises(NotImplementedError, match=r"\[use\] tables of .* must be of a plain .* merge adapters"):
        with use(model):
            pass


def test_a_parametrized_table_is_refused():
    model = BY_TITLE["t5"].model()
    holder = model.encoder.block[0].layer[0].SelfAttention.relative_attention_bias
    torch.nn.utils.parametrizations.weight_norm(holder)
    with pytest.raises(NotImplementedError, match="must be of a plain Embedding, .* ParametrizedEmbedding"):
        with use(model):
            pass


@pytest.mark.parametrize("title", ["afmoe", "jetmoe"])
def test_modules_that_take_a_view_of_what_attention_gives_are_trained(title):
    """`.view(*input_shape, ...)` of what was not contiguous was a RuntimeError."""
    torch.set_num_threads(1)
    model, inputs = BY_TITLE[title].model(), BY_TITLE[title].inputs()

    def gradients():
        model.zero_grad()
        model(**inputs)[0].square().mean().backward()
        return torch.cat([of.grad.flatten() for of in model.parameters() if of.grad is not None])

    own = gradients()
    with use(model, angles="float32"):
        given = gradients()
    assert own.abs().max() > 0
    assert agree(given, own)
