"""posenc.distributed over ranks of gloo: every scheme, mask, packing and mode against float64 on one rank, to the bit from
run to run; bytes as the formula says; mutants; errors on all ranks; a rank that is gone; decode over a sharded cache.

POSENC_WHOLE=1 (ctest -C slow -R distributed.whole) has every scheme under every arrangement in each mode on 4 ranks, and 8.
"""

from __future__ import annotations

import itertools
import math
import os
import pathlib
import re
import subprocess
import sys
import types
from dataclasses import replace

import pytest
import torch

import posenc
import scheme_cases
from ranks.pool import PATIENCE, Pool
from ranks.calls import Dealt
from ranks.traced import fake_ranks, model_on_cuda, on_cuda  # noqa: F401
from posenc import _rotary_modules
from posenc.distributed import _attend, _parts, _schedule
from scheme_bounds import bound_of
from scheme_cases import CASES

WHOLE = os.environ.get("POSENC_WHOLE") == "1"
UNIT = 2.0**-24
M, W = posenc.Mask, posenc.Window
ARRANGEMENTS = {
    "packed": {"mask": M(kind="causal"), "ends": [0, 13, 13, 14, 40]},
    "window": {"mask": M(kind="causal", window=W(past=5)), "places": "scattered"},
    "both ways": {"mask": M(kind="bidirectional"), "ends": [0, 25, 40], "places": "scattered"},
    "batch": {"mask": M(kind="causal"), "batch": 2, "tokens": 23},
    "prefix": {"mask": M(kind="prefix"), "prefix": 9},
    "chunks": {"mask": M(kind="causal", chunk=11)},
    "far window": {"mask": M(kind="bidirectional", window=W(past=3, future=4)), "batch": 2},
}
DEALINGS = ("zigzag", "contiguous", "striped", "balanced")


@pytest.fixture(scope="module")
def pool():
    ranks = Pool(4)
    yield ranks
    ranks.close()


@pytest.fixture
def eight():
    ranks = Pool(8)
    yield ranks
    ranks.close()


def fits(of: Dealt) -> bool:
    case = CASES[of.case]
    if not case.kernel and of.backend != "composed":
        return False
    if case.side and max(of.tokens, of.keys) > case.side and of.places == "by order":
        return False
    if of.mode in ("all_gather", "ulysses"):
        return True
    return not _parts.sums_along_keys(case.layer) or of.dealing in ("zigzag", "contiguous")


# ---- the truth ----


KEPT = {}  # the truth of a call is the same however it is dealt


def gradients(of: Dealt, call, moved=None):
    """Output, lse and gradients by operations of torch in float64, of numbers that may have moved a little."""
    dealt_alike = replace(of, dealing="", mode="", ranks=0, ulysses_ranks=0, backend="")
    key = repr(dealt_alike), moved
    if key not in KEPT:
        KEPT[key] = made_by_one(of, call, moved)
    return KEPT[key]


def made_by_one(of: Dealt, call, moved):
    attend, tensors, names = scheme_cases.function_of(call)
    if moved is not None:
        random = torch.Generator().manual_seed(moved)
        for x in tensors:
            x.data *= 1 + 2.0**-20 * torch.randn(x.shape, generator=random, dtype=torch.float64).sign()
    out, lse = attend(*tensors)
    d_out, d_lse = of.d_out(call)
    seen = torch.where(lse.isfinite(), lse, 0.0)
    made = torch.autograd.grad((out * d_out).sum() + (seen * d_lse).sum(), tensors, allow_unused=True)
    return out.detach(), lse.detach(), dict(zip(names, made))


def check(of: Dealt, results) -> float:
    """The largest error by its bound."""
    call = of.call()
    out, lse, wanted = gradients(of, call)
    got = results[0]
    assert all(one["is same"] for one in results), of
    for rank, one in enumerate(results):
        assert one["sent"] == one["cost"], (of, rank)
    worst = errors(of, call, out, lse, wanted, got)
    assert worst <= 1, (of, worst)
    return worst


