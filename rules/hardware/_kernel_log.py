"""What rules on the kernel log share."""

from speccheck.validator.evidence.finding import Action
from speccheck.validator.evidence.node.fault_codes import NO_RECOVERY
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.host import (
    KernelEvent,
    KernelEvents,
    KernelLog,
)
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.models.units import hours_in
from speccheck.validator.rule import Numbers, Verdict, fail, passed, unknown


class Reach(Numbers):
    """The most events in the kernel log, and the time that the log must cover.

    reach: hours before the snapshot.
    start_seconds: a log that begins earlier than this after boot is complete.
    """

    xid_max: int
    reach: float
    start_seconds: float


def need_reach(log: KernelLog, limit: Reach) -> None:
    """Raise MissingEvidence where the log does not reach back far enough.

    Its buffer is a ring: on a node that logs much, the first days are gone.
    """
    first = log.first_seconds.need()
    if first <= limit.start_seconds:
        return
    hours = hours_in(log.last_seconds.need() - first)
    if hours < limit.reach:
        reason = (
            f"the log reaches back {hours:.1f} h and not to the start of the node; "
            f"{limit.reach} h are needed"
        )
        raise MissingEvidence(log.first_seconds.name, reason)


def need_codes(events: KernelEvents, kind: str) -> None:
    """Raise MissingEvidence for an event of which kind or code cannot be read."""
    for event in events.each():
        if event.event.need() == kind:
            event.code.need()


def none_logged(log: KernelLog, events: KernelEvents, limit: Reach) -> Verdict:
    """Return a pass: all lines could be read, and the log reaches back far enough."""
    for event in events.each():
        event.event.need()
    need_reach(log, limit)
    return passed(at=events.count, measured=0, required=limit.xid_max)


def gpu_of(event: KernelEvent, gpus: Gpus) -> Gpu | None:
    """Return the GPU that a line names by its address; None where it is not listed."""
    address = event.pci_address.value
    if address is None or not gpus.count.is_known:
        return None
    for gpu in gpus.each():
        if gpu.pci_address.value == address:
            return gpu
    return None


def is_recovered(gpu: Gpu | None) -> bool:
    """Return whether the driver says that nothing is left to be done for a GPU."""
    return (
        gpu is not None
        and gpu.recovery_action.value == NO_RECOVERY
        and gpu.is_lost.value is False
        and gpu.needs_reset.value is False
    )


def title_of(event: KernelEvent, gpu: Gpu | None) -> str:
    """Return how a message names the GPU of a line."""
    address = event.pci_address.or_else("a GPU that the line does not name")
    return address if gpu is None else f"{gpu.title} ({address})"


def times(event: KernelEvent) -> str:
    """Return how often a line stands in the log."""
    count = event.count.or_else(1)
    return "once" if count == 1 else f"{count:,} times"


_WHAT_TO_DO = {
    "RESET_GPU": "nvidia-smi --gpu-reset -i N",
    "REBOOT": "reboot it, and replace the GPU if it happens again",
    "FIX_CONFIG": "restart nvidia-imex on all trays of the domain",
    "SUPPORT": "open a case with the vendor with nvidia-bug-report.sh",
}


def critical(
    event: KernelEvent, gpu: Gpu | None, text: str, action: Action, next_time: str = ""
) -> Verdict:
    """Return a failure of what a line says; next_time: what to do if it comes again."""
    first = f"Drain the node, then {_WHAT_TO_DO.get(action, 'isolate it')}."
    return fail(
        f"{title_of(event, gpu)}: {text}; logged {times(event)}, and the driver does "
        "not say that it has recovered",
        at=event.code if event.code.is_known else event.event,
        measured=event.count.or_else(1),
        required=0,
        remedy=f"{first} {next_time}.".removesuffix(" ."),
        action=action,
    )


def undecided(event: KernelEvent, gpu: Gpu | None, text: str) -> Verdict:
    """Return that a line does not settle it by itself."""
    return unknown(
        f"{title_of(event, gpu)}: {text}; logged {times(event)}",
        missing=[event.text.name],
        at=event.code,
    )
