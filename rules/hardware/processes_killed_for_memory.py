"""Processes that the kernel killed because the host ran out of memory.

Why it hurts: it may have been a daemon of the node. Mostly it was a job that asked for
too much, which says nothing of the machine: information.

What passes: none, since the machine was started.

Where it does not apply: processes killed within the limit of their control group.

Source: kubernetes/node-problem-detector, kernel monitor.

Bad::

    dmesg | grep 'Out of memory: Killed process'

Good::

    dmesg | grep 'Out of memory: Killed process'    # nothing
"""

from speccheck.validator.evidence.node.host import KernelEvents, KernelLog
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Kills(Numbers):
    """How many there may be."""

    kills_max: int


@rule(clause="HW-077")
def processes_killed_for_memory(
    events: KernelEvents, log: KernelLog, limit: Kills
) -> Verdicts:
    """Count the lines of the log."""
    kernel_events = [
        kernel_event
        for kernel_event in events.each()
        if kernel_event.event.need() == "out_of_memory"
    ]
    count = sum(kernel_event.count.need() for kernel_event in kernel_events)
    if count <= limit.kills_max:
        log.lines.need()
        yield passed(at=log.lines, measured=count, required=limit.kills_max)
        return
    yield fail(
        f"the kernel killed {count} processes for want of memory since the start",
        at=[kernel_event.event for kernel_event in kernel_events],
        measured=count,
        required=limit.kills_max,
        remedy="See in dmesg what was killed, and that the daemons of the node run.",
        action="MONITOR",
    )
