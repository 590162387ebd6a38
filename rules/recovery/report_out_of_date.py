"""A report of a node that is older than what a start may rest on.

Why it hurts: most interruptions at scale are hardware, and a node that was well two
days ago may have lost a GPU since. Restarting on the node that failed repeats the
failure.

What passes: reports younger than the age of the clause.

Where it does not apply: nowhere; a report that does not tell when it was taken is
undecided.

Source: an engineering default, from the practice of health gates before each start.

Bad::

    "taken": "2026-11-18T07:00:00Z"    # four days before the start

Good::

    "taken": "2026-11-22T06:40:00Z"    # an hour before
"""

from speccheck.validator.comparison.verdicts import counted, hours
from speccheck.validator.evidence.fleet import Fleet
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Age(Numbers):
    """The age that a report may have, in hours."""

    report_age: float


@rule(clause="FT-007")
def report_out_of_date(fleet: Fleet, limit: Age) -> Verdicts:
    """Compare the time of each report with now."""
    now = fleet.started
    if now is None:
        missing = "fleet.started"
        raise MissingEvidence(missing, "when the fleet is judged is not known")
    ages = {
        node.name: hours(now - node.taken)
        for node in fleet.nodes
        if node.taken is not None
    }
    old = tuple(sorted(name for name, age in ages.items() if age > limit.report_age))
    untold = tuple(sorted({node.name for node in fleet.nodes} - ages.keys()))
    if old:
        oldest = max(ages.values())
        yield fail(
            f"taken up to {oldest:,.1f} hours ago; a report may be "
            f"{limit.report_age:g} hours old",
            measured=round(oldest, 1),
            required=limit.report_age,
            cost="what broke since is not known",
            remedy="Run the pre-flight again on the nodes that are named.",
            hosts=old,
        )
    if untold:
        message = f"{counted(untold)}: when the report was taken is not known"
        yield unknown(message, missing=["taken"], hosts=untold)
    if ages and not old and not untold:
        yield passed(f"taken at most {max(ages.values()):,.1f} hours ago")
