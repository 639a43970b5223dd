"""The hosted checks (.github/workflows) call what is here, and both commands of the README on both kinds of machine.

usage: hosted_checks.py SOURCE_DIR

Their syntax is held to the hosting site's own schema by `check-jsonschema --builtin-schema vendor.github-workflows`, which
is no dependency of the tests.
"""
import os
import pathlib
import re
import sys

import checkout

COMMAND = re.compile(r"(?:^|[\s&;])(\./[\w/-]+|scripts/[\w/]+)(?=\s|$)", re.MULTILINE)
COMMENT = re.compile(r"(?:^|\s)#.*$", re.MULTILINE)
WANTED = {"check.yml": ("./quickstart", "./test", "ubuntu-24.04", "ubuntu-24.04-arm", "macos"),
          "release.yml": ("scripts/release", "scripts/try_release", "scripts/release --again")}


def contract(case):
    """case: ({workflow: its text}, programs of the checkout)."""
    texts, programs = case
    complaints = []
    for name, text in texts.items():
        text = COMMENT.sub("", text)
        if "\t" in text:
            complaints.append(f"{name}: a tab, which is no indentation in YAML")
        complaints += [f"{name}: calls {command}, which is no program here" for command in COMMAND.findall(text)
                       if command.removeprefix("./") not in programs]
        complaints += [f"{name}: does not have {word}" for word in WANTED.get(name, ())
                       if not re.search(rf"(?<![\w/.]){re.escape(word)}(?![\w/])", text)]
    return complaints + [f"there is no {name}" for name in WANTED if name not in texts]


GOOD = {"check.yml": "runner: [ubuntu-24.04, ubuntu-24.04-arm]\n- run: ./quickstart\n- run: ./test\nruns-on: macos-15\n",
        "release.yml": "- run: scripts/release\n- run: scripts/try_release\n- run: scripts/release --again build\n"}
PROGRAMS = {"quickstart", "test", "scripts/release", "scripts/try_release"}
checkout.must_accept((GOOD, PROGRAMS), contract)
checkout.must_complain({
    "a program that is not there": (GOOD, PROGRAMS - {"scripts/try_release"}),
    "a check without the tests": ({**GOOD, "check.yml": GOOD["check.yml"].replace("./test", "# ./test")}, PROGRAMS),
    "one machine": ({**GOOD, "check.yml": GOOD["check.yml"].replace("-arm", "")}, PROGRAMS),
    "no workflow": ({"check.yml": GOOD["check.yml"]}, PROGRAMS),
    "a tab": ({**GOOD, "check.yml": GOOD["check.yml"] + "\t- run: ./test\n"}, PROGRAMS),
}, contract)

root = pathlib.Path(sys.argv[1])
programs = {str(path) for path in checkout.files(root) if os.access(root / path, os.X_OK)}
checkout.report(contract(({path.name: path.read_text() for path in (root / ".github/workflows").glob("*.yml")}, programs)))
