"""The comparison of two snapshots as people read it: `speccheck diff`."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from speccheck.validator.comparison.snapshots import (
    Comparison,
    LeafDifference,
    NoValue,
    SnapshotSide,
)
from speccheck.validator.evidence.node.changes import Group
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.style import Style, counted, printable, wrap

_TITLES: dict[Group, str] = {
    "identity": "identity and software",
    "topology": "topology",
    "health": "health",
    "settings": "limits and settings",
    "measurements": "measurements",
    "varying": "never the same twice",
}
_ANSWERS = {"one": "one machine", "two": "two machines", "not_known": "not known"}
_MOST_VALUE = 48  # characters of a value on a line
_MOST_ELEMENTS = 4
_MOST_PARTS = 3
_MOST_LINES = 8  # of one leaf, without --full
_MOST_NAMES = 6
_MINUTE = 1 / 60  # hours


class _Row(Record):
    """Differences that are said in the same words, with the parts that have them."""

    leaf: str
    words: str
    tail: str
    paint: str
    parts: tuple[str, ...]


def diff_text(comparison: Comparison, style: Style, *, full: bool = False) -> str:
    """Return the whole report."""
    lines = [*_head(comparison, style), *_groups(comparison, style, full=full)]
    lines += _rest(comparison, style, full=full)
    lines += ["", _last(comparison, style)]
    return "\n".join(lines) + "\n"


def value_text(value: object) -> str:
    """Return a value on one line, without secrets or what a terminal would obey."""
    return printable(hidden(_plain(value)))


def _plain(value: object) -> str:
    if isinstance(value, NoValue):
        return value.reason
    if value is None or isinstance(value, bool):
        return {None: "not known", True: "yes", False: "no"}[value]
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:,.6g}"
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "none"
    if isinstance(value, dict):
        return str(value.get("status", "not known")).replace("_", " ")
    return str(value) or '""'


def _head(comparison: Comparison, style: Style) -> Iterator[str]:
    width = max(len(printable(side.file)) for side in (comparison.a, comparison.b))
    yield _side("A", comparison.a, width)
    later = "" if comparison.hours is None else f", {_later(comparison.hours)}"
    yield _side("B", comparison.b, width) + later
    words = (
        f"{_ANSWERS[comparison.machine.answer]}: {printable(comparison.machine.reason)}"
    )
    if comparison.machine.answer == "not_known":
        words = f"whether it is one machine is {words}"
    if comparison.was_restarted:
        words += "; restarted in between"
    yield wrap(words, style.width, "")
    is_backwards = comparison.hours is not None and comparison.hours < 0
    if is_backwards and comparison.machine.answer != "two":
        yield "B is the older one: give it first, and counters show how they grew"


def _side(letter: str, side: SnapshotSide, width: int) -> str:
    words = [f"{letter}  {printable(side.file):<{width}}", printable(side.name)]
    if side.taken is not None:
        words.append(f"taken {_moment(side.taken)}")
    if side.is_synthetic:
        words.append("SYNTHETIC: no machine")
    if side.release:
        words.append(f"by speccheck {printable(side.release)}")
    return "  ".join(words)


def _moment(seconds: float) -> str:
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return "at no time"
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _later(hours: float) -> str:
    word = "later" if hours >= 0 else "EARLIER"
    size = abs(hours)
    if size < _MINUTE:
        return "at the same time"
    if size < 1:
        return f"{size * 60:.0f} min {word}"
    return f"{size:.0f} h {word}" if size < 72 else f"{size / 24:.0f} days {word}"  # noqa: PLR2004


def _groups(comparison: Comparison, style: Style, *, full: bool) -> Iterator[str]:
    groups: dict[Group, list[LeafDifference]] = {}
    for difference in comparison.notable:
        groups.setdefault(difference.group, []).append(difference)
    for group, differences in groups.items():
        yield ""
        yield style.paint(_TITLES[group], "bold")
        yield from _lines(differences, style, full=full)


def _lines(
    differences: Sequence[LeafDifference], style: Style, *, full: bool
) -> Iterator[str]:
    rows = _rows(differences)
    width = min(max(len(row.leaf) for row in rows), 40)
    by_leaf: dict[str, list[_Row]] = {}
    for row in rows:
        by_leaf.setdefault(row.leaf, []).append(row)
    for leaf, several in by_leaf.items():
        shown = several if full else several[:_MOST_LINES]
        for row in shown:
            yield _line(row, leaf, width, style)
        if left := sum(len(row.parts) for row in several[len(shown) :]):
            yield f"  {'':<{width}}  and {counted(left, 'part')} more: --full"


def _line(row: _Row, leaf: str, width: int, style: Style) -> str:
    words = style.paint(row.words, row.paint)
    texts = [f"  {printable(leaf):<{width}}", words]
    if row.tail:
        texts.append(row.tail)
    if any(row.parts):
        known = [printable(part) for part in row.parts if part]
        shown = ", ".join(known[:_MOST_PARTS])
        if len(known) > _MOST_PARTS:
            shown = f"{known[0]} and {len(known) - 1} more"
        texts.append(style.paint(f"({shown})", "dim"))
    return "  ".join(texts)


def _rows(differences: Iterable[LeafDifference]) -> list[_Row]:
    """Return the differences with the same words as one, fastest counters first."""
    by_words: dict[tuple[str, str, str, str], list[str]] = {}
    for difference in sorted(differences, key=_weight):
        words, tail = _words(difference)
        key = difference.leaf, words, tail, _PAINTS[difference.change]
        by_words.setdefault(key, []).append(difference.part)
    return [_Row(*key, tuple(parts)) for key, parts in by_words.items()]


_PAINTS = {
    "changed": "warning",
    "came": "warning",
    "went": "error",
    "grew": "error",
    "fell": "info",
    "not_known": "unknown",
}


def _weight(difference: LeafDifference) -> tuple[bool, float]:
    return difference.change != "grew", -(difference.by or 0.0)


def _words(difference: LeafDifference) -> tuple[str, str]:
    """Return what is said of a difference, and what follows it."""
    tail = difference.note
    if difference.change in {"came", "went"}:
        result = difference.b if difference.change == "came" else difference.a
        if difference.group == "health" and isinstance(result, int):
            return f"{difference.change}, {counted(result, 'time')}", tail
        return difference.change, tail
    if isinstance(difference.a, list) and isinstance(difference.b, list):
        words = _of_lists(difference.a, difference.b)
    else:
        words = f"{_short(difference.a)} -> {_short(difference.b)}"
    if difference.change in {"grew", "fell"} and difference.by is not None:
        words = f"{words}  {difference.by:+,.6g}"
        if difference.per_hour:
            tail = f"{difference.per_hour:,.3g} an hour"
    elif difference.by is not None:
        tail = f"{difference.by:+.1%}"
    if difference.change == "not_known":
        words += "  (compared with nothing)"
    return words, printable(tail)


def _short(value: object) -> str:
    text = value_text(value)
    return text if len(text) <= _MOST_VALUE else f"{text[: _MOST_VALUE - 3]}..."


def _of_lists(a: list[object], b: list[object]) -> str:
    """Return what differs between two lists, by number or, of texts, by what is new."""
    if all(isinstance(item, str) for item in (*a, *b)):
        words = [f"+{_short(item)}" for item in b if item not in a]
        words += [f"-{_short(item)}" for item in a if item not in b]
        return _few(words) if words else "in another order"
    if len(a) != len(b):
        return f"{len(a)} -> {len(b)} of them"
    pairs = enumerate(zip(a, b, strict=True))
    words = [
        f"[{number}] {_short(item)} -> {_short(other)}"
        for number, (item, other) in pairs
        if item != other and item is not None and other is not None
    ]
    return _few(words)


def _few(words: Sequence[str]) -> str:
    more = len(words) - _MOST_ELEMENTS
    text = ", ".join(words[:_MOST_ELEMENTS])
    return f"{text}, {more} more" if more > 0 else text


def _rest(comparison: Comparison, style: Style, *, full: bool) -> Iterator[str]:
    """Yield what is never the same twice, and what could not be compared."""
    varying = comparison.varying
    if varying and full:
        yield ""
        yield style.paint(_TITLES["varying"], "bold")
        yield from _lines(varying, style, full=full)
    elif varying:
        leaves = [
            *dict.fromkeys(difference.leaf.rpartition(".")[2] for difference in varying)
        ]
        names = ", ".join(printable(leaf) for leaf in leaves[:_MOST_NAMES])
        more = ", ..." if len(leaves) > _MOST_NAMES else ""
        yield ""
        number = "1 leaf" if len(varying) == 1 else f"{len(varying):,} leaves"
        text = f"never the same twice: {number} ({names}{more}); --full"
        yield wrap(text, style.width, "")
    if comparison.not_compared:
        yield ""
        by_reason: dict[str, list[str]] = {}
        for not_compared in comparison.not_compared:
            by_reason.setdefault(not_compared.reason, []).append(
                f"{not_compared.leaf} ({not_compared.parts})"
            )
        for reason, leaves in by_reason.items():
            yield wrap(f"not compared: {', '.join(leaves)}: {reason}", style.width, "")


def _last(comparison: Comparison, style: Style) -> str:
    of = f"of {comparison.compared:,} leaves that both tell"
    if comparison.verdict == "nothing_compared":
        return style.paint("NOTHING COMPARED: no leaf has a value in both", "unknown")
    if comparison.verdict == "same":
        return style.paint(f"the same: none {of} differs, but what always does", "good")
    number = len(comparison.notable)
    words = "one difference" if number == 1 else f"{number:,} differences"
    return style.paint(f"{words}, {of}", "warning")
