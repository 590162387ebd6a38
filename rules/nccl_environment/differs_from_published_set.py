"""A value other than the one that the provider of the machine publishes.

Why it hurts: providers measure their sets on their own fabric. Another value may be a
copy from another machine, or from an older set of the same one.

What passes: a published value; variables that no set of the machine speaks of.

Where it does not apply: machines whose provider publishes no set, or whose instance
type no file states; values that the plugin sets by itself; debug runs. The log level
and the control interface are left to the job.

Source: the sets of AWS, Azure, CoreWeave, Google Cloud and Oracle in the catalogue of
platforms, each with its own source.

Bad::

    NCCL_IB_TC=106     # on BM.GPU.H100.8, for which 41 is published

Good::

    NCCL_IB_TC=41
"""

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.mending import variable_set
from speccheck.validator.evidence.nccl_variables import ANY, NcclVariables
from speccheck.validator.evidence.plan import Cluster, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule

_FOR_THE_MACHINE = frozenset({"vendor-published", "set-by-image"})


@rule(clause="COMM-065", about=("NCCL_*", "SHARP_*", "UCX_*"))
def differs_from_published_set(
    environment: Environment, nccl: NcclVariables, cluster: Cluster, run: Run
) -> Verdicts:
    """Judge each variable of the sets that are published for the machine."""
    instance = cluster.instance_type.value
    if run.role.value == "debug":
        return
    published: dict[str, list[str]] = {}
    for platform in nccl.published_for(environment, instance):
        if platform.status in _FOR_THE_MACHINE:
            for name, value in platform.variables.items():
                published.setdefault(name, []).append(value)
    alike, is_clean = [], True
    for variable in environment.variables:
        name, values = variable.name, published.get(variable.name)
        if not values or not variable.value or name in nccl.left_to_the_job:
            continue
        if nccl.is_published(variable, environment, instance):
            alike.append(variable.place)
            continue
        is_clean = False
        meant = " or ".join(dict.fromkeys(values))
        yield fail(
            f"{name}={variable.value}; the provider of {instance or 'the machine'} "
            f"publishes {meant}",
            at=[variable.place, *cluster.instance_type.places],
            measured=variable.value,
            required=meant,
            cost="what the provider measured on its fabric does not hold here",
            remedy=f"Set {name}={meant}, or keep yours with the measurement beside it.",
            fix=_fix(variable, values),
        )
    if alike and is_clean:
        yield passed(at=alike)


def _fix(variable: Variable, values: list[str]) -> Fix | None:
    """Propose the published value, where there is one; `*` stands for any."""
    if len(set(values)) > 1 or values[0] == ANY:
        return None
    return variable_set(variable, values[0])
