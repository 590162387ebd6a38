"""The plan of files as one JSON document, `speccheck-plan/1`, for other tools.

Every leaf is there, known or not, in the order of the plan.
"""

from math import isfinite
from typing import Any, Literal

from speccheck.validator.engine.locate import Location
from speccheck.validator.evidence.finding import Finding, Level, Outcome
from speccheck.validator.evidence.record import Record
from speccheck.validator.evidence.secrets import hidden
from speccheck.validator.forecast.quantity import Forecast, Quantity, Unit
from speccheck.validator.models.estimate import EstimateKind
from speccheck.validator.report.plan_text import ending_of
from speccheck.validator.report.serialise import (
    TOOL,
    Tool,
    alike,
    data,
    document_text,
)
from speccheck.validator.run.plan_dump import DumpedLeaf
from speccheck.validator.run.plan_view import ChangeKind, PlanView, ViewedPlan
from speccheck.validator.run.run import RunResult

_OF_ESTIMATE = ("value", "lower", "upper", "kind", "source", "valid")


class PlanFile(Record):
    """One file of the run and what it was taken for."""

    path: str
    format: str | None
    status: Literal["judged", "unrecognised", "template", "unreadable"]
    message: str | None


class PlanPlace(Record):
    """A place in a file; line and column count from 1, null without a position."""

    file: str
    key: str
    line: int | None
    column: int | None


class PlanValue(Record):
    """One value: how it is known, by what arithmetic or for what reason not."""

    name: str
    value: bool | int | float | str | tuple[str | int | float, ...] | None
    status: Literal[
        "stated", "derived", "fallback", "default", "invalid", "unknown", "conflict"
    ]
    note: str | None
    alternatives: tuple[str, ...]
    places: tuple[PlanPlace, ...]


class PlanLaunch(Record):
    """A command that starts a training: who starts how many processes where.

    text: in words; account: each number of it that is known, or stated and not known,
    from the allocation to the ranks and where they meet.
    """

    text: str
    launcher: PlanValue
    account: tuple[PlanValue, ...]


class PlanVariable(Record):
    """An environment variable; null for values that are not shown or not known."""

    name: str
    value: str | None
    place: PlanPlace


class PlanQuantity(Record):
    """A predicted number with bounds; null where leaves are missing or no bound is.

    exact is a count or an identity; calibrated lies within a band held on published
    rows; of lower_bound only `lower` means anything; advisory is for reading alone.
    """

    name: str
    unit: Unit
    value: float | None
    lower: float | None
    upper: float | None
    kind: EstimateKind | None
    source: str | None
    valid: str | None
    missing: tuple[str, ...]
    note: str | None


class PlanForecast(Record):
    """What the models predict of one subject.

    whole: the quantity that `parts` add up to; limit: what it is held against.
    """

    subject: str
    quantities: tuple[PlanQuantity, ...]
    whole: str | None
    parts: tuple[str, ...]
    limit: PlanQuantity | None


class ValueChange(Record):
    """A value in the plan of the files and in the changed one."""

    before: PlanValue
    after: PlanValue


class ChangedFinding(Record):
    """What one rule says of a plan."""

    rule: str | None
    clause: str
    title: str
    level: Level
    outcome: Outcome
    message: str
    measured: str | float | None
    required: str | float | None
    missing: tuple[str, ...]


class FindingDifference(Record):
    """A finding of the two plans; null where a rule says nothing.

    appears, vanishes: a failure. level, stays: it fails in both, at another level or
    with other numbers. outcome: it fails in neither, and is judged otherwise.
    """

    kind: ChangeKind
    before: ChangedFinding | None
    after: ChangedFinding | None


class Ending(Record):
    """Verdict and exit code that a plan would have alone."""

    verdict: Literal["pass", "fail", "inconclusive", "error"]
    reason: str
    exit_code: int


class WhatIfPlan(Record):
    """The plan with the values of --what-if: what differs, and both verdicts."""

    changes: tuple[str, ...]
    remarks: tuple[str, ...]
    values: tuple[ValueChange, ...]
    findings: tuple[FindingDifference, ...]
    forecasts: tuple[PlanForecast, ...]
    before: Ending
    after: Ending


