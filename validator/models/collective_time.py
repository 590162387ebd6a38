"""How long NCCL's all-reduce takes, by algorithm and protocol, as its tuner reckons.

time = latency + bytes / algorithm bandwidth. One node of eight H100 and the ring: 21 of
23 published times up to 32 MiB within 25 percent; over several nodes nothing was
published to hold it to, so that crossovers are advice. A tuner plugin overrides the
choice. Source: NVIDIA/nccl src/graph/tuning.cc, release 2.30.
"""

import math
from typing import Any, Literal

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.bus_bandwidth import GIGA, Architecture, bus_factor
from speccheck.validator.models.estimate import Estimate

Version = tuple[int, int]
Triple = tuple[float, float, float]
ByArchitecture = dict[Architecture, Triple]

NEWEST: Version = (2, 30)


class TunerConstants(Record):
    """The constants of one release; hops are over NVLink, or over the network."""

    base_tree: Triple
    base_ring: Triple
    nvlink_tree: Triple
    nvlink_ring: Triple
    network_tree: Triple
    network_ring: Triple
    nvls: float  # NVLink hop of NVLS and NVLSTree
    network_nvls: float
    network_nvls_tree: float
    ll_of_node: dict[Architecture, float]  # bound of LL inside a node
    tree_channel: ByArchitecture
    ring_ll128_channel: ByArchitecture


_AMPERE_TREE, _HOPPER_TREE = (24.0, 23.6, 17.8), (38.7, 41.4, 36.0)
_AMPERE_LL128, _HOPPER_LL128 = (20.0, 20.0, 20.0), (36.7, 36.7, 36.7)

_FIRST = TunerConstants(
    base_tree=(6.8, 14.0, 0.0),
    base_ring=(6.6, 14.0, 8.4),
    nvlink_tree=(0.6, 1.25, 4.0),
    nvlink_ring=(0.6, 1.9, 3.4),
    network_tree=(5.0, 8.5, 14.0),
    network_ring=(2.7, 4.0, 14.0),
    nvls=23.0,
    network_nvls=18.0,
    network_nvls_tree=19.0,
    ll_of_node={"ampere": 87.7, "hopper": 87.7},
    tree_channel={"ampere": _AMPERE_TREE, "hopper": _HOPPER_TREE},
    ring_ll128_channel={"ampere": _AMPERE_LL128, "hopper": _HOPPER_LL128},
)


def _tree(blackwell: Triple) -> ByArchitecture:
    return {**_FIRST.tree_channel, "blackwell": blackwell}


def _ll128(blackwell: Triple) -> ByArchitecture:
    return {**_FIRST.ring_ll128_channel, "blackwell": blackwell}


# What each release changed. Blackwell came with 2.26.
_CHANGES: tuple[tuple[Version, dict[str, Any]], ...] = (
    (
        (2, 20),
        {
            "nvlink_tree": (0.6, 1.25, 28.0),
            "network_tree": (5.0, 8.5, 28.0),
            "network_nvls_tree": 14.0,
        },
    ),
    ((2, 22), {"nvls": 25.0, "ll_of_node": {"ampere": 87.7, "hopper": 141.0}}),
    (
        (2, 23),
        {
            "base_tree": (6.8, 14.0, 8.4),
            "nvlink_tree": (0.6, 1.25, 4.0),
            "network_tree": (5.0, 8.5, 14.0),
        },
    ),
    (
        (2, 26),
        {
            "ll_of_node": {"ampere": 87.7, "hopper": 141.0, "blackwell": 282.0},
            "tree_channel": _tree((77.4, 82.8, 72.0)),
            "ring_ll128_channel": _ll128((73.4, 73.4, 73.4)),
        },
    ),
    (
        (2, 28),
        {
            "network_nvls_tree": 20.9,
            "tree_channel": _tree((70.0, 42.8, 24.0)),
            "ring_ll128_channel": _ll128((73.4, 34.6, 73.4)),
        },
    ),
    ((2, 29), {"ring_ll128_channel": _ll128((34.5, 34.6, 34.5))}),
    ((2, 30), {"ring_ll128_channel": _ll128((40.0, 40.0, 40.0))}),
)


def constants_of(version: Version) -> TunerConstants:
    """Return the constants of a release; those of 2.18 for an older one."""
    constants = _FIRST
    for since, changes in _CHANGES:
        if version >= since:
            constants = constants._replace(**changes)
    return constants


Algorithm = Literal["ring", "tree"]
Protocol = Literal["ll", "ll128", "simple"]
PROTOCOLS: tuple[Protocol, ...] = ("ll", "ll128", "simple")

_MICRO = 1e-6
_SOURCE = "NVIDIA/nccl src/graph/tuning.cc"
_RING_BAND = 0.25
_ONE_NODE = "ring in one node, one process for each GPU, to 32 MiB"
# Microseconds that a ring of several nodes spends to post a send, by vendor of the
# host CPU; three times as long with Simple. Bounds of LL on 2 and on more nodes.
_POST_OVERHEAD = {"intel": 1.0, "amd": 2.0}
_LL_OF_NODES = {"intel": (39.0, 20.4), "amd": (22.5, 19.0)}
_LL_SHARE, _LL128_SHARE, _TREE_SHARE = 0.5, 0.92, 0.92
# A long ring message on several nodes waits for its slowest hop.
_RING_PLATEAU = 1.4
# Sums formed in the NVSwitch: the best published figures of one node, GB/s of bus
# bandwidth at 16 GiB (NVIDIA/dgxc-benchmarking; stas00/ml-engineering).
_NVLS_BUS: dict[Architecture, float] = {"hopper": 480.0, "blackwell": 846.0}


