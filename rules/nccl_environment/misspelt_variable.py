"""A variable whose name is a slip of a known one.

Why it hurts: NCCL and PyTorch never report a name that they do not know. The setting is
believed to be active and is not.

What passes: names that are known, and names that resemble none: plugins and newer
releases bring their own.

Where it does not apply: releases newer than the catalogue; names with blanks, which
unreadable_configuration_line tells.

Source: the names in the sources of NVIDIA/nccl and its plugins; NCCL issue 1199.

Bad::

    NCCL_MIN_CHANNELS=4

Good::

    NCCL_MIN_NCHANNELS=4
"""

from speccheck.validator.evidence.environment import Environment, Variable
from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.mending import variable_renamed
from speccheck.validator.evidence.nccl_variables import NcclVariables, release
from speccheck.validator.evidence.plan import Run
from speccheck.validator.rule import Verdicts, fail, passed, rule

_FAMILIES = ("NCCL_", "TORCH_NCCL_", "OFI_NCCL_")


@rule(clause="CONF-002", confidence="advisory", about=("*",))
def misspelt_variable(
    environment: Environment, nccl: NcclVariables, run: Run
) -> Verdicts:
    """Judge each unknown name by its nearest known one."""
    if not environment.variables:
        return
    if release(run.nccl_version.or_else("")) > nccl.newest:
        return
    is_clean, was_read = True, False
    for variable in environment.variables:
        name = variable.name
        if not name.startswith(_FAMILIES) or name != name.strip():
            continue
        if nccl.lookup(name) is not None:
            was_read = True
            continue
        meant = nccl.resembles(name)
        if meant is None:
            continue
        is_clean = False
        yield fail(
            f"{name} is not a variable that any library reads; did you mean {meant}?",
            at=variable.place,
            measured=name,
            required=meant,
            cost="the setting has no effect, and nothing says so",
            remedy=f"Write {meant}.",
            fix=_fix(variable, meant, environment, nccl),
        )
    if is_clean and was_read:
        yield passed()


def _fix(
    variable: Variable, meant: str, environment: Environment, nccl: NcclVariables
) -> Fix | None:
    """Propose the name that is meant, in its present form, which takes effect then."""
    row = nccl.lookup(meant)
    name = row.replacement if row is not None and row.renamed else meant
    if environment.sets(meant) or environment.sets(name):
        return None
    return variable_renamed(variable, name)
