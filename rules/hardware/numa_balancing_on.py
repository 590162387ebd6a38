"""Automatic NUMA balancing on a node with several NUMA nodes.

Why it hurts: the kernel takes pages away to see who uses them, and moves them: steps
get uneven.

What passes: kernel.numa_balancing is 0.

Where it does not apply: a machine with one NUMA node; a kernel without it.

Source: Linux Documentation/admin-guide/sysctl/kernel.rst; an engineering default.

Bad::

    sysctl kernel.numa_balancing        # 1

Good::

    sysctl -w kernel.numa_balancing=0
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Balancing(Numbers):
    """The value of the setting."""

    numa_balancing: int


@rule(clause="HW-073")
def numa_balancing_on(host: Host, wanted: Balancing) -> Verdicts:
    """Judge the setting where pages could move at all."""
    value = host.numa_balancing
    if value.status == "absent" or host.numa_nodes.need() <= 1:
        return
    if value.need() == wanted.numa_balancing:
        yield passed(at=value, measured=value.value)
        return
    yield fail(
        f"kernel.numa_balancing is {value.value} on {host.numa_nodes.value} NUMA "
        f"nodes; {wanted.numa_balancing} keeps pages where they are",
        at=value,
        measured=value.value,
        required=wanted.numa_balancing,
        remedy="sysctl -w kernel.numa_balancing=0.",
        action="FIX_CONFIG",
    )
