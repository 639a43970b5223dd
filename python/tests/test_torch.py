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


def test_positions_of_every_sequence_may_be_those_of_none():
    x = torch.zeros(0, 2, 5, 8)
    assert posenc.rotate(x, table=TABLE, positions=torch.arange(5)).shape == x.shape
    plan = posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8)
    assert posenc.attend(plan, x, x, x, q_positions=torch.arange(5), k_positions=torch.arange(5)).shape == x.shape


def test_channels_need_not_be_adjacent():
    """A model may transpose last, as ZAYA's convolution does."""
    of_torch = pytest.importorskip("posenc.torch")
    turned = [torch.randn(2, 2, 8, 5).transpose(2, 3).requires_grad_() for _ in range(3)]
    straight = [x.detach().contiguous().requires_grad_() for x in turned]
    layer = of_torch.Layer(posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8))
    for backend in ("kernel", "composed"):
        outs = [of_torch.attend(layer, *of, backend=backend) for of in (turned, straight)]
        assert torch.equal(*outs)
        ends = [torch.autograd.grad(out.square().sum(), of) for out, of in zip(outs, (turned, straight))]
        assert all(torch.equal(*pair) for pair in zip(*ends))
    with torch.no_grad():
        assert torch.equal(*(of_torch.attend(layer, *of) for of in (turned, straight)))
        assert torch.equal(*(of_torch.rotate(of[0], of_torch.Table(TABLE)) for of in (turned, straight)))


def test_gradients_are_not_lost_silently():
    with pytest.raises(ValueError, match="q must be detached from its gradient"):
        posenc.rotate(torch.randn(5, 2, 8, requires_grad=True), table=TABLE)


def test_rotation_in_place_does_not_lose_a_gradient():
    """The gradient was that of no rotation. Under no_grad, torch's own in-place operators are allowed too."""
    posenc_torch = pytest.importorskip("posenc.torch")
    table = posenc_torch.Table(TABLE)
    leaf = torch.randn(5, 2, 8, requires_grad=True)
    for x in (leaf, 2 * leaf, (2 * leaf)[:, :1]):
        before = x.detach().clone()
        with pytest.raises(ValueError, match=r"\[rotate_\] x must be detached from its gradient, .*: use rotate"):
            posenc_torch.rotate_(x, table)
        assert torch.equal(x.detach(), before)
    with torch.no_grad():
        given = posenc_torch.rotate(leaf, table)
        assert torch.equal(posenc_torch.rotate_(leaf, table), given)
    assert torch.equal(posenc_torch.rotate_(before.clone(), table), posenc_torch.rotate(before, table))


def test_compiled_rotation_in_place_does_not_lose_a_gradient():
    posenc_torch = pytest.importorskip("posenc.torch")
    table = posenc_torch.Table(TABLE)

    def loss(x):
        return posenc_torch.rotate_(2 * x, table).square().sum()

    compiled = torch.compile(loss, backend="eager")
    x = torch.randn(5, 2, 8)
    assert torch.equal(compiled(x), loss(x))
    with pytest.raises(ValueError, match="x must be detached from its gradient"):
        compiled(x.requires_grad_())


def test_a_view_that_negates_is_refused():
    # What lies in its memory is 1, and 2 without the sign that it stands for.
    x = torch.complex(torch.ones(1, 1, 8), 2 * torch.ones(1, 1, 8)).conj().imag
    assert x.is_neg()
    x = x.as_strided((1, 1, 8), (8, 8, 1))
    with pytest.raises(ValueError, match="resolve_neg"):
        posenc.rotate(x, table=TABLE)
    assert posenc.rotate(x.resolve_neg(), table=TABLE).flatten()[0] == -2


def test_attention_has_a_backward_pass():
    posenc_torch = pytest.importorskip("posenc.torch")
    layer = posenc_torch.Layer(posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8))
    q = torch.randn(1, 2, 3, 8, requires_grad=True)
    (gradient,) = torch.autograd.grad(posenc_torch.attend(layer, q, q, q)[:, :, 0].sum(), q)
    # The first query sees itself alone, so its output is its value: its weight is exp(score - lse), of scores below 16.
    assert (gradient[:, :, 0] - 1).abs().max() <= 16 * 2.0**-22
    assert torch.equal(gradient[:, :, 1:], torch.zeros(1, 2, 2, 8))


