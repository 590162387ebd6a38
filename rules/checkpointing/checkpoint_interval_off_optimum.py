"""A checkpoint interval far from the one that wastes the least.

Why it hurts: saving too rarely repeats hours of work after each failure, saving too
often stops training for the saves. The best interval follows from the time that a save
blocks training and from the time between failures of the job.

What passes: an interval within the clause's factor of the optimum, or one whose
distance from it costs less than the clause allows. Failure rates and, where it is not
stated, the time of a save are taken between bounds, and only intervals are failed that
are off for all of them.

Where it does not apply: one node, whose failures a file does not tell.

Source: Daly 2006; node failure rates of arXiv:2407.21783 and arXiv:2410.21680.

Bad::

    checkpoint: {interval_seconds: 86400}    # once a day on 512 nodes

Good::

    checkpoint: {interval_seconds: 2400}
"""

from speccheck.validator.evidence.plan import Checkpoint, Run, TrainingPlan
from speccheck.validator.forecast.plan_facts import run_seconds, save_interval_seconds
from speccheck.validator.models.units import duration
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class IntervalLimit(Numbers):
    """How far from the optimum an interval may be."""

    fail_factor: float
    loss_max: float  # share of the run that may be lost by it
    longest_save: float  # seconds, where the time of a save is not known


@rule(clause="CKPT-002", confidence="lower_bound")
def checkpoint_interval_off_optimum(
    plan: TrainingPlan, checkpoint: Checkpoint, run: Run, limit: IntervalLimit
) -> Verdicts:
    """Judge the interval against every optimum that the failures leave possible."""
    if checkpoint.enabled.value is False:
        return
    save_interval_seconds(checkpoint, run)  # without it nothing is to be forecast
    from speccheck.rules.checkpointing._distance import (  # noqa: PLC0415 - dear
        surely_off,
        surely_too_long,
    )

    nearest = surely_too_long(plan, limit.longest_save)
    at = [checkpoint.interval_seconds, checkpoint.interval_steps, run.step_seconds]
    length, interval = run_seconds(run), nearest.interval
    if length is not None and length <= nearest.best and 2 * interval <= length:
        yield passed("the run is shorter than the best interval", at=at)
        return
    off = surely_off(plan, limit.fail_factor, limit.loss_max, limit.longest_save)
    if off is None:
        yield passed(at=at, measured=interval, required=nearest.best)
        return
    factor = limit.fail_factor
    is_long = off.interval > off.best
    even = " even" if off.is_assumed else ""
    yield fail(
        f"a checkpoint every {duration(interval)} is {interval / off.best:.2g} times "
        f"the best interval of {duration(off.best)}{even} for a save of "
        f"{duration(off.save)} and a failure every {duration(off.mtbf)}; a factor of "
        f"{factor:g} is allowed",
        at=at,
        measured=interval,
        required=off.best * factor if is_long else off.best / factor,
        cost=f"{off.lost:.0%} of the run is lost beyond what cannot be avoided",
        remedy=f"Save every {duration(off.best)}.",
    )
