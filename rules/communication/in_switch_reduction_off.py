"""NVLink SHARP switched off on machines that have it.

Why it hurts: reduction in the NVSwitch is what lifts all-reduce inside a node above the
rate of the links. Without it a node loses 23 to 31 percent.

What passes: the variable is not set, or not 0.

Where it does not apply: platforms without NVSwitch, which the profile tells; values
that the provider of the machine publishes.

Source: NVIDIA/nccl, environment variables; stas00/ml-engineering network.

Bad::

    NCCL_NVLS_ENABLE=0

Good::

    (the line deleted)
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import without_variables
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.plan import Cluster
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="COMM-015", confidence="advisory", about=("NCCL_NVLS_ENABLE",))
def in_switch_reduction_off(
    environment: Environment, nccl: NcclVariables, cluster: Cluster
) -> Verdicts:
    """Judge NCCL_NVLS_ENABLE."""
    instance = cluster.instance_type.value
    variable = environment.find("NCCL_NVLS_ENABLE")
    if variable is None or nccl.is_published(variable, environment, instance):
        return
    if variable.value != "0":
        yield passed(at=variable.place)
        return
    yield fail(
        "NCCL_NVLS_ENABLE=0 takes the reduction out of the NVSwitch",
        at=variable.place,
        measured=0,
        required="not 0",
        cost="23 to 31 percent of the all-reduce bandwidth inside a node",
        fix=without_variables([variable]),
    )
