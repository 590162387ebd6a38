"""A checkpoint interval outside the band in which it costs next to nothing.

Why it hurts: half or twice the best interval costs a quarter more waste than needed;
beyond that it grows in proportion. Not a fault, but hours of the cluster in a long run.

What passes: an interval inside the clause's band around the optimum. Intervals that are
off by more than the clause's factor are told by checkpoint_interval_off_optimum.

Where it does not apply: plans that do not say how long a save blocks training, since
the optimum then lies anywhere within an order of magnitude.

Source: Daly 2006.

Bad::

    checkpoint: {interval_seconds: 21600, save_seconds: 40}    # 16 nodes

Good::

    checkpoint: {interval_seconds: 10800, save_seconds: 40}
"""

from speccheck.rules.checkpointing._distance import surely_off
from speccheck.validator.evidence.plan import Checkpoint, Run, TrainingPlan
from speccheck.validator.forecast.checkpointing import checkpoint_forecast
from speccheck.validator.forecast.plan_facts import run_seconds
from speccheck.validator.models.checkpointing import useful_share
from speccheck.validator.models.units import duration
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Band(Numbers):
    """The band around the optimum."""

    band_low: float
    band_high: float
    fail_factor: float
    loss_max: float
    loss_negligible: float
    longest_save: float  # seconds


@rule(
    clause="CKPT-002", confidence="calibrated", about=("checkpoint.interval_seconds",)
)
def checkpoint_interval_outside_band(
    plan: TrainingPlan, checkpoint: Checkpoint, run: Run, band: Band
) -> Verdicts:
    """Judge the interval against the band, where the save time is known."""
    if checkpoint.enabled.value is False or not checkpoint.save_seconds.is_known:
        return
    forecast = checkpoint_forecast(plan)
    interval = forecast.named("interval").need().value
    mtbf = forecast.named("time_between_failures").need().value
    save = forecast.named("stall").need().value
    best = forecast.named("optimum_interval").need().value
    length = run_seconds(run)
    if length is not None and length <= best and 2 * interval <= length:
        return
    share = interval / best
    at = [checkpoint.interval_seconds, checkpoint.interval_steps, run.step_seconds]
    if band.band_low <= share <= band.band_high:
        yield passed(at=at, measured=share)
        return
    lost = useful_share(best, save, mtbf) - useful_share(interval, save, mtbf)
    if lost <= band.loss_negligible:
        yield passed("the distance costs next to nothing", at=at, measured=share)
        return
    if surely_off(plan, band.fail_factor, band.loss_max, band.longest_save):
        return
    yield fail(
        f"a checkpoint every {duration(interval)} is {share:.2g} times the best "
        f"interval of {duration(best)} (save {duration(save)}, a failure every "
        f"{duration(mtbf)}); {band.band_low:g} to {band.band_high:g} times cost "
        f"little",
        at=at,
        measured=share,
        required=f"{band.band_low:g} to {band.band_high:g}",
        cost=f"{lost:.1%} of the run",
        remedy=f"Save every {duration(best)}.",
    )
