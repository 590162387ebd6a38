"""A baseline that lists what is mended.

Why it hurts: its entry would silence the same failure when it comes back.

What passes: a baseline all of whose entries are still found, as far as this run can
tell.

Where it does not apply: runs without a baseline, and entries of which a run cannot
tell: their files are not in it, or what they name could not be judged.

Source: engineering default.

Bad::

    # speccheck-baseline.json lists CONF-007 at lr: 2e-5
    lr: 2.0e-5

Good::

    # the same after one more call of: speccheck baseline .
    lr: 2.0e-5
"""

from speccheck.validator.evidence.finding import AppliedWaivers
from speccheck.validator.rule import Verdicts, fail, passed, rule


@rule(clause="CONF-085")
def fixed_finding_in_baseline(applied: AppliedWaivers) -> Verdicts:
    """Judge each baseline as a whole."""
    for baseline in applied.baselines:
        if not baseline.fixed:
            if baseline.used:
                yield passed(at=baseline.place)
            continue
        more = baseline.fixed - len(baseline.examples)
        listed = ", ".join(baseline.examples) + (f" and {more:,} more" if more else "")
        yield fail(
            f"{baseline.fixed:,} of {baseline.entries:,} entries of the baseline "
            "are not found "
            f"any more: {listed}",
            at=baseline.place,
            measured=baseline.fixed,
            required=0,
        )
