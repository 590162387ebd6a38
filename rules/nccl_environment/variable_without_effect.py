"""A variable that another one, or the fabric, leaves without effect.

Why it hurts: nothing reports it. The tuning, or the workaround, is believed to be
active and is not.

What passes: variables that are read, given the others that are set beside them.

Where it does not apply: values that the provider of the machine publishes. Where the
pair depends on a release of NCCL or on the fabric and neither is stated, the verdict is
unknown.

Source: NVIDIA/nccl docs, environment variables, and src/graph/paths.cc,
src/transport/net_ib, src/mnnvl.cc; pytorch ProcessGroupNCCL.cpp. Each row of the
catalogue of relations names its own.

Bad::

    NCCL_P2P_DISABLE=1
    NCCL_P2P_LEVEL=NVL

Good::

    NCCL_P2P_LEVEL=NVL
"""

from speccheck.rules.nccl_environment._relations import related
from speccheck.validator.evidence.variable_relations import RelatedVariables
from speccheck.validator.rule import Verdicts, rule


@rule(
    clause="COMM-061",
    about=(
        "NCCL_COLLNET_NODE_THRESHOLD",
        "NCCL_CUMEM_ENABLE",
        "NCCL_GDRCOPY_FIFO_ENABLE",
        "NCCL_GDRCOPY_FLUSH_ENABLE",
        "NCCL_GDRCOPY_SYNC_ENABLE",
        "NCCL_IBEXT_DISABLE",
        "NCCL_IB_*",
        "NCCL_MAX_CTAS",
        "NCCL_MAX_NCHANNELS",
        "NCCL_MIN_CTAS",
        "NCCL_MIN_NCHANNELS",
        "NCCL_MRC_*",
        "NCCL_NET",
        "NCCL_NET_PLUGIN",
        "NCCL_NVLS_ENABLE",
        "NCCL_OOB_NET_IFNAME",
        "NCCL_P2P_DISABLE",
        "NCCL_PXN_DISABLE",
        "NCCL_SHARP_GROUP_SIZE_THRESH",
        "NCCL_SHARP_MAX_COMMS",
        "NCCL_SHM_DISABLE",
        "NCCL_SOCKET_NTHREADS",
        "PYTORCH_ALLOC_CONF",
        "PYTORCH_CUDA_ALLOC_CONF",
        "TORCH_NCCL_BLOCKING_WAIT",
    ),
)
def variable_without_effect(variables: RelatedVariables | None) -> Verdicts:
    """Judge the rows of the kind `no_effect`."""
    yield from related(
        "no_effect",
        variables,
        cost="the setting has no effect, and nothing says so",
    )
