"""A node whose adapters send packets of another size.

Why it hurts: a packet that is larger than what the other end takes is dropped. Small
messages pass, so that initialisation works and the first large collective hangs.

What passes: one active MTU of the RDMA ports over all nodes, and one MTU of each
network interface by its name.

Where it does not apply: a fleet of one node. Interfaces that fewer than half of the
nodes have are not compared.

Source: NVIDIA/dgx-spark-playbooks PR 103 (MTU differs between nodes).

Bad::

    ibv_devinfo | grep active_mtu    # 4096 on 63 nodes, 1024 on one

Good::

    ibv_devinfo | grep active_mtu    # 4096 on 64 nodes
"""

from speccheck.validator.comparison.differences import ComparedNodes, by_key, differing
from speccheck.validator.comparison.verdicts import Advice, verdicts
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule

_PORTS = ComparedNodes(
    "rdma_ports.active_mtu_bytes", "MTU of RDMA ports", is_needed=False
)
_INTERFACES = "network_interfaces.mtu_bytes"
_ADVICE = Advice(
    required="all nodes of a job must send packets of one size",
    remedy="ip link set dev IF mtu on {nodes} as on the others, and in what sets it at "
    "boot; on InfiniBand see the partition in the subnet manager.",
    cost="large packets are dropped, and collectives hang",
    action="FIX_CONFIG",
)


@rule(clause="FAB-003")
def mtu_differs_across_nodes(fleet: Fleet) -> Verdicts:
    """Compare the MTU of ports, then of each interface that most nodes have."""
    if len(fleet.nodes) <= 1:
        return
    leaves = [(_PORTS, fleet.shared.get(_PORTS.leaf))]
    for name, shared in by_key(fleet.shared.get(_INTERFACES)):
        compared = ComparedNodes(_INTERFACES, f"MTU of {name}", is_needed=False)
        leaves.append((compared, shared))
    yield from verdicts(differing(fleet, leaves), _ADVICE)
