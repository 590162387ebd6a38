"""`--output html`: one page that holds everything and asks nobody for anything.

No font, no picture from elsewhere. The same run gives the same bytes.
"""

import os
import time
from collections.abc import Iterator, Sequence

from speccheck.validator import VERSION
from speccheck.validator.evidence.finding import Finding
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.document import (
    Break,
    Code,
    Figure,
    Fold,
    Heading,
    Items,
    Link,
    Name,
    Paragraph,
    Parts,
    ReportSection,
    Strong,
    Table,
    Terms,
    Time,
    Word,
    joined,
    level_word,
    note,
)
from speccheck.validator.report.edition_names import edition_remarks, tailored_headline
from speccheck.validator.report.findings_text import actions
from speccheck.validator.report.forms.html_findings import (
    Chapter,
    FindingBlock,
    chapters,
    findings_parts,
)
from speccheck.validator.report.forms.html_page import header as page_header
from speccheck.validator.report.forms.html_page import page
from speccheck.validator.report.forms.html_plans import measured_parts, plan_parts
from speccheck.validator.report.merge_findings import (
    Shown,
    place,
    shown_findings,
    sorted_waived,
)
from speccheck.validator.report.style import Style, counted
from speccheck.validator.report.summary import (
    LEVEL_WORDS,
    LEVELS,
    OUTCOME_WORDS,
    Summary,
    passed_over_line,
    rule_counts,
    switched_off_lines,
)
from speccheck.validator.report.text import header
from speccheck.validator.report.topology_svg import topology_html
from speccheck.validator.report.unknowns import MissingFact, not_run
from speccheck.validator.report.wording import folded_subjects, with_numbers, written
from speccheck.validator.run.judging import MOST_SOUGHT, JudgedPlan
from speccheck.validator.run.run import RunResult

_WIDE = Style(unicode=True, width=10**6)
_SHEETS = ("html_topology",)
_MOST_MACHINES = 8
_MOST_FIRST = 12
_MOST_FILES = 400
_FEW_FILES = 12  # are seen at a glance
_FEWEST_COUNTED = 12  # findings: fewer are seen at a glance
_COLOURS = {0: "good", 1: "error", 3: "unknown"}
_COUNTED = {
    "error": "errors",
    "warning": "warnings",
    "info": "infos",
    "waived": "waived",
}
_OF_WAIVERS = ("until", "owner", "ticket")  # facts that only some have
_STATES = {
    "unreadable": "could not be read",
    "template": "template, not judged",
    "unrecognised": "of another kind, not judged",
    "excluded": "excluded by settings",
    "judged": "judged",
}


def report(context: ReportContext, _: Style) -> Iterator[str]:
    """Write the page in pieces: what to do first, what holds last."""
    ending = context.ending
    top = (
        Figure('<a class="skip" href="#findings">to the findings</a>\n'),
        _head(context),
    )
    title = ending.line("\u00b7")
    yield from page(title, top, _sections(context), sheets=_SHEETS)


def _head(context: ReportContext) -> Figure:
    """Return the verdict, its reason, and by what it was judged."""
    run, ending = context.run, context.ending
    edition = run.edition
    facts: list[tuple[str, Parts]] = [
        ("Exit code", str(ending.code)),
        ("Profile", run.use),
        ("Edition", f"{edition.id} ({edition.stage})"),
        ("sha256", Code(edition.sha256)),
        ("speccheck", VERSION),
    ]
    if edition.tailoring:
        facts.insert(4, ("Tailored", tailored_headline(edition)))
    if run.second is not None:
        facts.insert(4, ("Warnings of", f"edition {run.second.edition.id}"))
    moment = _written_at()
    if moment:
        facts.append(("Written", Time(moment, moment)))
    return page_header(
        _COLOURS.get(ending.code, "error"),
        "speccheck report",
        ending.title,
        "; ".join(filter(None, (*ending.details, ending.why))),
        facts,
        above=Paragraph(header(run, _WIDE), "judged"),
    )


