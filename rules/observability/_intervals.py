"""What rules on the intervals of series share."""

from collections.abc import Iterator, Mapping, Sequence
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
    found: Adherence
    faults: tuple[str, ...]

    @property
    def told(self) -> str:
        """The first fault, and the share of time that is covered."""
        return f"{self.faults[0]}; {self.found.coverage:.0%} of the time is covered"


def kept(
    title: str, series: Metric, gaps: Sequence[float], limit: Keeping
) -> Kept | None:
    """How a series with such gaps keeps its interval; None without any gap."""
    found = adherence(gaps)
    return found and Kept(title, series, found, tuple(_faults(found, limit)))


def _faults(found: Adherence, limit: Keeping) -> Iterator[str]:
    gaps = (
        ("typical", found.median_gap, limit.typical_gap),
        ("longest", found.longest_gap, limit.longest_gap),
        ("99th percentile", found.gap_99, limit.p99_gap),
    )
    for name, gap, most in gaps:
        if gap > most:
            yield f"{name} gap of {gap:.3g} intervals, at most {most:g}"
    if found.coverage < limit.coverage:
        yield f"coverage below {limit.coverage:.0%}"


def better(one: Kept | None, other: Kept | None) -> Kept | None:
    """Of two series of the same thing, the one that keeps the interval better."""
    if one is None or other is None:
        return one or other
    return min(one, other, key=lambda kept: (len(kept.faults), kept.found.median_gap))


def training_gaps(
    samples: Sequence[Sample],
    windows: Sequence[tuple[float, float]],
    steps: int,
    seconds: float,
) -> list[float]:
    """In intervals of so many steps or seconds, whichever is longer.

    Without the time in windows, and without gaps at which steps begin anew.
    """
    return [*_training_gaps(samples, windows, steps, seconds)]


def _training_gaps(
    samples: Sequence[Sample],
    windows: Sequence[tuple[float, float]],
    steps: int,
    seconds: float,
) -> Iterator[float]:
    for one, later in pairwise(_in_order(samples)):
        gaps: list[float] = []
        if one.time is not None and later.time is not None:
            gaps.append(left_of(one.time, later.time, windows) / seconds)
        if one.step is not None and later.step is not None:
            if later.step <= one.step:
                continue
            gaps.append((later.step - one.step) / steps)
        if gaps:
            yield min(gaps)


def _in_order(samples: Sequence[Sample]) -> Sequence[Sample]:
    """By time where all have one; otherwise as the log has them."""
    timed = [(one.time, one) for one in samples if one.time is not None]
    if len(timed) < len(samples):
        return samples
    return [one for _, one in sorted(timed, key=lambda pair: pair[0])]


def frames_of(metrics: Metrics, dictionary: MetricDictionary) -> Frames:
    """From when to when each run trained; under None for all runs together."""
    times: dict[str | None, list[float]] = {}
    for one in series_of(metrics, (m.id for m in dictionary.of_clause("OBS-003"))):
        for sample in samples_of(one):
            if sample.time is not None:
                for run in {one.run.value, None}:
                    times.setdefault(run, []).append(sample.time)
    return {run: (min(found), max(found)) for run, found in times.items()}


def sampling_gaps(series: Metric, frame: tuple[float, float]) -> list[float]:
    """Seconds between samples, and from them to the ends of the training.

    None where the training loop logs them.
    """
    samples = samples_of(series)
    if any(one.step is not None for one in samples):
        return []
    times = sorted({one.time for one in samples if one.time is not None})
    begin, end = frame
    ends = [times[0] - begin, end - times[-1]] if times[1:] else []
    gaps = [later - one for one, later in pairwise(times)]
    return [*gaps, *(one for one in ends if one > 0)]
