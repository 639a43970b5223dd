"""The name "posenc" for models that would take it and not attend by it: refused when they are made.

transformers takes any registered name for any model, and leaves it to the model's file to look attention up. Files that
do not are of two kinds. Some have a dict of their own by these names, and end in its KeyError (GPT-J, GPT-Neo, Falcon).
Others compute attention themselves, whatever the name; but their masks are made by the registered function, so that
they add True and False to scores where they count on 0 and the lowest number (BLOOM, CodeGen, ..): other logits. Some files have
both, such a dict for one kind of module and the registry for another (GIT, SAM, data2vec's vision model, DeepSeek-OCR 2).
use() has stand-ins for some, and needs no name.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from typing import Any

from transformers import PreTrainedModel

NAME = "posenc"
_DICT = re.compile(r"^[A-Z0-9_]+_ATTENTION_CLASSES$")


def asks_another(model_class: type) -> bool:
    """Whether modules of such a model take their class from a dict of the file's own by the name of attention, which has
    no "posenc"."""
    file = sys.modules.get(model_class.__module__)
    names = vars(file) if file is not None else {}
    asked = {name for of in _makes(model_class, names) for name in _names_of(of) if _DICT.match(name)}
    return any(NAME not in names[name] for name in asked if isinstance(names.get(name), dict))


def _makes(model_class: type, names: dict[str, Any]) -> set[type]:
    """The classes of its file that an object of a class is made of."""
    found, left = {model_class}, [model_class]
    while left:
        named = (names.get(name) for name in _names_of(left.pop()))
        new = {of for of in named if isinstance(of, type) and of.__module__ == model_class.__module__} - found
        found |= new
        left.extend(new)
    return found


def _names_of(made: type) -> Iterator[str]:
    code = getattr(made.__init__, "__wrapped__", made.__init__)  # type: ignore[misc]
    codes = [code.__code__] if hasattr(code, "__code__") else []
    while codes:  # a comprehension is a code of its own
        one = codes.pop()
        yield from one.co_names
        codes += [of for of in one.co_consts if hasattr(of, "co_names")]


def refuse_models_without_the_registry() -> None:
    """From here on ValueError where a model is made with the name, or told it, whose file looks no attention up.

    All ways to say it pass this method: a model that is made, from_pretrained, set_attn_implementation of its parts.
    Nothing else of it changes, and no other name.
    """
    original = PreTrainedModel.get_correct_attn_implementation
    if hasattr(original, "posenc_refuses"):
        return

    @functools.wraps(original)
    def checked(self: Any, requested_attention: str | None, *args: Any, **kwargs: Any) -> str:
        looks_up = requested_attention != NAME or type(self)._can_set_attn_implementation()
        if not looks_up or (requested_attention == NAME and asks_another(type(self))):
            raise ValueError(
                f"[posenc] attn_implementation must be another than {NAME!r} for {type(self).__name__}, which computes "
                "attention itself and looks up none by its name: make it with 'eager', and run it within "
                "posenc.transformers.use(model)"
            )
        return original(self, requested_attention, *args, **kwargs)

    checked.posenc_refuses = True  # type: ignore[attr-defined]
    PreTrainedModel.get_correct_attn_implementation = checked  # type: ignore[method-assign]
