"""Pictures of a fleet: the map of its nodes, and how what they measured is spread.

On the map each node is one cell with its state, by colour and by a mark.

A cell costs thirty bytes, and what is said of a node is cut to what all of them may
cost, so that ten thousand nodes are a page of less than a megabyte.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from statistics import median

from speccheck.validator.comparison.outliers import OutlierReading, rates_of
from speccheck.validator.evidence.fleet import Samples
from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.run import FleetRun
from speccheck.validator.fleet.verdict import FleetVerdict, Unfit
from speccheck.validator.node.host_names import natural
from speccheck.validator.report.document import (
    Code,
    Division,
    Figure,
    Heading,
    Paragraph,
    Parts,
    note,
)
from speccheck.validator.report.fleet_text import fleet_groups
from speccheck.validator.report.forms.html_text import escaped
from speccheck.validator.report.style import counted
from speccheck.validator.report.write_html import html

_MOST_CELLS = 20_000
_MOST_CHARACTERS = 500_000  # characters, of all reasons together
_SHORTEST_REASON, _LONGEST_REASON = 24, 300
_LONGEST_NAME = 63  # as a host may be called
_BLOCK = 100
_FEW = 200  # nodes that need no blocks
_SHORT = 600  # nodes whose cells may be large
# Class, mark and words by state, the worst first; the marks are drawn by the sheet.
_STATES: dict[str, tuple[str, str]] = {
    "bug": ("b", "speccheck broke"),
    "no-go": ("x", "no-go"),
    "inconclusive": ("q", "inconclusive"),
    "usage": ("u", "without a verdict"),
    "unread": ("r", "unread"),
    "missing": ("m", "missing"),
    "warned": ("w", "fit, with a warning"),
    "fit": ("", "fit"),
}


class _Cell(Record):
    name: str
    state: str
    reason: str = ""


def map_html(run: FleetRun, verdict: FleetVerdict) -> str:
    """Return the map with its legend; empty without nodes."""
    cells = _cells(run, verdict)
    nameless = _nameless(run)
    if not cells and not nameless:
        return ""
    counts = dict.fromkeys(_STATES, 0)
    for cell in cells:
        counts[cell.state] += 1
    counts["missing"] += nameless
    shown = _shown(cells)
    shown += [_Cell("", "missing")] * min(nameless, _MOST_CELLS - len(shown))
    words = ", ".join(
        f"{counts[state]:,} {_STATES[state][1]}" for state in _STATES if counts[state]
    )
    total = len(cells) + nameless
    cut = ""
    if len(shown) < total:
        text = f"{len(shown):,} of {total:,} nodes are drawn, those that are not fit"
        cut = html(note(f"{text} first."))
    size = "large" if total <= _FEW else "middling" if total <= _SHORT else "small"
    label = escaped(f"map of {counted(total, 'node')}: {words}")
    blocks = "".join(_blocks(shown, total))
    return (
        f'{_legend(counts)}{cut}<div id="told" class="told" role="status"></div>\n'
        f'<div id="fleet-map" class="map {size}" role="img" aria-label="{label}" '
        f'tabindex="0">\n{blocks}</div>\n'
    )


def _cells(run: FleetRun, verdict: FleetVerdict) -> list[_Cell]:
    """Return a cell for each node that reported or that should have."""
    unfit = {unfit.name: unfit for unfit in verdict.unfit}
    warned = _warned(run)
    names = {node.name for node in run.nodes} | unfit.keys()
    room = _MOST_CHARACTERS // max(1, len(unfit) + len(warned.keys() - unfit.keys()))
    longest = max(_SHORTEST_REASON, min(_LONGEST_REASON, room))
    return [
        _cell(name, unfit.get(name), warned.get(name, ""), longest)
        for name in sorted(names, key=natural)
    ]


def _cell(name: str, unfit: Unfit | None, warned: str, longest: int) -> _Cell:
    if unfit is not None:
        return _Cell(name, unfit.state, _cut(_reasons(unfit), longest))
    if warned:
        return _Cell(name, "warned", _cut(warned, longest))
    return _Cell(name, "fit")


def _reasons(unfit: Unfit) -> str:
    return "; ".join(
        f"{reason.rule}: {reason.message}" if reason.rule else reason.message
        for reason in unfit.reasons[:4]
    )


def _cut(text: str, longest: int) -> str:
    """Return the text, cut so that it is no longer than that as markup."""
    length = len(escaped(text[: 2 * longest]))
    if len(text) <= 2 * longest and length <= longest:
        return text
    room = longest * min(len(text), 2 * longest) // length
    return f"{text[: min(room, longest) - 3]}..."


def _warned(run: FleetRun) -> dict[str, str]:
    """Return the rules that warn of each node."""
    result: dict[str, list[str]] = {}
    for group in fleet_groups(run, "fail"):
        if group.level == "warning" and not group.is_of_job:
            for name in group.hosts:
                result.setdefault(name, []).append(group.rule)
    return {name: ", ".join(rules) for name, rules in result.items()}


def _nameless(run: FleetRun) -> int:
    """Return the nodes that are expected by number, and did not report."""
    attendance = run.fleet.attendance
    if attendance.names:
        return 0
    reported = {node.name for node in run.nodes}
    reported |= {unread.node for unread in attendance.unread if unread.node}
    return max(0, (attendance.expected.value or 0) - len(reported))


def _shown(cells: Sequence[_Cell]) -> list[_Cell]:
    """Return all cells by name; of too many those that are not fit first."""
    if len(cells) <= _MOST_CELLS:
        return list(cells)
    order = list(_STATES)
    return sorted(cells, key=lambda cell: order.index(cell.state))[:_MOST_CELLS]


def _blocks(cells: Sequence[_Cell], total: int) -> Iterator[str]:
    size = len(cells) if total <= _FEW else _BLOCK
    for start in range(0, len(cells), size):
        block = cells[start : start + size]
        name = escaped(block[0].name[:_LONGEST_NAME]) or "not reported"
        label = f'<p class="label">{name}</p>' if total > _FEW else ""
        drawn = "".join(map(_drawn, block))
        yield f'<div class="block">{label}<div class="heat">{drawn}</div></div>\n'


def _drawn(cell: _Cell) -> str:
    """Return a cell; a pointer shows its title, and the filter reads it."""
    name = cell.name[:_LONGEST_NAME] or "a node that did not report"
    of_class, words = _STATES[cell.state]
    if not of_class:
        return f'<i title="{escaped(name)}"></i>'
    texts = f": {cell.reason}" if cell.reason else ""
    return f'<i class="{of_class}" title="{escaped(f"{name}: {words}{texts}")}"></i>'


def _legend(counts: Mapping[str, int]) -> str:
    items = "".join(
        f'<li><span class="heat"><i{_class(of_class)}></i></span> {words} '
        f"{counts[state]:,}</li>"
        for state, (of_class, words) in _STATES.items()
        if counts[state]
    )
    return f'<ul class="legend">{items}</ul>\n'


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


# --- What the nodes measured: how the values lie, and whose lie apart -----------------

_SLOWER = "slower_than_the_fleet"
_BINS = 60
_MOST_READINGS = 24
_MOST_NAMED = 8
_MOST_LABEL = 160
_PLOT_WIDTH, _PLOT_HEIGHT, _PLOT_FOOT = 720, 90, 26
_LEAST_BAR = 2  # pixels, so that one value among thousands is seen


def rates_parts(run: FleetRun) -> Iterator[Parts]:
    """Yield a distribution for each rate, those with outliers first.

    Nothing without.
    """
    slow = {
        name
        for group in fleet_groups(run, "fail")
        if group.rule == _SLOWER
        for name in group.hosts
    }
    drawn = [
        _reading(run, reading, samples, slow)
        for reading in rates_of(run.fleet, 0.0)
        for samples in [run.fleet.samples[reading.leaf]]
        if samples.values and all(map(isfinite, samples.values))
    ]
    drawn.sort(key=lambda each: -each[0])
    if drawn:
        words = " names; the height of a bar is the number of values."
        yield note("Crosses are the least values of nodes that ", Code(_SLOWER), words)
    yield from (division for _, division in drawn[:_MOST_READINGS])
    if len(drawn) > _MOST_READINGS:
        yield note(f"and {counted(len(drawn) - _MOST_READINGS, 'more rate')}")


def _reading(
    run: FleetRun, reading: OutlierReading, samples: Samples, slow: set[str]
) -> tuple[int, Division]:
    """Return how many nodes are slow, and the drawing."""
    values, per = samples.values, reading.per
    least, most, middle = min(values), max(values), median(values)
    off = _slowest(run, samples, slow, middle)
    named = ", ".join(
        f"{name} {value / per:.4g}"
        + (f" ({reading.part} {part})" if reading.part else "")
        for value, name, part in off[:_MOST_NAMED]
    )
    if len(off) > _MOST_NAMED:
        named += f" and {counted(len(off) - _MOST_NAMED, 'more node')}"
    unseen = len(samples.unseen)
    facts = (
        f"median {middle / per:.4g}, {least / per:.4g} to {most / per:.4g} "
        f"{reading.unit}, {len(values):,} values of "
        f"{counted(len(set(samples.nodes)), 'node')}"
        + (f"; {unseen:,} nodes do not tell it" if unseen else "")
    )
    body = (
        Heading(3, reading.label[:_MOST_LABEL]),
        Figure(_picture(reading, values, [value for value, _, _ in off])),
        note(facts),
        Paragraph(f"slow: {named}") if named else "",
    )
    return len(off), Division(body, "quantity")


def _slowest(
    run: FleetRun, samples: Samples, slow: set[str], middle: float
) -> list[tuple[float, str, int]]:
    """Return each slow node's least value below the median, with its part."""
    least: dict[str, tuple[float, int]] = {}
    for value, number, part in zip(
        samples.values, samples.nodes, samples.parts, strict=True
    ):
        name = run.nodes[number].name
        if name in slow and value < middle:
            least[name] = min(least.get(name, (value, part)), (value, part))
    return sorted((value, name, part) for name, (value, part) in least.items())


