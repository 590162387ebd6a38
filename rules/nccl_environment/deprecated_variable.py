"""A variable under a name, or of a kind, that is deprecated.

Why it hurts: the next upgrade stops reading it without a message. PyTorch renamed its
NCCL variables in 2.2; NCCL replaced its channel counts by CTA counts in 2.17.

What passes: the current names, and values that the provider of the machine publishes
under the old one.

Where it does not apply: a release that does not have the new name yet.

Source: pytorch ProcessGroupNCCL.hpp; NVIDIA/nccl, environment variables.

Bad::

    NCCL_ASYNC_ERROR_HANDLING=1

Good::

    TORCH_NCCL_ASYNC_ERROR_HANDLING=1
"""

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.finding import Fix, SafeBecause
from speccheck.validator.evidence.mending import variable_renamed, without_variables
from speccheck.validator.evidence.nccl_variables import (
    NcclVariables,
    VariableRow,
    release,
)
from speccheck.validator.evidence.plan import Cluster, Run
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-004", about=("*",))
def deprecated_variable(
    environment: Environment, nccl: NcclVariables, cluster: Cluster, run: Run
) -> Verdicts:
    """Judge each variable that is set against its deprecation."""
    instance = cluster.instance_type.value
    if not environment.variables:
        return
    used = release(run.nccl_version.or_else("")) or nccl.assumed
    is_clean = True
    for variable in environment.variables:
        row = nccl.lookup(variable.name)
        if row is None or not row.deprecated:
            continue
        if row.family == "nccl" and release(row.deprecated) > used:
            continue
        if nccl.is_published(variable, environment, instance):
            continue
        is_clean = False
        owner = row.deprecated if " " in row.deprecated else f"NCCL {row.deprecated}"
        instead = f"; {row.replacement} takes its place" if row.replacement else ""
        yield fail(
            f"{variable.name} is deprecated since {owner}{instead}",
            at=variable.place,
            measured=variable.name,
            required=row.replacement or "not set",
            cost="a later release ignores it without a message",
            remedy=_remedy(row, environment),
            fix=_fix(variable, row, environment, run),
        )
    if is_clean:
        yield passed()


def _remedy(row: VariableRow, environment: Environment) -> str:
    """Return what to do: nothing takes the old name's place where that is set too."""
    if not row.replacement:
        return "Delete it."
    newer = environment.find(row.replacement)
    if newer is not None:
        return f"Delete it: {row.replacement} is set as well, to {newer.value}."
    return f"Set {row.replacement}."


def _fix(
    variable: Variable, row: VariableRow, environment: Environment, run: Run
) -> Fix | None:
    """Propose the new name, unless it is set too; older releases read the old one."""
    if not row.replacement:
        return without_variables([variable])
    if not row.renamed or environment.sets(row.replacement):
        return None
    stated = release(run.nccl_version.or_else(""))
    has_both = row.family == "nccl" and stated >= release(row.deprecated)
    because: SafeBecause = "same meaning" if has_both else ""
    return variable_renamed(variable, row.replacement, because=because)
