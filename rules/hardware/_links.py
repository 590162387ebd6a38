"""What rules on the NVLinks of a GPU share."""

from collections.abc import Iterable
from typing import Any

from speccheck.validator.evidence.node.fault_codes import (
    FEWEST_LINKS_OF_A_PEER,
    LINK_TO_SWITCH,
    NVLINK_3,
    NVLINK_5,
    UNKNOWN_LINK_END,
)
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.profile import (
    GpuProfile,
    GpuProfiles,
    InstanceProfile,
)
from speccheck.validator.evidence.value import MissingEvidence, Value


def links_up(gpu: Gpu) -> tuple[int, ...]:
    """Return the numbers of links that are up; raises MissingEvidence without any."""
    states = gpu.nvlink_is_active.need()
    return tuple(link for link, is_up in enumerate(states) if is_up)


def has_no_links(gpu: Gpu, profiles: GpuProfiles) -> bool:
    """Return whether surely no link is up, so that there is nothing to judge."""
    states = gpu.nvlink_is_active
    if states.status == "not_supported":
        return True
    if states.value is None and profiles.of(gpu).has_nvlink.value is False:
        return True
    return states.value is not None and not any(
        item is not False for item in states.value
    )


def counts_as_before(gpu: Gpu, leaf: Value[Any], profiles: GpuProfiles) -> bool:
    """Return whether a leaf of NVLink 5 is missing of a GPU known to be older."""
    generation = profiles.of(gpu).nvlink_generation
    return not leaf.is_known and generation.or_else(NVLINK_5) < NVLINK_5


def seen(gpu: Gpu, leaf: Value[tuple[int | None, ...]]) -> dict[int, int]:
    """Return what is known of links that are up, by link; of all without states.

    The library counts from zero: a number below is none.
    """
    result = {
        link: number
        for link, number in enumerate(leaf.or_else(()))
        if number is not None and number >= 0
    }
    states = gpu.nvlink_is_active.value
    if states is None:
        return result
    up = {link for link, is_up in enumerate(states) if is_up}
    return {link: number for link, number in result.items() if link in up}


def need_all(gpu: Gpu, leaf: Value[tuple[int | None, ...]]) -> dict[int, int]:
    """Return what is known of each link that is up; raises MissingEvidence."""
    result = seen(gpu, leaf)
    leaf.need()
    states = gpu.nvlink_is_active.need()
    for link, is_up in enumerate(states):
        if is_up is None:
            raise MissingEvidence(gpu.nvlink_is_active.name, f"link {link} not known")
        if is_up and link not in result:
            raise MissingEvidence(leaf.name, f"link {link} not known")
    return result


def need_type(gpu: Gpu) -> None:
    """Ask for the device id: where it disagrees with the name, no profile is sure."""
    if gpu.pci_device_id.status != "not_supported":
        gpu.pci_device_id.need()


def ends(gpu: Gpu) -> dict[int, int]:
    """Return by link that is up what it ends at, where that is known."""
    result = seen(gpu, gpu.nvlink_remote_type)
    return {link: end for link, end in result.items() if end != UNKNOWN_LINK_END}


def ends_at_switch(gpu: Gpu) -> bool:
    """Return whether a link of it is known to end at a switch."""
    return LINK_TO_SWITCH in ends(gpu).values()


def is_of_rack(gpus: Gpus, instance: InstanceProfile) -> bool:
    """Return whether its links should reach other nodes; raises where unsure."""
    size = instance.nvlink_domain_size
    if not size.is_known or size.need() <= len(gpus.shown):
        return False
    of_node = instance.gpus
    if of_node.is_known and size.need() <= of_node.need():
        return False
    size.need_stated()
    return True


def listed(links: Iterable[int]) -> str:
    """Return the numbers of links, in words."""
    numbers = [str(link) for link in sorted(links)]
    return f"link{'s' if numbers[1:] else ''} {', '.join(numbers)}"


def explains_no_part(gpu: Gpu, gpus: Gpus, profile: GpuProfile, down: int) -> bool:
    """Return whether no part of a board that a guest gets explains the links down.

    A guest lacks the links to GPUs that others have: all of one, and never its own.
    """
    if True not in gpu.nvlink_is_active.or_else(()):
        return len(gpus.shown) > 1 or gpus.count.value != 1
    is_by_four = profile.nvlink_generation.or_else(0) >= NVLINK_3
    return is_by_four and down < FEWEST_LINKS_OF_A_PEER
