"""The findings of a report: what they state, where, what to do; and all that as text.

In text a finding is a block, and advice is folded to a line.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from speccheck.validator.engine.locate import Location
from speccheck.validator.evidence.finding import Action, Finding
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.causes import with_effects
from speccheck.validator.report.merge_findings import Shown
from speccheck.validator.report.style import Style, counted, printable, wrap
from speccheck.validator.report.wording import folded_subjects, with_numbers

if TYPE_CHECKING:
    from speccheck.validator.evidence.finding import Proposal, ProposedSetting

MOST_FRAMES = 4
_LABELS = {"try": "good", "also": "", "hence": ""}  # that are not dim
_NO_NEWLINE = "\\ No newline at end of file\n"


def frames(locations: Sequence[Location], style: Style) -> Iterator[str]:
    """Yield the frames of a finding's locations, by file, the first few in full."""
    framed = [location for location in locations if location.line]
    shown = framed[:MOST_FRAMES]
    digits = max((len(str(location.line)) for location in shown), default=1)
    file = ""
    for number, location in enumerate(shown):
        if location.file != file:
            file = location.file
            place = f"{file}:{location.line}:{location.column}"
            yield f"    {style.linked(place, file)}"
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
    """Return what stands beside the caret of one of several places."""
    if count == 1:
        return ""
    return "stated here" if number == 0 else "and here"


def _elsewhere(locations: Sequence[Location], file: str) -> str:
    """Return `lines 4 and 7, other.json:2`, cut after a few."""
    here = [str(location.line) for location in locations if location.file == file]
    there = [
        f"{location.file}:{location.line}"
        for location in locations
        if location.file != file
    ]
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
    """Return the length of the marked text as shown; control characters take more."""
    start = location.column - 1
    return len(printable(location.text[start : start + location.length]))


def window(location: Location, width: int) -> tuple[str, int]:
    """Return the part of a line with the marked text, and where that begins in it."""
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


def section_of(shown: Shown) -> str:
    """Return the report's part in which a finding stands, by what is to be mended.

    One that names a file of the job is mended there, whatever the machine has to do
    with it.
    """
    if not shown.subjects:
        return _JOB
    if all(subject.startswith(_OF_GPU) for subject in shown.subjects):
        return _GPUS
    sections = [_SECTION_OF_KIND.get(_kind(at.key), _JOB) for at in shown.locations]
    if _JOB in sections:
        return _JOB
    return sections[0] if sections else _NODE


def is_leaf(key: str) -> bool:
    """Return whether a place is a leaf of a snapshot, and in no file of the job."""
    return _kind(key) in _SECTION_OF_KIND


def _kind(key: str) -> str:
    return key.partition(".")[0].partition("[")[0]


def section_title(section: str, shown: Sequence[Shown], style: Style) -> str:
    """Return the heading of a part, with how much there is in it."""
    title = f"{section}: {section_counts(shown)}"
    line = ("\u2500" if style.unicode else "-") * 2
    return f"{line} {style.paint(title, 'bold')} {line}"


def section_counts(shown: Sequence[Shown]) -> str:
    """Return how much there is in a part, by level."""
    each = [item for cause in shown for item in (cause, *cause.effects)]
    levels = [item.finding.level for item in each for _ in item.subjects or ("job",)]
    counts = [
        counted(levels.count(level), level)
        for level in ("error", "warning")
        if level in levels
    ]
    infos = levels.count("info")
    counts += [f"{infos} info"] if infos else []
    return ", ".join(counts)


def what_to_do(shown: Sequence[Shown], style: Style, *, many: bool) -> str:
    """Return one line for each kind of action, with the parts that need it and why."""
    lines: list[str] = []
    for action, reasons in actions(shown, many=many):
        words = "; ".join(f"{parts}: {', '.join(rules)}" for parts, rules in reasons)
        text = wrap(words, style.width, " " * 14).lstrip()
        lines.append(f"  {style.paint(action.ljust(11), 'bold')} {text}")
    return "\n".join(lines)


