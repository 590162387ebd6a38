"""What a collective can reach on given wires, and below what it is too slow.

Ceilings are those of the wires; no healthy measurement exceeds them. Floors are shares
of the ring's ceiling between nodes, and of what healthy machines were published to
reach inside one NVLink domain. All rates are bus bandwidth, bytes per second. Sources:
NVIDIA/nccl-tests doc/PERFORMANCE.md; stas00/ml-engineering network/README.md;
NVIDIA/cluster-readiness-engine ADR-021.
"""

from collections.abc import Mapping
from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.bus_bandwidth import Collective
from speccheck.validator.models.estimate import Estimate

# ring: also for collectives of which NCCL has no other. default: what NCCL chooses.
Algorithm = Literal["ring", "tree", "nvls", "nvls_tree", "collnet"]


class GpuReadings(Record):
    """What is published of one type of GPU, joined by NVLink.

    Attributes:
        id: the row of the catalogue; empty for a GPU that none describes.
        gpus: of the NVLink domain that was measured.
        link_bytes: payload of all links of a GPU, one way.
        cap: the best of all that is published, rounded up; None without any.
        ring, nvls: what a healthy domain of `gpus` reaches in all-reduce.
        shares: by message size in bytes, the share of its peak that it reaches.
        source: of the figures.

    """

    id: str
    gpus: int
    link_bytes: float | None
    cap: float | None = None
    ring: float | None = None
    nvls: float | None = None
    shares: Mapping[int, float] = {}
    source: str = ""


class Setting(Record):
    """Who took part in a collective, and over which wires.

    Attributes:
        collective: as nccl-tests calls it.
        ranks: one for each GPU.
        domains: NVLink domains: nodes, or racks whose NVLink joins nodes.
        gpu: what is published of the GPUs.
        network_bytes_per_gpu: of all adapters of a node over its GPUs, one way; None
            where it is not known, or where one domain needs none.
        network_bytes_per_node: where some GPUs of a node took no part, what all its
            adapters carry: theirs may have helped.
        algorithm: that ran; None for what NCCL chose among all.
        reduces_in_network: switches of the network add up (SHARP).

    """

    collective: Collective
    ranks: int
    domains: int
    gpu: GpuReadings
    network_bytes_per_gpu: float | None = None
    network_bytes_per_node: float | None = None
    algorithm: Algorithm | None = None
    reduces_in_network: bool = False


class Shares(Record):
    """Which shares of ceiling or reference are too little."""

    fail: float = 0.80
    warn: float = 0.92


class Expectation(Record):
    """What one size of one setting should reach; bytes per second of bus bandwidth.

    Attributes:
        ceiling: what the wires allow, by the algorithm that they favour.
        plausible: above it a figure is no measurement: it is a mistake.
        reference: what healthy machines reach.
        fail_below, warn_below: the floors; None where there is none.
        basis: what the floors are shares of, with the arithmetic.
        reason: why there is no floor; empty where there is one.
        latency: seconds that a message of no length takes.
        sources: where the figures come from.

    """

    ceiling: Estimate | None = None
    plausible: float | None = None
    reference: Estimate | None = None
    fail_below: float | None = None
    warn_below: float | None = None
    basis: str = ""
    reason: str = ""
    latency: Estimate | None = None
    sources: tuple[str, ...] = ()


def expectation(
    setting: Setting, size_bytes: int, shares: Shares | None = None
) -> Expectation:
    """What a healthy cluster reaches, and the floors below which it is too slow."""
    raise NotImplementedError
