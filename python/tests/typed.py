"""What a type checker must accept, and, where a line says so, must not. test_types.py has it read."""

import pickle

from typing_extensions import assert_type

import posenc


class Tensor:
    """An array of some library."""

    def __dlpack__(self) -> object: ...


plan: posenc.Plan = posenc.read_plan("model/config.json", length=4096)
layer: posenc.LayerPlan = plan.stacks[0].layers[0]
rope: posenc.Rope = layer.rotate[0].rope.replace(base=10000.0)
scaling = posenc.YarnScaling(factor=4.0, original_max_position_embeddings=4096)
other = posenc.Rope(pairing="half", head_dim=128, dim=128, scaling=scaling)
numbers: tuple[float, ...] = posenc.frequencies(other, arithmetic="float32").inv_freq
table: posenc.RotaryTable = posenc.make_table(rope, start=0, count=4096)
first: float = table.cos(0)[0]
rotated = posenc.rotate(table.rows, table=table, positions=[1, 2, 3])
q, k = Tensor(), Tensor()
assert_type(rotated, memoryview)
assert_type(posenc.rotate(q, table=table, positions=q), Tensor)
assert_type(posenc.rotate(q, table.rows, table=[table], positions=7), tuple[Tensor, memoryview])
assert_type(posenc.rotate(k=k, table=table, out=k), Tensor)
assert_type(posenc.rotate_(q, k, table=table), tuple[Tensor, Tensor])
assert_type(posenc.rerotate(k, from_table=table, from_positions=0, to_table=table, to_positions=[9]), Tensor)
assert_type(posenc.attend(layer, q, k, k), Tensor)
assert_type(posenc.attend(layer, q, k, k, lse=True, attn_mask=q)[0], Tensor)
prepared: posenc.PreparedLayer = posenc.prepare_layer(layer, score_weights=[posenc.T5Weights(table=q)])
assert_type(posenc.attend(prepared, q, k, k), Tensor)
assert_type(posenc.merge([posenc.attend(layer, q, k, k, lse=True)])[0], Tensor)
assert_type(posenc.permute_pairing(q, posenc.layout(rope), "half"), Tensor)
text: str = plan.describe() + plan.to_json()
try:
    posenc.read_plan(b"{}")
except posenc.FileError as error:
    kind: str = error.kind
    line: int | None = error.line
assert pickle.loads(pickle.dumps(rope)) == rope

posenc.Rope(head_dim=128)  # wrong: no pairing
posenc.Rope(pairing="halves")  # wrong: no such pairing
posenc.Window(4095)  # wrong: by position
rope.base = 1.0  # wrong: frozen
posenc.make_table(rope, count="many")  # wrong: a word for a number
posenc.rotate(rotated)  # wrong: no table
posenc.rotate([[1.0]], table=table)  # wrong: a list for an array
posenc.prepare_layer(prepared)  # wrong: it is prepared already
posenc.attend(layer, q, k, 1.0)  # wrong: a number for an array
plan.stacks[0].layer  # wrong: no such member
