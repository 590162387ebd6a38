"""The shape of `speccheck-document-diff/1`, for its JSON Schema and its readers.

Nothing that runs imports this module: json_form.py writes plain data, and a test holds
the two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.report.report_model import Tool

_Scalar = str | bool | int | float | None


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DocumentSide(_Part):
    """One of the two; synthetic: who made up its evidence, empty for nobody."""

    file: str
    name: str
    created: str
    release: str
    synthetic: str


class DocumentDifference(_Part):
    """One thing that differs.

    a, b: null where there is none. by: of numbers, how much more the second is, as a
    share of the first. matters: it ends the validity of a certificate at once.
    """

    group: Literal[
        "levels",
        "clauses",
        "coverage",
        "judged_by",
        "waivers",
        "identity",
        "numbers",
        "specimens",
        "evidence",
        "varying",
    ]
    subject: str
    change: Literal["changed", "came", "went", "rose", "fell"]
    a: _Scalar
    b: _Scalar
    by: float | None
    unit: str | None
    note: str
    matters: bool


class DocumentDiff(_Part):
    """Two certificates, or two reports; differences: by what matters most.

    compared: how many clauses, fields, numbers and files both tell.
    """

    schema_name: Literal["speccheck-document-diff/1"] = Field(alias="schema")
    tool: Tool
    kind: Literal["certificate", "report"]
    verdict: Literal["same", "differs", "nothing_compared"]
    exit_code: int
    signatures_verified: Literal[False]
    a: DocumentSide
    b: DocumentSide
    compared: int
    differences: list[DocumentDifference]
    varying: list[DocumentDifference]
    not_compared: list[str]
