"""The name "posenc" for models that would take it and not attend by it: refused when they are made.

transformers takes any registered name for any model, and leaves it to the model's file to look attention up. Files that
do not are of two kinds. Some have a dict of their own by these names, and end in its KeyError (GPT-J, GPT-Neo, Falcon).
Others compute attention themselves, whatever the name; but their masks are made by the registered function, so that
they add True and False to scores where they count on 0 and the lowest number (BLOOM, CodeGen, ..): other logits.
use() has stand-ins for some of both, and needs no name.
"""

from __future__ import annotations

import functools
from typing import Any

from transformers import PreTrainedModel

NAME = "posenc"


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
        if requested_attention == NAME and not type(self)._can_set_attn_implementation():
            raise ValueError(
                f"[posenc] attn_implementation must be another than {NAME!r} for {type(self).__name__}, which computes "
                "attention itself and looks up none by its name: make it with 'eager', and run it within "
                "posenc.transformers.use(model)"
            )
        return original(self, requested_attention, *args, **kwargs)

    checked.posenc_refuses = True  # type: ignore[attr-defined]
    PreTrainedModel.get_correct_attn_implementation = checked  # type: ignore[method-assign]
