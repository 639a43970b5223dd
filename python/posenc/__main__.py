"""The command line: `python -m posenc` is `posenc`."""

import os
import sys

from ._command import command


def main() -> None:
    program = command()
    os.execv(program, [program, *sys.argv[1:]])


main()
