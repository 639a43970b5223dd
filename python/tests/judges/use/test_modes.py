"""Models in all modes, by their own code and within use(): one for each class of attention modules, and each wiring.

`python -m posenc.conformance --modes` does the same for every family.
"""

import functools
import os
import pathlib

import pytest
import torch

from posenc import _replaced_methods
from posenc.conformance import __main__ as command
from posenc.conformance import modes, modes_table

PAGE = pathlib.Path(os.environ["POSENC_SOURCE_DIR"]) / "docs/conformance.md"
BY_TITLE = {family.title: family for family in modes_table.ALL}
# The registry, a soft cap and windows, sinks, complex angles, MLA, two axes, clockwise angles, an unknown class, scaled
# queries, biases of the first layer and of each, cross attention; and a class for each replaced method.
SAMPLE = ["llama", "gemma2", "gpt_oss", "llama4_text", "deepseek_v2", "qwen2_vl_text", "nanochat", "longcat_flash"]
SAMPLE += ["esm", "opt", "whisper", "t5", "umt5", "longt5", "modernbert", "llama, longrope, long"]
SAMPLE += ["gptj", "codegen", "gpt_neo", "gpt_neox_japanese", "bloom", "mpt", "falcon", "falcon, alibi", "mpnet"]
SAMPLE += ["roformer", "xlnet", "deberta", "deberta-v2"]


@functools.cache
def judged(title):
    torch.set_num_threads(1)
    return modes.judge(BY_TITLE[title])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", SAMPLE)
def test_all_modes_agree_or_are_refused(title):
    outcomes = judged(title)
    assert tuple(outcomes) == modes.NAMES
    assert not {name: outcome for name, outcome in outcomes.items() if not outcome.is_right}
    assert outcomes["whole"].what == outcomes["bf16"].what == outcomes["f16"].what == "agrees"
    assert 0 < outcomes["whole"].in_bounds < 1
    assert modes_table.row(title, outcomes) in PAGE.read_text().splitlines()


def test_the_sample_has_each_replaced_method():
    classes = {type(module).__name__ for title in SAMPLE for module in BY_TITLE[title].model().modules()}
    assert set(_replaced_methods.METHODS) <= classes


def test_the_page_has_all_families():
    lines = [line for line in PAGE.read_text().splitlines() if line.count(" | ") == len(modes.NAMES)]
    assert "\n".join(lines[:2]) == modes_table.HEAD
    assert [line.split("`")[1] for line in lines[2:]] == list(BY_TITLE)


def test_a_mode_that_is_wrong_is_seen(monkeypatch, capsys):
    """A cache that is left out, a rotation that is left out, a crash, and a refusal that comes too late."""
    llama = BY_TITLE["llama"]
    attend, counted = modes.posenc._posenc.attend, []

    def wrong(*args, **kwargs):
        return attend(*args, **{**kwargs, "attn_mask": None})

    def broken(*args, **kwargs):
        raise RuntimeError("broken")

    def late(*args, **kwargs):
        counted.append(None)
        if len(counted) > 4:  # two layers, a prefill and a step
            raise NotImplementedError("[attention] not now")
        return attend(*args, **kwargs)

    said = {}
    for stand_in in (wrong, broken, late):
        monkeypatch.setattr(modes.posenc._posenc, "attend", stand_in)
        said[stand_in.__name__] = modes.judge(llama, ("left", "steps"))
    assert said["wrong"]["left"].what == "differs" and said["wrong"]["left"].in_bounds > 100
    assert said["broken"]["left"].what == "fails" and "broken" in said["broken"]["left"].detail
    assert said["late"]["steps"].what == "late"
    monkeypatch.setattr(modes, "judge", lambda family: {name: said["broken"]["left"] for name in modes.NAMES})
    assert command.main(["--modes", "--family", "opt"]) == 1
    assert "opt, steps: fails RuntimeError: broken" in capsys.readouterr().out