class OnePlan(Record):
    """The files of one plan, why they are one, all its values, what they predict."""

    files: tuple[str, ...]
    formats: tuple[str, ...]
    grouping: tuple[str, ...]
    values: tuple[PlanValue, ...]
    launches: tuple[PlanLaunch, ...]
    environment: tuple[PlanVariable, ...]
    forecasts: tuple[PlanForecast, ...]
    what_if: WhatIfPlan | None


class PlanDocument(Record):
    """The whole document."""

    schema_name: Literal["speccheck-plan/1"]
    tool: Tool
    files: tuple[PlanFile, ...]
    plans: tuple[OnePlan, ...]


def plan_json(view: PlanView) -> str:
    """Return the whole document."""
    document = PlanDocument(
        schema_name="speccheck-plan/1",
        tool=TOOL,
        files=tuple(
            alike(
                PlanFile,
                file,
                format=file.format or None,
                status=file.state,
                message=file.message or None,
            )
            for file in view.files
        ),
        plans=tuple(_plan(plan) for plan in view.plans),
    )
    return document_text(document, indent=2, ensure_ascii=False)


def _plan(viewed: ViewedPlan) -> OnePlan:
    plan = viewed.shown
    return alike(
        OnePlan,
        plan,
        files=[file.path for file in plan.files],
        formats=list(dict.fromkeys(file.format for file in plan.files)),
        values=[_value(leaf) for leaf in plan.leaves],
        launches=[
            PlanLaunch(
                hidden(launch.text),
                _value(launch.launcher),
                tuple(_value(value) for value in launch.account),
            )
            for launch in plan.launches
        ],
        environment=[
            alike(
                PlanVariable,
                variable,
                value=None if variable.value is None else hidden(variable.value),
                place=_place(variable.location),
            )
            for variable in plan.variables
        ],
        forecasts=[_forecast(forecast) for forecast in plan.forecasts],
        what_if=_what_if(viewed),
    )


def _value(shown: DumpedLeaf) -> PlanValue:
    """Return a leaf with how it is known and where it is stated."""
    leaf = shown.leaf
    return alike(
        PlanValue,
        leaf,
        value=data(leaf.value, hidden),
        note=hidden(leaf.note) or None,
        alternatives=[hidden(text) for text in leaf.alternatives],
        places=[_place(location) for location in shown.locations],
    )


def _place(location: Location) -> PlanPlace:
    return alike(
        PlanPlace, location, line=location.line or None, column=location.column or None
    )


def _forecast(forecast: Forecast) -> PlanForecast:
    return alike(
        PlanForecast,
        forecast,
        quantities=[_quantity(quantity) for quantity in forecast.quantities],
        whole=None if forecast.sum() is None else forecast.whole,
        parts=[addend.name for addend in forecast.addends()],
        limit=forecast.limit and _quantity(forecast.limit),
    )


def _quantity(quantity: Quantity) -> PlanQuantity:
    estimate = quantity.estimate
    known: dict[str, Any] = dict.fromkeys(_OF_ESTIMATE)
    if estimate is not None:
        known = {name: getattr(estimate, name) for name in _OF_ESTIMATE}
        known |= {name: _finite(known[name]) for name in ("value", "lower", "upper")}
        known["valid"] = estimate.valid or None
    return alike(PlanQuantity, quantity, note=quantity.note or None, **known)


def _finite(number: float) -> float | None:
    return number if isfinite(number) else None


def _what_if(plan: ViewedPlan) -> WhatIfPlan | None:
    """Return the values, findings, forecasts and verdicts that differ.

    Null if unchanged.
    """
    what_if = plan.what_if
    if what_if is None:
        return None
    return alike(
        WhatIfPlan,
        what_if,
        changes=[change.text for change in what_if.changes],
        values=[
            ValueChange(_value(leaf.before), _value(leaf.after))
            for leaf in plan.changed
        ],
        findings=[
            FindingDifference(
                change.kind, _finding(change.before), _finding(change.after)
            )
            for change in what_if.findings
        ],
        forecasts=[_forecast(forecast) for forecast in what_if.forecasts],
        before=_ending(what_if.before),
        after=_ending(what_if.after),
    )


def _finding(finding: Finding | None) -> ChangedFinding | None:
    if finding is None:
        return None
    return alike(
        ChangedFinding,
        finding,
        rule=finding.rule or None,
        message=hidden(finding.message),
    )


def _ending(run: RunResult) -> Ending:
    ending = ending_of(run)
    return alike(Ending, ending, exit_code=ending.code)
