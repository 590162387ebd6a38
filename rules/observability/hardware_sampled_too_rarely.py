"""Metrics of the hardware that were sampled too rarely.

Why it hurts: a longer interval misses bursts of throttling, and a failure is seen that
much later. An exporter of 30 s behind a scrape of 60 s gives 60 s.

What passes: series of accelerators, their memory, errors and energy whose gaps keep the
interval of the clause: the typical one, the 99th percentile, the longest and the share
of time that samples cover. Of two series of the same thing the denser one counts.

What else fails: series that begin after training did, or end before it, unless a node
was replaced.

Where it does not apply: metrics that are asked for less often, and those of the
training loop. Logs without two samples are unknown.

Source: NVIDIA/dcgm-exporter (30 s); facebookresearch/gcm (10 s).

Bad::

    scrape_interval: 60s

Good::

    scrape_interval: 15s
"""

from collections.abc import Iterator
from math import inf

from speccheck.rules.observability._intervals import (
    Frames,
    Kept,
    better,
    frames_of,
    kept,
    names_by_step,
    sampling_gaps,
)
from speccheck.validator.evidence.measurement.telemetry import (
    MetricDictionary,
    Metrics,
    RunEvents,
    events_of,
    series_of,
    title_of,
)
from speccheck.validator.rule import Numbers, Verdicts, fail, passed, rule, unknown

_GROUPS = frozenset({"accelerator", "energy", "errors", "memory"})


class Hardware(Numbers):
    """The interval, and how far samples may stray."""

    hw_interval: float
    typical_gap: float
    p99_gap: float
    longest_gap: float
    coverage: float


@rule(clause="OBS-002")
def hardware_sampled_too_rarely(
    metrics: Metrics, events: RunEvents, dictionary: MetricDictionary, limit: Hardware
) -> Verdicts:
    """Judge all series of the hardware together, and name the worst."""
    is_replaced = bool(events_of(events, "run.node_replaced"))
    frames = {} if is_replaced else frames_of(metrics, dictionary)
    kepts = [*_judged(metrics, dictionary, frames, limit)]
    if not kepts:
        looped = ", ".join(names_by_step(metrics, _hardware(dictionary, limit)))
        text = f"{looped}: logged with the steps, and not by a clock of its own"
        text = text if looped else "no log samples the hardware more than once"
        yield unknown(text, missing=["gpu.utilization by time"], at=metrics.count)
        return
    bad = sorted(
        (item for item in kepts if item.faults),
        key=lambda item: -item.adherence.median_gap,
    )
    if not bad:
        worst = max(kepts, key=lambda item: item.adherence.longest_gap)
        longest = worst.adherence.longest_gap * limit.hw_interval
        yield passed(at=worst.series.times, measured=longest)
        return
    worst = bad[0]
    seconds = worst.adherence.median_gap * limit.hw_interval
    yield fail(
        f"{len(bad)} of {len(kepts)} series of the hardware do not keep the interval "
        f"of {limit.hw_interval:g} s; {worst.title} comes every {seconds:,.3g} s: "
        f"{worst.message}",
        at=worst.series.times,
        measured=seconds,
        required=limit.hw_interval,
        cost="throttling and faults are seen one interval later",
    )


def _hardware(dictionary: MetricDictionary, limit: Hardware) -> Iterator[str]:
    """Yield the metrics of the hardware that are due at the interval."""
    return (
        entry.id
        for entry in dictionary.entries.values()
        if entry.group in _GROUPS
        and entry.interval_steps is None
        and (entry.interval_seconds or limit.hw_interval + 1) <= limit.hw_interval
    )


def _judged(
    metrics: Metrics, dictionary: MetricDictionary, frames: Frames, limit: Hardware
) -> Iterator[Kept]:
    best: dict[str, Kept | None] = {}
    for series in series_of(metrics, _hardware(dictionary, limit)):
        title, run = title_of(series), series.run.value
        frame = frames.get(run) or frames.get(None) or (inf, -inf)
        gaps = [
            sampling_gap / limit.hw_interval
            for sampling_gap in sampling_gaps(series, frame)
        ]
        key = f"{run} {title}"
        best[key] = better(best.get(key), kept(title, series, gaps, limit))
    return (item for item in best.values() if item is not None)
