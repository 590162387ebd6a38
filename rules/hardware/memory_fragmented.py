"""Host memory without large free blocks.

Why it hurts: the registration of large buffers needs blocks of many pages in a row; the
kernel must first move pages, or it fails.

What passes: as many large free blocks, over all zones, as the clause asks for.

Where it does not apply: nowhere.

Source: facebookresearch/gcm, check of /proc/buddyinfo, there by zone; small zones never
have so many, so all are counted together here.

Bad::

    cat /proc/buddyinfo     # noughts in the last three columns

Good::

    echo 1 > /proc/sys/vm/compact_memory
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Blocks(Numbers):
    """Free blocks of at least 256 pages in a row."""

    blocks_min: int


@rule(clause="HW-074")
def memory_fragmented(host: Host, limit: Blocks) -> Verdicts:
    """Count the large free blocks of all zones."""
    value = host.free_large_blocks
    count = sum(number for number in value.need() if number is not None)
    if count >= limit.blocks_min:
        yield passed(at=value, measured=count, required=limit.blocks_min)
        return
    yield fail(
        f"{count} large blocks of host memory are free; at least {limit.blocks_min} "
        "should be",
        at=value,
        measured=count,
        required=limit.blocks_min,
        cost="large buffers are registered slowly, or not at all",
        remedy="echo 1 > /proc/sys/vm/compact_memory as root, or reboot.",
        action="REBOOT",
    )
