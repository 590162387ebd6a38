"""The findings of the text report: a block each, advice folded to a line."""

from collections.abc import Iterator, Sequence

from speccheck.validator.engine.locate import Location
from speccheck.validator.evidence.finding import Action, Finding
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.merge_findings import Shown
from speccheck.validator.report.style import Style, counted, printable, wrap
from speccheck.validator.report.wording import folded_subjects, with_numbers

MOST_FRAMES = 4


def frames(locations: Sequence[Location], style: Style) -> Iterator[str]:
    """The frames of all locations of a finding, file by file, the first few in full."""
    framed = [one for one in locations if one.line]
    shown = framed[:MOST_FRAMES]
    digits = max((len(str(one.line)) for one in shown), default=1)
    file = ""
    for number, location in enumerate(shown):
        if location.file != file:
            file = location.file
            yield f"    {file}:{location.line}:{location.column}"
        yield from _frame(location, label_of(number, len(framed)), digits, style)
    if len(framed) > MOST_FRAMES:
        yield wrap(
            f"also at {_elsewhere(framed[MOST_FRAMES:], file)}", style.width, "    "
        )
    without_line: dict[str, list[str]] = {}
    for location in locations:
        if not location.line and location.file:
            without_line.setdefault(location.file, []).append(location.key)
    for name, keys in without_line.items():
        yield wrap(f"{name} {', '.join(keys)}".rstrip(), style.width, "    ")


def label_of(number: int, count: int) -> str:
    """What stands beside the caret of one of several places."""
    if count == 1:
        return ""
    return "stated here" if number == 0 else "and here"


def _elsewhere(locations: Sequence[Location], file: str) -> str:
    """`lines 4 and 7, other.json:2`, cut after a few."""
    here = [str(one.line) for one in locations if one.file == file]
    there = [f"{one.file}:{one.line}" for one in locations if one.file != file]
    parts = [f"line {line}" for line in here] + there
    if len(parts) > MOST_FRAMES + 1:
        rest = len(parts) - MOST_FRAMES
        return ", ".join(parts[:MOST_FRAMES]) + f" and {rest} more places"
    return ", ".join(parts)


def _frame(location: Location, label: str, digits: int, style: Style) -> Iterator[str]:
    bar = style.paint("|", "dim")
    width = style.width - digits - 8
    text, start = window(location, width)
    room = width - start - len(f" {label}".rstrip())
    caret = "^" * max(1, min(marked_length(location), len(text) - start, room))
    yield f"     {style.paint(f'{location.line:>{digits}}', 'dim')} {bar} {text}"
    pointer = style.paint(f"{caret} {label}".rstrip(), "warning")
    yield f"     {' ' * digits} {bar} {' ' * start}{pointer}"


def marked_length(location: Location) -> int:
    """How long the marked text is as it is shown: control characters take more."""
    start = location.column - 1
    return len(printable(location.text[start : start + location.length]))


