"""What a history tells, as people read it: `speccheck history`."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from speccheck.validator.evidence.record import Record
from speccheck.validator.fleet.history.summary import Told
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


def history_text(told: Told, style: Style, *, full: bool = False) -> str:
    """The whole report."""
    lines = [*_head(told, style)]
    for table in _tables(told, style, full=full):
        if table.rows:
            lines += ["", style.paint(table.title, "bold")]
            lines += (f"  {row}" for row in table.rows)
        if table.more:
            lines.append(style.paint(f"  and {table.more:,} more: --full", "dim"))
    return "\n".join(lines) + "\n"


def _head(told: Told, style: Style) -> Iterator[str]:
    runs = told.runs
    what = printable(told.file)
    if told.node:
        what += f" {style.dot} {printable(told.node)}"
    if told.leaf:
        what += f" {style.dot} {printable(told.leaf)}"
    if not runs:
        yield f"{what} {style.dot} no run of that time"
        return
    span = f"{_day(runs[0].taken)} to {_day(runs[-1].taken)}"
    yield f"{what} {style.dot} {counted(len(runs), 'run')}, {span}"
    if any(run.is_synthetic for run in runs):
        text = "synthetic: some runs are of nodes that are no machines"
        yield style.paint(text, "warning")


def _tables(told: Told, style: Style, *, full: bool) -> Iterator[_Table]:
    if told.days:
        yield _node_days(told.days, style)
    elif not told.leaf:
        yield _cut("runs", [_run(one) for one in reversed(told.runs)], full=full)
        fit = [float(one.fit) for one in told.runs]
        if len(fit) > 1:
            yield _Table("fit nodes", (f"{spark(fit, style)}  {_ends(fit)}",))
        unfit = [f"{printable(n)}  {s}  {_short(why)}" for n, s, why in told.unfit]
        yield _cut("not fit now", unfit, full=full)
        yield _cut("what flipped", _flips(told.flips), full=full)
    of_one = bool(told.node)
    changes = [_change(one, of_one=of_one) for one in reversed(told.changes)]
    yield _cut("what changed", changes, full=full)
    grown = [_grown(one, style, of_one=of_one) for one in told.growth]
    yield _cut("counters that grew", grown, full=full)
    title = "numbers" if told.node else "numbers, medians of the fleet"
    yield _cut(title, [_number(one, style) for one in told.numbers], full=full)


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
        _SIGNS.get(one.state, _OTHER_SIGN)[0 if style.unicode else 1]
        for one in days[-_MOST_POINTS:]
    )
    rows = [f"{signs}  now {days[-1].state}"]
    before = ""
    for one in days:
        if one.state != before:
            why = f"  {_short(one.reason, _MOST_REASON)}" if one.reason else ""
            rows.append(f"{_day(one.taken)}  {one.state}{why}")
        before = one.state
    return _Table("verdicts", tuple(rows))


def _flips(flips: Sequence[Flip]) -> list[str]:
    """Those that flipped most often first, with the last time."""
    by_node: dict[str, list[Flip]] = {}
    for one in flips:
        by_node.setdefault(one.node, []).append(one)
    rows = sorted(by_node.items(), key=lambda pair: (-len(pair[1]), pair[0]))
    return [_flip(name, len(found), found[-1]) for name, found in rows]


def _flip(name: str, times: int, last: Flip) -> str:
    when = f"{counted(times, 'time')}, last {_day(last.taken)}"
    return f"{printable(name)}  {when}  {last.before} -> {last.now}"


def _change(one: ValueChange, *, of_one: bool) -> str:
    before = "" if one.before is None and one.nodes else f"{_value(one.before)} "
    text = f"{_day(one.taken)}  {printable(one.leaf)}  {before}-> {_value(one.now)}"
    if of_one:
        return text
    return f"{text}  on {_short(one.nodes) if one.nodes else 'most nodes'}"


def _value(text: str | None) -> str:
    if text is None:
        return "not told"
    if text.startswith("?"):
        return f"not known ({_short(text[1:])})"
    return _short(text.removeprefix("="))


def _short(text: str, most: int = _MOST_VALUE) -> str:
    shown = printable(text)
    return shown if len(shown) <= most else f"{shown[: most - 3]}..."


def _grown(one: CounterGrowth, style: Style, *, of_one: bool) -> str:
    node = "" if of_one else f"{printable(one.node)}  "
    rate = f"  {one.per_hour * 24:,.3g} a day" if one.per_hour else ""
    anew = "  began anew" if one.began_anew else ""
    bars = spark([value for _, value in one.points], style)
    return f"{node}{printable(one.leaf)}  {bars}  +{one.by:,.6g}{rate}{anew}"


def _number(one: NumberTrend, style: Style) -> str:
    values = [point.value for point in one.points]
    last = one.points[-1]
    ends = _ends(values, one.leaf)
    text = f"{printable(one.leaf)}  {spark(values, style)}  {ends}"
    if one.node:
        worst, usual = (_shown(one.leaf, o) for o in (last.worst, last.usual))
        return f"{text}; worst part {worst}; fleet {usual}"
    return text


def _ends(values: Sequence[float], leaf: str = "") -> str:
    first, last = _shown(leaf, values[0]), _shown(leaf, values[-1])
    return last if first == last else f"{first} -> {last}"


def _shown(leaf: str, value: float) -> str:
    """A number; of bytes in GiB, as people read them."""
    if leaf.endswith("_bytes"):
        return f"{value / 2**30:,.4g} GiB"
    return f"{value:,.4g}"


def spark(values: Iterable[float], style: Style) -> str:
    """Values as a line of bars, the newest ones where there are many."""
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
    return "".join(bars[round((one - low) * share)] for one in shown)


def _day(seconds: float) -> str:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return "at no time"
    return f"{moment:%Y-%m-%d %H:%M}"
