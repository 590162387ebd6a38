"""Tensor-parallel groups that begin on one node and end on the next.

Why it hurts: ranks are numbered node by node and tensor-parallel ranks are the
innermost. When the degree does not divide the GPUs that NVLink joins, some groups lie
across two nodes, and their all-reduces of every layer cross the network.

What passes: a degree that divides the NVLink domain, or the node where the domain is
not stated.

Where it does not apply: no tensor parallelism. A group larger than a whole domain is
judged by tensor_parallel_beyond_nvlink_domain.

Source: NVIDIA/Megatron-LM megatron/core/parallel_state.py (order tp-cp-ep-dp-pp).

Bad::

    # 8 GPUs on each node
    tensor_parallel_size: 6

Good::

    tensor_parallel_size: 4
"""

from speccheck.validator.evidence.plan import Cluster, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="TOPO-002")
def tensor_group_straddles_domain(
    cluster: Cluster, parallelism: Parallelism
) -> Verdicts:
    """Judge whether whole groups fit into the GPUs that NVLink joins."""
    degree = parallelism.tensor_parallel_size
    if degree.value == 1:
        return
    size = degree.need()
    domain = cluster.nvlink_domain_size
    if not domain.is_known or domain.need() < cluster.gpus_per_node.or_else(1):
        domain = cluster.gpus_per_node
    joined = domain.need()
    at = [degree, domain]
    if size > joined or size < 1:
        return
    if joined % size == 0:
        yield passed(at=at, measured=size, required=joined)
        return
    yield fail(
        f"groups of {size} tensor-parallel ranks do not divide the {joined} GPUs that "
        f"fast links join ({joined} / {size} leaves {joined % size}): some groups lie "
        f"across two nodes",
        at=at,
        measured=size,
        required=joined,
        cost="every layer's all-reduce crosses the network in those groups",
        remedy=f"Use a tensor-parallel size that divides {joined}.",
    )
