"""Modules that hold posenc.torch's tables and layers: copied, saved, sent to other processes, compiled, exported."""

import copy
import io
import multiprocessing
import pickle
import subprocess
import sys

import pytest
import torch
from torch import nn

import posenc
import posenc.torch

ROPE = posenc.Rope(
    pairing="half",
    head_dim=16,
    dim=16,
    scaling=posenc.YarnScaling(factor=4.0, original_max_position_embeddings=64),
)
T5 = posenc.LayerPlan(
    heads=4, kv_heads=2, head_dim=16, value_dim=16, softmax_scale=0.25, sinks=True, score=(posenc.T5Bias(),)
)


def random(*shape, seed=1):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def t5_layer(is_prepared):
    weights = {"score_weights": [posenc.T5Weights(table=random(32, 4, seed=5))], "sinks": random(4, seed=6)}
    return posenc.torch.Layer(posenc.prepare_layer(T5, **weights)) if is_prepared else posenc.torch.Layer(T5, **weights)


class Attention(nn.Module):
    """Projections, RoPE at places that are given, and attention with learned tables."""

    def __init__(self, is_prepared=False):
        super().__init__()
        self.qkv = nn.Linear(32, 4 * 16 + 2 * 2 * 16)
        self.table = posenc.torch.Table(posenc.make_table(ROPE, count=64))
        self.layer = t5_layer(is_prepared)

    def forward(self, x, positions):
        q, k, v = self.qkv(x).unflatten(-1, (8, 16)).transpose(1, 2).split([4, 2, 2], dim=1)
        q = posenc.torch.rotate(q, self.table, positions=positions)
        k = posenc.torch.rotate_(k.clone(), self.table, positions=positions)
        return posenc.torch.attend(self.layer, q, k, v).transpose(1, 2).flatten(2)


def saved_and_loaded(value):
    memory = io.BytesIO()
    torch.save(value, memory)
    memory.seek(0)
    return torch.load(memory, weights_only=False)


def called():
    torch.manual_seed(1)
    x, places = random(2, 5, 32), torch.arange(3, 8)[None].expand(2, 5).contiguous()
    return x, places


COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda of: pickle.loads(pickle.dumps(of)),
    "torch.save": saved_and_loaded,
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("is_prepared", [False, True])
def test_a_module_is_copied(how, is_prepared):
    module, (x, places) = Attention(is_prepared), called()
    again = COPIES[how](module)
    assert again.table == module.table and again.layer == module.layer
    assert hash(again.table) == hash(module.table) and hash(again.layer) == hash(module.layer)
    with torch.no_grad():
        expected = module(x, places)
        assert torch.equal(again(x, places), expected)
    other = posenc.torch.Table(posenc.make_table(ROPE.replace(base=9.0), count=64))
    assert other != module.table and t5_layer(False) == t5_layer(False) != posenc.torch.Layer(T5.replace(score=()))
    changed = t5_layer(False)
    changed.weights[0][0] += 1
    assert changed != t5_layer(False)
    if how != "copy":
        del module
        with torch.no_grad():
            assert torch.equal(again(x, places), expected)


def test_plans_and_tables_are_saved():
    plan = posenc.read_plan("gemma-3-4b")
    for value in (plan, plan.stacks[0].layers[0], ROPE, posenc.make_table(ROPE, count=8), posenc.table_on_demand(ROPE)):
        for how, copied in COPIES.items():
            assert copied(value) == value, how


def answered(module, x, places, answers):
    with torch.no_grad():
        answers.put(module(x, places).numpy())


def test_a_module_is_sent_to_a_new_process():
    module, (x, places) = Attention(), called()
    spawning = multiprocessing.get_context("spawn")
    answers = spawning.Queue()
    worker = spawning.Process(target=answered, args=(module, x, places, answers))
    worker.start()
    given = torch.from_numpy(answers.get(timeout=120))
    worker.join()
    with torch.no_grad():
        assert torch.equal(given, module(x, places))


LOADER = """
import sys
import torch
import posenc.torch
program = torch.export.load(sys.argv[1]).module()
x, places, expected = torch.load(sys.argv[2])
with torch.no_grad():
    assert torch.equal(program(x, places), expected)
    assert torch.equal(program(x, places), expected)  # what it keeps from the first call
"""


@pytest.mark.parametrize("is_prepared", [False, True])
def test_an_exported_module_runs_in_a_new_process(is_prepared, tmp_path):
    module, (x, places) = Attention(is_prepared).eval(), called()
    with torch.no_grad():
        expected = module(x, places)
        program = torch.export.export(module, (x, places), strict=is_prepared)
    names = [str(node.target) for node in program.graph.nodes if "posenc" in str(node.target)]
    assert names == ["posenc.rotate.default", "posenc.rotate_.default", "posenc.attend.default"]
    torch.export.save(program, tmp_path / "module.pt2")
    torch.save((x, places, expected), tmp_path / "call.pt")
    # This process has made other tables meanwhile, and the new one none.
    loader = [sys.executable, "-c", LOADER, str(tmp_path / "module.pt2"), str(tmp_path / "call.pt")]
    result = subprocess.run(loader, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("is_prepared", [False, True])
def test_a_module_compiles_in_one_graph(is_prepared):
    module, (x, places) = Attention(is_prepared).eval(), called()
    graph = torch.compile(module, backend="aot_eager", fullgraph=True)
    with torch.no_grad():
        assert torch.equal(graph(x, places), module(x, places))
        module.layer = posenc.torch.Layer(T5.replace(score=(), sinks=False))  # the graph sees that it is another
        assert torch.equal(graph(x, places), module(x, places))


def test_tables_that_change_are_seen():
    weights = posenc.T5Weights(table=random(32, 4, seed=5))
    layer, q = posenc.torch.Layer(T5.replace(sinks=False), score_weights=[weights]), random(1, 4, 6, 16)
    graph = torch.compile(lambda q: posenc.torch.attend(layer, q, q[:, :2], q[:, :2]), backend="aot_eager")
    before = graph(q)
    weights.table.add_(random(32, 4, seed=7))
    after = posenc.attend(layer.layer, q, q[:, :2], q[:, :2], score_weights=[weights])
    assert torch.equal(graph(q), after) and not torch.equal(before, after)


def test_what_is_no_table_or_layer_is_refused():
    for wrong in (ROPE, posenc.XPos(rope=ROPE, scale_base=512.0), "text"):
        with pytest.raises(TypeError, match=r"Table takes a RotaryTable, of make_table or table_on_demand, but is given"):
            posenc.torch.Table(wrong)
        with pytest.raises(TypeError, match=r"Layer takes a LayerPlan or a PreparedLayer, but is given"):
            posenc.torch.Layer(wrong)
    prepared = t5_layer(True).layer
    with pytest.raises(TypeError, match="a PreparedLayer has its tables: Layer takes no sinks beside it"):
        posenc.torch.Layer(prepared, sinks=random(4))


def test_arrays_of_numpy_are_weights_too():
    table, sinks = (random(*shape, seed=5).numpy() for shape in ((32, 4), (4,)))
    sinks.flags.writeable = False
    layer = posenc.torch.Layer(T5, score_weights=iter([posenc.T5Weights(table=table)]), sinks=sinks)
    q = random(1, 4, 6, 16)
    expected = posenc.attend(T5, q, q[:, :2], q[:, :2], score_weights=[posenc.T5Weights(table=table)], sinks=sinks)
    assert torch.equal(posenc.torch.attend(layer, q, q[:, :2], q[:, :2]), expected)
    assert copy.deepcopy(layer) == layer
