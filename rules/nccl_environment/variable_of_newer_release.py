"""A variable that the NCCL of the job does not know yet.

Why it hurts: an older NCCL ignores the name without a message, so that the tuning of
another cluster is believed to be active.

What passes: variables that the stated release reads.

Where it does not apply: the release is not stated.

Source: release tags 2.3.5 to 2.30.7 of NVIDIA/nccl, searched for each name.

Bad::

    NCCL_SOCKET_POLL_TIMEOUT_MSEC=10     # 2.29 and later, with NCCL 2.21

Good::

    (the line deleted, or NCCL upgraded)
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import without_variables
from speccheck.validator.evidence.nccl_variables import NcclVariables, release
from speccheck.validator.evidence.plan import Run
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-002", about=("run.nccl_version",))
def variable_of_newer_release(
    environment: Environment, nccl: NcclVariables, run: Run
) -> Verdicts:
    """Judge each variable that is set against the release that brought it."""
    used = release(run.nccl_version.or_else(""))
    if not used:
        return
    is_clean = True
    for variable in environment.variables:
        row = nccl.lookup(variable.name)
        if row is None or row.family != "nccl" or release(row.added) <= used:
            continue
        is_clean = False
        stated = run.nccl_version.need()
        yield fail(
            f"{variable.name} came with NCCL {row.added}; {stated} does not read it",
            at=[variable.place, *run.nccl_version.places],
            measured=stated,
            required=row.added,
            cost="the setting has no effect, and nothing says so",
            remedy=f"Delete it, or use NCCL {row.added} or later.",
            fix=without_variables([variable]),
        )
    if is_clean and environment.variables:
        yield passed()
