"""A variable that is set otherwise on some nodes.

Why it hurts: what somebody left on a few nodes, in their environment or in
/etc/nccl.conf, sends their traffic over another interface, another adapter or a slower
way. Nobody looks for it there, and all nodes wait for these.

What passes: one value on all nodes, or none on any.

Where it does not apply: a fleet of one node; variables that no node sets; those that
may differ by right, such as where a node writes its log. In which variables ranks must
be alike is judged by itself.

Source: NVIDIA/nccl docs, environment variables; GoogleCloudPlatform's
cluster-health-scanner compares the same.

Bad::

    NCCL_SOCKET_IFNAME==eth0 on 61 nodes, docker0 on three

Good::

    NCCL_SOCKET_IFNAME==eth0 on 64 nodes
"""

from speccheck.rules.communication._variables import compared
from speccheck.validator.comparison.verdicts import Advice, verdicts
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.rule import Verdicts, rule

_ADVICE = Advice(
    required="it should have one value on all nodes of a job",
    remedy="Set it on {nodes} as on the others, or delete it; look into "
    "/etc/nccl.conf, ~/.nccl.conf and the environment of the nodes.",
    cost="these nodes talk another way than the rest",
    action="FIX_CONFIG",
)


@rule(clause="COMM-092")
def variable_differs_across_nodes(fleet: Fleet, catalogue: NcclVariables) -> Verdicts:
    """Compare the variables in which nodes should be alike."""
    if len(fleet.nodes) > 1:
        yield from verdicts(compared(fleet, catalogue, ""), _ADVICE)