def errors(of: Dealt, call, out, lse, wanted, got) -> float:
    """tests/support/gradient_tolerances.h has the bound of gradients: roundings on the way are moves of the numbers that
    were rounded. Parts add a rounding each time that they are merged, or added."""
    stored = {"float32": 0.0, "bfloat16": 2.0**-9}[of.dtype]
    rounded = bound_of(call, UNIT) + stored * float(out.abs().max())
    finite = lse.isfinite()
    assert torch.equal(finite, got["lse"].isfinite())
    scores = max(1.0, float(lse[finite].abs().max()))
    ratios = [
        float((got["out"] - out).abs().max()) / (rounded + 2 * of.ranks * UNIT * float(out.abs().max())),
        float((got["lse"] - lse)[finite].abs().max()) / (rounded + 4 * of.ranks * UNIT * scores),
    ]
    largest = {name: 0.0 if x is None else float(x.abs().max()) for name, x in wanted.items()}
    sensitivity = dict.fromkeys(wanted, 0.0)
    for draw in range(2):
        _, _, more = gradients(of, of.call(), moved=draw)
        for name, x in more.items():
            if x is not None:
                sensitivity[name] = max(sensitivity[name], float((x - wanted[name]).abs().max()) * 2**20)
    length, channels = max(of.tokens, of.keys), scheme_cases.HEAD_DIM
    roundings = math.sqrt(channels) + math.sqrt(length) + 12 + 3 * scores + 2 * of.ranks
    for name, x in wanted.items():
        if x is None:
            continue
        bound = (roundings * UNIT + 2 * stored) * (sensitivity[name] + largest[name])
        error = float((got[name].reshape(x.shape) - x).abs().max())
        ratios.append(error / bound if bound else float(error > 0))
    return max(ratios)


# ---- every scheme ----


def cases(modes, ranks: int, turn: int = 0, backend: str = "auto", most: int = len(ARRANGEMENTS)):
    """most: arrangements of each scheme and mode, where the whole is asked for; else one."""
    kinds = list(ARRANGEMENTS)
    for n, name in enumerate(CASES):
        for m, mode in enumerate(modes):
            count = most if WHOLE else 1
            chosen = [kinds[(n + count * m + turn + more) % len(kinds)] for more in range(count)]
            for kind in chosen:
                for dealing in itertools.islice(itertools.cycle(DEALINGS), (n + m) % 4, (n + m) % 4 + 4):
                    of = Dealt(name, **{**ARRANGEMENTS[kind], "dealing": dealing, "mode": mode, "ranks": ranks, "backend": backend})
                    if CASES[name].batches_only:
                        of.batch, of.ends = 2, None
                    if CASES[name].side:
                        of.places, of.tokens = "by order" if of.places == "by order" else of.places, min(of.tokens, 16)
                        of.ends = None if of.ends is None else [0, 5, 16]
                    if fits(of):
                        yield of
                        break


def run_all(pool, listed):
    worst, names = 0.0, set()
    for of in listed:
        worst = max(worst, check(of, pool.ask("run", of, ranks=range(of.ranks))))
        names.add(of.case)
    assert worst >= 0.005  # a bound that says something
    return names


KERNEL = {name for name, case in CASES.items() if case.kernel}


def test_every_scheme_in_a_ring_of_four(pool):
    assert run_all(pool, cases(["ring"], 4)) == KERNEL


def test_every_scheme_gathered_and_with_heads_dealt(pool):
    assert run_all(pool, cases(["all_gather"], 4, turn=3)) == KERNEL
    assert run_all(pool, cases(["ulysses", "hybrid"], 4, turn=5)) == KERNEL


