"""Curves of collectives as part of `speccheck-report/1`."""

from speccheck.validator.evidence.record import Record
from speccheck.validator.forecast.collective_series import Bound, Published
from speccheck.validator.measurements.measured import MeasuredCurve
from speccheck.validator.models.curve import CurvePoint
from speccheck.validator.report.serialise import alike


class MeasuredPlacement(Record):
    """One placement of buffers: out_of_place, in_place."""

    placement: str | None
    points: tuple[CurvePoint, ...]


class HeldTo(Record):
    """What is expected; basis: on what it rests, or why nothing is."""

    basis: str | None
    bounds: tuple[Bound, ...]
    published: tuple[Published, ...]


class Measured(Record):
    """Runs of one collective over the same ranks: medians over the runs by size."""

    collective: str | None
    ranks: int | None
    nodes: int | None
    hosts: tuple[str, ...]
    gpu: str | None
    tool: str | None
    runs: int
    unfinished: str | None  # why a run did not end as it should
    peak_bus_bytes_per_second: float | None
    peak_size_bytes: int | None
    half_peak_bytes: float | None  # from this size on half of the peak is reached
    small_message_seconds: float | None  # median of messages of up to 8 KiB
    held_to: HeldTo
    path: str | None  # which way the bytes took, or that nothing proves it
    placed: tuple[MeasuredPlacement, ...]  # the best first: numbers above are of it


def measured_curve(measured: MeasuredCurve) -> Measured:
    """Return the runs of one collective as the report lists them."""
    curve, peak = measured.curve, measured.curve.peak
    return alike(
        Measured,
        measured,
        collective=measured.collective or None,
        gpu=measured.gpu or None,
        tool=measured.tool or None,
        unfinished=measured.unfinished or None,
        peak_bus_bytes_per_second=peak and peak.bus_bytes_per_second,
        peak_size_bytes=peak and peak.size_bytes,
        half_peak_bytes=curve.half_peak_bytes,
        small_message_seconds=curve.small_message_seconds,
        held_to=alike(HeldTo, measured.held_to, basis=measured.held_to.basis or None),
        path=measured.path or None,
        placed=[
            MeasuredPlacement(placed.placement or None, placed.curve.points)
            for placed in measured.placed
        ],
    )
