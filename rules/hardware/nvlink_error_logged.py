"""An error of NVLink 5 in the kernel log of which nothing shows the end.

Why it hurts: Xids 144 to 150 cover events from a corrected bit to a dead link; the
words of the line tell which. One that was survived blocks nothing, and the next on the
same link usually does.

What passes: no such line, or a driver that says that nothing is left to be done for the
GPU. One that asks for a reset is judged as the critical Xid that it is.

Where it does not apply: a log without any of these codes.

Source: the Xid catalogue in schemas/catalogues/xid/nvlink5.yaml, which names its
sources.

Bad::

    NVRM: Xid (PCI:0000:1b:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 05 (0x... 0x...)

Good::

    nothing of Xid 144 to 150 in dmesg
"""

from speccheck.rules.hardware._kernel_log import gpu_of, is_recovered, times, title_of
from speccheck.validator.evidence.node.fault_codes import XidCatalogue
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import Driver, KernelEvents
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-039")
def nvlink_error_logged(
    events: KernelEvents, gpus: Gpus, driver: Driver, catalogue: XidCatalogue
) -> Verdicts:
    """Judge each line by the words that it ends with."""
    for event in events.each():
        code = event.code.value
        if event.event.value != "xid" or code is None:
            continue
        if not catalogue.is_of_nvlink5(code):
            continue
        gpu = gpu_of(event, gpus)
        where = f"{title_of(event, gpu)}: Xid {code}, logged {times(event)}"
        if is_recovered(gpu):
            yield passed(at=event.code)
            continue
        text = event.text.or_else("")
        result = catalogue.nvlink5(code, text, driver.version.value)
        if result == "reset":
            continue
        what = "cannot be decoded" if result is None else "was survived"
        yield fail(
            f"{where}, {what}, and nothing shows how the link is now",
            at=event.code,
            measured=event.count.value,
            required=0,
            action="MONITOR",
        )
