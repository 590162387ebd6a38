"""A node count of the elastic range that does not fit the batch.

Why it hurts: after the loss of a node the job starts again on fewer, and stops at
start-up: the ranks do not make whole replicas, or the global batch no whole number of
micro-batches on each. Elasticity fails when it is needed.

What passes: every node count between minimum and maximum fits.

Where it does not apply: a fixed number of nodes; batches that change with the nodes.

Source: NVIDIA/Megatron-LM megatron/core/num_microbatches_calculator.py;
pytorch/torchtitan torchtitan/train.py; DeepSpeed elasticity for the idea.

Bad::

    recovery: {minimum_nodes: 6, maximum_nodes: 8}    # batch 512, micro-batch 1

Good::

    recovery: {minimum_nodes: 4, maximum_nodes: 8}    # batch 6720
"""

from speccheck.validator.evidence.plan import Batch, Cluster, Parallelism, Recovery
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_FIXED = ("megatron-lm", "megatron-bridge", "nemo1", "torchtitan", "native")


class RangeLimit(Numbers):
    """How many node counts are tried."""

    counts_max: int


@rule(
    clause="FT-021",
    frameworks=_FIXED,
    about=("recovery.minimum_nodes", "recovery.maximum_nodes"),
)
def elastic_nodes_break_batch(
    recovery: Recovery,
    cluster: Cluster,
    parallelism: Parallelism,
    batch: Batch,
    limit: RangeLimit,
) -> Verdicts:
    """Judge the batch and the replicas for each node count."""
    fewest, most = recovery.minimum_nodes.need(), recovery.maximum_nodes.need()
    if fewest >= most or batch.mode.or_else("fixed") != "fixed":
        return
    micro, whole = batch.micro_batch_size, batch.global_batch_size
    degrees = (
        parallelism.tensor_parallel_size,
        parallelism.pipeline_parallel_size,
        parallelism.context_parallel_size,
    )
    ranks_of_replica = 1
    for degree in degrees:
        ranks_of_replica *= degree.need()
    sizes = (ranks_of_replica, micro.need(), whole.need(), cluster.gpus_per_node.need())
    if min(sizes) <= 0 or most - fewest > limit.counts_max:
        return
    at = [recovery.minimum_nodes, recovery.maximum_nodes, whole, micro]
    broken = []
    for nodes in range(max(fewest, 1), most + 1):
        ranks = nodes * cluster.gpus_per_node.need()
        samples = ranks // ranks_of_replica * micro.need()
        if ranks % ranks_of_replica or not samples or whole.need() % samples:
            broken.append((nodes, ranks, samples))
    if not broken:
        yield passed(at=at)
        return
    nodes, ranks, samples = broken[-1]
    why = (
        f"{ranks} ranks are no multiple of the {ranks_of_replica} of a replica"
        if ranks % ranks_of_replica or not samples
        else f"a global batch of {whole.need():,} is no multiple of {samples:,} samples"
    )
    yield fail(
        f"{len(broken)} of the node counts from {fewest} to {most} cannot train: on "
        f"{nodes} nodes {why}",
        at=at,
        measured=", ".join(str(count) for count, _, _ in broken),
        required=f"every count from {fewest} to {most}",
        cost="the restart after a lost node stops at start-up",
    )
