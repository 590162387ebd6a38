"""A software array that has lost a drive.

Why it hurts: scratch space of several drives without spare is gone with the next one,
and reads are slower until it is whole.

What passes: no degraded array.

Where it does not apply: a machine without software arrays that say so.

Source: facebookresearch/gcm, check of storage; Linux md(4).

Bad::

    cat /proc/mdstat        # [8/7] [UUUUUUU_]

Good::

    cat /proc/mdstat        # [8/8] [UUUUUUUU]
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-083")
def array_degraded(host: Host) -> Verdicts:
    """Judge the arrays that the kernel names."""
    value = host.degraded_arrays
    if value.status == "absent":
        return
    names = [text for text in value.need() if text]
    if not names:
        yield passed(at=value)
        return
    yield fail(
        f"degraded: {', '.join(names)}",
        at=value,
        measured=len(names),
        required=0,
        cost="the next drive that fails takes the data along",
        remedy="mdadm --detail shows the drive; drain the node and replace it.",
        action="ISOLATE",
    )
