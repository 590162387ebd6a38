"""All-reduce slower than healthy machines of the kind.

Why it hurts: a collective runs at the speed of its slowest member. One node with a dead
rail, or without GPUDirect RDMA, slows every step of every rank.

What passes: the better of the two largest message sizes from the clause's size on, the
better placement of buffers, the median of repeated runs, at the floor: a share of the
ring's ceiling between nodes, and of what healthy machines reach at this size inside one
NVLink domain. Whether NVLS added up, and whether NVLink joined the nodes, must be known
where it decides. A run that died, has wrong values or exceeds every published figure
never passes.

Where it does not apply: other collectives. Where only hosts exchanged (gloo, MPI),
nothing is seen of the GPUs: that is unknown. So are small messages, more ranks than
were ever published and GPUs without readings.

Source: stas00/ml-engineering network; NVIDIA/nccl-tests issues 115, 196 and 290; the
readings of schemas/catalogues/bandwidth. The share is an engineering default over all
published healthy runs.

Bad::

    # 2 nodes x 8 H100, 8 x 400 Gbit/s each, 8 GiB: busbw 291 GB/s of 400

Good::

    # the same: busbw 372 GB/s
"""

from speccheck.rules.communication._bandwidth import against_floors
from speccheck.validator.evidence.measurement.collective import CollectiveRuns
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.forecast.bandwidth import is_of_gpus
from speccheck.validator.models.expectation import Floors
from speccheck.validator.rule import Numbers, Verdicts, rule, unknown


class Floor(Numbers):
    """The least share of the expected bandwidth, and the runs that it holds for.

    min_payload: the smallest message, in bytes.
    domain_payload: the same within one NVLink domain.
    max_ranks: the largest communicator.
    """

    floor_fraction: float
    min_payload: int
    domain_payload: int
    max_ranks: int


@rule(clause="COMM-010", confidence="lower_bound")
def all_reduce_below_floor(
    runs: CollectiveRuns, about: Conditions, limit: Floor
) -> Verdicts:
    """Judge all runs on the same machines together."""
    floors = Floors(
        fail=limit.floor_fraction,
        least_bytes=limit.min_payload,
        least_domain_bytes=limit.domain_payload,
        most_ranks=limit.max_ranks,
    )
    yield from _unseen(runs)
    yield from against_floors(runs, ("all_reduce",), about, floors)


def _unseen(runs: CollectiveRuns) -> Verdicts:
    """Yield runs that leave open what all-reduce between the GPUs reaches."""
    for run in runs.shown:
        if not run.collective.is_known:
            yield unknown(
                f"which collective was measured is not known: {run.collective.note}",
                missing=[run.collective.name],
                at=run.size_bytes,
            )
    sums = [
        collective_run
        for collective_run in runs.shown
        if collective_run.collective.value == "all_reduce"
    ]
    if sums and not any(map(is_of_gpus, sums)):
        yield unknown(
            f"{sums[0].backend.value} moved the bytes between hosts: nothing is seen "
            "of the GPUs; measure with NCCL",
            missing=[sums[0].backend.name],
            at=sums[0].backend,
        )
