"""The ways in which models are run: with a KV cache, padding, packing, beams, other dtypes. Own code against posenc's.

Of each family in each mode one of these must be true: both agree; posenc refuses, by name, before the first token; or
the model's own code cannot run so. Anything else is a mistake.

Logits of float32 are held to the bound of roundings.py for the whole prompt: all modes work through the same tokens. Of
bfloat16 and float16 the model's own code is one such experiment: what it is off by from float64, with the same weights,
stands for the size of the roundings, and two runs may differ by OVER_ROUNDINGS times that, as in float32. There it is
the median token that counts: so coarse a rounding sends single tokens to another expert. Tokens that are generated must
be the same.
"""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch
import transformers
from torch import Tensor
from transformers.cache_utils import Cache, DynamicCache, EncoderDecoderCache, StaticCache

import posenc
import posenc.transformers

from . import roundings
from .composites import FIRST
from .families import BATCH, TOKENS, Family, spread

Inputs = dict[str, Tensor]

PAD = 3
NEW = 4
STEPS = [(0, 8), (8, 9), (9, 10), (10, 11)]
CHUNKS = [(0, 4), (4, 9), (9, 11)]
STATIC = [(0, 6), (6, 9), (9, 10), (10, 11)]
FIRST_TEXT = 6  # tokens of the first of two packed texts


class Impossible(Exception):
    """The model has no such mode."""


@dataclasses.dataclass(frozen=True)
class Outcome:
    what: str  # "agrees", "refused", "none": right; "differs", "fails", "late": mistakes
    detail: str = ""
    in_bounds: float = 0.0

    @property
    def is_right(self) -> bool:
        return self.what in ("agrees", "refused", "none")


# ---- what a mode runs ----


def _sequence(model: Any, inputs: Inputs) -> tuple[str, dict[str, Any]]:
    """The name of the tokens that a cache is of, and what else each call is given."""
    if not model.config.is_encoder_decoder:
        return "input_ids", {}
    read = next(value for name, value in inputs.items() if name != "decoder_input_ids")
    return "decoder_input_ids", {"encoder_outputs": model.get_encoder()(read)}


_OF_TOKENS = ("position_ids", "token_type_ids", "mm_token_type_ids")


def _of_tokens(name: str, value: Tensor, start: int, stop: int) -> Tensor:
    return value[..., start:stop] if name == "position_ids" else value[:, start:stop]


def _of_towers(inputs: Inputs, *names: str) -> Inputs:
    """What towers see, which comes with the prompt; a prompt has all of it."""
    return {key: value for key, value in inputs.items() if key not in (*names, *_OF_TOKENS)}


