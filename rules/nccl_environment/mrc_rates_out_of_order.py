"""Rates of the MRC plugin out of range, or a floor above the ceiling.

Why it hurts: the plugin packs the three rates into one hint for the card. A floor above
the ceiling, or a start outside of both, is not what anybody meant, and the card may
take the connection for slower than its line.

What passes: each of the three that is set is from 0 to the largest rate, and floor,
start and ceiling do not fall. Zero is no rate, and is compared with none.

Where it does not apply: none of the three is set, or what is set is no number.

Source: microsoft/mrc-nccl-plugin MRC_ENV_VARIABLES.md of 1.0.0.

Bad::

    NCCL_MRC_CC_MIN_RATE=1048576
    NCCL_MRC_CC_MAX_RATE=524288

Good::

    NCCL_MRC_CC_MIN_RATE=65536
    NCCL_MRC_CC_MAX_RATE=1048576
"""

from itertools import pairwise

from speccheck.validator.evidence.environment import Environment
from speccheck.validator.evidence.nccl_variables import integer_seen
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_IN_ORDER = ("NCCL_MRC_CC_MIN_RATE", "NCCL_MRC_CC_INIT_RATE", "NCCL_MRC_CC_MAX_RATE")


class MrcRates(Numbers):
    """The largest rate."""

    rate_max: int


@rule(clause="MRC-023", about=("NCCL_MRC_CC_*",))
def mrc_rates_out_of_order(environment: Environment, limit: MrcRates) -> Verdicts:
    """Judge each rate by its range, then those beside each other."""
    most = limit.rate_max
    stated = [environment.find(name) for name in _IN_ORDER]
    rates = [
        (variable, number)
        for variable in stated
        if variable is not None
        and variable.value is not None
        and (number := integer_seen(variable.value)) is not None
    ]
    is_sound = True
    for variable, number in rates:
        if not 0 <= number <= most:
            is_sound = False
            yield fail(
                f"{variable.name} is {number:,}; its range is 0 to {most:,}",
                at=variable.place,
                measured=number,
                required=most,
            )
    for (low, floor), (high, ceiling) in pairwise(
        rate for rate in rates if rate[1] > 0
    ):
        if floor > ceiling:
            is_sound = False
            yield fail(
                f"{low.name} is {floor:,}, above {high.name} of {ceiling:,}",
                at=[low.place, high.place],
                measured=floor,
                required=ceiling,
            )
    if rates and is_sound:
        yield passed(at=[variable.place for variable, _ in rates])
