"""The top of a page: the verdict, how much was judged, and what to do first."""

import os
import time
from collections.abc import Sequence

from speccheck.validator import VERSION
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.edition_names import (
    edition_told,
    tailored_headline,
)
from speccheck.validator.report.findings_text import actions
from speccheck.validator.report.forms.html_findings import Block, Chapter
from speccheck.validator.report.forms.html_text import (
    breakable,
    code,
    escaped,
    level_word,
    row,
    table,
)
from speccheck.validator.report.merge_findings import Shown
from speccheck.validator.report.statistics import rule_counts
from speccheck.validator.report.style import Style
from speccheck.validator.report.summary import LEVELS, Summary, silence_told
from speccheck.validator.report.text import header
from speccheck.validator.report.waived_text import place
from speccheck.validator.report.wording import folded_subjects, with_numbers

WIDE = Style(unicode=True, width=10**6)
_COLOURS = {0: "good", 1: "error", 3: "unknown"}
_OUTCOMES = {
    "pass": "hold",
    "fail": "fail",
    "unknown": "unknown",
    "error": "broken",
    "waived": "waived",
    "not_applicable": "not applicable",
}
_COUNTED = {
    "error": "errors",
    "warning": "warnings",
    "info": "infos",
    "waived": "waived",
}
_FACTS = ("until", "owner", "ticket")  # of a waiver, where some have them
_MOST_FIRST = 12
_FEWEST_COUNTED = 12  # findings: fewer are seen at a glance


def title_text(context: ReportContext) -> str:
    """The verdict in a line."""
    return f"{context.ending.word}: {context.ending.reason}"


def head_html(context: ReportContext) -> str:
    """The verdict, its reason, and by what it was judged."""
    run, ending = context.run, context.ending
    edition = run.edition
    colour = _COLOURS.get(ending.code, "error")
    facts = [
        ("Exit code", str(ending.code)),
        ("Profile", escaped(run.use)),
        ("Edition", f"{escaped(edition.id)} ({escaped(edition.stage)})"),
        ("sha256", code(edition.sha256)),
        ("speccheck", VERSION),
    ]
    if edition.tailoring:
        facts.insert(4, ("Tailored", escaped(tailored_headline(edition))))
    if run.second is not None:
        facts.insert(4, ("Warnings of", f"edition {escaped(run.second.edition.id)}"))
    written = _written_at()
    if written:
        facts.append(("Written", f'<time datetime="{written}">{written}</time>'))
    pairs = "".join(
        f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in facts
    )
    return (
        f'<header class="{colour}">\n<p class="tool">speccheck report</p>\n'
        f'<h1><span class="word">{escaped(ending.word)}</span> '
        f"{escaped(ending.reason)}</h1>\n"
        f'<p class="judged">{escaped(header(run, WIDE))}</p>\n'
        f'<dl class="facts">{pairs}</dl>\n</header>\n'
    )


def _written_at() -> str:
    """The time that SOURCE_DATE_EPOCH names; the same run gives the same page."""
    text = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not text.isdecimal() or len(text) > len("99999999999"):
        return ""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(text)))


def coverage_html(context: ReportContext) -> str:
    """Clauses by level and outcome, what was switched off, warnings of settings."""
    editions = edition_told(context.run, full=True)
    notes = (*editions, *silence_told(context.summary), *context.run.warnings)
    return _clauses(context.summary) + "".join(
        f'<p class="silenced">{escaped(note)}</p>\n' for note in notes
    )


def _clauses(summary: Summary) -> str:
    rows = {level: summary.clauses[level] for level in LEVELS}
    names = [
        name
        for name in _OUTCOMES
        if name in {"pass", "fail", "unknown"}
        or any(one[name] for one in rows.values())
    ]
    judged = [name for name in names if name != "not_applicable"]
    idle = [name for name in names if name not in judged]
    words = [f">{_OUTCOMES[name]}" for name in (*judged, *idle)]
    heads = ["clauses", *words[: len(judged)], ">coverage", *words[len(judged) :]]
    lines = []
    for level, counts in rows.items():
        if any(counts.values()):
            cells = [_count(name, counts[name], level) for name in judged]
            is_must = level == "must" and summary.coverage is not None
            cells.append(f"{summary.coverage:.0%}" if is_must else "")
            cells += [_count(name, counts[name], level) for name in idle]
            numbers = range(1, len(cells) + 1)
            lines.append(row([level, *cells], numbers=numbers))
    note = (
        '<p class="note">Coverage is the share of the musts that apply which were '
        "judged. What is unknown or waived is no pass.</p>\n"
    )
    return table("Clauses by level and outcome", heads, lines, name="narrow") + note


