"""The recorded cases, and what the simulation makes of them."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import decode
from machines import Host
from modes import Counted, Layer, attend, tiles_of_causal_zigzag

RECORD = pathlib.Path(__file__).parent / "measured.json"


def simulated(case: dict[str, Any], constants: dict[str, Any]) -> Counted:
    layer = Layer(case["heads"], case["kv_heads"], case["head_dim"], case["head_dim"], width=4)
    ranks, tokens = case["ranks"], case["tokens"]
    if case["mode"] == "tree":
        return decode.decode(lambda simulation: Host(simulation, ranks, constants), layer, tokens)
    work = tiles_of_causal_zigzag(tokens, ranks)
    return attend(lambda simulation: Host(simulation, ranks, constants), layer, work, case["mode"], case["ulysses_ranks"])


def compared() -> Iterator[tuple[dict[str, Any], float]]:
    """Each recorded case, and the simulated seconds."""
    record = json.loads(RECORD.read_text())
    for case in record["cases"]:
        yield case, max(simulated(case, record["constants"]).seconds)
