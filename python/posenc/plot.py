"""The pictures of `posenc plot` on axes of matplotlib.

    from posenc import plot

    plot.bias(scheme="alibi,heads=8", head=3)
    plot.wavelengths("llama-3.1-8b").figure.savefig("wavelengths.png")
    plot.scaling("model/config.json", ax=axes[0])

Each function takes the words of the command of its name (docs/cli.md), as keyword arguments, and where the command has
--model whatever names a model to read_plan. It returns the axes: those given as `ax`, or new ones of pyplot; a list
where a picture has several parts (maps side by side, dials), of which `ax` must have as many.

The numbers are the command's own: `numbers` gives them without drawing, and without matplotlib.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._command import command
from ._read_plan import Model, path_or_bytes, read_plan

__all__ = [
    "attention",
    "bias",
    "coordinates",
    "decay",
    "distance",
    "draw",
    "encoding",
    "numbers",
    "query_scale",
    "rotation",
    "scaling",
    "wavelengths",
]


def numbers(kind: str, model: Model | None = None, **words: Any) -> dict[str, Any]:
    """What `posenc plot KIND --json` prints: title, labels with their units, and all numbers; None where there is none.

    ValueError for words that the command refuses, FileError for a model that cannot be read.
    """
    options = [f"--{name.replace('_', '-')}{_value(value)}" for name, value in words.items() if _is_said(value)]
    given = None
    if model is not None:
        read_plan(model)  # which says more of what is wrong than a message can
        path, given = path_or_bytes(model)
        options.append("--model=" + ("-" if path is None else path))
    run = subprocess.run([command(), "plot", kind, *options, "--json"], input=given, capture_output=True)
    if run.returncode != 0:
        said = run.stderr.decode(errors="backslashreplace").strip().removeprefix("posenc: ")
        raise ValueError(f"[plot.{kind.replace('-', '_')}] {said or f'the command ended with {run.returncode}'}")
    found: dict[str, Any] = json.loads(run.stdout)
    return found


def _is_said(value: Any) -> bool:
    return value is not None and value is not False


def _value(value: Any) -> str:
    """A flag's value, "=32" or "=linear,yarn"; nothing where the flag says all."""
    if value is True:
        return ""
    if isinstance(value, os.PathLike):
        return "=" + os.fspath(value)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return "=" + ",".join(str(one) for one in value)
    return f"={value}"


# ---- the kinds, with the words of the command ----


def encoding(
    model: Model | None = None,
    *,
    scheme: str | None = None,
    table: str | os.PathLike[str] | None = None,
    stack: str | None = None,
    positions: int | None = None,
    start: int | None = None,
    channels: int | None = None,
    products: bool = False,
    ax: Any = None,
) -> Any:
    """What is added to embeddings, a row a position; with `products` how alike two positions are.

    scheme: "sinusoidal", "integer", "binary", "learned". table: a file of a learned table, FILE or FILE:TENSOR.
    """
    return _drawn("encoding", **locals())


def bias(
    model: Model | None = None,
    *,
    scheme: str | None = None,
    stack: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    tokens: int | None = None,
    both_ways: bool = False,
    curves: bool = False,
    ax: Any = None,
) -> Any:
    """What a scheme of the score stage adds, by query and key; with `curves` by distance, a line a head.

    scheme: "alibi,heads=8", "t5", "kerple", ... both_ways: keys in the future too.
    """
    return _drawn("bias", **locals())


def distance(*, scheme: str | None = None, tokens: int | None = None, ax: Any = None) -> Any:
    """Distance of a key from a query in RoPE. scheme: "self_extend", "rerope", "dual_chunk", "none"."""
    return _drawn("distance", **locals())


def attention(
    *, scheme: str | None = None, words: str | Sequence[str] | None = None, both_ways: bool = False, ax: Any = None
) -> Any:
    """Attention weights over a few words, without a scheme and with it: two maps. words: 2 to 20."""
    words = words if words is None or isinstance(words, str) else " ".join(words)
    return _drawn("attention", **locals())


def wavelengths(
    model: Model | None = None,
    *,
    scheme: str | None = None,
    stack: str | None = None,
    layer: int | None = None,
    rotation: int | None = None,
    length: int | None = None,
    trained: int | None = None,
    ax: Any = None,
) -> Any:
    """Wavelength of each pair, in positions, against the trained length. scheme: "rope,base=500000,dim=128"."""
    return _drawn("wavelengths", **locals())


