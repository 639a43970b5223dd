"""Tiny models of transformers, in float64 and float32 on one rank and in use over ranks: logits, losses, gradients.

A kind is one of `make`, or the title of a row of posenc.conformance.families; or "llama" with a scheme of posenc's beside
RoPE, which on one rank is computed by operations of torch.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn

import posenc
import posenc.distributed as pd
import posenc.torch
from posenc.conformance.families import FAMILIES
from posenc.distributed import _context_parallel
from ranks.pool import PATIENCE

WORDS = 50
SIZES: dict[str, Any] = dict(
    vocab_size=WORDS, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=128,
)  # fmt: skip


_ENCODER: dict[str, Any] = {"type_vocab_size": 2, "hidden_act": "gelu"}
_OF_AXES = {"rope_type": "default", "rope_theta": 100.0, "mrope_section": [1, 2, 1]}
_IMAGES: dict[str, Any] = dict(depth=1, embed_dim=16, hidden_size=32, num_heads=2, mlp_ratio=1)


def _term(kind: str) -> tuple[Any, dict[str, Any]]:
    """The scheme of a kind "llama with NAME", and its tables."""
    random = torch.Generator().manual_seed(7)
    draw = lambda *shape: torch.randn(shape, generator=random)
    heads, channels = SIZES["num_attention_heads"], SIZES["hidden_size"] // SIZES["num_attention_heads"]
    return {
        "alibi": lambda: (posenc.Alibi(heads=heads), {}),
        "t5": lambda: (posenc.T5Bias(buckets=8, max_distance=20), {"table": draw(8, heads)}),
        "cope": lambda: (posenc.ContextualPosition(positions=5), {"table": draw(5, channels)}),
    }[kind.partition(" with ")[2]]()


def scheme_of(kind: str, model: Any) -> tuple[posenc.Plan | None, dict[str, Any]]:
    """A plan with the scheme of the kind in each layer, and its tables as parameters; None where the kind has none."""
    if not kind.startswith("llama with "):
        return None, {}
    term, tables = _term(kind)
    plan = posenc.read_plan(model.config)
    layers = tuple(layer.replace(score=(term,)) for layer in plan.stacks[0].layers)
    learned = {name: of.to(model.dtype).requires_grad_() for name, of in tables.items()}
    return plan.replace(stacks=(plan.stacks[0].replace(layers=layers),)), learned


def attends_by(plan: posenc.Plan, tables: dict[str, Any]) -> str:
    """The name of an attention that is composed of operations of torch, causal and with the plan's scheme."""
    from transformers import AttentionInterface, AttentionMaskInterface

    def attention(module: Any, q: Any, k: Any, v: Any, mask: Any, scaling: float, **_: Any) -> Any:
        layer = plan.stacks[0].layers[module.layer_idx].replace(rotate=(), softmax_scale=scaling)
        weights = {"score_weights": [tables]} if tables else {}
        return posenc.torch.attend(posenc.torch.Layer(layer, **weights), q, k, v, backend="composed").transpose(1, 2), None

    AttentionInterface.register("composed_judge", attention)
    AttentionMaskInterface.register("composed_judge", lambda *_, **__: None)
    return "composed_judge"


