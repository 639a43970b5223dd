"""The stubs say what the package does: mypy reads typed.py as it is meant."""

import pathlib
import re
import subprocess
import sys

import posenc

HERE = pathlib.Path(__file__).parent


def test_stubs_pass_a_type_checker():
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", "--no-error-summary", "--config-file="]
    result = subprocess.run([*command, str(HERE / "typed.py")], capture_output=True, text=True)
    lines = (HERE / "typed.py").read_text().splitlines()
    wrong = {number for number, line in enumerate(lines, 1) if "# wrong" in line}
    found = {int(number) for number in re.findall(r"typed\.py:(\d+): error", result.stdout)}
    assert found == wrong, result.stdout + result.stderr
    assert all("typed.py" in line for line in result.stdout.splitlines()), result.stdout


def test_every_public_name_is_documented():
    for name in dir(posenc):
        if not name.startswith("_"):
            assert getattr(posenc, name).__doc__, name
