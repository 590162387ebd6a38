"""The report as one JSON document, `speccheck-report/1`.

The shape never depends on what was found: every list and every field is there, empty
or null, also when the run ends with exit code 2 or 3. Fields are only ever added.
"""

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from speccheck.validator import VERSION
from speccheck.validator.engine.locate import LocatedFinding, Location
from speccheck.validator.evidence.finding import Finding, Waiver
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.report.edition_names import tailoring_of
from speccheck.validator.report.statistics import rule_counts
from speccheck.validator.report.style import Style
from speccheck.validator.report.subjects import with_numbers
from speccheck.validator.report.summary import Summary, summarize
from speccheck.validator.report.told import Told
from speccheck.validator.run.plan_judge import JudgedPlan
from speccheck.validator.run.run import Run
from speccheck.validator.sources.files import FileStatus

if TYPE_CHECKING:
    from speccheck.validator.measurements.measured import MeasuredCurve

SCHEMA = "speccheck-report/1"
_ALWAYS = {"fail", "error", "unknown"}


def is_told(finding: Finding) -> bool:
    """Whether a report lists it that is not to list what holds."""
    return finding.outcome in _ALWAYS or finding.is_loosened


def verdict_data(told: Told) -> dict[str, object]:
    """What a run comes to, and by what it was judged."""
    run, summary, ending = told.run, told.summary, told.ending
    return {
        "tool": {"name": "speccheck", "version": VERSION},
        "edition": {
            "id": run.edition.id,
            "stage": run.edition.stage,
            "sha256": run.edition.sha256,
            "tailoring": tailoring_of(run.edition),
        },
        "second_edition": _second(run),
        "profile": {"use": run.use},
        "settings": {"files": list(run.settings), "isolated": run.is_isolated},
        "warnings": list(run.warnings),
        "verdict": ending.verdict,
        "reason": ending.reason,
        "exit_code": ending.code,
        "summary": summary_data(summary),
        "errors": [],
    }


def _second(run: Run) -> dict[str, object] | None:
    """The edition that only warns, and what came of it."""
    second = run.second
    if second is None:
        return None
    return {
        "id": second.edition.id,
        "stage": second.edition.stage,
        "sha256": second.edition.sha256,
        "found": second.found,
        "unknown": second.unknown,
        "broken": second.broken,
    }


def report(told: Told, _: Style) -> Iterator[str]:
    """The whole report, piece by piece; `full` adds what holds and does not apply.

    Each file, plan and finding stands on a line of its own, written as it is made: the
    document of a thousand files would take more memory than judging them.
    """
    run, full = told.run, told.full
    head = {"schema": SCHEMA, **verdict_data(told)}
    yield "{\n" + "".join(
        f"  {encode(key)}: {encode(value)},\n" for key, value in head.items()
    )
    yield from _list("files", (encode(_file(file)) for file in run.files))
    yield ",\n"
    yield from _list("plans", (encode(_plan(plan)) for plan in run.plans))
    yield ",\n"
    yield from _list("statistics", map(encode, statistics_data(run.plans)))
    yield ",\n"
    yield from _list("findings", _findings(run, full=full))
    yield "\n}\n"


encode = json.JSONEncoder(ensure_ascii=False).encode


def _list(name: str, rows: Iterable[str]) -> Iterator[str]:
    """A list of the document, a row a line."""
    yield f"  {encode(name)}: ["
    before = "\n    "
    for row in rows:
        yield before + row
        before = ",\n    "
    yield "]" if before == "\n    " else "\n  ]"


def _findings(run: Run, *, full: bool) -> Iterator[str]:
    """The findings as text: of one that many plans share all but the plan is kept."""
    known: dict[int, str] = {}
    for index, plan in enumerate(run.plans):
        for located in plan.findings:
            if not full and not is_told(located.finding):
                continue
            text = known.get(id(located))
            if text is None:
                text = encode(finding_data(located, run.edition.id))
                known[id(located)] = text
            yield f'{text[:-1]}, "plan": {index}}}'


def refusal_data(message: str, code: int) -> dict[str, object]:
    """What `verdict_data` says of a run that could not begin."""
    return {
        "tool": {"name": "speccheck", "version": VERSION},
        "edition": None,
        "second_edition": None,
        "profile": None,
        "settings": {"files": [], "isolated": False},
        "warnings": [],
        "verdict": "error",
        "reason": message,
        "exit_code": code,
        "summary": summary_data(summarize(())),
        "errors": [message],
    }


