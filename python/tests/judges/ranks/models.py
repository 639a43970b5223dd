"""Tiny models of transformers, in float64 and float32 on one rank and in use over ranks: logits, losses, gradients."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn

import posenc
import posenc.distributed as pd
from posenc.distributed import _context_parallel

WORDS = 50
SIZES: dict[str, Any] = dict(
    vocab_size=WORDS, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=128,
)  # fmt: skip


def make(kind: str) -> Any:
    import transformers

    config: Any = {
        "llama": lambda: transformers.LlamaConfig(**SIZES),
        "mistral": lambda: transformers.MistralConfig(**SIZES, sliding_window=5),
        "dynamic": lambda: transformers.LlamaConfig(
            **SIZES | {"max_position_embeddings": 16},
            rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4},
        ),
        "mamba": lambda: transformers.MambaConfig(vocab_size=WORDS, hidden_size=32, num_hidden_layers=1),
        "t5": lambda: transformers.T5Config(d_model=32, num_layers=1, num_heads=2, d_kv=16, d_ff=32, vocab_size=WORDS),
    }[kind]()
    config._attn_implementation = "eager"
    torch.manual_seed(3)
    of = transformers.AutoModelForSeq2SeqLM if kind == "t5" else transformers.AutoModelForCausalLM
    return of.from_config(config).eval()


def words_of(batch: int, ends: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """[batch, tokens], and what follows each in its document, -100 after the last."""
    random = torch.Generator().manual_seed(5)
    words = torch.randint(WORDS, (batch, ends[-1]), generator=random)
    following = words.roll(-1, 1)
    following[:, [end - 1 for end in ends[1:]]] = -100
    return words, following


def loss_of(logits: torch.Tensor, following: torch.Tensor, count: int) -> torch.Tensor:
    return nn.functional.cross_entropy(logits.flatten(0, 1), following.flatten(), ignore_index=-100, reduction="sum") / count


def alone(kind: str, batch: int, ends: list[int], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """By the model's own eager attention, document by document."""
    model = make(kind).to(dtype)
    words, following = words_of(batch, ends)
    parts = [model(words[:, first:end], use_cache=False).logits for first, end in zip(ends, ends[1:]) if end > first]
    logits = torch.cat(parts, 1)
    loss = loss_of(logits, following, int((following != -100).sum()))
    loss.backward()
    gradients = {name: x.grad for name, x in model.named_parameters()}
    return {"logits": logits.detach(), "loss": loss.detach(), **gradients}


def model_over_ranks(kind: str, mode: str, batch: int, ends: list[int], dealing: Any, spoil: str = "") -> dict[str, Any]:
    model = make(kind)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    sharding = posenc.shard(ranks, dealing=dealing, cu_seqlens=ends)
    words, following = words_of(batch, ends)
    own, next_words = (pd.take(x, sharding, rank, dim=1) for x in (words, following))
    before = _context_parallel.Ranks.before_forward
    if spoil == "local ids":

        def by_index(self: Any, model: Any, args: Any, kwargs: Any) -> Any:
            args, kwargs = before(self, model, args, kwargs)
            return args, kwargs | {"position_ids": torch.arange(own.shape[1])[None]}

        _context_parallel.Ranks.before_forward = by_index  # type: ignore[method-assign]
    try:
        with pd.context_parallel(model, sharding=sharding, mode=mode, timeout=30) as changed:
            logits = model(own).logits
            again = model(own).logits
            count = (following != -100).sum()
            loss = model(own, labels=next_words, shift_labels=next_words, num_items_in_batch=count).loss
            loss.backward()
    finally:
        _context_parallel.Ranks.before_forward = before  # type: ignore[method-assign]
    for parameter in model.parameters():
        dist.all_reduce(parameter.grad)
    total = loss.detach().clone()
    dist.all_reduce(total)
    whole = pd.collect(logits.detach(), sharding, dim=1)
    gradients = {name: x.grad for name, x in model.named_parameters()}
    out = {"logits": whole, "loss": total, **gradients}
    left = [name for name, module in model.named_modules() if getattr(module, "_posenc_layer", None) is not None]
    return {"made": out, "same": torch.equal(logits, again), "changed": changed.attention, "left": left}


def refused_by_model(what: str) -> str:
    """The error of a model in use over ranks, on each of them."""
    import posenc.transformers

    ranks = dist.get_world_size()
    sharding = posenc.shard(ranks, tokens=8 * ranks)
    words = torch.zeros(1, 8, dtype=torch.int64)
    given: dict[str, Any] = {
        "labels": {"labels": words},
        "use_cache": {"use_cache": True},
        "padding": {"attention_mask": torch.tensor([[0] + [1] * 7])},
        "positions": {"position_ids": torch.arange(8)[None] + 1},
    }.get(what, {})
    model = make(what if what in ("mamba", "t5") else "llama")
    if what == "ranks":
        sharding = posenc.shard(ranks + 1, tokens=32)
    if what == "axes":
        sharding = posenc.shard(ranks, tokens=16, positions=list(range(16)))
    try:
        with pd.context_parallel(model, sharding=sharding, timeout=20):
            if what == "use":
                with posenc.transformers.use(model):
                    pass
            model(words[:, :7] if what == "tokens" else words, **given)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return "nothing"