def _written_at() -> str:
    """Return the time that SOURCE_DATE_EPOCH names: the same run, the same page."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not text.isdecimal() or len(text) > len("99999999999"):
        return ""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(text)))


def _sections(context: ReportContext) -> Iterator[ReportSection]:
    run = context.run
    plans = run.plans
    many = len(plans) > 1
    shown = shown_findings(plans)
    result = chapters(shown)
    waived = sorted_waived(plans)
    total = f" ({len(shown):,})" if shown else ""
    findings = [
        *_merged(context),
        findings_parts(result, many=many, full=context.full) or _nothing(plans, waived),
        *_unsought(run),
    ]
    measured = [plan.measured for plan in plans if plan.measured is not None]
    yield ReportSection("coverage", "Coverage", _coverage(context))
    yield ReportSection("first", "What to do first", _first(shown, result, many=many))
    yield ReportSection("machine", "Machine", _machines(plans))
    yield ReportSection("rules", "Failures by rule", _rules(context))
    yield ReportSection("findings", f"Findings{total}", findings)
    yield ReportSection("waived", f"Waived ({len(waived):,})", _waived(waived))
    yield ReportSection("unknown", "Not run", _unknown(plans))
    yield ReportSection("holds", "Passed", _holding(plans))
    yield ReportSection("plan", "Plans" if many else "Plan", plan_parts(plans))
    yield ReportSection("measured", "Measured", measured_parts(measured))
    yield ReportSection("files", "Files", _files(run))


def _nothing(plans: Sequence[JudgedPlan], waived: Sequence[Shown]) -> Paragraph:
    words = (
        "Nothing wrong was found in what could run." if plans else "Nothing was judged."
    )
    if waived:
        words = "Nothing wrong was found but what is waived, which stands below."
    return note(words)


def _merged(context: ReportContext) -> Iterator[Parts]:
    """Say why there are fewer findings here than failures in the verdict."""
    if len(context.run.plans) > 1 and any(context.summary.failed.values()):
        yield note("What is said of several plans is one finding here.")


def _unsought(run: RunResult) -> Iterator[Parts]:
    """Say that not every plan was searched for settings that mend it."""
    if run.unsought:
        yield note(
            "Settings that mend memory or batches were sought for the first "
            f"{MOST_SOUGHT} plans that need some, and not for {run.unsought:,} more: "
            "judge those alone."
        )


def _coverage(context: ReportContext) -> Iterator[Parts]:
    """Yield clauses by level and outcome, what was switched off, settings' warnings."""
    yield _clauses(context.summary)
    yield note(
        "What could not run or is waived is no pass. Coverage is the share of the "
        "required checks that could run."
    )
    editions = edition_remarks(context.run, full=True)
    for text in (
        *editions,
        *switched_off_lines(context.summary),
        *context.run.warnings,
    ):
        yield Paragraph(text, "silenced")


def _clauses(summary: Summary) -> Table:
    rows = {level: summary.clauses[level] for level in LEVELS}
    used = [
        name
        for name in OUTCOME_WORDS
        if name in {"pass", "fail", "unknown"}
        or any(counts[name] for counts in rows.values())
    ]
    judged = [name for name in used if name != "not_applicable"]
    idle = [name for name in used if name not in judged]
    heads = [">" + OUTCOME_WORDS[name] for name in judged]
    heads += [">coverage", *(">" + OUTCOME_WORDS[name] for name in idle)]
    lines: list[list[Parts]] = []
    for level, counts in rows.items():
        if any(counts.values()):
            is_must = level == "must" and summary.coverage is not None
            lines.append(
                [
                    LEVEL_WORDS[level],
                    *(_count(name, counts[name], level) for name in judged),
                    f"{summary.coverage:.0%}" if is_must else "",
                    *(_count(name, counts[name], level) for name in idle),
                ]
            )
    return Table("Checks by level and outcome", ("checks", *heads), lines, "narrow")


def _count(name: str, number: int, level: str) -> Parts:
    colours = {
        "fail": {"must": "error", "should": "warning"}.get(level, "info"),
        "error": "error",
        "unknown": "unknown",
    }
    text = f"{number:,}"
    return Word(text, colours[name]) if number and name in colours else text


