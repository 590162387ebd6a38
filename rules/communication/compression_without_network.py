"""Gradients compressed with loss although they never leave the NVLink of one node.

Why it hurts: packing, unpacking and the error feedback take kernels and memory, and
gradients lose digits. Over NVLink the whole gradient arrives sooner.

What passes: compression on several nodes, where gradients cross a network.

Where it does not apply: gradients travel whole; GPUs without NVLink, which exchange
over PCIe.

Source: DeepSpeed 1-bit Adam tutorial: its gains are those of slow networks.

Bad::

    # one node of 8 H100
    "optimizer": {"type": "OneBitAdam"}

Good::

    "optimizer": {"type": "AdamW"}
"""

from speccheck.validator.evidence.plan import Cluster, Communication
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="COMM-040", confidence="advisory", about=("communication.compression",))
def compression_without_network(
    communication: Communication, cluster: Cluster
) -> Verdicts:
    """Judge compression where the nodes are known."""
    method = communication.compression
    nodes = cluster.nodes.need()
    at = [method, cluster.nodes, cluster.has_nvlink]
    if nodes > 1:
        yield passed(at=at)
        return
    if not cluster.has_nvlink.need():
        return
    yield fail(
        f"{method.need()} on one node with NVLink; gradients that cross no network may "
        "travel whole",
        at=at,
        measured=nodes,
        cost="kernels that pack and unpack, and digits of each gradient",
    )
