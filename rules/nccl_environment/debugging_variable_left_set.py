"""A variable for debugging, or an old workaround, left set.

Why it hurts: such values serialise kernels, compare every collective or hide a fault,
and they outlive the day on which they were needed.

What passes: the variables are not set, or set to a harmless value.

Where it does not apply: debug runs; values that the provider of the machine publishes,
such as NCCL_SHM_DISABLE=1 on GB200.

Source: NVIDIA/nccl, environment variables (debugging); CUDA programming guide; pytorch
ProcessGroupNCCL. The cost of each value stands in the catalogue.

Bad::

    CUDA_LAUNCH_BLOCKING=1

Good::

    CUDA_LAUNCH_BLOCKING=0
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import without_variables
from speccheck.validator.evidence.nccl_variables import NcclVariables
from speccheck.validator.evidence.plan import Cluster, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_OFF = "DISABLE"


@rule(clause="OBS-011")
def debugging_variable_left_set(
    environment: Environment, nccl: NcclVariables, cluster: Cluster, run: Run
) -> Verdicts:
    """Judge each variable whose value costs something."""
    instance = cluster.instance_type.value
    if run.role.value == "debug":
        return
    if not environment.files:
        yield unknown("no script sets the environment", missing=["environment"])
        return
    is_clean = True
    for variable in environment.variables:
        row = nccl.lookup(variable.name)
        if row is None or variable.value is None or not row.is_costly(variable.value):
            continue
        if nccl.is_published(variable, environment, instance):
            continue
        is_clean = False
        yield fail(
            f"{variable.name}={variable.value} is left set: {row.cost}",
            at=variable.place,
            measured=variable.value,
            required="not set",
            cost="every step of the run pays for it",
            remedy="Delete the line; set it in a debugging session only.",
            # What is switched off may have been so for a fault of the machine.
            fix=without_variables([variable]),
        )
    if is_clean:
        yield passed()
