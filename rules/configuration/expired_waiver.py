"""A waiver whose last day is over.

Why it hurts: the time that was agreed on is over and the failure is still there; from
now on it counts again.

What passes: a last day that is today or later, in UTC.

Where it does not apply: waivers without a last day.

Source: engineering default.

Bad::

    lr: 2e-5  # speccheck: ignore[CONF-007] until the next release; until=2025-01-31

Good::

    lr: 2e-5  # speccheck: ignore[CONF-007] until the next release; until=2027-01-31
"""

from speccheck.validator.evidence.finding import AppliedWaivers
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-081")
def expired_waiver(applied: AppliedWaivers) -> Verdicts:
    """Judge each waiver that has a last day."""
    for waiver in applied.waivers:
        if waiver.days_left is None:
            continue
        until = waiver.waiver.until
        if waiver.days_left >= 0:
            yield passed(at=waiver.waiver.place, measured=until, required=applied.today)
            continue
        days = -waiver.days_left
        ago = "yesterday" if days == 1 else f"{days:,} days ago"
        yield fail(
            f"{waiver.title} ended {ago}, on {until} (UTC; today is "
            f"{applied.today}), and "
            "has no effect any more",
            at=waiver.waiver.place,
            measured=until,
            required=applied.today,
        )
