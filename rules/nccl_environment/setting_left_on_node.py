"""A setting of a diagnosis, or of another machine, in the environment of a node.

Why it hurts: what a shell profile or a nccl.conf of the node sets, every job on it
gets: a path is switched off, each launch waits, or one algorithm is forced for all
sizes, on this node alone.

What passes: no variable of the layers of the node has a value that should not stay set,
and none of those of the clause is set. What the provider of the machine type publishes
is right there.

Where it does not apply: variables that the files of a job set have rules of their own,
and so has the whole environment where such files are judged too.

Source: NVIDIA/nccl documentation, environment variables (debugging); NVIDIA/aicr PR
422; Azure/azurehpc-health-checks issue 142.

Bad::

    cat /etc/nccl.conf       # NCCL_ALGO=Ring, NCCL_GRAPH_FILE=/tmp/graph.xml

Good::

    cat /etc/nccl.conf       # NCCL_SOCKET_IFNAME=eth0
"""

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.node.host import NodeVariables
from speccheck.validator.evidence.plan import Cluster, Run
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Settings(Numbers):
    """The variables that a job may set for itself, and a node should not."""

    left_to_nccl: tuple[str, ...]
    verbose_levels: tuple[str, ...]


@rule(clause="HW-130")
def setting_left_on_node(
    variables: NodeVariables,
    environment: Environment,
    nccl: NcclVariables,
    cluster: Cluster,
    run: Run,
    limit: Settings,
) -> Verdicts:
    """Judge each variable of the node's own layers."""
    if run.framework.is_known:
        return
    own = {place.file for place in variables.count.places}
    instance = cluster.instance_type.value
    result = False
    for variable in environment.variables:
        why = _why_not(variable, nccl, limit)
        if not why or variable.place.file not in own:
            continue
        if nccl.is_published(variable, environment, instance):
            continue
        result = True
        yield fail(
            f"{variable.name}={variable.value} is set on the node: {why}",
            at=variable.place,
            measured=variable.value,
            required="not set",
            cost="every job on this node pays for it, and those on others do not",
            remedy=f"Take {variable.name} out of the shell's profile, "
            "/etc/nccl.conf and "
            "~/.nccl.conf; the layer stands in the snapshot.",
            action="FIX_CONFIG",
        )
    if result:
        return
    for listed in variables.each():
        listed.name.need()
        listed.layer.need()
    yield passed(at=variables.count)


def _why_not(variable: Variable, nccl: NcclVariables, limit: Settings) -> str:
    """Return what the value costs; empty where it costs nothing."""
    name, value = variable.name, variable.value
    if not value:
        return ""
    row = nccl.lookup(name)
    if row is not None and row.is_costly(value):
        return row.cost
    if name in limit.left_to_nccl:
        return "one choice then holds for all sizes and scales"
    if name == "NCCL_DEBUG" and value.upper() in limit.verbose_levels:
        return "each call is logged"
    return ""
