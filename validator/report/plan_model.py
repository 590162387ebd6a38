"""The shape of `speccheck-plan/1`, for its JSON Schema and for whoever reads one.

Writing a plan does not import this module: plan_json.py writes plain data, and a test
holds the two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.report.report_model import Tool


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


class OnePlan(_Part):
    """The files of one plan, why they are one, and all its values."""

    files: list[str]
    formats: list[str]
    grouping: list[str]
    values: list[PlanValue]
    environment: list[PlanVariable]


class PlanDocument(_Part):
    """The whole document."""

    schema_name: Literal["speccheck-plan/1"] = Field(alias="schema")
    tool: Tool
    files: list[PlanFile]
    plans: list[OnePlan]
