"""posenc.report_html and report_json: what the command writes."""

import json
import os
import subprocess

import pytest

import posenc

TOOL = os.environ.get("POSENC_COMMAND", "posenc")


def test_the_page_is_the_commands():
    said = subprocess.run([TOOL, "report", "gemma-3-4b", "--length", "4096"], capture_output=True, text=True, check=True).stdout
    assert posenc.report_html("gemma-3-4b", length=4096) == said
    assert posenc.report_html(posenc.read_plan("gemma-3-4b", length=4096), length=4096) == said


def test_numbers_of_several_models():
    found = json.loads(posenc.report_json("gpt2", "t5-base"))
    assert [model["name"] for model in found["models"]] == ["gpt2", "t5-base"]
    found = json.loads(posenc.report_json("qwen3-8b", against="llama-3.1-8b"))
    assert found["comparison"]["verdict"] == "differ"


def test_bad_arguments():
    with pytest.raises(ValueError, match=r"\[report\] plans must be at least one but is none"):
        posenc.report_html()
    with pytest.raises(ValueError, match=r"length"):
        posenc.report_json("gpt2", length=0)
    with pytest.raises((TypeError, ValueError)):
        posenc.report_json("gpt2", against=3)


def test_a_study_is_the_commands():
    said = subprocess.run([TOOL, "extend", "qwen3-8b", "--to", "131072", "--json"], capture_output=True, text=True, check=True).stdout
    found, told = json.loads(posenc.study_extension("qwen3-8b", 131072)), json.loads(said)
    del found["patches"], told["patches"]  # the command knows the config
    assert found == told
    with pytest.raises(ValueError, match=r"\[study_extension\] to must be from 1 to 2\^53 tokens but is 0"):
        posenc.study_extension("qwen3-8b", 0)
