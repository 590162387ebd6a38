"""GPUs behind one switch that do not reach each other over NVLink.

Why it hurts: traffic between these two goes through the host, at a tenth of the
bandwidth, and NCCL builds its rings around it.

What passes: peer access and NVLink are in order from this GPU to each other one.

Where it does not apply: pairs that no switch joins: bridges join two, older boards
some. Partitioned GPUs and confidential computing have no peer access by design.

Source: nvml.h, nvmlDeviceGetP2PStatus; awslabs/awsome-distributed-ai.

Bad::

    nvidia-smi topo -p2p n    # GPU0 - GPU3: NS

Good::

    nvidia-smi topo -p2p n    # OK on all pairs
"""

from collections.abc import Iterator

from speccheck.rules.hardware._links import ends, ends_at_switch, has_no_links
from speccheck.validator.evidence.node.fault_codes import PEER_OK, PEER_STATUSES
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.host import Driver
from speccheck.validator.evidence.node.profile import GpuProfiles
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.models.units import numbered
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-118")
def gpus_apart(gpu: Gpu, profiles: GpuProfiles, gpus: Gpus, driver: Driver) -> Verdicts:
    """Judge the paths from one GPU to each other one."""
    others = gpus.count.need() - 1
    if others < 1 or has_no_links(gpu, profiles):
        return
    at = [gpu.peer_nvlink_status, gpu.peer_read_status]
    apart = {other.title: why for other, why in _apart(gpu, gpus) if why}
    if apart:
        confidential = driver.confidential_computing_is_on
        if confidential.status != "not_supported" and confidential.need():
            return
        which = "; ".join(f"{title}: {why}" for title, why in apart.items())
        yield fail(
            f"{len(apart)} of {numbered(others, 'GPU')} behind the same switches "
            f"cannot be reached in order ({which}); required: all of them",
            at=at,
            measured=others - len(apart),
            required=others,
            cost="traffic to them goes through the host, at a tenth of the bandwidth",
            remedy="See that the fabric manager runs, that the container has all GPUs "
            "of the node, and nvidia-smi topo -p2p n; then drain the node and reset "
            "its GPUs.",
            action="ISOLATE",
        )
        return
    statuses = [leaf.need() for leaf in at]
    if all(
        len(status) == others + 1 and not any(map(_is_odd, status))
        for status in statuses
    ):
        yield passed(at=at, measured=others, required=others)
    elif any(None in status or len(status) != others + 1 for status in statuses):
        raise MissingEvidence(at[0].name, "not known of all GPUs")
    elif not ends(gpu):
        raise MissingEvidence(gpu.nvlink_remote_type.name, "no end is known")


def _is_odd(status: int | None) -> bool:
    return status != PEER_OK


def _apart(gpu: Gpu, gpus: Gpus) -> Iterator[tuple[Gpu, str]]:
    """Yield each other GPU behind the switches, and what is wrong on the way."""
    if not ends_at_switch(gpu) or _is_partitioned(gpu):
        return
    for index, other in enumerate(gpus.shown):
        if other.path == gpu.path or not ends_at_switch(other):
            continue
        faults = [
            f"{what}: {PEER_STATUSES.get(status, f'status {status}')}"
            for what, leaf in (
                ("NVLink", gpu.peer_nvlink_status),
                ("access", gpu.peer_read_status),
            )
            for status in leaf.or_else(())[index : index + 1]
            if status is not None and status != PEER_OK
        ]
        if faults and not _is_partitioned(other):
            yield other, ", ".join(faults)


def _is_partitioned(gpu: Gpu) -> bool:
    partitioned = gpu.mig_is_on
    return partitioned.status != "not_supported" and bool(partitioned.value)
