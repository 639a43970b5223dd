"""The backward pass of posenc.torch.attend against that of torch's SDPA, and both passes together.

As many KV heads as heads, 128 channels, causal: [1, heads, tokens, 128]. Of `bias` a matrix that is added to SDPA's
scores, with the causal mask in it, has a gradient, as it does where it is made of a learned table; posenc has the
table, of T5, and gives the table's. Learned slopes of ALiBi and learned frequencies of RoPE, which SDPA does not have,
are held against the same by operations of torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from rotation import HEADS, WIDTH, projected
from taking_turns import Candidate, Case
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

import posenc
import posenc.torch

KINDS = ("none", "bias")
LEARNED = ("slopes", "frequencies")
PASSES = ("backward", "both")
# From here on a fourth of the heads: SDPA with a bias holds several matrices of [heads, tokens, tokens].
_LONG = 4096


def _of_posenc(kind: str, heads: int, q: Tensor, k: Tensor, v: Tensor, table: Tensor) -> Callable[[], Tensor]:
    layer = posenc.LayerPlan(
        heads=heads, kv_heads=heads, head_dim=WIDTH, value_dim=WIDTH, softmax_scale=1 / math.sqrt(WIDTH)
    )
    if kind == "none":
        plain = posenc.torch.Layer(layer)
        return lambda: posenc.torch.attend(plain, q, k, v)
    with_table = posenc.torch.Layer(
        layer.replace(score=[posenc.T5Bias()]), score_weights=[posenc.T5Weights(table=table.detach())]
    )
    return lambda: posenc.torch.attend(with_table, q, k, v, tables=[table])


def _matrix(table: Tensor, tokens: int) -> Tensor:
    """What T5 adds, [1, heads, queries, keys], -inf where a key is not seen."""
    distance = torch.arange(tokens)[:, None] - torch.arange(tokens)
    buckets = torch.tensor([posenc.t5_bucket(posenc.T5Bias(), n) for n in range(tokens)])
    bias = table.detach()[buckets[distance.clamp(min=0)]].permute(2, 0, 1)
    return bias.masked_fill(distance < 0, -math.inf)[None].contiguous()


def _candidate(
    name: str, passes: str, forward: Callable[[], Tensor], learned: Sequence[Tensor], d_out: Tensor
) -> Candidate:
    """What it computes is the gradient of q."""
    if passes == "both":
        return Candidate(name, lambda: torch.autograd.grad(forward(), learned, d_out)[0])
    out = forward()
    return Candidate(name, lambda: torch.autograd.grad(out, learned, d_out, retain_graph=True)[0])


def _make(kind: str, passes: str, tokens: int) -> list[Candidate]:
    heads = HEADS // 4 if tokens >= _LONG else HEADS
    q, k, v = (projected(tokens, heads, torch.float32, seed).requires_grad_() for seed in (1, 2, 4))
    d_out = projected(tokens, heads, torch.float32, 5)
    table = torch.randn(32, heads, generator=torch.Generator().manual_seed(3)).requires_grad_()
    of_posenc = [q, k, v] if kind == "none" else [q, k, v, table]
    made = [_candidate("posenc", passes, _of_posenc(kind, heads, q, k, v, table), of_posenc, d_out)]
    made[0].is_ours = True
    if kind == "none":
        sdpa = _candidate(
            "SDPA", passes, lambda: scaled_dot_product_attention(q, k, v, is_causal=True), [q, k, v], d_out
        )
    else:
        matrix = _matrix(table, tokens).requires_grad_()
        sdpa = _candidate(
            "SDPA with a bias that has a gradient",
            passes,
            lambda: scaled_dot_product_attention(q, k, v, attn_mask=matrix),
            [q, k, v, matrix],
            d_out,
        )
    return [*made, sdpa]


def _make_learned(kind: str, passes: str, tokens: int) -> list[Candidate]:
    heads = HEADS // 4
    size = {"heads": heads, "kv_heads": heads, "head_dim": WIDTH, "value_dim": WIDTH, "softmax_scale": 1 / math.sqrt(WIDTH)}
    if kind == "slopes":
        slopes = torch.full((heads,), 0.125)
        plan = posenc.LayerPlan(**size, score=[posenc.Alibi(heads=heads)])
        layer = posenc.torch.Layer(plan, score_weights=[{"slopes": slopes.requires_grad_()}])
    else:
        rope = posenc.Rope(pairing="half", head_dim=WIDTH, dim=WIDTH)
        steps = 1e4 ** -(torch.arange(WIDTH // 2) / (WIDTH // 2))
        layer = posenc.torch.Layer(
            posenc.LayerPlan(**size, rotate=[posenc.Rotate(scheme=rope)]), inv_freq=[steps.requires_grad_()]
        )
    q, k, v = (projected(tokens, heads, torch.float32, seed).requires_grad_() for seed in (1, 2, 4))
    d_out = projected(tokens, heads, torch.float32, 5)
    learned = [q, k, v, *layer.weights]

    def by(name: str, backend: str) -> Candidate:
        return _candidate(name, passes, lambda: posenc.torch.attend(layer, q, k, v, backend=backend), learned, d_out)

    ours = by("posenc, kernels", "kernel")
    ours.is_ours = True
    return [ours, by("posenc, operations of torch", "composed")]


def cases(lengths: list[int]) -> list[Case]:
    return [
        Case(f"training/{kind}/{passes}/f32/{tokens}", lambda of=(kind, passes, tokens): _make_learned(*of))
        for kind in LEARNED
        for passes in PASSES
        for tokens in lengths
    ] + [
        Case(f"training/{kind}/{passes}/f32/{tokens}", lambda of=(kind, passes, tokens): _make(*of))
        for kind in KINDS
        for passes in PASSES
        for tokens in lengths
    ]
