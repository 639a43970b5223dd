"""Every case of bench/python once, on tiny shapes: its candidates compute one thing, so that what it times can be
compared, and its table and its JSON come out. Compiled functions run as they are written: what a compiler makes of them
is torch's."""

import json
import math
import os
import pathlib
import runpy
import sys

import bounds
import pytest
import torch

BENCH = pathlib.Path(os.environ["POSENC_SOURCE_DIR"]) / "bench/python"
TINY = ["--tokens", "24", "--keys", "40", "--rounds", "2"]

sys.path.insert(0, str(BENCH))
bench = runpy.run_path(str(BENCH / "__main__.py"), run_name="bench")
CASES = {case.name: case for case in bench["cases"](bench["arguments"](TINY))}


@pytest.fixture(autouse=True)
def uncompiled():
    with torch.compiler.set_stance("force_eager"):
        yield
    torch.compiler.reset()


def bound_of(name):
    """Numbers drawn stay below 6, biases below 40, heads of 128 below 18 in length."""
    if name.startswith(("rotate/", "calls/rotate/", "calls/operators")):
        return bounds.rotated(6.0)
    if name.startswith("input/"):
        # Angles up to 26, made in float of a frequency of e ln(1e4) + 2 roundings and a product; a sine within 1 ulp;
        # on either side a sum below 8.
        return (26 * (math.log(1e4) + 3) + 2 + 2 * 8) * 2.0**-24
    heads = torch.full((1, 40, 128), 18 / math.sqrt(128))
    if name.startswith("training/"):
        return bounds.attended_gradient(heads, heads, heads, heads, 1 / math.sqrt(128), 40.0)
    return bounds.attended(heads, heads, torch.tensor(6.0), 1 / math.sqrt(128), 40.0)


@pytest.mark.parametrize("name", CASES)
def test_candidates_agree(name):
    candidates = [candidate for candidate in CASES[name].make() if not candidate.is_floor]
    assert len(candidates) > 1
    assert candidates[0].is_ours
    results = [torch.as_tensor(candidate.run()).float().flatten() for candidate in candidates]
    for candidate, result in zip(candidates, results, strict=True):
        assert result.shape == results[0].shape, candidate.name
        assert bool(result.isfinite().all()), candidate.name
        # Of bfloat16 it is enough that they run: the code is that of float32.
        if "bf16" not in name:
            assert float((result - results[0]).abs().max()) <= bound_of(name), candidate.name


def test_what_is_printed_and_written(tmp_path, capsys):
    out = tmp_path / "speed.json"
    bench["main"]([*TINY, "rotate/f32", "--json", str(out)])
    table = capsys.readouterr().out.strip().splitlines()
    assert table[0] == "| rotate/f32/24 | ms | time over posenc | time over posenc in place | MiB |"
    (case,) = json.loads(out.read_text())["cases"]
    assert [row["name"] for row in case["candidates"]] == [line.split(" | ")[0][2:] for line in table[2:]]
    assert all(len(row["seconds"]) == 2 and min(row["seconds"]) > 0 for row in case["candidates"])


def test_what_is_chosen(capsys):
    bench["main"]([*TINY, "--list", "decode/none", "calls"])
    names = capsys.readouterr().out.split()
    assert names == [name for name in CASES if name.startswith(("decode/none", "calls"))]
    assert names
