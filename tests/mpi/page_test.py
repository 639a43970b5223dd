"""The block of docs/distributed.md that begins with "$ mpirun" shows what the command prints.

usage: page_test.py PAGE COMMAND...
"""
import pathlib
import re
import subprocess
import sys

page, *command = sys.argv[1:]
shown = re.search(r"```console\n\$ mpirun .*\n((?:.*\n)*?)```", pathlib.Path(page).read_text())
printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=50).stdout
if shown is None or shown[1] != printed:
    sys.exit(f"the page shows\n{shown and shown[1]}\nbut the command prints\n{printed}")
