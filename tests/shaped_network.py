"""Network namespaces with links of a known rate: machines of one rank each.

Only root can make them, where the kernel has namespaces, veth and tbf. Everything that
is made lies in namespaces of its own and goes with them.
"""

import os
import shutil
import subprocess
import uuid
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache

import pytest

_IP, _TC = shutil.which("ip") or "", shutil.which("tc") or ""
_BURST, _LATENCY = "128kb", "50ms"
_DEVICE = "up0"


def ip(*words: str) -> None:
    """Run `ip`; raises CalledProcessError."""
    subprocess.run([_IP, *words], check=True, capture_output=True, timeout=30)


def _remove(namespace: str) -> None:
    subprocess.run([_IP, "netns", "del", namespace], check=False, capture_output=True)


def _can_shape() -> bool:
    if os.geteuid() != 0 or not _IP or not _TC:
        return False
    name = f"sc{uuid.uuid4().hex[:6]}"
    try:
        ip("netns", "add", name)
        shape(name, "lo", "100mbit")
    except (OSError, subprocess.SubprocessError):
        return False
    finally:
        _remove(name)
    return True


@cache
def _reason() -> str:
    needed = "needs root, ip and tc, and a kernel with namespaces and tbf"
    return "" if _can_shape() else needed


def skip_without_shaping() -> None:
    """Skip a test where links cannot be shaped."""
    if _reason():
        pytest.skip(_reason())


def shape(namespace: str, device: str, rate: str) -> None:
    """Let a device send at that rate and no faster."""
    limit = ("rate", rate, "burst", _BURST, "latency", _LATENCY)
    words = ("qdisc", "replace", "dev", device, "root", "tbf", *limit)
    command = [_IP, "netns", "exec", namespace, _TC, *words]
    subprocess.run(command, check=True, capture_output=True, timeout=30)


class Network:
    """Nodes on one switch; node 0 has the address that the others meet at."""

    def __init__(self, switch: str, nodes: list[str]) -> None:
        self.switch = switch
        self.nodes = nodes
        self.address = "10.77.0.1"

    def limit(self, node: int, rate: str) -> None:
        """Shape what a node sends, and what is sent to it."""
        shape(self.nodes[node], _DEVICE, rate)
        shape(self.switch, f"port{node}", rate)

    def cut(self, node: int) -> None:
        """Pull the cable of a node."""
        ip("-n", self.switch, "link", "set", f"port{node}", "down")


@contextmanager
def network(nodes: int, rate: str) -> Generator[Network, None, None]:
    """Yield the namespaces that are linked at a rate; they are gone afterwards."""
    mark = uuid.uuid4().hex[:6]
    switch = f"sc{mark}s"
    names = [f"sc{mark}n{number}" for number in range(nodes)]
    try:
        for name in (switch, *names):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        ip("-n", switch, "link", "set", "bridge", "up")
        found = Network(switch, names)
        for number, name in enumerate(names):
            port = f"port{number}"
            peer = ("peer", "name", port, "netns", switch)
            ip("link", "add", _DEVICE, "netns", name, "type", "veth", *peer)
            ip("-n", name, "addr", "add", f"10.77.0.{number + 1}/24", "dev", _DEVICE)
            ip("-n", name, "link", "set", _DEVICE, "up")
            ip("-n", switch, "link", "set", port, "master", "bridge", "up")
            found.limit(number, rate)
        yield found
    finally:
        for name in (*names, switch):
            _remove(name)


@contextmanager
def shared_wire(rate: str) -> Generator[str, None, None]:
    """Yield a namespace whose processes share one wire of that rate: its loopback."""
    name = f"sc{uuid.uuid4().hex[:6]}w"
    try:
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
        shape(name, "lo", rate)
        yield name
    finally:
        _remove(name)
