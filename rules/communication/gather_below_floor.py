"""All-gather or reduce-scatter slower than healthy machines of the kind.

Why it hurts: sharded training (FSDP, ZeRO) spends its traffic in these two. An
all-reduce that sums up within the nodes hides a slow path between them; these two do
not, since every byte crosses.

What passes: as all-reduce, the share of the clause of the ring's ceiling between nodes,
or of the ring inside a node with NVSwitch.

Where it does not apply: other collectives. Racks joined by NVLink are unknown: the few
published readings lie apart.

Source: NVIDIA/cluster-readiness-engine validation results; stas00/ml-engineering
network. The share is an engineering default.

Bad::

    # all_gather, 2 nodes x 8 H100, 8 x 400 Gbit/s each, 8 GiB: busbw 250 GB/s of 400

Good::

    # the same: busbw 339 GB/s
"""

from speccheck.rules.communication._bandwidth import against_floors
from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.models.expectation import Floors
from speccheck.validator.rule import Numbers, Verdicts, rule


class Floor(Numbers):
    """The least share of the expected bandwidth."""

    floor_fraction: float


@rule(clause="COMM-074", confidence="calibrated")
def gather_below_floor(
    runs: CollectiveRuns, about: Conditions, limit: Floor
) -> Verdicts:
    """Judge all runs on the same machines together."""
    floors = Floors(fail=limit.floor_fraction)
    yield from against_floors(runs, ("all_gather", "reduce_scatter"), about, floors)
