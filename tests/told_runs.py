"""Runs as reports are told them, with failures waived where a test wants it."""

from collections.abc import Iterable, Mapping

from speccheck.validator.cli.command_line import parse
from speccheck.validator.cli.request import request_of
from speccheck.validator.engine.locate import LocatedFinding
from speccheck.validator.evidence.finding import Finding, Waiver
from speccheck.validator.evidence.value import Place, Span
from speccheck.validator.report.context import ReportContext
from speccheck.validator.report.form import FORMS
from speccheck.validator.report.style import Style
from speccheck.validator.report.summary import summarize
from speccheck.validator.report.verdict import exit_of
from speccheck.validator.run.judging import JudgedPlan
from speccheck.validator.run.run import run

COMMENT = Waiver(
    "comment",
    Place("ds.json", "", span=Span(3, 1, 10)),
    reason="the sweep sets it",
    until="2027-01-31",
    owner="ada",
    ticket="TRAIN-7",
)
BASELINE = Waiver("baseline", Place("speccheck-baseline.json", "findings[0]"))


def told(*words: str, waive: Mapping[str, Waiver] | None = None) -> ReportContext:
    """Return a run of files as a report gets it; waive: waivers by rule or clause."""
    parsed = parse([*words])
    request = request_of(parsed)._replace(full=True, keeps_plans=True)
    found = run(request)
    plans = tuple(_with_waivers(plan, waive or {}) for plan in found.plans)
    found = found._replace(plans=plans)
    summary = summarize(found.plans)
    ending = exit_of(found, summary, "error")
    return ReportContext(found, summary, ending, full="full" in parsed.values)


def _with_waivers(plan: JudgedPlan, waivers: Mapping[str, Waiver]) -> JudgedPlan:
    return plan._replace(
        findings=tuple(_with_waiver(finding, waivers) for finding in plan.findings)
    )


def _with_waiver(
    located: LocatedFinding, waivers: Mapping[str, Waiver]
) -> LocatedFinding:
    finding = located.finding
    waiver = waivers.get(finding.rule, waivers.get(finding.clause))
    if waiver is None or finding.outcome != "fail":
        return located
    return located._replace(finding=finding._replace(waiver=waiver))


def text_of(form: str, item: ReportContext, style: Style | None = None) -> str:
    """Return a report in one form."""
    style = style or Style(unicode=True)
    return "".join(FORMS[form].report(item, style))


def with_findings(item: ReportContext, findings: Iterable[Finding]) -> ReportContext:
    """Return the same run with these findings of its first plan in place of its own."""
    plan = item.run.plans[0]
    located = tuple(LocatedFinding(finding, ()) for finding in findings)
    found = item.run._replace(plans=(plan._replace(findings=located),))
    summary = summarize(found.plans)
    return item._replace(
        run=found, summary=summary, ending=exit_of(found, summary, "error")
    )