def test_parts_by_operations_of_torch(pool):
    """As on another device: learned slopes and frequencies too, and schemes that carry sums from part to part."""
    chosen = ("alibi learned slopes", "learned frequencies", "cope", "forget gate", "sinks", "fire", "shaw values", "xlnet")
    ringed = [of for of in cases(["ring"], 2, turn=2, backend="composed") if WHOLE or of.case in chosen]
    assert run_all(pool, ringed) >= set(chosen)
    dealt = cases(["ulysses", "hybrid"], 4, backend="composed", most=1)
    run_all(pool, [of for of in dealt if WHOLE or of.case in ("sinks", "t5", "cope")])
    for of in (
        Dealt("rope", M(kind="causal"), mode="all_gather", dtype="bfloat16", backend="composed"),
        Dealt("forget gate", M(kind="causal"), ends=[0, 13, 40], dealing="contiguous", backend="composed"),
    ):
        check(of, pool.ask("run", of))


@pytest.mark.parametrize(
    "of",
    [
        Dealt("rope", M(kind="causal"), ends=[0, 13, 13, 14, 40]),
        Dealt("sinks", M(kind="causal"), batch=2, mode="hybrid"),
        Dealt("forget gate", M(kind="causal"), ends=[0, 13, 40]),
        Dealt("distance logits", M(kind="causal"), dealing="striped"),
        Dealt("t5 gated, of an axis", M(kind="bidirectional"), mode="hybrid"),
        Dealt("xlnet", M(kind="bidirectional"), batch=2, mode="all_gather"),
        Dealt("learned frequencies", M(kind="causal", window=W(past=5))),
        Dealt("alibi", M(kind="causal"), mode="ulysses"),
        Dealt("sandwich", M(kind="bidirectional"), mode="hybrid"),
        Dealt("distance logits", M(kind="causal"), mode="ulysses"),
    ],
    ids=lambda of: of.case,
)
def test_all_of_a_call_is_where_q_is(fake_ranks, monkeypatch, of):  # noqa: F811
    made = on_cuda(of, monkeypatch)
    assert len(made) >= 5 and all(x.device.type == "cuda" for x in made)


@pytest.mark.parametrize(
    "kind, mode", [("llama", "ring"), ("mistral", "all_gather"), ("llama with alibi", "ulysses")]
)
def test_all_of_a_model_is_where_its_parameters_are(fake_ranks, monkeypatch, kind, mode):  # noqa: F811
    logits, copies = model_on_cuda(kind, mode, [0, 13, 37], monkeypatch)
    rows = len(posenc.shard(4, cu_seqlens=[0, 13, 37]).ranks[1].rows)
    assert logits.device.type == "cuda" and logits.shape[:2] == (1, rows)
    assert copies.sent >= 4 and not copies.found


@pytest.mark.parametrize(
    "rope",
    [
        scheme_cases.half(),
        scheme_cases.half(pairing="interleaved", dim=4, scaling=scheme_cases.YARN),
        scheme_cases.half(**scheme_cases.MROPE),
        scheme_cases.half(scaling=posenc.DynamicScaling(factor=2.0, max_position_embeddings=16)),
    ],
)
def test_angles_are_made_where_positions_are(rope):
    """By operations of torch as by the kernels, to a rounding of each."""
    places = torch.tensor([[0, 1, 40, 5000], [0, -3, 7, 2**31], [2, 2, 9, 100]])[: len(rope.axes.names)]
    made = _rotary_modules.cos_sin_by_torch(rope, places, 64)
    for one, wanted in zip(made, posenc.cos_sin(rope, places, length=64)):
        assert one.shape == wanted.shape
        assert float((one - torch.as_tensor(wanted)).abs().max()) <= 2.0**-22


def test_messages_need_memory_of_the_cpu(fake_ranks, monkeypatch):  # noqa: F811
    monkeypatch.setattr(torch.distributed, "get_backend_config", lambda _: "cuda:nccl")
    with pytest.raises(ValueError, match=r"group must have a backend for the CPU, .* but has cuda:nccl"):
        on_cuda(Dealt("rope", M(kind="causal")), monkeypatch)


def test_two_and_three_ranks_and_one(pool):
    names = ("rope", "cope", "forget gate", "sinks", "t5", "xpos", "shaw values", "self-extend", "xlnet", "deberta")
    for ranks in (1, 2, 3):
        listed = [of for of in cases(["ring", "ulysses"], ranks, turn=ranks) if of.case in names]
        for of in listed:
            of.ulysses_ranks = 1
        assert {of.case for of in listed} == set(names)
        run_all(pool, listed)


