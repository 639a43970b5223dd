"""Meshes of devices as groups of ranks, and DTensors whose tokens lie on them: a rank computes with its own part.

A DTensor of a call is the rows of the ranks one after another, as the sharding deals them: what each rank has of it is what
pd.take would give.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

_flat: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


def is_mesh(group: Any) -> bool:
    return hasattr(group, "get_group") and hasattr(group, "mesh_dim_names")


def is_dtensor(x: Any) -> bool:
    return isinstance(x, Tensor) and hasattr(x, "placements") and hasattr(x, "device_mesh")


def flat_group(mesh: Any) -> Any:
    """The group of all ranks of a mesh of two dimensions, the first before the second."""
    if mesh not in _flat:
        is_whole = mesh.mesh.flatten().tolist() == list(range(dist.get_world_size()))
        _flat[mesh] = dist.group.WORLD if is_whole else mesh._flatten().get_group()
    return _flat[mesh]


@dataclass
class Tokens:
    """Where the tokens of a call's DTensors lie."""

    mesh: Any

    def own(self, x: Any, axis: int) -> Any:
        """This rank's part of a tensor whose rows are on `axis`; the tensor itself where it is none of these."""
        is_ours = is_dtensor(x) and x.device_mesh == self.mesh
        if is_ours and all(self._is_of(one, axis % x.dim()) for one in x.placements):
            return x.to_local()
        return x

    @staticmethod
    def _is_of(placement: Any, axis: int) -> bool:
        return type(placement).__name__ == "Shard" and placement.dim == axis

    def own_table(self, x: Any) -> Any:
        """A table that all ranks have. Its gradient is this rank's, of which the whole is the sum."""
        from torch.distributed.tensor import Partial

        if is_dtensor(x) and x.device_mesh == self.mesh and all(one.is_replicate() for one in x.placements):
            return x.to_local(grad_placements=[Partial()] * self.mesh.ndim)
        return x

    def whole(self, x: Tensor, axis: int, tokens: int) -> Tensor:
        """The DTensor of which this is the rank's part."""
        from torch.distributed.tensor import DTensor, Shard

        shape = torch.Size(tokens if n == axis else count for n, count in enumerate(x.shape))
        strides = [1]
        for count in reversed(shape[1:]):
            strides.insert(0, strides[0] * count)
        of = [Shard(axis)] * self.mesh.ndim
        made: Tensor = DTensor.from_local(x, self.mesh, of, run_check=False, shape=shape, stride=tuple(strides))
        return made


def tokens_of(q: Any, group: Any) -> Tokens | None:
    """Of a call with that q, and ranks of that group, or of q's mesh where it is None. None where q is no DTensor, or on another
    mesh."""
    if not is_dtensor(q):
        return None
    if group is None or q.device_mesh == group:
        return Tokens(q.device_mesh)
    if is_mesh(group):
        return None
    ranks = dist.get_process_group_ranks(group)
    return Tokens(q.device_mesh) if ranks == q.device_mesh.mesh.flatten().tolist() else None
