"""A bandwidth whose path no log proves.

Why it hurts: a number that is high enough may have come another way than the job
will go: inside of one node, by host memory, or over an adapter of another rail. What
NCCL used stands in its log alone.

What passes: the log of a communicator of as many ranks shows the transport of its
connections and, over several nodes, the network, with GPUDirect or without.

Where it does not apply: measurements without NCCL, and of one rank. A log that cannot
be that of the measurement fails; no log, or one of some ranks, is unknown.

Source: NVIDIA/nccl documentation, NCCL_DEBUG; NVIDIA/nccl-tests 245.

Bad::

    ./all_reduce_perf -b 8 -e 16G -f 2         # no NCCL_DEBUG

Good::

    NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV,TUNING ./all_reduce_perf ...
"""

from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    CollectiveRuns,
    Communicators,
    path_of,
    uses_nccl,
)
from speccheck.validator.rule import Verdicts, fail, passed, rule, unknown

_HOW = (
    "Run it again with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV,TUNING, and give "
    "the log beside the measurement."
)


@rule(clause="COMM-080")
def path_not_proven(runs: CollectiveRuns, communicators: Communicators) -> Verdicts:
    """Judge each shape of job that was measured."""
    shapes: dict[tuple[int | None, int | None], CollectiveRun] = {}
    for run in runs.shown:
        if uses_nccl(run):
            shapes.setdefault((run.ranks.value, run.nodes.value), run)
    for run in shapes.values():
        path = path_of(run, communicators.shown)
        at = [run.ranks, *path.at]
        if path.is_proven:
            yield passed(path.words, at=at)
        elif path.is_of_another:
            yield fail(
                f"{path.words}: it proves nothing of this one",
                at=at,
                cost="the path of the bandwidth is not known",
                remedy=_HOW,
            )
        else:
            yield unknown(
                f"path not proven: {path.words}. {_HOW}",
                missing=["communicators"],
                at=at,
            )
