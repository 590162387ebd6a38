"""Who takes part in a collective, over which wires, and what these carry.

The ceilings of bus_bandwidth.py, for the GPUs that there are: what NVLink carries
bounds the network of a rack, and the best published figure bounds sums within one.
"""

from typing import Literal

from speccheck.validator.evidence.measurement.bandwidth import GpuReadings
from speccheck.validator.evidence.record import Record
from speccheck.validator.models.bus_bandwidth import (
    Collective,
    Network,
    all_to_all_ceiling,
    bus_factor,
    hierarchical_ceiling,
    ring_ceiling,
)

# ring is also the algorithm of collectives for which NCCL has no other.
Algorithm = Literal["ring", "tree", "nvls", "nvls_tree", "collnet"]
# Collectives whose ring enters and leaves each node once.
OF_RINGS: tuple[Collective, ...] = ("all_reduce", "all_gather", "reduce_scatter")


class Setting(Record):
    """Who took part in a collective, and over which wires.

    Attributes:
        collective: as bus_bandwidth.py calls it.
        ranks: one for each GPU.
        domains: NVLink domains: nodes, or racks whose NVLink joins nodes.
        gpu: what is published of the GPUs.
        network_bytes_per_gpu: of all adapters of a node over all its GPUs, one way;
            None where it is not known, or where one domain needs none.
        idle_network_bytes: of the adapters of those GPUs of a domain that took no
            part: they may have helped the others.
        algorithm: that ran; None for what NCCL chooses where it may choose any.
        reduces_in_network: switches of the network add up (SHARP).

    """

    collective: Collective
    ranks: int
    domains: int
    gpu: GpuReadings
    network_bytes_per_gpu: float | None = None
    idle_network_bytes: float = 0.0
    algorithm: Algorithm | None = None
    reduces_in_network: bool = False

    @property
    def gpus_per_domain(self) -> int:
        """That took part."""
        return self.ranks // self.domains


class Ceilings(Record):
    """Bus bandwidth that wires allow, bytes per second; None for what does not apply.

    Attributes:
        ring: of rings through all adapters of a domain.
        hierarchical: of sums formed in a domain before they cross the network.
        in_network: of sums formed in the switches of the network.
        all_to_all: of parts that leave the domain.
        domain: of one NVLink domain, by the best published figure.
        wires: no algorithm exceeds it, whatever was published.

    """

    ring: float | None = None
    hierarchical: float | None = None
    in_network: float | None = None
    all_to_all: float | None = None
    domain: float | None = None
    wires: float | None = None

    @property
    def highest(self) -> float | None:
        """Of the algorithm that the wires favour; None where nothing bounds it."""
        return max((one for one in self[:-1] if one is not None), default=None)


def ceilings(setting: Setting) -> Ceilings:
    """What the wires of a setting allow; nothing where too little is known of them."""
    if setting.domains == 1:
        return _of_domain(setting)
    if setting.network_bytes_per_gpu is None:
        return Ceilings()
    network = Network(
        setting.domains, setting.gpus_per_domain, setting.network_bytes_per_gpu
    )
    # What idle GPUs leave to the others.
    helped = network._replace(
        bytes_per_gpu=network.bytes_per_gpu
        + setting.idle_network_bytes / setting.gpus_per_domain
    )
    if setting.collective == "all_to_all":
        found = all_to_all_ceiling(network).value
        return Ceilings(all_to_all=found, wires=all_to_all_ceiling(helped).value)
    if setting.collective not in OF_RINGS:
        return Ceilings()
    links = setting.gpu.link_bytes
    ring = _least(ring_ceiling(network).value, links)
    widest = _least(ring_ceiling(helped).value, links)
    if setting.collective != "all_reduce":
        return Ceilings(ring=ring, wires=widest)
    return _of_all_reduce(setting, ring, widest, network, helped)


def _of_all_reduce(
    setting: Setting, ring: float, widest: float, network: Network, helped: Network
) -> Ceilings:
    sums = hierarchical_ceiling(network).value
    most = max(widest, hierarchical_ceiling(helped).value)
    switches = None
    if setting.reduces_in_network:
        factor = bus_factor("all_reduce", setting.ranks)
        switches = ring_ceiling(network).value * factor
        most = max(most, ring_ceiling(helped).value * factor)
        switches = _least(switches, setting.gpu.cap)
    return Ceilings(
        ring=ring,
        hierarchical=_least(sums, setting.gpu.cap),
        in_network=switches,
        wires=_least(most, _link_bound(setting)),
    )


def _of_domain(setting: Setting) -> Ceilings:
    if setting.collective not in {*OF_RINGS, "all_to_all"}:
        return Ceilings()
    bound, cap = _link_bound(setting), setting.gpu.cap
    if bound is None:
        return Ceilings(domain=cap)
    return Ceilings(domain=None if cap is None else min(bound, cap), wires=bound)


def _link_bound(setting: Setting) -> float | None:
    """Of NVLink: sums formed in its switches need half of the bytes, nothing less."""
    links = setting.gpu.link_bytes
    if links is None or setting.collective != "all_reduce":
        return links
    return links * max(bus_factor("all_reduce", setting.ranks), 1.0)


def _least(value: float, bound: float | None) -> float:
    return value if bound is None else min(value, bound)
