"""GPUs behind an NVSwitch that reduces, in a run that did not let it.

Why it hurts: reduction in the switch is what lifts all-reduce inside a node above the
rate of the links. Without it a node loses 23 to 31 percent.

What passes: NVLS multicast is available on the GPUs, and NVLS has channels.

Where it does not apply: NCCL_NVLS_ENABLE=0, which another rule judges; an algorithm
that is forced; two ranks in a node or fewer, where NCCL does not ask. Boards of few
GPUs may have no switch: there it is unknown.

Source: NVIDIA/nccl src/transport/nvls.cc, src/init.cc; stas00/ml-engineering network.

Bad::

    NCCL INFO NVLS multicast support is not available on dev 0
    NCCL INFO 24 coll channels, 0 collnet channels, 0 nvls channels, ...

Good::

    NCCL INFO NVLS multicast support is available on dev 0
    NCCL INFO 24 coll channels, 0 collnet channels, 16 nvls channels, ...
"""

from speccheck.rules.communication._ran import (
    Setting,
    one_verdict,
    ranks_of_node,
    setting,
)
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.measurement.collective import (
    Communicator,
    Communicators,
    VariablesInForce,
)
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule


class Switched(Numbers):
    """The sizes from which multicast through an NVSwitch can be used.

    switched_gpus: the fewest GPUs on NVLink that are joined by a switch.
    least_ranks: the fewest ranks for which NCCL uses it.
    """

    switched_gpus: int
    least_ranks: int


@rule(clause="COMM-015")
def multicast_not_used(
    communicators: Communicators,
    taken: VariablesInForce,
    environment: Environment,
    cluster: Cluster,
    limit: Switched,
) -> Verdicts:
    """Judge what NCCL says of multicast."""
    switch = setting("NCCL_NVLS_ENABLE", environment, taken)
    if (switch and switch.is_off) or setting("NCCL_ALGO", environment, taken):
        return
    memory = setting("NCCL_CUMEM_ENABLE", environment, taken)
    yield from one_verdict(
        communicators,
        lambda communicator: _judged(communicator, cluster, limit, memory),
    )


def _judged(
    communicator: Communicator,
    cluster: Cluster,
    limit: Switched,
    memory: Setting | None,
) -> Verdict | None:
    here = ranks_of_node(communicator)
    if here < limit.least_ranks and not communicator.is_mnnvl.value:
        return None
    at = [communicator.gpus_without_multicast, communicator.nvls_channels]
    without, channels = (
        communicator.gpus_without_multicast.or_else(0),
        communicator.nvls_channels.value,
    )
    if not without and channels:
        communicator.gpus_with_multicast.need()
        return passed(at=[communicator.gpus_with_multicast, *at], measured=channels)
    if not without:
        channels = communicator.nvls_channels.need()
    if here < limit.switched_gpus:
        if not without:
            return None  # NCCL may find no use for it among some GPUs of a node
        domain = cluster.nvlink_domain_size
        if domain.need() < limit.switched_gpus:
            return None
    text = f"not available on {without} GPUs" if without else "without channels"
    is_off = memory is not None and memory.is_off
    why = ", and NCCL_CUMEM_ENABLE=0 takes the memory away that it needs" * is_off
    return fail(
        f"NVLS multicast is {text}{why}; on GPUs behind an NVSwitch that reduces it "
        "should be",
        at=[*at, *([memory.place] if memory and is_off else [])],
        measured=channels or 0,
        required="NVLS on all GPUs",
        cost="23 to 31 percent of the all-reduce bandwidth inside a node",
        remedy="Unset NCCL_CUMEM_ENABLE=0."
        if is_off
        else "Look at the fabric manager (nvidia-smi -q | grep -A4 Fabric), the driver "
        "and, in a container, at /dev/nvidia-caps.",
    )