def test_cross_attention_and_bfloat16(pool):
    both = M(kind="bidirectional")
    for mode in ("ring", "all_gather", "ulysses", "hybrid"):
        check(of := Dealt("shaw", both, tokens=10, keys=31, mode=mode), pool.ask("run", of))
        check(
            of := Dealt("sinks", both, tokens=31, keys=9, mode=mode, ends=[0, 20, 31], key_ends=[0, 1, 9]),
            pool.ask("run", of),
        )
        check(of := Dealt("rope", M(kind="causal"), mode=mode, dtype="bfloat16"), pool.ask("run", of))


@pytest.mark.parametrize("mode", ["ring", "all_gather", "ulysses", "hybrid"])
def test_matrices_of_a_call(pool, mode):
    for of in (
        Dealt("distance logits", M(kind="causal"), mode=mode),
        Dealt("rope", M(kind="sparse"), mode=mode, dealing="striped", matrices=("attn_mask", "bias")),
        Dealt("no positions", M(kind="causal"), batch=2, tokens=7, mode=mode, matrices=("bias", "attn_mask of all queries")),
    ):
        check(of, pool.ask("run", of))


def test_a_window_leaves_ranks_out(pool):
    of = Dealt("rope", M(kind="causal", window=W(past=3)), dealing="contiguous")
    results = pool.ask("run", of)
    check(of, results)
    assert [one["sent"][0] for one in results] == [10 * 2 * (8 + 6) * 4] * 3 + [0]


class Asked(list):
    """An exchange that keeps what is asked for: whose, and how many rows. Zeros come."""

    as_message = staticmethod(torch.Tensor.contiguous)

    def send(self, *_):
        pass

    def receive(self, shape, dtype, source, tag):
        self.append((source, shape[0]))
        return types.SimpleNamespace(wait=lambda: torch.zeros(shape))


