"""A Grace node with EFA and no reserved large pages.

Why it hurts: the EFA software asks for pages of 2 MiB, and falls back to slower ones.

What passes: some are reserved.

Where it does not apply: other machines; kernels whose default large page has another
size are unknown.

Source: NVIDIA/cluster-readiness-engine, notes on GB200 with EFA.

Bad::

    grep HugePages_Total /proc/meminfo      # 0

Good::

    sysctl -w vm.nr_hugepages=5128
"""

from speccheck.validator.evidence.node.host import Host
from speccheck.validator.evidence.node.rdma import RdmaDevices
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Pages(Numbers):
    """How many large pages must be reserved."""

    pages_min: int


@rule(clause="HW-084")
def hugepages_missing(host: Host, devices: RdmaDevices, limit: Pages) -> Verdicts:
    """Judge the reserved pages of an Arm machine with EFA."""
    if not any(rdma_device.driver.need() == "efa" for rdma_device in devices.each()):
        return
    if host.architecture.need() != "aarch64":
        return
    value = host.hugepages
    if value.need() >= limit.pages_min:
        yield passed(at=value, measured=value.value, required=limit.pages_min)
        return
    yield fail(
        f"{value.value} large pages are reserved; at least {limit.pages_min} should be",
        at=value,
        measured=value.value,
        required=limit.pages_min,
        cost="buffers of EFA lie in small pages",
        remedy="sysctl -w vm.nr_hugepages=5128, in /etc/sysctl.d for good; in "
        "Kubernetes ask for hugepages-2Mi.",
        action="FIX_CONFIG",
    )
