"""Expert-parallel groups across nodes on a network without RDMA.

Why it hurts: each expert layer sends all its tokens to the ranks of their experts and
back, in forward and backward. Over TCP these exchanges take longer than the experts
compute, in every layer of every step.

What passes: expert-parallel groups within the NVLink domain, or RDMA between them.

Where it does not apply: no expert parallelism; the fabric is not named.

Source: NVIDIA/Megatron-LM megatron/core/transformer/moe/README.md (keep expert and
tensor parallelism within the NVLink domain).

Bad::

    # plain Ethernet, 8 GPUs in an NVLink domain
    --expert-model-parallel-size 32

Good::

    --expert-model-parallel-size 8
"""

from speccheck.validator.evidence.plan import Cluster, Parallelism
from speccheck.validator.rule import Verdicts, fail, passed, rule

_WITHOUT_RDMA = ("ethernet-tcp",)


@rule(
    clause="TOPO-030",
    confidence="advisory",
    about=("parallelism.expert_parallel_size",),
)
def expert_exchange_without_rdma(
    cluster: Cluster, parallelism: Parallelism
) -> Verdicts:
    """Judge the span of an expert-parallel group where the fabric is known."""
    experts = parallelism.expert_parallel_size
    if experts.or_else(1) <= 1:
        return
    fabric = cluster.fabric
    at = [experts, fabric]
    if fabric.need() not in _WITHOUT_RDMA:
        yield passed(at=at, measured=fabric.value)
        return
    domain = cluster.nvlink_domain_size
    if not domain.is_known:
        domain = cluster.gpus_per_node
    size, joined = experts.need(), domain.need()
    at.append(domain)
    if size <= joined:
        yield passed(at=at, measured=size, required=joined)
        return
    yield fail(
        f"expert-parallel groups of {size} ranks reach over the {joined} GPUs that "
        f"fast links join, and the fabric {fabric.value} has no RDMA",
        at=at,
        measured=size,
        required=joined,
        cost="the exchange of tokens takes longer than the experts compute",
        remedy=f"Use an expert-parallel size of at most {joined}.",
    )
