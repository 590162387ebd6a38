"""Shard groups of hybrid sharding that begin in one NVLink domain and end in the next.

Why it hurts: the groups exist so that weights are gathered over NVLink, and only
gradients cross the network. A group that is neither a whole part of a domain nor made
of whole domains has neither: some of its pairs are on the network, and set the pace.

What passes: ranks of a group, with the tensor and context ranks inside, that divide the
domain or are a multiple of it.

Where it does not apply: no hybrid sharding.

Source: Zhao et al. 2023 (arXiv:2304.11277), section 3.2.2: hybrid sharding maps the
shard group to the fast links; pytorch/torchtitan parallel_dims.py (order of the mesh).

Bad::

    # 8 GPUs in an NVLink domain
    data_parallel_replicate_degree = 8
    data_parallel_shard_degree = 12

Good::

    data_parallel_replicate_degree = 12
    data_parallel_shard_degree = 8
"""

from speccheck.validator.evidence.plan import Cluster, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="TOPO-031",
    confidence="calibrated",
    about=("parallelism.shard_size", "parallelism.replicate_size"),
)
def hybrid_group_straddles_domain(
    cluster: Cluster, parallelism: Parallelism
) -> Verdicts:
    """Judge the span of a shard group against the domain, in both directions."""
    shard, replicate = parallelism.shard_size, parallelism.replicate_size
    if replicate.or_else(2) <= 1 or shard.or_else(1) <= 1:
        return
    inner = (parallelism.tensor_parallel_size, parallelism.context_parallel_size)
    span = shard.need()
    for degree in inner:
        span *= degree.or_else(1)
    domain = cluster.nvlink_domain_size
    joined = domain.need()
    at = [shard, replicate, *(value for value in inner if value.or_else(1) > 1), domain]
    if joined % span == 0 or span % joined == 0:
        yield passed(at=at, measured=span, required=joined)
        return
    inside = "" if span == shard.value else ", with the ranks inside of it,"
    yield fail(
        f"a shard group of {span} ranks{inside} neither divides the {joined} GPUs that "
        "fast links join nor fills whole domains",
        at=at,
        measured=span,
        required=joined,
        cost="weights are gathered over the network in groups that were made to avoid "
        "it",
        remedy=f"Use a shard degree for which the group divides {joined}, or is a "
        "multiple of it.",
    )
