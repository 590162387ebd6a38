"""Tensor-parallel groups that begin on one node and end on the next.

Why it hurts: our nodes have eight GPUs. Of groups of three, every third one lies across
two nodes, and each of its layers waits for the network.

What passes: a degree that divides the GPUs of a node.

Where it does not apply: no tensor parallelism.

Source: an example.

Bad::

    tensor_parallel: 3

Good::

    tensor_parallel: 4
"""

from speccheck.validator.evidence.plan import Cluster, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="TOPO-001")
def tensor_group_leaves_node(parallelism: Parallelism, cluster: Cluster) -> Verdicts:
    """Judge whether the degree divides the GPUs of a node."""
    size, gpus = parallelism.tensor_parallel_size, cluster.gpus_per_node
    if size.need() == 1:
        return
    at = [size, gpus]
    if gpus.need() % size.need() == 0:
        yield passed(at=at)
    else:
        yield fail(
            f"groups of {size.value} GPUs do not fill nodes of {gpus.value}",
            at=at,
            remedy="Set tensor_parallel to 2, 4 or 8.",
        )