def _picture(
    reading: OutlierReading, values: Sequence[float], off: Sequence[float]
) -> str:
    least, most = min(values), max(values)
    width = (most - least) or abs(most) or 1.0
    start = least if most > least else least - width / 2
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, int(_BINS * (value - start) / width))] += 1
    highest = max(counts)
    step = _PLOT_WIDTH / _BINS
    room = _PLOT_HEIGHT - _PLOT_FOOT
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
        for x in [_PLOT_WIDTH * (value - start) / width]
    )
    marks = f'<path class="off" d="{crosses}"/>\n' if crosses else ""
    ends = (
        f'<text x="0" y="{_PLOT_HEIGHT - 8}">{start / reading.per:.4g} '
        f"{escaped(reading.unit)}"
        f'</text>\n<text x="{_PLOT_WIDTH}" y="{_PLOT_HEIGHT - 8}" text-anchor="end">'
        f"{(start + width) / reading.per:.4g} {escaped(reading.unit)}</text>\n"
    )
    label = escaped(f"distribution of {reading.label[:_MOST_LABEL]}")
    return (
        f'<div class="scrolls"><svg class="histogram" role="img" aria-label="{label}" '
        f'viewBox="-6 0 {_PLOT_WIDTH + 12} {_PLOT_HEIGHT}">\n'
        f'{bars}<path class="grid" d="M0 {room}H{_PLOT_WIDTH}"/>\n'
        f"{marks}{ends}</svg></div>\n"
    )
