"""A critical error of a GPU in the kernel log that the driver has not recovered from.

Why it hurts: these codes mean a GPU that fell off the bus, memory errors that were not
contained, a dead link or a hung driver. The next job on the node ends the same way.

What passes: no such code in a log that reaches back far enough, or a driver that asks
for nothing more for that GPU. Codes of programs never block a node.

Where it does not apply: nowhere; without access to the log the clause is undecided.

Source: the Xid catalogue in schemas/catalogues/xid, which names its sources.

Bad::

    NVRM: Xid (PCI:0000:1b:00): 79, pid=1234, GPU has fallen off the bus.

Good::

    NVRM: Xid (PCI:0000:1b:00): 31, pid=1234, MMU Fault   # of a program
"""

from collections.abc import Iterator

from speccheck.rules.hardware._kernel_log import (
    Reach,
    critical,
    gpu_of,
    is_recovered,
    need_codes,
    need_reach,
    undecided,
)
from speccheck.validator.evidence.finding import Action
from speccheck.validator.evidence.node.fault_codes import (
    NO_RECOVERY,
    RECOVERY_ACTIONS,
    RECOVERY_CHANGED,
    XidCatalogue,
)
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.host import (
    Driver,
    KernelEvent,
    KernelEvents,
    KernelLog,
)
from speccheck.validator.rule import Verdict, Verdicts, passed, rule

_FAULTS = {
    "gpu_fallen_off_bus": "the GPU has fallen off the bus",
    "gpu_initialisation_failed": "the driver could not initialise the GPU",
    "gpu_reset_required": "the driver says that a reset is required",
    "gsp_timeout": "the firmware processor of the GPU does not answer",
    "nvlink_detection_failed": "the driver could not find out which NVLinks are there",
}
_BY_RESET = frozenset({"gpu_reset_required", "nvlink_detection_failed"})


@rule(clause="HW-003")
def fatal_xid(
    log: KernelLog,
    events: KernelEvents,
    gpus: Gpus,
    driver: Driver,
    catalogue: XidCatalogue,
    limit: Reach,
) -> Verdicts:
    """Judge each Xid by the catalogue, and by what the driver asks for now."""
    verdicts: list[Verdict] = []
    for event in events.each():
        gpu = gpu_of(event, gpus)
        if not is_recovered(gpu):
            verdicts += _judged(event, gpu, driver, catalogue)
    yield from verdicts
    if len(verdicts) <= limit.xid_max:
        need_codes(events, "xid")
        need_reach(log, limit)
        yield passed(at=events.count, measured=0, required=limit.xid_max)


def _judged(
    event: KernelEvent, gpu: Gpu | None, driver: Driver, catalogue: XidCatalogue
) -> Iterator[Verdict]:
    kind, code = event.event.value, event.code.value
    if kind in _FAULTS:
        action: Action = "RESET_GPU" if kind in _BY_RESET else "REBOOT"
        yield critical(event, gpu, _FAULTS[kind], action)
    if kind != "xid" or code is None:
        return
    if catalogue.is_of_nvlink5(code):
        line = event.text.or_else("")
        result = catalogue.nvlink5(code, line, driver.version.value)
        if result is None:
            yield undecided(event, gpu, f"Xid {code} of NVLink 5 cannot be decoded")
        elif result == "reset":
            text = f"Xid {code}, an error of NVLink 5 that asks for a reset"
            yield critical(event, gpu, text, "RESET_GPU")
        return
    known = catalogue.xid(code)
    if code == RECOVERY_CHANGED:
        yield from _recommended(event, gpu, catalogue)
    elif known is None:
        yield undecided(event, gpu, f"Xid {code} is not in the catalogue")
    elif known.blocks_node == "depends":
        yield undecided(event, gpu, f"Xid {code} ({known.meaning}) alone does not tell")
    elif known.blocks_node == "yes":
        action = known.action_of(gpu.name.or_else("") if gpu else "")
        yield critical(
            event, gpu, f"Xid {code}, {known.meaning}", action, known.escalate
        )


def _recommended(
    event: KernelEvent, gpu: Gpu | None, catalogue: XidCatalogue
) -> Iterator[Verdict]:
    recovery = catalogue.recovery(event.text.or_else(""))
    if recovery is None:
        yield undecided(event, gpu, "Xid 154 does not say which recovery it means")
    elif recovery != NO_RECOVERY:
        words, action = RECOVERY_ACTIONS[recovery]
        yield critical(event, gpu, f"Xid 154: the driver asks for {words}", action)
