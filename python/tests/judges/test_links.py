"""posenc.distributed over links of a known bandwidth and delay (bench/overlap/links.py): right results, a rank that is
killed is named, and nothing is left of processes and namespaces, also where the test itself is killed."""

from __future__ import annotations

import os
import pathlib
import pickle
import signal
import subprocess
import sys
import time

import pytest

import posenc
from ranks import linked
from ranks.calls import Dealt
from test_distributed import check



links = linked.links
PROGRAM = str(pathlib.Path(linked.__file__))
MARK = "POSENC_LINKS"

pytestmark = pytest.mark.skipif(bool(links.lacks()), reason=f"no network namespaces: {links.lacks()}")


def processes_of(mark: str) -> dict[int, str]:
    """Those that have the mark in their environment, and the network namespace of each."""
    found = {}
    for folder in pathlib.Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found[int(folder.name)] = os.readlink(folder / "ns/net")
        except OSError:  # it has just ended
            continue
    return found


def outside() -> tuple[list[str], list[str]]:
    """Of this namespace: devices, and named namespaces."""
    names = pathlib.Path("/run/netns")
    return sorted(os.listdir("/sys/class/net")), sorted(os.listdir(names)) if names.exists() else []


@pytest.fixture(scope="module")
def said():
    mark, before = str(time.monotonic_ns()), outside()
    asked = [
        Dealt("rope", posenc.Mask(kind="causal"), ranks=3),
        Dealt("cope", posenc.Mask(kind="causal"), ranks=3, ends=[0, 13, 40]),
        Dealt("sinks", posenc.Mask(kind="bidirectional"), ranks=3, mode="ulysses"),
    ]
    process = links.started(
        [sys.executable, PROGRAM, "answers"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, MARK: mark, "POSENC_THREADS": "1"},
    )  # fmt: skip
    try:
        out, problem = process.communicate(pickle.dumps(asked), timeout=100)
    finally:
        process.kill()
    assert process.returncode == 0, problem.decode()
    assert not processes_of(mark) and outside() == before
    return asked, pickle.loads(out)


def test_results_are_right_over_slow_links(said):
    asked, ends = said[0], said[1]["answers"]
    assert not any(one.problem for one in ends), ends
    of_byte, of_many = ends[0].result[0]
    assert of_byte >= 2 * linked.SLOW.delay
    assert of_many >= (linked.MEASURED - (1 << 18)) * 8 / (linked.SLOW.megabits * 1e6)  # less what bursts
    for n, of in enumerate(asked):
        check(of, [one.result[1 + n] for one in ends])


def test_a_rank_that_is_killed_is_named_by_the_others(said):
    ends = said[1]["without"]
    assert ends[1].problem == "is gone"
    for rank in (0, 2):
        text, named, seconds = ends[rank].result
        assert named == 1 and "rank 1 " in text and seconds < 20, (rank, text, seconds)


def test_nothing_is_left_where_the_test_is_killed():
    mark, before = str(time.monotonic_ns()), outside()
    starter = subprocess.Popen(
        [sys.executable, "-c", "import links, sys; links.started(sys.argv[1:]).wait()", sys.executable, PROGRAM, "stall"],
        env={**os.environ, MARK: mark, "PYTHONPATH": str(linked.SOURCE / "bench/overlap")},
        stdout=subprocess.PIPE,
    )
    try:
        for _ in range(linked.RANKS):
            assert starter.stdout.readline() == b"asleep\n"
        there = processes_of(mark)
        assert len(there) == 3 + linked.RANKS  # the starter, unshare, the switch, and ranks
        assert len(set(there.values())) == 2 + linked.RANKS  # outside, the switch's, and one of each rank
    finally:
        starter.send_signal(signal.SIGKILL)
        starter.wait()
    until = time.monotonic() + 10
    while processes_of(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert not processes_of(mark) and outside() == before
