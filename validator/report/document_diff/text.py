"""Two certificates or reports side by side, as people read it."""

from collections.abc import Iterator, Sequence

from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.certificate_text import scale_of, shown
from speccheck.validator.report.document_diff.compared import (
    GROUPS,
    Compared,
    Difference,
    Group,
    Side,
)
from speccheck.validator.report.style import Style, counted, printable, wrap

_TITLES: dict[Group, str] = {
    "levels": "levels",
    "clauses": "clauses",
    "coverage": "coverage",
    "judged_by": "judged by",
    "waivers": "waivers",
    "identity": "identity of the machines",
    "numbers": "numbers beyond their spread",
    "specimens": "machines looked at",
    "evidence": "evidence",
    "varying": "never the same twice, and numbers within their spread",
}
_MOST_LINES = 12  # of one group, without --full
_MOST_VALUE = 60  # characters of a value
_WIDEST = 34  # of the names
_PAINTS = {"fell": "error", "went": "error", "rose": "good"}
_OF_REPORTS = frozenset({"verdict", "exit code"})
_BAD = frozenset({"fail", "error"})


def document_diff_text(found: Compared, style: Style, *, full: bool = False) -> str:
    """The whole report."""
    lines = [_side("A", found.a, style), _side("B", found.b, style)]
    if found.kind == "certificate":
        told = "signatures are not verified here: speccheck verify knows whom to trust"
        lines.append(style.paint(wrap(told, style.width, ""), "dim"))
    of_names = [found.a, found.b]
    if any(one.synthetic for one in of_names):
        lines.append(style.paint("SYNTHETIC: this certifies nothing", "warning"))
    for group in GROUPS[:-1]:
        lines += _group(group, found.notable, style, full=full)
    if full:
        lines += _group("varying", found.varying, style, full=True)
    elif found.varying:
        number = counted(len(found.varying), "value")
        lines += ["", f"never the same twice, or within the spread: {number}; --full"]
    if found.not_compared:
        lines.append("")
        lines += [
            wrap(printable(f"not compared: {one}"), style.width, "")
            for one in found.not_compared
        ]
    lines += ["", _last(found, style)]
    return "\n".join(lines) + "\n"


def _side(letter: str, side: Side, style: Style) -> str:
    parts = [side.file, side.name, side.created, f"speccheck {side.release}"]
    if side.synthetic:
        parts.append(f"synthetic: {side.synthetic}")
    told = f" {style.dot} ".join(one for one in parts if one)
    return wrap(printable(f"{letter}  {told}"), style.width, "")


def _group(
    group: Group, differences: Sequence[Difference], style: Style, *, full: bool
) -> Iterator[str]:
    rows = [one for one in differences if one.group == group]
    if not rows:
        return
    yield ""
    is_verdict = group == "levels" and rows[0].subject in _OF_REPORTS
    yield style.paint("verdict" if is_verdict else _TITLES[group], "bold")
    kept = rows if full else rows[:_MOST_LINES]
    width = min(max(len(printable(one.subject)) for one in kept), _WIDEST)
    for one in kept:
        yield from _lines(one, width, style)
    if len(rows) > len(kept):
        yield style.paint(f"  and {len(rows) - len(kept):,} more: --full", "dim")


def _lines(one: Difference, width: int, style: Style) -> Iterator[str]:
    subject = printable(one.subject)
    told = _words(one)
    ending = "  ends the validity" if one.matters else ""
    marked = style.paint(ending, "warning")
    if len(subject) <= width and width + 4 + len(told + ending) <= style.width:
        yield f"  {subject:<{width}}  {style.paint(told, _paint(one))}{marked}"
    else:
        yield f"  {subject}{marked}"
        for row in wrap(told, style.width, " " * 6).split("\n"):
            yield style.paint(row, _paint(one))
    if one.note and not one.matters:
        text = _cut(printable(hidden(one.note)), 4 * style.width)
        yield style.paint(wrap(text, style.width, " " * 6), "dim")


def _paint(one: Difference) -> str:
    if one.group == "clauses" and one.b in _BAD:
        return "error"
    if one.group == "clauses" and one.b == "pass":
        return "good"
    return _PAINTS.get(one.change, "warning")


def _words(one: Difference) -> str:
    if one.unit:
        return _of_number(one)
    a, b = (_value(value) for value in (one.a, one.b))
    if one.change == "came":
        return f"came: {b}"
    if one.change == "went":
        return f"is gone: {a}"
    return f"{a} -> {b}"


def _of_number(one: Difference) -> str:
    known = [float(value) for value in (one.a, one.b) if isinstance(value, int | float)]
    scale, unit = scale_of(one.unit, max(map(abs, known), default=0.0))
    numbers = [f"{shown(value, scale)} {unit}".strip() for value in known]
    if one.change == "came":
        return f"came: {numbers[0]}"
    if one.change == "went":
        return f"is gone: {numbers[0]}"
    by = "" if one.by is None else f"  {one.by:+.1%}"
    return f"{shown(known[0], scale)} -> {numbers[1]}{by}"


def _value(value: object) -> str:
    if value is None:
        return "not told"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _cut(printable(hidden(str(value))), _MOST_VALUE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _last(found: Compared, style: Style) -> str:
    of = f"{found.compared:,} clauses, fields, numbers and files are in both"
    if found.kind == "certificate":
        of = f"{found.compared:,} clauses, fields and numbers are in both"
    if found.verdict == "nothing_compared":
        return style.paint("NOTHING COMPARED: nothing is in both", "unknown")
    if found.verdict == "same":
        return style.paint(f"the same: {of}", "good")
    words = counted(len(found.notable), "difference")
    return style.paint(f"{words}; {of}", "warning")
