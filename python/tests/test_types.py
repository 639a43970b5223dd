"""The stubs say what the package does: mypy reads typed.py as it is meant."""

import pathlib
import re
import subprocess
import sys
import typing

import pytest

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
        value = getattr(posenc, name)
        is_alias = typing.get_origin(value) is not None  # whose words stand behind it, in _arrays.py
        if not name.startswith("_") and not is_alias:
            assert value.__doc__, name


@pytest.mark.parametrize("of", [posenc.attend, posenc.rotate, posenc.rotate_, posenc.rerotate, posenc.merge])
def test_help_shows_each_signature_once(of):
    signatures, _, prose = of.__doc__.partition("\n\n")
    lines = signatures.splitlines()
    assert len(lines) == len(set(lines)) == len(of.__nb_signature__)
    assert all(line.startswith(of.__name__ + "(") for line in lines)
    assert prose and of.__name__ + "(q" not in prose and "Overloaded" not in prose


# What stubtest says of every module of nanobind, whose functions and classes are of types of its own.
OF_NANOBIND = (
    "is not a function",
    "is inconsistent, metaclass differs",
    "is a disjoint base at runtime, but isn't marked with @disjoint_base in the stub",
    "cannot be subclassed at runtime, but isn't marked with @final in the stub",
    '__init__ is inconsistent, stub does not have *args parameter "args"',
)


def test_stubs_are_those_of_the_module():
    command = [sys.executable, "-m", "mypy.stubtest", "--concise", "posenc._posenc"]
    result = subprocess.run(command, capture_output=True, text=True)
    lines = [line for line in result.stdout.splitlines() if not line.endswith(OF_NANOBIND)]
    assert not lines and not result.stderr, result.stdout + result.stderr
    assert len(result.stdout.splitlines()) > 300  # it saw the module


def test_stubs_agree_with_themselves():
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir=/dev/null", "-m", "posenc._posenc"]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
