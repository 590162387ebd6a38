"""A fatal error of an NVSwitch in the kernel log.

Why it hurts: a fatal error ends the work of the GPUs behind that switch; some codes
leave the switch unusable until the node is rebooted.

What passes: no fatal code in a log that reaches back far enough, or, for codes that a
reset clears, drivers that say of all GPUs that nothing is left to be done.

Where it does not apply: nodes without NVSwitches, and those whose switches are managed
from outside.

Source: the SXid catalogue in schemas/catalogues/xid, after leptonai/gpud and NVIDIA's
Fabric Manager user guide.

Bad::

    nvidia-nvswitch0: SXid (PCI:0000:86:00.0): 20034, Fatal, Link 28 LTSSM Fault Up

Good::

    nvidia-nvswitch0: SXid (PCI:0000:86:00.0): 11012, Non-fatal, Link 28 ECC single bit
"""

from speccheck.rules.hardware._kernel_log import (
    Reach,
    is_recovered,
    need_codes,
    need_reach,
    times,
)
from speccheck.validator.evidence.node.fault_codes import LINK_TO_SWITCH, XidCatalogue
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import (
    KernelEvent,
    KernelEvents,
    KernelLog,
)
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_NO_RESET_CLEARS = "always_fatal"


@rule(clause="HW-003")
def switch_error_logged(
    log: KernelLog,
    events: KernelEvents,
    gpus: Gpus,
    catalogue: XidCatalogue,
    limit: Reach,
) -> Verdicts:
    """Judge each SXid by the catalogue, and by what the driver says of the GPUs."""
    logged = [
        kernel_event
        for kernel_event in events.each()
        if kernel_event.event.value == "sxid"
    ]
    verdicts = [
        verdict
        for kernel_event in logged
        for verdict in _judged(kernel_event, gpus, catalogue)
    ]
    yield from verdicts
    if len(verdicts) > limit.xid_max:
        return
    if logged or any(
        LINK_TO_SWITCH in gpu.nvlink_remote_type.or_else(()) for gpu in gpus.each()
    ):
        need_codes(events, "sxid")
        need_reach(log, limit)
        yield passed(at=events.count, measured=0, required=limit.xid_max)


def _are_recovered(gpus: Gpus) -> bool:
    """Return whether the driver says of all GPUs that nothing is left to be done."""
    if not gpus.count.is_known or not gpus.each():
        return False
    return all(is_recovered(gpu) for gpu in gpus.each())


def _judged(event: KernelEvent, gpus: Gpus, catalogue: XidCatalogue) -> Verdicts:
    code = event.code.need()
    known, is_fatal = catalogue.sxid(code), event.is_fatal.value
    switch = event.pci_address.or_else("a switch")
    where = f"{switch}: SXid {code}" + (f", {known.meaning}" if known else "")
    group = known.group if known else ""
    if group != _NO_RESET_CLEARS and _are_recovered(gpus):
        return
    if (known and known.blocks_node == "yes") or is_fatal:
        action = known.action if known and known.blocks_node == "yes" else "RESET_GPU"
        yield fail(
            f"{where}; logged {times(event)}, and fatal",
            at=event.code,
            measured=event.count.or_else(1),
            required=0,
            cost="the GPUs behind that switch have no NVLink",
            remedy="Drain the node and "
            + ("reboot it." if action == "REBOOT" else "reset all GPUs: nvidia-smi -r.")
            + (f" {known.escalate}." if known else ""),
            action=action,
        )
    elif is_fatal is None and (known is None or known.blocks_node == "depends"):
        yield unknown(
            f"{where}; logged {times(event)}, and the line does not say how bad it is",
            missing=[event.is_fatal.name],
            at=event.code,
        )
