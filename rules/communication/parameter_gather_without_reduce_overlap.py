"""Overlapped parameter gathering without overlapped gradient reduction.

Why it hurts: Megatron-LM builds the first on the buckets of the second and stops with
an assertion at start-up.

What passes: both on, or only the reduction.

Where it does not apply: other frameworks.

Source: NVIDIA/Megatron-LM megatron/training/arguments.py (validate_args).

Bad::

    --use-distributed-optimizer --overlap-param-gather

Good::

    --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather
"""

from speccheck.validator.evidence.finding import Fix
from speccheck.validator.evidence.mending import flag_added, the_flag
from speccheck.validator.evidence.plan import Communication
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(
    clause="CONF-010",
    frameworks=("megatron-lm",),
    about=("communication.overlap_parameter_gather",),
)
def parameter_gather_without_reduce_overlap(
    communication: Communication, stated: StatedKeys
) -> Verdicts:
    """Judge the two overlaps of Megatron-LM."""
    gather = communication.overlap_parameter_gather
    reduce = communication.overlap_gradient_reduce
    if gather.value is not True:
        return
    at = [gather, reduce]
    if reduce.need():
        yield passed(at=at)
        return
    yield fail(
        "--overlap-param-gather needs --overlap-grad-reduce, which is not given",
        at=at,
        measured="off",
        required="on",
        cost="Megatron-LM stops with an assertion at start-up",
        remedy="Add --overlap-grad-reduce.",
        fix=_fix(stated),
    )


def _fix(stated: StatedKeys) -> Fix | None:
    """Propose the flag beside the one that needs it."""
    key = the_flag(stated, "--overlap-param-gather")
    return flag_added(key.value_place, "--overlap-grad-reduce") if key else None
