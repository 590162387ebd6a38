"""A fixed number of nodes on capacity that can be taken away.

Why it hurts: one preempted node stops the whole job, which then waits in the queue for
the same number of nodes.

What passes: a range of nodes, within which the launcher goes on.

Where it does not apply: reserved capacity, one node. Plans that state no range stay
unknown.

Source: PyTorch elastic (--nnodes MIN:MAX), Kubeflow elasticPolicy.

Bad::

    elasticPolicy: {minReplicas: 8, maxReplicas: 8}

Good::

    elasticPolicy: {minReplicas: 4, maxReplicas: 8}
"""

from speccheck.validator.evidence.plan import Cluster, Recovery
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="BATCH-006")
def fixed_nodes_on_shared_capacity(cluster: Cluster, recovery: Recovery) -> Verdicts:
    """Judge the range of nodes."""
    if cluster.nodes.value == 1:
        return
    fewest, most = recovery.minimum_nodes, recovery.maximum_nodes
    at = [fewest, most]
    if fewest.need() < most.need():
        yield passed(at=at, measured=f"{fewest.need()} to {most.need()} nodes")
        return
    yield fail(
        f"the job needs all {most.need()} nodes, on capacity that can be taken away",
        at=at,
        measured=fewest.need(),
        required=f"fewer than {most.need()}",
        cost="one preempted node stops the job until as many are free again",
    )
