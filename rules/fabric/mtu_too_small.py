"""Training ports that cut messages into small packets.

Why it hurts: an interface of 1500 bytes forces packets of 1024: four times as many, and
drops where nodes differ.

What passes: an active MTU of the clause's size; on Ethernet an interface that leaves
room for it with the headers. The kernel derives the active MTU from the interface, so
that of the interface is enough where the other cannot be read.

Where it does not apply: EFA; nodes without active training ports.

Source: opencomputeproject/OCP-Multipath-Reliable-Connection, examples; header sizes
(numbers of the clause); Linux include/rdma/ib_addr.h (iboe_get_mtu).

Bad::

    ip link show eth2       # mtu 1500

Good::

    ip link set dev eth2 mtu 9000
"""

from speccheck.rules.fabric._rails import EFA, ETHERNET, rails
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.node.rdma import (
    NetworkInterfaces,
    RdmaPort,
    RdmaPorts,
)
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.value import Value
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule


class Sizes(Numbers):
    """The active MTU and that of the interface, in bytes."""

    rdma_mtu: int
    netdev_mtu: int


@rule(clause="FAB-003")
def mtu_too_small(
    ports: RdmaPorts,
    interfaces: NetworkInterfaces,
    cluster: Cluster,
    environment: Environment,
    limit: Sizes,
) -> Verdicts:
    """Judge the packets of each active training port."""
    for port in rails(ports, cluster, environment):
        layer = port.link_layer.need()
        if layer == EFA or port.state.need() != "ACTIVE":
            continue
        active = port.active_mtu_bytes
        if active.is_known and active.need() < limit.rdma_mtu:
            yield _fail(port, active, limit.rdma_mtu)
            continue
        if layer != ETHERNET:
            yield passed(at=active, measured=active.need(), required=limit.rdma_mtu)
            continue
        name = port.network_interface.need()
        of_port = [
            network_interface
            for network_interface in interfaces.each()
            if network_interface.name.value == name
        ]
        mtu = of_port[0].mtu_bytes if of_port else Value[int](f"mtu of {name}")
        if mtu.need() < limit.netdev_mtu:
            yield _fail(port, mtu, limit.netdev_mtu)
            continue
        yield passed(at=[mtu, active], measured=mtu.value, required=limit.netdev_mtu)


def _fail(port: RdmaPort, value: Value[int], required: int) -> Verdict:
    name = port.network_interface.or_else("IF")
    remedy = f"ip link set dev {name} mtu 9000, on adapter and switch."
    if port.link_layer.value != ETHERNET:
        remedy = "Raise the MTU of the partition in the subnet manager."
    return fail(
        f"{port.title} has an MTU of {value.value:,} bytes; at least {required:,} "
        "must it be",
        at=value,
        measured=value.value,
        required=required,
        cost="up to four times as many packets, and drops where nodes differ",
        remedy=remedy,
        action="FIX_CONFIG",
    )