def _first(
    shown: Sequence[Shown], result: Sequence[Chapter], *, many: bool
) -> Iterator[Parts]:
    """Yield what is to be done with machines, then the remedy of each error."""
    of_machines = [
        (
            Code(action),
            "; ".join(
                f"{parts}: {', '.join(rules)}" if parts else ", ".join(rules)
                for parts, rules in reasons
            ),
        )
        for action, reasons in actions(shown, many=many)
    ]
    yield Terms(of_machines, "advice")
    by_rule: dict[str, list[FindingBlock]] = {}
    for block in (block for chapter in result for block in chapter.blocks):
        if block.first.finding.level == "error":
            by_rule.setdefault(block.first.finding.rule, []).append(block)
    items = [_to_do(same) for same in by_rule.values()]
    rows = items[:_MOST_FIRST]
    if len(items) > _MOST_FIRST:
        rows.append(f"and {len(items) - _MOST_FIRST:,} more rules below")
    yield Items(rows, "first", is_ordered=True)


def _to_do(blocks: Sequence[FindingBlock]) -> Parts:
    last = blocks[0].group[-1]
    finding = last.finding
    subjects = [subject for shown in blocks[0].group for subject in shown.subjects]
    remedy = with_numbers(finding.remedy, subjects) or finding.message
    where = folded_subjects(subjects) or place(last)
    times = f", {len(blocks):,} times" if len(blocks) > 1 else ""
    link = Link(finding.clause, blocks[0].anchor)
    return link, f" {remedy} ", Word(where + times, "where")


def _machines(plans: Sequence[JudgedPlan]) -> Iterator[Parts]:
    """Yield the pictures of the first machines."""
    layouts = [
        (plan.shown.files, plan.shown.machine)
        for plan in plans
        if plan.shown and plan.shown.machine
    ]
    for files, layout in layouts[:_MOST_MACHINES]:
        if len(layouts) > 1 and files:
            yield Heading(3, Code(files[0].path))
        yield Figure(topology_html(layout))
    if len(layouts) > _MOST_MACHINES:
        yield note(f"and {counted(len(layouts) - _MOST_MACHINES, 'more machine')}")


def _rules(context: ReportContext) -> Parts:
    """Return how often each rule failed, where that is more than a glance."""
    rows = [row for row in rule_counts(context.run.plans) if row.failed]
    if sum(row.failed for row in rows) < _FEWEST_COUNTED and not context.statistics:
        return ""
    names = [name for name in _COUNTED if any(row.counts[name] for row in rows)]
    heads = ("rule", "clause", *(f">{_COUNTED[name]}" for name in names))
    cells = [
        (
            Code(row.rule),
            row.clause,
            *(f"{row.counts[name]:,}" if row.counts[name] else "" for name in names),
        )
        for row in rows
    ]
    return Table("Failures by rule", heads, cells)


def _waived(showns: Sequence[Shown]) -> Parts:
    """Return what fails and was silenced: by whom, why, until when."""
    waivers = [
        (shown, shown.finding.waiver) for shown in showns if shown.finding.waiver
    ]
    if not waivers:
        return ""
    facts = [name for name in _OF_WAIVERS if any(getattr(w, name) for _, w in waivers)]
    heads = ("finding", "where", "what fails", "reason", *facts, "by")
    rows: list[Sequence[Parts]] = []
    for shown, waiver in waivers:
        finding, at = shown.finding, waiver.place
        line = f":{at.span.line}" if at.span else f" {at.key}"
        rule = (level_word(finding.level), " ", Word(finding.clause, "id"))
        rows.append(
            (
                (*rule, Break(), Name(finding.rule)),
                Code(place(shown)),
                finding.message,
                waiver.reason,
                *(Word(str(getattr(waiver, fact)), "id") for fact in facts),
                (f"{waiver.kind} ", Code((at.file + line).strip())),
            )
        )
    return Table("Waived findings", heads, rows, "waived")


