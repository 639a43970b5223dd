"""Attention with a layer's schemes: projections, norms of q and k, KV cache, GQA, and the modules of its score terms."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from .. import _posenc
from .._composed.rotation import Rotation, rotated
from .._composed.rows import rows_of
from ..torch import Norm, normalise
from .biases import (
    ALiBi,
    ClippedRelativeBias,
    Fire,
    GridRelativeBias,
    Kerple,
    MlpRelativeBias,
    Sandwich,
    T5RelativeBias,
)
from .contents import (
    CoPE,
    DecomposedRelative,
    DisentangledAttention,
    ForgetGate,
    ShawRelative,
    ShawRelativeValues,
    TransformerXLRelative,
    XLNetRelative,
)
from .published import renamed
from .scheme import Attends, SchemeModule


class KVCache:
    """Keys and values of the tokens before, [batch, kv_heads, tokens, channels], as they are before any rotation."""

    def __init__(self) -> None:
        self.k: Tensor | None = None
        self.v: Tensor | None = None
        self.log_forget: Tensor | None = None  # [batch, tokens, heads]

    def __len__(self) -> int:
        return 0 if self.k is None else self.k.shape[2]

    def append(self, name: str, x: Tensor, axis: int) -> Tensor:
        before = getattr(self, name)
        both = x if before is None else torch.cat([before, x], dim=axis)
        setattr(self, name, both)
        return both


def term_module(scheme: Any, layer: _posenc.LayerPlan, width: int, **options: Any) -> SchemeModule:
    """The module of a score term, with tables as it makes them."""
    heads, head_dim = layer.heads, layer.head_dim
    numbers = {name: of for name, of in scheme.__getstate__().items() if name != "heads"}
    places: dict[type, Any] = {
        _posenc.Alibi: ALiBi,
        _posenc.T5Bias: T5RelativeBias,
        _posenc.ClippedBias: ClippedRelativeBias,
        _posenc.GridBias: GridRelativeBias,
        _posenc.Kerple: Kerple,
        _posenc.Fire: Fire,
        _posenc.MlpBias: MlpRelativeBias,
    }
    if type(scheme) in places:
        made: SchemeModule = places[type(scheme)](heads, **numbers, **options)
    elif isinstance(scheme, _posenc.Sandwich):
        made = Sandwich(heads, scheme.channels)
    elif isinstance(scheme, _posenc.ShawKeys):
        made = ShawRelative(heads, head_dim, **numbers, **options)
    elif isinstance(scheme, _posenc.TransformerXl):
        made = TransformerXLRelative(heads, head_dim, options.pop("channels", width), **numbers, **options)
    elif isinstance(scheme, _posenc.XlNet):
        made = XLNetRelative(heads, head_dim, options.pop("channels", width), **numbers, **options)
    elif isinstance(scheme, _posenc.DecomposedHw):
        made = DecomposedRelative(heads, head_dim, (scheme.rows + 1) // 2)
    elif isinstance(scheme, _posenc.Deberta):
        made = DisentangledAttention(heads, head_dim, options.pop("channels", width), **numbers, **options)
    elif isinstance(scheme, _posenc.ContextualPosition):
        made = CoPE(heads, head_dim, scheme.positions)
    elif isinstance(scheme, _posenc.ForgetGate):
        made = ForgetGate(heads, width)
    else:
        raise ValueError(
            f"[posenc.nn] {type(scheme).__name__} must have a module, but has none: posenc.torch.attend takes it"
        )
    return made


class _Norm(nn.Module):
    """Norm of q or k, of a head or of all heads: rms, layer or l2."""

    def __init__(self, norm: _posenc.QkNorm, heads: int, head_dim: int, weighted: bool, epsilon: float) -> None:
        super().__init__()
        self.of = Norm(norm.replace(weighted=weighted), epsilon=epsilon)
        size = head_dim if norm.over == "head" else heads * head_dim
        self.weight = nn.Parameter(torch.ones(size)) if weighted else None

    def forward(self, x: Tensor, backend: str = "auto") -> Tensor:
        """x: [batch, heads, tokens, head_dim]."""
        return normalise(x, self.of, weight=self.weight, backend="composed" if backend == "composed" else "auto")


class Attention(nn.Module):
    """Attention of hidden states [batch, tokens, width] by a LayerPlan: its schemes, mask, scale, caps, sinks, GQA.

    bias: of the projections of q, k and v, all or each: True, False, or "qv" for those named. out: whether there is an
    output projection (o_proj), and out_bias its bias. memory_width: of what keys and values are made of in cross
    attention. terms: modules of the score terms, one for each; else they are made, with `term_options` (keyword arguments
    of the first one's class). learned_frequencies: inv_freq of the rotations are parameters. backend: as
    posenc.torch.attend has it.

    Its state dict has q_proj, k_proj, v_proj, o_proj, terms.N, value_term, sinks, inv_freq.N; load_state_dict knows the
    published names too (published.py): T5, BERT, DeBERTa, GPT-2, OPT, BLOOM, Whisper, Transformer-XL.
    """

    def __init__(
        self,
        layer: _posenc.LayerPlan,
        width: int | None = None,
        *,
        bias: bool | str = False,
        out: bool = True,
        out_bias: bool = False,
        memory_width: int | None = None,
        terms: list[SchemeModule] | None = None,
        term_options: dict[str, Any] | None = None,
        learned_frequencies: bool = False,
        norm_epsilon: float = 1e-6,
        backend: str = "auto",
    ) -> None:
        super().__init__()
        self.layer, self.backend = layer, backend
        heads, kv_heads, head_dim, value_dim = layer.heads, layer.kv_heads, layer.head_dim, layer.value_dim
        self.heads, self.kv_heads = int(heads), int(kv_heads)  # a graph cannot look into the plan
        self.width = heads * head_dim if width is None else width
        memory = self.width if memory_width is None else memory_width
        has = {name: bias is True or (isinstance(bias, str) and name in bias) for name in "qkv"}
        self.q_proj = nn.Linear(self.width, heads * head_dim, bias=has["q"])
        self.k_proj = nn.Linear(memory, kv_heads * head_dim, bias=has["k"])
        self.v_proj = nn.Linear(memory, kv_heads * value_dim, bias=has["v"])
        self.o_proj = nn.Linear(heads * value_dim, self.width, bias=out_bias) if out else None
        if terms is None:
            first = dict(term_options or {})
            made = [
                term_module(one, layer, self.width, **(first if place == 0 else {}))
                for place, one in enumerate(layer.score)
            ]
        else:
            made = list(terms)
            if [term.scheme for term in made] != list(layer.score):
                raise ValueError(f"[Attention] terms must be of the layer's score, {layer.score!r}, in order")
        self.terms = nn.ModuleList(made)
        value = layer.value if isinstance(layer.value, _posenc.ShawValues) else None
        self.value_term = None
        if value is not None:
            self.value_term = ShawRelativeValues(heads, value_dim, value.left, value.right, sinusoidal=value.sinusoidal)
        self.sinks = nn.Parameter(torch.zeros(heads)) if layer.sinks else None
        self._rotations = [Rotation(one) for one in layer.rotate if one.role == "main"]
        self.inv_freq = None
        if learned_frequencies:
            of = [torch.tensor(one.inv_freq) for one in self._rotations]
            self.inv_freq = nn.ParameterList(nn.Parameter(f) for f in of)
        norm = layer.qk_norm
        self.q_norm = self.k_norm = None
        if norm is not None:
            if norm.of == "queries_and_keys":
                self.q_norm = _Norm(norm, heads, head_dim, norm.weighted and norm.weighted_queries, norm_epsilon)
            self.k_norm = _Norm(norm, kv_heads, head_dim, norm.weighted, norm_epsilon)
        self._norm_follows = norm is not None and norm.order == "after" and bool(self._rotations)
        rows = max([1, *(term.rows for term in made if isinstance(term, DisentangledAttention))])
        self._attend = Attends(layer, self.tables(torch.ones(()).expand(rows, self.width)))

    def _load_from_state_dict(self, state: dict[str, Tensor], prefix: str, *others: Any, **more: Any) -> None:
        renamed(self, state, prefix)
        super()._load_from_state_dict(state, prefix, *others, **more)

    def tables(self, rel_embeddings: Tensor | None = None) -> dict[str, Any]:
        """Learned tables, as posenc.torch.Layer takes them."""
        shared = {"rel_embeddings": rel_embeddings, "k_proj": self.k_proj, "q_proj": self.q_proj}
        of = [term.tables(**shared) for term in self.terms]  # type: ignore[operator]
        out: dict[str, Any] = {}
        if any(one is not None for one in of):
            out["score_weights"] = of
        if self.value_term is not None:
            out |= self.value_term.weights()
        if self.sinks is not None:
            out["sinks"] = self.sinks
        if self.inv_freq is not None:
            out["inv_freq"] = list(self.inv_freq)
        return out

    def _heads(self, x: Tensor, heads: int) -> Tensor:
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)

    def _place_and_norm(self, q: Tensor, k: Tensor, given: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Of a norm that follows the rotation: both are done here, and attend is told."""
        names = ("q_positions", "k_positions", "q_order", "k_order", "cu_seqlens_q", "cu_seqlens_k")
        axes = max(one.axes for one in self._rotations)
        rows = rows_of(axes, q.shape[0], q.shape[2], k.shape[2], q.device, {n: given.get(n) for n in names})
        learned = list(self.inv_freq) if self.inv_freq is not None else [None] * len(self._rotations)
        of = [one.frequencies(given.get("length"), f, q.device) for one, f in zip(self._rotations, learned)]
        q, k = rotated(self._rotations, q, rows.q.at, of), rotated(self._rotations, k, rows.k.at, of)
        given |= {"q_rotated": True, "k_rotated": True}
        return self._normed(q, k)

    def _normed(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        of = ((q, self.q_norm), (k, self.k_norm))
        q, k = (x if norm is None else norm(x, self.backend) for x, norm in of)
        return q, k

    def forward(
        self,
        hidden: Tensor,
        memory: Tensor | None = None,
        *,
        cache: KVCache | None = None,
        rel_embeddings: Tensor | None = None,
        **given: Any,
    ) -> Tensor:
        """hidden [batch, tokens, width]; memory: what keys and values are made of, else hidden. cache: the keys before,
        to which those of this call are added. rel_embeddings: DeBERTa's shared table. given: attn_mask, bias,
        q_positions and all else as posenc.torch.attend has them. Returns [batch, tokens, width]."""
        source = hidden if memory is None else memory
        q = self._heads(self.q_proj(hidden), self.heads)
        k, v = (self._heads(of(source), self.kv_heads) for of in (self.k_proj, self.v_proj))
        if not self._norm_follows:
            q, k = self._normed(q, k)
        if cache is not None:
            k, v = cache.append("k", k, 2), cache.append("v", v, 2)
        for term in self.terms:
            if isinstance(term, ForgetGate) and "log_forget" not in given:
                gates = term.log_forget(source).unflatten(0, (source.shape[0], -1))
                gates = gates if cache is None else cache.append("log_forget", gates, 1)
                given["log_forget"] = gates.flatten(0, 1)
        if self._norm_follows:
            q, k = self._place_and_norm(q, k, given)
        out = self._attend(q, k, v, self.tables(rel_embeddings), backend=self.backend, **given)
        out = out.transpose(1, 2).flatten(2)
        return out if self.o_proj is None else self.o_proj(out)

    def extra_repr(self) -> str:
        layer = self.layer
        parts = [f"heads={layer.heads}", f"kv_heads={layer.kv_heads}", f"head_dim={layer.head_dim}"]
        parts += [f"mask={layer.mask.kind}", f"softmax_scale={layer.softmax_scale:.4g}"]
        parts += [repr(one.scheme) for one in layer.rotate if one.role == "main"]
        return ", ".join(parts)
