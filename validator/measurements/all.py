"""All that was measured of one plan, as reports show it."""

from typing import TYPE_CHECKING

from speccheck.validator.evidence.evidence import Evidence
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


def measured_of(kinds: tuple[str, ...], evidence: Evidence) -> Measured:
    """What the evidence of a plan tells of its measurements, of which it has some."""
    return Measured(
        kinds,
        measured_curves(evidence),
        measured_rates(evidence),
        measured_paths(evidence),
        _telemetry(evidence) if "run_logs" in kinds else None,
    )


def _telemetry(evidence: Evidence) -> "MeasuredTelemetry | None":
    from speccheck.validator.measurements.telemetry import (  # noqa: PLC0415 - logs of runs
        measured_telemetry,
    )

    return measured_telemetry(evidence)