def test_a_mask_is_of_bool_and_a_bias_is_not():
    posenc_torch = pytest.importorskip("posenc.torch")
    plan = posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8, mask=posenc.Mask(kind="bidirectional"))
    layer, q = posenc_torch.Layer(plan), torch.randn(1, 2, 3, 8)
    seen = torch.ones(3, 3).tril().bool()
    added = torch.zeros(3, 3).masked_fill(~seen, -torch.inf)
    assert torch.equal(posenc_torch.attend(layer, q, q, q, bias=added), posenc_torch.attend(layer, q, q, q, attn_mask=seen))
    with pytest.raises(ValueError, match="attn_mask must be of bool, .* but is of torch.float32: .* as bias="):
        posenc_torch.attend(layer, q, q, q, attn_mask=added)
    with pytest.raises(ValueError, match="bias must be of numbers, .* attn_mask="):
        posenc_torch.attend(layer, q, q, q, bias=seen)


def test_a_table_or_a_layer_for_graphs_is_asked_for_by_name():
    posenc_torch = pytest.importorskip("posenc.torch")
    q, layer = torch.randn(5, 2, 8), posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8)
    for rotate in (posenc_torch.rotate, posenc_torch.rotate_):
        with pytest.raises(TypeError, match=r"table must be a posenc.torch.Table, as Table\(table\) makes, but is a Rot"):
            rotate(q, TABLE)
    with pytest.raises(TypeError, match=r"layer must be a posenc.torch.Layer, as Layer\(layer\) makes, but is a LayerPlan"):
        posenc_torch.attend(layer, q, q, q)


# ---- devices ----

ROPE = posenc.Rope(pairing="half", head_dim=8, dim=8)
PLAIN = posenc.LayerPlan(heads=2, kv_heads=2, head_dim=8, value_dim=8)
SINKS = PLAIN.replace(sinks=True)
LAYOUT = posenc.layout(ROPE)
KEYS = torch.zeros(3, 2, 8)
WHOLE = torch.arange(3)
# Members of learned tables that are numbers, or tables themselves.
NO_ARRAYS = {"c", "threshold", "scale", "hidden", "out", "layers", "keys", "queries"}
ARRAYS = [
    (name, member)
    for name, kind in vars(posenc).items()
    if name == "Linear" or name.endswith("Weights")
    for member, of in vars(kind).items()
    if isinstance(of, property) and member not in NO_ARRAYS and (name, member) != ("XlNetWeights", "positions")
]


def into_cache(**given):
    arguments = {"k": KEYS, "k_cache": torch.zeros(3, 2, 8), "slots": WHOLE, "table": TABLE, **given}
    posenc.rotate_into_cache(arguments.pop("k"), **arguments)


def moved(k, places):
    posenc.rerotate(k, from_table=TABLE, from_positions=places, to_table=TABLE, to_positions=1)


# Arguments that are arrays, given as x, by function and name. Learned tables follow.
TAKERS = {
    "rotate q": lambda x: posenc.rotate(x, table=TABLE),
    "rotate k": lambda x: posenc.rotate(KEYS, x, table=TABLE),
    "rotate positions": lambda x: posenc.rotate(KEYS, table=TABLE, positions=x),
    "rotate cu_seqlens": lambda x: posenc.rotate(KEYS, table=TABLE, cu_seqlens=x),
    "rotate_? q": lambda x: posenc.rotate_(x, table=TABLE),
    "rerotate k": lambda x: moved(x, 0),
    "rerotate from_positions": lambda x: moved(KEYS, x),
    "rotate_into_cache k": lambda x: into_cache(k=x),
    "rotate_into_cache k_cache": lambda x: into_cache(k_cache=x),
    "rotate_into_cache slots": lambda x: into_cache(slots=x),
    "rotate_into_cache norm_weight": lambda x: into_cache(norm=posenc.QkNorm(), norm_weight=x),
    "permute_pairing x": lambda x: posenc.permute_pairing(x, LAYOUT, "interleaved"),
    "cos_sin positions": lambda x: posenc.cos_sin(ROPE, x),
    "table_from_cos_sin cos": lambda x: posenc.table_from_cos_sin(LAYOUT, x, KEYS[:, 0, :4]),
    "table_from_angles radians": lambda x: posenc.table_from_angles(LAYOUT, x),
    "attend q": lambda x: posenc.attend(PLAIN, x, KEYS, KEYS),
    "attend v": lambda x: posenc.attend(PLAIN, KEYS, KEYS, x),
    "attend attn_mask": lambda x: posenc.attend(PLAIN, KEYS, KEYS, KEYS, attn_mask=x),
    "attend q_order": lambda x: posenc.attend(PLAIN, KEYS, KEYS, KEYS, q_order=x, k_order=WHOLE),
    "attend sinks": lambda x: posenc.attend(SINKS, KEYS, KEYS, KEYS, sinks=x),
    "attend out": lambda x: posenc.attend(PLAIN, KEYS, KEYS, KEYS, out=x),
    "prepare_layer sinks": lambda x: posenc.prepare_layer(SINKS, sinks=x),
    "attend_linear q": lambda x: posenc.attend_linear(PLAIN, x, KEYS, KEYS),
    "LinearState products": lambda x: posenc.LinearState(products=x, totals=KEYS),
    "merge .*": lambda x: posenc.merge([(KEYS, x)]),
    "grow_table table": lambda x: posenc.grow_table(x, 9),
    "named_weights sinks": lambda x: posenc.named_weights(SINKS, {"sinks": x}),
    "reference.rotate x": lambda x: posenc.reference.rotate(ROPE, x),
    "reference.attend k": lambda x: posenc.reference.attend(PLAIN, KEYS, x, KEYS),
    "reference.normalise .*": lambda x: posenc.reference.normalise(x, posenc.QkNorm()),
    "reference.add_input x": lambda x: posenc.reference.add_input(posenc.SinusoidalInput(), x),
    "write_npy .*": lambda x: posenc.write_npy("never-written.npy", x),
    "write_safetensors .*": lambda x: posenc.write_safetensors("never-written.safetensors", {"x": x}),
}
for kind, member in ARRAYS:
    TAKERS[f"{kind} {member}"] = lambda x, kind=kind, member=member: getattr(posenc, kind)(**{member: x})


