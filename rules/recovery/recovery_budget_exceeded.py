"""Detection, replacement, start-up and loading together take too long.

Why it hurts: the whole cluster waits from the failure of one GPU until training goes
on. At thousands of GPUs that happens several times a day.

What passes: all four parts are known and their sum is within the budget.

Where it does not apply: debug runs, and jobs below the size class of the clause. Work
lost since the last checkpoint is not part of the budget.

Source: the sum of the four phases; a part that is not known counts as nothing, so that
a failure holds whatever it may be. The collective timeout is no part of it: a process
that dies is noticed by its launcher within seconds, and only a hang lasts until the
timeout ends.

Bad::

    recovery: {detect_seconds: 30, replace_seconds: 600, initialize_seconds: 60,
               load_seconds: 60}

Good::

    recovery: {detect_seconds: 30, replace_seconds: 15, initialize_seconds: 15,
               load_seconds: 30}
"""

from speccheck.validator.evidence.plan import Recovery, Run, TrainingPlan
from speccheck.validator.forecast.recovery import recovery_forecast
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class RecoveryLimit(Numbers):
    """The recovery budget."""

    recovery_max: float  # seconds


@rule(clause="FT-001", confidence="lower_bound")
def recovery_budget_exceeded(
    plan: TrainingPlan, recovery: Recovery, run: Run, limit: RecoveryLimit
) -> Verdicts:
    """Judge the sum of the phases that the plan itself bounds."""
    if run.role.value == "debug":
        return
    forecast = recovery_forecast(plan)
    phases = (
        ("detection", "detect", recovery.detect_seconds),
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
            f"after the loss of one GPU the job takes {parts}{total_text} to go on; "
            f"the target is {limit.recovery_max:g} s",
            at=at,
            measured=total,
            required=limit.recovery_max,
            cost=f"every GPU of the job waits for {total:,.0f} s at each failure",
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
