"""A waiver of what nothing may waive.

Why it hurts: whoever wrote it believes that the failure is silenced. It is not: the
owners of the project made it mandatory, or it is itself a finding on waivers.

What passes: waivers of all else.

Where it does not apply: runs without waivers.

Source: engineering default.

Bad::

    # CONF-001 is mandatory by the settings of the project
    lr_typo: 1.0  # speccheck: ignore[CONF-001] works for us

Good::

    lr: 1.0
"""

from speccheck.validator.evidence.finding import AppliedWaivers
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-083")
def waiver_of_mandatory_clause(applied: AppliedWaivers) -> Verdicts:
    """Judge each waiver by what it names and what it met, and each baseline."""
    waivers = [
        (waiver.title, waiver.locked, waiver.waiver.place) for waiver in applied.waivers
    ]
    waivers += [
        ("the baseline", baseline.locked, baseline.place)
        for baseline in applied.baselines
    ]
    for title, locked, place in waivers:
        if not locked:
            yield passed(at=place)
            continue
        listed = ", ".join(locked)
        yield fail(
            f"{title} is on {listed}, which nothing may waive: it has no effect",
            at=place,
            measured=listed,
            required="nothing mandatory",
        )