def _count(name: str, number: int, level: str) -> str:
    colours = {
        "fail": {"must": "error", "should": "warning"}.get(level, "info"),
        "error": "error",
        "unknown": "unknown",
    }
    text = f"{number:,}"
    is_told = number and name in colours
    return f'<span class="{colours[name]}">{text}</span>' if is_told else text


def first_html(shown: Sequence[Shown], found: Sequence[Chapter], *, many: bool) -> str:
    """What is to be done with machines, then the remedy of each error."""
    asked = []
    for action, reasons in actions(shown, many=many):
        told = "; ".join(
            f"{parts}: {', '.join(rules)}" if parts else ", ".join(rules)
            for parts, rules in reasons
        )
        asked.append(f"<dt>{code(action)}</dt><dd>{escaped(told)}</dd>\n")
    of_machines = f'<dl class="advice">\n{"".join(asked)}</dl>\n' if asked else ""
    blocks = [one for chapter in found for one in chapter.blocks]
    errors = [one for one in blocks if one.first.finding.level == "error"]
    by_rule: dict[str, list[Block]] = {}
    for block in errors:
        by_rule.setdefault(block.first.finding.rule, []).append(block)
    items = [_to_do(same) for same in by_rule.values()]
    rows = items[:_MOST_FIRST]
    if len(items) > _MOST_FIRST:
        rows.append(f"<li>and {len(items) - _MOST_FIRST:,} more rules below</li>\n")
    of_errors = f'<ol class="first">\n{"".join(rows)}</ol>\n' if rows else ""
    return of_machines + of_errors


def _to_do(blocks: Sequence[Block]) -> str:
    last = blocks[0].group[-1]
    finding = last.finding
    subjects = [subject for one in blocks[0].group for subject in one.subjects]
    remedy = with_numbers(finding.remedy, subjects) or finding.message
    where = folded_subjects(subjects) or place(last)
    times = f", {len(blocks):,} times" if len(blocks) > 1 else ""
    return (
        f'<li><a href="#{blocks[0].anchor}">{escaped(finding.clause)}</a> '
        f'{escaped(remedy)} <span class="where">{escaped(where)}{times}</span></li>\n'
    )


def rules_html(context: ReportContext) -> str:
    """How often each rule failed, where that is more than a glance."""
    rows = [row for row in rule_counts(context.run.plans) if row.failed]
    if sum(row.failed for row in rows) < _FEWEST_COUNTED and not context.statistics:
        return ""
    names = [name for name in _COUNTED if any(row.counts[name] for row in rows)]
    heads = ("rule", "clause", *(f">{_COUNTED[name]}" for name in names))
    lines = (
        row(
            [
                code(one.rule),
                escaped(one.clause),
                *(
                    f"{one.counts[name]:,}" if one.counts[name] else ""
                    for name in names
                ),
            ],
            numbers=range(2, 2 + len(names)),
        )
        for one in rows
    )
    return table("Failures by rule", heads, lines)


def waived_html(found: Sequence[Shown]) -> str:
    """What fails and was silenced: by whom, why, until when."""
    if not found:
        return ""
    waivers = [one.finding.waiver for one in found if one.finding.waiver]
    facts = [name for name in _FACTS if any(getattr(one, name) for one in waivers)]
    heads = ("finding", "where", "what fails", "reason", *facts, "by")
    rows = (_waived_row(one, facts) for one in found)
    return table("Waived findings", heads, rows, name="waived")


def _waived_row(one: Shown, facts: Sequence[str]) -> str:
    finding = one.finding
    waiver = finding.waiver
    if waiver is None:
        return ""
    at = waiver.place
    line = f":{at.span.line}" if at.span else f" {at.key}"
    name = (
        f'{level_word(finding.level)} <span class="id">{escaped(finding.clause)}</span>'
    )
    told = (str(getattr(waiver, fact)) for fact in facts)
    return row(
        [
            f"{name}<br>{breakable(finding.rule)}",
            code(place(one)),
            escaped(finding.message),
            escaped(waiver.reason),
            *(f'<span class="id">{escaped(text)}</span>' for text in told),
            f"{waiver.kind} {code((at.file + line).strip())}",
        ]
    )