@pytest.mark.parametrize("taker", TAKERS)
def test_what_has_no_numbers_is_refused_by_name(taker):
    where, name = taker.split()
    for x in (torch.zeros(3, 2, 8, device="meta"), torch.zeros(3, 2, 8, device="meta").requires_grad_()):
        with pytest.raises(ValueError, match=rf"\[{where}\] {name} must be on the CPU.* but is on meta"):
            TAKERS[taker](x)


def test_a_fake_tensor_is_sent_to_the_operators():
    fake = pytest.importorskip("torch._subclasses.fake_tensor")
    with fake.FakeTensorMode():
        x = torch.zeros(3, 2, 8)
    with pytest.raises(ValueError, match="q must hold numbers: in a graph, call the operators of posenc.torch"):
        posenc.rotate(x, table=TABLE)


def test_operators_on_meta_give_shapes():
    posenc_torch = pytest.importorskip("posenc.torch")
    table, layer = posenc_torch.Table(TABLE), posenc_torch.Layer(PLAIN.replace(value_dim=4))
    x, v = torch.zeros(3, 2, 8, device="meta"), torch.zeros(3, 2, 4, device="meta")
    assert posenc_torch.rotate(x, table).device.type == "meta" and posenc_torch.rotate_(x, table) is x
    assert posenc_torch.attend(layer, x, x, v).shape == (3, 2, 4)
    with pytest.raises(ValueError, match="positions must be on the CPU.* but is on meta"):
        posenc_torch.rotate(KEYS, table, positions=torch.arange(3, device="meta"))


class Elsewhere(torch.Tensor):
    """What a GPU's tensor says of itself, on a machine without one."""

    device = torch.device("cuda:1")

    def __dlpack_device__(self):
        return 2, 1  # kDLCUDA


def test_the_device_is_named():
    posenc_torch = pytest.importorskip("posenc.torch")
    x = torch.zeros(3, 2, 8).as_subclass(Elsewhere)
    table, layer = posenc_torch.Table(TABLE), posenc_torch.Layer(PLAIN)
    for call, name in (
        (lambda: posenc_torch.rotate_(KEYS, table, positions=x), r"\[rotate_\] positions"),
        (lambda: posenc_torch.attend(layer, KEYS, KEYS, x, backend="kernel"), r"\[attend\] v"),
        (lambda: posenc_torch.attend(layer, KEYS, KEYS, KEYS, bias=x, backend="kernel"), r"\[attend\] bias"),
        (lambda: posenc.rotate(x, table=TABLE), r"\[rotate\] q"),
    ):
        with pytest.raises(ValueError, match=name + r" must be on the CPU but is on cuda:1: .*\.cpu\(\)"):
            call()


def test_a_number_that_has_a_gradient_is_refused():
    for name in ("c", "threshold"):
        with pytest.raises(ValueError, match=rf"\[FireWeights\] {name} must be detached from its gradient, by detach\(\)"):
            posenc.FireWeights(**{name: torch.nn.Parameter(torch.tensor(0.5))})
    assert isinstance(posenc.FireWeights(c=torch.tensor(0.5)).c, torch.Tensor)


def test_importing_is_quick():
    """posenc needs no torch, and posenc.torch not the compiler, which takes as long again."""
    import subprocess
    import sys

    pytest.importorskip("posenc.torch")
    for module, heavy in (("posenc", "torch"), ("posenc.torch", "torch._dynamo"), ("posenc.nn", "torch._dynamo")):
        code = f"import sys, {module}; sys.exit({heavy!r} in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code]).returncode == 0, module
