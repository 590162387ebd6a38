"""All that was measured of one plan, as reports show it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from speccheck.validator.evidence.record import Record
from speccheck.validator.measurements.curves import MeasuredCurve, measured_curves
from speccheck.validator.measurements.paths import MeasuredPath, measured_paths
from speccheck.validator.measurements.rates import MeasuredRates, measured_rates

if TYPE_CHECKING:
    from speccheck.validator.measurements.telemetry import MeasuredTelemetry


class Measured(Record):
    """Curves of collectives, rates of parts, ways of the bytes, and what there is.

    telemetry: what the logs of a run hold; None without such logs.
    """

    kinds: tuple[str, ...]
    curves: tuple[MeasuredCurve, ...]
    rates: tuple[MeasuredRates, ...]
    paths: tuple[MeasuredPath, ...]
    telemetry: "MeasuredTelemetry | None" = None


def measured_of(kinds: tuple[str, ...], by_type: Mapping[type, object]) -> Measured:
    """What the evidence of a plan tells of its measurements, of which it has some."""
    return Measured(
        kinds,
        measured_curves(by_type),
        measured_rates(by_type),
        measured_paths(by_type),
        _telemetry(by_type) if "run_logs" in kinds else None,
    )


def _telemetry(by_type: Mapping[type, object]) -> "MeasuredTelemetry | None":
    from speccheck.validator.measurements.telemetry import (  # noqa: PLC0415 - logs of runs
        measured_telemetry,
    )

    return measured_telemetry(by_type)