def _unknown(plans: Sequence[JudgedPlan]) -> Parts:
    """Return what would let clauses be judged, and which."""
    result = not_run(plans)
    rows: list[Sequence[Parts]] = [
        (gap.need, joined(_required_bold(gap))) for gap in result.gaps
    ]
    bare = [clause for clauses in result.unwritten.values() for clause in clauses]
    for text, clauses in (
        ("nothing yet: there is no rule", bare),
        ("better evidence: only an estimate speaks against it", result.doubtful),
    ):
        if clauses:
            words = (Word(clause, "id") for clause in dict.fromkeys(clauses))
            rows.append((text, joined(words)))
    if not rows:
        return ""
    heads = ("what would let it run", "clauses")
    count = counted(result.required, "required check")
    others = counted(result.others, "recommended check")
    text = f"{count} and {others} could not run; required ones are bold."
    return note(text), Table("What could not run", heads, rows)


def _required_bold(gap: MissingFact) -> Iterator[Strong | Word]:
    yield from (Strong(clause, "id") for clause in gap.clauses("must"))
    yield from (Word(clause, "id") for clause in gap.clauses("should", "may"))


def _holding(plans: Sequence[JudgedPlan]) -> Iterator[Parts]:
    """Yield what passed, and what does not apply, folded."""
    for outcome, verbs in (
        ("pass", ("passed", "passed")),
        ("not_applicable", ("do not apply", "do not apply")),
    ):
        result: dict[tuple[str, str, str], list[Finding]] = {}
        for plan in plans:
            for located in plan.findings:
                finding = located.finding
                if finding.outcome == outcome:
                    key = finding.clause, finding.rule, finding.title
                    result.setdefault(key, []).append(finding)
        if result:
            rows = [_held(key, alike, plans) for key, alike in result.items()]
            heads = ("rule", "clause", "what was found")
            title = f"{counted(len(result), 'rule')} that {verbs[len(result) > 1]}"
            yield Fold(title, Table(f"Rules that {verbs[1]}", heads, rows))


def _held(
    key: tuple[str, str, str], findings: Sequence[Finding], plans: Sequence[JudgedPlan]
) -> Sequence[Parts]:
    clause, rule, title = key
    texts = dict.fromkeys(_measured_or_said(finding) for finding in findings)
    shown = [text for text in texts if text][:3]
    subjects = [finding.subject for finding in findings if finding.subject]
    if subjects and len(plans) == 1:
        shown.insert(0, folded_subjects(subjects))
    elif len(plans) > 1:
        shown = [f"{counted(len(findings), 'time')} in {len(plans):,} plans"]
    lines = [part for text in shown for part in (Break(), text)][1:]
    return Code(rule) if rule else title, Word(clause, "id"), lines


def _measured_or_said(finding: Finding) -> str:
    if finding.message or finding.measured is None or finding.required is None:
        return finding.message
    return f"{written(finding.measured)} against {written(finding.required)}"


def _files(run: RunResult) -> Iterator[Parts]:
    """Yield the files of the run: those that were not judged first."""
    files = run.files
    passed_over = passed_over_line(run)
    if passed_over:
        yield note(passed_over)
    if not files:
        return
    order = list(_STATES)
    ranked = sorted(files, key=lambda file: order.index(file.state))
    counts = [
        f"{number:,} {words}"
        for state, words in _STATES.items()
        if (number := sum(file.state == state for file in ranked))
    ]
    yield note("; ".join(counts))
    rows = [
        (
            Code(file.path),
            file.format,
            _STATES[file.state],
            file.message.removeprefix(f"{file.path}: "),
        )
        for file in ranked[:_MOST_FILES]
    ]
    body: list[Parts] = [
        Table("Files of the run", ("file", "format", "", "message"), rows, "long")
    ]
    if len(ranked) > _MOST_FILES:
        body.append(note(f"and {len(ranked) - _MOST_FILES:,} more files"))
    is_short = len(ranked) <= _FEW_FILES
    yield body if is_short else Fold(f"{len(ranked):,} files", body)
