"""A waiver that does not say why.

Why it hurts: whoever reads the file next cannot tell a decision from haste, and nobody
dares to remove it. It has no effect.

What passes: any reason after the bracket.

Where it does not apply: waivers files, which are refused without reasons; baselines and
per-file ignores, whose reason is where they stand.

Source: engineering default.

Bad::

    lr: 2e-5  # speccheck: ignore[CONF-007]

Good::

    lr: 2e-5  # speccheck: ignore[CONF-007] our loader reads floats itself
"""

from speccheck.validator.evidence.finding import AppliedWaivers
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-080")
def waiver_without_reason(applied: AppliedWaivers) -> Verdicts:
    """Judge each waiver that can be understood."""
    for waiver in applied.waivers:
        if waiver.waiver.reason:
            yield passed(at=waiver.waiver.place)
        elif waiver.names:
            listed = ", ".join(waiver.names)
            yield fail(
                f"{waiver.title} on {listed} gives no reason, and so has no effect",
                at=waiver.waiver.place,
                measured="no reason",
                required="a reason",
            )
