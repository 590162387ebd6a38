"""In-network reduction that is asked for, in a run that did without it.

Why it hurts: NCCL goes on without the plugin, the aggregation manager or enough nodes,
and says so in its log alone; the switches reduce nothing.

What passes: connections by COLLNET.

Where it does not apply: NCCL_COLLNET_ENABLE is not set, or 0; communicators within one
node. Channels without a connection are unknown: newer releases connect when they
first need it.

Source: NVIDIA/nccl src/transport/coll_net.cc, src/init.cc; NVIDIA/nccl
documentation, NCCL_COLLNET_ENABLE.

Bad::

    NCCL INFO NCCL_COLLNET_ENABLE set by environment to 1.
    NCCL INFO 16 coll channels, 0 collnet channels, 16 nvls channels, ...

Good::

    NCCL INFO CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA
"""

from speccheck.rules.communication._ran import (
    Setting,
    one_verdict,
    setting,
    several_nodes,
)
from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.measurement.collective import (
    Communicator,
    Communicators,
    VariablesInForce,
)
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.rule import Verdict, Verdicts, fail, passed, rule, unknown

_NAME = "NCCL_COLLNET_ENABLE"


@rule(clause="COMM-085")
def in_network_reduction_absent(
    communicators: Communicators, taken: VariablesInForce, environment: Environment
) -> Verdicts:
    """Judge the connections by the reducing network."""
    result = setting(_NAME, environment, taken)
    if result is None or integer_seen(result.value) in {None, 0}:
        return
    yield from one_verdict(
        communicators, lambda communicator: _judged(communicator, result)
    )


def _judged(communicator: Communicator, result: Setting) -> Verdict | None:
    if not several_nodes(communicator):
        return None
    links, channels = communicator.links_by_collnet, communicator.collnet_channels
    at = [result.place, *channels.places, *links.places]
    if links.value:
        return passed(at=at, measured=links.value)
    if channels.need():
        return unknown(
            f"NCCL has {channels.value} channels for in-network reduction, and the log "
            "shows no connection by it",
            missing=[links.name],
            at=at,
        )
    return fail(
        f"{_NAME}={result.value} asks for reduction in the network, and the run has 0 "
        "channels for it",
        at=at,
        measured=0,
        required="connections by COLLNET",
        cost="the switches reduce nothing; NCCL goes on without a message",
        remedy="Load nccl-rdma-sharp-plugins (HPC-X), see that the aggregation manager "
        f"answers (sharp_hello), or unset {_NAME}.",
    )
