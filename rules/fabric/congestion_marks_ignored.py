"""RoCE ports that do not slow down when switches mark their packets.

Why it hurts: switches mark packets before their buffers are full. Where no priority has
the marks answered by the receiver and heeded by the sender, pauses spread through the
fabric, or packets are lost, and bandwidth falls to a fraction. One rail whose
priorities differ slows all.

What passes: each training port answers and heeds marks on at least one common priority,
and on the same ones as the other ports. Which priority carries the traffic, the fabric
decides: it is not judged.

Where it does not apply: InfiniBand, EFA; MRC and Spectrum-X, which control congestion
themselves. Only the vendor's driver of ConnectX tells: elsewhere it is unknown.

Source: NVIDIA/nccl issues 306, 378; MLNX_OFED documentation, explicit congestion
notification; Mellanox/nic-configuration-operator (off on Spectrum-X).

Bad::

    cat /sys/class/net/eth2/ecn/roce_rp/enable/3     # 0, as for all priorities

Good::

    echo 1 > /sys/class/net/eth2/ecn/roce_rp/enable/3
"""

from speccheck.rules.fabric._rails import ETHERNET, rails, titles
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.rdma import (
    NetworkInterfaces,
    Numbers,
    RdmaPort,
    RdmaPorts,
)
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.value import MissingEvidence, Value
from speccheck.validator.rule import Verdicts, fail, passed, rule

_BY_MARKS = "roce-lossless"
Sides = tuple[Value[Numbers], Value[Numbers]]


@rule(clause="FAB-056")
def congestion_marks_ignored(
    ports: RdmaPorts,
    interfaces: NetworkInterfaces,
    cluster: Cluster,
    environment: Environment,
) -> Verdicts:
    """Judge both sides of each training port, then the ports among each other."""
    trained = rails(ports, cluster, environment)
    on_ethernet = [
        rdma_port for rdma_port in trained if rdma_port.link_layer.need() == ETHERNET
    ]
    if not on_ethernet or cluster.fabric.need() != _BY_MARKS:
        return
    of_ports = [(port, _sides(port, interfaces)) for port in on_ethernet]
    faults = [(port, at, what) for port, at in of_ports if (what := _fault(at))]
    for port, at, what in faults:
        yield fail(
            f"{port.title}: marks of congestion are {what}",
            at=at,
            measured="none",
            required="one priority or more",
            cost="pauses spread through the fabric, or packets are lost",
            action="FIX_CONFIG",
        )
    if faults:
        return
    groups: dict[frozenset[int], list[RdmaPort]] = {}
    for port, (answered, heeded) in of_ports:
        groups.setdefault(_known(answered) & _known(heeded), []).append(port)
    at_all = [side for _, sides in of_ports for side in sides]
    if len(groups) == 1:
        yield passed(at=at_all, measured=_shown(next(iter(groups))))
        return
    result = (f"{_shown(key)} on {titles(alike)}" for key, alike in groups.items())
    yield fail(
        f"marks of congestion are heeded on different priorities: {'; '.join(result)}",
        at=at_all,
        measured=len(groups),
        required=1,
        cost="ports that slow down late fill the buffers of the others",
        action="FIX_CONFIG",
    )


def _sides(port: RdmaPort, interfaces: NetworkInterfaces) -> Sides:
    """Return priorities on which the port's interface answers marks, and heeds them."""
    name = port.network_interface.value
    for network_interface in interfaces.shown:
        if name and network_interface.name.value == name:
            return (
                network_interface.congestion_answered_priorities,
                network_interface.congestion_heeded_priorities,
            )
    unknown = Value[Numbers]("network_interfaces", note=f"{name} is not listed")
    return unknown, unknown


def _fault(sides: Sides) -> str:
    """Return why no priority has both sides; empty if one has, or it is unknown."""
    answered, heeded = sides
    if answered.value == ():
        return "answered on no priority"
    if heeded.value == ():
        return "heeded on no priority"
    if not all(side.is_known and None not in side.need() for side in sides):
        return ""
    if _known(answered).isdisjoint(_known(heeded)):
        return "answered and heeded on no common priority"
    return ""


def _known(side: Value[Numbers]) -> frozenset[int]:
    numbers = side.need()
    if None in numbers:
        raise MissingEvidence(side.name, "a priority cannot be read")
    return frozenset(number for number in numbers if number is not None)


def _shown(priorities: frozenset[int]) -> str:
    return ",".join(map(str, sorted(priorities)))
