"""A root file system that is nearly full.

Why it hurts: logs cannot be written, images cannot be pulled, and daemons stop.

What passes: a share in use below the clause's.

Where it does not apply: nowhere.

Source: docs.verda.com, validation of clusters.

Bad::

    df -h /     # 97 %

Good::

    df -h /     # 41 %
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Share(Numbers):
    """The share that may be in use."""

    share_max: float


@rule(clause="HW-082")
def root_disk_full(host: Host, limit: Share) -> Verdicts:
    """Judge the share in use."""
    value = host.root_used_share
    if value.need() < limit.share_max:
        yield passed(at=value, measured=value.value, required=limit.share_max)
        return
    yield fail(
        f"{value.value:.0%} of the root file system are used; it should be below "
        f"{limit.share_max:.0%}",
        at=value,
        measured=value.value,
        required=limit.share_max,
        cost="logs and pulls of images fail",
        remedy="Find what fills it with du -x / | sort -n | tail, and clean up.",
        action="FIX_CONFIG",
    )
