"""The findings of the text report: a block each, advice folded to a line."""

from collections.abc import Iterator, Sequence

from speccheck.validator.report.frame import frames
from speccheck.validator.report.merge_findings import Shown
from speccheck.validator.report.style import Style, printable, wrap
from speccheck.validator.report.subjects import folded_subjects

_ORDER = {"error": 0, "warning": 1, "info": 2}
_UNFOLDED_WARNINGS = 8
_UNFOLDED_INFOS = 0


def finding_blocks(
    shown: Sequence[Shown], style: Style, *, full: bool, many: bool
) -> Iterator[str]:
    """Errors first; beyond a screen of warnings, one line each unless `full`."""
    limits = {"warning": _UNFOLDED_WARNINGS, "info": _UNFOLDED_INFOS}
    counts = dict.fromkeys(_ORDER, 0)
    folded: list[Shown] = []
    for group in _by_cause(sorted(shown, key=lambda one: _ORDER[one.finding.level])):
        level = group[0].finding.level
        counts[level] += 1
        if full or counts[level] <= limits.get(level, len(shown)):
            yield _block(group, style, many=many)
        else:
            folded.extend(group)
    if folded:
        yield "\n".join(_folded(folded, style))


def _by_cause(ranked: Sequence[Shown]) -> list[list[Shown]]:
    """Findings of one level on the same places, or on the same unstated default.

    They say several things of one fact, so they share a block.
    """
    groups: dict[object, list[Shown]] = {}
    for one in ranked:
        places = tuple((at.file, at.key, at.line) for at in one.locations)
        key: object = (one.finding.level, places, one.finding.note, one.plan_name)
        if not places and not one.finding.note:
            key = id(one)
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def _folded(folded: Sequence[Shown], style: Style) -> Iterator[str]:
    for one in folded:
        finding = one.finding
        place = next((f"{at.file}:{at.line} " for at in one.locations if at.line), "")
        line = f"{finding.level} {finding.clause} {finding.rule}  {place}"
        line += printable(finding.message)
        if len(line) > style.width:
            line = line[: style.width - 3] + "..."
        yield style.paint(finding.level, finding.level) + line[len(finding.level) :]
    yield style.paint("  --full shows these with their places and remedies", "dim")


def _block(group: Sequence[Shown], style: Style, *, many: bool) -> str:
    first = group[0]
    lines = [line for one in group for line in _statement(one, style)]
    if first.subjects:
        lines.extend(_leaves(first, style))
    else:
        lines.extend(frames(first.locations, style))
    if many and not any(location.line for location in first.locations):
        lines.append(f"    in {first.plan_name}")
    if first.finding.note:
        lines.append(wrap(f"({printable(first.finding.note)})", style.width, "    "))
    lines.extend(_labelled(group, style))
    if any(one.proposals for one in group):
        # Seldom, and a module that the others do without.
        from speccheck.validator.report.proposal_text import (  # noqa: PLC0415
            proposal_lines,
        )

        lines.extend(proposal_lines(group, style))
    if first.repeats:
        lines.append(f"  also  {first.repeats:,} more of {first.plans:,} such plans")
    return "\n".join(lines)


def _statement(one: Shown, style: Style) -> Iterator[str]:
    finding = one.finding
    word = finding.level if finding.outcome == "fail" else "broken"
    head = f"{style.paint(word, finding.level)} {finding.clause} "
    of = f"  {folded_subjects(one.subjects)}" if one.subjects else ""
    yield head + style.paint(finding.rule or finding.title, "bold") + of
    yield wrap(printable(finding.message), style.width, "  ")


def _leaves(one: Shown, style: Style) -> Iterator[str]:
    """The leaves of a snapshot: nobody writes one, so that their lines help nobody."""
    keys: dict[str, list[str]] = {}
    for location in one.locations:
        keys.setdefault(location.file, []).append(location.key)
    for file, names in keys.items():
        yield wrap(f"{file} {', '.join(dict.fromkeys(names))}", style.width, "    ")


def _labelled(group: Sequence[Shown], style: Style) -> Iterator[str]:
    """One cost and one remedy: the last clause is the narrowest, its remedy too."""
    finding = group[-1].finding
    for label, text in (
        ("cost", finding.cost),
        ("do", finding.action or ""),
        ("fix", finding.remedy),
    ):
        if text:
            wrapped = wrap(printable(text), style.width, " " * 8)
            yield f"  {style.paint(label.ljust(5), 'dim')} {wrapped.lstrip()}"
