"""All-reduce over many ranks slower than any published run of its size.

Why it hurts: a collective runs at the speed of its slowest member, and on hundreds of
nodes a bad cable, switch or setting is likely and costs all of them.

What passes: a bus bandwidth of at least the clause's share of the ring's ceiling, at
messages of its size. The share is far below that of smaller jobs: one public run is
that large.

Where it does not apply: as many ranks as the floor for all jobs holds for, or fewer;
other collectives; runs of hosts alone.

Source: coreweave/nccl-tests README.md, 1,440 ranks on 20 racks of GB200.

Bad::

    # 128 nodes x 8 H100, 8 x 400 Gbit/s each, 16 GiB: busbw 120 GB/s of 400

Good::

    # the same: busbw 310 GB/s
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


class LargeFloor(Numbers):
    """The least share of the ceiling, and the runs that it is for.

    min_payload: the smallest message, in bytes.
    fewest_ranks: up to so many another floor holds.
    most_ranks: the largest communicator that may be judged.
    """

    floor_fraction: float
    min_payload: int
    fewest_ranks: int
    most_ranks: int


@rule(clause="COMM-093", confidence="lower_bound")
def large_all_reduce_below_floor(
    runs: CollectiveRuns, about: Conditions, limit: LargeFloor
) -> Verdicts:
    """Judge runs of more ranks than the floor of smaller jobs holds for."""
    floors = Floors(
        fail=limit.floor_fraction,
        least_bytes=limit.min_payload,
        least_domain_bytes=limit.min_payload,
        most_ranks=limit.most_ranks,
    )
    for series in series_between_gpus(runs, ("all_reduce",)):
        if series.first.ranks.or_else(0) <= limit.fewest_ranks:
            continue
        result = held(series, about, floors)
        yield below_floor(result, floors.fail) if isinstance(result, Held) else result
