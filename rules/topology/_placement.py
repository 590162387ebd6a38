"""On which machines the place of devices on the bus means something."""

from collections.abc import Iterator

from speccheck.validator.evidence.node.host import Host

_ARM = "aarch64"


def is_bare_server(host: Host) -> bool:
    """Return whether it is no virtual machine, and not of ARM.

    A guest sees the bus that its hypervisor draws. Superchips reach GPUs over links of
    their own, and translate addresses for peers in hardware.
    """
    return host.virtualisation.need() == "none" and host.architecture.need() != _ARM


def processors(text: str) -> Iterator[range]:
    """Yield ranges of a CPU list, 0-47,96-143; raises ValueError for anything else."""
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        yield range(int(first), int(last or first) + 1)


def is_near(mine: str, allowed: str) -> bool:
    """Return whether two CPU lists share a processor."""
    others = [*processors(allowed)]
    return any(
        max(processor.start, other.start) < min(processor.stop, other.stop)
        for processor in processors(mine)
        for other in others
    )
