"""A node that counts its RDMA adapters otherwise than the rest.

Why it hurts: ranks choose rails by the order of the adapters. Where one node has other
names, another order or one adapter less, its traffic crosses rails, NCCL_IB_HCA means
another adapter there, and NCCL may hang; a port at a lower rate slows every ring.

What passes: as many adapters on all nodes, of the same names, in the same order, at the
same places of the bus, with ports of one link layer and one rate.

Where it does not apply: a fleet of one node. Places on the bus are not compared where
nodes are virtual machines.

Source: NVIDIA/nccl issue 1277 (other names on two nodes) and src/init.cc.

Bad::

    ls /sys/class/infiniband    # mlx5_0 mlx5_1, on one node rocep12s0 mlx5_1

Good::

    ls /sys/class/infiniband    # mlx5_0 mlx5_1 on 64 nodes
"""

from speccheck.validator.comparison.differences import ComparedNodes, are_places_fixed
from speccheck.validator.comparison.verdicts import Advice, uniform
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.rule import Verdicts, rule

_PLACES = ComparedNodes("rdma_devices.addresses", "places on the bus", is_needed=False)
_LEAVES = (
    ComparedNodes("rdma_devices", "adapters"),
    ComparedNodes("rdma_devices.order", "adapters in order", is_needed=False),
    ComparedNodes("rdma_ports.link_layer", "link layer", is_needed=False),
    ComparedNodes("rdma_ports.rate_gbit_per_second", "rate (Gbit/s)", is_needed=False),
)
_ADVICE = Advice(
    required="all nodes of a job should have the same adapters in the same order",
    remedy="Compare rdma link of {nodes} with another node: bring names back (udev "
    "rules, rdma dev set), look for the adapter or the cable, or drain them.",
    cost="traffic crosses rails, rings run at the slowest port, NCCL may hang",
    action="ISOLATE",
)


@rule(clause="FAB-063")
def adapters_differ_across_nodes(fleet: Fleet) -> Verdicts:
    """Compare number, names, order, places, link layer and rate."""
    places = (_PLACES,) if are_places_fixed(fleet) else ()
    yield from uniform(fleet, (*_LEAVES, *places), _ADVICE)
