"""Connections of their own for keys, and gradients of keys, that go from a rank to one before it.

gloo has one connection for a pair of ranks, and what asks for keys stands in line on it behind keys that go the same way. Of
two ranks that need keys of each other, the later to ask would wait for all that the other has asked for. With a second group
of gloo keys go one way on each connection, and what asks for them the other way.

It is made when a group first needs it, by its ranks alone, through the store in which they found each other; and lives as
long as the group does. It is no group of torch.distributed's list, from which a name could come twice.
"""

from __future__ import annotations

import time
import uuid
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist

from ._agreement import problems
from ._exchange import Exchange

_KEPT, _NEW = "the second connections of the group", "the name of new connections"  # what ranks tell each other


@dataclass(frozen=True)
class _Connections:
    name: str
    of: Any  # a ProcessGroupGloo


_made: weakref.WeakKeyDictionary[Any, _Connections] = weakref.WeakKeyDictionary()


def _parent(exchange: Exchange) -> Any:
    return dist.group.WORLD if exchange.group is None else exchange.group


def facts(exchange: Exchange) -> dict[str, str | None]:
    """Of a call that uses them: what to agree on. Nothing where messages go by another backend than gloo."""
    if "cpu:gloo" not in str(dist.get_backend_config(exchange.group)):
        return {}
    kept = _made.get(_parent(exchange))
    name = uuid.uuid4().hex if kept is None and exchange.rank == 0 else None
    return {_KEPT: "none" if kept is None else kept.name, _NEW: name}


def connect(exchange: Exchange, agreed: Mapping[str, str | None]) -> None:
    """All ranks call it, of which all have agreed on facts(). RuntimeError on all of them where one cannot."""
    if _KEPT not in agreed:
        return
    parent = _parent(exchange)
    if parent not in _made:
        _made[parent] = _Connections(str(agreed[_NEW]), _opened(exchange, str(agreed[_NEW]), parent))
    exchange.second = _made[parent].of


def _opened(exchange: Exchange, name: str, parent: Any) -> Any:
    """Half of the time is for connections, and what is left for what ranks say of them: so who stalls is known in time."""
    own = ""
    began, made = time.monotonic(), None
    try:
        backend = parent._get_backend(torch.device("cpu"))
        given = getattr(backend, "wrapped_pg", backend).options  # wrapped with TORCH_DISTRIBUTED_DEBUG=DETAIL
        options = dist.ProcessGroupGloo._Options()
        options._devices, options._threads, options._timeout = given._devices, 1, exchange.timeout / 2
        store = dist.PrefixStore(f"posenc/{name}", parent.get_group_store())
        made = dist.ProcessGroupGloo(store, exchange.rank, exchange.ranks, options)
        made._set_default_timeout(given._timeout)
    except Exception as problem:  # whatever it is, the others must hear of it
        own = str(problem) or type(problem).__name__
    exchange.until = began + exchange.timeout.total_seconds()
    failed = problems(exchange, own, time.monotonic() - began)
    exchange.until = None
    if failed:
        rank, why = failed[0]
        raise RuntimeError(f"[{exchange.where}] rank {rank} cannot connect to the others once more, for keys: {why}")
    return made
