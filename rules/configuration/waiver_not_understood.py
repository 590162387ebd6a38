"""A waiver that cannot be understood.

Why it hurts: it looks as if it silenced something, and silences nothing: a misspelt
directive or name, a day that is none, a comment in JSON, or nothing that follows.

What passes: waivers whose names are rules or clauses, at a place that has an effect.

Where it does not apply: other comments, and waivers files, which are refused as a whole
where something in them is wrong.

Source: engineering default.

Bad::

    lr: 2e-5  # speccheck: ingore[CONF-007] our loader reads floats itself

Good::

    lr: 2e-5  # speccheck: ignore[CONF-007] our loader reads floats itself
"""

from speccheck.validator.evidence.finding import AppliedWaivers
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-086")
def waiver_not_understood(applied: AppliedWaivers) -> Verdicts:
    """Judge each waiver by what is wrong with it."""
    for waiver in applied.waivers:
        if not waiver.faults:
            yield passed(at=waiver.waiver.place)
        for fault in waiver.faults:
            yield fail(
                f"{waiver.title} cannot be understood: {fault}",
                at=waiver.waiver.place,
                measured="not understood",
                required="a rule or clause, and a reason",
            )
