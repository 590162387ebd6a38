"""A drawing of rates over the size of messages: lines, marks, bands, a legend.

Colours come from the style sheet, so that a drawing is dark on a dark page; dashes and
marks tell the lines apart without colours. The axis of sizes is logarithmic; that of
rates is linear, and where small messages would vanish in it, folded away, logarithmic.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, floor, log2, log10

from speccheck.validator.evidence.record import Record
from speccheck.validator.measurements.measured import MeasuredCurve, PlacedCurve
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.document import Figure, Fold
from speccheck.validator.report.forms.html_text import escaped
from speccheck.validator.report.write_html import html

_WIDTH, _HEIGHT = 720, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 28, 12, 34
_GIGA = 1e9
_MOST_TICKS = 9
_FEWEST_POINTS = 2
_GRID_LINES = 4
_WIDE_SPAN = 50  # of the highest to the lowest rate, from which small ones vanish
_MOST_DECADES = 6
Pair = tuple[float, float]  # size in bytes, bytes per second
Band = tuple[float, float, float]  # size in bytes, least, most


class PlotLine(Record):
    """One line or set of marks, by its class in the style sheet.

    band: from the least to the most that was measured at a size.
    """

    name: str
    label: str
    pairs: tuple[Pair, ...]
    is_marks: bool = False
    band: tuple[Band, ...] = ()

    @property
    def rates(self) -> list[float]:
        """All rates that it shows."""
        ends = (rate for _, least, most in self.band for rate in (least, most))
        return [*(rate for _, rate in self.pairs), *ends]


class _Scale(Record):
    """Where a size and a rate stand in the drawing.

    bottom: the lowest rate of a logarithmic axis; zero makes it linear.
    """

    first: float
    last: float
    top: float
    bottom: float = 0.0

    def x(self, size: float) -> float:
        """Return the place from the left, by the logarithm of the size."""
        share = (log2(size) - self.first) / max(self.last - self.first, 1e-9)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, rate: float) -> float:
        """Return the place from the top; zero, or the lowest rate, is at the bottom."""
        if self.bottom:
            height = log10(self.top / self.bottom)
            share = log10(max(rate, self.bottom) / self.bottom) / height
        else:
            share = max(rate, 0.0) / self.top
        share = min(share, 1.0)
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)


def plot_html(result: Iterable[PlotLine], anchor: str) -> str:
    """Return the drawing with its legend; empty for fewer than two sizes."""
    lines = [line for line in result if line.pairs]
    sizes = sorted({size for line in lines for size, _ in line.pairs})
    measured = [line for line in lines if line.name.startswith("measured")]
    rates = [rate for line in lines for rate in line.rates]
    if len(sizes) < _FEWEST_POINTS or not measured or max(rates) <= 0:
        return ""
    scale = _Scale(log2(sizes[0]), log2(sizes[-1]), _round_up(max(rates)))
    drawn = _figure(lines, scale, f' id="{anchor}"')
    positive = [rate for rate in rates if rate > 0]
    if max(positive) > _WIDE_SPAN * min(positive):
        top = 10.0 ** ceil(log10(max(positive)))
        bottom = max(10.0 ** floor(log10(min(positive))), top / 10.0**_MOST_DECADES)
        small = _figure(lines, scale._replace(top=top, bottom=bottom), "")
        title = "small messages: the same with a logarithmic axis"
        drawn += html(Fold(title, Figure(small)))
    return drawn


def _figure(lines: Sequence[PlotLine], scale: _Scale, named: str) -> str:
    measured = next(line for line in lines if line.name.startswith("measured"))
    at = [size for size, _ in measured.pairs]
    drawn = "".join((*_axes(scale, at), *(_drawn(line, scale) for line in lines)))
    words = ", ".join(line.label for line in lines)
    label = escaped(f"bus bandwidth over message size: {words}")
    legend = "".join(
        f'<li><svg viewBox="0 0 28 10" aria-hidden="true">{_sample(line)}</svg> '
        f"{escaped(line.label)}</li>"
        for line in lines
    )
    return (
        f'<figure class="curve"{named}><div class="scrolls">'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">\n'
        f'{drawn}</svg></div><ul class="legend">{legend}</ul></figure>\n'
    )


def _round_up(rate: float) -> float:
    """Return the next number of one or two digits, so that the grid has round ones."""
    size: float = 10.0 ** (ceil(log10(rate)) - 1)
    steps = (1, 1.2, 1.6, 2, 4, 6, 8, 10)
    return next((step * size for step in steps if step * size >= rate), 10 * size)


def _axes(scale: _Scale, sizes: Sequence[float]) -> Iterator[str]:
    for rate in _ticks(scale):
        y = scale.y(rate)
        yield f'<path class="grid" d="M{_LEFT} {y}H{_WIDTH - _RIGHT}"/>\n'
        text = f"{rate / _GIGA:.4g}"
        yield f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{text}</text>\n'
    yield f'<text class="unit" x="{_LEFT + 4}" y="{_TOP + 10}">GB/s</text>\n'
    step = ceil(len(sizes) / _MOST_TICKS)
    for size in sizes[::step]:
        x = scale.x(size)
        yield (
            f'<text x="{x}" y="{_HEIGHT - 12}" text-anchor="middle">'
            f"{shown_bytes(size)}</text>\n"
        )


def _ticks(scale: _Scale) -> Iterator[float]:
    if not scale.bottom:
        yield from (scale.top * n / _GRID_LINES for n in range(_GRID_LINES + 1))
        return
    decades = round(log10(scale.top / scale.bottom))
    yield from (scale.bottom * 10.0**n for n in range(decades + 1))


def _drawn(line: PlotLine, scale: _Scale) -> str:
    at = [(scale.x(size), scale.y(rate)) for size, rate in sorted(line.pairs)]
    if line.is_marks:
        return f'<path class="{line.name}" d="{_crosses(at)}"/>\n'
    steps = "L".join(f"{x} {y}" for x, y in at)
    path = f'<path class="{line.name}" d="M{steps}"/>\n'
    if not line.name.startswith("measured"):
        return path
    dots = "".join(
        f'<circle class="{line.name}" cx="{x}" cy="{y}" r="2.5"/>' for x, y in at
    )
    return f"{_band(line, scale)}{path}{dots}\n"


def _band(line: PlotLine, scale: _Scale) -> str:
    if len(line.band) < _FEWEST_POINTS:
        return ""
    there = sorted(line.band)
    up = [f"{scale.x(size)} {scale.y(most)}" for size, _, most in there]
    down = [f"{scale.x(size)} {scale.y(least)}" for size, least, _ in reversed(there)]
    return f'<path class="band {line.name}" d="M{"L".join((*up, *down))}Z"/>\n'


def _crosses(at: Iterable[Pair]) -> str:
    return "".join(
        f"M{x - 3:.1f} {y - 3:.1f}l6 6M{x + 3:.1f} {y - 3:.1f}l-6 6" for x, y in at
    )


def _sample(line: PlotLine) -> str:
    if line.is_marks:
        return f'<path class="{line.name}" d="{_crosses([(14, 5)])}"/>'
    band = f'<path class="band {line.name}" d="M0 1H28V9H0Z"/>' if line.band else ""
    return f'{band}<path class="{line.name}" d="M0 5H28"/>'


_BOUNDS = (
    ("ceiling", "ceiling", "ceiling"),
    ("warn_below", "warn", "warning below"),
    ("fail_below", "fail", "failure below"),
)


def curve_html(curve: MeasuredCurve, number: int) -> str:
    """Return a curve with what it is held to; empty for fewer than two sizes."""
    return plot_html(_curve_lines(curve), f"curve-{number + 1}")


def _curve_lines(curve: MeasuredCurve) -> Iterator[PlotLine]:
    for field, name, label in _BOUNDS:
        pairs = tuple(
            (float(bound.size_bytes), rate)
            for bound in curve.held_to.bounds
            if (rate := getattr(bound, field)) is not None and bound.size_bytes > 0
        )
        yield PlotLine(name, label, pairs)
    for index, placed in enumerate(curve.placed[:2]):
        yield _placed(placed, index)
    published = tuple(
        (float(reading.size_bytes), reading.bus_bytes_per_second)
        for reading in curve.held_to.published
        if reading.size_bytes > 0
    )
    yield PlotLine("published", "published", published, is_marks=True)


def _placed(placed: PlacedCurve, index: int) -> PlotLine:
    """Return the medians; of several runs, from the slowest to the fastest."""
    where = placed.placement.replace("_", " ")
    pairs = tuple(
        (float(point.size_bytes), point.bus_bytes_per_second)
        for point in placed.curve.points
        if point.size_bytes > 0
    )
    band = tuple(numbers for numbers in placed.spread if numbers[0] > 0)
    label = f"measured {where}".strip()
    if band:
        label += ", least to most of all runs"
    return PlotLine(f"measured{index}", label, pairs, band=band)
