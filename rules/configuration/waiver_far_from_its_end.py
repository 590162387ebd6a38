"""A waiver whose last day is far away.

Why it hurts: nobody looks at it again until then, and the reason, the owner and the
release that it was agreed on are gone.

What passes: a last day within the limit of the clause.

Where it does not apply: waivers that are over, and those without a last day: permanent
says openly what a day of the next century hides.

Source: engineering default.

Bad::

    lr: 2e-5  # speccheck: ignore[CONF-007] our own loader; until=2099-12-31

Good::

    lr: 2e-5  # speccheck: ignore[CONF-007] our own loader; until=2027-01-31
"""

from speccheck.validator.evidence.finding import AppliedWaivers
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule


class Life(Numbers):
    """The most days until a waiver ends."""

    max_days: float


@rule(clause="CONF-084")
def waiver_far_from_its_end(applied: AppliedWaivers, limit: Life) -> Verdicts:
    """Judge each waiver that has a last day and is not over."""
    for waiver in applied.waivers:
        left, until = waiver.days_left, waiver.waiver.until
        if left is None or left < 0:
            continue
        if left <= limit.max_days:
            yield passed(at=waiver.waiver.place, measured=left, required=limit.max_days)
            continue
        yield fail(
            f"{waiver.title} holds for {left:,} days more, until {until} (UTC); at "
            "most "
            f"{limit.max_days:,.0f} days are meant",
            at=waiver.waiver.place,
            measured=left,
            required=limit.max_days,
        )
