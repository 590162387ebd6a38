"""What a report on a fleet tells."""

from typing import TYPE_CHECKING

from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.fleet.verdict import FleetVerdict

if TYPE_CHECKING:
    from speccheck.validator.fleet.days import Since


class FleetTold(Record):
    """A judged fleet; arguments: what the user named; full: nothing is folded away.

    since: what changed since another day, where somebody asks.
    """

    run: FleetRun
    verdict: FleetVerdict
    arguments: tuple[str, ...]
    full: bool = False
    since: "Since | None" = None
