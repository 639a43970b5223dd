"""Every file of ours is compiled so that a * b + c rounds twice, and without licence to reorder arithmetic.

usage: fp_contract.py SOURCE_DIR COMPILE_COMMANDS
"""
import json
import pathlib
import shlex
import sys

import checkout

LICENCE = {"-ffast-math", "-Ofast", "-funsafe-math-optimizations", "-fassociative-math", "-freciprocal-math",
           "-ffinite-math-only", "-fno-signed-zeros", "-fexcess-precision=fast"}
# Compiled with contraction on purpose, to show that fp_contract_test can see it.
CONTROL = "tests/contract/contracted.cpp"


def contract(commands):
    """commands: {path: arguments}."""
    complaints = []
    for path, arguments in commands.items():
        rules = [word for word in arguments if word.startswith("-ffp-contract=")]
        if rules[-1:] != ["-ffp-contract=off"]:
            complaints.append(f"{path}: compiled without -ffp-contract=off")
        complaints += [f"{path}: compiled with {word}" for word in arguments if word in LICENCE]
    return complaints


checkout.must_complain({
    "a file without the option": {"a.cpp": ["g++", "-O2", "-c"]},
    "a file that takes it back": {"a.cpp": ["g++", "-ffp-contract=off", "-ffp-contract=fast"]},
    "a file with -ffast-math": {"a.cpp": ["g++", "-ffast-math", "-ffp-contract=off"]},
}, contract)
checkout.must_accept({"a.cpp": ["g++", "-O2", "-ffp-contract=off", "-c"]}, contract)

root = pathlib.Path(sys.argv[1]).resolve()
ours = {}
for entry in json.loads(pathlib.Path(sys.argv[2]).read_text()):
    path = (pathlib.Path(entry["directory"]) / entry["file"]).resolve()
    if path.is_relative_to(root) and "site-packages" not in path.parts:  # a package's own sources are not ours
        ours[str(path.relative_to(root))] = shlex.split(entry["command"])
if ours.pop(CONTROL, None) is None:
    sys.exit(f"{CONTROL} is not compiled: is this the right compile_commands.json?")
print(f"{len(ours)} files")
checkout.report(contract(ours))
