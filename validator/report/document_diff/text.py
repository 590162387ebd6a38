"""Two certificates or reports side by side, as people read it."""

from collections.abc import Iterator, Sequence

from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.certificate_text import scale_of, shown
from speccheck.validator.report.document_diff.compared import (
    GROUPS,
    ComparedDocuments,
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


def document_diff_text(
    compared: ComparedDocuments, style: Style, *, full: bool = False
) -> str:
    """Return the whole report."""
    lines = [_side("A", compared.a, style), _side("B", compared.b, style)]
    if compared.kind == "certificate":
        text = "signatures are not verified here: speccheck verify knows whom to trust"
        lines.append(style.paint(wrap(text, style.width, ""), "dim"))
    of_names = [compared.a, compared.b]
    if any(of_name.synthetic for of_name in of_names):
        lines.append(style.paint("SYNTHETIC: this certifies nothing", "warning"))
    for group in GROUPS[:-1]:
        lines += _group(group, compared.notable, style, full=full)
    if full:
        lines += _group("varying", compared.varying, style, full=True)
    elif compared.varying:
        number = counted(len(compared.varying), "value")
        lines += ["", f"never the same twice, or within the spread: {number}; --full"]
    if compared.not_compared:
        lines.append("")
        lines += [
            wrap(printable(f"not compared: {item}"), style.width, "")
            for item in compared.not_compared
        ]
    lines += ["", _last(compared, style)]
    return "\n".join(lines) + "\n"


def _side(letter: str, side: Side, style: Style) -> str:
    parts = [side.file, side.name, side.created, f"speccheck {side.release}"]
    if side.synthetic:
        parts.append(f"synthetic: {side.synthetic}")
    text = f" {style.dot} ".join(part for part in parts if part)
    return wrap(printable(f"{letter}  {text}"), style.width, "")


def _group(
    group: Group, differences: Sequence[Difference], style: Style, *, full: bool
) -> Iterator[str]:
    rows = [difference for difference in differences if difference.group == group]
    if not rows:
        return
    yield ""
    is_verdict = group == "levels" and rows[0].subject in _OF_REPORTS
    yield style.paint("verdict" if is_verdict else _TITLES[group], "bold")
    kept = rows if full else rows[:_MOST_LINES]
    width = min(max(len(printable(difference.subject)) for difference in kept), _WIDEST)
    for difference in kept:
        yield from _lines(difference, width, style)
    if len(rows) > len(kept):
        yield style.paint(f"  and {len(rows) - len(kept):,} more: --full", "dim")


def _lines(difference: Difference, width: int, style: Style) -> Iterator[str]:
    subject = printable(difference.subject)
    result = _words(difference)
    ending = "  ends the validity" if difference.matters else ""
    marked = style.paint(ending, "warning")
    if len(subject) <= width and width + 4 + len(result + ending) <= style.width:
        yield f"  {subject:<{width}}  {style.paint(result, _paint(difference))}{marked}"
    else:
        yield f"  {subject}{marked}"
        for row in wrap(result, style.width, " " * 6).split("\n"):
            yield style.paint(row, _paint(difference))
    if difference.note and not difference.matters:
        text = _cut(printable(hidden(difference.note)), 4 * style.width)
        yield style.paint(wrap(text, style.width, " " * 6), "dim")


def _paint(difference: Difference) -> str:
    if difference.group == "clauses" and difference.b in _BAD:
        return "error"
    if difference.group == "clauses" and difference.b == "pass":
        return "good"
    return _PAINTS.get(difference.change, "warning")


def _words(difference: Difference) -> str:
    if difference.unit:
        return _of_number(difference)
    a, b = (_value(value) for value in (difference.a, difference.b))
    if difference.change == "came":
        return f"came: {b}"
    if difference.change == "went":
        return f"is gone: {a}"
    return f"{a} -> {b}"


def _of_number(difference: Difference) -> str:
    known = [
        float(value)
        for value in (difference.a, difference.b)
        if isinstance(value, int | float)
    ]
    scale, unit = scale_of(difference.unit, max(map(abs, known), default=0.0))
    numbers = [f"{shown(value, scale)} {unit}".strip() for value in known]
    if difference.change == "came":
        return f"came: {numbers[0]}"
    if difference.change == "went":
        return f"is gone: {numbers[0]}"
    by = "" if difference.by is None else f"  {difference.by:+.1%}"
    return f"{shown(known[0], scale)} -> {numbers[1]}{by}"


def _value(value: object) -> str:
    if value is None:
        return "not told"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return _cut(printable(hidden(str(value))), _MOST_VALUE)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _last(compared: ComparedDocuments, style: Style) -> str:
    of = f"{compared.compared:,} clauses, fields, numbers and files are in both"
    if compared.kind == "certificate":
        of = f"{compared.compared:,} clauses, fields and numbers are in both"
    if compared.verdict == "nothing_compared":
        return style.paint("NOTHING COMPARED: nothing is in both", "unknown")
    if compared.verdict == "same":
        return style.paint(f"the same: {of}", "good")
    words = counted(len(compared.notable), "difference")
    return style.paint(f"{words}; {of}", "warning")
