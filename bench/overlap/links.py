"""Ranks of torch.distributed on links of their own: each in a network namespace, joined to a switch by a pair of veth
devices whose bandwidth tc limits (tbf) both ways. The switch is a loop of this program, which holds each frame for a while.

Nothing has a name, so nothing is left: a network namespace lives as long as the processes in it, and these as long as the
first of their PID namespace, which is killed when whoever started it is gone, by whatever means.
"""

from __future__ import annotations

import collections
import contextlib
import ctypes
import multiprocessing
import os
import pathlib
import pickle
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CLONE_NEWNET = 0x40000000
ETH_P_ALL, SOL_PACKET, PACKET_VNET_HDR, PACKET_IGNORE_OUTGOING = 3, 263, 15, 23
VNET_HEADER = 10  # of virtio: with it frames of 64 KiB, that no device has cut or summed yet, come and go whole
STORE = 29500
# Of TCP in the namespaces, so that links carry what they say from the first byte on. BBR, where it is the machine's default,
# looks for the bandwidth for longer than a block takes, and sends frames of 1 or 2 KiB: four times as many, which the switch
# passes on one by one. A connection that was idle would begin anew with 10 segments, at each block. And since nothing is lost
# here, windows would grow until a block lay in the queue of a port, and what asks for another behind it: a connection has no
# more on its way than twice what a link of 100 Mbit/s holds, 10 ms there and back.
TCP = {"tcp_congestion_control": "reno", "tcp_slow_start_after_idle": "0", "tcp_rmem": "4096 131072 524288"}


@dataclass(frozen=True)
class Link:
    """Of each rank to the switch: megabits a second, each way; and seconds that the switch holds a frame."""

    megabits: float
    delay: float


def lacks() -> str:
    """What keeps these namespaces from being made here; empty: nothing does."""
    if not sys.platform.startswith("linux"):
        return "network namespaces are Linux's"
    for command, package in (("ip", "iproute2"), ("tc", "iproute2"), ("unshare", "util-linux"), ("setpriv", "util-linux")):
        if shutil.which(command) is None:
            return f"there is no {command} (Debian: {package})"
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    tried = subprocess.run(
        ["unshare", "--net", "sh", "-c", "ip link add port type veth peer name other && tc qdisc add dev port root tbf rate 1mbit "
         "burst 64kb limit 1mb"], capture_output=True, text=True,
    )  # fmt: skip
    return tried.stderr.strip()


def started(program: list[str], **how: Any) -> subprocess.Popen[Any]:
    """The program as the first process of a PID namespace and a network namespace, for it to call `run`. It and all that
    it starts end when the process is killed, and when the caller is."""
    return subprocess.Popen(
        ["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "--pid", "--fork", "--kill-child=KILL", *program], **how
    )


@dataclass
class Ended:
    """Of one rank: what it gave; or what it raised, or how it ended, in words."""

    result: Any = None
    problem: str = ""


def run(ranks: int, do: Callable[[int], Any], link: Link, seconds: float) -> list[Ended]:
    """do(rank) in a process for each rank, forked of this one, joined by links. TimeoutError, and no rank is left, where
    they take longer."""
    if os.getpid() != 1:
        raise RuntimeError("run must be called by what `started` has started")
    pipes: list[Any] = []
    processes = []
    for rank in range(ranks):
        here, there = multiprocessing.Pipe()
        process = os.fork()
        if process == 0:
            here.close()
            for other in pipes:
                other.close()
            _be_rank(rank, do, link, there)
        there.close()
        pipes.append(here)
        processes.append(process)
        here.recv()  # it has a namespace
        _call(f"ip link add port{rank} type veth peer name eth0 address {_mac(rank)} netns {process}")
        _call(f"ip link set port{rank} up")
        _limit(f"port{rank}", link)
    with contextlib.suppress(PermissionError):  # on a network the switch takes no core from ranks, nor waits for one
        os.setpriority(os.PRIO_PROCESS, 0, -15)
    switch = Switch([f"port{rank}" for rank in range(ranks)], link.delay)
    for pipe in pipes:
        pipe.send("joined")
    ends = [Ended(problem="did not end") for _ in pipes]
    there_are = dict(enumerate(pipes))
    until = time.monotonic() + seconds
    while there_are:
        if time.monotonic() > until:
            for process in processes:
                os.kill(process, signal.SIGKILL)
            raise TimeoutError(f"ranks {sorted(there_are)} did not end within {seconds:g} s")
        ready = switch.turn(list(there_are.values()), until)
        for rank, pipe in list(there_are.items()):
            if pipe in ready:
                try:
                    ends[rank] = pickle.loads(pipe.recv_bytes())
                except (EOFError, ConnectionResetError):
                    ends[rank] = Ended(problem="is gone")
                del there_are[rank]
    switch.close()
    for rank, process in enumerate(processes):
        os.waitpid(process, 0)
        subprocess.run(["ip", "link", "delete", f"port{rank}"], capture_output=True)  # it may have gone with the rank
    return ends


def _be_rank(rank: int, do: Callable[[int], Any], link: Link, pipe: Any) -> None:
    """Does not return."""
    try:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "unshare")
        pipe.send("apart")
        pipe.recv()
        for command in ("ip link set lo up", f"ip address add 10.77.0.{rank + 1}/24 dev eth0", "ip link set eth0 up"):
            _call(command)
        _limit("eth0", link)
        for name, value in TCP.items():
            pathlib.Path("/proc/sys/net/ipv4", name).write_text(value)
        os.environ["GLOO_SOCKET_IFNAME"] = "eth0"
        ended = Ended(do(rank))
    except BaseException as problem:
        ended = Ended(problem="".join(traceback.format_exception(problem)))
    pipe.send_bytes(pickle.dumps(ended))  # send would lend memory that goes with this process
    os._exit(0)  # a group of which a rank is gone does not end


