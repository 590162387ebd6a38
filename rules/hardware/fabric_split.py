"""GPUs of one node that are not in one NVLink domain.

Why it hurts: GPUs of different partitions do not reach each other over NVLink, and
traffic between them takes the host or the network.

What passes: one cluster and one clique on all GPUs of a tray, and a cluster that is not
zero.

Where it does not apply: nodes whose NVLinks end within them, whose cluster is zero by
design, as long as all GPUs agree; nodes without a fabric.

Source: Azure/azhpc-images issue 506; NVIDIA/k8s-test-infra, captures (zero on HGX).

Bad::

    nvidia-smi -q    # CliqueId: 2 on three GPUs of a tray, 3 on the fourth

Good::

    nvidia-smi -q    # CliqueId: 2 on all of them
"""

from speccheck.rules.hardware._links import is_of_rack
from speccheck.validator.evidence.node.fault_codes import (
    FABRIC_DONE,
    is_one_node_fabric,
)
from speccheck.validator.evidence.node.gpu import Gpu, Gpus
from speccheck.validator.evidence.node.profile import InstanceProfile
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="HW-113")
def fabric_split(gpus: Gpus, instance: InstanceProfile) -> Verdicts:
    """Compare cluster and clique of the GPUs that have registered."""
    registered = [gpu for gpu in gpus.shown if _may_be_registered(gpu)]
    at = [
        leaf for gpu in registered for leaf in (gpu.fabric_cluster, gpu.fabric_clique)
    ]
    known = [
        (gpu.fabric_cluster.need(), gpu.fabric_clique.need())
        for gpu in registered
        if gpu.fabric_cluster.is_known and gpu.fabric_clique.is_known
    ]
    cliques = sorted({clique for _, clique in known})
    clusters = {cluster for cluster, _ in known}
    if len({*known}) > 1:
        yield fail(
            f"the GPUs of the node are in {len({*known})} NVLink domains (cliques "
            f"{', '.join(map(str, cliques))}, {len(clusters)} cluster ids); required "
            "is one",
            at=at,
            measured=len({*known}),
            required=1,
            cost="traffic between them takes the host or the network",
            remedy="Put all GPUs of the tray in one partition at the fabric's "
            "controller, and name all trays in /etc/nvidia-imex/nodes_config.cfg.",
            action="FIX_CONFIG",
        )
        return
    for gpu in gpus.each():
        if _may_be_registered(gpu):
            gpu.fabric_state.need()
            gpu.fabric_cluster.need()
            gpu.fabric_clique.need()
    if not known:
        return
    if not is_one_node_fabric(known[0][0]):
        yield passed(at=at, measured=1, required=1)
    elif is_of_rack(gpus, instance):
        yield fail(
            "the cluster id is zero: the GPUs are joined within the node alone, and "
            f"the type of the node joins {instance.nvlink_domain_size.value}",
            at=at,
            measured=0,
            required=instance.nvlink_domain_size.value,
            cost="traffic between the nodes of the rack takes the network",
            remedy="Put the tray in a partition at the fabric's controller (NMX).",
            action="FIX_CONFIG",
        )


def _may_be_registered(gpu: Gpu) -> bool:
    state = gpu.fabric_state
    if state.status == "not_supported":
        return False
    return state.value in {None, FABRIC_DONE}
