"""Where posenc.command() looks: what POSENC_COMMAND names, else among the files that pip has put beside the package."""

import importlib.metadata
import pathlib
import types

import posenc
import pytest

ROOT = pathlib.Path("/opt/environment/lib/site-packages")


@pytest.fixture
def installed(monkeypatch):
    """A function: these are the package's files."""
    monkeypatch.delenv("POSENC_COMMAND", raising=False)

    def of(*names):
        files = [importlib.metadata.PackagePath(name) for name in names]
        for file in files:
            file.dist = types.SimpleNamespace(locate_file=ROOT.joinpath)
        monkeypatch.setattr(importlib.metadata, "files", lambda package: files)

    return of


def test_the_environment_comes_first(monkeypatch, installed):
    installed("../../bin/posenc")
    monkeypatch.setenv("POSENC_COMMAND", "/elsewhere/posenc")
    assert posenc.command() == "/elsewhere/posenc"


@pytest.mark.parametrize("place", ["../../bin/posenc", "../../Scripts/posenc.exe"])
def test_it_is_the_program_of_that_name(installed, place):
    installed("posenc/__init__.py", "../../bin/another", "posenc/lib/posenc.so", place, "../../bin/last")
    assert posenc.command() == str(ROOT / place)


def test_none_is_refused(installed):
    for files in [(), ("posenc/__init__.py", "posenc/lib/posenc.so", "../../bin/another")]:
        installed(*files)
        with pytest.raises(FileNotFoundError, match="POSENC_COMMAND may name one"):
            posenc.command()


def test_a_package_that_pip_does_not_know_is_refused(monkeypatch, installed):
    installed()

    def unknown(package):
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(importlib.metadata, "files", unknown)
    with pytest.raises(FileNotFoundError):
        posenc.command()
