"""Counts of a run: its clauses by level and outcome, its findings by rule."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from speccheck.validator.evidence.finding import Finding
from speccheck.validator.evidence.record import Record
from speccheck.validator.report.style import Style, counted, printable
from speccheck.validator.rule import by_clause
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import RunResult
from speccheck.validator.sources.documents.reading import MAXIMUM_BYTES
from speccheck.validator.sources.files import PassedOverReason

if TYPE_CHECKING:
    from speccheck.validator.run.suppressions import SuppressedBy


LEVELS = ("must", "should", "may")
OUTCOMES = ("pass", "fail", "unknown", "not_applicable", "error", "waived")


LEVEL_WORDS = {"must": "required", "should": "recommended", "may": "optional"}
# The one scale of words for what came of a check, in the order of a report.
OUTCOME_WORDS = {
    "pass": "passed",
    "fail": "failed",
    "unknown": "not run",
    "error": "broke",
    "waived": "waived",
    "not_applicable": "does not apply",
}
_PLURALS = {"does not apply": "do not apply"}


class RequiredClauses(Record):
    """The musts of all plans: how many apply, how many could run, how many passed."""

    applying: int
    ran: int
    passed: int


class Summary(Record):
    """Clauses by level and outcome, and findings that failed by their level.

    unwritten: musts that no rule judges yet, so that no evidence would settle them.
    waived: failures that somebody silenced; they count in no level.
    switched_off: what settings and options leave out of the judgement, by who does.
    loosened: what fails by the edition's own numbers and not by those in their place.
    warned: failures by a second edition alone, by their level; `failed` counts them.
    """

    clauses: dict[str, dict[str, int]]
    failed: dict[str, int]
    unwritten: int = 0
    waived: int = 0
    switched_off: "tuple[SuppressedBy, ...]" = ()
    loosened: int = 0
    warned: int = 0

    @property
    def judged_musts(self) -> int:
        """Musts that were seen to hold or to fail: required checks that could run."""
        must = self.clauses["must"]
        return must["pass"] + must["fail"] + must["waived"]

    @property
    def required(self) -> int:
        """Musts that apply, judged or not: the required checks."""
        must = self.clauses["must"]
        return self.judged_musts + must["unknown"] + must["error"]

    @property
    def required_clauses(self) -> RequiredClauses:
        """The numbers of the first line."""
        passed = self.clauses["must"]["pass"]
        return RequiredClauses(self.required, self.judged_musts, passed)

    @property
    def coverage(self) -> float | None:
        """Share of the musts that apply which were judged; None when none applies."""
        return self.judged_musts / self.required if self.required else None


def summarize(plans: Sequence[JudgedPlan]) -> Summary:
    """Count the clauses of all plans; a clause counts once in each plan."""
    clauses: dict[str, dict[str, int]] = {level: _zeros(OUTCOMES) for level in LEVELS}
    failed = _zeros(("error", "warning", "info"))
    unwritten = waived = loosened = warned = 0
    for plan in plans:
        findings = [located.finding for located in plan.findings]
        besides = [finding for finding in findings if finding.edition]
        if besides:
            findings = [finding for finding in findings if not finding.edition]
            for finding in _failed(besides):
                failed[finding.level] += 1
                warned += 1
        for clause in by_clause(findings):
            clauses[clause.clause_level][clause.outcome] += 1
        for finding in _failed(findings):
            failed[finding.level] += 1
        unwritten += sum(is_unwritten(finding) for finding in findings)
        waived += sum(finding.waiver is not None for finding in findings)
        loosened += sum(finding.is_loosened for finding in findings)
    return Summary(
        clauses, failed, unwritten, waived, _switched_off(plans), loosened, warned
    )


def level_counts(summary: Summary, level: str, *, full: bool) -> str:
    """Return `required: 10 passed, 2 failed, 6 not run`; empty where none applies."""
    row = summary.clauses[level]
    parts = [
        f"{row[outcome]:,} {_PLURALS.get(word, word) if row[outcome] > 1 else word}"
        for outcome, word in OUTCOME_WORDS.items()
        if row[outcome] and (full or outcome != "not_applicable")
    ]
    return f"{LEVEL_WORDS[level]}: {', '.join(parts)}" if parts else ""


def _switched_off(plans: Sequence[JudgedPlan]) -> "tuple[SuppressedBy, ...]":
    left_out = [left_out for plan in plans for left_out in plan.left_out]
    if not left_out:
        return ()
    from speccheck.validator.run.suppressions import switched_off  # noqa: PLC0415 - seldom

    return switched_off(left_out)


def is_unwritten(finding: Finding) -> bool:
    """Return whether it is a must that no rule judges yet, on any evidence."""
    is_open = finding.outcome == "unknown" and finding.clause_level == "must"
    return is_open and not finding.rule and not finding.missing


def _zeros(names: Iterable[str]) -> dict[str, int]:
    return dict.fromkeys(names, 0)


def _failed(findings: Iterable[Finding]) -> list[Finding]:
    return [
        finding
        for finding in findings
        if finding.outcome == "fail" and not finding.waiver
    ]


ISOLATED = "settings not read (--isolated)"
_MOST_FILES = 3
_MOST_NAMES = 4


def settings_names(run: RunResult) -> tuple[str, ...]:
    """Return the settings files of the plans, or that none was looked for."""
    if run.is_isolated:
        return (ISOLATED,)
    closest = dict.fromkeys(plan.settings[0] for plan in run.plans if plan.settings)
    if not closest:
        return ()
    names = [printable(name) for name in closest]
    if len(names) > _MOST_FILES:
        return (f"settings of {len(names)} files",)
    return (f"settings {', '.join(names)}",)


def switched_off_lines(summary: Summary) -> Iterator[str]:
    """Yield what was not judged because somebody switched it off, a line for each."""
    for switched_off in summary.switched_off:
        counts = [
            counted(len(switched_off.clauses[level]), f"{LEVEL_WORDS[level]} check")
            for level in LEVELS
            if switched_off.clauses[level]
        ]
        if switched_off.rules:
            counts.append(counted(len(switched_off.rules), "rule"))
        names = [
            name for level in LEVELS for name in switched_off.clauses[level]
        ] + switched_off.rules
        more = ", ..." if len(names) > _MOST_NAMES else ""
        shown = ", ".join(names[:_MOST_NAMES]) + more
        yield printable(
            f"{', '.join(counts)} switched off by {switched_off.by} ({shown})"
        )


_BUILD = "build_folder"
_MOST_SUFFIXES = 4
_NO_SUFFIX = "without suffix"
# What was passed over, in words; a name stands in parentheses where there is one.
_OF_FILES: dict[PassedOverReason, str] = {
    "hidden": "hidden",
    "large": f"larger than {MAXIMUM_BYTES // 10**6} MB",
    "requirements": "listing packages",
    "excluded": "excluded",
    "beyond_limit": "beyond the most that are read",
}
_OF_FOLDERS: dict[PassedOverReason, str] = {
    "hidden_folder": "hidden",
    "excluded_folder": "excluded",
    "linked_folder": "linked",
    "unreadable_folder": "unreadable",
}


def passed_over_line(run: RunResult) -> str:
    """Return what lies below folders that were given and was not read; often nothing.

    `not read: 2 files (2 hidden), 41 that are no configuration (.py 30, .md 11)`.
    """
    counts: dict[PassedOverReason, int] = {}
    for item in run.passed_over:
        counts[item.reason] = counts.get(item.reason, 0) + item.number
    parts: list[str] = []
    files = [
        f"{counts[reason]:,} {word}"
        for reason, word in _OF_FILES.items()
        if reason in counts
    ]
    if files:
        number = sum(counts.get(reason, 0) for reason in _OF_FILES)
        parts.append(f"{counted(number, 'file')} ({', '.join(files)})")
    if "suffix" in counts:
        suffixes = [item for item in run.passed_over if item.reason == "suffix"]
        shown = [
            f"{item.name or _NO_SUFFIX} {item.number:,}"
            for item in suffixes[:_MOST_SUFFIXES]
        ]
        more = ", ..." if len(suffixes) > _MOST_SUFFIXES else ""
        verb = "that is" if counts["suffix"] == 1 else "that are"
        text = f"{counts['suffix']:,} {verb} no configuration"
        parts.append(f"{text} ({', '.join(shown)}{more})")
    folders = sorted(item.name for item in run.passed_over if item.reason == _BUILD)
    folders += [
        f"{counts[reason]:,} {word}"
        for reason, word in _OF_FOLDERS.items()
        if reason in counts
    ]
    if folders:
        parts.append(f"the folders {', '.join(folders)}")
    return f"not read: {', '.join(parts)}" if parts else ""


_LEVELS = ("error", "warning", "info")
# What else may come of a rule; failures count by their level.
_OTHERS = ("waived", "unknown", "broken", "pass", "not_applicable")
COUNTED = (*_LEVELS, *_OTHERS)


class RuleCounts(Record):
    """The findings of one rule over all plans, by level and outcome.

    rule is empty for a clause that was decided without one; counts: by the names of
    COUNTED, zeros too.
    """

    rule: str
    clause: str
    clause_level: str
    counts: dict[str, int]

    @property
    def failed(self) -> int:
        """How many failures count, of whatever level."""
        return sum(self.counts[level] for level in _LEVELS)


def rule_counts(plans: Iterable[JudgedPlan]) -> list[RuleCounts]:
    """Return the counts of all rules, those that fail most first."""
    result: dict[tuple[str, str], RuleCounts] = {}
    for plan in plans:
        for located in plan.findings:
            finding = located.finding
            name: str = finding.outcome
            if finding.waiver is not None:
                name = "waived"
            elif finding.outcome == "fail":
                name = finding.level
            elif finding.outcome == "error":
                name = "broken"
            row = result.get((finding.clause, finding.rule))
            if row is None:
                zeros: dict[str, int] = dict.fromkeys(COUNTED, 0)
                row = RuleCounts(
                    finding.rule, finding.clause, finding.clause_level, zeros
                )
                result[finding.clause, finding.rule] = row
            row.counts[name] += 1
    return sorted(result.values(), key=_rank)


def _rank(item: RuleCounts) -> tuple[object, ...]:
    """Return the rank: most failures first, errors before others, then the rest."""
    counts = item.counts
    by_level = (-counts[level] for level in _LEVELS)
    others = (-counts["waived"], -counts["broken"], -counts["unknown"])
    return (-item.failed, *by_level, *others, item.clause, item.rule)


_COLUMNS = {
    "error": "errors",
    "warning": "warnings",
    "info": "infos",
    "waived": "waived",
    "broken": "broken",
    "unknown": "unknown",
}
_COLOURS = ("error", "warning", "info")
_SEPARATES = "unknown"  # alone it is no reason for a row: most rules wait for evidence


def statistics_lines(plans: Iterable[JudgedPlan], style: Style) -> Iterator[str]:
    """Yield a row for each rule that failed, with the columns that are needed."""
    rows = rule_counts(plans)
    shown = [
        row
        for row in rows
        if any(row.counts[name] for name in _COLUMNS if name != _SEPARATES)
    ]
    if not shown:
        yield style.paint("statistics", "bold") + ": no rule fails"
        return
    yield style.paint("statistics", "bold") + f": {counted(len(shown), 'rule')}"
    names = [name for name in _COLUMNS if any(row.counts[name] for row in shown)]
    widths = {
        name: max(len(_COLUMNS[name]), *(len(f"{row.counts[name]:,}") for row in shown))
        for name in names
    }
    yield "  " + "  ".join(f"{_COLUMNS[name]:>{widths[name]}}" for name in names)
    for row in shown:
        cells = (_cell(row, name, widths[name], style) for name in names)
        yield f"  {'  '.join(cells)}  {row.clause} {row.rule}".rstrip()


def _cell(row: RuleCounts, name: str, width: int, style: Style) -> str:
    text = f"{row.counts[name]:>{width},}"
    is_painted = row.counts[name] and name in _COLOURS
    return style.paint(text, name) if is_painted else text
