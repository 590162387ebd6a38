"""Ring all-reduce forced where the tree is faster.

Why it hurts: the latency of a ring grows with the number of ranks. On many nodes each
bucket below the crossover waits for latency instead of using the bandwidth.

What passes: NCCL chooses, or the list keeps an algorithm beside ring for all-reduce.

Where it does not apply: few nodes; a tuner plugin; gradients that are reduce-scattered
(ZeRO-2 and 3, FSDP, the distributed optimizer), which know no tree; a value that the
provider of the machine publishes.

Source: cost model of NVIDIA/nccl src/graph/tuning.cc, worked out per node count and not
measured: a warning, never an error.

Bad::

    NCCL_ALGO=Ring      # 64 nodes, 500 MB buckets

Good::

    (the line deleted)
"""

from speccheck.rules.communication._algorithms import (
    algorithms_of,
    has_tuner,
    negates,
)
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.plan import (
    Cluster,
    Communication,
    Optimizer,
    Parallelism,
)
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class RingLimit(Numbers):
    """From how many nodes, and below which bucket size, a ring loses."""

    min_nodes: int
    safety_factor: float
    crossover: float  # bytes


@rule(clause="COMM-001", confidence="calibrated", about=("NCCL_ALGO",))
def ring_forced_at_scale(
    environment: Environment,
    nccl: NcclVariables,
    cluster: Cluster,
    communication: Communication,
    optimizer: Optimizer,
    parallelism: Parallelism,
    limit: RingLimit,
) -> Verdicts:
    """Judge the bucket against the size from which a ring is best."""
    instance = cluster.instance_type.value
    variable = environment.find("NCCL_ALGO")
    if variable is None or not variable.value or has_tuner(environment):
        return
    if cluster.nodes.need() < limit.min_nodes:
        return
    scatters = optimizer.is_distributed.value is True
    if scatters or parallelism.sharding_stage.or_else(0) > 1:
        return
    if nccl.is_published(variable, environment, instance):
        return
    left = algorithms_of(variable.value, "allreduce")
    if left != {"ring"} or negates(variable.value):
        yield passed(at=variable.place, measured=variable.value)
        return
    bucket = communication.gradient_bucket_bytes
    least = limit.safety_factor * limit.crossover
    at = [variable.place, *bucket.places]
    if bucket.need() >= least:
        yield passed(at=at, measured=bucket.need(), required=least)
        return
    yield fail(
        f"only ring is left for all-reduce on {cluster.nodes.need():,} nodes, with "
        f"buckets of {bucket.need():,} bytes; a ring pays from "
        f"{limit.safety_factor:g} x {limit.crossover:,.0f} = {least:,.0f} bytes on",
        at=at,
        measured=bucket.need(),
        required=least,
        cost="each bucket waits for the latency of the ring",
    )