def actions(
    shown: Sequence[Shown], *, many: bool
) -> Iterator[tuple[Action, list[tuple[str, list[str]]]]]:
    """Yield each kind of action with the parts that need it, and the rules that say so.

    Of many machines it is these that are named.
    """
    for action in _ACTIONS:
        showns = [item for item in shown if _asks_for(item, action)]
        if not showns:
            continue
        why: dict[str, dict[str, None]] = {}
        for parts, rule in _rules_of_machines(showns) if many else _rules(showns):
            why.setdefault(parts, {})[rule] = None
        yield action, [(parts, list(rules)) for parts, rules in why.items()]


def _rules_of_machines(showns: Sequence[Shown]) -> Iterator[tuple[str, str]]:
    """Yield each rule with all machines of which it says something."""
    files: dict[str, dict[str, None]] = {}
    for item in showns:
        of = [at.file for at in item.locations if is_leaf(at.key)] or [item.plan_name]
        files.setdefault(item.finding.rule, {}).update(dict.fromkeys(of))
    for rule, names in files.items():
        shown = [name.rpartition("/")[2] for name in names][:_MOST_MACHINES]
        more = len(names) - len(shown)
        yield ", ".join([*shown, f"{more} more"] if more else shown), rule


def _rules(showns: Sequence[Shown]) -> Iterator[tuple[str, str]]:
    """Yield each rule with all parts of which it says something."""
    parts: dict[str, list[str]] = {}
    for shown in showns:
        parts.setdefault(shown.finding.rule, []).extend(shown.subjects)
    for rule, subjects in parts.items():
        yield folded_subjects(subjects), rule


def _asks_for(shown: Shown, action: Action) -> bool:
    finding = shown.finding
    needs_action = finding.outcome == "fail" and finding.level != "info"
    return needs_action and finding.action == action


_ORDER = {"error": 0, "warning": 1, "info": 2}
_UNFOLDED_WARNINGS = 8
_UNFOLDED_INFOS = 0


def finding_blocks(
    shown: Sequence[Shown], style: Style, *, full: bool, many: bool
) -> Iterator[str]:
    """Yield the errors first; beyond a screen of warnings, one line each unless `full`.

    Those of a machine stand by its parts.
    """
    limits = {"warning": _UNFOLDED_WARNINGS, "info": _UNFOLDED_INFOS}
    counts = dict.fromkeys(_ORDER, 0)
    folded: list[Shown] = []
    for name, ranked in sections(with_effects(shown)):
        title = section_title(name, ranked, style) if name else ""
        blocks: list[str] = [title] if title else []
        for group in by_cause(ranked):
            level = min((item.gravest for item in group), key=_ORDER.__getitem__)
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
    """Yield the findings by a report, by parts where a machine has some."""
    ranked = sorted(shown, key=lambda item: _ORDER[item.gravest])
    if not any(item.subjects for item in ranked):
        yield "", ranked
        return
    by_section: dict[str, list[Shown]] = {name: [] for name in SECTIONS}
    for item in ranked:
        by_section[section_of(item)].append(item)
    for name, items in by_section.items():
        if items:
            yield name, items


def by_cause(ranked: Sequence[Shown]) -> list[list[Shown]]:
    """Return the findings of a level that share places or an unstated default.

    They say several things of one fact, so they share a block. Those of a machine do
    where one rule asks for one remedy.
    """
    groups: dict[object, list[Shown]] = {}
    for shown in ranked:
        places = tuple((at.file, at.key, at.line) for at in shown.locations)
        key: object = (shown.finding.level, places, shown.finding.note, shown.plan_name)
        if shown.subjects:
            key = shown.finding._replace(
                message="", places=(), measured=None, required=None, subject=""
            )
        elif not places and not shown.finding.note:
            key = id(shown)
        groups.setdefault(key, []).append(shown)
    return list(groups.values())


