"""Tensors of torch share their memory."""

import pytest

torch = pytest.importorskip("torch")

import posenc
from posenc import _posenc

TABLE = posenc.make_table(posenc.Rope(pairing="half", head_dim=8, dim=8), count=64)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_memory_is_shared(dtype):
    q = torch.randn(5, 2, 8, dtype=dtype)
    pointer = q.data_ptr()
    assert _posenc._address(q) == pointer
    rotated = posenc.rotate(q, table=TABLE)
    assert isinstance(rotated, torch.Tensor) and rotated.dtype == dtype
    assert posenc.rotate_(q, table=TABLE) is q and q.data_ptr() == pointer
    assert torch.equal(q, rotated)


def test_results_lie_as_torch_has_them():
    fused = torch.randn(2, 5, 3, 24)
    views = [fused, fused.transpose(1, 2), fused[..., 8:16].transpose(1, 2), fused[:1, ..., :8].transpose(1, 2)]
    for q in (view[..., :8] for view in views):
        rotated = posenc.rotate(q, table=TABLE)
        assert rotated.stride() == torch.empty_like(q).stride()
        assert torch.equal(rotated, posenc.rotate(q.contiguous(), table=TABLE))
    dense = torch.randn(2, 5, 3, 8).transpose(1, 2)
    assert posenc.rotate(dense, table=TABLE).stride() == dense.stride()


def test_sizes_of_0_are_no_error():
    x = torch.zeros(0, 2, 8)
    assert posenc.rotate(x, table=TABLE, positions=torch.zeros(0, dtype=torch.int64)).shape == x.shape
    layer = posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8)
    assert posenc.attend(layer, x, x, x, attn_mask=torch.zeros(0, 0, dtype=torch.bool)).shape == x.shape


def test_gradients_are_not_lost_silently():
    with pytest.raises(ValueError, match="q must be detached from its gradient"):
        posenc.rotate(torch.randn(5, 2, 8, requires_grad=True), table=TABLE)


def test_a_view_that_negates_is_refused():
    # What lies in its memory is 1, and 2 without the sign that it stands for.
    x = torch.complex(torch.ones(1, 1, 8), 2 * torch.ones(1, 1, 8)).conj().imag
    assert x.is_neg()
    x = x.as_strided((1, 1, 8), (8, 8, 1))
    with pytest.raises(ValueError, match="resolve_neg"):
        posenc.rotate(x, table=TABLE)
    assert posenc.rotate(x.resolve_neg(), table=TABLE).flatten()[0] == -2


def test_attention_says_that_it_has_no_backward_pass():
    posenc_torch = pytest.importorskip("posenc.torch")
    layer = posenc_torch.Layer(posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8))
    q = torch.randn(1, 2, 3, 8, requires_grad=True)
    with pytest.raises(NotImplementedError, match=r"\[attend\] has no backward pass: .* score_mod"):
        posenc_torch.attend(layer, q, q, q).sum().backward()


def test_a_table_or_a_layer_for_graphs_is_asked_for_by_name():
    posenc_torch = pytest.importorskip("posenc.torch")
    q, layer = torch.randn(5, 2, 8), posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8)
    for rotate in (posenc_torch.rotate, posenc_torch.rotate_):
        with pytest.raises(TypeError, match=r"table must be a posenc.torch.Table, as Table\(table\) makes, but is a Rot"):
            rotate(q, TABLE)
    with pytest.raises(TypeError, match=r"layer must be a posenc.torch.Layer, as Layer\(layer\) makes, but is a LayerPlan"):
        posenc_torch.attend(layer, q, q, q)
