"""Score terms that know what queries and keys hold: forward(q, k, v) is attention by them alone.

Shaw 1803.02155, Transformer-XL 1901.02860, XLNet 1906.08237, DeBERTa 2006.03654, MViT 2112.01526, CoPE 2405.18719, the
forgetting transformer 2503.02130
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from .. import _posenc
from .scheme import SchemeModule, linear_of


class ContentScheme(SchemeModule):
    def forward(self, q: Tensor, k: Tensor, v: Tensor, **given: Any) -> Tensor:
        return self.attend(q, k, v, **given)


class ShawRelative(ContentScheme):
    """q_i . E[clip(i - j, -right, left)]; by_keys: (q_i + k_j) . E. table: [right + left + 1, head_dim], from -right."""

    def __init__(
        self, heads: int, head_dim: int, left: int, right: int = 0, *, per_head: bool = False, **scheme: Any
    ) -> None:
        super().__init__(_posenc.ShawKeys(left=left, right=right, **scheme), heads)
        shape = (left + right + 1, head_dim)
        shape = (heads, *shape) if per_head else shape  # type: ignore[assignment]
        self.table = None if self.scheme.sinusoidal else nn.Parameter(torch.randn(shape) / math.sqrt(head_dim))

    def tables(self, **others: Any) -> dict[str, Any] | None:
        return None if self.table is None else {"table": self.table}


class ShawRelativeValues(ContentScheme):
    """The value half: o_i = sum_j a_ij (v_j + E[clip(i - j, -right, left)])."""

    def __init__(self, heads: int, value_dim: int, left: int, right: int = 0, **scheme: Any) -> None:
        super().__init__(_posenc.ShawValues(left=left, right=right, **scheme), heads)
        shape = (left + right + 1, value_dim)
        self.table = None if self.scheme.sinusoidal else nn.Parameter(torch.randn(shape) / math.sqrt(value_dim))

    def tables(self, **others: Any) -> dict[str, Any] | None:
        return None if self.table is None else {"table": self.table}

    def plan(self, head_dim: int, value_dim: int, kv_heads: int, softmax_scale: float, mask: Any) -> _posenc.LayerPlan:
        sizes = {"heads": self.heads, "kv_heads": kv_heads, "head_dim": head_dim, "value_dim": value_dim}
        return _posenc.LayerPlan(**sizes, softmax_scale=softmax_scale, mask=mask, value=self.scheme)

    def weights(self, **others: Any) -> dict[str, Any]:
        tables = self.tables()
        return {} if tables is None else {"value_weights": tables}


class TransformerXLRelative(ContentScheme):
    """(q_i + v) . W r(i - j) + u . k_j. projection is r_net, content_bias r_w_bias (u), position_bias r_r_bias (v)."""

    def __init__(self, heads: int, head_dim: int, channels: int, **scheme: Any) -> None:
        super().__init__(_posenc.TransformerXl(**scheme), heads)
        self.projection = nn.Linear(channels, heads * head_dim, bias=False)
        self.content_bias = nn.Parameter(torch.zeros(heads, head_dim)) if self.scheme.content_bias else None
        self.position_bias = nn.Parameter(torch.zeros(heads, head_dim)) if self.scheme.position_bias else None

    def tables(self, **others: Any) -> dict[str, Any] | None:
        biases = {"content_bias": self.content_bias, "position_bias": self.position_bias}
        return {"projection": self.projection.weight, **{name: x for name, x in biases.items() if x is not None}}


class XLNetRelative(ContentScheme):
    """XLNet: Transformer-XL's terms, and (q_i + s) . E[same segment or not]. projection is its r, content_bias r_w_bias,
    position_bias r_r_bias, segment_bias r_s_bias, segments seg_embed; with them a call needs q_segments and k_segments."""

    def __init__(self, heads: int, head_dim: int, channels: int, *, segments: bool = True, **scheme: Any) -> None:
        super().__init__(_posenc.XlNet(**scheme), heads)
        self.projection = nn.Linear(channels, heads * head_dim, bias=False)
        self.content_bias = nn.Parameter(torch.zeros(heads, head_dim))
        self.position_bias = nn.Parameter(torch.zeros(heads, head_dim))
        self.segment_bias = nn.Parameter(torch.zeros(heads, head_dim)) if segments else None
        self.segments = nn.Parameter(torch.randn(2, heads, head_dim) / math.sqrt(head_dim)) if segments else None

    def tables(self, **others: Any) -> dict[str, Any] | None:
        biases = {"content_bias": self.content_bias, "position_bias": self.position_bias}
        out: dict[str, Any] = {"positions": {"projection": self.projection.weight, **biases}}
        if self.segments is not None:
            out |= {"segment_bias": self.segment_bias, "segments": self.segments}
        return out


class DecomposedRelative(ContentScheme):
    """MViT, SAM: q_i . Eh[h_i - h_j] + q_i . Ew[w_i - w_j] in windows of side x side tokens, at positions [2, tokens]. rows,
    columns: [2 side - 1, head_dim], rel_pos_h and rel_pos_w."""

    def __init__(self, heads: int, head_dim: int, side: int) -> None:
        super().__init__(_posenc.DecomposedHw(rows=2 * side - 1), heads)
        self.rows = nn.Parameter(torch.zeros(2 * side - 1, head_dim))
        self.columns = nn.Parameter(torch.zeros(2 * side - 1, head_dim))

    def tables(self, **others: Any) -> dict[str, Any] | None:
        return {"rows": self.rows, "columns": self.columns}


class DisentangledAttention(ContentScheme):
    """DeBERTa: c2p q_i . W_k P[d], p2c k_j . W_q P[d]. table: P, [2 span, channels], or None where it is shared: then it
    comes with each call, as rel_embeddings; keys, queries: W_k, W_q, or None where they are the attention's own."""

    def __init__(
        self,
        heads: int,
        head_dim: int,
        channels: int,
        *,
        shared_table: bool = False,
        key_bias: bool = True,
        **scheme: Any,
    ) -> None:
        super().__init__(_posenc.Deberta(**scheme), heads)
        rows = 2 * _posenc.deberta_span(self.scheme)
        self.table = None if shared_table else nn.Parameter(torch.randn(rows, channels) / math.sqrt(channels))
        own, width = not self.scheme.shared_projection, heads * head_dim
        of, both = self.scheme, self.scheme.position_to_position
        self.keys = nn.Linear(channels, width, bias=key_bias) if own and (of.content_to_position or both) else None
        self.queries = nn.Linear(channels, width) if own and (of.position_to_content or both) else None
        self.rows = rows
        self.needs_keys, self.needs_queries = bool(of.content_to_position or both), bool(of.position_to_content or both)

    def tables(self, **others: Any) -> dict[str, Any] | None:
        table = self.table if self.table is not None else others.get("rel_embeddings")
        if table is None:
            raise ValueError("[posenc.nn] rel_embeddings must be given, [2 span, channels], since the table is shared")
        out: dict[str, Any] = {"table": table}
        if self.needs_keys:
            out["keys"] = linear_of(self.keys) if self.keys is not None else linear_of(others["k_proj"])
        if self.needs_queries:
            out["queries"] = linear_of(self.queries) if self.queries is not None else linear_of(others["q_proj"])
        return out


class CoPE(ContentScheme):
    """Positions counted by gates sigmoid(x_il) from the key up to the query. table: [positions, head_dim]."""

    def __init__(self, heads: int, head_dim: int, positions: int) -> None:
        super().__init__(_posenc.ContextualPosition(positions=positions), heads)
        self.table = nn.Parameter(torch.zeros(positions, head_dim))

    def tables(self, **others: Any) -> dict[str, Any] | None:
        return {"table": self.table}


class ForgetGate(ContentScheme):
    """FoX: ln f of each key, made of its hidden state by a projection, which begins at gates of about a half."""

    def __init__(self, heads: int, width: int | None = None) -> None:
        super().__init__(_posenc.ForgetGate(), heads)
        self.projection = None if width is None else nn.Linear(width, heads)

    def log_forget(self, hidden: Tensor) -> Tensor:
        """[batch * tokens, heads] of hidden states [batch, tokens, width]."""
        if self.projection is None:
            raise ValueError("[posenc.nn] ForgetGate must have a width, that of hidden states, to make gates of them")
        return functional.logsigmoid(self.projection(hidden)).flatten(0, -2)
