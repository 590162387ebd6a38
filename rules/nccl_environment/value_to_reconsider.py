"""A setting of communication that is worth a second look.

Why it hurts: it is left over from an older release or a benchmark, or it leaves to
chance what could be said. It may be right here: only the one who runs the job can tell.

What passes: the variables are not set, or set to another value.

Where it does not apply: debug runs; values that the provider of the machine publishes;
jobs whose size, fabric or release is not stated, where the advice depends on it.

Source: NVIDIA/nccl docs, aws/aws-ofi-nccl, providers. Each row of the catalogue of
relations names its own.

Bad::

    NCCL_P2P_LEVEL=5

Good::

    NCCL_P2P_LEVEL=SYS
"""

from speccheck.rules.nccl_environment._relations import related
from speccheck.validator.evidence.variable_relations import RelatedVariables
from speccheck.validator.rule import Verdicts, rule


@rule(
    clause="COMM-064",
    about=(
        "CUDA_DEVICE_MAX_CONNECTIONS",
        "FI_EFA_ENABLE_SHM_TRANSFER",
        "FI_EFA_FORK_SAFE",
        "NCCL_*",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING",
        "TORCH_NCCL_ENABLE_TIMING",
        "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC",
    ),
)
def value_to_reconsider(variables: RelatedVariables | None) -> Verdicts:
    """Judge the rows of the kind `advice`."""
    yield from related(
        "advice",
        variables,
        cost="little, or nothing until the release or the machine changes",
        spares_debug_runs=True,
        advises=True,
    )
