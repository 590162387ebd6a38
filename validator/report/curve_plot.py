"""Measured curves as a picture: bandwidth over message size, with what is expected.

The same curves give the same bytes: no date, no random names, text as text.
"""

import io
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from speccheck.validator.measurements.measured import MeasuredCurve
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.style import printable

MOST_PANELS = 12
_STYLE = {
    "svg.hashsalt": "speccheck",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.edgecolor": "#777777",
    "text.color": "#222222",
}
_WIDTH_INCHES, _HEIGHT_INCHES = 7.2, 3.6
_GIGA = 1e9
_MEASURED = ("#1f5fa8", "#7fb0e6")
_LEAST_TICKS = 10
_PIXELS_PER_INCH = 144


class NoPlotting(Exception):  # noqa: N818 - a usage error with its own message
    """There is nothing to draw with."""


def draw(curves: Sequence[MeasuredCurve], form: str) -> bytes:
    """Return the picture, a panel for each curve; raises NoPlotting without matplotlib.

    Args:
        curves: at least one that has points.
        form: svg or png.

    """
    if find_spec("matplotlib") is None:
        message = "--plot needs matplotlib: pip install 'speccheck[plot]'"
        raise NoPlotting(message)
    # An extra, and without types: nothing but this module needs it.
    matplotlib: Any = import_module("matplotlib")
    figures: Any = import_module("matplotlib.figure")
    shown = [curve for curve in curves if curve.curve.points][:MOST_PANELS]
    size = (_WIDTH_INCHES, _HEIGHT_INCHES * len(shown))
    with matplotlib.rc_context(_STYLE):
        figure = figures.Figure(figsize=size, layout="constrained")
        for panel, measured_curve in zip(
            figure.subplots(len(shown), 1, squeeze=False).flat, shown, strict=True
        ):
            _panel(panel, measured_curve)
        drawn = io.BytesIO()
        about = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
        figure.savefig(drawn, format=form, metadata=about, dpi=_PIXELS_PER_INCH)
    return drawn.getvalue()


def _panel(panel: Any, measured_curve: MeasuredCurve) -> None:  # noqa: ANN401 - no types here
    sizes = [p.size_bytes for p in measured_curve.curve.points if p.size_bytes > 0]
    for placed, colour in zip(measured_curve.placed, _MEASURED, strict=False):
        points = [p for p in placed.curve.points if p.size_bytes > 0]
        panel.plot(
            [point.size_bytes for point in points],
            [point.bus_bytes_per_second / _GIGA for point in points],
            marker="o",
            markersize=3,
            color=colour,
            label=" ".join(("measured", *placed.placement.split("_"))),
        )
    for field, colour, dashes, label in (
        ("ceiling", "#777777", "--", "ceiling"),
        ("warn_below", "#c98a00", ":", "warning below"),
        ("fail_below", "#b3261e", ":", "failure below"),
    ):
        words = [
            (bound.size_bytes, getattr(bound, field))
            for bound in measured_curve.held_to.bounds
            if getattr(bound, field) is not None
        ]
        if words:
            at, rates = zip(*words, strict=True)
            panel.plot(
                at,
                [rate / _GIGA for rate in rates],
                linestyle=dashes,
                marker="_",
                color=colour,
                label=label,
            )
    published = measured_curve.held_to.published
    if published:
        panel.plot(
            [reading.size_bytes for reading in published],
            [reading.bus_bytes_per_second / _GIGA for reading in published],
            linestyle="",
            marker="x",
            markersize=5,
            color="#2e7d32",
            label="published",
        )
    step = max(1, -(-len(sizes) // _LEAST_TICKS))
    ticks = sizes[::step]
    panel.set_xscale("log", base=2)
    panel.set_xticks(ticks, [shown_bytes(size) for size in ticks])
    panel.set_xticks([], minor=True)
    panel.set_ylim(bottom=0)
    panel.set(
        title=_title(measured_curve),
        ylabel="bus bandwidth, GB/s",
        xlabel="message size",
    )
    panel.legend(loc="center left", fontsize=8, frameon=False)
    panel.grid(visible=True, axis="y", color="#dddddd", linewidth=0.6)


def _title(measured_curve: MeasuredCurve) -> str:
    parts = [measured_curve.collective or "collective"]
    if measured_curve.ranks is not None:
        on = (
            f" on {measured_curve.nodes} nodes"
            if measured_curve.nodes is not None and measured_curve.nodes > 1
            else ""
        )
        parts.append(f"{measured_curve.ranks} ranks{on}")
    parts.append(printable(measured_curve.gpu))
    return ", ".join(filter(None, parts)).replace("$", r"\$")
