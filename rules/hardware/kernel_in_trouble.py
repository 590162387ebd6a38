"""A host whose kernel, or a process in it, is stuck.

Why it hurts: tasks that hang in a driver or a file system seldom come back; a job that
starts there hangs as well, and cannot be ended.

What passes: no hung task, lock-up or fault of the kernel in its log, and no process
that sleeps without end.

Where it does not apply: nowhere. A log that cannot be read is unknown.

Source: kubernetes/node-problem-detector, kernel monitor; facebookresearch/gcm.

Bad::

    dmesg | grep 'blocked for more than'    # INFO: task python:4211 blocked for ...

Good::

    dmesg | grep 'blocked for more than'    # nothing
"""

from speccheck.validator.evidence.node.host import Host, KernelEvents, KernelLog
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_REMEDY = "Find what it waits for (cat /proc/PID/stack), drain the node and reboot."


class Troubles(Numbers):
    """The kinds of lines that tell of a stuck kernel, and how many may be."""

    events: tuple[str, ...]
    stuck_max: int


@rule(clause="HW-076")
def kernel_in_trouble(
    events: KernelEvents, log: KernelLog, host: Host, limit: Troubles
) -> Verdicts:
    """Judge the log, then the processes."""
    kernel_events = [
        kernel_event
        for kernel_event in events.each()
        if kernel_event.event.need() in limit.events
    ]
    for kernel_event in kernel_events:
        yield fail(
            f"{kernel_event.count.or_else(1)} times in the kernel log: "
            f"{kernel_event.event.need().replace('_', ' ')}: "
            f"{kernel_event.text.or_else('')}",
            at=kernel_event.event,
            measured=kernel_event.count.value,
            required=0,
            cost="jobs hang on this node and cannot be ended",
            remedy=_REMEDY,
            action="REBOOT",
        )
    stuck = host.stuck_processes
    if stuck.need() > limit.stuck_max:
        yield fail(
            f"{stuck.value} processes sleep without end (state D); at most "
            f"{limit.stuck_max} should",
            at=stuck,
            measured=stuck.value,
            required=limit.stuck_max,
            cost="jobs hang on this node and cannot be ended",
            remedy=_REMEDY,
            action="REBOOT",
        )
    elif not kernel_events:
        log.lines.need()
        yield passed(at=[log.lines, stuck], measured=0)
