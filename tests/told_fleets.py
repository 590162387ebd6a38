"""What a report on a fleet tells, for tests of its forms."""

from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.fleet.verdict import FleetVerdict
from speccheck.validator.report.context import FleetContext


def told_fleet(run: FleetRun, verdict: FleetVerdict) -> FleetContext:
    """Return a report on a folder that is called `pre`."""
    return FleetContext(run, verdict, ("pre",))
