"""What a report on a fleet tells."""

from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.fleet.verdict import FleetVerdict


class FleetTold(Record):
    """A judged fleet; arguments: what the user named; full: nothing is folded away."""

    run: FleetRun
    verdict: FleetVerdict
    arguments: tuple[str, ...]
    full: bool = False
