"""Pages of the API are made without a warning, and every public name has a docstring that says what a caller must know.

What a docstring must say follows from the name's signature:

- of anything: a sentence besides the signature that nanobind writes;
- of what takes arrays: their shapes, "[tokens, heads]", and which error there is;
- of what takes or gives frequencies and angles: the unit;
- of a scheme: where it is from (arXiv), or its formula.

A docstring may say that a name is as another ("rotate in place"): what the other says counts for it.
"""

import importlib.util
import inspect
import os
import pathlib
import re
import typing

import posenc
import pytest

SCRIPT = pathlib.Path(os.environ["POSENC_SOURCE_DIR"]) / "scripts/make_api_pages.py"
spec = importlib.util.spec_from_file_location("make_api_pages", SCRIPT)
make_api_pages = importlib.util.module_from_spec(spec)
spec.loader.exec_module(make_api_pages)

ARRAYS = {"q", "k", "v", "x", "query", "key", "value", "cos", "sin", "radians"}
UNITS = {
    "posenc.Rope": "radians per position",
    "posenc.wavelengths": "positions per turn",
    "posenc.table_from_angles": "radians",
    "posenc.cos_sin": "positions",
}
SHAPE = re.compile(r"\[[a-z_0-9 *+/]+(, [a-z_0-9 *+/.]+)*\]")
FORMULA = re.compile(r"[=*/^]|\[|\d \+ |- j|\(|\bbit\b")
SOURCE = re.compile(r"arXiv \d{4}\.\d{5}")


def public():
    return {
        f"{module.__name__}.{name}": getattr(module, name)
        for module in make_api_pages.modules()
        for name in make_api_pages.public_names(module)
    }


def said(value):
    """The docstring without signatures, which nanobind puts first."""
    lines = inspect.getdoc(value).splitlines() if inspect.getdoc(value) else []
    return "\n".join(line for line in lines if not re.match(r"\w+\(.*\) -> ", line)).strip()


def parameters(value):
    """Names of what a function takes, from the signature or from nanobind's first line."""
    first = (inspect.getdoc(value) or "").splitlines()[:1]
    written = re.match(r"\w+\((.*)\) -> ", first[0]) if first else None
    if written:
        return set(re.findall(r"(?:^|, )(\w+)(?=[:,=]|$)", written[1]))
    return set(inspect.signature(value).parameters) if inspect.isfunction(value) else set()


def schemes():
    """The classes that a Rope, a layer or a stack is made of."""
    text = " ".join(
        inspect.getdoc(owner.__init__) or "" for owner in (posenc.Rope, posenc.LayerPlan, posenc.Stack)
    )
    found = set()
    for name in ("scaling", "regions", "score", "value", "query_scale", "input"):
        for types in re.findall(rf"\b{name}: ([^=]*)=", text):
            found |= {word for word in re.findall(r"\b[A-Z]\w+", types) if inspect.isclass(getattr(posenc, word, None))}
    return found - {"Rope", "LayerPlan", "Stack"}


def objections(name, value, every):
    """What the docstring of a name lacks."""
    text = said(value)
    if len(text.split()) < 2:
        return ["a sentence"]
    for other in re.findall(r"\b(rotate|attend|make_table)\b", text):
        text += said(every.get(f"posenc.{other}", str)) if f"posenc.{other}" in every else ""
    lacking = []
    if parameters(value) & ARRAYS:
        lacking += [] if SHAPE.search(text) else ["shapes"]
        lacking += [] if "Error" in text else ["errors"]
    if UNITS.get(name, "") not in text:
        lacking.append(f"a unit: {UNITS[name]}")
    if name.removeprefix("posenc.") in schemes() and not (SOURCE.search(text) or FORMULA.search(text)):
        lacking.append("a source or a formula")
    return lacking


def test_every_public_name_says_what_a_caller_must_know():
    every = public()
    assert len(every) > 100
    assert len(schemes()) > 30
    found = {name: objections(name, value, every) for name, value in every.items()}
    assert {name: lacking for name, lacking in found.items() if lacking} == {}


def documented(text):
    def function(q, k=None) -> typing.Any: ...

    function.__doc__ = text
    return function


@pytest.mark.parametrize(
    "text, lacking",
    [
        (None, ["a sentence"]),
        ("function(q: typing.Any) -> typing.Any", ["a sentence"]),
        ("Rotates queries.", ["shapes", "errors"]),
        ("Rotates q, [tokens, heads, head_dim].", ["errors"]),
        ("Rotates q. ValueError for what does not fit.", ["shapes"]),
        ("Rotates q, [tokens, heads, head_dim]. ValueError for what does not fit.", []),
        ("As rotate.", []),
    ],
)
def test_what_is_not_said_is_seen(text, lacking):
    assert objections("posenc.function", documented(text), public()) == lacking


def test_units_and_sources_are_asked_for():
    assert objections("posenc.wavelengths", documented("Of q, [pairs]. ValueError."), {}) == [
        "a unit: positions per turn"
    ]

    class Alibi:
        """Penalises the distance."""

    assert objections("posenc.Alibi", Alibi, {}) == ["a source or a formula"]


def test_pages_are_made(tmp_path, capsys):
    pytest.importorskip("pdoc")
    assert make_api_pages.main(["--out", str(tmp_path)]) == 0, capsys.readouterr().err
    page = (tmp_path / "posenc.html").read_text()
    for name in public():
        module, _, word = name.rpartition(".")
        if module == "posenc":
            assert f'id="{word}"' in page, name
    assert (tmp_path / "search.js").stat().st_size > 0
