"""What was measured, over all machines: median, extremes, spread, floor and ceiling."""

from collections.abc import Iterable, Iterator, Mapping
from statistics import median

from speccheck.validator.evidence.evidence import Evidence
from speccheck.validator.evidence.record import Record
from speccheck.validator.forecast.curve_bounds import Bound
from speccheck.validator.measurements.curves import MeasuredCurve, measured_curves
from speccheck.validator.measurements.rates import rates_of_parts
from speccheck.validator.models.expectation import OF_ALL_TO_ALL, Floors

Scalar = str | int | float | bool
Conditions = tuple[tuple[str, Scalar], ...]
_LOW = 0.05  # the share of values below the fifth percentile
_FEWEST_FOR_SPREAD = 2


class Sample(Record):
    """Values of one quantity under the same conditions, of one machine or one file.

    specimen: empty for what several machines measured together. floor: below it a
    rule fails; ceiling: what the hardware can reach at most; None: not known.
    """

    name: str
    unit: str
    conditions: Conditions
    specimen: str
    values: tuple[float, ...]
    floor: float | None = None
    ceiling: float | None = None


class Distribution(Record):
    """All samples of one quantity.

    spread: between the medians of machines, the largest less the smallest over their
    median; None of fewer than two machines.
    """

    name: str
    unit: str
    conditions: Conditions
    readings: int
    specimens: int
    median: float
    p5: float
    least: float
    most: float
    spread: float | None
    floor: float | None
    ceiling: float | None


def samples(
    specimen: str, evidence: Evidence, floors: Mapping[str, float]
) -> Iterator[Sample]:
    """All that evidence measured: one machine's, or what several measured together.

    Args:
        specimen: the machine; empty for several.
        evidence: what they measured, and under which conditions.
        floors: by collective, the share of what it can reach that fails it below.

    """
    for found in rates_of_parts(evidence):
        yield Sample(found.title, found.unit, (), specimen, tuple(found.rates.values()))
    for curve in measured_curves(evidence):
        yield from _of_curve(specimen, curve, floors.get(curve.collective))


def _of_curve(
    specimen: str, curve: MeasuredCurve, share: float | None
) -> Iterator[Sample]:
    """The bandwidth of the largest message, and the time of the smallest."""
    points = curve.curve.points
    if not points:
        return
    told: dict[str, Scalar | None] = {
        "ranks": curve.ranks,
        "nodes": curve.nodes,
        "gpu": curve.gpu,
        "tool": curve.tool,
        "path": curve.path,
        "placement": curve.placed[0].placement,
        "runs": curve.runs,
    }
    about = tuple((name, one) for name, one in told.items() if one not in {None, ""})
    largest, smallest = points[-1], points[0]
    bound = _bound_at(curve, largest.size_bytes)
    name = curve.collective or "collective"
    yield Sample(
        f"{name} bus bandwidth",
        "bytes_per_second",
        _known(("size_bytes", largest.size_bytes), *about),
        specimen,
        (largest.bus_bytes_per_second,),
        _floor(bound, name, share),
        bound.ceiling if bound else None,
    )
    if smallest.seconds:
        yield Sample(
            f"{name} time",
            "seconds",
            _known(("size_bytes", smallest.size_bytes), *about),
            specimen,
            (smallest.seconds,),
        )


def _floor(bound: Bound | None, collective: str, share: float | None) -> float | None:
    """What fails below, by the share of the profiles in force."""
    if bound is None or bound.fail_below is None or share is None:
        return bound.fail_below if bound else None
    usual = OF_ALL_TO_ALL if collective == "all_to_all" else Floors()
    return bound.fail_below / usual.fail * share


def _known(*told: tuple[str, Scalar | None]) -> Conditions:
    return tuple((name, one) for name, one in told if one is not None)


def _bound_at(curve: MeasuredCurve, size: int) -> Bound | None:
    return next((o for o in curve.held_to.bounds if o.size_bytes == size), None)


def distributions(found: Iterable[Sample]) -> list[Distribution]:
    """Samples of the same quantity under the same conditions together."""
    groups: dict[tuple[str, str, Conditions], list[Sample]] = {}
    for one in found:
        groups.setdefault((one.name, one.unit, one.conditions), []).append(one)
    return [_distribution(group) for group in groups.values()]


def _distribution(group: list[Sample]) -> Distribution:
    first = group[0]
    values = sorted(value for one in group for value in one.values)
    machines: dict[str, list[float]] = {}
    for one in group:
        if one.specimen:
            machines.setdefault(one.specimen, []).extend(one.values)
    medians = [median(of_one) for of_one in machines.values()]
    middle = median(medians) if medians else 0.0
    has_spread = len(medians) >= _FEWEST_FOR_SPREAD and middle > 0
    return Distribution(
        first.name,
        first.unit,
        first.conditions,
        len(values),
        len(machines),
        median(values),
        values[int(_LOW * len(values))],
        values[0],
        values[-1],
        (max(medians) - min(medians)) / middle if has_spread else None,
        first.floor,
        first.ceiling,
    )
