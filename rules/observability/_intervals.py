"""What rules on the intervals of series share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

from speccheck.validator.evidence.measurement.telemetry import (
    Metric,
    MetricDictionary,
    Metrics,
    Sample,
    samples_of,
    series_of,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.models.telemetry import (
    Adherence,
    adherence,
    left_of,
)

# By run, from when to when it trained; under None all runs together.
Frames = Mapping[str | None, tuple[float, float]]


class Keeping(Protocol):
    """How far samples may stray from an interval; gaps are counted in intervals."""

    typical_gap: float
    p99_gap: float
    longest_gap: float
    coverage: float


class Kept(Record):
    """How one series keeps its interval."""

    title: str
    series: Metric
    adherence: Adherence
    faults: tuple[str, ...]

    @property
    def message(self) -> str:
        """The first fault, and the share of time that is covered."""
        return f"{self.faults[0]}; {self.adherence.coverage:.0%} of the time is covered"


def kept(
    title: str, series: Metric, gaps: Sequence[float], limit: Keeping
) -> Kept | None:
    """Return how a series with such gaps keeps its interval; None without any gap."""
    result = adherence(gaps)
    return result and Kept(title, series, result, tuple(_faults(result, limit)))


def _faults(result: Adherence, limit: Keeping) -> Iterator[str]:
    gaps = (
        ("typical", result.median_gap, limit.typical_gap),
        ("longest", result.longest_gap, limit.longest_gap),
        ("99th percentile", result.gap_99, limit.p99_gap),
    )
    for name, gap, most in gaps:
        if gap > most:
            yield f"{name} gap of {gap:.3g} intervals, at most {most:g}"
    if result.coverage < limit.coverage:
        yield f"coverage below {limit.coverage:.0%}"


def better(item: Kept | None, other: Kept | None) -> Kept | None:
    """Return the one of two equal series that keeps the interval better."""
    if item is None or other is None:
        return item or other
    return min(
        item, other, key=lambda kept: (len(kept.faults), kept.adherence.median_gap)
    )


def training_gaps(
    samples: Sequence[Sample],
    windows: Sequence[tuple[float, float]],
    steps: int,
    seconds: float,
) -> list[float]:
    """Return gaps in intervals of so many steps or seconds, whichever is longer.

    Without the time in windows, and without gaps at which steps begin anew.
    """
    return [*_training_gaps(samples, windows, steps, seconds)]


def _training_gaps(
    samples: Sequence[Sample],
    windows: Sequence[tuple[float, float]],
    steps: int,
    seconds: float,
) -> Iterator[float]:
    for sample, later in pairwise(_in_order(samples)):
        gaps: list[float] = []
        if sample.time is not None and later.time is not None:
            gaps.append(left_of(sample.time, later.time, windows) / seconds)
        if sample.step is not None and later.step is not None:
            if later.step <= sample.step:
                continue
            gaps.append((later.step - sample.step) / steps)
        if gaps:
            yield min(gaps)


def _in_order(samples: Sequence[Sample]) -> Sequence[Sample]:
    """Return them by time where all have one; otherwise as the log has them."""
    timed = [(sample.time, sample) for sample in samples if sample.time is not None]
    if len(timed) < len(samples):
        return samples
    return [sample for _, sample in sorted(timed, key=lambda pair: pair[0])]


def frames_of(metrics: Metrics, dictionary: MetricDictionary) -> Frames:
    """Return when each run trained; None stands for all runs together."""
    times: dict[str | None, list[float]] = {}
    for metric in series_of(metrics, (m.id for m in dictionary.of_clause("OBS-003"))):
        for sample in samples_of(metric):
            if sample.time is not None:
                for run in {metric.run.value, None}:
                    times.setdefault(run, []).append(sample.time)
    return {run: (min(time), max(time)) for run, time in times.items()}


def names_by_step(metrics: Metrics, names: Iterable[str]) -> list[str]:
    """Return those of some metrics that the training loop logs by its steps."""
    return sorted(
        {
            series.metric.need()
            for series in series_of(metrics, names)
            if any(sample.step is not None for sample in samples_of(series))
        }
    )


def sampling_gaps(series: Metric, frame: tuple[float, float]) -> list[float]:
    """Return the seconds between samples, and from them to the ends of the training.

    None where the training loop logs them.
    """
    samples = samples_of(series)
    if any(sample.step is not None for sample in samples):
        return []
    times = sorted({sample.time for sample in samples if sample.time is not None})
    begin, end = frame
    ends = [times[0] - begin, end - times[-1]] if times[1:] else []
    gaps = [later - value for value, later in pairwise(times)]
    return [*gaps, *(end for end in ends if end > 0)]
