"""What a report on a fleet tells, for tests of its forms."""

from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.fleet.verdict import FleetVerdict
from speccheck.validator.report.fleet_told import FleetTold


def told_fleet(run: FleetRun, verdict: FleetVerdict) -> FleetTold:
    """A report on a folder that is called `pre`."""
    return FleetTold(run, verdict, ("pre",))
