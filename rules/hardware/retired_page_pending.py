"""A GPU before Ampere with a memory page that waits to be retired.

Why it hurts: the bad page stays in use until the driver is loaded again; the next
double-bit error in it ends the job.

What passes: no page waits.

Where it does not apply: Ampere and newer GPUs, which remap rows instead.

Source: NVIDIA Dynamic Page Retirement; facebookresearch/gcm.

Bad::

    nvidia-smi -q -d PAGE_RETIREMENT   # Pending Page Blacklist: Yes

Good::

    nvidia-smi -q -d PAGE_RETIREMENT   # Pending Page Blacklist: No
"""

from speccheck.validator.evidence.node.gpu import Gpu
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-002")
def retired_page_pending(gpu: Gpu) -> Verdicts:
    """Judge whether a page waits."""
    pending = gpu.retirement_is_pending
    if pending.status == "not_supported":
        return
    if pending.need():
        yield fail(
            "a page of memory waits to be retired; none may wait",
            at=pending,
            cost="the next error in that page ends the job",
            remedy="Drain the node and reboot it: the page is retired at the start.",
            action="REBOOT",
        )
        return
    yield passed(at=pending)