def make(kind: str) -> Any:
    import transformers

    for family in FAMILIES:
        if family.title == kind and kind != "llama":
            return family.model()
    config: Any = {
        "llama": lambda: transformers.LlamaConfig(**SIZES),
        "mixtral experts": lambda: transformers.MixtralConfig(**SIZES, num_local_experts=4, output_router_logits=True),
        "roberta": lambda: transformers.RobertaConfig(**SIZES, **_ENCODER, pad_token_id=1, is_decoder=True),
        "mobilebert": lambda: transformers.MobileBertConfig(
            **SIZES, embedding_size=16, intra_bottleneck_size=32, true_hidden_size=32
        ),
        "bert": lambda: transformers.BertConfig(**SIZES, **_ENCODER),
        "qwen2_vl": lambda: transformers.Qwen2VLConfig(
            text_config=SIZES | {"bos_token_id": 1, "eos_token_id": 2, "rope_parameters": _OF_AXES}, vision_config=_IMAGES
        ),
        "mistral": lambda: transformers.MistralConfig(**SIZES, sliding_window=5),
        "dynamic": lambda: transformers.LlamaConfig(
            **SIZES | {"max_position_embeddings": 16},
            rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4},
        ),
        "mamba": lambda: transformers.MambaConfig(vocab_size=WORDS, hidden_size=32, num_hidden_layers=1),
        "t5": lambda: transformers.T5Config(d_model=32, num_layers=1, num_heads=2, d_kv=16, d_ff=32, vocab_size=WORDS),
    }[kind.partition(" with ")[0].partition(" of ")[0]]()
    config._attn_implementation = "eager"
    torch.manual_seed(3)
    auto: Any = {
        "t5": transformers.AutoModelForSeq2SeqLM,
        "mobilebert": transformers.AutoModelForMaskedLM,
        "bert": transformers.AutoModel,
        "qwen2_vl": transformers.AutoModelForImageTextToText,
        "llama of sequences": transformers.AutoModelForSequenceClassification,
    }
    return auto.get(kind, transformers.AutoModelForCausalLM).from_config(config).eval()


def words_of(model: Any, batch: int, ends: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """[batch, tokens], and what follows each in its document, -100 after the last."""
    random = torch.Generator().manual_seed(5)
    words = torch.randint(3, min(WORDS, model.get_input_embeddings().num_embeddings), (batch, ends[-1]), generator=random)
    following = words.roll(-1, 1)
    following[:, [end - 1 for end in ends[1:]]] = -100
    return words, following


def loss_of(logits: torch.Tensor, following: torch.Tensor, count: int) -> torch.Tensor:
    return nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten(), ignore_index=-100, reduction="sum") / count


