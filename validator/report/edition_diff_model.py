"""The shape of `speccheck-edition-diff/1`, for its JSON Schema and its readers.

Nothing that runs imports this module: edition_diff_json.py writes plain data, and a
test holds the two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.editions.difference import Kind, Weight
from speccheck.validator.report.report_model import CompiledEdition, Tool

_Scalar = str | int | float
_Value = _Scalar | list[_Scalar] | None


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class EditionNumber(_Part):
    """A number that changed; key: of which profile or table, empty for the default.

    direction: upper, what is measured must not be more; lower, not less; null, the
    requirement does not say so plainly.
    """

    name: str
    key: str
    before: _Value
    after: _Value
    unit: str
    direction: Literal["upper", "lower"] | None
    source: str
    confidence: str


class EditionLevels(_Part):
    """The level of a clause that has another one."""

    before: str
    after: str


class EditionDifference(_Part):
    """One difference; subject: a clause, a profile, or `edition`."""

    kind: Kind
    subject: str
    text: str
    weight: Weight
    reason: str
    number: EditionNumber | None
    levels: EditionLevels | None


class EditionFinding(_Part):
    """A finding of the report that comes out otherwise, or may (`not_said`)."""

    clause: str
    rule: str | None
    subject: str | None
    plan: int
    files: list[str]
    outcome: str
    change: Literal[
        "would_pass", "would_fail", "weighs_otherwise", "not_judged", "not_said"
    ]
    clause_level: str
    reason: str


class EditionReport(_Part):
    """The report by the second edition.

    unseen: clauses that it does not speak of, and that are judged where they apply.
    is_full: whether it lists what passed: what it does not list is not looked at.
    """

    file: str
    findings: list[EditionFinding]
    unchanged: int
    unseen: list[str]
    is_full: bool


class EditionDiff(_Part):
    """The whole document. claims: what the ids say; null: the second is no later."""

    schema_name: Literal["speccheck-edition-diff/1"] = Field(alias="schema")
    tool: Tool
    before: CompiledEdition
    after: CompiledEdition
    weight: Weight
    claims: Weight | None
    differences: list[EditionDifference]
    report: EditionReport | None
