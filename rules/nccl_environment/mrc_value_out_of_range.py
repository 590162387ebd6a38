"""A variable of the MRC plugin outside its range.

Why it hurts: the range is a field of the wire format; what the card does with another
value is not defined. On MRC the retries are what hides or shows a failing path.

What passes: a timeout of 0 to 24, 0 to 7 linear and 0 to 25 exponential retries, or
whatever the clause says.

Where it does not apply: the variables are not set.

Source: microsoft/mrc-nccl-plugin MRC_ENV_VARIABLES.md.

Bad::

    NCCL_MRC_TIMEOUT=26

Good::

    NCCL_MRC_TIMEOUT=20
"""

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.mending import without_variables
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class MrcLimits(Numbers):
    """The largest value of each variable."""

    timeout_max: int
    linear_max: int
    exp_max: int


@rule(clause="MRC-012", about=("NCCL_MRC_*",))
def mrc_value_out_of_range(environment: Environment, limits: MrcLimits) -> Verdicts:
    """Judge the three variables."""
    largest = (
        ("NCCL_MRC_TIMEOUT", limits.timeout_max),
        ("NCCL_MRC_RETRY_CNT_LINEAR", limits.linear_max),
        ("NCCL_MRC_RETRY_CNT_EXP", limits.exp_max),
    )
    for name, most in largest:
        variable = environment.find(name)
        if variable is None or variable.value is None:
            continue
        number = integer_seen(variable.value)
        if number is not None and 0 <= number <= most:
            yield passed(at=variable.place, measured=number, required=most)
            continue
        yield fail(
            f"{name} is {variable.value}; its range is 0 to {most}",
            at=variable.place,
            measured=variable.value,
            required=f"0 to {most}",
            cost="what the card does with another value is not defined",
            remedy="Delete the line: the default suits.",
            fix=without_variables([variable]),
        )
