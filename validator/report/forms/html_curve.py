"""A measured curve as a drawing of its own: bandwidth over the size of messages."""

from collections.abc import Iterator

from speccheck.validator.measurements.measured import MeasuredCurve, PlacedCurve
from speccheck.validator.report.forms.html_plot import Line, plot_html

_BOUNDS = (
    ("ceiling", "ceiling", "ceiling"),
    ("warn_below", "warn", "warning below"),
    ("fail_below", "fail", "failure below"),
)


def curve_html(one: MeasuredCurve, number: int) -> str:
    """The drawing with its legend; empty for fewer than two sizes."""
    return plot_html(_lines(one), f"curve-{number + 1}")


def _lines(one: MeasuredCurve) -> Iterator[Line]:
    for field, name, label in _BOUNDS:
        pairs = tuple(
            (float(bound.size_bytes), rate)
            for bound in one.held_to.bounds
            if (rate := getattr(bound, field)) is not None and bound.size_bytes > 0
        )
        yield Line(name, label, pairs)
    for index, placed in enumerate(one.placed[:2]):
        yield _measured(placed, index)
    published = tuple(
        (float(reading.size_bytes), reading.bus_bytes_per_second)
        for reading in one.held_to.published
        if reading.size_bytes > 0
    )
    yield Line("published", "published", published, is_marks=True)


def _measured(placed: PlacedCurve, index: int) -> Line:
    """The medians; where there are several runs, from the slowest to the fastest."""
    where = placed.placement.replace("_", " ")
    pairs = tuple(
        (float(point.size_bytes), point.bus_bytes_per_second)
        for point in placed.curve.points
        if point.size_bytes > 0
    )
    band = tuple(one for one in placed.spread if one[0] > 0)
    label = f"measured {where}".strip()
    if band:
        label += ", least to most of all runs"
    return Line(f"measured{index}", label, pairs, band=band)