def scaling(
    model: Model | None = None,
    *,
    scheme: str | None = None,
    stack: str | None = None,
    layer: int | None = None,
    rotation: int | None = None,
    length: int | None = None,
    rules: Sequence[str] | None = None,
    factor: float | None = None,
    original_length: int | None = None,
    ax: Any = None,
) -> Any:
    """RoPE scaling: what a rule leaves of each frequency. rules: "linear", "ntk", "yarn", "llama3", with a scheme."""
    return _drawn("scaling", **locals())


def rotation(
    model: Model | None = None,
    *,
    scheme: str | None = None,
    stack: str | None = None,
    layer: int | None = None,
    rotation: int | None = None,
    length: int | None = None,
    pairs: int | None = None,
    positions: int | None = None,
    start: int | None = None,
    step: int | None = None,
    ax: Any = None,
) -> Any:
    """Pairs of channels in the plane, rotated to several positions: a dial a pair."""
    return _drawn("rotation", **locals())


def decay(*, base: float | None = None, channels: int | None = None, tokens: int | None = None, ax: Any = None) -> Any:
    """The curves behind RoPE's long-term decay: scores by distance."""
    return _drawn("decay", **locals())


def coordinates(*, rule: str | None = None, items: str | Sequence[str] | None = None, ax: Any = None) -> Any:
    """t, h and w of tokens of text, images and videos. items: "text=3", "image=4x6", "video=3x4x4"."""
    return _drawn("coordinates", **locals())


def query_scale(
    model: Model | None = None,
    *,
    stack: str | None = None,
    layer: int | None = None,
    tokens: int | None = None,
    ax: Any = None,
) -> Any:
    """What queries are multiplied by, by position: one of each kind, or a model's."""
    return _drawn("query-scale", **locals())


def _drawn(kind: str, model: Model | None = None, *, ax: Any, **words: Any) -> Any:
    return draw(numbers(kind, model, **words), ax)


# ---- drawing ----


