"""What is known of the machines that a measurement was taken on.

A log tells which collective ran on how many GPUs. What they should reach depends on
adapters, on NVLink and on what NCCL was allowed: the type of the machine, its snapshot,
the variables that were set and the log of NCCL tell that, each in part. `rails` are the
ports of a node that carry the traffic of training.
"""

from collections.abc import Iterable

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.measurement.bandwidth import PublishedBandwidth
from speccheck.validator.evidence.measurement.collective import (
    Communicator,
    Communicators,
    VariablesInForce,
)
from speccheck.validator.evidence.nccl_variables import NameList
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.evidence.node.rdma import RdmaPort, RdmaPorts
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.record import Record
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
    """Return the ports of training; none on a node without them.

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
    alike = tuple(
        rdma_port for rdma_port in each if rdma_port.link_layer.value == layer
    )
    active = tuple(
        rdma_port for rdma_port in alike if rdma_port.state.value == "ACTIVE"
    )
    fastest = max(
        (rdma_port.rate_gbit_per_second.or_else(0.0) for rdma_port in active), default=0
    )
    return (
        tuple(
            rdma_port
            for rdma_port in active
            if rdma_port.rate_gbit_per_second.value in {None, fastest}
        )
        or alike
    )


def named_ports(
    ports: Iterable[RdmaPort], environment: Environment
) -> tuple[RdmaPort, ...]:
    """Return the ports that NCCL_IB_HCA takes; None if it is not set, or excludes."""
    variable = environment.find("NCCL_IB_HCA")
    if variable is None or not variable.value:
        return ()
    wanted = NameList(variable.value)
    if wanted.is_excluding:
        return ()
    return tuple(
        port
        for port in ports
        if wanted.takes(port.device.need(), port.number.or_else(1))
    )


def _layer(ports: Iterable[RdmaPort], cluster: Cluster) -> str:
    texts = {port.link_layer.need() for port in ports}
    if cluster.fabric.is_known:
        return _LAYER.get(cluster.fabric.need(), "")
    for layer in (INFINIBAND, EFA):
        if layer in texts:
            return layer
    raise MissingEvidence(cluster.fabric.name, _ETHERNET_ALONE)


def titles(ports: Iterable[RdmaPort]) -> str:
    """Return the devices of the ports, as people list them."""
    return ", ".join(port.title for port in ports)


_GIGABIT_BYTES = 1e9 / 8
_INSTANCE = "cluster.instance_type"
_NO_ADAPTERS = (
    "the adapters of a node are not known; name its type with --instance, or give its "
    "snapshot too"
)
# Networks whose adapters write to GPUs themselves, or nearly: what readings are of.
_FAST = frozenset({"infiniband", "roce", "efa", "tcpxo"})


class Adapters(Record):
    """Those of one node that carry the traffic of training.

    bytes_per_gpu: of all of them over the GPUs of the node, one way. kind: as instance
    profiles call the network; empty where only the ports are known.
    """

    bytes_per_gpu: float
    gpus: int
    kind: str

    @property
    def is_fast(self) -> bool:
        """Whether published readings are of such a network."""
        return not self.kind or self.kind in _FAST


class Conditions(Record):
    """What the files of a plan tell of the machines."""

    cluster: Cluster
    environment: Environment
    instance: InstanceProfile
    gpus: Gpus
    ports: RdmaPorts
    communicators: Communicators
    in_force: VariablesInForce
    published: PublishedBandwidth

    def variable(self, name: str) -> str | None:
        """Return what NCCL says it took, or what the files set.

        None if neither does.
        """
        for variable_in_force in self.in_force.shown:
            if (
                variable_in_force.name.value == name
                and variable_in_force.value.is_known
            ):
                return variable_in_force.value.value
        variable = self.environment.find(name)
        return None if variable is None else variable.value

    def communicators_of(self, ranks: int) -> tuple[Communicator, ...]:
        """Return those of that many ranks in the log of NCCL."""
        return tuple(
            communicator
            for communicator in self.communicators.shown
            if communicator.ranks.value == ranks
        )

    def adapters(self) -> Adapters:
        """Return a node's adapters, by its type or its ports.

        Raises MissingEvidence.
        """
        profile = self.instance
        if profile.id and profile.network_adapters.status != "unknown":
            rate = profile.network_gbit_per_second.need() * _GIGABIT_BYTES
            gpus = profile.gpus.need()
            total = profile.network_adapters.need() * rate
            return Adapters(total / gpus, gpus, profile.network_kind.or_else(""))
        gpus = len(self.gpus.shown)
        if not self.ports.shown or not gpus or not self.gpus.count.is_known:
            raise MissingEvidence(_INSTANCE, _NO_ADAPTERS)
        rdma_ports = rails(self.ports, self.cluster, self.environment)
        if not rdma_ports:
            raise MissingEvidence(_INSTANCE, _NO_ADAPTERS)
        total = (
            sum(rdma_port.rate_gbit_per_second.need() for rdma_port in rdma_ports)
            * _GIGABIT_BYTES
        )
        return Adapters(total / gpus, gpus, "")