def alone(kind: str, batch: int, ends: list[int], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """By the model's own eager attention, document by document."""
    model = make(kind).to(dtype)
    plan, tables = scheme_of(kind, model)
    if plan is not None:
        model.config._attn_implementation = attends_by(plan, tables)
    words, following = words_of(model, batch, ends)
    places = places_of(kind, ends)
    parts = []
    for first, end in zip(ends, ends[1:]):
        given = {} if places is None else {"position_ids": places[:, None, first:end].expand(-1, batch, -1)}
        if end > first:
            parts.append(model(words[:, first:end], use_cache=False, **given).logits)
    logits = torch.cat(parts, 1)
    loss = loss_of(logits, following, int((following != -100).sum()))
    loss.backward()
    return {"logits": logits.detach(), "loss": loss.detach(), **gradients_of(model, tables)}


def gradients_of(model: Any, tables: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Of what the loss depends on."""
    every = {**dict(model.named_parameters()), **tables}
    return {name: x.grad for name, x in every.items() if x.grad is not None}


def places_of(kind: str, ends: list[int]) -> torch.Tensor | None:
    """[3, tokens] of the documents: as an image of 3 by 4 patches between words has them, in every one."""
    if kind != "qwen2_vl":
        return None
    parts = []
    for first, end in zip(ends, ends[1:]):
        order = torch.arange(end - first)
        patch = (order - 2).clamp(0, 11)
        image = torch.stack([2 + 0 * patch, 2 + patch // 4, 2 + patch % 4])
        after = (order - 14 + 6).expand(3, -1)
        parts.append(torch.where(order < 2, order.expand(3, -1), torch.where(order < 14, image, after)))
    return torch.cat(parts, 1)


def model_over_ranks(
    kind: str,
    mode: str,
    batch: int,
    ends: list[int],
    dealing: Any,
    ranks: int,
    group: Any,
    spoil: str = "",
    backend: str = "auto",
) -> dict[str, Any]:
    model = make(kind)
    rank = dist.get_rank()
    plan, tables = scheme_of(kind, model)
    places = places_of(kind, ends)
    sharding = posenc.shard(ranks, dealing=dealing, cu_seqlens=ends, positions=places)
    words, following = words_of(model, batch, ends)
    own, next_words = (pd.take(x, sharding, rank, dim=1) for x in (words, following))
    before = _context_parallel.Ranks.before_forward
    if spoil == "local ids":

        def by_index(self: Any, model: Any, args: Any, kwargs: Any) -> Any:
            args, kwargs = before(self, model, args, kwargs)
            return args, kwargs | {"position_ids": torch.arange(own.shape[1])[None]}

        _context_parallel.Ranks.before_forward = by_index  # type: ignore[method-assign]
    try:
        how: dict[str, Any] = {"plan": plan, "weights": tables or None}
        with pd.context_parallel(model, group, sharding=sharding, mode=mode, backend=backend, timeout=PATIENCE, **how) as changed:
            logits = model(own).logits
            again = model(own).logits
            count = (following != -100).sum()
            loss = model(own, labels=next_words, shift_labels=next_words, num_items_in_batch=count).loss
            loss.backward()
    finally:
        _context_parallel.Ranks.before_forward = before  # type: ignore[method-assign]
    gradients = gradients_of(model, tables)
    for x in gradients.values():
        dist.all_reduce(x, group=group)
    total = loss.detach().clone()
    dist.all_reduce(total, group=group)
    whole = pd.collect(logits.detach(), sharding, group, dim=1)
    out = {"logits": whole, "loss": total, **gradients}
    left = [name for name, module in model.named_modules() if getattr(module, "_posenc_layer", None) is not None]
    return {"made": out, "same": torch.equal(logits, again), "changed": changed.attention, "left": left}


# The model of a case of `refused_by_model`; of others llama's.
_MODELS = {"mamba", "t5", "roberta of padding", "mobilebert", "bert", "llama of sequences", "qwen2_vl"}


def refused_by_model(what: str, ranks: int, group: Any) -> str:
    """The error of a model in use over ranks, on each of them."""
    import posenc.transformers

    sharding = posenc.shard(ranks, tokens=8 * ranks)
    words = torch.full((1, 8), 5)
    labels = {"labels": words, "shift_labels": words}
    given: dict[str, Any] = {
        "labels": {"labels": words, "num_items_in_batch": 16},
        "count": labels,
        "router": {**labels, "num_items_in_batch": 16},
        "use_cache": {"use_cache": True},
        "padding": {"attention_mask": torch.tensor([[0] + [1] * 7])},
        "positions": {"position_ids": torch.arange(8)[None] + 1},
        "loss": {**labels, "num_items_in_batch": 16},
        "qwen2_vl": {"pixel_values": torch.zeros(4, 1176), "image_grid_thw": torch.tensor([[1, 2, 2]])},
    }.get(what, {})
    model = make(what if what in _MODELS else "mixtral experts" if what == "router" else "llama")
    if what == "of one rank":
        given = {"use_cache": True} if dist.get_rank() == 1 else {}
    if what == "ranks":
        sharding = posenc.shard(ranks + 1, tokens=32)
    if what == "axes":
        sharding = posenc.shard(ranks, tokens=8 * ranks, positions=list(range(8 * ranks)))
    if what == "loss":  # a model that shifts labels itself
        model.forward = _with_a_loss_of_its_own(model.forward)
    try:
        with pd.context_parallel(model, group, sharding=sharding, timeout=PATIENCE):
            if what == "use":
                with posenc.transformers.use(model):
                    pass
            asked = {"tokens": words[:, :7], "roberta of padding": torch.ones_like(words)}.get(what, words)
            model(asked, **given)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return "nothing"


def _with_a_loss_of_its_own(forward: Any) -> Any:
    def of(*args: Any, labels: Any = None, **kwargs: Any) -> Any:
        kwargs = {name: x for name, x in kwargs.items() if name not in ("shift_labels", "num_items_in_batch")}
        out = forward(*args, **kwargs)
        if labels is not None:
            out["loss"] = loss_of(out.logits[:, :-1], labels[:, 1:], labels.numel())
        return out

    return of
