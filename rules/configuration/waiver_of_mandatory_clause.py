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

from speccheck.validator.evidence.applied_waivers import AppliedWaivers
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-083")
def waiver_of_mandatory_clause(applied: AppliedWaivers) -> Verdicts:
    """Judge each waiver by what it names and what it met."""
    for one in applied.waivers:
        if not one.locked:
            yield passed(at=one.waiver.place)
            continue
        listed = ", ".join(one.locked)
        yield fail(
            f"{one.title} is on {listed}, which nothing may waive: it has no effect",
            at=one.waiver.place,
            measured=listed,
            required="nothing mandatory",
        )