def failure_report(message: str, code: int) -> str:
    """The same document for a run that could not begin."""
    document = {
        "schema": SCHEMA,
        **refusal_data(message, code),
        "files": [],
        "plans": [],
        "statistics": [],
        "findings": [],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _file(file: FileStatus) -> dict[str, object]:
    return {
        "path": file.path,
        "format": file.format or None,
        "confidence": round(file.confidence, 3),
        "status": file.state,
        "message": file.message or None,
    }


def summary_data(summary: Summary) -> dict[str, object]:
    """Clauses by level and outcome, failures by level, coverage, what is waived."""
    coverage = summary.coverage
    return {
        "clauses": summary.clauses,
        "failed": summary.failed,
        "coverage": None if coverage is None else round(coverage, 4),
        "waived": summary.waived,
        "loosened": summary.loosened,
        "warned": summary.warned,
        "switched_off": [one._asdict() for one in summary.switched_off],
    }


def statistics_data(plans: Iterable[JudgedPlan]) -> Iterator[dict[str, object]]:
    """How often each rule failed, held or could not judge, the worst first."""
    for row in rule_counts(plans):
        yield {
            "rule": row.rule or None,
            "clause": row.clause,
            "clause_level": row.clause_level,
            "counts": row.counts,
        }


def _plan(plan: JudgedPlan) -> dict[str, object]:
    names = ("cluster.nodes", "cluster.gpus_per_node", "cluster.world_size")
    nodes, local, world = (plan.plan.value(name).value for name in names)
    return {
        "files": [file.path for file in plan.files],
        "formats": list(dict.fromkeys(file.format for file in plan.files)),
        "grouping": list(plan.grouping),
        "nodes": nodes,
        "gpus_per_node": local,
        "world_size": world,
        "size": plan.size,
        "settings": list(plan.settings),
        "measured": [
            _measured(one) for one in (plan.measured.curves if plan.measured else ())
        ],
        "rates": [
            one._asdict() for one in (plan.measured.rates if plan.measured else ())
        ],
        "paths": [
            one._asdict() for one in (plan.measured.paths if plan.measured else ())
        ],
        "synthetic": list(plan.synthetic),
        "summary": summary_data(summarize((plan,))),
    }


def _measured(one: "MeasuredCurve") -> dict[str, object]:
    peak = one.curve.peak
    return {
        "collective": one.collective or None,
        "ranks": one.ranks,
        "nodes": one.nodes,
        "hosts": list(one.hosts),
        "gpu": one.gpu or None,
        "tool": one.tool or None,
        "runs": one.runs,
        "unfinished": one.unfinished or None,
        "peak_bus_bytes_per_second": peak and peak.bus_bytes_per_second,
        "peak_size_bytes": peak and peak.size_bytes,
        "half_peak_bytes": one.curve.half_peak_bytes,
        "small_message_seconds": one.curve.small_message_seconds,
        "held_to": {
            "basis": one.held_to.basis or None,
            "bounds": [bound._asdict() for bound in one.held_to.bounds],
            "published": [reading._asdict() for reading in one.held_to.published],
        },
        "path": one.path or None,
        "placed": [
            {
                "placement": placed.placement or None,
                "points": [point._asdict() for point in placed.curve.points],
            }
            for placed in one.placed
        ],
    }


def finding_data(located: LocatedFinding, edition: str) -> dict[str, object]:
    """A finding without its plan; edition: by which it was judged."""
    finding = located.finding
    return {
        "rule": finding.rule or None,
        "clause": finding.clause,
        "title": finding.title,
        "clause_level": finding.clause_level,
        "level": finding.level,
        "outcome": finding.outcome,
        "message": finding.message,
        "cost": finding.cost or None,
        "remedy": with_numbers(finding.remedy, (finding.subject,)) or None,
        "subject": finding.subject or None,
        "action": finding.action,
        "note": finding.note or None,
        "places": list(_places(located.locations)),
        "measured": finding.measured,
        "required": finding.required,
        "missing": list(finding.missing),
        "confidence": finding.confidence,
        "spec": finding.edition or edition,
        "loosened": finding.is_loosened,
        "waived": finding.waiver is not None,
        "waiver": _waiver(finding.waiver),
        "proposals": _proposals(located),
        "fix": _fix(located),
    }


def _waiver(waiver: Waiver | None) -> dict[str, object] | None:
    if waiver is None:
        return None
    return {
        "kind": waiver.kind,
        "file": waiver.place.file,
        "key": waiver.place.key,
        "line": waiver.place.span.line if waiver.place.span else None,
        "reason": waiver.reason or None,
        "until": waiver.until or None,
        "owner": waiver.owner or None,
        "ticket": waiver.ticket or None,
    }


def _fix(located: LocatedFinding) -> dict[str, object] | None:
    """The change that mends a failure, as edits of its files."""
    fix = located.finding.fix
    if fix is None:
        return None
    return {
        "says": hidden(fix.says),
        "is_safe": fix.is_safe,
        "edits": [edit._asdict() for edit in located.edits],
    }


def _proposals(located: LocatedFinding) -> list[dict[str, object]] | None:
    """Settings that mend a failure; null where none were sought."""
    if not located.proposals:
        return None if located.proposals is None else []
    from speccheck.validator.report.proposal_json import (  # noqa: PLC0415 - seldom
        proposal_data,
    )

    return [proposal_data(one) for one in located.proposals]


def _places(locations: tuple[Location, ...]) -> Iterator[dict[str, object]]:
    for place in locations:
        end = place.column + place.length if place.line else None
        yield {
            "file": place.file,
            "key": place.key,
            "line": place.line or None,
            "column": place.column or None,
            "end_column": end,
        }
