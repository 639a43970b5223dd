"""Positions that are added to embeddings by kernels, and their gradients, against operations of torch; and modules for
the positions of a window, against Swin's class and SAM's formula."""

import bounds
import pytest
import torch
from scheme_cases import Random

import posenc
import posenc.nn as pn

SIZES = {"heads": 4, "kv_heads": 2, "head_dim": 8, "value_dim": 8, "softmax_scale": 8**-0.5}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_positions_by_kernels_and_their_gradients(dtype):
    """Against torch's embedding and its gradient: the kernels' sums are in float32, rounded once."""
    torch.manual_seed(5)
    learned = pn.LearnedPositions(12, 20, offset=2).to(dtype)
    for batch, positions in ((3, 1), (3, torch.tensor([4, 0, 4, 11, 2])), (2, torch.randint(0, 12, (2, 5)))):
        x = torch.randn(batch, 5, 20).to(dtype).requires_grad_()
        d_out = torch.randn(batch, 5, 20).to(dtype)
        out = learned(x, positions)
        assert "add_learned" in out.grad_fn.name()
        at = positions if isinstance(positions, torch.Tensor) else torch.arange(positions, positions + 5)
        wide = learned.weight.detach().double().requires_grad_()
        wanted = x.detach().double() + torch.nn.functional.embedding(at + 2, wide)
        rounding = torch.finfo(dtype).eps
        assert bool(((out - wanted).abs() <= rounding * wanted.abs()).all())
        d_x, d_weight = torch.autograd.grad(out, (x, learned.weight), d_out)
        (d_wide,) = torch.autograd.grad(wanted, wide, d_out.double())
        assert torch.equal(d_x, d_out) and d_weight.dtype == dtype
        # At most 10 of them meet in a row: so many roundings of float32, and one of the dtype.
        assert bool(((d_weight - d_wide).abs() <= rounding * d_wide.abs() + 10 * 2.0**-24 * d_out.abs().sum((0, 1))).all())
    # Other shapes of positions, and float64, are composed.
    assert torch.equal(learned(x, torch.tensor(3)), x + learned.weight[5])
    assert learned.double()(x.detach().double(), 1).grad_fn.name().startswith("AddBackward")


def test_gradients_of_gradients_of_positions():
    learned, x = pn.LearnedPositions(6, 4), torch.randn(2, 3, 4, requires_grad=True)
    for positions in (1, torch.tensor([0, 5, 0]), torch.tensor([[0, 1, 1], [5, 5, 5]])):
        d_out = torch.randn(2, 3, 4, requires_grad=True)
        (d_weight,) = torch.autograd.grad(learned(x, positions), learned.weight, d_out, create_graph=True)
        by = torch.randn(6, 4)
        (found,) = torch.autograd.grad(d_weight, d_out, by)
        at = positions if isinstance(positions, torch.Tensor) else torch.arange(1, 4)
        assert torch.equal(found, by[at].expand(2, 3, 4))


def test_sinusoids_by_kernels():
    own = pn.SinusoidalPositions(12, offset=1, embedding_multiplier=2.0)
    for positions in (7, torch.tensor([[0.5, 3.0, 4.0]])):
        x = torch.randn(2, 3, 12, requires_grad=True)
        out = own(x, positions)
        assert "add_sinusoids" in out.grad_fn.name()
        at = positions if isinstance(positions, torch.Tensor) else torch.arange(7, 10)
        wanted = 2.0 * x.double() + own.rows(at)
        # 2 x is exact; a sine of an angle below 11 within 1 ulp of float32, and one rounding of a sum below 12.
        assert float((out - wanted).detach().abs().max()) <= (2 + 12) * 2.0**-24
        (d_x,) = torch.autograd.grad(out.sum(), x)
        assert torch.equal(d_x, torch.full_like(x, 2.0))
    with pytest.raises(ValueError, match="be omitted|table|rows"):
        pn.SinusoidalPositions(12, convention="whisper", positions=4)(x, 3)


def test_positions_compile():
    learned, sines = pn.LearnedPositions(16, 8), pn.SinusoidalPositions(8)

    def both(x):
        return sines(learned(x, 2), 2)

    x = torch.randn(2, 4, 8, requires_grad=True)
    compiled = torch.compile(both, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(x), both(x))
    wanted = torch.autograd.grad(both(x).square().sum(), (x, learned.weight))
    for ours, theirs in zip(torch.autograd.grad(compiled(x).square().sum(), (x, learned.weight)), wanted):
        assert torch.equal(ours, theirs)


def test_operators_are_as_torch_wants_them():
    checks = ("test_schema", "test_autograd_registration", "test_faketensor")
    x, weight = torch.randn(2, 3, 4, requires_grad=True), torch.randn(6, 4, requires_grad=True)
    for places in (None, torch.tensor([0, 5, 0])):
        torch.library.opcheck(torch.ops.posenc.add_learned.default, (x, weight, places, 1, 0), test_utils=checks)
        torch.library.opcheck(torch.ops.posenc.table_gradient.default, (x, places, 1, 0, 6), test_utils=checks)
        text = pn.SinusoidalPositions(4)._text
        torch.library.opcheck(torch.ops.posenc.add_sinusoids.default, (x, places, 1, text, 1.0), test_utils=checks)


def test_grid_bias_is_swins():
    from transformers.models.swin.modeling_swin import SwinRelativePositionBias

    theirs = SwinRelativePositionBias(4, (3, 5))
    torch.nn.init.normal_(theirs.relative_position_bias_table)
    ours = pn.GridRelativeBias(4, 3, 5)
    ours.load_state_dict({"table": theirs.relative_position_bias_table.detach()})
    assert torch.equal(ours(), theirs()[0])


def test_attention_in_windows_is_trained():
    """Swin's and SAM's layers with positions of a window, against their formulas."""
    random, at = Random(4), pn.GridRelativeBias(1, 3, 3).positions()
    for scheme in (posenc.GridBias(rows=3, columns=3), posenc.DecomposedHw(rows=5)):
        layer = posenc.LayerPlan(**SIZES, score=(scheme,), mask=posenc.Mask(kind="bidirectional"))
        attention = pn.from_plan(layer).double()
        for x in attention.parameters():
            x.data.copy_(random(*x.shape) * 0.5)
        hidden = random(2, 9, 32)
        out = attention(hidden, q_positions=at, k_positions=at)
        q, k, v = (
            p(hidden).unflatten(-1, (-1, 8)).transpose(1, 2)
            for p in (attention.q_proj, attention.k_proj, attention.v_proj)
        )
        (term,) = attention.terms
        if isinstance(term, pn.GridRelativeBias):
            bias = term(dtype=torch.float64)
        else:
            row, column = (place[:, None] - place + 2 for place in at)
            bias = torch.einsum("bhic,ijc->bhij", q, term.rows[row] + term.columns[column])
        scores = q @ k.repeat_interleave(2, 1).mT * 8**-0.5 + bias
        wanted = attention.o_proj((scores.softmax(-1) @ v.repeat_interleave(2, 1)).transpose(1, 2).flatten(2))
        assert float((out - wanted).abs().max()) <= bounds.in_double(float(wanted.abs().max()) * 40, 400)
        for one, other in zip(*(torch.autograd.grad(y.sum(), list(term.parameters())) for y in (out, wanted))):
            assert float(other.abs().max()) > 0 and torch.allclose(one, other, rtol=1e-9, atol=1e-9)
