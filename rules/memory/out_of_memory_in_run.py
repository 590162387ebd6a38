"""A run that ran out of memory, or whose allocator retried.

Why it hurts: a retry synchronises the GPU and empties the cache of the allocator: the
run is slower already, and one long sequence away from a crash.

What passes: the counters of both - out-of-memory events and retries - of every rank
that logs them, at what the clause allows, and no event run.oom. A counter that falls
has begun anew. A run of less than 1000 steps may have what one of 1000 may have.

Where it does not apply: nowhere. A log without the counters shows nothing: that no
event is in it may mean that nobody writes such events.

Source: claims S0#5, S0#13; pytorch/torchtitan torchtitan/components/metrics.py.

Bad::

    memory/num_alloc_retries: 41      # at step 500

Good::

    memory/num_alloc_retries: 0, memory/num_ooms: 0
"""

from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    Metrics,
    RunEvents,
    events_of,
    finite_of,
    samples_of,
    series_of,
    title_of,
)
from speccheck.validator.evidence.value import MissingEvidence
from speccheck.validator.models.telemetry import allowed_in, counted
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule

_OOMS, _RETRIES, _STEP = (
    "gpu.memory.ooms",
    "gpu.memory.alloc_retries",
    "train.global_step",
)


class Events(Numbers):
    """How many of each a run may have."""

    max_ooms: int
    max_alloc_retries: float


@rule(clause="MEM-008")
def out_of_memory_in_run(
    metrics: Metrics, events: RunEvents, limit: Events
) -> Verdicts:
    """Judge events and counters of out-of-memory, then the retries."""
    yield from _ooms(metrics, events, limit)
    retries = _counters(metrics, _RETRIES)
    for retry in retries:
        times, steps = counted(finite_of(retry)), _steps(retry, metrics)
        allowed = allowed_in(steps, limit.max_alloc_retries)
        if times > allowed:
            yield fail(
                f"{title_of(retry)} counts {times:,.0f} retries in {steps:,} steps; at "
                f"most {allowed:,.3g} are allowed, {limit.max_alloc_retries:g} per "
                "1000 steps",
                at=retry.values,
                measured=times,
                required=allowed,
                cost="each retry stops the GPU and empties the allocator's cache",
            )
            return
    yield passed(at=[retry.values for retry in retries], measured=0)


def _ooms(metrics: Metrics, events: RunEvents, limit: Events) -> Verdicts:
    run_events = events_of(events, "run.oom")
    counters = [] if run_events else _counters(metrics, _OOMS)
    ranked = sorted(counters, key=lambda counter: -counted(finite_of(counter)))
    result = len(run_events) if run_events else counted(finite_of(ranked[0]))
    where = "the logs tell" if run_events else f"{title_of(ranked[0])} counts"
    if result > limit.max_ooms:
        yield fail(
            f"{where} {result:,.0f} out-of-memory event{'s' * (result != 1)}; at "
            f"most {limit.max_ooms} are allowed",
            at=run_events[0].event if run_events else ranked[0].values,
            measured=result,
            required=limit.max_ooms,
            cost="the rank that runs out takes the whole job with it",
        )


def _counters(metrics: Metrics, name: str) -> list[Metric]:
    result = [metric for metric in series_of(metrics, [name]) if finite_of(metric)]
    if not result:
        raise MissingEvidence(name, "in none of the logs")
    return result


def _steps(counter: Metric, metrics: Metrics) -> int:
    """Return the steps that a counter spans, or the run where the counter has none."""
    steps = [sample.step for sample in samples_of(counter) if sample.step is not None]
    if not steps:
        readings = (
            v for metric in series_of(metrics, [_STEP]) for v in finite_of(metric)
        )
        steps = [int(reading) for reading in readings]
    return max(steps) - min(steps) if steps else 0
