"""A job that its time limit ends in the middle of an interval.

Why it hurts: the scheduler kills the job between two saves. On average half an interval
is thrown away at the end of every job of the chain, on all of its GPUs.

What passes: a signal, or a duration, on which the run saves and ends; or saves so often
that the loss is within the clause's share.

Where it does not apply: debug runs and benchmarks of under 200 steps; runs that are
known to end before the limit; no limit.

Source: Slurm --signal; NVIDIA/Megatron-LM --exit-signal-handler and
--exit-duration-in-mins; NeMo max_time_per_run.

Bad::

    #SBATCH --time=04:00:00         # and a save every two hours

Good::

    #SBATCH --time=04:00:00
    #SBATCH --signal=TERM@600
"""

from speccheck.validator.evidence.plan import Checkpoint, Recovery, Run
from speccheck.validator.forecast.plan_facts import run_seconds, save_interval_seconds
from speccheck.validator.models.units import duration
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class LostShare(Numbers):
    """The share of a job that may be lost at its end."""

    lost_share_max: float


@rule(
    clause="CKPT-030",
    confidence="calibrated",
    about=("recovery.walltime_seconds",),
)
def no_save_before_time_limit(
    checkpoint: Checkpoint, recovery: Recovery, run: Run, limit: LostShare
) -> Verdicts:
    """Judge half an interval against the time limit."""
    walltime, leaves = recovery.walltime_seconds, recovery.exit_before_walltime
    if run.is_trial or not walltime.is_known:
        return
    if checkpoint.enabled.value is False:
        return
    seconds, length = walltime.need(), run_seconds(run)
    if length is not None and length <= seconds:
        return
    if leaves.value is True:
        yield passed(at=[leaves, walltime])
        return
    interval = save_interval_seconds(checkpoint, run)
    share = interval / 2 / seconds
    at = [walltime, checkpoint.interval_steps, checkpoint.interval_seconds]
    if share <= limit.lost_share_max:
        yield passed(at=at, measured=share, required=limit.lost_share_max)
        return
    yield fail(
        f"the job is ended after {duration(seconds)} and saves every "
        f"{duration(interval)}: half an interval, {share:.0%} of the job, is lost at "
        f"its end; at most {limit.lost_share_max:.0%} should be",
        at=at,
        measured=share,
        required=limit.lost_share_max,
        cost=f"{share:.0%} of every job of the chain",
    )
