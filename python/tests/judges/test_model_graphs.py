"""Models within use() under torch.compile, in one graph, and exported: saved, and run by another process."""

import dataclasses
import subprocess
import sys

import pytest
import torch

import bounds
import posenc
import posenc.transformers
from posenc.conformance import modes_table
from posenc.transformers import use

BY_TITLE = {family.title: family for family in modes_table.ALL}
LOAD = """
import sys, torch
import posenc.transformers
inputs, expected = torch.load(sys.argv[2])
assert torch.equal(torch.export.load(sys.argv[1]).module()(**inputs)[0], expected)
"""


def made(title):
    family = BY_TITLE[title]
    # Experts of transformers' eager code are chosen by numbers, which no graph has.
    family = dataclasses.replace(family, keys={**family.keys, "first_k_dense_replace": 2})
    model, inputs = family.model(), family.inputs()
    return model, {**inputs, "use_cache": False}


@pytest.fixture(autouse=True)
def forget_graphs():
    torch.compiler.reset()
    yield
    torch.compiler.reset()


# Angles in halves, complex ones, a table of them; biases; queries that are scaled.
@pytest.mark.parametrize("title", ["llama", "deepseek_v2", "gptj", "t5", "opt"])
def test_one_graph_has_the_same_bits(title):
    model, inputs = made(title)
    with torch.no_grad(), use(model):
        eager = model(**inputs)[0]
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        assert torch.equal(compiled(**inputs)[0], eager)


def test_a_mask_is_read_when_the_graph_runs():
    """Padding, in a graph that was made without."""
    model, inputs = made("llama")
    mask = torch.ones_like(inputs["input_ids"])
    with torch.no_grad(), use(model):
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        compiled(**inputs, attention_mask=mask)
        padded = mask.clone()
        padded[0, :3] = 0
        given = compiled(**inputs, attention_mask=padded)[0]
        assert torch.equal(given, model(**inputs, attention_mask=padded)[0])
        assert not torch.equal(given, model(**inputs)[0])


@pytest.mark.parametrize("title", ["nanochat"])
def test_angles_of_a_graph_rotate_what_is_outside_of_it(title):
    """nanochat's own function would rotate the other way."""
    model, inputs = made(title)
    with torch.no_grad(), use(model):
        eager = model(**inputs)[0]
        for layer in model.model.layers:
            layer.self_attn.forward = torch.compiler.disable(layer.self_attn.forward)
        assert torch.equal(torch.compile(model, backend="aot_eager")(**inputs)[0], eager)


def test_an_exported_model_runs_in_another_process(tmp_path):
    model, inputs = made("llama")
    with torch.no_grad(), use(model):
        expected = model(**inputs)[0]
        program = torch.export.export(model, (), inputs)
    torch.export.save(program, tmp_path / "model.pt2")
    torch.save((inputs, expected), tmp_path / "expected.pt")
    command = [sys.executable, "-c", LOAD, str(tmp_path / "model.pt2"), str(tmp_path / "expected.pt")]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_a_gradient_goes_through_rotation_and_attention():
    model, inputs = made("llama")
    with use(model):
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        made_of = []
        for run in (model, compiled):
            model.zero_grad()
            run(**inputs)[0].square().sum().backward()
            made_of.append({name: of.grad for name, of in model.named_parameters() if of.grad is not None})
    assert set(made_of[0]) == set(made_of[1])
    largest = max(float(of.abs().max()) for of in made_of[0].values())
    for name, of in made_of[0].items():
        assert float((of - made_of[1][name]).abs().max()) <= bounds.trained(float(of.abs().max()), largest), name
    rope = posenc.Rope(pairing="half", head_dim=8, dim=8)
    cos, sin = posenc.cos_sin(rope, torch.arange(3))
    x = torch.randn(1, 2, 3, 8, requires_grad=True)
    operator = posenc.transformers._operators.model_rotate
    torch.library.opcheck(operator, (x, cos, sin, 1, "half", 0, "forward"))
    (out,) = torch.autograd.grad(operator(x, cos, sin, 1, "half", 0, "forward").square().sum(), x)
    assert torch.allclose(out, 2 * x, atol=1e-6)  # lengths stay


def refusals():
    def no_rope_in_the_first(plan):
        (stack,) = plan.stacks
        return plan.replace(stacks=(stack.replace(layers=(stack.layers[0].replace(rotate=()), *stack.layers[1:])),))

    return [
        ("opt", lambda plan: plan, "call the model once before it is compiled"),
        ("llama", no_rope_in_the_first, "rotate all layers alike"),
    ]


@pytest.mark.parametrize("title, change, words", refusals())
def test_what_a_graph_cannot_have_is_refused(title, change, words):
    model, inputs = made(title)
    plan = change(posenc.read_plan(BY_TITLE[title].config()))
    with torch.no_grad(), use(model, plan=plan):
        with pytest.raises(Exception, match=words):
            torch.compile(model, fullgraph=True, backend="aot_eager")(**inputs)
