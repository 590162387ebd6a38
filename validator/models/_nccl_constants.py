"""What NCCL's tuner takes for latencies and bandwidths, by release.

Source: NVIDIA/nccl src/graph/tuning.cc, read at the tags 2.18.5, 2.20.5, 2.22.3,
2.23.4, 2.26.2, 2.27.7, 2.28.9, 2.29.2 and 2.30.7; a constant is taken to change at the
first of them that has it. Triples are of the protocols LL, LL128 and Simple, or of 1, 2
and at least 4 nodes. Microseconds, and 1e9 bytes per second of a channel.
"""

from typing import Any

from speccheck.validator.evidence.record import Record
from speccheck.validator.models.architectures import Architecture

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
    """The constants of a release; those of 2.18 for an older one."""
    constants = _FIRST
    for since, changes in _CHANGES:
        if version >= since:
            constants = constants._replace(**changes)
    return constants
