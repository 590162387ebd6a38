"""A machine check or an uncorrected memory error in the kernel log.

Why it hurts: processor, memory or a bus of the host has given wrong data and known it;
the next time it ends the job, or the node.

What passes: no such line in the log. Errors that were corrected count elsewhere.

Where it does not apply: nowhere; a log that cannot be read is unknown, and so is an
error that the firmware calls recoverable: it may be of a PCIe device. A line of the
boot about the boot before counts: the cause is still in the machine.

Source: mej/nhc (check_hw_mcelog); kernel.org, EDAC and machine checks.

Bad::

    dmesg    # EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#1

Good::

    dmesg    # nothing of EDAC UE, Machine Check, Hardware Error
"""

from speccheck.validator.evidence.node.host import KernelEvents, KernelLog
from speccheck.validator.models.units import numbered
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Errors(Numbers):
    """Kinds of lines of uncorrected errors, and words of survived ones."""

    events: tuple[str, ...]
    survived: str


@rule(clause="HW-132")
def hardware_error_logged(
    events: KernelEvents, log: KernelLog, limit: Errors
) -> Verdicts:
    """Judge each line of these kinds."""
    kernel_events = [
        kernel_event
        for kernel_event in events.each()
        if kernel_event.event.need() in limit.events
    ]
    for kernel_event in kernel_events:
        if (
            limit.survived in kernel_event.text.or_else("")
            and not kernel_event.is_fatal.value
        ):
            yield unknown(
                f"{numbered(kernel_event.count.or_else(1), 'time')} in the kernel log: "
                f"{kernel_event.text.value}: "
                "the lines after it name the part",
                missing=["the record of the error (dmesg)"],
                at=kernel_event.event,
            )
            continue
        yield fail(
            f"{numbered(kernel_event.count.or_else(1), 'time')} in the kernel log: "
            f"{kernel_event.event.need().replace('_', ' ')}: "
            f"{kernel_event.text.or_else('')}",
            at=kernel_event.event,
            measured=kernel_event.count.value,
            required=0,
            cost="the next one ends the job, or the node",
            remedy="Read the event log of the board (ipmitool sel elist); replace the "
            "memory module or processor that it names.",
            action="ISOLATE",
        )
    if not kernel_events:
        log.lines.need()
        yield passed(at=log.lines, measured=0, required=0)
