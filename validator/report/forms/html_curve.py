"""A measured curve as a drawing of its own: bandwidth over the size of messages.

Colours come from the style sheet, so that a drawing is dark on a dark page; dashes and
marks tell the lines apart without colours.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import ceil, log2, log10

from speccheck.validator.evidence.record import Record
from speccheck.validator.measured_curves import MeasuredCurve
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.forms.html_text import escaped

_WIDTH, _HEIGHT = 720, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 56, 28, 12, 34
_GIGA = 1e9
_MOST_TICKS = 9
_FEWEST_POINTS = 2
_GRID_LINES = 4
_Pair = tuple[float, float]  # size in bytes, bytes per second
_BOUNDS = (
    ("ceiling", "ceiling", "ceiling"),
    ("warn_below", "warn", "warning below"),
    ("fail_below", "fail", "failure below"),
)


class _Line(Record):
    """One line or set of marks, by its class in the style sheet."""

    name: str
    label: str
    pairs: tuple[_Pair, ...]
    is_marks: bool = False


class _Scale(Record):
    """Where a size and a rate stand in the drawing."""

    first: float
    last: float
    top: float

    def x(self, size: float) -> float:
        """From the left, by the logarithm of the size."""
        share = (log2(size) - self.first) / max(self.last - self.first, 1e-9)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    def y(self, rate: float) -> float:
        """From the top, zero at the bottom."""
        share = min(rate / self.top, 1.0)
        return round(_HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM), 1)


def curve_html(one: MeasuredCurve, number: int) -> str:
    """The drawing with its legend; empty for fewer than two sizes."""
    lines = [line for line in _lines(one) if line.pairs]
    sizes = sorted({size for line in lines for size, _ in line.pairs})
    measured = [line for line in lines if line.name.startswith("measured")]
    if len(sizes) < _FEWEST_POINTS or not measured:
        return ""
    highest = max(rate for line in lines for _, rate in line.pairs)
    if highest <= 0:
        return ""
    scale = _Scale(log2(sizes[0]), log2(sizes[-1]), _round_up(highest))
    at = [size for size, _ in measured[0].pairs]
    drawn = "".join((*_axes(scale, at), *(_drawn(line, scale) for line in lines)))
    words = ", ".join(line.label for line in lines)
    label = escaped(f"bus bandwidth over message size: {words}")
    legend = "".join(
        f'<li><svg viewBox="0 0 28 10" aria-hidden="true">{_sample(line)}</svg> '
        f"{escaped(line.label)}</li>"
        for line in lines
    )
    return (
        f'<figure class="curve" id="curve-{number + 1}"><div class="scrolls">'
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{label}">\n'
        f'{drawn}</svg></div><ul class="legend">{legend}</ul></figure>\n'
    )


def _lines(one: MeasuredCurve) -> Iterator[_Line]:
    for field, name, label in _BOUNDS:
        pairs = tuple(
            (float(bound.size_bytes), rate)
            for bound in one.held_to.bounds
            if (rate := getattr(bound, field)) is not None and bound.size_bytes > 0
        )
        yield _Line(name, label, pairs)
    for index, placed in enumerate(one.placed[:2]):
        where = placed.placement.replace("_", " ")
        pairs = tuple(
            (float(point.size_bytes), point.bus_bytes_per_second)
            for point in placed.curve.points
            if point.size_bytes > 0
        )
        yield _Line(f"measured{index}", f"measured {where}".strip(), pairs)
    published = tuple(
        (float(reading.size_bytes), reading.bus_bytes_per_second)
        for reading in one.held_to.published
        if reading.size_bytes > 0
    )
    yield _Line("published", "published", published, is_marks=True)


def _round_up(rate: float) -> float:
    """The next number of one or two digits, so that the grid has round ones."""
    size: float = 10.0 ** (ceil(log10(rate)) - 1)
    return next(
        step * size for step in (1, 1.2, 1.6, 2, 4, 6, 8, 10) if step * size >= rate
    )


def _axes(scale: _Scale, sizes: Sequence[float]) -> Iterator[str]:
    for index in range(_GRID_LINES + 1):
        rate = scale.top * index / _GRID_LINES
        y = scale.y(rate)
        yield f'<path class="grid" d="M{_LEFT} {y}H{_WIDTH - _RIGHT}"/>\n'
        text = f"{rate / _GIGA:.3g}"
        yield f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{text}</text>\n'
    yield f'<text class="unit" x="{_LEFT + 4}" y="{_TOP + 10}">GB/s</text>\n'
    step = ceil(len(sizes) / _MOST_TICKS)
    for size in sizes[::step]:
        x = scale.x(size)
        yield (
            f'<text x="{x}" y="{_HEIGHT - 12}" text-anchor="middle">'
            f"{shown_bytes(size)}</text>\n"
        )


def _drawn(line: _Line, scale: _Scale) -> str:
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
    return f"{path}{dots}\n"


def _crosses(at: Iterable[_Pair]) -> str:
    return "".join(
        f"M{x - 3:.1f} {y - 3:.1f}l6 6M{x + 3:.1f} {y - 3:.1f}l-6 6" for x, y in at
    )


def _sample(line: _Line) -> str:
    if line.is_marks:
        return f'<path class="{line.name}" d="{_crosses([(14, 5)])}"/>'
    return f'<path class="{line.name}" d="M0 5H28"/>'