def _from_prompt(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same pieces, but that the first has all tokens of an image."""
    return [(0, FIRST), *((max(start, FIRST), stop) for start, stop in pieces if stop > FIRST)]


def _cached(model: Any, inputs: Inputs, pieces: list[tuple[int, int]], cache: Cache | None = None) -> Tensor:
    if "past_key_values" not in inspect.signature(model.forward).parameters:
        raise Impossible("the class has no KV cache")
    name, more = _sequence(model, inputs)
    seen = {} if more else _of_towers(inputs, name)
    found = []
    for start, stop in _from_prompt(pieces) if seen else pieces:
        given = {key: _of_tokens(key, inputs[key], start, stop) for key in (name, *_OF_TOKENS) if key in inputs}
        if start == 0:
            given |= seen
        result = model(**given, **more, past_key_values=cache, use_cache=True)
        if cache is None and result.past_key_values is None:  # some make none
            return _cached(model, inputs, pieces, DynamicCache(config=model.config.get_text_config(decoder=True)))
        cache = result.past_key_values
        found.append(result[0])
        if cache is None or int(cache.get_seq_length()) != stop:
            raise AssertionError(f"the KV cache must have {stop} tokens")
    return torch.cat(found, 1)


def _as_weights(model: Any, inputs: Inputs) -> Inputs:
    """What an encoder hears, in the dtype of the model's weights."""
    return {name: x.to(model.dtype) if x.dtype.is_floating_point else x for name, x in inputs.items()}


def whole(model: Any, inputs: Inputs) -> Tensor:
    inputs = _as_weights(model, inputs)
    return model(**inputs)[0]


def steps(model: Any, inputs: Inputs) -> Tensor:
    return _cached(model, inputs, STEPS)


def chunks(model: Any, inputs: Inputs) -> Tensor:
    return _cached(model, inputs, CHUNKS)


def static(model: Any, inputs: Inputs) -> Tensor:
    if not getattr(model, "_can_compile_fullgraph", True):
        raise Impossible("the class takes no static cache")
    cache: Cache = StaticCache(config=model.config.get_text_config(decoder=True), max_cache_len=TOKENS + 5)
    if model.config.is_encoder_decoder:
        other = StaticCache(config=model.config.get_text_config(decoder=True), max_cache_len=TOKENS)
        cache = EncoderDecoderCache(cache, other)
    return _cached(model, inputs, STATIC, cache)


def _padding(side: str) -> Tensor:
    mask = torch.ones(BATCH, TOKENS, dtype=torch.long)
    if side == "left":
        mask[0, :PAD] = 0
    else:
        mask[1, -PAD:] = 0
    return mask


def _padded(model: Any, inputs: Inputs, side: str) -> Tensor:
    if "input_ids" not in inputs:
        raise Impossible("the class pads no text")
    mask = _padding(side)
    logits = model(**inputs, attention_mask=mask)[0]
    # An encoder's padding is not in the decoder's logits.
    return logits if model.config.is_encoder_decoder else logits[mask.bool()]


def left(model: Any, inputs: Inputs) -> Tensor:
    return _padded(model, inputs, "left")


def right(model: Any, inputs: Inputs) -> Tensor:
    return _padded(model, inputs, "right")


def packed(model: Any, inputs: Inputs) -> Tensor:
    is_known = "position_ids" in inspect.signature(model.forward).parameters
    if not is_known or _of_towers(inputs, "input_ids") or "position_ids" in inputs or model.config.is_encoder_decoder:
        raise Impossible("the class takes no positions of tokens")
    places = torch.cat((torch.arange(FIRST_TEXT), torch.arange(TOKENS - FIRST_TEXT)))[None]
    return model(input_ids=inputs["input_ids"][:1], position_ids=places)[0]


def _generated(model: Any, inputs: Inputs, **how: Any) -> Tensor:
    if not model.can_generate() or "input_ids" not in inputs or "position_ids" in inputs:
        raise Impossible("the class generates no text")
    torch.manual_seed(5)
    how |= {"max_new_tokens": NEW, "min_new_tokens": NEW, "use_cache": True}
    prompt = {name: value for name, value in inputs.items() if name != "decoder_input_ids"}
    return model.generate(**prompt, attention_mask=_padding("left"), **how)


def beams(model: Any, inputs: Inputs) -> Tensor:
    return _generated(model, inputs, num_beams=3, do_sample=False)


def sampled(model: Any, inputs: Inputs) -> Tensor:
    return _generated(model, inputs, do_sample=True)


MODES: dict[str, Callable[[Any, Inputs], Tensor]] = {
    "whole": whole,
    "steps": steps,
    "chunks": chunks,
    "static": static,
    "left": left,
    "right": right,
    "packed": packed,
    "beams": beams,
    "sampled": sampled,
}
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
NAMES = (*MODES, *DTYPES, "train", "dropout")


# ---- two runs compared ----

_REFUSED = re.compile(r"\[(use|attention)\] ")


@contextlib.contextmanager
def _calls_counted(model: Any) -> Iterator[list[None]]:
    calls: list[None] = []
    handle = model.register_forward_hook(lambda *_: calls.append(None))
    try:
        yield calls
    finally:
        handle.remove()


def _under_use(model: Any, run: Callable[[], Tensor]) -> Tensor | Outcome:
    with _calls_counted(model) as calls:
        try:
            with posenc.transformers.use(model, angles="float32"):
                return run()
        except Exception as error:  # whatever a user would see
            if not _REFUSED.match(str(error)):
                return Outcome("fails", f"{type(error).__name__}: {error}")
            return Outcome("late" if calls else "refused", str(error))


def _own(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except Impossible as error:
        return Outcome("none", str(error))
    except Exception as error:
        return Outcome("none", f"its own code raises {type(error).__name__}: {str(error).splitlines()[0]}")


def _of_median_token(x: Tensor) -> float:
    return float(x.double().square().mean(-1).sqrt().median())


def _compared(
    own: Tensor, given: Tensor, bound: float, size: Callable[[Tensor], float] = roundings.rms
) -> Outcome:
    if not own.dtype.is_floating_point:
        return Outcome("agrees" if torch.equal(own, given) else "differs", "other tokens" * (not torch.equal(own, given)))
    if own.shape != given.shape:
        return Outcome("differs", f"shapes {tuple(own.shape)} and {tuple(given.shape)}")
    distance = size(given.double() - own.double())
    return Outcome("agrees" if distance <= bound else "differs", "", distance / bound)


def _judged(model: Any, inputs: Inputs, run: Callable[[Any, Inputs], Tensor], bound: float) -> Outcome:
    own = _own(lambda: run(model, inputs))
    if isinstance(own, Outcome):
        return own
    given = _under_use(model, lambda: run(model, inputs))
    return given if isinstance(given, Outcome) else _compared(own, given, bound)


def _in_dtype(family: Family, inputs: Inputs, dtype: torch.dtype) -> Outcome:
    model = family.model().to(dtype)
    own = _own(lambda: whole(model, inputs))
    if isinstance(own, Outcome):
        return own
    given = _under_use(model, lambda: whole(model, inputs))
    if isinstance(given, Outcome):
        return given
    with roundings.Doubles():
        exact = whole(model.double(), inputs)
    off = _of_median_token(own.double() - exact)
    return _compared(own, given, roundings.OVER_ROUNDINGS * off, _of_median_token)


_DROPS = re.compile(r"dropout|pdrop|jitter")
_OF_ATTENTION = ("attention_dropout", "attn_pdrop", "attention_probs_dropout_prob", "dropout_rate", "dropout")


def _with_dropout(family: Family, of_attention: float) -> Any:
    """In train(), with no dropout but that of attention."""

    def config() -> Any:
        made = family.config()
        parts = [getattr(made, name, None) for name in ("attn_config", *made.sub_configs)]
        for part in (made, *parts):
            for key, value in list(vars(part).items()) if part is not None else ():
                if _DROPS.search(key) and isinstance(value, (int, float)) and not isinstance(value, bool):
                    vars(part)[key] = of_attention if key in _OF_ATTENTION else 0.0  # some are declared to be whole
        return made

    torch.manual_seed(1)
    made = config()
    made._experts_implementation = "eager"
    of = getattr(transformers, family.head)
    make = of.from_config if family.head.startswith("Auto") else of._from_config
    model = make(made, attn_implementation=family.own).train()
    spread(model)
    return model


def _of_dropout(family: Family, inputs: Inputs, bound: float) -> Outcome:
    """What the model drops must be refused; agreement is right where it drops nothing."""
    model = _own(lambda: _with_dropout(family, 0.3))
    if isinstance(model, Outcome):
        return model

    def seeded(seed: int) -> Callable[[Any, Inputs], Tensor]:
        def run(model: Any, inputs: Inputs) -> Tensor:
            torch.manual_seed(seed)
            return whole(model, inputs)

        return run

    first, second = (seeded(seed)(model, inputs) for seed in (1, 2))
    outcome = _judged(model, inputs, seeded(1), bound)
    is_random = not torch.equal(first, second)
    return Outcome("differs", "dropout is left out") if is_random and outcome.what == "agrees" else outcome


def judge(family: Family, names: tuple[str, ...] = NAMES) -> dict[str, Outcome]:
    """By mode."""
    found: dict[str, Outcome] = {}
    with torch.no_grad():
        model, inputs = family.model(), family.inputs()
        bound = roundings.bound(lambda: whole(family.model().double(), inputs))
        for name in names:
            if name in MODES:
                found[name] = _judged(model, inputs, MODES[name], bound)
            elif name in DTYPES:
                found[name] = _in_dtype(family, inputs, DTYPES[name])
            elif name == "train":
                found[name] = _judged(_with_dropout(family, 0.0), inputs, whole, bound)
            else:
                found[name] = _of_dropout(family, inputs, bound)
    return found
