"""Peer access between GPUs switched off on NVLink machines.

Why it hurts: all traffic inside the node goes through host memory, at a tenth of the
NVLink rate or less. It is a leftover of a debugging session.

What passes: the variables are not set, or do not disable anything.

Where it does not apply: GPUs without NVLink, where it may be a needed workaround.

Source: NVIDIA/nccl, environment variables (debugging); NCCL issues 631 and 1439.

Bad::

    NCCL_P2P_DISABLE=1

Good::

    (the line deleted)
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import without_variables
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdicts, fail, passed, rule

_OFF = {"NCCL_P2P_DISABLE": "1", "NCCL_P2P_LEVEL": "LOC"}


@rule(clause="TOPO-007", about=("NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"))
def peer_access_disabled(
    environment: Environment, nccl: NcclVariables, cluster: Cluster
) -> Verdicts:
    """Judge the variables that turn peer access off."""
    instance = cluster.instance_type.value
    variables = [variable for name in _OFF if (variable := environment.find(name))]
    if not variables or cluster.has_nvlink.value is False:
        return
    off = [
        item
        for item in variables
        if item.value == _OFF[item.name]
        and not nccl.is_published(item, environment, instance)
    ]
    if not off:
        yield passed(at=[item.place for item in variables])
        return
    cluster.has_nvlink.need()
    for variable in off:
        yield fail(
            f"{variable.name}={variable.value} sends the traffic between GPUs of a "
            "node through "
            f"host memory, although they have NVLink",
            at=variable.place,
            measured=variable.value,
            required="not set",
            cost="a tenth of the bandwidth inside the node, or less",
            remedy="Delete the line.",
            fix=without_variables([variable]),
        )
