"""A variable that NCCL no longer reads.

Why it hurts: nothing tells that it has no effect. What it once worked around is open
again, or the tuning that it stood for never happens.

What passes: only variables that the release of the job still reads.

Where it does not apply: no file sets variables. Where the release is not stated, a
variable counts as removed when it was gone before the release that the oldest supported
PyTorch brings.

Source: release tags 2.3.5 to 2.30.7 of NVIDIA/nccl, searched for each name.

Bad::

    NCCL_TREE_THRESHOLD=0      # gone since 2.5

Good::

    (the line deleted)
"""

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.mending import variable_renamed, without_variables
from speccheck.validator.evidence.nccl_variables import (
    NcclVariables,
    VariableRow,
    release,
)
from speccheck.validator.evidence.plan import Run
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown


@rule(clause="COMM-004")
def removed_variable(
    environment: Environment, nccl: NcclVariables, run: Run
) -> Verdicts:
    """Judge each variable that is set against the release of its removal."""
    if not environment.files:
        yield unknown("no script sets the environment", missing=["environment"])
        return
    stated = release(run.nccl_version.or_else(""))
    used = stated or nccl.assumed
    is_clean = True
    for variable in environment.variables:
        row = nccl.lookup(variable.name)
        if row is None or not row.removed:
            continue
        is_clean = False
        gone = "long ago" if row.removed == "0" else f"in NCCL {row.removed}"
        if used > nccl.newest:
            yield unknown(
                f"{variable.name} was removed {gone}; the release of the job is newer "
                f"than the catalogue",
                missing=["run.nccl_version"],
                at=variable.place,
            )
        elif release(row.removed) <= used:
            instead = (
                f"Set {row.replacement} instead" if row.replacement else "Delete it"
            )
            yield fail(
                f"{variable.name} was removed {gone} and is not read any more",
                at=variable.place,
                measured=variable.name,
                required=row.replacement or "not set",
                cost="the setting has no effect, and nothing says so",
                remedy=f"{instead}.",
                fix=_fix(variable, row, environment),
            )
        elif not stated:
            yield unknown(
                f"{variable.name} was removed {gone}; the release of the job is not "
                f"known",
                missing=["run.nccl_version"],
                at=variable.place,
            )
    if is_clean:
        yield passed()


def _fix(variable: Variable, row: VariableRow, environment: Environment) -> Fix | None:
    """Propose to delete it, or the new name, by which it counts again."""
    if not row.replacement:
        return without_variables([variable])
    if not row.renamed or environment.sets(row.replacement):
        return None
    return variable_renamed(variable, row.replacement)
