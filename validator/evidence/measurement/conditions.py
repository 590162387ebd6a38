"""What is known of the machines that a measurement was taken on.

A log tells which collective ran on how many GPUs. What they should reach depends on
adapters, on NVLink and on what NCCL was allowed: the type of the machine, its snapshot,
the variables that were set and the log of NCCL tell that, each in part.
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.measurement.bandwidth import PublishedBandwidth
from speccheck.validator.evidence.measurement.communicator import (
    Communicator,
    Communicators,
    VariablesInForce,
)
from speccheck.validator.evidence.node.gpu import Gpus
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.evidence.node.rails import rails
from speccheck.validator.evidence.node.rdma import RdmaPorts
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.value import MissingEvidence

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
        """What NCCL says it took, or what the files set; None where nobody tells."""
        for one in self.in_force.shown:
            if one.name.value == name and one.value.is_known:
                return one.value.value
        found = self.environment.find(name)
        return None if found is None else found.value

    def communicators_of(self, ranks: int) -> tuple[Communicator, ...]:
        """Those of that many ranks in the log of NCCL."""
        return tuple(
            one for one in self.communicators.shown if one.ranks.value == ranks
        )

    def adapters(self) -> Adapters:
        """Of a node, by its type or by its ports; raises MissingEvidence."""
        profile = self.instance
        if profile.id and profile.network_adapters.status != "unknown":
            rate = profile.network_gbit_per_second.need() * _GIGABIT_BYTES
            gpus = profile.gpus.need()
            total = profile.network_adapters.need() * rate
            return Adapters(total / gpus, gpus, profile.network_kind.or_else(""))
        gpus = len(self.gpus.shown)
        if not self.ports.shown or not gpus or not self.gpus.count.is_known:
            raise MissingEvidence(_INSTANCE, _NO_ADAPTERS)
        found = rails(self.ports, self.cluster, self.environment)
        if not found:
            raise MissingEvidence(_INSTANCE, _NO_ADAPTERS)
        total = sum(one.rate_gbit_per_second.need() for one in found) * _GIGABIT_BYTES
        return Adapters(total / gpus, gpus, "")
