"""Nodes of a rack-scale NVLink domain that NCCL did not join.

Why it hurts: NVLink reaches from tray to tray, and NCCL sends what crosses them over
the network: a tenth of the rate, and it says so in its log alone.

What passes: the log tells MNNVL 1.

Where it does not apply: runs on one node; machines whose NVLinks end within the node;
NCCL_MNNVL_ENABLE=0 or NCCL_CUMEM_ENABLE=0, which HW-119 judges. Nodes that each have
a clique of their own may be of different racks: that is unknown.

Source: NVIDIA/nccl src/mnnvl.cc, src/init.cc; coreweave/nccl-tests.

Bad::

    NCCL INFO comm 0x55 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 0

Good::

    NCCL INFO comm 0x55 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 1
"""

from speccheck.rules.communication._ran import one_verdict, setting, several_nodes
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.measurement.collective import (
    Communicator,
    Communicators,
    VariablesInForce,
)
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule, unknown

_SWITCHES = ("NCCL_MNNVL_ENABLE", "NCCL_CUMEM_ENABLE")


@rule(clause="COMM-084", confidence="advisory")
def rack_not_joined(
    communicators: Communicators,
    taken: VariablesInForce,
    environment: Environment,
    cluster: Cluster,
) -> Verdicts:
    """Judge whether NVLink reaches the other nodes."""
    if cluster.nvlink_domain_size.need() <= cluster.gpus_per_node.need():
        return
    switches = (setting(name, environment, taken) for name in _SWITCHES)
    if any(switch is not None and switch.is_off for switch in switches):
        return
    yield from one_verdict(
        communicators, lambda communicator: _judged(communicator, cluster)
    )


def _judged(communicator: Communicator, cluster: Cluster) -> Verdict | None:
    if not several_nodes(communicator):
        return None
    at = [
        communicator.is_mnnvl,
        communicator.nvlink_cliques,
        cluster.nvlink_domain_size,
    ]
    if communicator.is_mnnvl.need():
        return passed(at=at, measured="MNNVL 1")
    cliques, nodes = communicator.nvlink_cliques.value, communicator.nodes.need()
    if cliques is not None and cliques >= nodes:
        return unknown(
            f"{nodes} nodes are {cliques} NVLink cliques: whether they are of one rack "
            "is not known",
            missing=["the racks of the nodes"],
            at=at,
        )
    text = "no GPU is registered with a fabric" if cliques == 0 else "MNNVL 0"
    return fail(
        f"NCCL did not join {nodes} nodes by NVLink ({text}); the domain of "
        f"{cluster.nvlink_domain_size.value} GPUs reaches beyond a node",
        at=at,
        measured="MNNVL 0",
        required="MNNVL 1",
        cost="what crosses trays goes over the network, at a tenth of the rate",
        remedy="Start IMEX on all trays (nvidia-imex-ctl -N), give the job an IMEX "
        "channel, and look at nvidia-smi -q | grep -A4 Fabric.",
        action="FIX_CONFIG",
    )
