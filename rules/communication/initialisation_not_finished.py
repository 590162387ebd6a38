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
    worked = {one.ranks.value for one in runs.shown if any(one.seconds.value or ())}
    whole = whole_ones(communicators.shown)
    yield from one_verdict(
        communicators,
        lambda one: _judged(
            one, limit, has_all=named(one) in whole or one.ranks.value in worked
        ),
        worked,
    )


def _judged(one: Communicator, limit: Shown, *, has_all: bool) -> Verdict | None:
    if not one.is_complete.is_known:
        return None
    ranks = one.ranks.need()
    if has_all:
        return passed(at=one.is_complete, measured=ranks)
    begun = [rank for rank in one.unfinished_ranks.need() if rank is not None]
    done = one.finished_ranks.need()
    seen = one.ranks_seen.need()
    waiting = f"{_named(begun, limit)} of {ranks} began and never told Init COMPLETE"
    lost = f"; {ranks - seen} ranks do not stand in the log" * (seen < ranks)
    at = [one.unfinished_ranks, one.warnings]
    if not begun or not (done or one.warnings.value):
        return unknown(
            (waiting if begun else f"{len(done)} of {ranks} ranks told Init COMPLETE")
            + lost,
            missing=["lines `Init COMPLETE` of the other ranks"],
            at=[*at, one.finished_ranks],
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
    told = [*ranks]
    names = ", ".join(map(str, told[: limit.most_named]))
    more = f" and {len(told) - limit.most_named} more" * (len(told) > limit.most_named)
    return f"rank {names}" if len(told) == 1 else f"ranks {names}{more}"
