"""The shape of `speccheck-plan/1`, for its JSON Schema and for whoever reads one.

Writing a plan does not import this module: plan_json.py writes plain data, and a test
holds the two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.forecast.quantity import Unit
from speccheck.validator.models.estimate import EstimateKind
from speccheck.validator.report.report_model import Level, Outcome, Tool


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class PlanFile(_Part):
    """One file of the run and what it was taken for."""

    path: str
    format: str | None
    status: Literal["judged", "unrecognised", "template", "unreadable"]
    message: str | None


class PlanPlace(_Part):
    """A place in a file; line and column count from 1, null without a position."""

    file: str
    key: str
    line: int | None
    column: int | None


class PlanValue(_Part):
    """One value: how it is known, by what arithmetic or for what reason not."""

    name: str
    value: bool | int | float | str | list[str | int | float] | None
    status: Literal["stated", "derived", "default", "unknown", "conflict"]
    note: str | None
    alternatives: list[str]
    places: list[PlanPlace]


class PlanVariable(_Part):
    """An environment variable; null for values that are not shown or not known."""

    name: str
    value: str | None
    place: PlanPlace


class PlanQuantity(_Part):
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
    missing: list[str]
    note: str | None


class PlanForecast(_Part):
    """What the models predict of one subject.

    whole: the quantity that `parts` add up to; limit: what it is held against.
    """

    subject: str
    quantities: list[PlanQuantity]
    whole: str | None
    parts: list[str]
    limit: PlanQuantity | None


class ValueChange(_Part):
    """A value in the plan of the files and in the changed one."""

    before: PlanValue
    after: PlanValue


class ChangedFinding(_Part):
    """What one rule says of a plan."""

    rule: str | None
    clause: str
    title: str
    level: Level
    outcome: Outcome
    message: str
    measured: str | float | None
    required: str | float | None
    missing: list[str]


class FindingDifference(_Part):
    """A finding of the two plans; null where a rule says nothing.

    appears, vanishes: a failure. level, stays: it fails in both, at another level or
    with other numbers. outcome: it fails in neither, and is judged otherwise.
    """

    kind: Literal["appears", "vanishes", "level", "stays", "outcome"]
    before: ChangedFinding | None
    after: ChangedFinding | None


class Ending(_Part):
    """Verdict and exit code that a plan would have alone."""

    verdict: Literal["pass", "fail", "inconclusive", "error"]
    reason: str
    exit_code: int


class WhatIfPlan(_Part):
    """The plan with the values of --what-if: what differs, and both verdicts."""

    changes: list[str]
    remarks: list[str]
    values: list[ValueChange]
    findings: list[FindingDifference]
    forecasts: list[PlanForecast]
    before: Ending
    after: Ending


class OnePlan(_Part):
    """The files of one plan, why they are one, all its values, what they predict."""

    files: list[str]
    formats: list[str]
    grouping: list[str]
    values: list[PlanValue]
    environment: list[PlanVariable]
    forecasts: list[PlanForecast]
    what_if: WhatIfPlan | None


class PlanDocument(_Part):
    """The whole document."""

    schema_name: Literal["speccheck-plan/1"] = Field(alias="schema")
    tool: Tool
    files: list[PlanFile]
    plans: list[OnePlan]
