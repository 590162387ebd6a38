"""A measurement above what the wires carry.

Why it hurts: the figure is a mistake, of ranks, of the message size, of units or of
what was switched on, and whatever is concluded from it is one too. It hides slow nodes
as well as a broken test.

What passes: at every size at most the ceiling of the wires and the margin of the
clause. What no published run comes near, and wires may carry, is unknown.

Where it does not apply: collectives of hosts, and those whose wires nothing bounds.

Source: NVIDIA/nccl-tests doc/PERFORMANCE.md; a published run "without NVLink between
the nodes" at 2.4 times the adapters (NVIDIA/cluster-readiness-engine).

Bad::

    # 2 nodes x 4 GB200 across 4 x 400 Gbit/s: busbw 838 GB/s; 350 at most

Good::

    # the same: busbw 191 GB/s
"""

from collections.abc import Iterator

from speccheck.validator.evidence.measurement.collective import (
    CollectiveRun,
    CollectiveRuns,
)
from speccheck.validator.evidence.measurement.conditions import Conditions
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.forecast.bandwidth import (
    collective_of,
    is_of_gpus,
    prospect,
)
from speccheck.validator.forecast.collective_series import (
    Point,
    Series,
    all_points,
    shown,
)
from speccheck.validator.models.bus_bandwidth import GIGA
from speccheck.validator.models.expectation import MARGIN
from speccheck.validator.rule import (
    Numbers,
    Verdict,
    Verdicts,
    fail,
    passed,
    rule,
    unknown,
)


class Margin(Numbers):
    """By how much a measurement may exceed the ceiling."""

    margin: float


@rule(clause="COMM-071")
def bandwidth_above_ceiling(
    runs: CollectiveRuns, about: Conditions, limit: Margin
) -> Verdicts:
    """Judge the best size of each run."""
    for run in runs.each():
        is_judged = run.collective.is_known and collective_of(run) is not None
        points = all_points(run) if is_judged and is_of_gpus(run) else ()
        if points:
            best = max(points, key=lambda point: point.bus)
            yield from _verdicts(run, best, about, limit.margin)


def _verdicts(
    run: CollectiveRun, best: Point, about: Conditions, margin: float
) -> Iterator[Verdict]:
    title = f"{Series((run,)).title}: {shown(best)}"
    at = [run.bus_bytes_per_second, run.ranks]
    try:
        look = prospect(run, about, best.size_bytes, None)
    except MissingEvidence as missing:
        needs = f"needs {missing.name} ({missing.reason})"
        yield unknown(
            f"{title}; its ceiling {needs}", missing=[missing.name], at=at[:1]
        )
        return
    bound, usual = look.impossible, look.plausible
    if bound is None and usual is None:
        return
    measured = round(best.bus / GIGA, 2)
    if bound is not None and best.bus > bound / MARGIN * margin:
        ceiling = bound / MARGIN
        yield fail(
            f"{title} is {best.bus / ceiling:.2f} times what the wires carry, "
            f"{ceiling / GIGA:.4g} GB/s; the most that is let pass is {margin:g} of it",
            at=at,
            measured=measured,
            required=round(ceiling * margin / GIGA, 2),
        )
    elif usual is not None and best.bus > usual:
        yield unknown(
            f"{title}: no published run of such GPUs comes near {usual / GIGA:.4g} "
            "GB/s; measure again, with another tool",
            missing=(),
            at=at,
        )
    elif any(
        expectation.plausible and best.bus > expectation.plausible
        for expectation in look.possible
    ):
        yield unknown(
            f"{title}: too much for one of the ways that the bytes may have taken; "
            f"open: {'; '.join(look.open)}",
            missing=(),
            at=at,
        )
    elif not run.is_complete.value:
        end = run.is_complete.name
        yield unknown(f"{title}; no end of the run is seen", missing=[end], at=at[:1])
    else:
        yield passed(at=at, measured=measured)
