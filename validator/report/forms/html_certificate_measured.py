"""What was measured: each quantity as a bar with its floor and its ceiling."""

from collections.abc import Iterator, Sequence
from itertools import count

from speccheck.validator.certification.certificate_model import Measured
from speccheck.validator.models.expectation import shown_bytes
from speccheck.validator.report.certificate_text import (
    OUTCOMES,
    conditions_of,
    held,
    highest_of,
    scale_of,
    shown,
)
from speccheck.validator.report.forms.html_plot import Line, plot_html
from speccheck.validator.report.forms.html_text import escaped, row, table
from speccheck.validator.report.style import counted

_SIZE, _RATE = "size_bytes", "bytes_per_second"
_FEWEST_SIZES = 3  # of a curve
_MOST = 200
_MOST_RATE = 1e30  # of a number that a curve can show
_ROOM = 1.12  # of the bar, beyond the largest number
_LATE = 78.0  # per cent: beyond it a line is named on its other side
_COLOURS = {"pass": "good", "fail": "error", "unknown": "warning"}
_Key = tuple[object, ...]


def quantities_html(found: Sequence[Measured]) -> str:
    """Curves first, then one bar for each quantity; empty without any."""
    groups: dict[_Key, list[Measured]] = {}
    for one in found[:_MOST]:
        others = tuple(
            sorted((k, str(v)) for k, v in one.conditions.items() if k != _SIZE)
        )
        groups.setdefault((one.name, one.unit, others), []).append(one)
    numbers = count(1)
    parts = []
    for group in groups.values():
        if len(group) >= _FEWEST_SIZES and all(map(_has_size, group)):
            parts.append(_curve(group, next(numbers)))
        else:
            parts.extend(_bar(one) for one in group)
    if len(found) > _MOST:
        parts.append(f'<p class="note">and {len(found) - _MOST:,} more</p>\n')
    return "".join(parts)


def _has_size(one: Measured) -> bool:
    size = one.conditions.get(_SIZE)
    known = (one.median, one.least, one.most, one.floor, one.ceiling)
    return (
        one.unit == _RATE
        and type(size) is int
        and 0 < size < 1 << 60
        and all(value is None or 0 <= value < _MOST_RATE for value in known)
    )


def _size(one: Measured) -> float:
    return float(one.conditions[_SIZE])


def _curve(group: Sequence[Measured], number: int) -> str:
    ordered = sorted(group, key=_size)
    first = ordered[0]
    scale, unit = scale_of(first.unit, max(map(highest_of, ordered)))
    numbers = (f">{name}" for name in _NUMBERS[1:])
    heads = ("size", f">{_NUMBERS[0]}, {unit}", *numbers, "held")
    rows = (_curve_row(one, scale) for one in ordered)
    return (
        f'<div class="quantity">\n{_title(first, without=(_SIZE,))}'
        f"{plot_html(_lines(ordered), f'curve-{number}')}"
        f"{table(first.name, heads, rows, name='narrow')}</div>\n"
    )


_NUMBERS = ("median", "5th percentile", "least", "most", "floor", "ceiling")


def _numbers(one: Measured, scale: float) -> list[str]:
    values = (one.median, one.p5, one.least, one.most, one.floor, one.ceiling)
    return [shown(value, scale) for value in values]


def _curve_row(one: Measured, scale: float) -> str:
    cells = [shown_bytes(_size(one)), *_numbers(one, scale), _held(one)]
    return row(cells, numbers=range(1, 7))


def _lines(ordered: Sequence[Measured]) -> Iterator[Line]:
    for field, name in (("ceiling", "ceiling"), ("floor", "fail")):
        pairs = tuple(
            (_size(one), value)
            for one in ordered
            if (value := getattr(one, field)) is not None
        )
        yield Line(name, field, pairs)
    band = tuple((_size(one), one.least, one.most) for one in ordered)
    medians = tuple((_size(one), one.median) for one in ordered)
    yield Line("measured0", "median, with least to most", medians, band=band)


def _title(one: Measured, without: Sequence[str] = ()) -> str:
    samples = counted(one.count, "sample")
    if one.specimens:
        samples += f" of {counted(one.specimens, 'specimen')}"
    else:
        samples += " of several machines together"
    told = " \u00b7 ".join((*conditions_of(one.conditions, without), samples))
    return f"<h3>{escaped(one.name)} <small>{escaped(told)}</small></h3>\n"


def _held(one: Measured) -> str:
    outcome, words = held(one)
    mark = OUTCOMES[outcome][0]
    return f'<span class="{_COLOURS.get(outcome, "none")}">{mark} {words}</span>'


def _bar(one: Measured) -> str:
    scale, unit = scale_of(one.unit, highest_of(one))
    pairs = [*zip(_NUMBERS, _numbers(one, scale), strict=True)]
    if one.least == one.most:  # a single value, or the same one each time
        pairs = [("measured", pairs[0][1]), *pairs[4:]]
    facts = "".join(
        f"<div><dt>{name}</dt><dd>{text} {escaped(unit)}</dd></div>"
        for name, text in pairs
        if text
    )
    if one.spread is not None:
        text = f"{one.spread:.1%}"
        facts += f"<div><dt>between specimens</dt><dd>{text}</dd></div>"
    return (
        f'<div class="quantity">\n{_title(one)}{_picture(one)}'
        f'<dl class="facts">{facts}<div><dd>{_held(one)}</dd></div></dl>\n</div>\n'
    )


def _picture(one: Measured) -> str:
    """The median as a bar, least to most as a whisker, floor and ceiling as lines."""
    if one.least == one.most and one.floor is None and one.ceiling is None:
        return ""  # one number says as much
    top = highest_of(one) * _ROOM
    if not 0 < top < float("inf") or one.least < 0:
        return ""

    def at(value: float) -> float:
        return round(100 * value / top, 2)

    least, most = at(one.least), at(one.most)
    parts = [
        f'<rect class="median" y="12" height="14" width="{at(one.median)}%"/>\n',
        f'<line class="whisker" x1="{least}%" x2="{most}%" y1="19" y2="19"/>\n',
    ]
    parts += [
        f'<line class="whisker" x1="{x}%" x2="{x}%" y1="{y}" y2="{38 - y}"/>\n'
        for x, y in ((least, 14), (at(one.p5), 16), (most, 14))
    ]
    for field in ("floor", "ceiling"):
        value = getattr(one, field)
        if value is not None:
            parts.append(_bound(field, at(value)))
    words = escaped(f"{one.name}: {held(one)[1]}")
    drawn = "".join(parts)
    return f'<svg class="spread" role="img" aria-label="{words}">\n{drawn}</svg>\n'


def _bound(name: str, x: float) -> str:
    is_before = name == "floor" or x > _LATE
    side, shift = (' class="before"', "-4") if is_before else ("", "4")
    height = 36 if name == "floor" else 9
    return (
        f'<line class="{name}" x1="{x}%" x2="{x}%" y1="2" y2="36"/>\n'
        f'<text{side} x="{x}%" dx="{shift}" y="{height}">{name}</text>\n'
    )
