"""What a history tells, as people read it: `speccheck history`."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.history.summary import HistorySummary
from speccheck.validator.fleet.history.trends import (
    CounterGrowth,
    Flip,
    NodeDay,
    NumberTrend,
    RunRow,
    ValueChange,
)
from speccheck.validator.report.style import Style, counted, printable

_BARS = "▁▂▃▄▅▆▇█"
_PLAIN_BARS = "_.-=+*#@"
_MOST_POINTS = 40
_FLAT = 0.1
_MOST_ROWS = 10
_MOST_VALUE = 48
_MOST_REASON = 160
_SIGNS = {"fit": ("·", "."), "no-go": ("✗", "x"), "missing": ("-", "-")}
_OTHER_SIGN = ("?", "?")


class _Table(Record):
    """Rows of one part; more: how many are not shown."""

    title: str
    rows: tuple[str, ...]
    more: int = 0


def history_text(result: HistorySummary, style: Style, *, full: bool = False) -> str:
    """Return the whole report."""
    lines = [*_head(result, style)]
    for table in _tables(result, style, full=full):
        if table.rows:
            lines += ["", style.paint(table.title, "bold")]
            lines += (f"  {row}" for row in table.rows)
        if table.more:
            lines.append(style.paint(f"  and {table.more:,} more: --full", "dim"))
    return "\n".join(lines) + "\n"


def _head(result: HistorySummary, style: Style) -> Iterator[str]:
    runs = result.runs
    what = printable(result.file)
    if result.node:
        what += f" {style.dot} {printable(result.node)}"
    if result.leaf:
        what += f" {style.dot} {printable(result.leaf)}"
    if not runs:
        yield f"{what} {style.dot} no run of that time"
        return
    span = f"{_day(runs[0].taken)} to {_day(runs[-1].taken)}"
    yield f"{what} {style.dot} {counted(len(runs), 'run')}, {span}"
    if any(run.is_synthetic for run in runs):
        text = "synthetic: some runs are of nodes that are no machines"
        yield style.paint(text, "warning")


def _tables(result: HistorySummary, style: Style, *, full: bool) -> Iterator[_Table]:
    if result.days:
        yield _node_days(result.days, style)
    elif not result.leaf:
        yield _cut("runs", [_run(run) for run in reversed(result.runs)], full=full)
        fit = [float(run.fit) for run in result.runs]
        if len(fit) > 1:
            yield _Table("fit nodes", (f"{spark(fit, style)}  {_ends(fit)}",))
        unfit = [f"{printable(n)}  {s}  {_short(why)}" for n, s, why in result.unfit]
        yield _cut("not fit now", unfit, full=full)
        yield _cut("what flipped", _flips(result.flips), full=full)
    of_one = bool(result.node)
    changes = [_change(change, of_one=of_one) for change in reversed(result.changes)]
    yield _cut("what changed", changes, full=full)
    grown = [
        _grown(counter_growth, style, of_one=of_one) for counter_growth in result.growth
    ]
    yield _cut("counters that grew", grown, full=full)
    title = "numbers" if result.node else "numbers, medians of the fleet"
    yield _cut(title, [_number(number, style) for number in result.numbers], full=full)


def _cut(title: str, rows: Sequence[str], *, full: bool) -> _Table:
    shown = rows if full else rows[:_MOST_ROWS]
    return _Table(title, tuple(shown), len(rows) - len(shown))


def _run(run: RunRow) -> str:
    job = f"  job {printable(run.job)}" if run.job else ""
    return (
        f"{_day(run.taken)}  {run.verdict:<12}  {run.fit:,} of {run.nodes:,} fit{job}"
    )


def _node_days(days: Sequence[NodeDay], style: Style) -> _Table:
    signs = "".join(
        _SIGNS.get(day.state, _OTHER_SIGN)[0 if style.unicode else 1]
        for day in days[-_MOST_POINTS:]
    )
    rows = [f"{signs}  now {days[-1].state}"]
    before = ""
    for day in days:
        if day.state != before:
            why = f"  {_short(day.reason, _MOST_REASON)}" if day.reason else ""
            rows.append(f"{_day(day.taken)}  {day.state}{why}")
        before = day.state
    return _Table("verdicts", tuple(rows))


def _flips(flips: Sequence[Flip]) -> list[str]:
    """Return those that flipped most often first, with the last time."""
    by_node: dict[str, list[Flip]] = {}
    for flip in flips:
        by_node.setdefault(flip.node, []).append(flip)
    rows = sorted(by_node.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return [_flip(name, len(flips), flips[-1]) for name, flips in rows]


def _flip(name: str, times: int, last: Flip) -> str:
    when = f"{counted(times, 'time')}, last {_day(last.taken)}"
    return f"{printable(name)}  {when}  {last.before} -> {last.now}"


def _change(value_change: ValueChange, *, of_one: bool) -> str:
    before = (
        ""
        if value_change.before is None and value_change.nodes
        else f"{_value(value_change.before)} "
    )
    text = (
        f"{_day(value_change.taken)}  {printable(value_change.leaf)}  "
        f"{before}-> {_value(value_change.now)}"
    )
    if of_one:
        return text
    return (
        f"{text}  on "
        f"{_short(value_change.nodes) if value_change.nodes else 'most nodes'}"
    )


def _value(text: str | None) -> str:
    if text is None:
        return "not told"
    if text.startswith("?"):
        return f"not known ({_short(text[1:])})"
    return _short(text.removeprefix("="))


def _short(text: str, most: int = _MOST_VALUE) -> str:
    shown = printable(text)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def _grown(counter_growth: CounterGrowth, style: Style, *, of_one: bool) -> str:
    node = "" if of_one else f"{printable(counter_growth.node)}  "
    rate = (
        f"  {counter_growth.per_hour * 24:,.3g} a day"
        if counter_growth.per_hour
        else ""
    )
    anew = "  began anew" if counter_growth.began_anew else ""
    bars = spark([value for _, value in counter_growth.points], style)
    return (
        f"{node}{printable(counter_growth.leaf)}  {bars}  "
        f"+{counter_growth.by:,.6g}{rate}{anew}"
    )


def _number(number_trend: NumberTrend, style: Style) -> str:
    values = [point.value for point in number_trend.points]
    last = number_trend.points[-1]
    ends = _ends(values, number_trend.leaf)
    text = f"{printable(number_trend.leaf)}  {spark(values, style)}  {ends}"
    if number_trend.node:
        worst, usual = (
            _shown(number_trend.leaf, value) for value in (last.worst, last.usual)
        )
        return f"{text}; worst part {worst}; fleet {usual}"
    return text


def _ends(values: Sequence[float], leaf: str = "") -> str:
    first, last = _shown(leaf, values[0]), _shown(leaf, values[-1])
    return last if first == last else f"{first} -> {last}"


def _shown(leaf: str, value: float) -> str:
    """Return a number; of bytes in GiB, as people read them."""
    if leaf.endswith("_bytes"):
        return f"{value / 2**30:,.4g} GiB"
    return f"{value:,.4g}"


def spark(values: Iterable[float], style: Style) -> str:
    """Return the values as a line of bars, the newest ones where there are many."""
    shown = [*values][-_MOST_POINTS:]
    bars = _BARS if style.unicode else _PLAIN_BARS
    if not shown:
        return ""
    low, high = min(shown), max(shown)
    # What swings by less than that is flat, and not drawn as if it were mountains.
    height = max(high - low, _FLAT * max(abs(low), abs(high)))
    if height <= 0:
        return bars[0] * len(shown)
    share = (len(bars) - 1) / height
    return "".join(bars[round((value - low) * share)] for value in shown)


def _day(seconds: float) -> str:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return "at no time"
    return f"{moment:%Y-%m-%d %H:%M}"