def _folded(folded: Sequence[Shown], style: Style) -> Iterator[str]:
    for shown in folded:
        finding = shown.finding
        place = next((f"{at.file}:{at.line} " for at in shown.locations if at.line), "")
        if shown.subjects:
            place = f"{folded_subjects(shown.subjects)}: "
        head = f"{finding.level} {finding.clause} {finding.rule}{_of(finding)}"
        yield style.paint(finding.level, finding.level) + head[len(finding.level) :]
        yield wrap(printable(place + finding.message), style.width, "  ")
        remedy = with_numbers(finding.remedy, shown.subjects)
        if remedy:
            yield _labelled_line("fix", remedy, style)
    yield style.paint("--full shows these with their places and costs", "dim")


def _block(group: Sequence[Shown], style: Style, *, many: bool) -> str:
    first = group[0]
    lines: list[str] = []
    for shown, subjects, message in statements(group):
        if shown is not None:
            finding = shown.finding
            word = finding.level if finding.outcome == "fail" else "bug"
            name = style.paint(finding.rule or finding.title, "bold")
            head = f"{style.paint(word, finding.level)} {finding.clause} {name}"
            of_parts = f"  {subjects}" if subjects else ""
            lines.append(f"{head}{_of(finding)}{of_parts}")
        lines.append(wrap(printable(message), style.width, "  "))
    if first.subjects:
        lines.extend(_evidence(group, style, many=many))
    else:
        lines.extend(_frames(first, style))
    if many and not any(location.line for location in first.locations):
        lines.append(f"    in {first.plan_name}")
    if first.finding.note:
        lines.append(wrap(f"({printable(first.finding.note)})", style.width, "    "))
    lines.extend(_labelled_line(*each, style) for each in advice(group))
    effects = dict.fromkeys(effect for shown in group for effect in shown.effects)
    lines.extend(_effect_line(effect, style) for effect in effects)
    return "\n".join(lines)


def _effect_line(effect: Shown, style: Style) -> str:
    """Return what a cause explains, in a sentence without a remedy of its own."""
    finding = effect.finding
    of = f" {folded_subjects(effect.subjects)}:" if effect.subjects else ""
    name = f"{finding.level} {finding.clause} {finding.rule}:"
    return _labelled_line("hence", f"{name}{of} {finding.message}", style)


def statements(group: Sequence[Shown]) -> Iterator[tuple[Shown | None, str, str]]:
    """Yield what a group of findings states, each message once.

    Before a message stands the finding that heads it, with the parts of a machine that
    the group is about; None where that was named already.
    """
    if not group[0].subjects:
        yield from ((shown, "", shown.finding.message) for shown in group)
        return
    subjects = [subject for shown in group for subject in shown.subjects]
    for at, shown in enumerate(group):
        is_of_all = set(shown.subjects) == {*subjects}
        of = "" if is_of_all else f"{folded_subjects(shown.subjects)}: "
        message = of + shown.finding.message
        yield None if at else shown, folded_subjects(subjects), message


def advice(group: Sequence[Shown]) -> Iterator[tuple[str, str]]:
    """Yield what a group of findings costs and what to do, each text with its label.

    The last clause is the narrowest: cost and remedy are its own.
    """
    first, finding = group[0], group[-1].finding
    subjects = [subject for shown in group for subject in shown.subjects]
    for label, text in (
        ("cost", finding.cost),
        ("do", finding.action or ""),
        ("fix", with_numbers(finding.remedy, subjects)),
    ):
        if text:
            yield label, text
    for fix in dict.fromkeys(shown.finding.fix for shown in group):
        if fix is not None:
            by = "--fix" if fix.is_safe else "--fix --unsafe-fixes"
            yield "edit", hidden(f"{fix.says} ({by} does it)")
    proposals = (proposal for shown in group for proposal in shown.proposals or ())
    for proposal in dict.fromkeys(proposals):
        yield "try", hidden(proposal_text(proposal))
    if first.repeats:
        yield "also", f"{first.repeats:,} more of {first.plans:,} such plans"


