"""What changed in a fleet since another day: the part of a report that says so."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.fleet.days import Changed, Grown, Growth, Since
from speccheck.validator.report.style import Style, counted, printable, wrap
from speccheck.validator.report.wording import shown_names

_MOST_CHANGES = 8
_MOST_COUNTERS = 6
_MOST_NODES = 3
_MOST_VALUE = 60
_DAY, _MOST_HOURS = 24.0, 72.0  # hours
_INDENT = "  "
_DEEPER = "    "
T = TypeVar("T")


def since_text(since: Since, style: Style, *, full: bool = False) -> Iterator[str]:
    """Yield the part, line by line."""
    title = f"since {printable(since.before)}{_between(since)}"
    yield f"\n{style.paint(title, 'bold')}\n"
    if not since.both:
        text = "no node is in both: nothing could be compared"
        yield style.paint(f"{_INDENT}{text}", "unknown") + "\n"
    yield from _names("came", since.came, "info", style, full=full)
    yield from _names("went", since.went, "error", style, full=full)
    for flipped in since.flipped:
        paint = "good" if flipped.now == "fit" else "error"
        words = style.paint(f"{flipped.before} -> {flipped.now}", paint)
        yield _on(words, flipped.hosts, style, full=full)
    yield from _cut(_alike(since.changed), _MOST_CHANGES, _changed, style, full=full)
    yield from _cut(_alike(since.lost), _MOST_CHANGES, _lost, style, full=full)
    yield from _cut(since.grown, _MOST_COUNTERS, _grown, style, full=full)
    if since.untold:
        leaves = "leaf" if len(since.untold) == 1 else "leaves"
        text = f"{len(since.untold)} {leaves} not compared on some nodes: one of the "
        text += "days has result lines, or variables were not read"
        yield style.paint(wrap(text, style.width, _INDENT), "dim") + "\n"
    if since.both and not any((since.flipped, since.changed, since.lost, since.grown)):
        yield f"{_INDENT}nothing else changed on {counted(since.both, 'node')}\n"


def _between(since: Since) -> str:
    if since.hours is None:
        return ""
    low, high = since.hours
    if since.is_backwards:
        return ", which is the NEWER one"
    unit, size = ("days", _DAY) if low >= _MOST_HOURS else ("h", 1.0)
    first, last = f"{low / size:.0f}", f"{high / size:.0f}"
    text = f"{first} {unit}" if first == last else f"{first} to {last} {unit}"
    return f", {text} ago"


def _names(
    word: str, names: tuple[str, ...], paint: str, style: Style, *, full: bool
) -> Iterator[str]:
    if names:
        text = f"{counted(len(names), 'node')} {word}"
        yield _on(style.paint(text, paint), names, style, full=full)


def _on(words: str, hosts: Sequence[str], style: Style, *, full: bool) -> str:
    """Return some words and the nodes that they are about."""
    names = printable(shown_names(hosts, full=full))
    return (
        f"{_INDENT}{words}\n{style.paint(wrap(names, style.width, _DEEPER), 'dim')}\n"
    )


def _cut(
    result: Sequence[T],
    most: int,
    lines: Callable[..., Iterator[str]],
    style: Style,
    *,
    full: bool,
) -> Iterator[str]:
    shown = result if full else result[:most]
    for item in shown:
        yield from lines(item, style, full=full)
    if len(shown) < len(result):
        text = f"{_INDENT}and {len(result) - len(shown):,} more: --full"
        yield style.paint(text, "dim") + "\n"


def _alike(changeds: Sequence[Changed]) -> list[Changed]:
    """Return the leaves that changed in the same way on the same nodes, as one."""
    leaves: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for changed in changeds:
        leaves.setdefault((changed.before, changed.now, changed.hosts), []).append(
            changed.leaf
        )
    return [
        Changed(", ".join(names), before, now, hosts)
        for (before, now, hosts), names in leaves.items()
    ]


def _value(text: str) -> str:
    shown = printable(hidden(text))
    return shown if len(shown) <= _MOST_VALUE else f"{shown[: _MOST_VALUE - 3]}..."


def _changed(changed: Changed, style: Style, *, full: bool) -> Iterator[str]:
    words = (
        f"{printable(changed.leaf)}  {_value(changed.before)} -> {_value(changed.now)}"
    )
    yield _on(_wrapped(words, style), changed.hosts, style, full=full)


def _wrapped(words: str, style: Style) -> str:
    """Return some words on as many lines as they need.

    Two spaces part leaf and values.
    """
    leaves, _, values = words.partition("  ")
    text = wrap(f"{leaves}: {values}", style.width, _INDENT)
    return text.removeprefix(_INDENT)


def _lost(changed: Changed, style: Style, *, full: bool) -> Iterator[str]:
    why = f"not known now: {_value(changed.now)}"
    words = f"{printable(changed.leaf)}  {_value(changed.before)} -> {why}"
    yield _on(_wrapped(words, style), changed.hosts, style, full=full)


def _grown(grown: Grown, style: Style, *, full: bool) -> Iterator[str]:
    paint = "error" if grown.is_grave else "warning"
    usual = f"+{grown.usual:,.6g} is usual"
    number = counted(len(grown.nodes), "node")
    words = style.paint(f"grew on {number} of {grown.of:,}", paint)
    yield f"{_INDENT}{printable(grown.leaf)}  {words}; {usual}\n"
    shown = grown.nodes if full else grown.nodes[:_MOST_NODES]
    for node in shown:
        yield f"{_DEEPER}{_growth(node)}\n"
    if len(shown) < len(grown.nodes):
        names = shown_names(
            [node.node for node in grown.nodes[len(shown) :]], full=False
        )
        text = f"and {printable(names)}"
        yield style.paint(wrap(text, style.width, _DEEPER), "dim") + "\n"


def _growth(growth: Growth) -> str:
    text = f"{printable(growth.node)}  +{growth.by:,.6g}"
    if growth.per_hour:
        text += f"  {growth.per_hour:,.3g} an hour"
    return text + ("  counts anew" if growth.began_anew else "")