class CommunicatorShape(Record):
    """The GPUs of an all-reduce, and the channels that NCCL found between them.

    Attributes:
        architecture: of all GPUs.
        nodes: with `gpus_per_node` GPUs each, joined by NVLink.
        channels: rings; `channel_rate`, bytes per second of each.
        cpu: vendor of the hosts, intel or amd.
        link_latency: seconds that the network adds to each hop.
        version: of NCCL.

    """

    architecture: Architecture
    nodes: int
    gpus_per_node: int
    channels: int = 16
    channel_rate: float = 24e9
    cpu: Literal["intel", "amd"] = "intel"
    link_latency: float = 0.0
    version: Version = NEWEST

    @property
    def ranks(self) -> int:
        """All GPUs."""
        return self.nodes * self.gpus_per_node

    @property
    def constants(self) -> TunerConstants:
        """What the tuner of this release takes."""
        return constants_of(self.version)


def latency(who: CommunicatorShape, algorithm: Algorithm, protocol: Protocol) -> float:
    """Return the seconds that an all-reduce of nothing takes."""
    at = PROTOCOLS.index(protocol)
    of = who.constants
    delay = who.link_latency / _MICRO * (2 if protocol == "simple" else 1)
    if algorithm == "tree":
        inside = (who.gpus_per_node - 1) * of.nvlink_tree[at]
        across = math.floor(math.log2(who.nodes)) * (of.network_tree[at] + delay)
        return (of.base_tree[at] + 2 * (inside + across)) * _MICRO
    hops, across_hops = 2 * (who.ranks - 1), 2 * (who.nodes - 1)
    hop = of.nvlink_ring[at]
    if who.nodes > 1:
        hop = max(hop, _POST_OVERHEAD[who.cpu] * (3 if protocol == "simple" else 1))
    across = across_hops * (of.network_ring[at] + delay)
    return (of.base_ring[at] + (hops - across_hops) * hop + across) * _MICRO


def nvls_tree_latency(nodes: int, version: Version = NEWEST) -> float:
    """Return the seconds of an all-reduce of nothing by NVSwitches and node trees."""
    of = constants_of(version)
    return (of.nvls + 2 * math.floor(math.log2(nodes)) * of.network_nvls_tree) * _MICRO


def ring_bandwidth(who: CommunicatorShape, protocol: Protocol) -> float:
    """Return the algorithm bandwidth of the ring, bytes per second."""
    bus = who.channels * who.channel_rate
    if protocol == "ll":
        bus = min(_LL_SHARE * bus, _ll_bound(who) * GIGA)
    elif protocol == "ll128":
        bound = who.constants.ring_ll128_channel[who.architecture]
        each = _of_nodes(bound, who.nodes) * GIGA
        bus = min(_LL128_SHARE * bus, who.channels * each)
    return bus / bus_factor("all_reduce", who.ranks)


def _ll_bound(who: CommunicatorShape) -> float:
    if who.nodes == 1:
        return who.constants.ll_of_node[who.architecture]
    two, more = _LL_OF_NODES[who.cpu]
    return two if who.nodes == 2 else more  # noqa: PLR2004 - a pair


def _of_nodes(triple: Triple, nodes: int) -> float:
    return triple[min(nodes, 3) - 1]


def tree_bandwidth(who: CommunicatorShape) -> float:
    """Return the algorithm bandwidth of the tree with Simple, for large messages.

    Up and down share the links, hence the half. Messages up to 256 MiB reach 0.4 to
    1.0 of it.
    """
    each = _of_nodes(who.constants.tree_channel[who.architecture], who.nodes) * GIGA
    bus = who.channels * who.channel_rate
    return min(_TREE_SHARE * bus, who.channels * each) / 2


def ring_time(who: CommunicatorShape, size_bytes: float) -> Estimate:
    """Return the seconds of the fastest protocol of the ring."""
    times = []
    for protocol in PROTOCOLS:
        waits = latency(who, "ring", protocol)
        if protocol == "simple" and who.nodes > 1:
            waits *= _RING_PLATEAU
        times.append(waits + size_bytes / ring_bandwidth(who, protocol))
    estimate = _banded(min(times), _ONE_NODE)
    return estimate if who.nodes == 1 else estimate._replace(kind="advisory", valid="")


def nvls_time(who: CommunicatorShape, size_bytes: float) -> Estimate | None:
    """Return the seconds of a sum formed in the NVSwitch of one node.

    None where there is none.
    """
    rate = _NVLS_BUS.get(who.architecture)
    if rate is None or who.nodes > 1:
        return None
    moved = size_bytes * bus_factor("all_reduce", who.ranks) / (rate * GIGA)
    value = who.constants.nvls * _MICRO + moved
    return _banded(value, "eight GPUs in one node")


def _banded(seconds: float, valid: str) -> Estimate:
    """Return the times from which the prediction is at most the band away."""
    low, high = seconds / (1 + _RING_BAND), seconds / (1 - _RING_BAND)
    return Estimate(seconds, low, high, "calibrated", _SOURCE, valid)


def ring_tree_crossover(who: CommunicatorShape) -> Estimate:
    """Return the bytes from which on the ring beats the tree, both with Simple."""
    ring = _RING_PLATEAU * latency(who, "ring", "simple")
    head_start = ring - latency(who, "tree", "simple")
    ring_rate, tree_rate = ring_bandwidth(who, "simple"), tree_bandwidth(who)
    size = head_start / (1 / tree_rate - 1 / ring_rate)
    return Estimate(size, 0.0, math.inf, "advisory", _SOURCE, "no tuner plugin")
