"""Small experiments on position encodings that a paper would make: seeded, of minutes each on a CPU, with their page.

    python -m posenc.experiments --list
    python -m posenc.experiments --only "recall/alibi" --seeds 3 --results mine.jsonl
    python -m posenc.experiments --add my_scheme.py --only "*/mine"

A scheme is a file of schemes/, a task one of tasks/; --add takes one of the user's own. A task says in its file what
papers say of it, as conditions that are measured. docs/experiments.md is written of the results (page.py).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .scheme import Scheme as Scheme, Sizes as Sizes
    from .task import Batch as Batch, Claim as Claim, Task as Task

_NAMES = ("Batch", "Claim", "Scheme", "Sizes", "Task")


def __getattr__(name: str) -> Any:
    """They need torch, which the command says where it is not there."""
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import scheme, task

    return getattr(scheme if hasattr(scheme, name) else task, name)
