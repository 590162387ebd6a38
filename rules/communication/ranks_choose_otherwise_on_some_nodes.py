"""A variable by which ranks choose that is set otherwise on some nodes.

Why it hurts: each rank chooses algorithm, protocol, buffers and network by its own
variables. A node that has another value waits for messages that never come, or ends the
initialisation of all: a job of ten thousand GPUs hangs for one file on one node.

What passes: one value on all nodes, or none on any.

Where it does not apply: a fleet of one node; variables that no node sets.

Source: NVIDIA/nccl issue 2190; GoogleCloudPlatform gpudirect-tcpxo (one set on all
nodes).

Bad::

    NCCL_PROTO=Simple on 63 nodes, NCCL_PROTO=LL on one

Good::

    NCCL_PROTO=Simple on 64 nodes
"""

from speccheck.rules.communication._variables import compared
from speccheck.validator.comparison.verdicts import Advice, verdicts
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.rule import Verdicts, rule

_ADVICE = Advice(
    required="all ranks of a job must choose by the same value",
    remedy="Set it on {nodes} as on the others, or delete it everywhere; look into "
    "/etc/nccl.conf, ~/.nccl.conf and the environment of the nodes.",
    cost="collectives hang, or initialisation ends",
    action="FIX_CONFIG",
)


@rule(clause="COMM-091")
def ranks_choose_otherwise_on_some_nodes(
    fleet: Fleet, catalogue: NcclVariables
) -> Verdicts:
    """Compare the variables in which ranks must be alike."""
    if len(fleet.nodes) > 1:
        yield from verdicts(compared(fleet, catalogue, "alike"), _ADVICE)
