"""One run of a collective, from the points of a table to the leaves of its part."""

from collections.abc import Iterable, Mapping

from speccheck.validator.evidence.measurement.collective import CollectiveRun
from speccheck.validator.evidence.record import Record
from speccheck.validator.sources.capture import Capture, Found, Where
from speccheck.validator.sources.formats._printed_lines import absent

KIND = CollectiveRun.kind
GIGA = 1e9  # of NVIDIA/nccl-tests src/common.cu: GB/s are 10^9 bytes per second


class Told(Record):
    """What a leaf is, and where that stands."""

    found: Found
    at: Where


Leaves = dict[str, Told]


class Point(Record):
    """What was measured of messages of one size."""

    size_bytes: int
    seconds: float | None = None
    algorithm: float | None = None  # bytes per second
    bus: float | None = None
    wrong: int | None = None
    spread: float | None = None
    variation: float | None = None
    p99_seconds: float | None = None


def over(value: float | None, unit: float) -> float | None:
    """A value divided by a unit, where there is one: seconds to the picosecond."""
    return None if value is None else round(value / unit, 12)


def times(value: float | None, unit: float) -> float | None:
    """A rate multiplied by its unit, where there is one, in whole bytes."""
    return None if value is None else float(round(value * unit))


def measured_point(
    size_bytes: int,
    seconds: float | None,
    algorithm: float | None,
    bus: float | None,
    *,
    wrong: float | None = None,
    spread: float | None = None,
    variation: float | None = None,
    p99_seconds: float | None = None,
) -> Point:
    """A point without what no measurement can be: no time, and rates of no bytes.

    A collective of nothing has a time and no bandwidth; one that took no time was not
    timed. Rates stay zero where the tool has rounded them.
    """
    has_bytes = size_bytes > 0
    return Point(
        size_bytes,
        _kept(seconds, is_kept=seconds is not None and seconds > 0),
        _kept(algorithm, is_kept=has_bytes),
        _kept(bus, is_kept=has_bytes),
        None if wrong is None else int(wrong),
        _kept(spread),
        _kept(variation),
        _kept(p99_seconds, is_kept=p99_seconds is not None and p99_seconds > 0),
    )


def _kept(value: float | None, *, is_kept: bool = True) -> float | None:
    return value if is_kept and value is not None and value >= 0 else None


# Leaf, field of the point, and whether it is told of a run that does not measure it.
_LISTS = (
    ("size_bytes", "size_bytes", True),
    ("seconds", "seconds", True),
    ("algorithm_bytes_per_second", "algorithm", True),
    ("bus_bytes_per_second", "bus", True),
    ("wrong_values", "wrong", False),
    ("spread", "spread", False),
    ("variation", "variation", False),
    ("p99_seconds", "p99_seconds", False),
)


def put_run(
    capture: Capture, leaves: Mapping[str, Told], points: Iterable[Point], at: Where
) -> None:
    """Another run; `at` is where its points stand."""
    part = KIND, capture.add(KIND, at)
    for leaf, told in leaves.items():
        capture.put_at(part, leaf, told.found, told.at)
    rows = list(points)
    for leaf, field, is_told in _LISTS:
        if leaf in leaves:
            continue
        values = [getattr(row, field) for row in rows]
        if any(value is not None for value in values):
            capture.put_at(part, leaf, values, at)
        elif is_told:
            reason = "no value was measured" if rows else "no row was measured"
            capture.put_at(part, leaf, absent(reason, capture.command), at)