@pytest.mark.parametrize("rows, parts", [(13, 4), (8, 2), (5, 1)])  # of 3 rows or more
def test_as_much_as_a_block_is_asked_for_ahead_in_parts(rows, parts):
    sharding = posenc.shard(4, tokens=4 * rows)
    schedule, elsewhere = (
        _schedule.Schedule(sharding, sharding, M(kind="causal"), 0, 1, False, True, torch.device(device))
        for device in ("cpu", "meta")
    )
    assert len(elsewhere.forward) == 3 + parts and len(elsewhere.backward) == 1 + 3 * parts
    asked = Asked()
    call = types.SimpleNamespace(
        group=2, first=0, end=1, axis=0, gathers=False, schedule=schedule, exchange=asked, rank_of=lambda group: group
    )
    ring = _attend.Ring(call, _parts.Keys(torch.zeros(rows, 1, 1), torch.zeros(rows, 1, 1), None, None), schedule.forward)
    counts = []
    for n in range(1 + 3 * parts):
        ring.take(n)
        counts.append(len(asked))
    assert counts == [2 * min(n + parts, 3 * parts) for n in range(1 + 3 * parts)]  # keys and values
    per_part = [rows * (n + 1) // parts - rows * n // parts for n in range(parts)]
    assert asked == [(owner, count) for owner in (1, 0, 3) for count in per_part for _ in range(2)]


@pytest.mark.parametrize(
    "of",
    [
        Dealt("rope", M(kind="bidirectional")),
        Dealt("rope", M(kind="bidirectional"), dealing="contiguous"),
        Dealt("rope", M(kind="causal"), batch=2, dealing="striped"),
        Dealt("forget gate", M(kind="bidirectional"), dealing="contiguous"),
        Dealt("cope", M(kind="causal"), ends=[0, 13, 40]),
    ],
    ids=lambda of: f"{of.case} {of.dealing}",
)
def test_no_more_than_two_blocks_are_held(pool, of):
    """Of keys and values, the one that is computed with and the next; of their gradients, one that comes and one that goes."""
    for most, two in pool.ask("held", of):
        assert 0 < most["keys that come"] <= two
        assert 0 < most["gradients that come"] <= two / 2 + two / 20  # a block may have a row less than the other
        assert 0 < most["gradients that are made"] <= two / 2 + two / 20


def test_all_keys_are_held_where_they_are_gathered(pool):
    """What is counted above is there."""
    gathered = pool.ask("held", Dealt("rope", M(kind="bidirectional"), mode="all_gather"))
    assert all(most["keys that come"] > two for most, two in gathered)


def test_memory_at_its_peak_is_the_share_and_two_blocks(pool):
    """Of the process, by the kernel, of few queries. A block is what travels: keys and values; back, their gradients too, which
    is twice that in float32. Beside it is what threads need."""
    threads = 0.3
    for said in pool.ask("peaks", ranks=range(4)):
        for way in ("ring", "of a batch", "in runs"):
            assert said[way].forward <= 2 + threads and said[way].backward <= 2 * 2 + threads, said
        assert said["all_gather"].forward >= 6, said  # what is measured is there


OF_MESHES = {
    "replicated": "q must be this rank's own tensor, of .to_local(), or a DTensor of Shard(the axis of its tokens) on the mesh of q",
    "of heads": "but is a DTensor of (Shard(dim=1),)",
    "k alone": "k must be this rank's own tensor",
    "another mesh": "q must be this rank's own tensor",
    "two axes": "group must be a mesh of one dimension, such as mesh['cp'], or of two for mode 'hybrid' but is of 2",
}


def test_meshes_are_groups_and_dtensors_lie_on_them(pool):
    for said in pool.ask("by_mesh"):
        assert len(said["same"]) == 5 and all(said["same"].values()), said["same"]
        assert said["said"].keys() == OF_MESHES.keys()
        for name, text in OF_MESHES.items():
            assert text in said["said"][name], (name, said["said"][name])


PAGE = pathlib.Path(os.environ.get("POSENC_SOURCE_DIR", pathlib.Path(__file__).parents[3]))


def test_the_page_shows_what_torchrun_prints():
    text = (PAGE / "docs/distributed.md").read_text()
    command, shown = re.search(r"```console\n\$ torchrun (.*)\n((?:.*\n)*?)```", text).groups()
    for count in ("4", "1"):  # the losses of four ranks are those of one
        asked = command.replace("--nproc-per-node 4", f"--nproc-per-node {count}").split()
        run = subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", *asked],
            cwd=PAGE,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=True,
        )
        if count == "4":
            assert run.stdout == shown
        assert run.stdout.splitlines()[:5] == shown.splitlines()[:5]


@pytest.mark.skipif(not WHOLE, reason="8 ranks: ctest --preset dev -C slow -R distributed.whole")
def test_eight_ranks(eight):
    """In each mode each scheme under two arrangements, in all modes together under all of them."""
    assert run_all(eight, cases(["ring", "all_gather", "ulysses", "hybrid"], 8, most=2)) == KERNEL


# ---- mistakes ----


