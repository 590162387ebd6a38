"""The report as one JSON document, `speccheck-report/1`.

The shape never depends on what was found: every list and every field is there, empty
or null, also when the run ends with exit code 2 or 3. Fields are only ever added.
"""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.evidence.finding import (
    Action,
    ClauseLevel,
    Finding,
    Level,
    Outcome,
    PlacedEdit,
    Waiver,
    WaiverKind,
)
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.edition_names import tailoring_of
from speccheck.validator.report.serialise import (
    TOOL,
    TailoredNumber,
    Tool,
    alike,
    data,
    document_text,
)
from speccheck.validator.report.style import Style
from speccheck.validator.report.summary import (
    RequiredClauses,
    Summary,
    rule_counts,
    summarize,
)
from speccheck.validator.report.wording import with_numbers
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import RunResult
from speccheck.validator.sources.files import FileStatus, PassedOver

if TYPE_CHECKING:
    # Most runs have none of them: document_model.py knows them as well.
    from speccheck.validator.measurements.measured import MeasuredPath, MeasuredRates
    from speccheck.validator.report.measured_json import Measured
    from speccheck.validator.report.proposal_json import ReportProposal

SCHEMA = "speccheck-report/1"
_ALWAYS = {"fail", "error", "unknown"}


class EditionName(Record):
    """The compiled edition that was judged by; tailoring: own numbers in force."""

    id: str
    stage: str
    sha256: str
    tailoring: tuple[TailoredNumber, ...]


class SecondEditionName(Record):
    """An edition of which only warnings come.

    found: failures that the first does not give. unknown, broken: clauses that it could
    not judge, rules of it that broke, and not of the first.
    """

    id: str
    stage: str
    sha256: str
    found: int
    unknown: int
    broken: int


class Profile(Record):
    """The use that the run was judged for: ci, preflight or certify."""

    use: str


class SwitchedOff(Record):
    """What a line of settings, or an option, excludes from the judgement.

    clauses: by level. rules: of clauses that were judged by other rules alone.
    """

    by: str
    clauses: dict[ClauseLevel, tuple[str, ...]]
    rules: tuple[str, ...]


class Totals(Record):
    """Clauses by level and outcome, failed findings by level, coverage of the musts."""

    clauses: dict[ClauseLevel, dict[str, int]]
    failed: dict[Level, int]
    required_clauses: RequiredClauses
    coverage: float | None
    waived: int  # failures that somebody silenced
    loosened: int  # what fails by the edition's own numbers, and not by tailored ones
    warned: int  # failures by a second edition alone, which `failed` counts as well
    switched_off: tuple[SwitchedOff, ...]


class SettingsFiles(Record):
    """The settings files of the run, the closest first; isolated: none was read."""

    files: tuple[str, ...]
    isolated: bool


class File(Record):
    """One file of the run and what it was taken for."""

    path: str
    format: str | None
    confidence: float
    status: Literal["judged", "unrecognised", "template", "unreadable", "excluded"]
    message: str | None


class Plan(Record):
    """One plan: files that were judged together, and why."""

    files: tuple[str, ...]
    formats: tuple[str, ...]
    grouping: tuple[str, ...]
    nodes: int | None
    gpus_per_node: int | None
    world_size: int | None
    size: str | None
    settings: tuple[str, ...]
    measured: "tuple[Measured, ...]"
    rates: "tuple[MeasuredRates, ...]"
    paths: "tuple[MeasuredPath, ...]"
    synthetic: tuple[str, ...]  # snapshots of machines that do not exist: no evidence
    summary: Totals


class ReportPlace(Record):
    """A place in a file; line and column count from 1, null without a position."""

    file: str
    key: str
    line: int | None
    column: int | None
    end_column: int | None


class ReportWaiver(Record):
    """What silences a failure; until is the last day on which it does, in UTC."""

    kind: WaiverKind
    file: str
    key: str
    line: int | None
    reason: str | None
    until: str | None
    owner: str | None
    ticket: str | None


class ReportFix(Record):
    """A change of files that mends a failure: all edits together.

    is_safe: it changes nothing of what the model learns. No edits: the files are
    written in a way that no edit of one place can change.
    """

    says: str
    is_safe: bool
    edits: tuple[PlacedEdit, ...]


