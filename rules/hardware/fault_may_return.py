"""An error in the kernel log of which no state shows the end.

Why it hurts: a corrected NVLink error, a row that was remapped, a link that came back
are the first of a row; the second on the same part usually ends a job.

What passes: none of these lines, or a driver that says that nothing is left to be done
for that GPU. Errors of programs are no matter of the node.

Where it does not apply: link losses of ports whose counters are read: they are judged
by those.

Source: the Xid catalogue; leptonai/gpud and facebookresearch/gcm, which watch them.

Bad::

    NVRM: Xid (PCI:0018:01:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (...)

Good::

    nothing of the kind in dmesg
"""

from speccheck.rules.hardware._kernel_log import (
    gpu_of,
    is_recovered,
    times,
    title_of,
)
from speccheck.validator.evidence.node.fault_codes import XidCatalogue
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.host import KernelEvent, KernelEvents
from speccheck.validator.evidence.node.rdma import RdmaPorts
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_LINK = "link_down"
_CAUSED_BY = "caused by previous Xid "
_WHAT = {
    "peer_memory_error": "nvidia-peermem met a context that is not valid",
    "library_crashed": "a program crashed in this library",
    _LINK: "the link was lost",
}


class Watched(Numbers):
    """Kinds of lines, and codes of Xids, that want watching."""

    events: tuple[str, ...]
    xids: tuple[str, ...]


@rule(clause="HW-170")
def fault_may_return(
    events: KernelEvents,
    gpus: Gpus,
    ports: RdmaPorts,
    catalogue: XidCatalogue,
    limit: Watched,
) -> Verdicts:
    """Judge each line that asks for nothing now."""
    is_clean = True
    for event in events.each():
        gpu = gpu_of(event, gpus)
        text = "" if is_recovered(gpu) else _wording(event, catalogue, limit)
        if not text or (event.event.value == _LINK and ports.count.is_known):
            continue
        is_clean = False
        where = event.device.value or title_of(event, gpu)
        yield fail(
            f"{where}: {text}; logged {times(event)}, and nothing shows how it is now",
            at=event.code if event.code.is_known else event.event,
            measured=event.count.or_else(1),
            required=0,
            action="MONITOR",
        )
    if is_clean:
        yield passed(at=events.count)


def _wording(event: KernelEvent, catalogue: XidCatalogue, limit: Watched) -> str:
    """Return what a line says; empty for one that other rules judge, or nobody."""
    kind, code = event.event.need(), event.code.value
    if kind in limit.events:
        return _WHAT.get(kind, kind.replace("_", " "))
    if kind == "sxid" and code is not None:
        return _of_switch(event, code, catalogue)
    if kind == "xid" and code is not None:
        return _of_gpu(event, code, catalogue, limit)
    return ""


def _of_switch(event: KernelEvent, code: int, catalogue: XidCatalogue) -> str:
    known = catalogue.sxid(code)
    if event.is_fatal.value or (known and known.blocks_node == "yes"):
        return ""
    meaning = known.meaning if known else "which no table knows"
    return f"SXid {code} of a switch, {meaning}"


def _of_gpu(
    event: KernelEvent, code: int, catalogue: XidCatalogue, limit: Watched
) -> str:
    cause = event.text.or_else("").partition(_CAUSED_BY)[2].partition(" ")[0]
    if cause.isdecimal() and catalogue.is_of_nvlink5(int(cause)):
        return f"Xid {code}, caused by Xid {cause}: an error of NVLink 5"
    if catalogue.is_of_nvlink5(code):
        return ""
    known = catalogue.xid(code)
    if known is None:
        return f"Xid {code}, which no table knows"
    return f"Xid {code}, {known.meaning}" if str(code) in limit.xids else ""
