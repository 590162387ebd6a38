"""No restore from a checkpoint that succeeded lately.

Why it hurts: checkpoints that nobody has restored fail on the day they are needed:
another number of ranks, a shard that is missing, a new release of a library.

What passes: an event run.restore that succeeded, not longer ago than the clause allows
when the certificate is judged.

Where it does not apply: uses other than certification. Without an event, or without
the time of the judgement, the clause is undecided; so is an event of the future.

Source: the validity is an engineering default.

Bad::

    run.restore 2026-03-02        # judged on 2026-11-22: 265 days ago

Good::

    run.restore 2026-11-02
"""

from speccheck.validator.evidence.declaration import Declaration
from speccheck.validator.evidence.measurement.telemetry import RunEvents, events_of
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.models.units import days_in
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_SUCCEEDED = frozenset({None, "success", "succeeded", "ok", "completed"})


class Age(Numbers):
    """The longest time since a restore."""

    drill_age: float


@rule(clause="CKPT-009")
def restore_drill_out_of_date(
    events: RunEvents, declaration: Declaration, limit: Age
) -> Verdicts:
    """Judge the newest restore that succeeded."""
    events.each()
    if declaration.judged_seconds is None:
        name, reason = "declaration.judged_seconds", "when it is judged is not known"
        raise MissingEvidence(name, reason)
    run_events = events_of(events, "run.restore")
    done = [
        (run_event.time.value, run_event)
        for run_event in run_events
        if run_event.status.value in _SUCCEEDED and run_event.time.value is not None
    ]
    if not done:
        failed = len(run_events) - len(done)
        why = (
            f"{failed} restores failed or have no time"
            if run_events
            else "none is told"
        )
        yield unknown(
            f"no log holds a restore that succeeded: {why}", missing=["run.restore"]
        )
        return
    time, newest = max(done, key=lambda pair: pair[0])
    age = days_in(declaration.judged_seconds - time)
    if age < -1:
        yield unknown(
            f"the newest restore is {-age:,.0f} days in the future: a clock is wrong",
            missing=["run.restore"],
            at=newest.time,
        )
    elif age <= limit.drill_age:
        yield passed(at=newest.time, measured=age, required=limit.drill_age)
    else:
        yield fail(
            f"the newest restore that succeeded is {age:,.0f} days old; at most "
            f"{limit.drill_age:g} days are allowed",
            at=newest.time,
            measured=age,
            required=limit.drill_age,
            cost="whether a checkpoint can be restored is not known",
        )
