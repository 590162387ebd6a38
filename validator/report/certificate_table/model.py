"""The shape of `speccheck-certificate-table/1`, for its JSON Schema and its readers.

Nothing that runs imports this module: forms.py writes plain data, and a test holds the
two together.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from speccheck.validator.report.report_model import Tool


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TableColumn(_Part):
    """One certificate; synthetic: who made up its evidence, empty for nobody."""

    letter: str
    file: str
    instance_type: str
    provider: str
    edition: str
    granted: str
    specimens: int
    created: str
    not_after: str
    synthetic: str
    is_expired: bool
    caveats: list[str]


class TableLevel(_Part):
    """A track, with the level of each certificate; best: which of them, from 0."""

    track: str
    levels: list[Literal["L1", "L2", "L3"] | None]
    best: list[int]


class TableCount(_Part):
    """A number of clauses, or a share of them, of each certificate."""

    name: str
    values: list[int | float | None]


class TableRow(_Part):
    """One quantity under the same conditions; values: medians, null where none."""

    name: str
    unit: str
    conditions: dict[str, int]
    values: list[float | None]
    best: list[int]


class CertificateTable(_Part):
    """Certificates side by side; notes: what cannot be compared, and why."""

    schema_name: Literal["speccheck-certificate-table/1"] = Field(alias="schema")
    tool: Tool
    signatures_verified: Literal[False]
    certificates: list[TableColumn]
    levels: list[TableLevel]
    counts: list[TableCount]
    measured: list[TableRow]
    notes: list[str]