def _of(finding: Finding) -> str:
    """Return the edition that gave it, where that is not the one that counts."""
    return f" [edition {finding.edition}]" if finding.edition else ""


def _frames(shown: Shown, style: Style) -> Iterator[str]:
    """Yield the lines of files, and leaves of a snapshot by their names alone."""
    taken = tuple(at for at in shown.locations if at.file in shown.snapshots)
    written = tuple(dict.fromkeys(at for at in shown.locations if at not in taken))
    yield from frames(written, style)
    names = ", ".join(dict.fromkeys(at.key for at in taken))
    if names:
        yield _labelled_line("at", names, style)


def _evidence(group: Sequence[Shown], style: Style, *, many: bool) -> Iterator[str]:
    """Yield the lines of the job's files, and leaves of a snapshot by their names.

    Nobody writes a snapshot, so that lines of it help nobody.
    """
    first = group[0]
    locations = [at for shown in group for at in shown.locations]
    if section_of(first) == "job":
        written = tuple(at for at in locations if not is_leaf(at.key))
        yield from frames(written, style)
        locations = [at for at in locations if is_leaf(at.key)]
    files = dict.fromkeys(at.file for at in locations)
    for file in files:
        names = dict.fromkeys(at.key for at in locations if at.file == file)
        of = f"{file} " if many or len(files) > 1 else ""
        yield _labelled_line("at", of + ", ".join(names), style)


def _labelled_line(label: str, text: str, style: Style) -> str:
    wrapped = wrap(printable(text), style.width, " " * 8).lstrip()
    colour = _LABELS.get(label, "dim")
    shown = style.paint(label.ljust(5), colour) if colour else label.ljust(5)
    return f"  {shown} {wrapped}"


def proposal_text(proposal: "Proposal") -> str:
    """Return a proposal as one sentence, in the files' words if they have them."""
    settings = ", ".join(map(_setting, proposal.settings))
    if proposal.missing:
        return f"{settings}: no failure is left, but {proposal.because}"
    if proposal.errors:
        also = ", ".join(proposal.errors)
        return f"{settings}: mends this ({proposal.because}); then also fails {also}"
    text = f"{settings}: verified"
    if proposal.because:
        text += f", {proposal.because}"
    if proposal.warnings:
        clauses = dict.fromkeys(
            warning.partition(" ")[0] for warning in proposal.warnings
        )
        text += f" (new warnings: {', '.join(clauses)})"
    return text


def _setting(setting: "ProposedSetting") -> str:
    names = dict.fromkeys(key.key for key in setting.keys)
    name = " and ".join(names) or setting.leaf
    if setting.before is None:
        return f"{name} {_written(setting.after)}"
    if setting.after is None:
        return f"without {name}"
    return f"{name} {_written(setting.before)} -> {_written(setting.after)}"


def _written(value: object) -> str:
    """Return a value as it goes into a file: no separators of thousands."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def diff_of(texts: Mapping[str, tuple[str, str]]) -> Iterator[str]:
    """Yield the lines of the diff of all files.

    Credentials stand as stars, control characters as escapes: a hunk with one of them
    is to be read, and does not apply.

    Args:
        texts: by path, before and after.
    """
    from difflib import unified_diff  # noqa: PLC0415 - seldom

    for path in sorted(texts):
        old, new = (_lines(text) for text in texts[path])
        shown = printable(path)
        for line in unified_diff(old, new, f"a/{shown}", f"b/{shown}"):
            yield _shown(line)


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; a form feed or U+2028 ends none."""
    lines = text.split("\n")
    ended = [f"{line}\n" for line in lines[:-1]]
    return [*ended, lines[-1]] if lines[-1] else ended


def _shown(line: str) -> str:
    body = line.removesuffix("\n")
    end = line[len(body) :] or f"\n{_NO_NEWLINE}"
    text = body.removesuffix("\r")
    end = body[len(text) :] + end
    parts = (printable(part) for part in text.split("\t"))
    return hidden("\t".join(parts)) + end
