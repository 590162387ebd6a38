"""Ranks that began a communicator and never told that it is complete.

Why it hurts: all others wait for them, until a time limit ends the job hours later.
The log names who is missing long before.

What passes: every rank told Init COMPLETE, or a measurement of that many ranks shows
that they all took part.

Where it does not apply: logs that do not name ranks. Where no rank has finished and
NCCL does not warn, the log may end before: that is unknown.

Source: NVIDIA/nccl src/init.cc (Init START, Init COMPLETE).

Bad::

    NCCL INFO comm 0x55 rank 3 nranks 8 ... - Init START
    (and no Init COMPLETE of rank 3)

Good::

    NCCL INFO comm 0x55 rank 3 nranks 8 ... - Init COMPLETE
"""

from collections.abc import Iterable

from speccheck.rules.communication._ran import one_verdict
from speccheck.validator.evidence.measurement.collective import (
    CollectiveRuns,
    Communicator,
    Communicators,
    named,
    whole_ones,
)
from speccheck.validator.rule import (
    Numbers,
    Verdict,
    Verdicts,
    fail,
    passed,
    rule,
    unknown,
)


class Shown(Numbers):
    """How many ranks a message names."""

    most_named: int


@rule(clause="COMM-086", confidence="advisory")
def initialisation_not_finished(
    communicators: Communicators, runs: CollectiveRuns, limit: Shown
) -> Verdicts:
    """Judge the ranks that the log shows."""
    worked = {
        collective_run.ranks.value
        for collective_run in runs.shown
        if any(collective_run.seconds.value or ())
    }
    whole = whole_ones(communicators.shown)
    yield from one_verdict(
        communicators,
        lambda communicator: _judged(
            communicator,
            limit,
            has_all=named(communicator) in whole or communicator.ranks.value in worked,
        ),
        worked,
    )


def _judged(
    communicator: Communicator, limit: Shown, *, has_all: bool
) -> Verdict | None:
    if not communicator.is_complete.is_known:
        return None
    ranks = communicator.ranks.need()
    if has_all:
        return passed(at=communicator.is_complete, measured=ranks)
    begun = [rank for rank in communicator.unfinished_ranks.need() if rank is not None]
    done = communicator.finished_ranks.need()
    seen = communicator.ranks_seen.need()
    waiting = f"{_named(begun, limit)} of {ranks} began and never logged Init COMPLETE"
    lost = f"; {ranks - seen} ranks do not stand in the log" * (seen < ranks)
    at = [communicator.unfinished_ranks, communicator.warnings]
    if not begun or not (done or communicator.warnings.value):
        return unknown(
            (waiting if begun else f"{len(done)} of {ranks} ranks told Init COMPLETE")
            + lost,
            missing=["lines `Init COMPLETE` of the other ranks"],
            at=[*at, communicator.finished_ranks],
        )
    return fail(
        waiting + lost,
        at=at,
        measured=len(done),
        required=ranks,
        cost="all ranks wait for these until a time limit ends the job",
        remedy="Look at the processes of these ranks first: their last lines, their "
        "node, and NCCL_SOCKET_IFNAME there.",
    )


def _named(ranks: Iterable[int], limit: Shown) -> str:
    numbers = [*ranks]
    names = ", ".join(map(str, numbers[: limit.most_named]))
    more = f" and {len(numbers) - limit.most_named} more" * (
        len(numbers) > limit.most_named
    )
    return f"rank {names}" if len(numbers) == 1 else f"ranks {names}{more}"
