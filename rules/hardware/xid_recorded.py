"""Errors of programs, or bookkeeping of the driver, in the kernel log.

Why it hurts: it does not hurt the node. After a crash the first question is whose
fault it was, and these codes answer it: the program's.

What passes: none of them in the log.

Where it does not apply: nowhere; without access to the log the clause is undecided.

Source: the Xid catalogue in schemas/catalogues/xid; NVIDIA/NVSentinel issue 911 and
NVIDIA/k8s-device-plugin issue 268 tell of sound nodes that were drained for them.

Bad::

    NVRM: Xid (PCI:0000:1b:00): 31, pid=1234, MMU Fault

Good::

    no Xid in dmesg
"""

from speccheck.rules.hardware._kernel_log import (
    gpu_of,
    is_recovered,
    need_codes,
    times,
    title_of,
)
from speccheck.validator.evidence.node.fault_codes import RECOVERY_CHANGED, XidCatalogue
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import KernelEvents
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-038")
def xid_recorded(events: KernelEvents, gpus: Gpus, catalogue: XidCatalogue) -> Verdicts:
    """Report each code that blocks nothing, and those that were recovered from."""
    is_clean = True
    for event in events.each():
        code = event.code.value
        if event.event.value != "xid" or code is None or code == RECOVERY_CHANGED:
            continue
        known, gpu = catalogue.xid(code), gpu_of(event, gpus)
        if known is None:
            continue
        is_over = known.blocks_node != "no" and is_recovered(gpu)
        if known.blocks_node != "no" and not is_over:
            continue
        is_clean = False
        what = "the driver has recovered" if is_over else _WHOSE[known.kind]
        yield fail(
            f"{title_of(event, gpu)}: Xid {code}, {known.meaning}; logged "
            f"{times(event)}; {what}",
            at=event.code,
            measured=event.count.or_else(1),
            required=0,
            action="MONITOR",
        )
    if is_clean:
        need_codes(events, "xid")
        yield passed(at=events.count)


_WHOSE = {
    "application": "the program failed, not the node",
    "information": "the driver did its bookkeeping",
    "driver": "it does not block the node",
    "hardware": "it does not block the node",
}