def draw(figure: Mapping[str, Any], ax: Any = None) -> Any:
    """What `numbers` gave, on axes of matplotlib. ImportError where matplotlib is not there."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError("posenc.plot draws with matplotlib, which is not there: pip install matplotlib") from error
    if "maps" in figure:
        return _drawn_maps(figure, _axes_for(len(figure["maps"]), ax))
    if "curves" in figure:
        return _drawn_curves(figure, _axes_for(1, ax)[0])
    return _drawn_dials(figure, _axes_for(len(figure["dials"]), ax, columns=4))


def _axes_for(count: int, ax: Any, columns: int = 8) -> list[Any]:
    """`ax` as a list of so many; new axes, side by side, where it is None."""
    if ax is None:
        from matplotlib import pyplot

        columns = min(count, columns)
        rows = math.ceil(count / columns)
        size = (6.4 if columns == 1 else 3.2 * columns, 4.8 if rows == 1 else 3.2 * rows)
        figure, grid = pyplot.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        for unused in grid.flat[count:]:
            unused.remove()
        return list(grid.flat[:count])
    given = list(ax.flat) if hasattr(ax, "flat") else list(ax) if isinstance(ax, Sequence) else [ax]
    if len(given) != count:
        raise ValueError(f"[plot.draw] ax must be {count} axes, as many as the picture has parts, but is {len(given)}")
    return given


def _title(figure: Mapping[str, Any]) -> str:
    return str(figure["title"]) + (f"\n{figure['detail']}" if figure["detail"] else "")


def _with_title(axes: list[Any], figure: Mapping[str, Any]) -> Any:
    """Above the one axes, or above all."""
    if len(axes) == 1:
        axes[0].set_title(_title(figure), fontsize="medium", wrap=True)
        return axes[0]
    axes[0].figure.suptitle(_title(figure), fontsize="medium", wrap=True)
    return axes


def _drawn_maps(figure: Mapping[str, Any], axes: list[Any]) -> Any:
    import matplotlib

    values = [[[math.nan if x is None else x for x in row] for row in one["rows"]] for one in figure["maps"]]
    seen = [x for rows in values for row in rows for x in row if math.isfinite(x)]
    least, most = min(seen, default=0.0), max(seen, default=0.0)
    if figure["least"] is not None:
        least = min(figure["least"], most)
    if least < 0.0 < most:  # colours away from zero on both sides, as many on each
        colours, most = "RdBu_r", max(-least, most)
        least = -most
    else:
        colours = "viridis"
    colour_map = matplotlib.colormaps[colours].with_extremes(bad=(0.5, 0.5, 0.5, 0.2))
    for ax, one, rows in zip(axes, figure["maps"], values):
        first_row, first_column = figure["row"].get("first", 0.0), figure["column"].get("first", 0.0)
        extent = (first_column - 0.5, first_column + len(rows[0]) - 0.5, first_row + len(rows) - 0.5, first_row - 0.5)
        image = ax.imshow(
            rows,
            vmin=least,
            vmax=most,
            cmap=colour_map,
            extent=extent,
            aspect="equal" if figure["square"] else "auto",
            interpolation="nearest",
        )
        _name_cells(ax, figure)
        if len(axes) > 1:
            ax.set_title(one["name"])
    axes[0].figure.colorbar(image, ax=axes, label=figure["value"])
    return _with_title(axes, figure)


def _name_cells(ax: Any, figure: Mapping[str, Any]) -> None:
    ax.set_ylabel(figure["row"]["label"])
    ax.set_xlabel(figure["column"]["label"])
    if "names" in figure["row"]:
        ax.set_yticks(range(len(figure["row"]["names"])), figure["row"]["names"])
    if "names" in figure["column"]:
        ax.set_xticks(range(len(figure["column"]["names"])), figure["column"]["names"], rotation=45, ha="right")


_STYLES: dict[str, dict[str, Any]] = {
    "line": {},
    "dashes": {"linestyle": "--"},
    "steps": {"drawstyle": "steps-post"},
    "dots": {"linestyle": "", "marker": "o", "markersize": 4},
}


def _drawn_curves(figure: Mapping[str, Any], ax: Any) -> Any:
    import matplotlib

    for n, curve in enumerate(figure["curves"]):
        x, y = ([math.nan if at[i] is None else at[i] for at in curve["points"]] for i in (0, 1))
        style = dict(_STYLES[curve["style"]])
        if figure["ordered"]:  # from the first to the last, dark to light
            style["color"] = matplotlib.colormaps["viridis"](0.85 * n / max(1, len(figure["curves"]) - 1))
        ax.plot(x, y, label=textwrap.fill(curve["key"] or curve["name"], 40) or None, **style)
    for mark in figure["marks"]:
        line = ax.axvline if "x" in mark else ax.axhline
        line(mark.get("x", mark.get("y")), color="0.5", linestyle=":", label=mark["name"])
    for axis, name in ((ax.xaxis, "x"), (ax.yaxis, "y")):
        scale = figure[name]
        axis.set_label_text(scale["label"])
        if scale["spacing"] == "logarithmic":
            getattr(ax, f"set_{name}scale")("log")
        getattr(ax, f"set_{name}lim")(scale["least"], scale["most"])
    if ax.get_legend_handles_labels()[1]:
        ax.legend()
    return _with_title([ax], figure)


def _drawn_dials(figure: Mapping[str, Any], axes: list[Any]) -> Any:
    import matplotlib
    from matplotlib.patches import Circle

    for ax, dial in zip(axes, figure["dials"]):
        ax.add_patch(Circle((0.0, 0.0), 1.0, fill=False, color="0.7"))
        for n, hand in enumerate(dial["hands"]):
            colour = matplotlib.colormaps["viridis"](0.85 * n / max(1, len(dial["hands"]) - 1))
            # The first channel to the right, the second upwards: a positive angle rotates counter-clockwise.
            ax.plot([0.0, hand["a"]], [0.0, hand["b"]], color=colour, marker="o", markevery=[1], label=hand["name"])
            ax.text(1.24 * hand["a"], 1.24 * hand["b"], hand["name"], ha="center", va="center")
        ax.set(xlim=(-1.45, 1.45), ylim=(-1.45, 1.45), aspect="equal")
        ax.set_axis_off()
        ax.set_title(f"{dial['name']}\n{dial['detail']}\n{dial['note']}" if len(axes) > 1 else "")
    return _with_title(axes, figure)
