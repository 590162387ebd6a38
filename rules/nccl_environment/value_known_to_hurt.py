"""A setting of communication that is known to hang or to cost much.

Why it hurts: it was right in the test or on the machine that it was made for; in a job
of several nodes it hangs, hides a fault or takes bandwidth away.

What passes: the variables are not set, or set to another value.

Where it does not apply: debug runs; values that the provider of the machine publishes.
Some rows hold on several nodes or on one fabric only: where that is not stated, the
verdict is unknown.

Source: NVIDIA/nccl docs and issues, aws/aws-ofi-nccl, pytorch. Each row of the
catalogue of relations names its own.

Bad::

    NCCL_SOCKET_IFNAME=^docker0     # the loopback is left

Good::

    NCCL_SOCKET_IFNAME=^lo,docker0
"""

from speccheck.rules.nccl_environment._relations import related
from speccheck.validator.evidence.variable_relations import RelatedVariables
from speccheck.validator.rule import Verdicts, rule


@rule(
    clause="COMM-063",
    about=(
        "FI_PROVIDER",
        "NCCL_CUMEM_ENABLE",
        "NCCL_DEBUG_FILE",
        "NCCL_GRAPH_STREAM_ORDERING",
        "NCCL_HOSTID",
        "NCCL_IB_RETURN_ASYNC_EVENTS",
        "NCCL_IB_TIMEOUT",
        "NCCL_MULTI_RANK_GPU_ENABLE",
        "NCCL_NET_GDR_LEVEL",
        "NCCL_NVLSTREE_MAX_CHUNKSIZE",
        "NCCL_P2P_DISABLE",
        "NCCL_SOCKET_IFNAME",
        "NCCL_TOPO_FILE",
        "RDMAV_FORK_SAFE",
        "TORCH_NCCL_ENABLE_MONITORING",
    ),
)
def value_known_to_hurt(variables: RelatedVariables | None) -> Verdicts:
    """Judge the rows of the kind `hurts`."""
    yield from related(
        "hurts",
        variables,
        cost="the job hangs, loses a fault report, or runs below its bandwidth",
        spares_debug_runs=True,
    )
