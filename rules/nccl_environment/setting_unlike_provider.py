"""A setting of queue pairs or traffic class that is not the provider's.

Why it hurts: the switches give the lossless class of RoCE to one traffic class; packets
of another are dropped under load, and the connections time out.

What passes: the values that the provider publishes for the machine type, or none.

Where it does not apply: types for which none is published; where the files of a job are
judged too, another rule compares all of its variables.

Source: oracle-quickstart/oci-hpc, active_healthcheck.py and templates of nccl.conf.

Bad::

    NCCL_IB_TC=0       # BM.GPU.H100.8

Good::

    NCCL_IB_TC=41
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.node.host import NodeVariables
from speccheck.validator.evidence.plan import Cluster, Run
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_OF_A_JOB = ("vendor-published", "set-by-image")


class Settings(Numbers):
    """The variables that the fabric of the provider is set up for."""

    of_the_fabric: tuple[str, ...]


@rule(clause="HW-131", about=("NCCL_IB_*",))
def setting_unlike_provider(
    variables: NodeVariables,
    environment: Environment,
    nccl: NcclVariables,
    cluster: Cluster,
    run: Run,
    wanted: Settings,
) -> Verdicts:
    """Compare each of the variables with what is published for the machine type."""
    instance = cluster.instance_type.value
    if run.framework.is_known or not instance:
        return
    own = {place.file for place in variables.count.places}
    sets = nccl.published_for(environment, instance)
    alike, is_clean = [], True
    for name in wanted.of_the_fabric:
        values = [
            set_.variables[name]
            for set_ in sets
            if set_.status in _OF_A_JOB and name in set_.variables
        ]
        variable = environment.find(name)
        if not values or variable is None or not variable.value:
            continue
        if variable.place.file not in own:
            continue
        if nccl.is_published(variable, environment, instance):
            alike.append(variable.place)
            continue
        is_clean = False
        meant = " or ".join(dict.fromkeys(values))
        yield fail(
            f"{name}={variable.value}; the provider of {instance} publishes {meant}",
            at=[variable.place, *cluster.instance_type.places],
            measured=variable.value,
            required=meant,
            cost="the fabric is set up for the published values: packets are dropped",
            remedy=f"Set {name}={meant}, or unset it where the image does.",
            action="FIX_CONFIG",
        )
    if alike and is_clean:
        yield passed(at=alike)
