"""GPUs of an NVLink node that exchanged their data through host memory.

Why it hurts: NCCL takes shared memory of the host where peer access fails, without an
error: a tenth of the rate of the links, and less.

What passes: the connections inside the node are peer to peer, and none is by host
memory.

Where it does not apply: GPUs without NVLink, or with bridges between pairs; where
NCCL_P2P_DISABLE or NCCL_P2P_LEVEL of a file asks for it, which TOPO-007 judges.

Source: NVIDIA/nccl src/transport/shm.cc and p2p.cc; NVIDIA/nccl issue 1829.

Bad::

    NCCL INFO Channel 00 : 0[0] -> 1[1] via SHM/direct/direct

Good::

    NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM
"""

from speccheck.rules.communication._ran import one_verdict, ranks_of_node
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.measurement.collective import (
    Communicator,
    Communicators,
)
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule


@rule(clause="COMM-083")
def host_memory_between_gpus(
    communicators: Communicators, cluster: Cluster, environment: Environment
) -> Verdicts:
    """Judge the connections inside the nodes."""
    if cluster.has_nvlink.value is False:
        return
    if environment.sets("NCCL_P2P_*"):
        return
    yield from one_verdict(
        communicators, lambda communicator: _judged(communicator, cluster)
    )


def _judged(communicator: Communicator, cluster: Cluster) -> Verdict | None:
    staged, direct = (
        communicator.links_by_host_memory.need(),
        communicator.links_by_pointer.need(),
    )
    at = [communicator.links_by_host_memory, communicator.links_by_pointer]
    if not staged:
        return passed(at=at, measured=0) if direct else None
    domain = cluster.nvlink_domain_size
    if domain.need() < ranks_of_node(communicator):
        return None
    return fail(
        f"{staged} connections inside the nodes go through host memory, {direct} from "
        "GPU to GPU; on GPUs that NVLink joins none should",
        at=[*at, *domain.places],
        measured=staged,
        required=0,
        cost="a tenth of the bandwidth inside the node, or less",
        remedy="Start all ranks of a node where they see all of its GPUs (one "
        "container, or --ipc=host), look at the links with nvidia-smi topo -p2p n, and "
        "turn off ACS where the GPUs have no peer access.",
        action="FIX_CONFIG",
    )
