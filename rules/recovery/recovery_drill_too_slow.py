"""Recoveries that take longer than they may, by the drills that were run.

Why it hurts: a budget on paper hides slow start-up, slow loading and missing spares. A
drill shows them before a failure does.

What passes: the percentile of the clause over all drills, each from the failure -
injected or, where that is not logged, detected - to the first completed step after it.
Of fewer than 20 drills p95 is the slowest one. A drill of which the last word is a
failure counts as one that did not recover.

What is unknown: fewer drills than the clause asks for; a drill whose log ends before
it does, whose events are out of order, or stand in logs whose clocks do not compare.

Where it does not apply: logs without a drill, outside of certification.

Source: claim S2#43 (90 s); the percentile and the count are engineering defaults.

Bad::

    drill-3: run.failure_detected 10:00:00, run.resumed 10:03:10

Good::

    drill-3: run.failure_detected 10:00:00, run.resumed 10:01:05
"""

from speccheck.rules.recovery._drills import Drill, drills_of
from speccheck.validator.evidence.measurement.telemetry import RunEvents, RunLogs
from speccheck.validator.models.telemetry import percentile
from speccheck.validator.models.units import duration
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown


class Recovery(Numbers):
    """The percentile, its limit, how many drills it takes, and what none counts as."""

    percentile: str
    recovery_p95: float
    drills: int
    absent_is: str


@rule(clause="FT-009")
def recovery_drill_too_slow(
    events: RunEvents, logs: RunLogs, limit: Recovery
) -> Verdicts:
    """Judge all drills together; what a drill leaves open is reported of it."""
    drills = drills_of(events, logs)
    judged = [drill for drill in drills if drill.seconds is not None]
    if not drills and limit.absent_is != "unknown":
        return
    for drill in drills:
        if drill.failed:
            yield fail(
                f"{drill.name} did not recover: {drill.failed}",
                at=drill.places,
                measured="not recovered",
                required=limit.recovery_p95,
                cost="the job stands until somebody repairs it",
            )
        elif drill.open:
            yield unknown(
                f"{drill.name}: {drill.open}", missing=[drill.missing], at=drill.places
            )
    yield from _together(judged, limit)
    if len(judged) < limit.drills:
        events.each()
        yield unknown(
            f"{len(judged)} drills have an end; {limit.drills} are needed for "
            f"{limit.percentile}",
            missing=["run.resumed"],
        )


def _together(judged: list[Drill], limit: Recovery) -> Verdicts:
    times = [drill.seconds for drill in judged if drill.seconds is not None]
    if not times:
        return
    slowest = max(judged, key=lambda drill: drill.seconds or 0)
    value = percentile(times, limit.percentile)
    if value <= limit.recovery_p95:
        yield passed(at=slowest.places, measured=value, required=limit.recovery_p95)
        return
    slow = [time for time in times if time > limit.recovery_p95]
    yield fail(
        f"recovery takes {duration(value)}, {limit.percentile} of {len(times)} drills; "
        f"at most {duration(limit.recovery_p95)} are allowed: {len(slow)} were slower, "
        f"{slowest.name} took {duration(slowest.seconds or 0)}{slowest.longest_phase}",
        at=slowest.places,
        measured=value,
        required=limit.recovery_p95,
        cost="every failure stops all GPUs for that long",
    )