class ReportFinding(Record):
    """What one rule says of one plan, or of one part of a node: the subject."""

    rule: str | None
    clause: str
    title: str
    clause_level: ClauseLevel
    level: Level
    outcome: Outcome
    message: str
    cost: str | None
    remedy: str | None
    subject: str | None
    action: Action | None
    note: str | None
    places: tuple[ReportPlace, ...]
    measured: str | float | None
    required: str | float | None
    missing: tuple[str, ...]
    confidence: str
    spec: str  # the edition that gave it
    loosened: bool  # it fails by the edition's own number, as the note says
    waived: bool
    waiver: ReportWaiver | None
    # Null: of too many plans, not sought.
    proposals: "tuple[ReportProposal, ...] | None"
    fix: ReportFix | None
    plan: int


class RuleStatistics(Record):
    """How many findings of one rule, or of a clause decided without one, came out how.

    counts: error, warning, info (failures that count), waived, unknown, broken, pass,
    not_applicable.
    """

    rule: str | None
    clause: str
    clause_level: ClauseLevel
    counts: dict[str, int]


class Report(Record):
    """The whole document."""

    schema_name: Literal["speccheck-report/1"]
    tool: Tool
    edition: EditionName | None
    second_edition: SecondEditionName | None
    profile: Profile | None
    settings: SettingsFiles
    warnings: tuple[str, ...]
    verdict: Literal["pass", "fail", "inconclusive", "error"]
    reason: str
    exit_code: int
    summary: Totals
    errors: tuple[str, ...]
    files: tuple[File, ...]
    passed_over: tuple[PassedOver, ...]  # below folders that were given, and not read
    plans: tuple[Plan, ...]
    statistics: tuple[RuleStatistics, ...]  # of all findings, also those not listed
    findings: tuple[ReportFinding, ...]


def is_listed(finding: Finding) -> bool:
    """Return whether a report lists it that is not to list what holds."""
    return finding.outcome in _ALWAYS or finding.is_loosened


def verdict_data(report_context: ReportContext) -> dict[str, object]:
    """Return what a run comes to, and by what it was judged, by name of the field."""
    run, ending = report_context.run, report_context.ending
    second = run.second
    return {
        "tool": TOOL,
        "edition": alike(EditionName, run.edition, tailoring=tailoring_of(run.edition)),
        "second_edition": second
        and SecondEditionName(
            second.edition.id,
            second.edition.stage,
            second.edition.sha256,
            second.failures,
            second.unknown,
            second.broken,
        ),
        "profile": alike(Profile, run),
        "settings": SettingsFiles(run.settings, isolated=run.is_isolated),
        "warnings": run.warnings,
        "verdict": ending.verdict,
        "reason": ending.reason,
        "exit_code": ending.code,
        "summary": _totals(report_context.summary),
        "errors": (),
    }


def report(report_context: ReportContext, _: Style) -> Iterator[str]:
    """Yield the whole report, by pieces; `full` adds what holds or does not apply.

    Each file, plan and finding stands on a line of its own, written as it is made: the
    document of a thousand files would take more memory than judging them.
    """
    run, full = report_context.run, report_context.full
    head = {"schema": SCHEMA, **verdict_data(report_context)}
    yield "{\n" + "".join(
        f"  {encode(key)}: {encode(value)},\n" for key, value in head.items()
    )
    yield from _list("files", (encode(_file(file)) for file in run.files))
    yield ",\n"
    yield from _list("passed_over", map(encode, run.passed_over))
    yield ",\n"
    yield from _list("plans", (encode(_plan(plan)) for plan in run.plans))
    yield ",\n"
    yield from _list("statistics", map(encode, rule_statistics(run.plans)))
    yield ",\n"
    yield from _list("findings", _findings(run, full=full))
    yield "\n}\n"


_encode = json.JSONEncoder(ensure_ascii=False).encode


def encode(value: object) -> str:
    """Return a part of a document, on one line."""
    return _encode(data(value))


def _list(name: str, rows: Iterable[str]) -> Iterator[str]:
    """Yield a list of the document, a row a line."""
    yield f"  {encode(name)}: ["
    before = "\n    "
    for row in rows:
        yield before + row
        before = ",\n    "
    yield "]" if before == "\n    " else "\n  ]"


def _findings(run: RunResult, *, full: bool) -> Iterator[str]:
    """Yield findings as text: of one that many plans share all but the plan is kept."""
    known: dict[int, str] = {}
    for index, plan in enumerate(run.plans):
        for located in plan.findings:
            if not full and not is_listed(located.finding):
                continue
            text = known.get(id(located))
            if text is None:
                text = encode(finding_data(located, run.edition.id))
                known[id(located)] = text
            yield f'{text[:-1]}, "plan": {index}}}'


