"""What a curve of bandwidth over message size says, beside its largest number.

One number hides what small and middling messages cost: how long the smallest takes,
from which size on half of the peak is reached, and where bandwidth falls although
messages grow: there a library changes algorithm or protocol, or a buffer is full.
"""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from speccheck.validator.evidence.record import Record

# Messages whose time is that of the collective itself (8 KiB: COMM-012).
_SMALL_BYTES = 8192
# A fall by less may be the spread of the measurement (10 % marks a run as unstable).
_FALL = 0.10


class CurvePoint(Record):
    """One size of message: bytes, seconds, bytes per second of bus bandwidth."""

    size_bytes: int
    seconds: float | None
    bus_bytes_per_second: float


class Knee(Record):
    """Bandwidth falls to `after` at `size_bytes`, from `before` at a smaller size."""

    size_bytes: int
    before: float
    after: float


class Curve(Record):
    """Points in order of their size, each size once."""

    points: tuple[CurvePoint, ...]

    @property
    def peak(self) -> CurvePoint | None:
        """The point of the highest bandwidth; None without points."""
        return max(
            self.points, key=lambda point: point.bus_bytes_per_second, default=None
        )

    @property
    def half_peak_bytes(self) -> float | None:
        """From this size on half of the peak is reached, and by all larger messages.

        Between two points bandwidth is taken to grow with the logarithm of the size.
        None where already the smallest message reaches it: where it began is not shown.
        """
        peak = self.peak
        if peak is None:
            return None
        half = peak.bus_bytes_per_second / 2
        below = [n for n, point in enumerate(self.points) if _rate(point) < half]
        if not below or below[-1] + 1 == len(self.points):
            return None
        left, right = self.points[below[-1]], self.points[below[-1] + 1]
        if left.size_bytes <= 0:
            return float(right.size_bytes)
        share = (half - _rate(left)) / (_rate(right) - _rate(left))
        ratio = right.size_bytes / left.size_bytes
        return float(left.size_bytes * math.exp(share * math.log(ratio)))

    @property
    def small_message_seconds(self) -> float | None:
        """The median time of messages of up to 8 KiB that hold anything."""
        times = [
            point.seconds
            for point in self.points
            if 0 < point.size_bytes <= _SMALL_BYTES and point.seconds
        ]
        return median(times) if times else None

    @property
    def knees(self) -> tuple[Knee, ...]:
        """Where bandwidth falls by more than a tenth although messages grow.

        Only messages that are larger than small ones: those take the time of the
        collective itself, and their bandwidth is noise.
        """
        knees: list[Knee] = []
        best: CurvePoint | None = None
        for point in self.points:
            if point.size_bytes <= _SMALL_BYTES:
                continue
            if best is None or _rate(point) >= _rate(best):
                best = point
            elif _rate(point) < (1 - _FALL) * _rate(best):
                knees.append(Knee(point.size_bytes, _rate(best), _rate(point)))
                best = point
        return tuple(knees)


def curve(points: Iterable[CurvePoint]) -> Curve:
    """Return the curve of measured points; of several of one size the median counts."""
    by_size: dict[int, list[CurvePoint]] = {}
    for point in points:
        by_size.setdefault(point.size_bytes, []).append(point)
    return Curve(tuple(_middle(by_size[size]) for size in sorted(by_size)))


def _middle(points: Sequence[CurvePoint]) -> CurvePoint:
    times = [point.seconds for point in points if point.seconds is not None]
    return CurvePoint(
        points[0].size_bytes,
        median(times) if times else None,
        median(map(_rate, points)),
    )


def _rate(point: CurvePoint) -> float:
    return point.bus_bytes_per_second
