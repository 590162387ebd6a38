"""An error of NVLink 5 in the kernel log that asks for a reset.

Why it hurts: Xids 144 to 150 cover events from a corrected bit to a dead link; the
words of the line tell which. One that asks for a reset leaves the link, or all links
of the GPU, unusable until then.

What passes: no such line, or lines whose words ask for nothing. A line that cannot be
decoded is undecided, and so are several of which only the last is kept.

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
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_FATAL = " Fatal "


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
            yield fail(
                f"{where}, asks for a reset of the GPU",
                at=event.code,
                measured=event.count.value,
                required=0,
                action="RESET_GPU",
            )
        elif result is None and _FATAL in text:
            yield fail(
                f"{where}, is fatal by its own word",
                at=event.code,
                measured=event.count.value,
                required=0,
                action="RESET_GPU",
            )
        elif result is None or event.count.or_else(1) > 1:
            yield unknown(
                f"{where}, cannot be decoded from what the log keeps of it",
                missing=[event.text.name],
                at=event.text,
            )
        else:
            yield passed(at=event.text)