CAUSAL, CHUNKED = M(kind="causal"), M(kind="causal", chunk=11)
MUTANTS = [
    ("local ids", Dealt("rope", CAUSAL)),
    ("local ids", Dealt("no positions", CAUSAL, ends=[0, 13, 40])),
    ("local ids", Dealt("rope", CAUSAL, mode="hybrid")),
    ("local ids", Dealt("t5", CAUSAL, backend="composed")),
    ("ids of another rank", Dealt("t5", CAUSAL, dealing="contiguous")),
    ("ids of another rank", Dealt("rope", CAUSAL, dealing="contiguous", mode="all_gather")),
    ("window by local index", Dealt("no positions", M(kind="causal", window=W(past=5)))),
    ("window by local index", Dealt("no positions", CHUNKED, dealing="striped", backend="composed")),
    ("carry out of order", Dealt("cope", CAUSAL)),
    ("carry out of order", Dealt("forget gate", CAUSAL, dealing="contiguous")),
    ("carry out of order", Dealt("several at once", CAUSAL)),
    ("carry out of order", Dealt("cope", CAUSAL, backend="composed")),
    ("gradients of carries out of order", Dealt("cope", CAUSAL)),
    ("gradients of carries out of order", Dealt("forget gate", CAUSAL, backend="composed")),
    ("sinks twice", Dealt("sinks", CAUSAL)),
    ("sinks twice", Dealt("sinks", CAUSAL, mode="ulysses")),
    ("sinks twice", Dealt("sinks", CAUSAL, backend="composed")),
    ("gradients of sinks in each part", Dealt("sinks", CAUSAL)),
    ("slopes of other heads", Dealt("alibi", CAUSAL, mode="ulysses")),
    ("slopes of other heads", Dealt("sandwich", CAUSAL, mode="hybrid", backend="composed")),
]


@pytest.mark.parametrize("spoil, of", MUTANTS, ids=[f"{how}, {of.case} {of.mode} {of.backend}" for how, of in MUTANTS])
def test_mutants_are_caught(pool, spoil, of):
    call = of.call()
    got = pool.ask("run", of, spoil)[0]
    if not torch.equal(got["lse"].isfinite(), gradients(of, call)[1].isfinite()):
        return
    assert errors(of, call, *gradients(of, call), got) > 10


# ---- what is refused, and by whom ----

ODD = {
    "shape": "q must be of 8 tokens, 2 heads and 8 channels but is of 7, 2 and 8",
    "dtype": "k.dtype must be the same on all ranks, but is torch.bfloat16 on rank 3 and torch.float32 on rank 0",
    "plan": 'layer must be the same on all ranks, but is ..."Mask":{"kind":"bidirectional",',
    "mode": "mode must be the same on all ranks, but is all_gather on rank 3 and ring on rank 0",
    "sharding": "sharding must be the same on all ranks",
    "gradient": "whether gradients are asked for must be the same on all ranks, but is True on rank 3 and False on rank 0",
    "input": "numbers must be the same on all ranks",
    "layer": "layer must be a posenc.torch.Layer but is a str",
    "far": "positions must have distances for a table of at most 1073741824 bytes, for Sandwich where heads are dealt",
    "rows": "rows of bias must be the same on all ranks, but is one for all queries on rank 3 and one for each query on rank 0",
    "nonsense": "mode must be one of ring, all_gather, ulysses, hybrid but is 'star'",
    "device": "k must be on cpu, as q is, but is on meta",
    "numbers": "q must have numbers but is on meta",
    "backend": "backend must be the same on all ranks, but is composed on rank 3 and kernel on rank 0",
    "double": "q must be of float32, float16, bfloat16 but is of torch.float64",
    "axes": "q_positions",
    "list": "'list' object has no attribute",
    "table": "the checksum of weights must be the same on all ranks, but is score_weights.0.table ",
    "sinks": "the checksum of weights must be the same on all ranks, but is ",
    "gates": "log_forget must be finite, for sums from the start of the sequence, but is -inf",
    "gates back": "log_forget must be finite, for sums from the start of the sequence, but is nan",
    "apart": "positions must have distances for a table of at most 1073741824 bytes",
    "between": "positions must have whole distances, for a table of them",
    "collected": "x must have the 8 tokens of this rank but has 7",
    "collected dtype": "x.dtype must be the same on all ranks, but is torch.float16 on rank 3 and torch.float32 on rank 0",
    "collected shape": "the shape of x must be the same on all ranks, but is ['tokens', 1, 8] on rank 3",
}


@pytest.mark.parametrize("what", ODD)
def test_an_error_is_one_of_all_ranks(pool, what):
    said = pool.ask("refused", what)
    for rank, text in enumerate(said):
        assert ODD[what] in text, (rank, text)
    if what in ("shape", "layer", "list", "gates", "gates back", "apart", "between", "collected"):
        assert all("rank 3 refuses the call" in text for text in said[:3]) and "refuses" not in said[3]
    assert all(pool.ask("works"))  # nothing is left behind


