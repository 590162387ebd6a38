"""Training metrics logged too rarely.

Why it hurts: a diverging loss or a slow node shows up one log line later. At 500 steps
of 10 s that is more than an hour of the whole cluster.

What passes: a line every few steps, as the clause has it, or often enough in time.

Where it does not apply: debug runs, and logs of a run whose files state no interval:
they show it themselves. Without a step time, stated or forecast, the clause is open: a
hundred steps of a small model take seconds.

Source: engineering default; Megatron-LM --log-interval (default 100), Hugging Face
logging_steps (default 500), torchtitan metrics.log_freq (default 10).

Bad::

    logging_steps: 500

Good::

    logging_steps: 10
"""

from collections.abc import Sequence

from speccheck.validator.evidence.mending import rewritten
from speccheck.validator.evidence.plan import LogsAtHand, Run, Telemetry, TrainingPlan
from speccheck.validator.evidence.stated_keys import StatedKeys
from speccheck.validator.evidence.value import Place, Value
from speccheck.validator.rule import Numbers, Verdict, Verdicts, fail, passed, rule


class LogLimit(Numbers):
    """The longest interval between two log lines."""

    log_steps: int
    log_seconds: float


@rule(clause="OBS-003")
def logs_too_rarely(
    plan: TrainingPlan,
    telemetry: Telemetry,
    run: Run,
    stated: StatedKeys,
    logs: LogsAtHand | None,
    limit: LogLimit,
) -> Verdicts:
    """Judge the interval in steps, then in seconds where the step time is known."""
    interval, step = telemetry.log_interval_steps, run.step_seconds
    by_time = telemetry.log_interval_seconds
    is_stated = interval.is_known or by_time.is_known
    if run.role.value == "debug" or (logs is not None and not is_stated):
        return
    if by_time.is_known and not interval.is_known:
        yield _by_time(by_time.need(), limit, by_time.places)
        return
    # An engine file (steps_per_print) does not set the interval of the trainer.
    steps = interval.need_stated() if interval.places else interval.need()
    if steps <= limit.log_steps:
        yield passed(at=interval, measured=steps, required=limit.log_steps)
        return
    if step.is_known:
        yield _by_time(steps * step.need(), limit, [*interval.places, *step.places])
        return
    shortest = _shortest_step(plan)
    if steps * shortest <= limit.log_seconds:
        step.need()
    yield fail(
        f"a log line every {steps:,} steps, which take {steps * shortest:,.0f} s at "
        f"least; every {limit.log_steps} steps or {limit.log_seconds:g} s is enough",
        at=interval,
        measured=steps,
        required=limit.log_steps,
        cost="a diverging loss or a slow node is seen one line later",
        remedy=_remedy(interval, limit),
        fix=rewritten(interval, limit.log_steps, stated, because="log only"),
    )


def _shortest_step(plan: TrainingPlan) -> float:
    """Return the seconds of a step by the forecast, from below; 0 without."""
    # Dear, and few plans tell as much.
    from speccheck.validator.forecast.step import step_forecast  # noqa: PLC0415

    estimate = step_forecast(plan).named("step_seconds").estimate
    return 0 if estimate is None else estimate.lower


def _remedy(interval: Value[int], limit: LogLimit) -> str:
    """Return the key that states the interval; the clause's remedy for a default."""
    if not interval.places:
        return ""
    return f"Set {interval.places[0].key} to {limit.log_steps} or less."


def _by_time(seconds: float, limit: LogLimit, places: Sequence[Place]) -> Verdict:
    if seconds <= limit.log_seconds:
        return passed(at=places, measured=seconds, required=limit.log_seconds)
    return fail(
        f"a log line every {seconds:,.0f} s; at least every {limit.log_seconds:g} s is "
        f"needed",
        at=places,
        measured=seconds,
        required=limit.log_seconds,
        cost="a diverging loss or a slow node is seen one line later",
    )
