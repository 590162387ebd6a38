"""What was measured under load: curves with what they are held to, rates, paths."""

from collections.abc import Iterable, Iterator, Sequence

from speccheck.validator.measurements.measured import Measured, MeasuredCurve
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.forms.html_curve import curve_html
from speccheck.validator.report.forms.html_text import escaped, folded, row, table
from speccheck.validator.report.measured_text import (
    conditions,
    measured_lines,
    path_lines,
    rate_lines,
    told_of,
)
from speccheck.validator.report.style import Style

_WIDE = Style(unicode=True, width=10**6)
_MOST_CURVES = 24
_GIGA = 1e9


def measured_html(found: Sequence[Measured]) -> str:
    """All that was measured in a run; empty where nothing was."""
    curves = [one for each in found for one in each.curves]
    rates = [one for each in found for one in each.rates]
    # A curve says by itself which way its bytes took.
    paths = [one for each in found if not each.curves for one in each.paths]
    parts: list[str] = []
    if len(curves) > _MOST_CURVES:
        parts += _lines(measured_lines(curves, _WIDE, full=False))
    parts += [_curve(one, number) for number, one in enumerate(curves[:_MOST_CURVES])]
    parts += _lines(rate_lines(rates, _WIDE, full=True))
    parts += _lines(path_lines(paths, _WIDE, full=True))
    return "".join(parts)


def _lines(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"<p>{escaped(line.strip())}</p>\n"


def _curve(one: MeasuredCurve, number: int) -> str:
    title = f" {_WIDE.dot} ".join((one.collective or "collective", *conditions(one)))
    parts = [f"<h3>{escaped(title)}</h3>\n"]
    drawn = curve_html(one, number)
    if drawn:
        parts.append(drawn)
    parts += _lines(told_of(one, _WIDE, draws=False))
    if one.curve.points:
        body = table(
            "Measured sizes",
            ("size", ">bus bandwidth, GB/s", ">ceiling", ">warning", ">failure below"),
            _rows(one),
        )
        parts.append(folded(f"{len(one.curve.points)} sizes", body))
    return "".join(parts)


def _rows(one: MeasuredCurve) -> Iterator[str]:
    bounds = {bound.size_bytes: bound for bound in one.held_to.bounds}
    for point in one.curve.points:
        bound = bounds.get(point.size_bytes)
        held = (bound.ceiling, bound.warn_below, bound.fail_below) if bound else ()
        cells = [_rate(rate) for rate in held] or ["", "", ""]
        size = shown_bytes(point.size_bytes)
        yield row(
            [size, _rate(point.bus_bytes_per_second), *cells], numbers=range(1, 5)
        )


def _rate(rate: float | None) -> str:
    return "" if rate is None else f"{rate / _GIGA:.4g}"
