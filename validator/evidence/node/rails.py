"""Which ports of a node carry the traffic of training."""

from collections.abc import Iterable

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_text import NameList
from speccheck.validator.evidence.node.rdma import RdmaPort, RdmaPorts
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.value import MissingEvidence

INFINIBAND, ETHERNET, EFA = "InfiniBand", "Ethernet", "Unspecified"
_LAYER = {
    "infiniband": INFINIBAND,
    "roce-lossless": ETHERNET,
    "spectrum-x-ra2.2": ETHERNET,
    "mrc": ETHERNET,
    "efa": EFA,
}
_ETHERNET_ALONE = "Ethernet ports alone do not tell whether training uses RDMA"


def rails(
    ports: RdmaPorts, cluster: Cluster, environment: Environment
) -> tuple[RdmaPort, ...]:
    """The ports of training; none on a node without them.

    Those that NCCL_IB_HCA takes; else those of the fabric that the job has; else those
    of InfiniBand or EFA, where there are any. Of these, the fastest active ones: ports
    of storage and of management are slower, or of another kind. Servers have Ethernet
    ports that could carry RDMA and never do: on these alone it is not known.
    """
    each = ports.each()
    if not each:
        return ()
    named = named_ports(each, environment)
    if named:
        return named
    layer = _layer(each, cluster)
    alike = tuple(one for one in each if one.link_layer.value == layer)
    active = tuple(one for one in alike if one.state.value == "ACTIVE")
    fastest = max((one.rate_gbit_per_second.or_else(0.0) for one in active), default=0)
    return (
        tuple(
            one for one in active if one.rate_gbit_per_second.value in {None, fastest}
        )
        or alike
    )


def named_ports(
    ports: Iterable[RdmaPort], environment: Environment
) -> tuple[RdmaPort, ...]:
    """The ports that NCCL_IB_HCA takes; none where it is not set, or excludes."""
    variable = environment.find("NCCL_IB_HCA")
    if variable is None or not variable.value:
        return ()
    wanted = NameList(variable.value)
    if wanted.is_excluding:
        return ()
    return tuple(
        one for one in ports if wanted.takes(one.device.need(), one.number.or_else(1))
    )


def _layer(ports: Iterable[RdmaPort], cluster: Cluster) -> str:
    found = {one.link_layer.need() for one in ports}
    if cluster.fabric.is_known:
        return _LAYER.get(cluster.fabric.need(), "")
    for layer in (INFINIBAND, EFA):
        if layer in found:
            return layer
    raise MissingEvidence(cluster.fabric.name, _ETHERNET_ALONE)


def titles(ports: Iterable[RdmaPort]) -> str:
    """The devices of the ports, as people list them."""
    return ", ".join(one.title for one in ports)