def rendezvous() -> str:
    """For init_process_group: the first rank has the store, so that no file stays."""
    return f"tcp://10.77.0.1:{STORE}"


def _mac(rank: int) -> str:
    return f"02:00:00:00:00:{rank:02x}"


def _limit(device: str, link: Link) -> None:
    # Frames of 64 KiB must fit the burst, or tc cuts them; and all that TCP has on its way the queue.
    _call(f"tc qdisc add dev {device} root tbf rate {link.megabits:g}mbit burst 128kb limit 64mb")


def _call(command: str) -> None:
    ran = subprocess.run(command.split(), capture_output=True, text=True)
    if ran.returncode:
        raise OSError(f"{command}: {ran.stderr.strip()}")


class Switch:
    """Frames from port to port, by the last byte of their address, each `delay` seconds later."""

    def __init__(self, devices: list[str], delay: float) -> None:
        self.delay = delay
        self.held: collections.deque[tuple[float, bytes, int]] = collections.deque()
        self.ports = []
        for device in devices:
            port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            port.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
            port.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            for size in (32, 33):  # SO_SNDBUFFORCE, SO_RCVBUFFORCE: a switch that loses nothing
                port.setsockopt(socket.SOL_SOCKET, size, 1 << 28)
            port.setblocking(False)
            port.bind((device, ETH_P_ALL))
            self.ports.append(port)

    def close(self) -> None:
        for port in self.ports:
            port.close()

    def turn(self, others: list[Any], until: float) -> list[Any]:
        """Waits for a frame, for the time of one, or for any of the others, and answers which of these are ready."""
        now = time.monotonic()
        while self.held and self.held[0][0] <= now:
            _, frame, to = self.held.popleft()
            with contextlib.suppress(OSError):  # the rank is gone, and its port with it
                self.ports[to].send(frame)
        wake = self.held[0][0] if self.held else until
        ready, _, _ = select.select([*self.ports, *others], [], [], max(wake - now, 0.0))
        for port in ready:
            if isinstance(port, socket.socket):
                self._take(port)
        return [one for one in ready if one in others]

    def _take(self, port: socket.socket) -> None:
        try:
            frame = port.recv(1 << 17)
        except OSError:  # said once, of a port that is gone
            return
        due, to = time.monotonic() + self.delay, frame[VNET_HEADER + 5]
        if frame[VNET_HEADER] & 1:  # to all
            for n, other in enumerate(self.ports):
                if other is not port:
                    self.held.append((due, frame, n))
        elif to < len(self.ports):
            self.held.append((due, frame, to))

