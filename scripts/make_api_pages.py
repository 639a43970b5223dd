#!/usr/bin/env python3
"""Pages of the Python package's API, from its docstrings, with a search box; HTML that needs no server.

  PYTHONPATH=build/dev/python build/judges/bin/python3 scripts/make_api_pages.py [--out build/api]

Needs pdoc, torch and transformers, which build/judges has (python/tests/judges/requirements.txt), and posenc, installed or
in PYTHONPATH. Open OUT/posenc.html. The pages are not committed. Exits with 1 where something could not be documented.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import pathlib
import pkgutil
import sys
import types
import warnings

import posenc


def modules() -> list[types.ModuleType]:
    """posenc and its public modules."""
    names = [name for _, name, _ in pkgutil.iter_modules(posenc.__path__) if not name.startswith("_")]
    return [posenc, *(importlib.import_module(f"posenc.{name}") for name in sorted(names))]


def public_names(module: types.ModuleType) -> list[str]:
    """What a module offers: its __all__, or what stands in it and is posenc's own."""
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not inspect.ismodule(value)
        and (getattr(value, "__module__", None) or "").startswith("posenc")
    ]
    return sorted(getattr(module, "__all__", own))


def _is_worth_a_word(warning: warnings.WarningMessage) -> bool:
    # What torch and transformers say of themselves when they are imported is theirs.
    return "pdoc" in warning.filename or "posenc" in str(warning.message)


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/api"), help="(default: %(default)s)")
    out = parser.parse_args(words).out
    import pdoc  # not before the check of names, which needs none

    documented = modules()
    for module in documented:
        # Most of posenc's names come from its compiled part: pdoc takes what it is told for the module's own.
        module.__all__ = public_names(module)
    pdoc.render.configure(docformat="markdown", show_source=False, footer_text=f"posenc {posenc.__version__}")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        pdoc.pdoc(*(module.__name__ for module in documented), output_directory=out)
    worth = [str(warning.message) for warning in said if _is_worth_a_word(warning)]
    print("\n".join(worth), end="\n" if worth else "", file=sys.stderr)
    print(f"{out}/posenc.html: {sum(len(module.__all__) for module in documented)} names of {len(documented)} modules")
    return 1 if worth else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
