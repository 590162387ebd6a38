"""What the nodes of a fleet measured: how the values lie, and whose lie apart."""

from collections.abc import Sequence
from math import isfinite
from statistics import median

from speccheck.validator.comparison.outliers import Reading, rates_of
from speccheck.validator.evidence.fleet import Samples
from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.report.fleet_groups import fleet_groups
from speccheck.validator.report.forms.html_text import code, escaped
from speccheck.validator.report.style import counted

_SLOWER = "slower_than_the_fleet"
_BINS = 60
_MOST_READINGS = 24
_MOST_NAMED = 8
_MOST_LABEL = 160
_WIDTH, _HEIGHT, _FOOT = 720, 90, 26
_LEAST_BAR = 2  # pixels, so that one value among thousands is seen


def rates_html(run: FleetRun) -> str:
    """A distribution for each rate, those with outliers first; empty without any."""
    slow = {
        name
        for group in fleet_groups(run, "fail")
        if group.rule == _SLOWER
        for name in group.hosts
    }
    readings = [
        (one, run.fleet.samples[one.leaf])
        for one in rates_of(run.fleet, 0.0)
        if all(map(isfinite, run.fleet.samples[one.leaf].values))
        and run.fleet.samples[one.leaf].values
    ]
    drawn = [_reading(run, one, samples, slow) for one, samples in readings]
    drawn.sort(key=lambda one: -one[0])
    body = "".join(text for _, text in drawn[:_MOST_READINGS])
    if len(drawn) > _MOST_READINGS:
        more = counted(len(drawn) - _MOST_READINGS, "more rate")
        body += f'<p class="note">and {more}</p>\n'
    if not body:
        return ""
    note = (
        '<p class="note">Crosses are the least values of nodes '
        f"that {code(_SLOWER)} names; the height of a bar is the number of values."
        "</p>\n"
    )
    return note + body


def _reading(
    run: FleetRun, one: Reading, samples: Samples, slow: set[str]
) -> tuple[int, str]:
    """How many nodes are slow, and the drawing."""
    values = samples.values
    least, most, middle = min(values), max(values), median(values)
    off = _slowest(run, samples, slow, middle)
    named = ", ".join(
        f"{name} {value / one.per:.4g}" + (f" ({one.part} {part})" if one.part else "")
        for value, name, part in off[:_MOST_NAMED]
    )
    if len(off) > _MOST_NAMED:
        named += f" and {counted(len(off) - _MOST_NAMED, 'more node')}"
    seen = counted(len(set(samples.nodes)), "node")
    without = (
        f"; {len(samples.unseen):,} nodes do not tell it" if samples.unseen else ""
    )
    facts = (
        f"median {middle / one.per:.4g}, {least / one.per:.4g} to "
        f"{most / one.per:.4g} {one.unit}, {len(values):,} values of {seen}{without}"
    )
    slowest = f"<p>{escaped(f'slow: {named}')}</p>\n" if named else ""
    return len(off), (
        f'<div class="quantity">\n<h3>{escaped(one.label[:_MOST_LABEL])}</h3>\n'
        f"{_picture(one, values, [value for value, _, _ in off])}"
        f'<p class="note">{escaped(facts)}</p>\n{slowest}</div>\n'
    )


def _slowest(
    run: FleetRun, samples: Samples, slow: set[str], middle: float
) -> list[tuple[float, str, int]]:
    """The least value of each slow node that lies below the median, with its part."""
    least: dict[str, tuple[float, int]] = {}
    for value, number, part in zip(
        samples.values, samples.nodes, samples.parts, strict=True
    ):
        name = run.nodes[number].name
        if name in slow and value < middle:
            least[name] = min(least.get(name, (value, part)), (value, part))
    return sorted((value, name, part) for name, (value, part) in least.items())


def _picture(one: Reading, values: Sequence[float], off: Sequence[float]) -> str:
    least, most = min(values), max(values)
    width = (most - least) or abs(most) or 1.0
    start = least if most > least else least - width / 2
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, int(_BINS * (value - start) / width))] += 1
    highest = max(counts)
    step = _WIDTH / _BINS
    room = _HEIGHT - _FOOT
    bars = "".join(
        f'<rect x="{at * step:.1f}" y="{room - height:.1f}" width="{step - 1:.1f}" '
        f'height="{height:.1f}"/>\n'
        for at, count in enumerate(counts)
        if count
        for height in [max(_LEAST_BAR, (room - 12) * count / highest)]
    )
    crosses = "".join(
        f"M{x - 3:.1f} {room - 9}l6 6M{x + 3:.1f} {room - 9}l-6 6"
        for value in off[:_BINS]
        for x in [_WIDTH * (value - start) / width]
    )
    marks = f'<path class="off" d="{crosses}"/>\n' if crosses else ""
    ends = (
        f'<text x="0" y="{_HEIGHT - 8}">{start / one.per:.4g} {escaped(one.unit)}'
        f'</text>\n<text x="{_WIDTH}" y="{_HEIGHT - 8}" text-anchor="end">'
        f"{(start + width) / one.per:.4g} {escaped(one.unit)}</text>\n"
    )
    label = escaped(f"distribution of {one.label[:_MOST_LABEL]}")
    return (
        f'<div class="scrolls"><svg class="histogram" role="img" aria-label="{label}" '
        f'viewBox="-6 0 {_WIDTH + 12} {_HEIGHT}">\n'
        f'{bars}<path class="grid" d="M0 {room}H{_WIDTH}"/>\n'
        f"{marks}{ends}</svg></div>\n"
    )
