"""What rules on the intervals of series share."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Protocol

from speccheck.validator.evidence.measurement.series import Sample
from speccheck.validator.evidence.measurement.telemetry import Metric
from speccheck.validator.evidence.record import Record
from speccheck.validator.models.telemetry_interval import (
    Adherence,
    adherence,
    left_of,
)


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
        ("99th percentile", found.gap_99, limit.p99_gap),
        ("longest", found.longest_gap, limit.longest_gap),
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
