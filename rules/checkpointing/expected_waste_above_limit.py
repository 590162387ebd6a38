"""Lost work and saving together take more of the run than they may.

Why it hurts: this share of the bill buys nothing. Past it, adding nodes stops making
the run faster, since each node also adds failures.

What fails without the time of a save: work repeated after failures that is more than
the limit on its own.

What passes: an expected share of waste within the limit of the size class: time spent
saving, work repeated after failures, and the known parts of a restart.

Where it does not apply: one node; runs of unknown length.

Source: Daly 2006; the restart time counts only as far as the plan states it, so that
the true waste is larger.

Bad::

    checkpoint: {interval_seconds: 3600, save_seconds: 300}    # 1,024 nodes

Good::

    checkpoint: {interval_seconds: 900, save_seconds: 10}
"""

from speccheck.validator.evidence.plan import Checkpoint, TrainingPlan
from speccheck.validator.forecast.checkpointing import checkpoint_forecast
from speccheck.validator.models.checkpointing import useful_share
from speccheck.validator.models.units import duration
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class WasteLimit(Numbers):
    """The share of the run that may be wasted."""

    waste_max: float


@rule(clause="CKPT-003", confidence="calibrated")
def expected_waste_above_limit(
    plan: TrainingPlan, checkpoint: Checkpoint, limit: WasteLimit
) -> Verdicts:
    """Judge the expected waste, where the time of a save is more than a guess."""
    forecast = checkpoint_forecast(plan)
    interval = forecast.named("interval").need().value
    failures = forecast.named("time_between_failures").need()
    mtbf, stall_time = failures.value, forecast.named("stall")
    stall = stall_time.estimate
    if stall is None or (
        stall.kind == "advisory" and not checkpoint.save_seconds.is_known
    ):
        repeated = 1 - useful_share(interval, 0, failures.upper, 0)
        if repeated <= limit.waste_max:
            stall_time.need()
            checkpoint.save_seconds.need()
        yield fail(
            f"{repeated:.1%} of the run is repeated after failures at the least: a "
            f"save every {duration(interval)} and a failure every {duration(mtbf)}; at "
            f"most {limit.waste_max:.1%} may be lost",
            at=[checkpoint.interval_seconds, checkpoint.interval_steps],
            measured=repeated,
            required=limit.waste_max,
            cost=f"{repeated:.1%} of the bill buys no progress",
        )
        return
    waste = forecast.named("expected_waste").need().value
    at = [
        checkpoint.save_seconds,
        checkpoint.interval_seconds,
        checkpoint.interval_steps,
    ]
    if waste <= limit.waste_max:
        yield passed(at=at, measured=waste, required=limit.waste_max)
        return
    yield fail(
        f"{waste:.1%} of the run goes into saving and repeating: a save of "
        f"{duration(stall.value)} every {duration(interval)} and a failure every "
        f"{duration(mtbf)}; at most {limit.waste_max:.1%} may",
        at=at,
        measured=waste,
        required=limit.waste_max,
        cost=f"{waste:.1%} of the bill buys no progress",
    )
