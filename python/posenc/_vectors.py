"""Golden vectors of a layer, and a port held to them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal, Union

from . import _posenc
from ._arrays import ArrayLike
from ._posenc import Plan, PortCheck, Vectors
from ._read_plan import Model, read_plan

VectorFormat = Literal["npy", "safetensors", "json", "c", "rust", "python"]
VectorTest = Literal["none", "pytest", "googletest", "c", "cargo"]

_DTYPES = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def vectors(
    plan: Union[Plan, Model],
    *,
    layer: int | None = None,
    stack: str | None = None,
    tokens: int | None = None,
    start: int | None = None,
    length: int | None = None,
    cross: bool = False,
    inputs: Mapping[str, ArrayLike] | None = None,
) -> Vectors:
    """Small q, k, v and positions of a layer, and what the float64 reference makes of them stage by stage.

    plan: a plan, or whatever read_plan takes. layer: counted from 0; may be omitted where all layers of the stack are
    alike. tokens: 12, or more where the layer's rules have more edges. start: tokens stand at start, start + 1, ...;
    omitted: at 0, 1, 2 and on both sides of each edge of the layer's rules. length: of the sequence, for rules that
    depend on it. cross: the layer's cross-attention.

    inputs: what a port was run on, in place of drawn numbers: q [tokens, heads, head_dim], k and v [tokens, kv_heads, ..]
    (q or k alone: the rotation alone), positions [tokens] or [axes, tokens] of whole numbers (omitted: from start on),
    and learned tables by the names of named_weights. check_port then judges what the port made of them.

    numpy.asarray(vectors["q"]) is a tensor. ValueError for a layer that is not there, that must be said or that does
    not attend, and for what its rules refuse.
    """
    of = plan if isinstance(plan, Plan) else read_plan(plan)
    options: dict[str, Any] = {"stack": stack, "layer": layer, "tokens": tokens, "start": start, "length": length}
    if inputs is None:
        return _posenc._make_vectors(of, **options, cross=cross, inputs=None, positions=[])
    if tokens is not None:
        raise ValueError("[vectors] tokens must be omitted with inputs, whose they are")
    arrays = {name: array for name, array in inputs.items() if name != "positions"}
    return _posenc._make_vectors(of, **options, cross=cross, inputs=arrays, positions=_whole(inputs.get("positions")))


def _whole(positions: Any) -> list[int]:
    """In one list. TypeError for what is not whole."""
    if positions is None:
        return []
    if hasattr(positions, "tolist"):
        positions = positions.tolist()
    if not isinstance(positions, (list, tuple)):
        raise TypeError(f"[vectors] positions must be a list or an array of whole numbers but is {positions!r:.80}")
    flat = [one for row in positions for one in (row if isinstance(row, (list, tuple)) else [row])]
    for one in flat:
        if isinstance(one, bool) or not hasattr(one, "__index__"):
            raise TypeError(f"[vectors] positions must be whole numbers but has {one!r:.80}")
    return [int(one) for one in flat]


def write_vectors(
    vectors: Vectors,
    directory: Union[str, os.PathLike[str]],
    *,
    format: VectorFormat = "npy",
    test: VectorTest | None = None,
) -> int:
    """Writes vectors and a test of a port to a directory, whole or not at all; gives the bytes written.

    format and test: as vector_files has them. FileError where something but an empty directory stands there.
    """
    return _posenc._write_vectors(vectors, os.fspath(directory), format=format, test=test)


def read_vectors(directory: Union[str, os.PathLike[str]]) -> Vectors:
    """What write_vectors or `posenc vectors` wrote. FileError for what cannot be read, and says where."""
    return _posenc._read_vectors(os.fspath(directory))


def check_port(
    vectors: Union[Vectors, str, os.PathLike[str]],
    outputs: Mapping[str, ArrayLike],
    *,
    dtype: str | None = None,
    diagnose: bool = True,
) -> PortCheck:
    """Whether a port's outputs are within the bound of its dtype; where they are not, what was done instead.

    vectors: of this module, or the directory that has them. outputs: any of 'q_rotated', 'k_rotated', 'scores', 'out',
    'inv_freq', 'cos', 'sin' by name; axes as in the vectors, or heads before tokens, with a batch of 1 before them, or
    heads and channels on one axis. dtype: 'float32', 'bfloat16' or 'float16', what the port computes in; omitted: what
    each output is stored in.

    ValueError for a name that the vectors have no result of and for a shape that does not fit.
    """
    if dtype is not None and dtype not in _DTYPES:
        raise ValueError(f"[check_port] dtype must be one of {', '.join(_DTYPES)} but is {dtype!r}")
    of = vectors if isinstance(vectors, Vectors) else read_vectors(vectors)
    return _posenc._check_port(of, dict(outputs), dtype=None if dtype is None else _DTYPES[dtype], diagnose=diagnose)
