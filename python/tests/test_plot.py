"""Pictures on axes of matplotlib: the same numbers, labels and marks that the command draws."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

import posenc
from posenc import plot

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

CONFIG = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "max_position_embeddings": 8192,
    "rope_scaling": {"rope_type": "linear", "factor": 4.0},
}


class Config:
    def to_dict(self):
        return CONFIG


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def of_command(*words):
    run = subprocess.run([posenc.command(), "plot", *words, "--json"], capture_output=True, check=True)
    return json.loads(run.stdout)


def test_a_map_is_the_commands():
    ax = plot.bias(scheme="alibi,heads=8", head=1, tokens=3)
    expected = of_command("bias", "--scheme=alibi,heads=8", "--head=1", "--tokens=3")
    image = ax.get_images()[0].get_array()
    assert image.filled(math.nan)[2].tolist() == expected["maps"][0]["rows"][2] and image.mask[0, 1]
    assert ax.get_ylabel() == expected["row"]["label"] and ax.get_xlabel() == expected["column"]["label"]
    assert ax.get_title().startswith(expected["title"]) and expected["detail"] in ax.get_title()


def test_curves_are_the_commands():
    ax = plot.wavelengths("llama-3.1-8b")
    expected = of_command("wavelengths", "--model=llama-3.1-8b")
    assert ax.get_yscale() == expected["y"]["spacing"].removesuffix("arithmic")
    drawn = [line.get_xydata().tolist() for line in ax.get_lines()[: len(expected["curves"])]]
    assert drawn == [curve["points"] for curve in expected["curves"]]
    marks = [line.get_label() for line in ax.get_lines()[len(expected["curves"]) :]]
    assert marks == [mark["name"] for mark in expected["marks"]] and marks


def test_dials_are_the_commands():
    axes = plot.rotation(pairs=5, positions=3, step=2)
    expected = of_command("rotation", "--pairs=5", "--positions=3", "--step=2")
    assert len(axes) == 5
    for ax, dial in zip(axes, expected["dials"]):
        tips = [line.get_xydata()[1].tolist() for line in ax.get_lines()]
        assert tips == [[hand["a"], hand["b"]] for hand in dial["hands"]]
        assert [text.get_text() for text in ax.texts] == [hand["name"] for hand in dial["hands"]]


def test_every_kind_is_drawn():
    assert len(plot.attention(words=["a", "b", "a"], both_ways=True)) == 2
    for ax in (
        plot.encoding(scheme="binary", channels=6, positions=8),
        plot.encoding(products=True, positions=8),
        plot.bias(scheme="t5", curves=True, tokens=20),
        plot.distance(scheme="rerope,window=8,step=4", tokens=16),
        plot.scaling(rules=("linear", "yarn"), factor=4),
        plot.decay(channels=16, tokens=32),
        plot.coordinates(items=["text=4", "video=3x4x4"]),
        plot.query_scale(tokens=100),
    ):
        assert ax.get_title() and ax.get_xlabel() and ax.get_ylabel()
        ax.figure.canvas.draw()


def test_axes_may_be_given():
    _, axes = pyplot.subplots(1, 2)
    assert plot.decay(channels=16, tokens=32, ax=axes[0]) is axes[0] and not axes[1].has_data()
    assert plot.attention(words="a b", ax=axes) == list(axes)
    with pytest.raises(ValueError, match="ax must be 2 axes, as many as the picture has parts, but is 1"):
        plot.attention(words="a b", ax=axes[0])


def test_a_model_is_whatever_read_plan_takes(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(CONFIG))
    expected = plot.numbers("scaling", path)["curves"]
    for model in (str(tmp_path), CONFIG, Config(), path.read_bytes()):
        assert plot.numbers("scaling", model)["curves"] == expected
    with pytest.raises(posenc.FileError, match="rope_scaling"):
        plot.scaling({**CONFIG, "rope_scaling": {"rope_type": "linear", "factor": -1.0}})
    with pytest.raises(TypeError, match="model must be a path"):
        plot.scaling(7)


def test_words_that_are_refused():
    with pytest.raises(ValueError, match=r"\[plot.bias\] --scheme: expected one of .*; did you mean alibi\?"):
        plot.bias(scheme="alib")
    with pytest.raises(ValueError, match=r"\[plot.query_scale\] "):
        plot.query_scale("llama-3.1-8b")


def test_matplotlib_is_asked_for_by_name(monkeypatch):
    numbers = plot.numbers("decay", channels=16, tokens=32)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="pip install matplotlib"):
        plot.draw(numbers)
    assert np.isfinite([point for curve in numbers["curves"] for point in curve["points"]]).all()
