"""NCCL_DEBUG more verbose than the use at hand needs.

Why it hurts: INFO prints thousands of lines from every rank, TRACE one for each call.
It fills disks, slows start-up and buries the one line that matters.

What passes: WARN in a run; INFO in a pre-flight, where the log is the evidence.

Where it does not apply: the variable is not set, or not to a level.

Source: NVIDIA/nccl, logging; engineering default.

Bad::

    NCCL_DEBUG=TRACE

Good::

    NCCL_DEBUG=WARN
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import variable_set
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

# From silent to loud.
_LEVELS = ("NONE", "VERSION", "WARN", "ABORT", "INFO", "TRACE")


class LoudestLevel(Numbers):
    """The most verbose level that the use allows."""

    max_level: str


@rule(clause="COMM-014", about=("NCCL_DEBUG",))
def verbose_debug_logging(environment: Environment, limit: LoudestLevel) -> Verdicts:
    """Judge the level of NCCL_DEBUG."""
    variable = environment.find("NCCL_DEBUG")
    level = "" if variable is None else (variable.value or "").strip().upper()
    if variable is None or level not in _LEVELS:
        return
    if _LEVELS.index(level) <= _LEVELS.index(limit.max_level):
        yield passed(at=variable.place, measured=level, required=limit.max_level)
        return
    yield fail(
        f"NCCL_DEBUG={level} logs more than {limit.max_level}",
        at=variable.place,
        measured=level,
        required=limit.max_level,
        cost="every rank writes thousands of lines",
        fix=variable_set(variable, limit.max_level, because="log only"),
    )
