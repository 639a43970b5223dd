"""posenc.torch.rotate in operations of torch: against the reference, its gradients, and what it refuses."""

from __future__ import annotations

import pytest
import torch

import bounds
import posenc
import posenc.torch
import scheme_cases

ROTATED = {
    "half": scheme_cases.half(),
    "partial, yarn": posenc.Rope(pairing="interleaved", head_dim=8, dim=4, first_channel=2, scaling=scheme_cases.YARN),
    "three axes": scheme_cases.half(**scheme_cases.MROPE),
}


@pytest.mark.parametrize("name", ROTATED)
@pytest.mark.parametrize("direction", ["forward", "inverse", "transpose"])
def test_rotate_composed_is_the_reference_s(name, direction):
    rope, random = ROTATED[name], scheme_cases.Random(4)
    axes = len(rope.axes.names)
    made = {
        "a table": posenc.make_table(rope, start=-2, count=40),
        "on demand": posenc.table_on_demand(rope),
        "given values": posenc.table_from_cos_sin(
            posenc.layout(rope), *(torch.as_tensor(x) for x in given_values(rope)), start=-2
        )
        if axes == 1
        else None,
    }
    for x in (random(5, 3, 8), random(2, 3, 5, 8)):
        batch = 2 if x.dim() == 4 else 1
        for positions in (3, random.whole(-2, 37, axes, 5), random.whole(-2, 37, axes, 5 * batch)):
            wanted = torch.as_tensor(posenc.reference.rotate(rope, x, positions=positions, direction=direction))
            for what, table in made.items():
                if table is None or (what == "given values" and direction == "inverse" and rope.scaling is not None):
                    continue  # whose factor is 1: it is in the values
                of = posenc.torch.Table(table)
                out = posenc.torch.rotate(x, of, positions=positions, direction=direction)
                largest = 2 * float(x.abs().max())
                bound = bounds.rotated(largest) if what == "given values" else bounds.in_double(8 * largest, 8)
                assert out.dtype == torch.float64 and float((out - wanted).abs().max()) <= bound, what
                y = x.clone().requires_grad_()
                assert torch.autograd.gradcheck(
                    lambda y: posenc.torch.rotate(y, of, positions=positions, direction=direction), y, fast_mode=True
                )


def given_values(rope):
    table = posenc.make_table(rope, start=-2, count=40)
    rows = torch.frombuffer(bytearray(table.rows), dtype=torch.float32).reshape(40, 2, -1)
    return rows[:, 0].contiguous(), rows[:, 1].contiguous()


def test_rotate_composed_refuses_in_the_kernels_words():
    rope = ROTATED["half"]
    table, x = posenc.torch.Table(posenc.make_table(rope, start=2, count=4)), torch.randn(3, 2, 8)
    wrong = [
        {"positions": 9},
        {"positions": torch.tensor([2, 3, 9])},
        {"positions": torch.tensor([2, 3])},
        {"positions": torch.tensor([2.5, 3, 4], dtype=torch.float64)},
        {"positions": 2, "direction": "back"},
    ]
    for given in wrong:
        said = []
        for of in (x, x.double()):
            with pytest.raises(ValueError) as problem:
                posenc.torch.rotate(of, table, **given)
            said.append(str(problem.value))
        assert said[0] == said[1]
    for bad in (x[0], x[..., :4]):
        said = []
        for of in (bad, bad.double()):
            with pytest.raises(ValueError) as problem:
                posenc.torch.rotate(of, table, positions=2)
            said.append(str(problem.value))
        assert said[0] == said[1]
    demanded = posenc.torch.Table(posenc.table_on_demand(rope, angles="float32"))
    with pytest.raises(
        ValueError, match="table must have rows, for a tensor on cpu, but is a table on demand, of angles float32"
    ):
        posenc.torch.rotate(x.double(), demanded)


def test_rotate_under_transforms():
    table, x = posenc.torch.Table(posenc.make_table(ROTATED["half"], count=16)), torch.randn(4, 3, 2, 8)
    many = torch.vmap(lambda x: posenc.torch.rotate(x, table, positions=3))(x)
    alone = torch.stack([posenc.torch.rotate(one, table, positions=3) for one in x])
    assert float((many - alone).abs().max()) <= bounds.rotated(float(x.abs().max()))
    gradient = torch.func.grad(lambda x: posenc.torch.rotate(x, table, positions=3).square().sum())(x[0])
    assert torch.allclose(gradient, 2 * x[0], atol=4 * bounds.rotated(float(x.abs().max())))
