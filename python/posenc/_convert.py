"""A checkpoint's q and k projections, from one pairing to the other."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal, Union

from . import _posenc
from ._posenc import Conversion, Plan
from ._read_plan import Model, read_plan

Path = Union[str, "os.PathLike[str]"]
Pairing = Literal["half", "interleaved"]


def convert(
    source: Path,
    output: Path | None = None,
    *,
    to: Pairing,
    from_: Pairing | None = None,
    model: Union[Plan, Model, None] = None,
    stack: str = "",
    padded_head_dim: int | None = None,
    again: bool = False,
    replace: bool = False,
    dry_run: bool = False,
    progress: Callable[[str, int, int], object] | None = None,
) -> Conversion:
    """A checkpoint with the rows of its q and k projections in the order of the other pairing, file to file.

    source: a folder with safetensors and config.json, an index of shards, one .safetensors, or a GGUF file (of several
    parts, the first). output: a folder for a folder, an index or parts, else a file; it must not be there, and is there
    only when it is whole and its scores have been checked. Without one, or with dry_run, nothing is written, and all is
    checked that can be. from_: what the rows are now, where it is not what the plan says. model: a plan, or whatever
    read_plan takes, where no config.json lies beside the weights. stack: the first that rotates by default.
    padded_head_dim: heads have so many rows in the file, head_dim of them the model's and the rest zeros. again: rows
    are what the plan or from_ says, whatever mark an earlier conversion has left (docs/convert.md). replace: an
    output that is one file. progress: called with 'copying' or 'checking', the bytes done and all of them; what it
    raises ends the call. What is written by then stays in OUTPUT.posenc-partial, from which the same call goes on.

    FileError for a checkpoint that cannot be read, written or converted as a whole, with the tensor and the reason;
    ValueError for a stack that is not there, for one that is `to` already, and for what no order of rows converts.
    """
    plan = model if model is None or isinstance(model, Plan) else read_plan(model)
    return _posenc._convert(
        os.fsencode(source),
        b"" if output is None else os.fsencode(output),
        to=to,
        from_=from_,
        plan=plan,
        stack=stack,
        padded_head_dim=padded_head_dim,
        again=again,
        replace=replace,
        dry_run=dry_run or output is None,
        progress=progress,
    )
