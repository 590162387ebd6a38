"""All-reduce that passes its floor and stays behind what providers accept.

Why it hurts: a fabric that gives nine tenths is not broken; on a run of weeks the tenth
is days. Providers hand over clusters at 0.92 of the adapters' rate.

What passes: the share of the clause, of the same ceiling or reference as the floor.

Where it does not apply: what is below the floor, of which all_reduce_below_floor tells,
and what that cannot judge either.

Source: the acceptance figure of Together AI in NVIDIA/cluster-readiness-engine ADR-021.

Bad::

    # 2 nodes x 8 H100, 8 x 400 Gbit/s each, 8 GiB: busbw 335 GB/s of 400

Good::

    # the same: busbw 372 GB/s
"""

from speccheck.rules.communication._bandwidth import (
    Held,
    below_floor,
    held,
    series_between_gpus,
)
from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.models.expectation import Floors
from speccheck.validator.rule import Numbers, Verdicts, rule


class Usual(Numbers):
    """The bounds between which a bandwidth passes its floor and is still low.

    usual_fraction: the share of the expected bandwidth that is usual.
    floor_fraction: the share below which another clause fails.
    """

    usual_fraction: float
    floor_fraction: float


@rule(clause="COMM-070", confidence="calibrated")
def all_reduce_below_usual(
    runs: CollectiveRuns, about: Conditions, limit: Usual
) -> Verdicts:
    """Judge what is above the floor."""
    floors = Floors(fail=limit.usual_fraction)
    for series in series_between_gpus(runs, ("all_reduce",)):
        result = held(series, about, floors)
        if not isinstance(result, Held):
            continue
        usual = result.look.lowest.fail_below or 0.0
        if result.point.bus >= usual * limit.floor_fraction / limit.usual_fraction:
            yield below_floor(result, limit.usual_fraction)
