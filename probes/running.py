"""Reads which processes run, from /proc: daemons, and processes that are stuck.

A container sees its own processes only. What is not seen there may well run: only where
the kernel's own threads are in sight is a daemon that is not found no daemon.
"""

import re
import time

from speccheck.probes.raw_value import Absence
from speccheck.probes.root import Root
from speccheck.validator.evidence.record import Record

SOURCE = "/proc/{process}/stat"
_MOST_NAME = 15  # of the kernel: TASK_COMM_LEN less the zero byte
_KERNEL_THREAD = 0x0020_0000  # PF_KTHREAD, include/linux/sched.h
_FIRST_THREAD = "kthreadd"  # process 2 of every machine
_STAT = re.compile(r"(\d+) \((.*)\) (\S) (.*)", re.DOTALL)
_FLAGS, _STARTED = 5, 18  # of the fields after the state, proc(5)
_LOOKS, _PAUSE_SECONDS = 3, 0.04
_ONLY_OWN = Absence("not_permitted", SOURCE, "processes of the host are not in sight")


class Process(Record):
    """One process; started: in clock ticks, which tells it from a later namesake."""

    number: int
    name: str
    state: str
    is_kernel_thread: bool
    started: str


class Processes(Record):
    """All processes in sight, and whether these are all of the host."""

    seen: tuple[Process, ...]
    are_all: bool

    def has(self, name: str) -> bool | Absence:
        """Return whether a program of that name runs."""
        short = name[:_MOST_NAME]
        if any(
            process.name == short and process.state not in "ZX" for process in self.seen
        ):
            return True
        return False if self.are_all else _ONLY_OWN

    def counted(self, numbers: list[int]) -> int | Absence:
        """Return how many there are of a kind.

        A container that sees none cannot count.
        """
        return len(numbers) if numbers or self.are_all else _ONLY_OWN


def processes(root: Root) -> Processes | Absence:
    """Return the processes of the machine."""
    names = root.names("/proc")
    if isinstance(names, Absence):
        return names
    result = [_process(root, int(name)) for name in names if name.isdecimal()]
    seen = tuple(process for process in result if process is not None)
    if not seen:
        return Absence("absent", SOURCE)
    return Processes(seen, any(process.name == _FIRST_THREAD for process in seen))


def _process(root: Root, number: int) -> Process | None:
    """Return the process; None where it has ended meanwhile."""
    text = root.text(f"/proc/{number}/stat")
    matched = None if isinstance(text, Absence) else _STAT.match(text)
    if matched is None:
        return None
    name, state, rest = matched.group(2), matched.group(3), matched.group(4).split()
    if len(rest) <= _STARTED or not rest[_FLAGS].isdecimal():
        return None
    is_thread = bool(int(rest[_FLAGS]) & _KERNEL_THREAD)
    return Process(number, name, state, is_thread, rest[_STARTED])


def stuck(root: Root, result: Processes) -> int | Absence:
    """Return the processes in uninterruptible sleep, at each of several looks.

    Every disk access sleeps so for a moment, and some threads of the kernel always do.
    """
    waiting = [
        process
        for process in result.seen
        if process.state == "D" and not process.is_kernel_thread
    ]
    for _ in range(_LOOKS - 1):
        if not waiting or not root.is_live:
            break
        time.sleep(_PAUSE_SECONDS)
        waiting = [
            process for process in waiting if _process(root, process.number) == process
        ]
    return result.counted([process.number for process in waiting])


def zombies(result: Processes) -> int | Absence:
    """Return the processes that have ended and that nobody has waited for."""
    return result.counted(
        [process.number for process in result.seen if process.state == "Z"]
    )
