"""Bus bandwidth of collectives: what nccl-tests print, and what hardware allows.

Rates are bytes per second, one way; the ceilings are those of the wires, which no
healthy measurement exceeds. Sources: NVIDIA/nccl-tests doc/PERFORMANCE.md;
NVIDIA/nccl src/graph/topo.h; stas00/ml-engineering network/README.md.
"""

from typing import Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.estimate import Estimate, exactly

Architecture = Literal["ampere", "hopper", "blackwell"]

_ARCHITECTURES: dict[tuple[int, int], Architecture] = {
    (8, 0): "ampere",  # A100, A800, A30
    (9, 0): "hopper",  # H100, H200, H800, H20, GH200
    (10, 0): "blackwell",  # B200, GB200
    (10, 3): "blackwell",  # B300, GB300
}


def architecture_of(compute_capability: tuple[int, int]) -> Architecture | None:
    """Return the generation of a compute capability; None for one without readings."""
    return _ARCHITECTURES.get(compute_capability)


_BITS = 8
_GIGA = 1e9
# By generation: transfers of a lane in 1e9 a second, and the share that is data.
_LANES: dict[int, tuple[float, float]] = {
    1: (2.5, 8 / 10),
    2: (5.0, 8 / 10),
    3: (8.0, 128 / 130),
    4: (16.0, 128 / 130),
    5: (32.0, 128 / 130),
    6: (64.0, 242 / 256),
}


def pcie_bytes_per_second(generation: int, width: int) -> float | None:
    """Return what a PCIe link carries one way.

    None for a generation that is not known.
    """
    lane = _LANES.get(generation)
    if lane is None:
        return None
    transfers, share = lane
    return transfers * _GIGA * share * width / _BITS


Collective = Literal[
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "sendrecv",
]

GIGA = 1e9
_TESTS = "NVIDIA/nccl-tests doc/PERFORMANCE.md"

# Payload that NCCL reckons with on each NVLink (topo.h of 2.20 and later for Hopper,
# 2.27 and later for Blackwell; 20.0 and 40.0 before).
_LINK_RATES: dict[Architecture, float] = {
    "ampere": 20.0e9,
    "hopper": 20.6e9,
    "blackwell": 40.1e9,
}


def bus_factor(collective: Collective, ranks: int) -> float:
    """Return the ratio of bus bandwidth to algorithm bandwidth."""
    if collective == "all_reduce":
        return 2 * (ranks - 1) / ranks
    if collective in {"all_gather", "reduce_scatter", "all_to_all"}:
        return (ranks - 1) / ranks
    return 1.0


class Bandwidths(Record):
    """Bytes per second of one measurement."""

    algorithm: Estimate
    bus: Estimate


def bandwidths(
    collective: Collective, ranks: int, size_bytes: float, seconds: float
) -> Bandwidths:
    """Return bandwidths of a message: whole buffer, for all-gather the gathered one."""
    rate = exactly(size_bytes / seconds, _TESTS)
    return Bandwidths(rate, rate.times(bus_factor(collective, ranks)))


def ranks_of_all_reduce(algorithm: float, bus: float) -> int:
    """Return the ranks that made both figures: bus / algorithm = 2 (n - 1) / n."""
    return round(2 / (2 - bus / algorithm))


def ranks_of_ratio(collective: Collective, ratio: float) -> int | None:
    """Return the ranks of which bus over algorithm bandwidth is this; None for none."""
    if collective not in {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}:
        return None
    whole = 2.0 if collective == "all_reduce" else 1.0
    if not 0 <= ratio < whole:
        return None
    return round(whole / (whole - ratio))


class Network(Record):
    """Nodes, or NVLink domains on rack-scale systems, and their adapters.

    bytes_per_gpu: bytes per second of all adapters of a node over its GPUs, one way.
    """

    nodes: int
    gpus_per_node: int
    bytes_per_gpu: float

    @property
    def ranks(self) -> int:
        """All GPUs."""
        return self.nodes * self.gpus_per_node


def adapter_rate(bus: float, nodes: int, ranks: int) -> float:
    """Return what one GPU's adapter carries in a hierarchical all-reduce of `bus`."""
    return bus * (nodes - 1) / (ranks - 1)


def ring_ceiling(network: Network) -> Estimate:
    """Return the ceiling of a ring's all-reduce, all-gather and reduce-scatter.

    A ring enters and leaves each node once, over all its adapters.
    """
    return exactly(network.gpus_per_node * network.bytes_per_gpu, "adapters of a node")


def hierarchical_ceiling(network: Network) -> Estimate:
    """Return the ceiling of tree and NVLSTree all-reduce.

    Only the sums of a node cross the network.
    """
    ranks, nodes = network.ranks, network.nodes
    rate = network.bytes_per_gpu * (ranks - 1) / (nodes - 1)
    return exactly(rate, "adapters of a node, sums formed within")


def all_to_all_ceiling(network: Network) -> Estimate:
    """Return the ceiling of all-to-all: (n - g) of n - 1 parts leave the node."""
    ranks = network.ranks
    rate = network.bytes_per_gpu * (ranks - 1) / (ranks - network.gpus_per_node)
    return exactly(rate, "adapter of a GPU, parts that leave the node")


def nvlink_ring_ceiling(links: int, architecture: Architecture) -> Estimate:
    """Return the ceiling of a ring in one NVLink domain.

    NVLS adds in the switch, above it.
    """
    return exactly(links * _LINK_RATES[architecture], "NVIDIA/nccl topo.h")
