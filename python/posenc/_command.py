"""Where the command line tool is."""

import importlib.metadata
import os


def command() -> str:
    """The path of the command `posenc`: what the environment variable POSENC_COMMAND names, or what came with this
    package. FileNotFoundError where it came with none."""
    named = os.environ.get("POSENC_COMMAND")
    if named:
        return named
    try:
        files = importlib.metadata.files("posenc") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.stem == "posenc" and file.parent.name in ("bin", "Scripts"):
            return str(file.locate())
    raise FileNotFoundError(
        "this package of posenc was not installed by pip, and has no command: POSENC_COMMAND may name one"
    )
