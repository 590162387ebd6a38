"""A variable that the log of a run shows with another value than the files.

Why it hurts: a later file, the image or the login shell of a node wins, and the run
measures and trains with settings that nobody reads in the files.

What passes: variables that the log shows as the files set them.

Where it does not apply: the log shows none of the variables of the files, or says
that a plugin set them; levels and files of logging, which belong to one run.

Source: NVIDIA/nccl src/misc/param.cc (set by environment to).

Bad::

    job.sh: export NCCL_IB_TC=106    and    NCCL_IB_TC set by environment to 41.

Good::

    job.sh: export NCCL_IB_TC=106    and    NCCL_IB_TC set by environment to 106.
"""

from speccheck.rules.communication._ran import BY_USER
from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.measurement.collective import (
    VariableInForce,
    VariablesInForce,
)
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.rule import Verdicts, fail, passed, rule

_OF_ONE_RUN = ("NCCL_DEBUG", "NCCL_TOPO_DUMP", "NCCL_GRAPH_DUMP")


@rule(clause="COMM-081", about=("NCCL_*",))
def setting_overridden_in_run(
    taken: VariablesInForce, environment: Environment
) -> Verdicts:
    """Judge each variable that both the files and the log show."""
    agreed, is_clean = [], True
    for variable_in_force in taken.shown:
        variable = environment.find(variable_in_force.name.value or "")
        if variable is None or not _is_compared(variable_in_force, variable):
            continue
        if _is_same(variable_in_force.value.value or "", variable.value or ""):
            agreed += [variable.place, *variable_in_force.value.places]
            continue
        is_clean = False
        yield fail(
            f"{variable.name} was {variable_in_force.value.value} in the run; the "
            "files set "
            f"{variable.value}",
            at=[variable.place, *variable_in_force.value.places],
            measured=variable_in_force.value.value,
            required=variable.value,
            cost="the run is not the one that the files describe",
            remedy=f"Find what sets {variable.name} last: the image, nccl.conf of the "
            "node, the shell of the user, or an option of the launcher.",
        )
    if is_clean and agreed:
        yield passed(at=agreed)


def _is_compared(variable_in_force: VariableInForce, variable: Variable) -> bool:
    if (
        variable.name.startswith(_OF_ONE_RUN)
        or variable_in_force.set_by.value != BY_USER
    ):
        return False
    return variable.value is not None and variable_in_force.value.value is not None


def _is_same(text: str, written: str) -> bool:
    """Return whether NCCL reads them alike: numbers by value, names in any case."""
    if text.strip().lower() == written.strip().lower():
        return True
    number = integer_seen(text)
    if number is None or str(number) != text.strip():
        return False
    return number == (integer_seen(written) or 0)
