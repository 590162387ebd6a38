"""Takes a snapshot: each probe in a process of its own, all within one budget.

A probe tells what it finds line by line. When it hangs, crashes or outlasts the budget,
it is killed, and what it had told stays: the snapshot says where it was.
"""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from speccheck.probes.raw_value import Sheet
from speccheck.validator import VERSION

SCHEMA = "speccheck-snapshot/1"
# Modules of this package: each has KINDS, the kinds of parts that it fills, and probe.
PROBES = (
    "gpu",
    "cuda",
    "mrc_library",
    "host",
    "rdma",
    "pci",
    "driver",
    "kernel_log",
    "settings",
    "instance",
)
OF_A_JOB = "paths"  # it runs only where a job names any
# By probe, the leaf for the longest time that one call took.
_ANSWERS = {"gpu": ("driver", "longest_answer_seconds")}
_CHUNK_BYTES = 65_536
# For a process to end that has told all, or was killed: one that hangs in the kernel
# does not end, and is left behind.
_PARTING_SECONDS = 0.5
_TRACEBACK_VARIABLE = "SPECCHECK_TRACEBACK"


class Taken:
    """A probe that runs, and what it has told."""

    __slots__ = (
        "doing",
        "ended",
        "failure",
        "heard_seconds",
        "longest",
        "name",
        "pending",
        "process",
    )

    def __init__(self, name: str, process: "subprocess.Popen[bytes]") -> None:
        """Watch a process that was just started."""
        self.name = name
        self.process = process
        self.pending = b""
        self.doing = ""
        self.failure = ""
        self.ended = False
        self.heard_seconds = 0.0  # when it last said what it does
        self.longest = (0.0, "")  # seconds of one thing, and what that was

    def lines(self, chunk: bytes) -> Iterator[list[Any]]:
        """Yield the whole lines that have come, of those meant for the sheet."""
        *whole, self.pending = (self.pending + chunk).split(b"\n")
        for data in whole:
            result = json.loads(data)
            if result[0] == "doing":
                self.went_on()
                self.doing, self.heard_seconds = result[1], time.monotonic()
            elif result[0] == "failed":
                self.failure = result[1]
            elif result[0] == "done":
                self.went_on()
                self.ended = True
            else:
                yield result

    def went_on(self) -> None:
        """Note that what it was doing is over, or was waited for until now."""
        if self.doing:
            seconds = time.monotonic() - self.heard_seconds
            self.longest = max(self.longest, (seconds, self.doing))


def snapshot(
    *,
    root: str = "/",
    budget_seconds: float = 10.0,
    probes: Sequence[str] = PROBES,
    arguments: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return a machine's snapshot as it is written; arguments: of probes by name."""
    began = time.monotonic()
    taken = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    sheet = Sheet()
    running: list[Taken] = []
    cut_short: dict[str, str] = {}
    try:
        # One by one: whatever stops us, those that run are known.
        running.extend(_started(name, root, arguments.get(name, ())) for name in probes)
        _listen(running, sheet, began + budget_seconds)
        for probe in running:
            _answers(probe, sheet)
            reason = _ending(probe, budget_seconds)
            if reason:
                cut_short.update(dict.fromkeys(_kinds(probe.name), reason))
    finally:
        # Whoever interrupts us does not reach them: their session is their own.
        for probe in running:
            probe.process.kill()
    return {
        "schema": SCHEMA,
        "tool": {"name": "speccheck", "version": VERSION},
        "taken": taken,
        "seconds": round(time.monotonic() - began, 3),
        "cut_short": cut_short,
        **sheet.content(),
    }


def _started(name: str, root: str, arguments: Sequence[str]) -> Taken:
    child = "speccheck.probes.child"
    command = (sys.executable, "-P", "-m", child, name, root, *arguments)
    process = subprocess.Popen(  # noqa: S603 - our own module, of our own package
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        # What went wrong is told; where in our code, and what libraries print, is for
        # those who ask.
        stderr=None if os.environ.get(_TRACEBACK_VARIABLE) else subprocess.DEVNULL,
        start_new_session=True,
    )
    return Taken(name, process)


def _listen(running: Sequence[Taken], sheet: Sheet, deadline: float) -> None:
    with selectors.DefaultSelector() as selector:
        for probe in running:
            if probe.process.stdout is not None:
                selector.register(probe.process.stdout, selectors.EVENT_READ, probe)
        while selector.get_map():
            left = deadline - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                return
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK_BYTES)
                for line in key.data.lines(chunk):
                    sheet.replay(line)
                if not chunk:
                    selector.unregister(key.fileobj)
                    key.data.process.stdout.close()


def _answers(probe: Taken, sheet: Sheet) -> None:
    """Put down how long one call took at most, of a library that may hang.

    Of a probe that crashed nothing is put down: its last call did not answer.
    """
    leaf = _ANSWERS.get(probe.name)
    is_open = probe.process.stdout is not None and not probe.process.stdout.closed
    if leaf is None or not probe.doing or not (probe.ended or is_open):
        return
    if not probe.ended:
        probe.went_on()
    seconds, call = probe.longest
    sheet.put(*leaf, float(int(seconds)), call)


def _ending(probe: Taken, budget_seconds: float) -> str:
    """Return why the probe did not end by itself; empty where it did."""
    during = f" during {probe.doing}" if probe.doing else ""
    # A process whose end of the pipe is closed ends, or is about to.
    code = _parted(probe.process) if probe.ended or probe.failure else None
    code = probe.process.poll() if code is None else code
    if code is None:
        is_closed = probe.process.stdout is None or probe.process.stdout.closed
        code = _parted(probe.process) if is_closed else None
    if code is None:
        probe.process.kill()
        _parted(probe.process)
    if probe.process.stdout is not None:
        probe.process.stdout.close()
    if probe.ended:
        return ""
    if probe.failure:
        return f"the {probe.name} probe failed{during}: {probe.failure}"
    if code is None:
        return f"the {probe.name} probe was stopped after {budget_seconds:g} s{during}"
    how = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"the {probe.name} probe ended with {how}{during}"


def _parted(process: "subprocess.Popen[bytes]") -> int | None:
    """Return how a process ended that has nothing more to do; None if it does not."""
    try:
        return process.wait(timeout=_PARTING_SECONDS)
    except subprocess.TimeoutExpired:
        return None


def _kinds(name: str) -> tuple[str, ...]:
    from importlib import import_module  # noqa: PLC0415 - only when a probe failed

    kinds: tuple[str, ...] = import_module(f"speccheck.probes.{name}").KINDS
    return kinds
