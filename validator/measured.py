"""All that was measured of one plan, as reports show it."""

from collections.abc import Mapping

from speccheck.validator.evidence.record import Record
from speccheck.validator.measured_curves import MeasuredCurve, measured_curves
from speccheck.validator.measured_paths import MeasuredPath, measured_paths
from speccheck.validator.measured_rates import MeasuredRates, measured_rates


class Measured(Record):
    """Curves of collectives, rates of parts, ways of the bytes, and what there is."""

    kinds: tuple[str, ...]
    curves: tuple[MeasuredCurve, ...]
    rates: tuple[MeasuredRates, ...]
    paths: tuple[MeasuredPath, ...]


def measured_of(kinds: tuple[str, ...], by_type: Mapping[type, object]) -> Measured:
    """What the evidence of a plan tells of its measurements, of which it has some."""
    return Measured(
        kinds,
        measured_curves(by_type),
        measured_rates(by_type),
        measured_paths(by_type),
    )