def window(location: Location, width: int) -> tuple[str, int]:
    """The part of a line that shows the marked text, and where that begins in it."""
    before = printable(location.text[: location.column - 1])
    marked = printable(location.text[location.column - 1 :])
    cut = max(0, len(before) - width // 2) if len(before) + len(marked) > width else 0
    text = (before[cut:] + marked)[:width]
    return text, len(before) - cut


# The one that takes most out of service first.
_ACTIONS: tuple[Action, ...] = (
    "ISOLATE",
    "SUPPORT",
    "REBOOT",
    "RESET_GPU",
    "FIX_CONFIG",
    "MONITOR",
)
_JOB, _NODE, _GPUS, _NETWORK = SECTIONS = ("job", "node", "GPUs", "network")
_OF_GPU = "GPU "
_MOST_MACHINES = 8
_SECTION_OF_KIND = {
    "gpus": _GPUS,
    "rdma_devices": _NETWORK,
    "rdma_ports": _NETWORK,
    "network_interfaces": _NETWORK,
    "pci_devices": _NODE,
    "host": _NODE,
    "driver": _NODE,
    "kernel_log": _NODE,
    "kernel_events": _NODE,
    "variables": _NODE,
}


def section_of(one: Shown) -> str:
    """The part of the report in which a finding stands: by what is to be mended.

    One that names a file of the job is mended there, whatever the machine has to do
    with it.
    """
    if not one.subjects:
        return _JOB
    if all(subject.startswith(_OF_GPU) for subject in one.subjects):
        return _GPUS
    sections = [_SECTION_OF_KIND.get(_kind(at.key), _JOB) for at in one.locations]
    if _JOB in sections:
        return _JOB
    return sections[0] if sections else _NODE


def is_leaf(key: str) -> bool:
    """Whether a place is a leaf of a snapshot, and in no file of the job."""
    return _kind(key) in _SECTION_OF_KIND


def _kind(key: str) -> str:
    return key.partition(".")[0].partition("[")[0]


def section_title(section: str, shown: Sequence[Shown], style: Style) -> str:
    """The heading of a part, with what was found in it."""
    title = f"{section}: {section_counts(shown)}"
    line = ("\u2500" if style.unicode else "-") * 2
    return f"{line} {style.paint(title, 'bold')} {line}"


def section_counts(shown: Sequence[Shown]) -> str:
    """How much was found in a part, by level."""
    levels = [one.finding.level for one in shown for _ in one.subjects or ("job",)]
    counts = [
        counted(levels.count(level), level)
        for level in ("error", "warning")
        if level in levels
    ]
    infos = levels.count("info")
    counts += [f"{infos} info"] if infos else []
    return ", ".join(counts)


def what_to_do(shown: Sequence[Shown], style: Style, *, many: bool) -> str:
    """One line for each kind of action, with the parts that need it and why."""
    lines: list[str] = []
    for action, reasons in actions(shown, many=many):
        told = "; ".join(f"{parts}: {', '.join(rules)}" for parts, rules in reasons)
        text = wrap(told, style.width, " " * 14).lstrip()
        lines.append(f"  {style.paint(action.ljust(11), 'bold')} {text}")
    return "\n".join(lines)


def actions(
    shown: Sequence[Shown], *, many: bool
) -> Iterator[tuple[Action, list[tuple[str, list[str]]]]]:
    """Each kind of action with the parts that need it, and the rules that say so.

    Of many machines it is these that are named.
    """
    for action in _ACTIONS:
        found = [one for one in shown if _asks_for(one, action)]
        if not found:
            continue
        why: dict[str, dict[str, None]] = {}
        for parts, rule in _rules_of_machines(found) if many else _rules(found):
            why.setdefault(parts, {})[rule] = None
        yield action, [(parts, list(rules)) for parts, rules in why.items()]


def _rules_of_machines(found: Sequence[Shown]) -> Iterator[tuple[str, str]]:
    """Each rule with all machines of which it says something."""
    files: dict[str, dict[str, None]] = {}
    for one in found:
        of = [at.file for at in one.locations if is_leaf(at.key)] or [one.plan_name]
        files.setdefault(one.finding.rule, {}).update(dict.fromkeys(of))
    for rule, names in files.items():
        shown = [name.rpartition("/")[2] for name in names][:_MOST_MACHINES]
        more = len(names) - len(shown)
        yield ", ".join([*shown, f"{more} more"] if more else shown), rule


def _rules(found: Sequence[Shown]) -> Iterator[tuple[str, str]]:
    """Each rule with all parts of which it says something."""
    parts: dict[str, list[str]] = {}
    for one in found:
        parts.setdefault(one.finding.rule, []).extend(one.subjects)
    for rule, subjects in parts.items():
        yield folded_subjects(subjects), rule


def _asks_for(one: Shown, action: Action) -> bool:
    finding = one.finding
    is_told = finding.outcome == "fail" and finding.level != "info"
    return is_told and finding.action == action


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
        from speccheck.validator.report.fixes_text import (  # noqa: PLC0415
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
