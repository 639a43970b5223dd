"""python -m posenc.conformance, and the page that has what it prints."""

import dataclasses
import io
import json
import os
import pathlib
import re
import sys

import pytest

from posenc.conformance import __main__ as command
from posenc.conformance import table, verdicts
from posenc.conformance.families import FAMILIES

PAGE = pathlib.Path(os.environ["POSENC_SOURCE_DIR"]) / "docs/conformance.md"
ROW = re.compile(
    r"^\| `(.*?)` \| (yes|NO) \| \S+ \| (?:below )?\S+ \| (?:below )?\S+ \| [a-z ]+: \S+ \|$", re.MULTILINE
)


def test_the_page_has_a_row_for_every_model():
    """And none else. judges.families has what stands in it."""
    section = PAGE.read_text().partition("## Families of transformers")[2].partition("\n## ")[0]
    assert ROW.findall(section) == [(family.title, "yes") for family in FAMILIES]
    assert f"\n\n{table.HEAD}\n| `{FAMILIES[0].title}`" in section
    assert section.endswith(f"\n\n{table.counted(FAMILIES)}\n")


def test_a_table(capsys):
    assert command.main(["--family", "llama, yarn", "--family", "t5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == table.HEAD.splitlines()
    assert [ROW.match(line)[1] for line in lines[2:4]] == ["llama, yarn", "t5"]
    assert lines[4:] == ["", table.counted(table.chosen(["llama, yarn", "t5"]))]


def test_a_row_is_printed_once_it_is_known(monkeypatch):
    """A reader at the other end of a pipe waits for no family but the next."""
    pipe = io.BytesIO()
    shown = []

    def judge(family):
        shown.append(len(ROW.findall(pipe.getvalue().decode())))
        return llama

    (llama,) = (verdicts.judge(family) for family in FAMILIES if family.title == "llama")
    monkeypatch.setattr(verdicts, "judge", judge)
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe))
    assert command.main(["--family", "llama, yarn", "--family", "t5"]) == 0
    assert shown == [0, 1]


def test_below_a_step_is_below_it():
    assert [table._below(x, (0.5, 1.0)) for x in (0.499, 0.5, 0.999, 1.0)] == ["below 0.5", "below 1", "below 1", "1"]


def test_json(capsys):
    assert command.main(["--json", "--family", "t5"]) == 0
    (t5,) = json.loads(capsys.readouterr().out)["families"]
    assert t5["family"] == t5["model_type"] == "t5" and t5["agreed"] is True
    assert 0 < t5["difference"] < t5["bound"] and t5["difference"] < t5["largest_difference"]
    assert set(t5["mistakes_in_bounds"]) == {"rows one further"}


@pytest.mark.parametrize("what", ["difference", "mistake"])
def test_the_status_says_that_something_is_wrong(monkeypatch, capsys, what):
    (llama,) = (verdicts.judge(family) for family in FAMILIES if family.title == "llama")
    wrong = {"difference": 20 * llama.bound} if what == "difference" else {"spoiled": {"nothing": 99.0}}
    monkeypatch.setattr(verdicts, "judge", lambda family: dataclasses.replace(llama, **wrong))
    assert command.main(["--family", "mistral"]) == 1
    printed = capsys.readouterr().out
    assert ("| NO |" in printed) == ("| 20 |" in printed) == (what == "difference")


def test_an_unknown_family_is_named(capsys):
    assert command.main(["--family", "lama"]) == 2
    assert "there is no family 'lama'; there are llama, " in capsys.readouterr().err