def refusal_data(message: str, code: int) -> dict[str, object]:
    """Return what `verdict_data` says of a run that could not begin."""
    return {
        "tool": TOOL,
        "edition": None,
        "second_edition": None,
        "profile": None,
        "settings": SettingsFiles((), isolated=False),
        "warnings": (),
        "verdict": "error",
        "reason": message,
        "exit_code": code,
        "summary": _totals(summarize(())),
        "errors": (message,),
    }


def failure_report(message: str, code: int) -> str:
    """Return the same document for a run that could not begin."""
    lists = dict.fromkeys(
        ("files", "passed_over", "plans", "statistics", "findings"), ()
    )
    document = alike(
        Report, None, schema_name=SCHEMA, **refusal_data(message, code), **lists
    )
    return document_text(document, indent=2, ensure_ascii=False)


def _file(file: FileStatus) -> File:
    return alike(
        File,
        file,
        format=file.format or None,
        confidence=round(file.confidence, 3),
        status=file.state,
        message=file.message or None,
    )


def _totals(summary: Summary) -> Totals:
    coverage = summary.coverage
    return alike(
        Totals, summary, coverage=None if coverage is None else round(coverage, 4)
    )


def rule_statistics(plans: Iterable[JudgedPlan]) -> Iterator[RuleStatistics]:
    """Yield how often each rule failed, held or could not judge, the worst first."""
    for row in rule_counts(plans):
        yield alike(RuleStatistics, row, rule=row.rule or None)


def _plan(plan: JudgedPlan) -> Plan:
    names = ("cluster.nodes", "cluster.gpus_per_node", "cluster.world_size")
    nodes, local, world = (plan.plan.value(name).value for name in names)
    measured: dict[str, object] = dict.fromkeys(("measured", "rates", "paths"), ())
    if plan.measured is not None:
        from speccheck.validator.report.measured_json import (  # noqa: PLC0415 - seldom
            measured_curve,
        )

        measured = {
            "measured": [measured_curve(curve) for curve in plan.measured.curves],
            "rates": plan.measured.rates,
            "paths": plan.measured.paths,
        }
    return alike(
        Plan,
        plan,
        files=[file.path for file in plan.files],
        formats=list(dict.fromkeys(file.format for file in plan.files)),
        nodes=nodes,
        gpus_per_node=local,
        world_size=world,
        summary=_totals(summarize((plan,))),
        **measured,
    )


def finding_data(located: LocatedFinding, edition: str) -> dict[str, object]:
    """Return a finding without its plan; edition: by which it was judged."""
    finding = located.finding
    row = alike(
        ReportFinding,
        finding,
        rule=finding.rule or None,
        cost=finding.cost or None,
        remedy=with_numbers(finding.remedy, (finding.subject,)) or None,
        subject=finding.subject or None,
        note=finding.note or None,
        places=[
            ReportPlace(
                place.file,
                place.key,
                place.line or None,
                place.column or None,
                place.column + place.length if place.line else None,
            )
            for place in located.locations
        ],
        spec=finding.edition or edition,
        loosened=finding.is_loosened,
        waived=finding.waiver is not None,
        waiver=finding.waiver and _waiver(finding.waiver),
        proposals=_proposals(located),
        fix=finding.fix
        and ReportFix(hidden(finding.fix.says), finding.fix.is_safe, located.edits),
        plan=None,
    )
    fields: dict[str, object] = data(row)
    del fields["plan"]
    return fields


def _waiver(waiver: Waiver) -> ReportWaiver:
    place = waiver.place
    return ReportWaiver(
        kind=waiver.kind,
        file=place.file,
        key=place.key,
        line=place.span.line if place.span else None,
        reason=waiver.reason or None,
        until=waiver.until or None,
        owner=waiver.owner or None,
        ticket=waiver.ticket or None,
    )


def _proposals(located: LocatedFinding) -> "list[ReportProposal] | None":
    """Return the settings that mend a failure; null where none were sought."""
    if not located.proposals:
        return None if located.proposals is None else []
    from speccheck.validator.report.proposal_json import (  # noqa: PLC0415 - seldom
        report_proposal,
    )

    return [report_proposal(proposal) for proposal in located.proposals]
