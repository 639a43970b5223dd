"""One operator of onnxruntime on tensors of torch, nothing copied: inputs and outputs are bound to their memory."""

from __future__ import annotations

from typing import Any

import onnxruntime
import torch
from onnx import TensorProto, helper
from taking_turns import Candidate
from torch import Tensor

_KINDS = {torch.float32: TensorProto.FLOAT, torch.int64: TensorProto.INT64, torch.int32: TensorProto.INT32}


def _info(name: str, x: Tensor) -> Any:
    return helper.make_tensor_value_info(name, _KINDS[x.dtype], list(x.shape))


def _session(nodes: list[Any], inputs: dict[str, Tensor], outputs: dict[str, Tensor], threads: int) -> Any:
    graph = helper.make_graph(
        nodes, "one", [_info(*item) for item in inputs.items()], [_info(*item) for item in outputs.items()]
    )
    versions = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=versions, ir_version=11)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def candidate(
    name: str, nodes: list[Any], inputs: dict[str, Tensor], outputs: dict[str, Tensor], threads: int
) -> Candidate:
    """Runs the nodes; the result is the first output."""
    session = _session(nodes, inputs, outputs, threads)
    binding = session.io_binding()
    for bind, named in ((binding.bind_input, inputs), (binding.bind_output, outputs)):
        for key, x in named.items():
            if not x.is_contiguous():
                raise ValueError(f"[onnx_nodes] {key} must be contiguous")
            bind(key, "cpu", 0, _KINDS[x.dtype], list(x.shape), x.data_ptr())
    tensors = (inputs, outputs)  # the binding knows their addresses alone

    def run(options: Any = None) -> Tensor:
        session.run_with_iobinding(binding, options)
        return next(iter(tensors[1].values()))

    shrinking = onnxruntime.RunOptions()
    shrinking.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    return Candidate(name, run, for_memory=lambda: run(shrinking))
