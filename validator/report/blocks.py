"""The findings of the text report: a block each, advice folded to a line."""

from collections.abc import Iterator, Sequence

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.frame import frames
from speccheck.validator.report.merge_findings import Shown
from speccheck.validator.report.node_text import (
    SECTIONS,
    is_leaf,
    section_of,
    section_title,
)
from speccheck.validator.report.style import Style, printable, wrap
from speccheck.validator.report.subjects import folded_subjects, with_numbers

_ORDER = {"error": 0, "warning": 1, "info": 2}
_UNFOLDED_WARNINGS = 8
_UNFOLDED_INFOS = 0


def finding_blocks(
    shown: Sequence[Shown], style: Style, *, full: bool, many: bool
) -> Iterator[str]:
    """Errors first; beyond a screen of warnings, one line each unless `full`.

    Those of a machine stand by its parts.
    """
    limits = {"warning": _UNFOLDED_WARNINGS, "info": _UNFOLDED_INFOS}
    counts = dict.fromkeys(_ORDER, 0)
    folded: list[Shown] = []
    for name, ranked in sections(shown):
        title = section_title(name, ranked, style) if name else ""
        blocks: list[str] = [title] if title else []
        for group in by_cause(ranked):
            level = group[0].finding.level
            counts[level] += 1
            if full or counts[level] <= limits.get(level, len(shown)):
                blocks.append(_block(group, style, many=many))
            else:
                folded.extend(group)
        if blocks != [title]:
            yield from blocks
    if folded:
        yield "\n".join(_folded(folded, style))


def sections(shown: Sequence[Shown]) -> Iterator[tuple[str, Sequence[Shown]]]:
    """The findings in the order of a report; by parts where a machine has some."""
    ranked = sorted(shown, key=lambda one: _ORDER[one.finding.level])
    if not any(one.subjects for one in ranked):
        yield "", ranked
        return
    by_section: dict[str, list[Shown]] = {name: [] for name in SECTIONS}
    for one in ranked:
        by_section[section_of(one)].append(one)
    for name, found in by_section.items():
        if found:
            yield name, found


def by_cause(ranked: Sequence[Shown]) -> list[list[Shown]]:
    """Findings of one level on the same places, or on the same unstated default.

    They say several things of one fact, so they share a block. Those of a machine do
    where one rule asks for one remedy.
    """
    groups: dict[object, list[Shown]] = {}
    for one in ranked:
        places = tuple((at.file, at.key, at.line) for at in one.locations)
        key: object = (one.finding.level, places, one.finding.note, one.plan_name)
        if one.subjects:
            key = one.finding._replace(
                message="", places=(), measured=None, required=None, subject=""
            )
        elif not places and not one.finding.note:
            key = id(one)
        groups.setdefault(key, []).append(one)
    return list(groups.values())


def _folded(folded: Sequence[Shown], style: Style) -> Iterator[str]:
    for one in folded:
        finding = one.finding
        place = next((f"{at.file}:{at.line} " for at in one.locations if at.line), "")
        if one.subjects:
            place = f"{folded_subjects(one.subjects)}: "
        line = f"{finding.level} {finding.clause} {finding.rule}{_of(finding)}  {place}"
        line += printable(finding.message)
        if len(line) > style.width:
            line = line[: style.width - 3] + "..."
        yield style.paint(finding.level, finding.level) + line[len(finding.level) :]
    yield style.paint("  --full shows these with their places and remedies", "dim")


def _block(group: Sequence[Shown], style: Style, *, many: bool) -> str:
    first = group[0]
    if first.subjects:
        lines = [
            *_statements_of_parts(group, style),
            *_evidence(group, style, many=many),
        ]
    else:
        lines = [line for one in group for line in _statement(one, style)]
        lines.extend(_frames(first, style))
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
    yield head + style.paint(finding.rule or finding.title, "bold") + _of(finding)
    yield wrap(printable(finding.message), style.width, "  ")


def _of(finding: Finding) -> str:
    """The edition that gave it, where that is not the one that counts."""
    return f" [edition {finding.edition}]" if finding.edition else ""


def _statements_of_parts(group: Sequence[Shown], style: Style) -> Iterator[str]:
    """What one rule says of parts of a machine, each thing with the parts it is of."""
    subjects = [subject for one in group for subject in one.subjects]
    (head, _) = _statement(group[0], style)
    yield f"{head}  {folded_subjects(subjects)}"
    for one in group:
        is_of_all = set(one.subjects) == {*subjects}
        of = "" if is_of_all else f"{folded_subjects(one.subjects)}: "
        yield wrap(of + printable(one.finding.message), style.width, "  ")


def _frames(one: Shown, style: Style) -> Iterator[str]:
    """Lines of files, and leaves of a snapshot by their names alone."""
    taken = tuple(at for at in one.locations if at.file in one.snapshots)
    written = tuple(at for at in one.locations if at not in taken)
    yield from frames(written, style)
    names = ", ".join(dict.fromkeys(at.key for at in taken))
    if names:
        yield _labelled_line("at", names, style)


def _evidence(group: Sequence[Shown], style: Style, *, many: bool) -> Iterator[str]:
    """Lines of the files of the job, and leaves of a snapshot by their names.

    Nobody writes a snapshot, so that lines of it help nobody.
    """
    first = group[0]
    locations = [at for one in group for at in one.locations]
    if section_of(first) == "job":
        written = tuple(at for at in locations if not is_leaf(at.key))
        yield from frames(written, style)
        locations = [at for at in locations if is_leaf(at.key)]
    files = dict.fromkeys(at.file for at in locations)
    for file in files:
        names = dict.fromkeys(at.key for at in locations if at.file == file)
        of = f"{file} " if many or len(files) > 1 else ""
        yield _labelled_line("at", of + ", ".join(names), style)


def _labelled(group: Sequence[Shown], style: Style) -> Iterator[str]:
    """One cost and one remedy: the last clause is the narrowest, its remedy too."""
    finding = group[-1].finding
    subjects = [subject for one in group for subject in one.subjects]
    for label, text in (
        ("cost", finding.cost),
        ("do", finding.action or ""),
        ("fix", with_numbers(finding.remedy, subjects)),
    ):
        if text:
            yield _labelled_line(label, printable(text), style)
    yield from _edits(group, style)


def _edits(group: Sequence[Shown], style: Style) -> Iterator[str]:
    """What --fix changes, in a line each."""
    for fix in dict.fromkeys(one.finding.fix for one in group):
        if fix is not None:
            by = "--fix" if fix.is_safe else "--fix --unsafe-fixes"
            text = printable(hidden(f"{fix.says} ({by} does it)"))
            yield _labelled_line("edit", text, style)


def _labelled_line(label: str, text: str, style: Style) -> str:
    wrapped = wrap(text, style.width, " " * 8)
    return f"  {style.paint(label.ljust(5), 'dim')} {wrapped.lstrip()}"
