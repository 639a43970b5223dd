"""posenc.experiments: a small part of each task, what should learn a task learns it, and the page has the results.

The whole takes minutes of each task: python -m posenc.experiments, docs/experiments.md.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest
import torch

os.environ.setdefault("POSENC_THREADS", "1")  # as the command has it

from posenc.experiments import Claim, Task, __main__, page, results, runs  # noqa: E402
from posenc.experiments.chart import chart  # noqa: E402
from posenc.experiments.registry import Known  # noqa: E402
from posenc.experiments.task import UNASKED  # noqa: E402

ROOT = pathlib.Path(os.environ.get("POSENC_SOURCE_DIR", pathlib.Path(__file__).parents[3]))
KNOWN = Known()
PAIRS = [(task, scheme) for task in KNOWN.tasks.values() for scheme in task.schemes]


def command(*arguments):
    return __main__.main([str(one) for one in arguments])


def batch_of(name, of, batch=64):
    return KNOWN.tasks[name].draw(torch.Generator().manual_seed(1), batch, of)


# ---- tasks draw what their files say ----


def test_recall_asks_what_was_said_since_the_map_changed():
    drawn = batch_of("recall", 128)
    asked = 0
    for tokens, targets in zip(drawn.tokens.tolist(), drawn.targets.tolist()):
        for place in range(0, 128, 2):
            if targets[place] != UNASKED:
                said = [tokens[n + 1] - 8 for n in range(max(0, place - 32), place, 2) if tokens[n] == tokens[place]]
                assert said[-1] == targets[place] == tokens[place + 1] - 8
                asked += 1
    assert asked > 64 * 4 and (drawn.targets[:, :-32] == UNASKED).all()


@pytest.mark.parametrize("test", ["as trained", "more that pass", "longer"])
def test_counting_counts(test):
    of = KNOWN.tasks["counting"].tests[test]
    drawn = batch_of("counting", of)
    for tokens, targets in zip(drawn.tokens.tolist(), drawn.targets.tolist()):
        count = None
        for token in tokens[:-1]:
            count = 0 if token == 0 else count + (token == 1)
        assert tokens[-1] == 3 and targets == [UNASKED] * of[0] + [count]
    assert set(drawn.targets[:, -1].tolist()) == set(range(11))


@pytest.mark.parametrize("blanks", [4, 8, 24])
def test_selective_copy_copies(blanks):
    drawn = batch_of("selective_copy", blanks)
    for tokens, targets in zip(drawn.tokens.tolist(), drawn.targets.tolist()):
        letters = [token for token in tokens[: 8 + blanks] if token != 8]
        assert letters == targets[-8:] and tokens[-8:] == [9, *letters[:-1]]
        assert targets[:-8] == [UNASKED] * (8 + blanks)


def test_passkey_is_said_and_asked():
    for times, asked in ((1, 1), (8, 8)):
        drawn = batch_of("passkey", (64, times))
        for tokens, targets in zip(drawn.tokens.tolist(), drawn.targets.tolist()):
            said = [n for n in range(63) if tokens[n] == 16]
            assert len(said) == times and tokens[-1] == 16
            assert {tokens[n + 1] for n in said} == {targets[-1]}
            assert [n for n in range(64) if targets[n] != UNASKED] == [*said[1:], 63] and asked == len(said)


def test_dogs_and_words_are_one_set_of_tokens_in_two_orders():
    active, passive = (batch_of("two_dogs", of) for of in ("active", "passive"))
    assert active.tokens.shape[1] == 6 and passive.tokens.shape[1] == 8
    assert (active.targets[:, [2, 5]] == torch.tensor([0, 1])).all()
    assert (passive.targets[:, [2, 7]] == torch.tensor([1, 0])).all()
    assert (active.tokens[:, 2] == active.tokens[:, 5]).all()
    order = batch_of("word_order", None)
    assert (order.tokens[:, 0] != order.tokens[:, 2]).all() and (order.targets[:, 1] == order.tokens[:, 0]).all()


# ---- runs ----


def test_each_scheme_runs_and_is_trained():
    """Two steps of each pair of the page: finite numbers, and every parameter that has a gradient."""
    for task, scheme in PAIRS:
        model, generator = task.begin(KNOWN.schemes[scheme], 1)
        drawn = task.draw(generator, 2, task.training)
        logits = model(drawn.tokens)
        torch.nn.functional.cross_entropy(logits.flatten(0, 1), drawn.targets.flatten()).backward()
        for name, x in model.named_parameters():
            assert x.grad is not None and x.grad.isfinite().all(), (task.name, scheme, name)
        for of in task.tests.values():
            tokens = task.draw(generator, 1, of).tokens
            assert model.for_length(tokens.shape[1])(tokens).isfinite().all(), (task.name, scheme)


@pytest.mark.parametrize("name", list(KNOWN.tasks))
def test_a_run_is_the_same_to_the_bit(name, monkeypatch):
    task = KNOWN.tasks[name]
    monkeypatch.setattr(type(task), "tested_tokens", 512)
    monkeypatch.setattr(type(task), "tests", dict(list(task.tests.items())[:1]))
    scheme = task.schemes[-1]
    first, again, other = (runs.result_of(runs.Run(name, scheme, seed), KNOWN, steps=3) for seed in (1, 1, 2))
    assert (first.loss, first.numbers) == (again.loss, again.numbers)
    assert first.loss != other.loss


# What a few steps teach, and to whom they do not: task, scheme, test, steps, at least, at most.
LEARNED = [
    ("two_dogs", "sinusoidal", "active", 120, 0.99, 1.0),
    ("two_dogs", "none", "active", 120, 0.5, 0.5),
    ("word_order", "rope", "who loves", 150, 0.99, 1.0),
    ("word_order", "alibi", "who loves", 150, 0.4, 0.6),
    ("recall", "fox", "64", 250, 0.9, 1.0),
    ("recall", "none", "64", 250, 0.0, 0.6),
    ("passkey", "rope", "64", 300, 0.8, 1.0),
    ("counting", "fox", "as trained", 300, 0.6, 1.0),
    ("selective_copy", "cope", "as trained", 250, 0.9, 1.0),
]


@pytest.mark.parametrize("name, scheme, test, steps, least, most", LEARNED)
def test_it_is_learned_by_what_should_learn_it(name, scheme, test, steps, least, most, monkeypatch):
    task = KNOWN.tasks[name]
    monkeypatch.setattr(type(task), "tested_tokens", 4096)
    monkeypatch.setattr(type(task), "tests", {test: task.tests[test]})
    monkeypatch.setattr(type(task), "run", Task.run)  # of the passkey the first training
    found = runs.result_of(runs.Run(name, scheme, 1), KNOWN, steps)
    assert least <= found.numbers[test] <= most


# ---- the command, its file, the page ----

QUICK = ("--only", "word_order/rope", "--seeds", "2", "--steps", "2")


def test_results_grow_and_are_not_run_again(tmp_path, capsys):
    file = tmp_path / "results.jsonl"
    assert command(*QUICK, "--results", file, "--seeds", "1") == 0
    first = file.read_text()
    file.write_text(first + first[:30])  # a run that was cut off
    assert command(*QUICK, "--results", file, "--json") == 0
    out, told = capsys.readouterr()
    assert "1 of 2 runs are in" in told and "[1/1] word_order/rope, seed 2" in told
    lines = file.read_text().splitlines()
    assert lines[0] + "\n" == first and [json.loads(line)["seed"] for line in lines] == [1, 2]
    shown = json.loads(out[out.index("{") :])["word_order"]
    assert [one["numbers"] for one in shown] == [json.loads(line)["numbers"] for line in lines]


def test_jobs_give_the_same_bits(tmp_path):
    numbers = []
    for jobs in ("1", "2"):
        file = tmp_path / f"{jobs}.jsonl"
        assert command(*QUICK, "--results", file, "--jobs", jobs) == 0
        numbers.append(sorted((one.seed, one.loss, one.numbers["who loves"]) for one in results.read(file)))
    assert numbers[0] == numbers[1] and len(numbers[0]) == 2


@pytest.mark.parametrize(
    "arguments, says",
    [
        (("--only", "recal"), "--only must be a task or TASK/SCHEME of --list but is 'recal'"),
        (("--add", "nothing.py"), "--add must be a file but nothing.py is none"),
        (("--add", __file__), "must have a SCHEME (a Scheme) or a TASK (a Task) but has neither"),
        (("--results", ROOT / "README.md"), "line 1 of"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, says, capsys):
    assert command(*arguments, *QUICK) == 2
    assert says in capsys.readouterr().err


def test_without_torch_it_says_so():
    code = (
        "import runpy, sys; sys.modules['torch'] = None; sys.argv = ['', '--list']\n"
        "runpy.run_module('posenc.experiments', run_name='__main__')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert run.stderr == "posenc.experiments: torch cannot be imported, but must be: pip install torch\n"


def block_of(page_text, name):
    (found,) = re.findall(rf"```python\n# {name}\n(.*?)```", page_text, re.DOTALL)
    return found


def test_a_scheme_and_a_task_of_the_page_are_a_file_each(tmp_path, capsys):
    text = (ROOT / "docs/experiments.md").read_text()
    for name in ("my_scheme.py", "my_task.py"):
        (tmp_path / name).write_text(block_of(text, name))
    own = ["--add", tmp_path / "my_scheme.py", "--add", tmp_path / "my_task.py"]
    mine = tmp_path / "mine.md"
    mine.write_text("# Mine\n\n<!-- experiment: before -->\n<!-- end -->\n")
    # All of the task's steps, since a page has no others.
    arguments = (*own, "--seeds", "1", "--results", tmp_path / "r.jsonl", "--page", mine)
    assert command(*arguments, "--only", "before/rope", "--only", "before/clipped") == 0
    assert "| clipped bias | " in mine.read_text() and "(mine/before.svg)" in mine.read_text()
    assert "at 16: >= 0.9 | agrees: 1 of 1 seeds |" in mine.read_text()
    assert "clipped bias" in (tmp_path / "mine/before.svg").read_text()
    assert command(*own, "--list") == 0
    assert "before: Two places before, 300 steps\n    none rope alibi clipped\n" in capsys.readouterr().out


def test_a_claim_is_decided_seed_by_seed():
    task = KNOWN.tasks["word_order"]
    made = [
        results.Result("word_order", "rope", seed, task.settings(None), {"who loves": x}, 0.0, 1.0, "")
        for seed, x in ((1, 0.9), (2, 0.4), (3, 0.8))
    ]
    table = results.Table(task, made)
    claims = {name: Claim("", "", "", holds) for name, holds in (
        ("in part: 2 of 3 seeds", lambda at: at("rope", "who loves") > 0.5),
        ("agrees: 3 of 3 seeds", lambda at: at("rope", "who loves") > 0.3),
        ("does not: 0 of 3 seeds", lambda at: at("rope", "who loves") > 0.95),
        ("not measured", lambda at: at("t5", "who loves") > 0.5),
    )}  # fmt: skip
    for says, claim in claims.items():
        assert page.verdict(claim, table) == says
    assert "| RoPE | 0.70 (0.40 .. 0.90) |" in page.markdown(table, KNOWN)
    other = [results.Result("word_order", "rope", 1, {"steps": 1}, {"who loves": 0.1}, 0.0, 1.0, "")]
    assert not results.Table(task, other).of


def test_a_chart_says_its_numbers():
    drawn = chart("A <title>", "detail", ["one"], ["64", "128"], [[[0.25, 0.75], []]])
    assert "A &lt;title&gt;" in drawn and "one: 64 0.50" in drawn and ">0.25 .. 0.75<" in drawn
    assert drawn.count("<rect x") == 1


def test_the_page_has_the_results():
    """docs/experiments.md and its pictures are what the command writes of docs/experiments/results.jsonl."""
    here = ROOT / "docs/experiments.md"
    text = here.read_text()
    found = results.read(ROOT / "docs/experiments/results.jsonl")
    wanted, pictures = page.written(text, found, KNOWN, "experiments")
    assert wanted == text
    assert {one.name for one in (ROOT / "docs/experiments").glob("*.svg")} == set(pictures)
    assert set(pictures) == {f"{name}.svg" for name in KNOWN.tasks}
    for name, picture in pictures.items():
        assert (ROOT / "docs/experiments" / name).read_text() == picture
    whole = {(task.name, scheme, seed) for task, scheme in PAIRS for seed in (1, 2, 3)}
    assert {(one.task, one.scheme, one.seed) for one in found} == whole
