"""docs/training.md has a row for each scheme that there is, and what it says of a scheme is so."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
import torch

import posenc
import posenc.experiments
import posenc.nn
import posenc.torch
from posenc._graph_arguments import call_of
from scheme_cases import CASES, Arrangement, Call, values_taken

PAGE = Path(__file__).parents[3] / "docs" / "training.md"
SMALL = Arrangement("small", posenc.Mask(), batch=2, queries=4, keys=5, places="scattered")
OF_INPUT = {name for name, kind in vars(posenc).items() if name.endswith("Input") and isinstance(kind, type)} - {
    "PreparedInput"
}


def table(first):
    """The rows of the table whose first column is so called, by the scheme's name."""
    found: dict[str, list[str]] = {}
    inside = False
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == first:
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not line.startswith("| ---"):
            assert cells[0] not in found
            found[cells[0].strip("`")] = cells[1:]
    return found


def names(cell):
    return set(re.findall("`([^`]+)`", cell))


SCHEMES = table("scheme")


def schemes_of(plan):
    held = (*plan.score, plan.value, plan.query_scale, plan.regions, *(one.scheme for one in plan.rotate))
    return {type(one).__name__ for one in held if one is not None}


def calls_of(scheme):
    """Of cases that have this scheme, and no others but a rotation that it changes."""
    for case in CASES.values():
        if scheme in schemes_of(case.layer) and schemes_of(case.layer) <= {scheme, "Rope"}:
            yield Call(case, SMALL)


def without_numbers(name):
    """Of the rotation, where several rotate, and of a perceptron's layer."""
    return re.sub(r"^layers\.\d+", "layers.n", re.sub(r"^\d+\.", "", name))


def test_every_scheme_has_a_row():
    members = ("score", "regions", "value", "query_scale")
    taken = {kind.__name__ for member in members for kind in values_taken(member)}
    assert set(SCHEMES) == taken | {"Rope", "XPos"}
    assert set(table("added to embeddings")) == OF_INPUT


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_row_is_true(scheme):
    learned, on_cpu, module, experiment = SCHEMES[scheme]
    wanted: set[str] = set()
    modules: set[str] = {"RotaryEmbedding"} if scheme in ("Rope", "XPos") else set()
    by = set()
    for call in calls_of(scheme):
        layer = posenc.torch.Layer(call.plan, **{k: v for k, v in call.tables.items() if k != "inv_freq"})
        plan, keywords = call_of(layer.text, layer.weights)
        wanted |= {without_numbers(name) for name in posenc.gradient_names(plan, **keywords)} - {"sinks"}
        if not plan.sinks:
            wanted |= {name for name in ("row_gate", "log_forget", "bias") if name in call.given}
        tensors = (x.float() for x in (call.q, call.k, call.v))
        chosen = posenc.torch.backend_of(call.layer(torch.float32), *tensors, **call.given).backend
        by.add({"kernel": "kernels"}.get(chosen, chosen))
        if not module.startswith("none: "):
            made = posenc.nn.Attention(plan, width=32)
            modules |= {type(one).__name__ for one in made.modules()}
    assert names(learned) == wanted
    assert set(re.findall("kernels|composed", on_cpu)) == by
    check_module(module, modules)
    check_experiment(experiment)


def check_module(cell, made):
    if not cell.startswith("none: "):
        (name,) = names(cell)
        assert isinstance(getattr(posenc.nn, name), type) and name in made


def check_experiment(cell):
    if not cell.startswith("none: "):
        assert names(cell)
        for name in names(cell):
            assert importlib.util.find_spec(f"posenc.experiments.schemes.{name}")


@pytest.mark.parametrize("scheme", sorted(OF_INPUT))
def test_a_row_of_the_input_stage_is_true(scheme):
    learned, module, experiment = table("added to embeddings")[scheme]
    check_module(module, set(posenc.nn.__all__))
    check_experiment(experiment)
    if "by the model itself" in learned:
        with pytest.raises(ValueError, match="scheme must be learned, sinusoidal, integer, binary or axis_sines"):
            posenc.prepare_input(getattr(posenc, scheme)(), channels=8, count=8)
        return
    weights = posenc.LearnedInputWeights(positions=torch.ones(8, 8)) if scheme == "LearnedInput" else None
    assert posenc.prepare_input(getattr(posenc, scheme)(), channels=8, count=8, weights=weights)
