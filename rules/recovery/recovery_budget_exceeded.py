"""Detection, replacement, start-up and loading together take too long.

Why it hurts: the whole cluster waits from the failure of one GPU until training goes
on. At thousands of GPUs that happens several times a day.

What passes: all four parts are known and their sum is within the budget.

Where it does not apply: debug runs, and jobs below the size class of the clause. Work
lost since the last checkpoint is not part of the budget.

Source: the sum of the four phases; a part that is not known counts as nothing, so that
a failure holds whatever it may be. A crashed process is noticed at once; the budget
counts the faults that only the watchdog ends.

Bad::

    --distributed-timeout-minutes 10     # 600 s until the failure is noticed

Good::

    recovery: {detect_seconds: 30, replace_seconds: 15, initialize_seconds: 15,
               load_seconds: 30}
"""

from speccheck.validator.evidence.plan import Communication, Recovery, Run, TrainingPlan
from speccheck.validator.forecast.recovery import recovery_forecast
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class RecoveryLimit(Numbers):
    """The recovery budget."""

    recovery_max: float  # seconds


@rule(clause="FT-001", confidence="lower_bound")
def recovery_budget_exceeded(
    plan: TrainingPlan,
    communication: Communication,
    recovery: Recovery,
    run: Run,
    limit: RecoveryLimit,
) -> Verdicts:
    """Judge the sum of the phases that the plan itself bounds."""
    if run.role.value == "debug":
        return
    forecast = recovery_forecast(plan)
    measured = recovery.detect_seconds
    detect = measured if measured.is_known else communication.timeout_seconds
    phases = (
        ("detection", "detect", detect),
        ("replacement", "replace", recovery.replace_seconds),
        ("initialisation", "rendezvous", recovery.initialize_seconds),
        ("loading", "load", recovery.load_seconds),
    )
    granted = {name: forecast.named(name).estimate for _, name, _ in phases}
    known = [
        (title, estimate.value, leaf)
        for title, name, leaf in phases
        if (estimate := granted[name]) is not None and estimate.kind == "exact"
    ]
    total = sum(seconds for _, seconds, _ in known)
    at = [leaf for _, _, leaf in known]
    if total > limit.recovery_max:
        parts = " + ".join(f"{title} {seconds:,.0f}" for title, seconds, _ in known)
        total_text = f" = {total:,.0f} s" if len(known) > 1 else " s alone"
        yield fail(
            f"{parts}{total_text}; recovery from one failed GPU may take "
            f"{limit.recovery_max:g} s in all",
            at=at,
            measured=total,
            required=limit.recovery_max,
            cost=f"every GPU of the job stands still for up to {total:,.0f} s at a "
            f"failure that nothing notices sooner",
        )
        return
    missing = [leaf.name for _, _, leaf in phases if leaf not in at]
    if missing:
        yield unknown(
            f"{total:,.0f} of {limit.recovery_max:g} s are spent; the other phases are "
            f"not known",
            missing=missing,
            at=at,
        )
        return
    yield passed(at=at, measured=total, required=limit.recovery_max)
