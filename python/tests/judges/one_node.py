"""One operator, through onnxruntime on the CPU."""

from __future__ import annotations

from typing import Any

import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper
from torch import Tensor

KINDS = {torch.float32: TensorProto.FLOAT, torch.int64: TensorProto.INT64, torch.int32: TensorProto.INT32}
MICROSOFT = "com.microsoft"


def run(
    operator: str,
    inputs: dict[str, Tensor | None],
    *,
    domain: str = "",
    opset: int = 23,
    outputs: int = 1,
    **attributes: Any,
) -> Tensor:
    """Its first output. inputs: in the operator's order; None: left out. outputs: how many of them it must have."""
    names = [name if x is not None else "" for name, x in inputs.items()]
    given = {name: x.contiguous() for name, x in inputs.items() if x is not None}
    results = [f"result_{i}" for i in range(outputs)]
    graph = helper.make_graph(
        [helper.make_node(operator, names, results, domain=domain, **attributes)],
        "one",
        [helper.make_tensor_value_info(name, KINDS[x.dtype], list(x.shape)) for name, x in given.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None if domain else list("bhnc")) for name in results],
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=11)
    if not domain:
        onnx.checker.check_model(model)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # what it refuses, it raises too
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return torch.from_numpy(session.run(None, {name: x.numpy() for name, x in given.items()})[0].copy())
