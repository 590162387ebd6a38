"""All-to-all slower than healthy machines of the kind.

Why it hurts: mixtures of experts exchange every token this way, and the parts that
leave a node share its adapters.

What passes: the share of the clause of what the adapters allow, b (n - 1) / (n - g) of
n ranks, g of them in a node, b bytes per second of adapters for each GPU.

Where it does not apply: other collectives. One NVLink domain is unknown: no reading
shows its limit.

Source: NVIDIA/cluster-readiness-engine validation results, four runs at 0.77 to 0.93 of
the ceiling. The share is an engineering default.

Bad::

    # alltoall, 2 nodes x 8 H100, 8 x 400 Gbit/s each, 8 GiB: busbw 55 GB/s of 94

Good::

    # the same: busbw 79 GB/s
"""

from speccheck.rules.communication._bandwidth import against_floors
from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.models.expectation import Floors
from speccheck.validator.rule import Numbers, Verdicts, rule


class Floor(Numbers):
    """The least share of the expected bandwidth."""

    floor_fraction: float


@rule(clause="COMM-076", confidence="calibrated")
def all_to_all_below_floor(
    runs: CollectiveRuns, about: Conditions, limit: Floor
) -> Verdicts:
    """Judge all runs on the same machines together."""
    floors = Floors(fail=limit.floor_fraction)
    yield from against_floors(runs, ("all_to_all",), about, floors)
