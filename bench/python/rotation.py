"""posenc.rotate against the functions that apply RoPE to queries and keys elsewhere.

Queries and keys are what a projection leaves: [1, tokens, heads, 128] seen as [1, heads, tokens, 128]. cos and sin are
made beforehand on all sides. Every candidate makes new arrays, as apply_rotary_pos_emb does; "in place" is what an
engine would call. A copy into memory that is there is the least that a call which is not in place can take.
"""

from __future__ import annotations

import numpy as np
import onnx_nodes
import torch
from onnx import helper
from taking_turns import Candidate, Case
from torch import Tensor
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

import posenc

HEADS, KV_HEADS, WIDTH = 32, 8, 128
ROPE = posenc.Rope(pairing="half", head_dim=WIDTH, dim=WIDTH, base=500000.0)
DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}


def projected(tokens: int, heads: int, dtype: torch.dtype, seed: int) -> Tensor:
    x = torch.randn(1, tokens, heads, WIDTH, generator=torch.Generator().manual_seed(seed))
    return x.to(dtype).transpose(1, 2)


def _onnxruntime(q: Tensor, k: Tensor, rows: Tensor, threads: int) -> Candidate:
    inputs = {"q": q.contiguous(), "k": k.contiguous(), "cos": rows[:, 0].contiguous(), "sin": rows[:, 1].contiguous()}
    inputs["ids"] = torch.arange(q.shape[2])[None]
    nodes = [helper.make_node("RotaryEmbedding", [x, "cos", "sin", "ids"], [f"{x}_rotated"]) for x in ("q", "k")]
    outputs = {f"{x}_rotated": torch.empty_like(inputs[x]) for x in ("q", "k")}
    return onnx_nodes.candidate("onnxruntime, RotaryEmbedding", nodes, inputs, outputs, threads)


def _make(dtype: torch.dtype, tokens: int, threads: int) -> list[Candidate]:
    q, k = projected(tokens, HEADS, dtype, 1), projected(tokens, KV_HEADS, dtype, 2)
    table = posenc.make_table(ROPE, count=tokens)
    rows = torch.from_numpy(np.asarray(table.rows).copy())  # [tokens, 2, pairs]
    cos, sin = (torch.cat((rows[:, i], rows[:, i]), -1)[None].to(dtype) for i in (0, 1))
    # In place of copies: rotating once more changes nothing of what a rotation takes.
    q_own, k_own = q.clone(), k.clone()
    copies = torch.empty_like(q), torch.empty_like(k)
    compiled = torch.compile(apply_rotary_pos_emb, dynamic=False)
    candidates = [
        Candidate("posenc", lambda: posenc.rotate(q, k, table=table, threads=threads)[0], is_ours=True),
        Candidate(
            "posenc in place", lambda: posenc.rotate_(q_own, k_own, table=table, threads=threads)[0], is_ours=True
        ),
        Candidate("transformers, eager", lambda: apply_rotary_pos_emb(q, k, cos, sin)[0]),
        Candidate("a copy of both", lambda: (copies[0].copy_(q), copies[1].copy_(k)), is_floor=True),
        Candidate("transformers, compiled", lambda: compiled(q, k, cos, sin)[0], is_compiled=True),
    ]
    if dtype == torch.float32:  # its CPU kernels know no bfloat16
        candidates.append(_onnxruntime(q, k, rows, threads))
    return candidates


def cases(lengths: list[int], threads: int) -> list[Case]:
    return [
        Case(f"rotate/{name}/{tokens}", lambda dtype=dtype, tokens=tokens: _make(dtype, tokens, threads))
        for name, dtype in DTYPES.items()
        for tokens in lengths
    ]