GONE = [("killed", 2), ("stalled", 0), ("backward", 1), ("killed, connecting", 0), ("stalled, connecting", 1)]


@pytest.mark.parametrize("how, lost", GONE)
def test_a_rank_that_is_gone_is_named(how, lost):
    pool = Pool(3)
    try:
        for rank in range(3):
            pool.pipes[rank].send(("without", (lost, how, 3.0)))
        for rank in {0, 1, 2} - {lost}:
            text, named, seconds = pool.answer(rank, 60.0)
            assert named == lost and f"rank {lost} " in text and seconds < 6, (rank, text, seconds)
    finally:
        pool.close()
    assert not any(process.is_alive() for process in pool.processes)


def test_a_pool_waits_for_no_rank_that_waits_for_one_that_is_gone():
    pool = Pool(2)
    try:
        with pytest.raises(AssertionError, match="^rank 1: ended with -9$"):
            pool.ask("end_or_wait", 1)
    finally:
        pool.close()


# ---- connections of a ring ----


def test_keys_go_one_way_on_each_connection(pool):
    """Of four ranks, to those after by the connections of the group, to those before by others."""
    for rank, (first, second, others) in enumerate(pool.ask("connected", "ways", 4)):
        assert (first, second, others) == (set(range(rank + 1, 4)), set(range(rank)), set())


def test_a_group_is_connected_once_more_where_it_pays(pool):
    assert pool.ask("connected", "of_no_use", 4) == [[False] * 4] * 4


def test_what_connects_some_ranks_ends_with_their_group(pool):
    """The others do nothing meanwhile. The first time torch itself keeps what it needs for groups."""
    all_said = pool.ask("connected", "again_and_again", 0, [1, 3], 3)
    assert all_said[0] == all_said[2] == []
    for said in all_said[1::2]:
        assert [one[:3] for one in said] == [(1, True, 0)] * 3
        assert [one[3:] for one in said[1:]] == [(0, 0)] * 2


def test_where_one_rank_cannot_connect_all_hear_of_it(pool):
    said = pool.ask("connected", "without_descriptors", 4)
    for text, works in said:
        assert "rank 3 cannot connect to the others once more, for keys: " in text and works
    assert len({text for text, _ in said}) == 1


# ---- decode ----


@pytest.mark.parametrize("name", ["rope", "sinks", "alibi", "shaw", "xpos", "rope of three axes"])
def test_decode_over_a_sharded_cache(pool, name):
    tokens = 45
    results = pool.ask("decoded", name, tokens, 4)
    case = CASES[name]
    call = scheme_cases.Call(case, scheme_cases.Arrangement("decode", M(kind="causal"), 0, tokens, tokens), seed=11)
    call.q, call.k, call.v = (x.float().double() for x in (call.q, call.k, call.v))
    wanted = call.reference()
    got = results[0]["out"].double()
    assert all(one["is same"] for one in results)
    assert sum(one["held"] for one in results) == tokens and max(one["held"] for one in results) <= tokens / 4 + 4
    assert results[0]["rotates"] == name.startswith("rope")
    assert "tokens must be at most" in results[0]["full"] or tokens % 16
    bound = bound_of(call, UNIT) + 8 * UNIT * float(wanted.abs().max())
    assert float((got - wanted).abs().max()) <= bound


def test_a_cache_with_local_ids_is_caught(pool):
    right, wrong = (pool.ask("decoded", "rope", 45, 4, spoil)[0]["out"] for spoil in ("", "local ids"))
    assert float((right - wrong).abs().max()) > 0.01


def test_caches_that_ranks_deal_or_place_otherwise_are_an_error_on_all(pool):
    for said in pool.ask("differing_caches"):
        assert said["nothing"] == ""
        assert "block must be the same on all ranks" in said["blocks"]
        assert "the checksum of positions must be the same on all ranks" in said["positions"]
        assert "the checksum of q must be the same on all ranks" in said["q"]
