"""A checkpoint interval far from the one that wastes the least.

Why it hurts: saving too rarely repeats hours of work after each failure, saving too
often stops training for the saves. The best interval follows from the time that a save
blocks training and from the time between failures of the job.

What passes: an interval within the clause's factor of the optimum, or one whose
distance from it costs less than the clause allows. Where the time of a save is not
known, the longest that is usual is taken, and only intervals that are too long even
then are failed.

Where it does not apply: one node, whose failures a file does not tell.

Source: Daly 2006; node failure rates of arXiv:2407.21783 and arXiv:2410.21680.

Bad::

    checkpoint: {interval_seconds: 86400}    # once a day on 512 nodes

Good::

    checkpoint: {interval_seconds: 2400}
"""

from speccheck.validator.evidence.plan import Checkpoint, Cluster, Run
from speccheck.validator.models.checkpoint_interval import (
    optimal_interval_seconds,
    useful_share,
)
from speccheck.validator.models.save_schedule import (
    duration,
    job_mtbf_seconds,
    run_seconds,
    save_interval_seconds,
)
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class IntervalLimit(Numbers):
    """How far from the optimum an interval may be."""

    fail_factor: float
    loss_max: float  # share of the run that may be lost by it
    failure_rate: float  # per node-day
    longest_save: float  # seconds, where the time of a save is not known


@rule(clause="CKPT-002", confidence="lower_bound")
def checkpoint_interval_off_optimum(
    checkpoint: Checkpoint, cluster: Cluster, run: Run, limit: IntervalLimit
) -> Verdicts:
    """Judge the interval against the optimum of the exponential failure model."""
    if checkpoint.enabled.value is False:
        return
    interval = save_interval_seconds(checkpoint, run)
    mtbf = job_mtbf_seconds(cluster, limit.failure_rate)
    save_time = checkpoint.save_seconds
    save = save_time.or_else(limit.longest_save)
    best = optimal_interval_seconds(save, mtbf)
    length = run_seconds(run)
    at = [checkpoint.interval_seconds, checkpoint.interval_steps, run.step_seconds]
    if length is not None and length <= best and 2 * interval <= length:
        yield passed("the run is shorter than the best interval", at=at)
        return
    lost = useful_share(best, save, mtbf) - useful_share(interval, save, mtbf)
    too_long = interval > best * limit.fail_factor
    too_short = save_time.is_known and interval * limit.fail_factor < best
    if lost <= limit.loss_max or not (too_long or too_short):
        yield passed(at=at, measured=interval, required=best)
        return
    assumed = "" if save_time.is_known else " even"
    yield fail(
        f"a checkpoint every {duration(interval)} is {interval / best:.2g} times the "
        f"best interval of {duration(best)}{assumed} for a save of {duration(save)} "
        f"and a failure every {duration(mtbf)}; a factor of {limit.fail_factor:g} is "
        f"allowed",
        at=at,
        measured=interval,
        required=best * limit.fail_factor if too_long else best / limit.fail_factor,
        cost=f"{lost:.0%} of the run is lost beyond what cannot be avoided",
        remedy=f"Save every {duration(best)}.",
    )
